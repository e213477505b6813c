"""Commands that `make` runs, and the extensions of Sphinx that the build loads."""
