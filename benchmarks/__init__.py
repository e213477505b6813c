"""Measurements: what the book quotes (record), what the project promises (run)."""
