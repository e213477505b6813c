"""Commands that `make` runs, and the Sphinx extensions that the build loads."""
