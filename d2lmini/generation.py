"""From a trained network to a sequence, one token at a time."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from d2lmini.masks import padding_mask
from d2lmini.support.net_arguments import check_search


class Hypothesis(NamedTuple):
    """A translation in the making: its token ids, <bos> first, and their log-probability."""

    tokens: list[int]
    log_prob: float


@torch.no_grad()
def greedy_search(
    net: nn.Module, src: Tensor, src_valid_lens: Tensor | None, bos: int, eos: int,
    num_steps: int,
) -> Hypothesis:  # fmt: skip
    """Take the most probable token at each decoding step, until <eos> or num_steps tokens.

    Shapes:
        src: (1, source steps)
        src_valid_lens: (1,); None = no padding
    Raises:
        TypeError, ValueError: see net_arguments.check_search; src holds more than one sentence.
    Source: chapter 9.
    """
    check_search(net, src, bos, eos, num_steps)
    memory = net.encoder(src, src_valid_lens)  # (1, source steps, num_hiddens)
    memory_mask = padding_mask(src_valid_lens, src.shape[1])
    tokens, total, caches = [bos], 0.0, None
    while len(tokens) <= num_steps and tokens[-1] != eos:
        last = torch.tensor([tokens[-1:]], device=src.device)  # (1, 1)
        logits, caches = net.decoder(last, memory, memory_mask, caches)
        log_probs = logits[0, -1].log_softmax(dim=-1)  # (vocab_size,)
        tokens.append(log_probs.argmax().item())
        total += log_probs.max().item()
    return Hypothesis(tokens, total)


@torch.no_grad()
def beam_search(
    net: nn.Module, src: Tensor, src_valid_lens: Tensor | None, bos: int, eos: int,
    num_steps: int, beam_size: int,
) -> list[Hypothesis]:  # fmt: skip
    """Keep the beam_size most probable hypotheses at each decoding step.

    Shapes:
        src: (1, source steps)
        src_valid_lens: (1,); None = no padding
    Returns:
        At most beam_size hypotheses, ranked by log-probability per token; those without <eos>
        after num_steps come last.
    Raises:
        TypeError, ValueError: as for greedy_search, or beam_size is less than 1.
    Source: Sutskever et al. 2014, section 3.2; chapter 10.
    """
    check_search(net, src, bos, eos, num_steps, beam_size)
    memory = net.encoder(src, src_valid_lens)  # (1, source steps, num_hiddens)
    memory_mask = padding_mask(src_valid_lens, src.shape[1])
    growing, ended = [Hypothesis([bos], 0.0)], []
    for _ in range(num_steps):
        # Recompute the prefix each time: beams branch and die, so cache rows would move.
        tokens = [h.tokens for h in growing]
        tokens = torch.tensor(tokens, device=src.device)  # (beams, steps)
        memories = memory.expand(len(growing), -1, -1)
        logits, _ = net.decoder(tokens, memories, memory_mask)
        # Ranked on the CPU: not every device has float64.
        # (beams, vocab_size)
        log_probs = logits[:, -1].log_softmax(dim=-1).cpu().double()
        totals = log_probs + log_probs.new_tensor([[h.log_prob] for h in growing])
        best = totals.flatten().topk(min(beam_size, totals.numel()))
        extended = []
        for log_prob, index in zip(*(t.tolist() for t in best), strict=True):
            parent, token = divmod(index, totals.shape[1])
            extended.append(Hypothesis([*growing[parent].tokens, token], log_prob))
        ended += [h for h in extended if h.tokens[-1] == eos]
        growing = [h for h in extended if h.tokens[-1] != eos]
        if not growing or len(ended) >= beam_size:
            break
    ended.sort(key=log_prob_per_token, reverse=True)
    return (ended + growing)[:beam_size]  # growing: equal lengths, so in order


def log_prob_per_token(hypothesis: Hypothesis) -> float:
    """Mean log-probability of the tokens after <bos>; comparable across lengths."""
    return hypothesis.log_prob / (len(hypothesis.tokens) - 1)
