"""The book as a PDF and as an ePub."""
