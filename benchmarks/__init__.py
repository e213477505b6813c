"""Measurements quoted by the book (record) and promised by the project (run)."""
