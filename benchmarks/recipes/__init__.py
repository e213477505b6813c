"""Recipes of the recorded experiments: what `python -m benchmarks.record` runs."""
