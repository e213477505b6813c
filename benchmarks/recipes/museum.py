"""Runs of the bug museum: what each exhibit does to a translator that has it.

An exhibit is put into trained translators, the small one and the large one, or a small one is
trained with it from the beginning.
"""

from contextlib import ExitStack
from copy import deepcopy
from functools import cache, partial
from unittest.mock import patch

import torch

from benchmarks.recipes.common import BATCH_SIZE, LR, NUM_STEPS, make_net
from d2lmini import (
    bugs,
    encode,
    load_data_nmt,
    normalise,
    predict_seq2seq,
    read_pairs,
    train_seq2seq,
    try_gpu,
)
from d2lmini.check.bugs import MUSEUM
from d2lmini.generation import beam_search, greedy_search
from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.translator import SubwordTranslator

EXPERIMENTS = {
    "museum": [
        {"exhibit": name, "num_epochs": 30}
        for name in ("none", *(exhibit.bug.__name__ for exhibit in MUSEUM))
    ],
    # A forgotten padding mask: who sees the padding, and how much of it?
    "padding-seen": [
        {"net": net, "by": by, "padding": padding}
        for net in ("small", "large")
        for by in ("encoder", "cross-attention", "both")
        for padding in (2, 4, 8, 16, 32)
    ],
}
# It fits one length only, so no real batch gets through.
NOT_TRAINED = {"NormOverSteps"}
# They change what is learned, or how many parameters there are, or the start.
TRAINED_ONLY = {
    "BatchNormed",
    "SplitThenProject",
    "not_shifted",
    "loss_over_padding",
    "ClonedLayers",
}


def without_dropout(attention):
    return lambda Q, K, V, mask=None, dropout=0.0: attention(Q, K, V, mask)


def loss_over_padding(logits, labels, valid_lens, label_smoothing=0.0):
    return bugs.loss_over_padding(logits, labels, valid_lens)


ATTENTION, BLOCKS, LOSSES = "d2lmini.attention", "d2lmini.transformer", "d2lmini.losses"
IN_PLACE_OF = {
    "swapped_mask": (
        f"{ATTENTION}.scaled_dot_product_attention",
        without_dropout(bugs.swapped_mask),
    ),
    "unscaled": (
        f"{ATTENTION}.scaled_dot_product_attention",
        without_dropout(bugs.unscaled),
    ),
    "minus_1e9": (f"{ATTENTION}.masked_softmax", bugs.minus_1e9),
    "overwriting_softmax": (f"{ATTENTION}.masked_softmax", bugs.overwriting_softmax),
    "softmax_over_queries": (f"{ATTENTION}.masked_softmax", bugs.softmax_over_queries),
    "SplitThenProject": (f"{BLOCKS}.MultiHeadAttention", bugs.SplitThenProject),
    "BatchNormed": (f"{BLOCKS}.AddNorm", bugs.BatchNormed),
    "not_shifted": (f"{LOSSES}.shift_right", bugs.not_shifted),
    "loss_over_padding": (f"{LOSSES}.masked_cross_entropy", loss_over_padding),
}


def stacks(net):
    return net.encoder.stack, net.decoder.stack


def attentions(net):
    modules = net.modules()
    return [m for m in modules if isinstance(m, bugs.MultiHeadAttention)]


def padding_on_queries(net):
    """In the encoder, where a mask of the padding can be taken for one of the queries."""
    for block in net.encoder.stack.blocks:
        forward = block.attention.forward
        block.attention.forward = lambda Q, K, V, mask=None, forward=forward: forward(
            Q, K, V, None if mask is None else mask.mT
        )


def fresh_output(net):
    for attention in attentions(net):
        attention.__class__ = bugs.FreshOutput
        del attention.W_o


def positions_on_batch(net):
    for part in (net.encoder, net.decoder):
        positions = bugs.PositionsOnBatch(part.embedding.positions.P.shape[1])
        part.embedding.positions.forward = lambda X, start=0, add=positions: add(X)


def change_class(parts, kind, net):
    for part in parts(net):
        part.__class__ = kind


def one_layer(net):
    for stack in stacks(net):
        stack.blocks = torch.nn.ModuleList([stack.blocks[0]] * len(stack.blocks))


def cloned_layers(net):
    for stack in stacks(net):
        for block in stack.blocks[1:]:
            block.load_state_dict(stack.blocks[0].state_dict())


CHANGES = {
    "padding_on_queries": padding_on_queries,
    "MaskedOnce": partial(change_class, lambda n: stacks(n)[:1], bugs.MaskedOnce),
    "PositionsOnBatch": positions_on_batch,
    "FreshOutput": fresh_output,
    "CausalInTraining": partial(
        change_class, lambda n: n.decoder.stack.blocks, bugs.CausalInTraining
    ),
    "PositionsFromZero": partial(
        change_class, lambda n: [n.decoder], bugs.PositionsFromZero
    ),
    "ClonedLayers": cloned_layers,
    "OneLayer": one_layer,
    "PositionsDropped": partial(
        change_class,
        lambda n: [side.embedding.positions for side in (n.encoder, n.decoder)],
        bugs.PositionsDropped,
    ),
}


def replaced(exhibit):
    """A context in which the exhibit stands in place of what it is a mistake of."""
    stack = ExitStack()
    if exhibit in IN_PLACE_OF:
        stack.enter_context(patch(*IN_PLACE_OF[exhibit]))
    return stack


def translations(net, vocabs, sentences, exhibit):
    # An exhibit without a cache reads the whole prefix at each step, as beam search does.
    beam = 1 if exhibit == "CausalInTraining" else None
    device = next(net.parameters()).device
    args = *vocabs, 2 * NUM_STEPS, device, beam
    return [predict_seq2seq(net, sentence, *args)[0] for sentence in sentences]


def large_translations(translator, sentences, exhibit):
    """Token ids, one sentence at a time."""
    net, vocab, found = translator.net.eval(), translator.vocab, []
    device = next(net.parameters()).device
    for sentence in sentences:
        src, lens = (array.to(device) for array in translator.encode([sentence]))
        search = net, src, lens, vocab.bos, vocab.eos, translator.num_steps
        if exhibit == "CausalInTraining":
            found.append(beam_search(*search, beam_size=1)[0].tokens)
        else:
            found.append(greedy_search(*search).tokens)
    return found


def unchanged(before, after):
    return sum(a == b for a, b in zip(before, after, strict=True)) / len(before)


def train_small(seed, num_epochs, change=lambda net: None):
    torch.manual_seed(seed)
    train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, None)
    net = make_net(*vocabs)
    change(net)
    train_seq2seq(net, train_iter, LR, num_epochs, vocabs[1], try_gpu())
    return net, vocabs


@cache
def without_mistake(seed, num_epochs):
    return train_small(seed, num_epochs)


@cache
def large_before(sentences, exhibit):
    translator = SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors")
    return translator, large_translations(translator, sentences, exhibit)


def blind(attentions):
    """Take the mask from these attentions."""
    for attention in attentions:
        attention.register_forward_pre_hook(lambda module, inputs: inputs[:3])


@torch.no_grad()
def padded_translations(net, search, sentences, padding):
    """Token ids, one sentence (its ids) at a time, with so many ids of padding behind it."""
    pad, *search = search
    found = []
    for ids in sentences:
        src = torch.tensor([ids + padding * [pad]])
        found.append(greedy_search(net, src, torch.tensor([len(ids)]), *search).tokens)
    return found


@cache
def to_be_padded(net, seed):
    """A trained translator, what its search needs, the ids of the test sentences, and its words."""
    english = [sentence for sentence, _ in read_pairs(split="test")]
    if net == "small":
        model, (src_vocab, vocab) = without_mistake(seed, 30)
        src, lens = encode([*map(normalise, english)], src_vocab, NUM_STEPS)
        search = src_vocab.pad, vocab.bos, vocab.eos, 2 * NUM_STEPS
    else:
        translator = SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors")
        model, vocab = translator.net, translator.vocab
        src, lens = translator.encode(english)
        search = vocab.pad, vocab.bos, vocab.eos, translator.num_steps
    model = model.cpu().eval()
    ids = [row[:n] for row, n in zip(src.tolist(), lens.tolist(), strict=True)]
    return model, search, ids, padded_translations(model, search, ids, 0)


def run_padding(seed, net, by, padding):
    """The share of test sentences translated as before if padding is seen."""
    model, search, ids, before = to_be_padded(net, seed)
    model = deepcopy(model)
    if by != "cross-attention":
        blind(block.attention for block in model.encoder.stack.blocks)
    if by != "encoder":
        blind(block.cross_attention for block in model.decoder.stack.blocks)
    after = padded_translations(model, search, ids, padding)
    return {"unchanged": unchanged(before, after)}


def run(seed, **setting):
    """What a mistake does to translators: one of the museum's, or padding that is seen."""
    torch.set_num_threads(1)
    return (run_padding if "padding" in setting else run_exhibit)(seed, **setting)


def run_exhibit(seed, exhibit, num_epochs):
    """Shares of test sentences that are right, or unchanged by an exhibit put in afterwards."""
    sentences, references = zip(*read_pairs(split="test"), strict=True)
    references = [normalise(reference) for reference in references]
    change, found = CHANGES.get(exhibit, lambda net: None), {"seed": seed}
    if exhibit not in NOT_TRAINED:
        with replaced(exhibit):
            net, vocabs = train_small(seed, num_epochs, change)
            said = translations(net, vocabs, sentences, exhibit)
        found["trained_right"] = unchanged(references, said)
    if exhibit not in TRAINED_ONLY | NOT_TRAINED | {"none"}:
        net, vocabs = without_mistake(seed, num_epochs)
        small = translations(net, vocabs, sentences, exhibit)
        translator, large = large_before(sentences, exhibit)
        net, translator = deepcopy(net), deepcopy(translator)
        change(net)
        change(translator.net)
        torch.manual_seed(seed)
        with replaced(exhibit):
            after = translations(net, vocabs, sentences, exhibit)
            found["small_unchanged"] = unchanged(small, after)
            after = large_translations(translator, sentences, exhibit)
            found["large_unchanged"] = unchanged(large, after)
    return found
