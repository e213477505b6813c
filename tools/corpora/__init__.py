"""The grammars that write the corpora of the book."""
