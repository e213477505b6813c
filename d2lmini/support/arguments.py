"""Argument checks: one line's call where a value is first used.

Each raises TypeError for a value of the wrong kind and ValueError for a wrong value, and names the
parameter, its value and the rule. None waits for a GPU: what lies there was checked on its way.
"""

import contextlib
import math
import warnings
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
        elif name == "bias":
            # a number in its place is usually meant for another parameter
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
    check_sizes(
        num_hiddens=num_hiddens, num_heads=num_heads, dropout=dropout, bias=bias
    )
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
        raise ValueError(
            f"head_size ({head_size}) must be even: features turn in pairs"
        )


def check_rotary(X, start) -> None:
    """What is turned by its positions."""
    check_floats("X", X)
    check_shape("X", X, ("batch", "heads", "steps", "head_size"))
    if X.shape[-1] % 2:
        raise ValueError(
            f"head_size ({X.shape[-1]}) must be even: features turn in pairs"
        )
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
    fits = len(axes) == len(got)
    for axis, size in zip(axes, got, strict=False):  # all(...) takes twice as long
        fits = fits and (axis == size or isinstance(axis, str))
    if not fits:
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
    if mask is not None:
        check_mask_fits(mask, scores.shape)


def check_mask_fits(mask, shape) -> None:
    """A boolean tensor that broadcasts to scores of this shape."""
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor, True = may attend; got {got}")
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.dim() > len(shape) or any(m not in (1, s) for m, s in sizes):
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not broadcast to the scores' shape "
            f"{tuple(shape)}: each size must be 1 or equal, aligned at the right"
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
        raise ValueError(
            f"sequence length ({length}) must be at most max_len ({max_len})"
        )


def check_context(tokens, caches, max_len: int) -> None:
    """A text that goes on after what the caches hold, max_len tokens in all at the most."""
    length = tokens.shape[1] + (0 if caches is None else caches[0][0].shape[2])
    if length > max_len:
        raise ValueError(
            f"text ({length} tokens) must be at most max_len ({max_len}) long"
        )


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
    if tokens.dtype not in (torch.int32, torch.int64):
        raise TypeError(
            f"tokens must be int64 or int32 to be looked up, got {tokens.dtype}"
        )
    if tokens.is_cpu:
        for token in tokens[(tokens < 0) | (tokens >= vocab_size)][:1].tolist():
            check_token(token, vocab_size)


@contextlib.contextmanager
def naming_bad_ids(tokens, vocab_size: int):
    """Within it, an id that has no row in a table raises an error that names it."""
    try:
        yield
    except (IndexError, RuntimeError):
        check_tokens(tokens, vocab_size)
        raise


def check_token(token, vocab_size: int, name: str = "tokens") -> None:
    """The id of a token: it has a row in an embedding, or a place in a vocabulary."""
    check_kind(f"{name}: token id", token, int, "a whole number")
    if not 0 <= token < vocab_size:
        rule = f"must lie in [0, vocab_size) = [0, {vocab_size})"
        raise ValueError(f"{name}: token id ({token}) {rule}")


def check_vocabs(**vocabs) -> None:
    """Vocabularies: they know the ids of the reserved tokens."""
    for name, vocab in vocabs.items():
        if not hasattr(vocab, "idx_to_token"):
            check_kind(name, vocab, (), "a Vocab")


def check_device(device) -> None:
    """A device of this machine, or its name."""
    try:
        # meta has none
        torch.empty(0, device="none" if device is None else device).tolist()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        rule = "must be a device of this machine, such as 'cpu'"
        raise ValueError(f"device ({device!r}) {rule}") from error


def _short(value) -> str:
    """A value as Python writes it, in one line, cut to 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def check_logits(logits, labels, valid_lens, label_smoothing) -> None:
    """Logits (batch, steps, vocab_size), labels (batch, steps), and at least one real token."""
    check_sequences("vocab_size", logits=logits)
    batch, num_steps, _ = logits.shape
    check_integers("labels", labels, batch, num_steps)
    check_valid_lens(valid_lens, num_steps, batch)
    check_probability("label_smoothing", label_smoothing)
    if valid_lens.is_cpu and not valid_lens.any():
        raise ValueError(
            f"valid_lens ({valid_lens.tolist()}) must leave a token to score"
        )


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


def check_repeatable(name: str, batches) -> None:
    """Batches that can be gone through again at each epoch, at least one."""
    rule = "a DataLoader or a list of batches"
    check_kind(
        name, batches, () if isinstance(batches, torch.Tensor) else Iterable, rule
    )
    # A DataLoader is sized, and asked no iter(): that draws random numbers.
    is_sized = isinstance(batches, Sized)
    if isinstance(batches, Iterator) or (
        not is_sized and iter(batches) is iter(batches)
    ):
        kind = type(batches).__name__
        raise TypeError(f"{name} must be {rule}: a {kind} is used up after one epoch")
    if is_sized and not isinstance(batches, DataLoader) and not len(batches):
        raise ValueError(f"{name} must hold at least one batch, got none")
    if isinstance(batches, tuple | list):
        for batch in batches:
            check_batch(batch)


def check_batch(batch) -> None:
    """What a data set gives: a row of tensors."""
    check_kind("batch", batch, tuple | list, "a tuple or list of tensors")
    for i, array in enumerate(batch):
        check_kind(f"batch[{i}]", array, torch.Tensor, "a torch.Tensor")


def checked(loss):
    """The same loss; what it returns is checked: (mean, count), the mean with a gradient."""

    def checked_loss(net, batch):
        scored = loss(net, batch)
        rule = "must return (mean, count)"
        if not isinstance(scored, tuple | list) or len(scored) != 2:
            raise TypeError(f"loss {rule}, got {type(scored).__name__}")
        mean = scored[0]
        check_kind("loss: mean", mean, torch.Tensor, "a torch.Tensor")
        check_shape("loss: mean", mean, ())
        if torch.is_grad_enabled() and not mean.requires_grad:
            raise ValueError(
                f"loss {rule}, and this mean ({mean}) does not depend on net"
            )
        return scored

    return checked_loss


def check_counted(count) -> None:
    """Of how many tokens, or other things, the batches' means are means; on the CPU."""
    if not count.sum() > 0:
        raise ValueError(
            f"loss must count something in some batch, got {count.tolist()}"
        )


def check_precision(dtype) -> None:
    """A kind of numbers in which matrix products may be computed."""
    known = torch.bfloat16, torch.float16, torch.float32
    if dtype not in known:
        raise ValueError(f"dtype ({dtype}) must be one of {', '.join(map(str, known))}")


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
    if not any(p.requires_grad for p in net.parameters()):
        raise ValueError(f"net ({type(net).__name__}) must have parameters to train")
    check_kind("lr", lr, int | float, "a number")
    if not 0 < lr < float("inf"):
        raise ValueError(f"lr ({lr}) must be greater than 0, and finite")
    check_count("num_epochs", num_epochs, least=0)
    check_token_ids(net, batches)
    check_kind("keep_best", keep_best, bool, "True or False")
    check_kind("unit", unit, str, "a string")
    if val_batches is not None:
        check_repeatable("val_batches", val_batches)
        check_token_ids(net, val_batches)
    elif keep_best:
        raise ValueError(
            "keep_best (True) needs val_batches: by them an epoch is judged"
        )


def check_token_ids(net, batches) -> None:
    """Each id of a data set has a row in the net: on a GPU, one without ends the process."""
    dataset = getattr(batches, "dataset", None)
    rows = [dataset.tensors] if hasattr(dataset, "tensors") else batches
    if not isinstance(rows, tuple | list):  # a data set of the reader's own
        return
    for arrays in rows:
        for side, ids in zip(("encoder", "decoder"), arrays[::2], strict=False):
            size = _table_size(getattr(net, side, None))
            if size and not ids.is_floating_point():
                check_tokens(ids.cpu(), size)


def _table_size(net) -> int:
    """How many tokens a net knows; 0: it has no table of vectors."""
    modules = net.modules() if isinstance(net, nn.Module) else ()
    sizes = [m.num_embeddings for m in modules if isinstance(m, nn.Embedding)]
    # The largest is that of the words; another may hold positions.
    return max(sizes, default=0)


def check_search(net, src, bos, eos, num_steps, beam_size=1, batch=1) -> None:
    """What a search is told: it translates one sentence, or as many as batch allows."""
    check_modules(net=net)
    check_integers("src", src, batch, "steps")
    size = _table_size(getattr(net, "decoder", None))
    for name, token in (("bos", bos), ("eos", eos)):
        check_count(name, token, least=0)
        if size:
            check_token(token, size, name)
    check_sizes(num_steps=num_steps, beam_size=beam_size)


def check_extension(tokens, num_steps, choose, eos) -> None:
    """Texts that go on."""
    check_integers("tokens", tokens, "texts", "steps")
    check_sizes(num_steps=num_steps)
    check_kind("choose", choose, Callable, "a function of log-probabilities")
    if eos is not None:
        check_count("eos", eos, least=0)


def check_sampling(temperature, top_k) -> None:
    """How a token is drawn."""
    check_kind("temperature", temperature, int | float, "a number")
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature ({temperature}) must be more than 0, and finite")
    if top_k is not None:
        check_count("top_k", top_k)


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
