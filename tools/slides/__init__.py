"""A deck of slides for each chapter, and its plots in a zip."""
