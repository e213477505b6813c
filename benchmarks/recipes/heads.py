"""Runs of chapter 11: what the heads of translators align, and the cost of ablating each.

python -m benchmarks.recipes.heads saves the small translator that the chapter looks at.
"""

import random
from collections import Counter

import torch

from benchmarks.recipes.common import (
    BATCH_SIZE,
    LR,
    NUM_STEPS,
    RECIPE,
    make_net,
    save_nets,
)
from d2lmini import (
    encode,
    load_data_nmt,
    normalise,
    read_pairs,
    shift_right,
    train_seq2seq,
    try_gpu,
)
from d2lmini.losses import masked_cross_entropy
from tools.corpora import make_eng_fra_mini as grammar

EXPERIMENTS = {"heads": [{"num_epochs": 30, "num_sentences": 3000}]}
RECIPES = {"heads": RECIPE}
# French words that correspond to exactly one English word
PARTNERS = {
    french: english
    for english, french, *_ in (*grammar.NOUNS, *grammar.ADJECTIVES, *grammar.AFTER)
} | {"soif": "thirsty", "faim": "hungry", "paris": "paris"}


def new_sentences(num_sentences):
    """Normalised pairs from the grammar: new sentences of words that occur in training."""
    train = [tuple(map(normalise, pair)) for pair in read_pairs()]
    words = Counter(word for pair in train for side in pair for word in side.split())
    taken = {side for pair in train for side in pair}
    pairs = {
        tuple(map(normalise, pair))
        for construction, _ in grammar.CONSTRUCTIONS
        for pair in construction()
        if not grammar.unseen(pair[0])
    }
    new = [
        pair
        for pair in sorted(pairs)
        if taken.isdisjoint(pair)
        and all(words[word] > 1 for side in pair for word in side.split())
        and all(len(side.split()) < NUM_STEPS for side in pair)
    ]
    return random.Random(0).sample(new, num_sentences)


def partners(pairs):
    """(sentence, row, column) of target words and their source words at different positions."""
    for i, (english, french) in enumerate(pairs):
        source = english.split()
        for row, word in enumerate(french.split()):
            partner = PARTNERS.get(word)
            if source.count(partner) == 1 and source.index(partner) != row:
                yield i, row, source.index(partner)


@torch.no_grad()
def loss_of(net, batch, bos):
    """The loss over all sentences, in nats per target token."""
    src, src_lens, tgt, tgt_lens = batch
    logits = net(src, shift_right(tgt, bos), src_lens)
    return masked_cross_entropy(logits, tgt, tgt_lens).item()


def price(net, batch, bos, attention, head, intact):
    """The increase of the loss if a head's columns of the output matrix are set to zero."""
    weight = attention.W_o.weight
    kept, size = weight.detach().clone(), weight.shape[1] // attention.num_heads
    weight.data[:, head * size : (head + 1) * size] = 0
    found = loss_of(net, batch, bos) - intact
    weight.data = kept
    return found


def train(seed, num_epochs):
    """Chapter 11's translator, and its vocabularies."""
    torch.manual_seed(seed)
    train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, None)
    net = make_net(*vocabs)
    train_seq2seq(net, train_iter, LR, num_epochs, vocabs[1], try_gpu())
    return net, vocabs


def run(seed, num_epochs, num_sentences):
    """Train chapter 11's translator; measure alignment and price of each cross-attention head."""
    net, vocabs = train(seed, num_epochs)
    device, bos = try_gpu(), vocabs[1].bos
    pairs, batch = new_sentences(num_sentences), []
    for side, vocab in enumerate(vocabs):
        batch += encode([pair[side] for pair in pairs], vocab, NUM_STEPS)
    batch = [array.to(device) for array in batch]
    intact = loss_of(net.eval(), batch, bos)
    weights = net.decoder.attention_weights[1]  # (layers, batch, heads, queries, keys)
    sentence, row, column = map(list, zip(*partners(pairs), strict=True))
    places = Counter(zip(row, column, strict=True))
    best_places = sum(
        max(n for (r, _), n in places.items() if r == number) for number in set(row)
    )
    lengths = batch[1][sentence].float()
    return {
        "loss": intact,
        "words": len(row),
        "evenly": (1 / lengths).mean().item(),
        "by_row_number": best_places / len(row),
        # (words, layers, heads) -> (layers, heads)
        "alignment": weights[:, sentence, :, row, column].mean(0).tolist(),
        "price": [
            [
                price(net, batch, bos, block.cross_attention, head, intact)
                for head in range(block.cross_attention.num_heads)
            ]
            for block in net.decoder.stack.blocks
        ],
    }


def save_one(name="heads", seed=9, num_epochs=30):
    """Save the translator that the chapter looks at, 8 bits a weight."""
    torch.set_num_threads(1)
    net, _ = train(seed, num_epochs)
    kept = {"small translator": net.state_dict()}
    save_nets(name, kept, num_epochs=num_epochs, seed=seed)


if __name__ == "__main__":
    save_one()
