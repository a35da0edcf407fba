"""The command line: turns text into values, calls the library, shows what it gives.

Modules here import nothing heavy before a command runs, so that `gcbr --help` answers at once.
"""
