"""Benchmarks: ratios measured in one run. ``python -m benchmarks`` prints them all as one table."""
