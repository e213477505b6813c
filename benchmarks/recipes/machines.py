"""Runs of chapter 8: where the tiny machine looks, and what it learns with a mistake in it."""

import torch

from benchmarks.recipes.common import from_chapter
from d2lmini.support.chapters import CHAPTERS

MISTAKES = (
    "causal_mask_forgotten",
    "no_cross_attention",
    "source_without_positions",
    "padding_mask_forgotten",
    "encoder_skipped",
    "target_without_positions",
    "no_square_root",
    "wrong_sum",
)
EXPERIMENTS = {
    "tiny": [{"num_steps": 200}],
    "mistakes": [{"mistake": mistake, "num_steps": 200} for mistake in MISTAKES],
}
RECIPES = {name: {"lr": 0.01} for name in EXPERIMENTS}


def run(seed, num_steps, mistake=None):
    """Train a machine on the 36 pairs: a sound one, and look inside, or one with a mistake."""
    torch.set_num_threads(1)
    chapter = from_chapter(
        CHAPTERS["transformer"], "tiny", "look", "EncoderBlock", "PlainDecoderBlock",
        "TokenEmbedding", "PlainTransformer", "write", "learn_by_heart",
        "written_right", "causal_mask_forgotten", "broken",
    )  # fmt: skip
    if mistake is None:
        return {"seed": seed} | chapter["look"](chapter["tiny"](seed))
    net = chapter["broken"](chapter[mistake], seed)
    loss = chapter["learn_by_heart"](net, num_steps)
    return {"seed": seed, "loss": loss, "right": chapter["written_right"](net)}
