"""Generation for many sentences at once, of different lengths, with a cache.

generation.py takes one sentence and is written to be read; this gives the same, faster.
"""

from collections.abc import Callable

import torch

from d2lmini.data import encode, normalise
from d2lmini.data.arguments import check_batched, check_translation
from d2lmini.generation import Hypothesis, log_prob_per_token
from d2lmini.masks import padding_mask
from d2lmini.training_arguments import check_extension, check_sampling, check_search


def translate_all(
    net,
    sentences: list[str],
    src_vocab,
    tgt_vocab,
    num_steps: int,
    device,
    beam_size: int | None = None,
    batch_size: int = 64,
) -> list[str]:
    """Translate many sentences, batch_size of similar length at a time.

    Args: as predict_seq2seq. Unknown words and cuts are not warned of.
    Returns:
        The translations, in the order of the sentences.
    Raises:
        TypeError, ValueError: sentences is one string, or one of them is empty.
    Source: chapter 8.
    """
    check_translation(net, src_vocab, tgt_vocab, num_steps, device, beam_size)
    check_batched(sentences, batch_size)
    arrays = encode([normalise(s) for s in sentences], src_vocab, num_steps)
    return translate_ids(
        net, *arrays, tgt_vocab, num_steps, device, beam_size, batch_size
    )


def translate_ids(
    net,
    src,
    valid_lens,
    tgt_vocab,
    num_steps: int,
    device,
    beam_size=None,
    batch_size=64,
) -> list[str]:
    """translate_all for sentences that are ids already, words or pieces of words.

    Shapes:
        src: (sentences, steps), valid_lens: (sentences,): what encode returns
    Returns:
        The tokens of each translation, separated by spaces.
    Source: chapter 8.
    """
    net.to(device).eval()
    order, found = valid_lens.argsort(), [""] * len(src)  # little padding in a batch
    for start in range(0, len(src), batch_size):
        rows = order[start : start + batch_size]
        lens = valid_lens[rows]
        batch = src[rows, : lens.max()].to(device), lens.to(device)
        search = (net, *batch, tgt_vocab.bos, tgt_vocab.eos, num_steps)
        if beam_size is None:
            best = generate(*search)
        else:
            best = [beams[0] for beams in beam_search_batch(*search, beam_size)]
        for row, (tokens, _) in zip(rows.tolist(), best, strict=True):
            words = [token for token in tokens[1:] if token != tgt_vocab.eos]
            found[row] = " ".join(tgt_vocab.to_tokens(words))
    return found


def most_probable(log_probs: torch.Tensor) -> torch.Tensor:
    """Of each row (batch, vocab_size) the token with the largest log-probability, (batch,)."""
    return log_probs.argmax(dim=-1)


def at_random(
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Callable:
    """A choice for generate: a token drawn by its probability.

    Args:
        temperature: below 1 prefers what is probable, above 1 evens out.
        top_k: draw from so many of the most probable tokens; None: from all.
        generator: of the random numbers, on the device of the net.
    Raises:
        TypeError, ValueError: temperature is not above 0, or top_k less than 1.
    Source: chapter 8.
    """
    check_sampling(temperature, top_k)

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
    """One token after the other for many sentences at once, until <eos> or num_steps tokens.

    Args:
        choose: from log-probabilities (batch, vocab_size) to tokens (batch,): most_probable,
            which is greedy search, or at_random(...).
    Shapes:
        src: (batch, source steps)
        src_valid_lens: (batch,)
    Returns:
        A Hypothesis for each sentence.
    Raises:
        TypeError, ValueError: see training_arguments.check_search.
    Source: chapter 8.
    """
    check_search(net, src, bos, eos, num_steps, batch="batch")
    memory = net.encoder(src, src_valid_lens)  # (batch, source steps, num_hiddens)
    memory_mask = padding_mask(src_valid_lens, src.shape[1])

    def decode(tokens, caches):
        return net.decoder(tokens, memory, memory_mask, caches)

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
        decode: called with (tokens, caches); returns logits and new caches, as a
            modern.LanguageModel does. First all tokens and None, then the last token of each.
        choose: see generate.
        eos: ends a text, which then repeats it at no cost; None: no text ends. Stops early if
            all have ended.
    Shapes:
        tokens: (texts, steps)
    Returns:
        The texts (texts, steps + num_steps at most) and the log-probability of what was added
        to each, (texts,).
    Source: chapters 8 and 12.
    """
    check_extension(tokens, num_steps, choose, eos)
    logits, caches = decode(tokens, None)
    totals = logits.new_zeros(len(tokens))
    running = torch.ones_like(totals, dtype=torch.bool)
    for step in range(num_steps):
        if step:
            logits, caches = decode(tokens[:, -1:], caches)
        log_probs = logits[:, -1].log_softmax(dim=-1)  # (texts, vocab_size)
        chosen = choose(log_probs)  # (texts,)
        if eos is not None:
            chosen = chosen.where(running, eos)
        totals += log_probs.gather(1, chosen[:, None])[:, 0] * running
        tokens = torch.cat([tokens, chosen[:, None]], dim=1)
        if eos is not None:
            running &= chosen != eos
            if not running.any():
                break
    return tokens, totals


def until_eos(tokens: list[int], eos: int) -> list[int]:
    """Tokens up to the first <eos>, which is kept."""
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


@torch.no_grad()
def beam_search_batch(
    net, src, src_valid_lens, bos, eos, num_steps, beam_size
) -> list[list[Hypothesis]]:
    """beam_search for many sentences at once, with a cache.

    Each sentence has beam_size rows. A row that is not in use has a log-probability of minus
    infinity; a hypothesis that branches takes its past along, in the caches.

    Shapes, Raises: as generate, and beam_size is less than 1.
    Returns:
        For each sentence what beam_search returns.
    Source: Sutskever et al. 2014, section 3.2; chapter 8.
    """
    check_search(net, src, bos, eos, num_steps, beam_size, batch="batch")
    batch, first_row = len(src), beam_size * torch.arange(len(src))[:, None]
    memory = net.encoder(src, src_valid_lens).repeat_interleave(beam_size, dim=0)
    memory_mask = padding_mask(src_valid_lens, src.shape[1])
    memory_mask = memory_mask.repeat_interleave(beam_size, dim=0)
    tokens = src.new_full((batch * beam_size, 1), bos)  # (batch * beams, steps)
    # Ranked on the CPU: not every device has float64.
    totals = torch.full((batch, beam_size), float("-inf"), dtype=torch.float64)
    totals[:, 0], caches = 0.0, None
    ended = [[] for _ in range(batch)]
    for _ in range(num_steps):
        logits, caches = net.decoder(tokens[:, -1:], memory, memory_mask, caches)
        log_probs = logits[:, -1].log_softmax(dim=-1).cpu().double()
        vocab_size = log_probs.shape[1]
        log_probs = log_probs.view(batch, beam_size, vocab_size)
        totals, best = (totals[..., None] + log_probs).flatten(1).topk(beam_size)
        parents = (first_row + best // vocab_size).flatten().to(src.device)
        chosen = best % vocab_size  # (batch, beams)
        tokens = torch.cat([tokens[parents], chosen.view(-1, 1).to(src.device)], dim=1)
        caches = [((K[parents], V[parents]), of_memory) for (K, V), of_memory in caches]
        for i, j in ((chosen == eos) & totals.isfinite()).nonzero().tolist():
            row = tokens[i * beam_size + j].tolist()
            ended[i].append(Hypothesis(row, totals[i, j].item()))
        totals[chosen == eos] = float("-inf")
        done = torch.tensor([len(hypotheses) >= beam_size for hypotheses in ended])
        totals[done] = float("-inf")
        if totals.isinf().all():
            break
    growing = tokens.view(batch, beam_size, -1).tolist()
    for i, j in totals.isfinite().nonzero().tolist():
        ended[i].append(Hypothesis(growing[i][j], totals[i, j].item()))
    return [_ranked(hypotheses, eos)[:beam_size] for hypotheses in ended]


def _ranked(hypotheses, eos):
    """By log-probability per token; those that did not end come last."""
    return sorted(
        hypotheses,
        key=lambda h: (h.tokens[-1] == eos, log_prob_per_token(h)),
        reverse=True,
    )
