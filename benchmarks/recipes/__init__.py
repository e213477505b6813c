"""Recipes of the recorded experiments, run by `python -m benchmarks.record`."""
