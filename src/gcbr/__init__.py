"""gcbr"""
