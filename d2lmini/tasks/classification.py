"""Text classification: an encoder, pooling over positions, a score for each class."""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from d2lmini.data import Vocab, encode, normalise
from d2lmini.masks import masked_softmax, padding_mask
from d2lmini.support.arguments import (
    check_classes,
    check_classified,
    check_known,
    check_modules,
    check_sequences,
    check_sizes,
    check_texts,
)


class AttentionPooling(nn.Module):
    """A weighted mean over the real positions: attention with a single, learned query.

    Args:
        num_hiddens: width.
    Shapes:
        X: (batch, steps, num_hiddens)
        mask: broadcastable to (batch, 1, steps), True = may be pooled
        result: (batch, num_hiddens)
    Source: Yang et al. 2016, section 2.2; chapter 10.
    """

    def __init__(self, num_hiddens):
        super().__init__()
        check_sizes(num_hiddens=num_hiddens)
        self.query = nn.Linear(num_hiddens, 1, bias=False)

    def forward(self, X, mask=None):
        check_sequences(self.query.in_features, X=X)
        scores = self.query(X).transpose(1, 2)  # (batch, 1, steps)
        weights = masked_softmax(scores, mask)
        self.weights = weights[:, 0].detach()  # (batch, steps), last forward pass
        return (weights @ X)[:, 0]  # (batch, num_hiddens)


class Classifier(nn.Module):
    """An encoder, attention pooling, and a linear layer that scores the classes.

    Args:
        encoder: called with (tokens, valid_lens); returns (batch, steps, num_hiddens).
        num_hiddens: width of its output.
        num_classes: labels are in [0, num_classes).
        dropout: probability, on the pooled vector.
    Shapes:
        tokens: (batch, steps), integers; valid_lens: (batch,)
        result: (batch, num_classes), logits
    Source: chapter 10.
    """

    def __init__(self, encoder, num_hiddens, num_classes, dropout):
        super().__init__()
        check_modules(encoder=encoder)
        check_sizes(num_classes=num_classes, dropout=dropout)
        self.encoder = encoder
        self.pooling = AttentionPooling(num_hiddens)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(num_hiddens, num_classes)

    def forward(self, tokens, valid_lens):
        X = self.encoder(tokens, valid_lens)  # (batch, steps, num_hiddens)
        mask = padding_mask(valid_lens, X.shape[1])[:, 0]  # (batch, 1, steps)
        pooled = self.pooling(X, mask)  # (batch, num_hiddens)
        return self.output(self.dropout(pooled))


def classification_loss(net, batch):
    """The cross-entropy of net on the label of each text.

    Args:
        net: called with (tokens, valid_lens); returns logits (batch, num_classes).
        batch: (tokens, valid_lens, labels), see load_data_labelled.
    Returns:
        Mean nats per text, and the number of texts.
    Source: chapter 10.
    """
    check_texts(batch)
    tokens, valid_lens, labels = batch
    logits = net(tokens, valid_lens)  # (batch, num_classes)
    check_classes(logits, labels)
    return F.cross_entropy(logits, labels), len(labels)


def classification_accuracy(net, batch):
    """The share of texts whose label gets the highest score; with evaluate, on a whole data set.

    Args: as for classification_loss.
    Returns:
        The share, and the number of texts.
    Source: chapter 10.
    """
    check_texts(batch)
    tokens, valid_lens, labels = batch
    right = net(tokens, valid_lens).argmax(dim=-1) == labels
    return right.float().mean(), len(labels)


class Verdict(NamedTuple):
    """The result of classify.

    Source: chapter 10.
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
        TypeError, ValueError: see arguments.check_classified; or no word is known.
    Source: chapter 10.
    """
    check_classified(net, text, vocab, num_steps, device)
    words = normalise(text).split()[: num_steps - 1]
    check_known(words, vocab)
    ids, valid_lens = encode([" ".join(words)], vocab, len(words) + 1)  # with <eos>
    net.to(device).eval()
    logits = net(ids.to(device), valid_lens.to(device))[0]  # (num_classes,)
    return Verdict(
        logits.argmax().item(),
        logits.softmax(dim=-1).tolist(),
        vocab.to_tokens(ids[0].tolist()),
        net.pooling.weights[0].tolist(),
    )
