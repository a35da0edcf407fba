"""Benchmarks as data: a plan gives runs, a run gives one line, and the lines give tables and figures."""
