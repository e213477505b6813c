"""The exercises of the book, one module per chapter, with which d2lmini.check grades answers."""
