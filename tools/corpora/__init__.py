"""The grammars of the corpora: python -m tools.corpora.make_X writes X again, byte for byte."""
