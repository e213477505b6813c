"""Sphinx extensions; _config.yml lists them."""
