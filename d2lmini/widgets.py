"""The figures, under the name by which chapters call them; see figures/."""

from d2lmini.figures import *
