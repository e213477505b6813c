"""Checks of arguments: one line's call where a value is first used.

Each raises TypeError for a thing of the wrong kind, ValueError for a wrong value, and names the
parameter, its value and the rule. None waits for a GPU: what lies there was checked on its way.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sized

import torch
from torch import nn
from torch.utils.data import DataLoader


def check_kind(name: str, value, kind, rule: str) -> None:
    """A thing of a kind, or of one of several; True and False are no numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        got = type(value).__name__
        raise TypeError(f"{name} ({_short(value)}) must be {rule}, got {got}")


def check_count(name: str, value, least: int = 1) -> None:
    """A whole number that is at least least."""
    check_kind(name, value, int, "a whole number")
    if value < least:
        raise ValueError(f"{name} ({value}) must be at least {least}")


def check_probability(name: str, value) -> None:
    """A number from 0 to 1."""
    check_kind(name, value, int | float, "a number")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} ({value}) must lie in [0, 1]")


def check_sizes(**sizes) -> None:
    """What a module is made of: dropout is a probability, bias a flag, all else a count."""
    for name, value in sizes.items():
        if name == "dropout":
            check_probability(name, value)
        elif name == "bias":  # a number in its place is usually meant for another parameter
            check_kind(name, value, bool, "True or False")
        else:
            check_count(name, value)


def check_table(num_steps, num_hiddens) -> None:
    """The sizes of a table of sines and cosines."""
    check_sizes(num_steps=num_steps, num_hiddens=num_hiddens)
    if num_hiddens % 2:
        raise ValueError(
            f"num_hiddens ({num_hiddens}) must be even: sines and cosines come in pairs"
        )


def check_heads(num_hiddens, num_heads, dropout, bias) -> None:
    """The sizes of a multi-head attention."""
    check_sizes(num_hiddens=num_hiddens, num_heads=num_heads, dropout=dropout, bias=bias)
    if num_hiddens % num_heads:
        rule = f"must be divisible by num_heads ({num_heads})"
        raise ValueError(f"num_hiddens ({num_hiddens}) {rule}")


def check_one_text(queries, keys, values) -> None:
    """Queries, keys and values of the same text."""
    for name, value in (("queries", queries), ("keys", keys), ("values", values)):
        check_shape(name, value, ("batch", "heads", "steps", "head_size"))
        check_floats(name, value)
        if value.shape != queries.shape:
            rule = f"must have the shape of queries {tuple(queries.shape)}"
            raise ValueError(f"{name} {tuple(value.shape)} {rule}")


def check_grouped_heads(num_hiddens, num_heads, num_kv_heads) -> None:
    """The sizes of an attention whose heads share keys, and are turned pair by pair."""
    check_heads(num_hiddens, num_heads, 0.0, False)
    check_sizes(num_kv_heads=num_kv_heads)
    if num_heads % num_kv_heads:
        rule = f"must be divisible by num_kv_heads ({num_kv_heads})"
        raise ValueError(f"num_heads ({num_heads}) {rule}")
    if num_hiddens // num_heads % 2:
        head_size = num_hiddens // num_heads
        raise ValueError(f"head_size ({head_size}) must be even: features turn in pairs")


def check_rotary(X, start) -> None:
    """What is turned by its positions."""
    check_floats("X", X)
    check_shape("X", X, ("batch", "heads", "steps", "head_size"))
    if X.shape[-1] % 2:
        raise ValueError(f"head_size ({X.shape[-1]}) must be even: features turn in pairs")
    check_count("start", start, least=0)


def check_network(num_hiddens, ffn_num_hiddens, num_outputs) -> None:
    """The sizes of a position-wise network."""
    sizes = {"num_hiddens": num_hiddens, "ffn_num_hiddens": ffn_num_hiddens}
    check_sizes(**sizes, num_outputs=num_outputs)


def check_modules(**modules) -> None:
    """Modules that are made already: no classes, no lists of parameters."""
    for name, module in modules.items():
        check_kind(name, module, nn.Module, "an nn.Module")


def check_shape(name: str, value, axes) -> None:
    """Axes of these sizes; a name in place of a size fits any."""
    got = tuple(value.shape)
    fits = (isinstance(a, str) or a == s for a, s in zip(axes, got, strict=False))
    if len(axes) != len(got) or not all(fits):
        shape = ", ".join(map(str, axes)) + "," * (len(axes) == 1)
        raise ValueError(f"{name} must have shape ({shape}), got {got}")


def check_floats(name: str, value) -> None:
    """A tensor of floating numbers: no list, no array."""
    check_kind(name, value, torch.Tensor, "a torch.Tensor")
    if not value.is_floating_point():
        raise TypeError(f"{name} must hold floating numbers, got {value.dtype}")


def check_integers(name: str, value, *axes) -> None:
    """A tensor of integers with these axes."""
    check_kind(name, value, torch.Tensor, "a torch.Tensor")
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise TypeError(f"{name} must hold integers, got {value.dtype}")
    check_shape(name, value, axes)


def check_vectors(name: str, value, width: int) -> None:
    """Floating vectors of a width, however they are arranged."""
    check_floats(name, value)
    check_shape(name, value, (*value.shape[:-1], width))


def check_sequences(width: int | str, **sequences) -> None:
    """Vectors for a batch of sequences: floating, (batch, steps, width), equally many rows."""
    batch = "batch"
    for name, X in sequences.items():
        check_floats(name, X)
        check_shape(name, X, (batch, "steps", width))
        batch = len(X)


def check_valid_lens(valid_lens, num_steps: int, batch: int | str = "batch") -> None:
    """One whole number in [0, num_steps] for each sequence."""
    check_integers("valid_lens", valid_lens, batch)
    check_count("num_steps", num_steps, least=0)
    if valid_lens.is_cpu and not all(0 <= n <= num_steps for n in valid_lens.tolist()):
        rule = f"must lie between 0 and num_steps ({num_steps})"
        raise ValueError(f"valid_lens ({valid_lens.tolist()}) {rule}")


def check_lens_of(tokens, valid_lens) -> None:
    """One length for each row of tokens; padding_mask looks at the lengths themselves."""
    check_integers("tokens", tokens, "batch", "steps")
    if valid_lens is not None:
        check_integers("valid_lens", valid_lens, len(tokens))


def check_mask(mask, scores) -> None:
    """Floating scores, and a boolean tensor that broadcasts to them; None = no mask."""
    check_floats("scores", scores)
    if mask is None:
        return
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor, True = may attend; got {got}")
    sizes = zip(reversed(mask.shape), reversed(scores.shape), strict=False)
    if mask.dim() > scores.dim() or any(m not in (1, s) for m, s in sizes):
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not broadcast to the scores' shape "
            f"{tuple(scores.shape)}: each size must be 1 or equal, aligned at the right"
        )


def check_queries_fit(num_queries, num_keys) -> None:
    """At least as many keys as queries: a query may always attend to its own position."""
    check_count("num_queries", num_queries, least=0)
    check_count("num_keys", num_keys, least=0)
    if num_keys < num_queries:
        rule = f"must be at least num_queries ({num_queries})"
        raise ValueError(f"num_keys ({num_keys}) {rule}")


def check_attention(queries, keys, values, dropout: float) -> None:
    """What scaled dot-product attention multiplies."""
    for name, value in (("queries", queries), ("keys", keys), ("values", values)):
        check_floats(name, value)
        if value.dim() < 2 or value.shape[:-2] != queries.shape[:-2]:
            raise ValueError(
                f"{name} {tuple(value.shape)} must have the shape (..., steps, head_size) with "
                f"the first axes of the queries {tuple(queries.shape)}"
            )
    check_probability("dropout", dropout)
    if queries.shape[-1] != keys.shape[-1] or keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"keys {tuple(keys.shape)} must have the last size of the queries "
            f"{tuple(queries.shape)} and be as many as the values {tuple(values.shape)}"
        )


def check_positions(X, start, max_len: int, num_hiddens: int) -> None:
    """X of the table's width, at positions start to start + steps - 1, all below max_len."""
    check_sequences(num_hiddens, X=X)
    check_count("start", start, least=0)
    length = start + X.shape[1]
    if length > max_len:
        raise ValueError(f"sequence length ({length}) must be at most max_len ({max_len})")


def check_context(tokens, caches, max_len: int) -> None:
    """A text that goes on after what the caches hold, max_len tokens in all at the most."""
    length = tokens.shape[1] + (0 if caches is None else caches[0][0].shape[2])
    if length > max_len:
        raise ValueError(f"text ({length} tokens) must be at most max_len ({max_len}) long")


def check_same_shape(X, Y, width: int) -> None:
    """What is added must have one shape: broadcasting would hide a mistake."""
    check_vectors("X", X, width)
    check_floats("Y", Y)
    if X.shape != Y.shape:
        raise ValueError(
            f"X {tuple(X.shape)} and Y {tuple(Y.shape)} must have the same shape to be added"
        )


def check_tokens(tokens, vocab_size: int) -> None:
    """Ids in [0, vocab_size), (batch, steps)."""
    check_integers("tokens", tokens, "batch", "steps")
    if tokens.is_cpu:
        for token in tokens[(tokens < 0) | (tokens >= vocab_size)][:1].tolist():
            check_token(token, vocab_size)


@contextlib.contextmanager
def naming_bad_ids(tokens, vocab_size: int):
    """Within it, an id that has no row in a table raises an error that names it."""
    try:
        yield
    except IndexError:
        check_tokens(tokens, vocab_size)
        raise


def check_token(token, vocab_size: int, name: str = "tokens") -> None:
    """The id of a token: it has a row in an embedding, or a place in a vocabulary."""
    check_kind(f"{name}: token id", token, int, "a whole number")
    if not 0 <= token < vocab_size:
        rule = f"must lie in [0, vocab_size) = [0, {vocab_size})"
        raise ValueError(f"{name}: token id ({token}) {rule}")


def check_logits(logits, labels, valid_lens, label_smoothing) -> None:
    """Logits (batch, steps, vocab_size), labels (batch, steps), and at least one real token."""
    check_sequences("vocab_size", logits=logits)
    batch, num_steps, _ = logits.shape
    check_integers("labels", labels, batch, num_steps)
    check_valid_lens(valid_lens, num_steps, batch)
    check_probability("label_smoothing", label_smoothing)
    if valid_lens.is_cpu and not valid_lens.any():
        raise ValueError(f"valid_lens ({valid_lens.tolist()}) must leave a token to score")


def check_labels_and_start(labels, bos) -> None:
    """Labels (batch, steps) and the id that is put before them."""
    check_integers("labels", labels, "batch", "steps")
    check_count("bos", bos, least=0)


def check_parts(batch) -> None:
    """A batch of sentence pairs."""
    if len(batch) != 4:
        parts = "(src, src_valid_lens, tgt, tgt_valid_lens)"
        raise ValueError(f"batch must be {parts}, got {len(batch)} parts")


def check_texts(batch) -> None:
    """A batch of labelled texts, one label for each."""
    if len(batch) != 3:
        rule = "must be (tokens, valid_lens, labels)"
        raise ValueError(f"batch {rule}, got {len(batch)} parts")
    check_integers("labels", batch[2], len(batch[0]))


def check_classes(logits, labels) -> None:
    """Labels in [0, num_classes)."""
    num_classes = logits.shape[-1]
    if labels.is_cpu and not all(0 <= label < num_classes for label in labels.tolist()):
        raise ValueError(
            f"labels ({labels.tolist()}) must lie in [0, num_classes) = [0, {num_classes})"
        )


def check_vocabs(**vocabs) -> None:
    """Vocabularies: they know the ids of the reserved tokens."""
    for name, vocab in vocabs.items():
        if not hasattr(vocab, "idx_to_token"):
            check_kind(name, vocab, (), "a Vocab")


def check_repeatable(name: str, batches) -> None:
    """Batches that can be gone through again at each epoch, at least one."""
    rule = "a DataLoader or a list of batches"
    check_kind(name, batches, () if isinstance(batches, torch.Tensor) else Iterable, rule)
    is_sized = isinstance(
        batches, Sized
    )  # a DataLoader is: its iter() draws random numbers
    if isinstance(batches, Iterator) or (not is_sized and iter(batches) is iter(batches)):
        kind = type(batches).__name__
        raise TypeError(f"{name} must be {rule}: a {kind} is used up after one epoch")
    if is_sized and not isinstance(batches, DataLoader) and not len(batches):
        raise ValueError(f"{name} must hold at least one batch, got none")


def check_counted(count) -> None:
    """Of how many tokens, or other things, the batches' means are means; on the CPU."""
    if not count.sum() > 0:
        raise ValueError(f"loss must count something in some batch, got {count.tolist()}")


def check_device(device) -> None:
    """A device of this machine, or its name."""
    try:
        torch.empty(0, device="none" if device is None else device)
    except (AssertionError, RuntimeError, TypeError) as error:
        rule = "must be a device of this machine, such as 'cpu'"
        raise ValueError(f"device ({device!r}) {rule}") from error


def check_evaluation(net, batches, loss, device) -> None:
    """What training.evaluate is told."""
    check_modules(net=net)
    check_repeatable("batches", batches)
    check_kind("loss", loss, Callable, "a function of (net, batch)")
    check_device(device)


def check_training(
    net, batches, loss, lr, num_epochs, device, val_batches, keep_best, unit
) -> None:
    """What training.train is told."""
    check_evaluation(net, batches, loss, device)
    check_kind("lr", lr, int | float, "a number")
    if not 0 < lr < float("inf"):
        raise ValueError(f"lr ({lr}) must be greater than 0, and finite")
    check_count("num_epochs", num_epochs, least=0)
    check_kind("keep_best", keep_best, bool, "True or False")
    check_kind("unit", unit, str, "a string")
    if val_batches is not None:
        check_repeatable("val_batches", val_batches)
    elif keep_best:
        raise ValueError("keep_best (True) needs val_batches: by them an epoch is judged")


def check_token_ids(net, batches, tgt_vocab) -> None:
    """Each id of a data set has a row in the net: on a GPU, one without ends the process."""
    check_vocabs(tgt_vocab=tgt_vocab)
    arrays = getattr(getattr(batches, "dataset", None), "tensors", ())
    for side, tokens in zip(("encoder", "decoder"), arrays[::2], strict=False):
        modules = getattr(net, side, nn.Module()).modules()
        tables = [m.num_embeddings for m in modules if isinstance(m, nn.Embedding)]
        if tables:  # the largest is that of the words; another may hold positions
            check_tokens(tokens.cpu(), max(tables))


def check_search(net, src, bos, eos, num_steps, beam_size=1, batch=1) -> None:
    """What a search is told: it translates one sentence, or as many as batch allows."""
    check_modules(net=net)
    check_integers("src", src, batch, "steps")
    check_count("bos", bos, least=0)
    check_count("eos", eos, least=0)
    check_sizes(num_steps=num_steps, beam_size=beam_size)


def check_extension(tokens, num_steps, eos) -> None:
    """Texts that go on."""
    check_integers("tokens", tokens, "texts", "steps")
    check_sizes(num_steps=num_steps)
    if eos is not None:
        check_count("eos", eos, least=0)


def check_sampling(temperature, top_k) -> None:
    """How a token is drawn."""
    check_kind("temperature", temperature, int | float, "a number")
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature ({temperature}) must be more than 0, and finite")
    if top_k is not None:
        check_count("top_k", top_k)


def _short(value) -> str:
    """A value as Python writes it, in one line, cut to 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
