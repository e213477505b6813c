"""Checks of arguments that are data: text, arrays, paths; see d2lmini.arguments."""

import warnings
from collections.abc import Callable

import torch

from d2lmini.arguments import (
    check_count,
    check_device,
    check_floats,
    check_kind,
    check_modules,
    check_sequences,
    check_shape,
    check_token,
    check_vocabs,
)

FASTEST_STEP = 2.0  # metres in 0.4 s: a runner's
FARTHEST = 200.0  # metres from the origin: a scene that one camera sees is smaller


def check_strings(name: str, strings) -> None:
    """A list of strings; one string would be taken for a list of letters."""
    check_kind(name, strings, list | tuple, "a list of strings")
    if {*map(type, strings)} <= {str}:  # of a corpus each word comes by here
        return
    for string in strings:
        if not isinstance(string, str):
            got = f"{type(string).__name__}: {string!r:.60}"
            raise TypeError(f"{name} must hold strings, got {got}")


def check_words(name: str, text) -> None:
    """A string of at least one word."""
    check_kind(name, text, str, "a string")
    if not text.split():
        raise ValueError(f"{name} ({text!r}) must contain at least one word")


def check_encoding(sentences, vocab, num_steps) -> None:
    """What becomes ids."""
    check_strings("sentences", sentences)
    check_vocabs(vocab=vocab)
    check_count("num_steps", num_steps)


def check_ids(ids, vocab_size: int) -> None:
    """A list of ids."""
    check_kind("ids", ids, list | tuple, "a list of token ids")
    for token in ids:
        check_token(token, vocab_size)


def check_batched(sentences, batch_size) -> None:
    """What translate_all is told, beside what predict_seq2seq is."""
    check_strings("sentences", sentences)
    for sentence in sentences:
        check_words("sentences", sentence)
    check_count("batch_size", batch_size)


def check_ngrams(tokens, n) -> None:
    """Words, not letters, and how many of them make a run."""
    check_strings("tokens", tokens)
    check_count("n", n)


def check_merges(merges) -> None:
    """Pairs of pieces."""
    check_kind("merges", merges, list | tuple, "a list of pairs")
    for pair in merges:
        rule = "a pair of strings"
        check_kind("merges: pair", pair, tuple, rule)
        if len(pair) != 2 or not all(isinstance(piece, str) for piece in pair):
            raise ValueError(f"merges: pair ({pair!r:.60}) must be {rule}")


def check_labelled(texts) -> None:
    """Texts, each with the number of its class."""
    check_kind("texts", texts, list | tuple, "a list of (text, label)")
    for text in texts:
        check_kind("texts: entry", text, list | tuple, "(text, label)")
        if len(text) != 2:
            raise ValueError(f"texts: entry ({text!r:.60}) must be (text, label)")
        check_count("texts: label", text[1], least=0)


def check_as_many(predictions, references) -> None:
    """Two lists of strings, equally long, at least one each."""
    check_strings("predictions", predictions)
    check_strings("references", references)
    if len(predictions) != len(references) or not len(references):
        raise ValueError(
            f"len(predictions) ({len(predictions)}) must equal "
            f"len(references) ({len(references)}), and be at least 1"
        )
    for reference in references:
        check_words("references", reference)


def check_arrays(arrays, batch_size, collate) -> None:
    """Tensors with equally many rows, at least one, and how they become batches."""
    check_kind("arrays", arrays, list | tuple, "a list of tensors, (rows, ...) each")
    for i, array in enumerate(arrays):
        check_kind(f"arrays[{i}]", array, torch.Tensor, "a torch.Tensor")
    rows = [len(array) if array.dim() else None for array in arrays]
    if len(set(rows)) != 1 or not rows[0]:
        raise ValueError(
            f"arrays must have equally many rows, at least one, got {rows}"
        )
    check_count("batch_size", batch_size)
    if collate is not None:
        check_kind("collate", collate, Callable, "a function of a batch")


def check_translation(
    net, src_vocab, tgt_vocab, num_steps, device, beam_size=None
) -> None:
    """What predict_seq2seq is told, beside the sentence."""
    check_modules(net=net)
    check_vocabs(src_vocab=src_vocab, tgt_vocab=tgt_vocab)
    check_count("num_steps", num_steps)
    check_device(device)
    if beam_size is not None:
        check_count("beam_size", beam_size)


def check_classified(net, text, vocab, num_steps, device) -> None:
    """What classify is told."""
    check_modules(net=net)
    check_words("text", text)
    check_vocabs(vocab=vocab)
    check_count("num_steps", num_steps, least=2)  # a word and <eos>
    check_device(device)


def check_known(words, vocab) -> None:
    """At least one of the words is in the vocabulary."""
    if all(word not in vocab.word_to_idx for word in words):
        text = " ".join(words)
        raise ValueError(
            f"text ({text!r:.60}) must hold at least one word of the vocabulary"
        )


def check_paths(**paths) -> None:
    """Positions in metres, (batch, steps, 2), at least two steps; a warning if they look wrong."""
    for name, path in paths.items():
        check_floats(name, path)
        check_shape(name, path, ("batch", "steps", 2))
        if path.shape[1] < 2:
            raise ValueError(f"{name} must have at least 2 steps, got {path.shape[1]}")
        _check_finite(name, path)
        if path.is_cpu and len(path):
            length = path.diff(dim=1).norm(dim=-1).mean().item()
            farthest = path.abs().max().item()
            if length > FASTEST_STEP or farthest > FARTHEST:
                warnings.warn(
                    f"{name} should be in metres, 0.4 s apart, but its mean step is "
                    f"{length:.1f} and its largest coordinate {farthest:.0f}: are they pixels?",
                    UserWarning,
                    stacklevel=3,
                )


def _check_finite(name, path) -> None:
    """No NaN and no infinity; only on the CPU, where looking costs no synchronisation."""
    bad = path.isfinite().all(-1).logical_not().nonzero() if path.is_cpu else ()
    if len(bad):
        raise ValueError(
            f"{name} must be finite, at (batch, step) = {bad[0].tolist()} it is not"
        )


def check_walks(past, future) -> None:
    """What was seen, and what followed: positions of as many pedestrians."""
    check_paths(past=past)
    check_sequences(2, past=past, future=future)
    _check_finite("future", future)


def check_forecast(predicted, future, log_sigmas=None) -> None:
    """As many predicted positions, and widths if any, as there are to compare with."""
    for name, path in (("predicted", predicted), ("future", future)):
        check_floats(name, path)
        check_shape(name, path, ("batch", "steps", 2))
    if predicted.shape != future.shape:
        raise ValueError(
            f"predicted {tuple(predicted.shape)} and future {tuple(future.shape)} must have the "
            "same shape"
        )
    _check_finite("future", future)
    if log_sigmas is not None:
        check_floats("log_sigmas", log_sigmas)
        check_shape("log_sigmas", log_sigmas, future.shape[:2])
