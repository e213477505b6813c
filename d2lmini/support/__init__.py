"""Helpers that no chapter teaches: argument checks, devices, files, the table of chapters."""
