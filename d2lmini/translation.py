"""From a trained network to translations, and from translations to a score."""

import math
import warnings
from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor, nn

from d2lmini.data import Vocab, encode, normalise
from d2lmini.generation import beam_search, greedy_search
from d2lmini.support.arguments import check_arguments, check_as_many
from d2lmini.support.modes import eval_mode
from d2lmini.support.net_arguments import check_vocabs


class AttentionWeights(NamedTuple):
    """Attention weights of one sentence's forward pass, each (layers, heads, queries, keys)."""

    encoder: Tensor
    decoder: Tensor
    cross: Tensor


def encode_source(
    src_sentence: str, src_vocab: Vocab, num_steps: int, device: torch.device | str
) -> tuple[Tensor, Tensor]:
    """Encode one sentence as a batch: ids (1, num_steps) and valid_lens (1,).

    Raises:
        ValueError: the sentence is empty.
    Warns:
        A word is not in the vocabulary, or the sentence is cut.
    Source: chapter 9.
    """
    check_arguments(src_sentence=src_sentence)
    sentence = normalise(src_sentence)
    src, valid_lens = encode([sentence], src_vocab, num_steps)
    words = sentence.split()
    unknown = [word for word in words if word not in src_vocab.word_to_idx]
    if unknown:
        warnings.warn(f"not in the vocabulary, read as <unk>: {unknown}", stacklevel=3)
    length = len(words) + 1  # with <eos>
    if length > num_steps:
        warnings.warn(
            f"{length} tokens are cut to num_steps ({num_steps})", stacklevel=3
        )
    return src.to(device), valid_lens.to(device)


def predict_seq2seq(
    net: nn.Module, src_sentence: str, src_vocab: Vocab, tgt_vocab: Vocab,
    num_steps: int, device: torch.device | str, beam_size: int | None = None,
) -> tuple[str, AttentionWeights]:  # fmt: skip
    """Translate one sentence.

    Args:
        num_steps: length to which the source is cut or padded; also the most tokens to produce.
        beam_size: None = greedy search.
    Returns:
        The translation, a string, and the AttentionWeights of one forward pass in eval mode
        over the source and the translation: the decoder's queries and keys are <bos> and all
        tokens but the last; the source has num_steps positions, padding included.
    Raises:
        ValueError: the sentence is empty.
    Warns:
        A word is not in the vocabulary, or the sentence is cut.
    Source: chapter 9.
    """
    check_vocabs(net, src_vocab, tgt_vocab)
    check_arguments(num_steps=num_steps, device=device, beam_size=beam_size)
    src, src_valid_lens = encode_source(src_sentence, src_vocab, num_steps, device)
    search = (net, src, src_valid_lens, tgt_vocab.bos, tgt_vocab.eos, num_steps)
    with eval_mode(net.to(device)), torch.no_grad():
        best = (
            greedy_search(*search)
            if beam_size is None
            else beam_search(*search, beam_size)[0]
        )
        net(src, torch.tensor([best.tokens[:-1]], device=src.device), src_valid_lens)
    weights = (net.encoder.attention_weights, *net.decoder.attention_weights)
    # (layers, batch = 1, heads, queries, keys) -> (layers, heads, queries, keys)
    weights = AttentionWeights(*(w[:, 0] for w in weights))
    words = [token for token in best.tokens[1:] if token != tgt_vocab.eos]
    return " ".join(tgt_vocab.to_tokens(words)), weights


def ngrams(tokens: list[str], n: int) -> Counter:
    """Count the n-grams of a list of tokens.

    Source: Papineni et al. 2002; chapter 10.
    """
    check_arguments(tokens=tokens, n=n)
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def bleu(pred_seq: str, label_seq: str, k: int) -> float:
    """BLEU of one sentence, n-grams up to k with the weights p_n^(1 / 2^n).

    Args:
        pred_seq, label_seq: tokens separated by spaces.
        k: longest n-gram; a prediction shorter than k is judged by those it has.
    Returns:
        Between 0 and 1; 0 for an empty prediction.
    Raises:
        ValueError: k is less than 1, or label_seq is empty.
    Source: Papineni et al. 2002, with the weights of d2l.ai, section 10.7; chapter 10.
    """
    check_arguments(pred_seq=pred_seq, label_seq=label_seq, k=k)
    pred, label = pred_seq.split(), label_seq.split()
    if not pred:
        return 0.0
    score = math.exp(min(0, 1 - len(label) / len(pred)))
    for n in range(1, min(k, len(pred)) + 1):
        matches = (ngrams(pred, n) & ngrams(label, n)).total()
        score *= (matches / (len(pred) - n + 1)) ** (0.5**n)
    return score


def corpus_bleu(predictions: list[str], references: list[str], k: int = 4) -> float:
    """BLEU of a corpus: n-gram matches are summed over all sentences before dividing.

    Args:
        predictions, references: strings, tokens separated by spaces, one reference each.
        k: longest n-gram.
    Returns:
        Between 0 and 100; no smoothing, so 0 if some n-gram size has no match.
    Raises:
        ValueError: the two lists differ in length.
    Source: Papineni et al. 2002, section 2.3; chapter 10.
    """
    check_arguments(k=k)
    check_as_many(predictions, references)
    pairs = [
        (p.split(), r.split()) for p, r in zip(predictions, references, strict=True)
    ]
    log_precision = 0.0
    for n in range(1, k + 1):
        matches = sum((ngrams(p, n) & ngrams(r, n)).total() for p, r in pairs)
        possible = sum(ngrams(p, n).total() for p, _ in pairs)
        if matches == 0:
            return 0.0
        log_precision += math.log(matches / possible) / k
    num_pred, num_ref = (
        sum(len(side) for side in sides) for sides in zip(*pairs, strict=True)
    )
    return 100 * math.exp(min(0, 1 - num_ref / num_pred) + log_precision)
