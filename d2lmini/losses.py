"""Training losses. A loss is called with (net, batch) and returns (mean, count).

The mean is differentiated; the count is the number of items it was taken over, so that the means of
batches of different sizes can be combined.
"""

import torch
from torch import nn
from torch.nn import functional as F

from d2lmini.support.arguments import (
    check_arguments,
    check_integers,
    check_logits,
    check_parts,
)

IGNORED = -100  # not a token: cross-entropy leaves this label out of sum and count


def masked_cross_entropy(
    logits: torch.Tensor,
    labels: torch.Tensor,
    valid_lens: torch.Tensor,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Cross-entropy over the real tokens of a padded batch.

    Args:
        label_smoothing: share of the target probability spread over the whole vocabulary.
    Shapes:
        logits: (batch, steps, vocab_size)
        labels: (batch, steps)
        valid_lens: (batch,), the number of real tokens in each row
    Returns:
        Mean nats per non-pad target token, a scalar.
    Raises:
        TypeError, ValueError: see arguments.check_logits.
    Source: chapter 9.
    """
    check_logits(logits, labels, valid_lens, label_smoothing)
    steps = torch.arange(labels.shape[1], device=labels.device)
    labels = labels.masked_fill(steps >= valid_lens[:, None], IGNORED)
    return F.cross_entropy(
        logits.flatten(0, 1),  # (batch * steps, vocab_size)
        labels.flatten(),  # (batch * steps,)
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
    )


def shift_right(labels: torch.Tensor, bos: int) -> torch.Tensor:
    """The decoder's input under teacher forcing: <bos>, then all labels but the last.

    Shapes:
        labels, result: (batch, steps)
    Raises:
        TypeError, ValueError: labels are not integers of that shape, or bos is not an id.
    Source: chapter 9.
    """
    check_integers("labels", labels, "batch", "steps")
    check_arguments(bos=bos)
    return F.pad(labels, (1, -1), value=bos)


def seq2seq_loss(
    net: nn.Module, batch: tuple, bos: int, label_smoothing: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy of each target token given those before it (teacher forcing).

    Args:
        net: called with (src, tgt, src_valid_lens); returns logits (batch, steps, vocab_size).
        batch: (src, src_valid_lens, tgt, tgt_valid_lens), see load_data_nmt.
        bos, label_smoothing: see shift_right and masked_cross_entropy.
    Returns:
        Mean nats per target token, and the number of target tokens.
    Source: chapter 9.
    """
    check_parts(batch, "src", "src_valid_lens", "tgt", "tgt_valid_lens")
    src, src_valid_lens, tgt, tgt_valid_lens = batch
    logits = net(src, shift_right(tgt, bos), src_valid_lens)
    nats = masked_cross_entropy(logits, tgt, tgt_valid_lens, label_smoothing)
    return nats, tgt_valid_lens.sum()


def next_token_loss(net: nn.Module, batch: tuple, bos: int) -> tuple:
    """Cross-entropy of each token of a text given those before it, for a language model.

    Args:
        batch: (tokens, valid_lens), see data.encode.
        bos: what the model reads before the first token.
    Returns:
        Mean nats per token, and the number of tokens.
    Source: chapter 15.
    """
    tokens, valid_lens = batch
    logits, _ = net(shift_right(tokens, bos))
    return masked_cross_entropy(logits, tokens, valid_lens), valid_lens.sum()
