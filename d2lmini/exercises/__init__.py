"""The exercises of the book, one module a chapter: what d2lmini.check compares answers with."""
