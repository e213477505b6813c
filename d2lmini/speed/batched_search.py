"""Generate for many sentences of different lengths at once, with a cache.

generation.py takes one sentence and is written to be read; this gives the same results, faster.
"""

import warnings
from collections.abc import Callable

import torch

from d2lmini.data import encode, normalise
from d2lmini.generation import Hypothesis, log_prob_per_token
from d2lmini.masks import padding_mask
from d2lmini.support.arguments import check_arguments, check_integers, check_words
from d2lmini.support.modes import eval_mode
from d2lmini.support.net_arguments import check_search, check_vocabs


def translate_all(
    net,
    sentences: list[str],
    src_vocab,
    tgt_vocab,
    num_steps: int,
    device,
    beam_size: int | None = None,
    batch_size: int = 128,
) -> list[str]:
    """Translate many sentences, batch_size of similar length at a time.

    Args: as for predict_seq2seq. Cuts give no warning.
    Warns:
        More than half of all words are not in src_vocab, as if it were that of the target.
    Returns:
        The translations, in the order of the sentences.
    Raises:
        TypeError, ValueError: sentences is one string, or one of them is empty.
    Source: chapter 10.
    """
    check_vocabs(net, src_vocab, tgt_vocab)
    check_arguments(num_steps=num_steps, device=device, beam_size=beam_size)
    check_arguments(sentences=sentences, batch_size=batch_size)
    for sentence in sentences:
        check_words("sentences", sentence)
    src, lens = encode([normalise(s) for s in sentences], src_vocab, num_steps)
    unknown, words = int((src == src_vocab.unk).sum()), int((lens - 1).sum())
    if 2 * unknown > words:
        warnings.warn(
            f"{unknown} of {words} words are not in src_vocab: is it that of the source?",
            stacklevel=2,
        )
    return translate_ids(
        net, src, lens, tgt_vocab, num_steps, device, beam_size, batch_size
    )


def translate_ids(
    net,
    src,
    valid_lens,
    tgt_vocab,
    num_steps: int,
    device,
    beam_size=None,
    batch_size=128,
) -> list[str]:
    """translate_all for sentences already encoded as ids, of words or of pieces of words.

    Shapes:
        src: (sentences, steps), valid_lens: (sentences,): as encode returns them
    Returns:
        The tokens of each translation, separated by spaces.
    Source: chapter 10.
    """
    net.to(device)
    order, found = valid_lens.argsort(), [""] * len(src)  # batches with little padding
    for start in range(0, len(src), batch_size):
        rows = order[start : start + batch_size]
        lens = valid_lens[rows]
        batch = src[rows, : lens.max()].to(device), lens.to(device)
        search = (net, *batch, tgt_vocab.bos, tgt_vocab.eos, num_steps)
        with eval_mode(net):
            if beam_size is None:
                best = generate(*search)
            else:
                best = [beams[0] for beams in beam_search_batch(*search, beam_size)]
        for row, (tokens, _) in zip(rows.tolist(), best, strict=True):
            words = [token for token in tokens[1:] if token != tgt_vocab.eos]
            found[row] = " ".join(tgt_vocab.to_tokens(words))
    return found


def most_probable(log_probs: torch.Tensor) -> torch.Tensor:
    """Choose the most probable token of each row: (batch, vocab_size) -> (batch,)."""
    return log_probs.argmax(dim=-1)


def at_random(
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Callable:
    """Make a choose function for generate that samples tokens by probability.

    Args:
        temperature: below 1 favours probable tokens; above 1 flattens the distribution.
        top_k: sample from the top_k most probable tokens only; None = from all.
        generator: random number generator, on the device of the network.
    Raises:
        TypeError, ValueError: temperature is not above 0, or top_k less than 1.
    Source: chapter 15.
    """
    check_arguments(temperature=temperature, top_k=top_k)

    def choose(log_probs):
        scores = log_probs / temperature  # (batch, vocab_size)
        if top_k is not None:
            least = scores.topk(min(top_k, scores.shape[-1])).values[:, -1:]
            scores = scores.where(scores >= least, float("-inf"))
        return scores.softmax(dim=-1).multinomial(1, generator=generator)[:, 0]

    return choose


@torch.no_grad()
def generate(
    net, src, src_valid_lens, bos, eos, num_steps, choose: Callable = most_probable
) -> list[Hypothesis]:
    """Generate token by token for many sentences at once, until <eos> or num_steps tokens.

    Args:
        choose: maps log-probabilities (batch, vocab_size) to tokens (batch,): most_probable
            (greedy search) or at_random(...).
    Shapes:
        src: (batch, source steps)
        src_valid_lens: (batch,); None = no padding
    Returns:
        A Hypothesis for each sentence.
    Raises:
        TypeError, ValueError: see net_arguments.check_search.
    Source: chapter 10.
    """
    check_search(net, src, bos, eos, num_steps, batch="batch")
    memory = net.encoder(src, src_valid_lens)  # (batch, source steps, num_hiddens)
    first = memory, padding_mask(src_valid_lens, src.shape[1]), None

    def decode(tokens, state):
        memory, memory_mask, caches = state or first
        logits, caches = net.decoder(tokens, memory, memory_mask, caches)
        return logits, (memory, memory_mask, caches)

    beginnings = src.new_full((len(src), 1), bos)
    tokens, totals = extend(decode, beginnings, num_steps, choose, eos)
    return [
        Hypothesis(until_eos(row, eos), total)
        for row, total in zip(tokens.tolist(), totals.tolist(), strict=True)
    ]


@torch.no_grad()
def extend(
    decode: Callable,
    tokens: torch.Tensor,
    num_steps: int,
    choose: Callable = most_probable,
    eos: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Continue texts of equal length by num_steps tokens each.

    Args:
        decode: called with (tokens, caches); returns logits and new caches, as
            modern.LanguageModel does: first with all tokens and None, then with the last token of
            each unfinished text. Caches: lists and (named) tuples of tensors, one row per text.
        choose: see generate.
        eos: ends a text, which is then padded with it; None = no text ends. Finished texts
            cost no computation, and extend stops early if all have ended.
    Shapes:
        tokens: (texts, steps)
    Returns:
        The texts (texts, steps + num_steps at most) and the log-probability of what was added
        to each, (texts,).
    Source: chapters 10 and 15.
    """
    check_integers("tokens", tokens, "texts", "steps")
    check_arguments(num_steps=num_steps, choose=choose, eos=eos)
    logits, caches = decode(tokens, None)
    totals = logits.new_zeros(len(tokens))
    running = torch.arange(len(tokens), device=tokens.device)  # unfinished texts
    for step in range(num_steps):
        if step:
            logits, caches = decode(tokens[running, -1:], caches)
        log_probs = logits[:, -1].log_softmax(dim=-1)  # (running, vocab_size)
        chosen = choose(log_probs)  # (running,)
        totals[running] += log_probs.gather(1, chosen[:, None])[:, 0]
        column = tokens.new_full((len(tokens), 1), 0 if eos is None else eos)
        column[running, 0] = chosen
        tokens = torch.cat([tokens, column], dim=1)
        goes_on = chosen != eos
        if eos is not None and not goes_on.all():
            running, caches = take_rows((running, caches), goes_on)
            if not len(running):
                break
    return tokens, totals


def take_rows(parts, rows: torch.Tensor):
    """Take the same rows of each tensor, or None, in nested lists, tuples and named tuples."""
    if parts is None or isinstance(parts, torch.Tensor):
        return parts if parts is None else parts[rows]
    taken = [take_rows(part, rows) for part in parts]
    return type(parts)(*taken) if hasattr(parts, "_fields") else type(parts)(taken)


def until_eos(tokens: list[int], eos: int) -> list[int]:
    """Tokens up to and including the first <eos>."""
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


@torch.no_grad()
def beam_search_batch(
    net, src, src_valid_lens, bos, eos, num_steps, beam_size
) -> list[list[Hypothesis]]:
    """beam_search for many sentences at once, with a cache.

    Each sentence has beam_size rows; unused ones have log-probability minus infinity. When a
    hypothesis branches, its rows of the caches are copied.

    Shapes, Raises: as for generate, and beam_size is less than 1.
    Returns:
        What beam_search returns, for each sentence.
    Source: Sutskever et al. 2014, section 3.2; chapter 10.
    """
    check_search(net, src, bos, eos, num_steps, beam_size, batch="batch")
    memory = net.encoder(src, src_valid_lens)  # (batch, source steps, num_hiddens)
    state = memory, padding_mask(src_valid_lens, src.shape[1])
    rows = torch.arange(len(src), device=src.device).repeat_interleave(beam_size)
    state = take_rows(state, rows)
    tokens = src.new_full((len(src) * beam_size, 1), bos)  # (batch * beams, steps)
    # Ranked on the CPU: not every device has float64.
    shape, cpu = (len(src), beam_size), torch.device("cpu")
    totals = torch.full(shape, float("-inf"), dtype=torch.float64, device=cpu)
    totals[:, 0], caches = 0.0, None
    running, ended = [*range(len(src))], [[] for _ in src]  # sentences
    for _ in range(num_steps):
        logits, caches = net.decoder(tokens[:, -1:], *state, caches)
        log_probs = logits[:, -1].log_softmax(dim=-1)  # (running * beams, vocab_size)
        # A beam needs at most beam_size continuations. Ranked on the CPU, see above.
        log_probs, words = log_probs.topk(min(beam_size, log_probs.shape[1]))
        ways = log_probs.shape[1]
        log_probs = log_probs.cpu().double().view(len(running), beam_size, ways)
        totals, best = (totals[..., None] + log_probs).flatten(1).topk(beam_size)
        first_row = beam_size * torch.arange(len(running), device=cpu)[:, None]
        chosen = words.cpu().view(len(running), -1).gather(1, best)  # (running, beams)
        parents = (first_row + best // ways).flatten().to(src.device)
        tokens = torch.cat([tokens[parents], chosen.view(-1, 1).to(src.device)], dim=1)
        # The source's keys and values are the same for all its beams.
        caches = [c._replace(K=c.K[parents], V=c.V[parents]) for c in caches]
        for i, j in ((chosen == eos) & totals.isfinite()).nonzero().tolist():
            row = tokens[i * beam_size + j].tolist()
            ended[running[i]].append(Hypothesis(row, totals[i, j].item()))
        totals[chosen == eos] = float("-inf")
        goes_on = totals.isfinite().any(dim=1)
        can_end = [len(ended[i]) < beam_size for i in running]
        goes_on &= torch.tensor(can_end, device=cpu)
        if not goes_on.all():
            rows = goes_on.repeat_interleave(beam_size).to(src.device)
            tokens, state, caches = take_rows((tokens, state, caches), rows)
            totals = totals[goes_on]
            running = [i for i, is_on in zip(running, goes_on, strict=True) if is_on]
            if not running:
                break
    for i, j in totals.isfinite().nonzero().tolist():
        row = tokens[i * beam_size + j].tolist()
        ended[running[i]].append(Hypothesis(row, totals[i, j].item()))
    return [_ranked(hypotheses, eos)[:beam_size] for hypotheses in ended]


def _ranked(hypotheses, eos):
    """Rank by log-probability per token; hypotheses without <eos> come last."""
    return sorted(
        hypotheses,
        key=lambda h: (h.tokens[-1] == eos, log_prob_per_token(h)),
        reverse=True,
    )
