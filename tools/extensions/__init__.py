"""Extensions of Sphinx; _config.yml lists them."""
