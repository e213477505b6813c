"""Two examinations of a language model with one more argument: padding, and a cache."""

import inspect

import torch

from d2lmini.check.trying import difference, largest, mode, rounding
from d2lmini.check.whole_models import FAILS, HOLDS, UNTRIED, WARNS, logits_of


def named_in(net) -> list[str]:
    """The names of the arguments that net takes."""
    return [*inspect.signature(getattr(net, "forward", net)).parameters]


def padding(subject):
    """With an attention_mask, as models of Hugging Face take it, padding does not matter."""
    if "attention_mask" not in named_in(subject.net):
        return UNTRIED, "net takes no attention_mask, so its texts have one length."
    tokens, alone = subject.tokens, subject(subject.tokens)
    real, filler = torch.ones_like(tokens), subject.other(tokens)[:, :2]
    parts = [(tokens, real), (filler, torch.zeros_like(filler))]
    for side, ordered in (("right", parts), ("left", parts[::-1])):
        if side == "left" and (moved := _contents_matter(subject, real)):
            sentence = (
                f"What stands in padding on the left moves outputs by {moved:.2g}."
            )
            cause = "an attention_mask that is not used, or is added as 0 and 1"
            return FAILS, sentence, cause, "chapter 2, Padding"
        padded, mask = (torch.cat(given, dim=1) for given in zip(*ordered, strict=True))
        with mode(subject.net, training=False), torch.no_grad():
            logits = logits_of(subject.net(padded, attention_mask=mask))
        found = logits[mask.bool()].reshape(alone.shape)
        size = largest(difference(found, alone))
        if size > 10 * rounding(alone):
            sentence = (
                f"Two tokens of padding on the {side} move outputs by {size:.2g}."
            )
            if side == "right":
                cause = "an attention_mask that is not used"
                return FAILS, sentence, cause, "chapter 2, Padding"
            cause = "positions that count the padding: pad on the right, or give position_ids"
            return WARNS, sentence, cause, "chapter 2, Padding"
    return HOLDS, "Padding moves no output, on either side."


def _contents_matter(subject, real) -> float:
    """How far outputs move if padding on the left is filled with other tokens; 0 if not at all."""
    config = getattr(subject.net, "config", None)
    pad = getattr(config, "pad_token_id", None)  # some models count positions by it
    found = []
    for token in [i for i in range(subject.num_ids) if i != pad][:2]:
        ids = torch.full_like(real[:, :2], token)
        mask = torch.cat([torch.zeros_like(ids), real], dim=1)
        with mode(subject.net, training=False), torch.no_grad():
            padded = torch.cat([ids, subject.tokens], dim=1)
            found.append(
                logits_of(subject.net(padded, attention_mask=mask))[mask.bool()]
            )
    moved = largest(difference(found[0], found[-1]))
    return moved if moved > 10 * rounding(found[0]) else 0.0


def cache(subject):
    """Token by token, and two at a time, a cache gives what the whole text gives."""
    whole, tokens = subject(subject.tokens), subject.tokens
    if not subject.batch_first:
        return UNTRIED, "A cache is tried with the batch first only."
    read = _with_cache(subject.net)
    if read is None:
        called = ", ".join(CACHE)
        return UNTRIED, f"net takes no cache: no argument is named {called}."
    for at_once in (1, 2):
        pieces, cache = [], None
        with mode(subject.net, training=False), torch.no_grad():
            for begin in range(0, tokens.shape[1], at_once):
                logits, cache = read(tokens[:, begin : begin + at_once], cache)
                if not _holds_batch(cache, len(tokens)):
                    return UNTRIED, "The model returns no cache."
                pieces.append(logits)
        moved = difference(torch.cat(pieces, dim=1), whole).amax((0, 2))
        if moved.max() > 10 * rounding(whole):
            at = int((moved > 10 * rounding(whole)).int().argmax())
            way = "One token at a time" if at_once == 1 else "Two tokens at a time"
            sentence = f"{way}, the output at position {at} differs by {moved[at]:.2g}."
            cause = (
                "positions that start again at 0, or a cache that is not used whole"
                if at_once == 1
                else "a mask that is skipped, or not moved on, once there is a cache"
            )
            return (
                FAILS,
                sentence,
                cause,
                "chapter 8, Remembering what was computed: the cache; museum, 16",
            )
    return HOLDS, "One token at a time, or two, gives what the whole text gives."


CACHE = "cache", "past", "state", "hidden"  # one of them is part of the argument's name
# and it does not begin with one of these, which ask for something, or give it
NO_CACHE = "use_", "return_", "output_", "training_", "encoder_"


def _with_cache(net):
    """How the model reads on from a cache: read(tokens, cache) -> (logits, cache)."""
    names = named_in(net)
    keyword = next(
        (n for n in names[1:] for c in CACHE if c in n and not n.startswith(NO_CACHE)),
        None,
    )
    switch = {"use_cache": True} if "use_cache" in names else {}
    if keyword is None:
        return None

    def read(tokens, cache):
        output = net(tokens, **({} if cache is None else {keyword: cache}), **switch)
        if hasattr(output, keyword):  # as Hugging Face's models return it
            return logits_of(output), getattr(output, keyword)
        is_pair = isinstance(output, tuple | list) and len(output) > 1
        return logits_of(output), output[1] if is_pair else None

    return read


def _holds_batch(cache, batch) -> bool:
    """Whether something holds a tensor of several axes, one of them that of the batch."""
    if isinstance(cache, torch.Tensor):
        return cache.dim() > 1 and batch in cache.shape
    if isinstance(cache, dict):
        cache = [*cache.values()]
    if isinstance(cache, list | tuple):
        return any(_holds_batch(part, batch) for part in cache)
    return hasattr(cache, "__dict__") and _holds_batch(vars(cache), batch)
