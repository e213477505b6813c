"""Runs of chapter 8: the small translator without an attention of its decoder, or as one stack."""

import torch
from torch import nn

from benchmarks.recipes.common import (
    BATCH_SIZE,
    DROPOUT,
    LR,
    NUM_STEPS,
    SIZES,
    make_net,
    share_right,
)
from d2lmini import (
    EncoderStack,
    TokenEmbedding,
    causal_mask,
    load_data_nmt,
    normalise,
    padding_mask,
    read_pairs,
    train_seq2seq,
    try_gpu,
)
from d2lmini.translation import encode_source

SILENT = "neither", "self_attention", "cross_attention", "one stack"
EXPERIMENTS = {
    "attentions": [{"silent": silent, "num_epochs": 30} for silent in SILENT],
}


class Joined(nn.Module):
    """Source and target as one sequence in one stack: self-attention and no other.

    The source sees the source, the target sees the source and what is left of it.
    """

    def __init__(self, src_vocab, tgt_vocab, num_layers=4):
        super().__init__()
        num_hiddens, ffn_num_hiddens, num_heads = SIZES[:3]
        self.source = TokenEmbedding(len(src_vocab), num_hiddens, DROPOUT)
        self.target = TokenEmbedding(len(tgt_vocab), num_hiddens, DROPOUT)
        self.stack = EncoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, DROPOUT
        )
        self.output = nn.Linear(num_hiddens, len(tgt_vocab))

    def forward(self, src, tgt, src_valid_lens):
        num_src, num_tgt = src.shape[1], tgt.shape[1]
        # The target starts at a position of its own, so that the two can be told apart.
        X = torch.cat([self.source(src), self.target(tgt, start=num_src)], dim=1)
        mask = causal_mask(num_src + num_tgt, device=src.device)
        mask = mask.expand(len(src), 1, -1, -1).clone()  # (batch, 1, queries, keys)
        mask[..., :num_src] = padding_mask(src_valid_lens, num_src)
        return self.output(self.stack(X, mask)[:, num_src:])


@torch.no_grad()
def share_written(net, vocabs, pairs):
    """share_right for a net without a decoder: read everything again at each step."""
    net.eval()
    src_vocab, tgt_vocab = vocabs
    device, right = next(net.parameters()).device, 0
    for english, french in pairs:
        src, lens = encode_source(normalise(english), src_vocab, NUM_STEPS, device)
        tokens = [tgt_vocab.bos]
        while len(tokens) <= 2 * NUM_STEPS and tokens[-1] != tgt_vocab.eos:
            logits = net(src, torch.tensor([tokens], device=device), lens)
            tokens.append(logits[0, -1].argmax().item())
        written = " ".join(tgt_vocab.to_tokens(tokens[1:-1]))
        right += written == normalise(french)
    return right / len(pairs)


def run(seed, silent, num_epochs):
    """Train with an attention of every decoder block silent, or as one stack; test it."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, None)
    net = Joined(*vocabs) if silent == "one stack" else make_net(*vocabs)
    if silent.endswith("attention"):
        for block in net.decoder.stack.blocks:
            matrix = getattr(block, silent).W_o.weight
            matrix.data.zero_()
            matrix.requires_grad_(False)
    train_seq2seq(net, train_iter, LR, num_epochs, vocabs[1], try_gpu())
    score = share_written if silent == "one stack" else share_right
    return {"seed": seed, "right": score(net, vocabs, read_pairs(split="test"))}
