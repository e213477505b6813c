"""A slide deck for each chapter, and a zip of all plots."""
