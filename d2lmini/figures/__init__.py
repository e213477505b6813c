"""Figures: interactive ones, each beside the JavaScript that it starts, and plots.

A builder takes numbers and words, never modules.
"""

from d2lmini.figures.attention import explore_attention
from d2lmini.figures.caption import explore_caption
from d2lmini.figures.depth import explore_depth
from d2lmini.figures.heads import explore_heads
from d2lmini.figures.layers import explore_layers
from d2lmini.figures.live import Live
from d2lmini.figures.machine import explore_machine
from d2lmini.figures.masks import explore_masks
from d2lmini.figures.positions import explore_positions
from d2lmini.figures.recall import explore_recall
from d2lmini.figures.sentence import explore_sentence
from d2lmini.figures.stills import panels, still
from d2lmini.figures.training import explore_training
from d2lmini.figures.translator import explore_translator
from d2lmini.figures.units import explore_units
from d2lmini.figures.verdict import explore_verdict
from d2lmini.figures.walk import explore_walk
from d2lmini.figures.widget import Figure, browser_module
from d2lmini.figures.writer import explore_writer
