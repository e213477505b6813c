"""The grammars that wrote the corpora of the book."""
