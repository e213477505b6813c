"""The plots, under the name by which chapters call them; see figures/."""

from d2lmini.figures.architecture import show_transformer
from d2lmini.figures.plots import *
from d2lmini.figures.square import show_square
