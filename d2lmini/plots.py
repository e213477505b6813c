"""The plots, under the name by which chapters call them; see figures/plots.py and square.py."""

from d2lmini.figures.plots import *
from d2lmini.figures.square import show_square
