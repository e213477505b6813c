"""The plots, under the name by which chapters call them; see figures/plots.py."""

from d2lmini.figures.plots import *
