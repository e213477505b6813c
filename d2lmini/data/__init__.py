"""Data sets: where they are stored (registry), text as ids (text), batches, sentence pairs."""

from d2lmini.data.batches import batches, cut_padding
from d2lmini.data.labelled import label_batches, read_labelled
from d2lmini.data.pairs import load_data_nmt, read_pairs, within_one_word
from d2lmini.data.registry import data_folder, find_paths
from d2lmini.data.text import Vocab, encode, normalise
