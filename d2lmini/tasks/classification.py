"""Text classification: an encoder, pooling over positions, a score for each class."""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from d2lmini.data import Vocab, encode, normalise
from d2lmini.masks import masked_softmax, padding_mask
from d2lmini.support.arguments import (
    check_arguments,
    check_at_most,
    check_count,
    check_floats,
    check_integers,
    check_parts,
)
from d2lmini.support.modes import eval_mode


class AttentionPooling(nn.Module):
    """A weighted mean over the real positions: attention with a single, learned query.

    Args:
        num_hiddens: width.
    Shapes:
        X: (batch, steps, num_hiddens)
        mask: broadcastable to (batch, 1, steps), True = may be pooled
        result: (batch, num_hiddens)
    Source: Yang et al. 2016, section 2.2; chapter 12.
    """

    def __init__(self, num_hiddens):
        super().__init__()
        check_arguments(num_hiddens=num_hiddens)
        self.query = nn.Linear(num_hiddens, 1, bias=False)
        self.weights = None  # (batch, steps), of the last pass

    def forward(self, X, mask=None):
        check_floats("X", X, "batch", "steps", self.query.in_features)
        scores = self.query(X).transpose(1, 2)  # (batch, 1, steps)
        weights = masked_softmax(scores, mask)
        self.weights = weights[:, 0].detach()
        return (weights @ X)[:, 0]  # (batch, num_hiddens)

    def __getstate__(self):  # for torch.save and copy.deepcopy
        """State to save or copy: everything but the weights of the last pass."""
        return self.__dict__ | {"weights": None}


class Classifier(nn.Module):
    """An encoder, attention pooling, and a linear layer that scores the classes.

    Args:
        encoder: called with (tokens, valid_lens); returns (batch, steps, num_hiddens).
        num_hiddens: width of its output.
        num_classes: labels are in [0, num_classes).
        dropout: probability, on the pooled vector.
    Shapes:
        tokens: (batch, steps), integers; valid_lens: (batch,), None = no padding
        result: (batch, num_classes), logits
    Source: chapter 12.
    """

    def __init__(self, encoder, num_hiddens, num_classes, dropout):
        super().__init__()
        check_arguments(encoder=encoder, num_classes=num_classes, dropout=dropout)
        self.encoder = encoder
        self.pooling = AttentionPooling(num_hiddens)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(num_hiddens, num_classes)

    def forward(self, tokens, valid_lens=None):
        X = self.encoder(tokens, valid_lens)  # (batch, steps, num_hiddens)
        mask = padding_mask(valid_lens, X.shape[1])  # (batch, 1, 1, steps) or None
        # (batch, num_hiddens)
        pooled = self.pooling(X, mask if mask is None else mask[:, 0])
        return self.output(self.dropout(pooled))


def classification_loss(net, batch):
    """The cross-entropy of net on the label of each text.

    Args:
        net: called with (tokens, valid_lens); returns logits (batch, num_classes).
        batch: (tokens, valid_lens, labels), as label_batches makes them.
    Returns:
        Mean nats per text, and the number of texts.
    Source: chapter 12.
    """
    check_parts(batch, "tokens", "valid_lens", "labels")
    tokens, valid_lens, labels = batch
    check_integers("labels", labels, len(tokens))
    logits = net(tokens, valid_lens)  # (batch, num_classes)
    check_at_most("labels", labels, "num_classes - 1", logits.shape[1] - 1)
    return F.cross_entropy(logits, labels), len(labels)


def classification_accuracy(net, batch):
    """The share of texts whose label gets the highest score; with evaluate, on a whole data set.

    Args: as for classification_loss.
    Returns:
        The share, and the number of texts.
    Source: chapter 12.
    """
    check_parts(batch, "tokens", "valid_lens", "labels")
    tokens, valid_lens, labels = batch
    check_integers("labels", labels, len(tokens))
    right = net(tokens, valid_lens).argmax(dim=-1) == labels
    return right.float().mean(), len(labels)


class Verdict(NamedTuple):
    """The result of classify.

    Source: chapter 12.
    """

    label: int
    probabilities: list[float]  # one per class
    tokens: list[str]  # as the net sees them: with <eos>, and <unk> for unknown words
    weights: list[float]  # of the tokens in the pooling; they sum to 1


@torch.no_grad()
def classify(net, text: str, vocab: Vocab, num_steps: int, device) -> Verdict:
    """Classify one text.

    Args:
        num_steps: maximum length in tokens with <eos>; longer texts are cut.
    Raises:
        TypeError, ValueError: an argument has the wrong type or value, or no word is known.
    Source: chapter 12.
    """
    check_arguments(net=net, text=text, vocab=vocab, device=device)
    check_count("num_steps", num_steps, least=2)  # a word and <eos>
    words = normalise(text).split()[: num_steps - 1]
    if all(word not in vocab.word_to_idx for word in words):
        raise ValueError(f"text ({text!r:.60}) must hold a word of the vocabulary")
    ids, valid_lens = encode([" ".join(words)], vocab, len(words) + 1)  # with <eos>
    with eval_mode(net.to(device)):
        logits = net(ids.to(device), valid_lens.to(device))[0]  # (num_classes,)
    return Verdict(
        logits.argmax().item(),
        logits.softmax(dim=-1).tolist(),
        vocab.to_tokens(ids[0].tolist()),
        net.pooling.weights[0].tolist(),
    )
