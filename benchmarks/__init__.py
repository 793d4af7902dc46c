"""What is measured, as ratios within one run: ``python -m benchmarks``."""
