"""A translator ready for use: normalised text, subwords, one shared table, 8-bit weights."""

from pathlib import Path
from typing import NamedTuple

import torch

from d2lmini.data import Vocab, encode, normalise
from d2lmini.data.subwords import Subwords, join
from d2lmini.generation import greedy_search
from d2lmini.speed.batched_search import translate_ids
from d2lmini.support.arguments import (
    check_arguments,
    check_count,
    check_divisible,
    check_even,
    check_kind,
    check_pairs,
    check_strings,
    check_words,
)
from d2lmini.support.devices import try_gpu
from d2lmini.support.eight_bits import from_bytes, to_bytes
from d2lmini.support.files import read_tensors, write_tensors
from d2lmini.support.modes import eval_mode
from d2lmini.transformer import EncoderDecoder, TransformerDecoder, TransformerEncoder

FORMAT, VERSION = "d2lmini translator", 1  # of the files written by save
NOTES = "merges", "tokens", "sizes", "num_steps", "about"
SCALE = ".scale"  # suffix of a matrix name: the scales of its rows
# Maximum characters of a sentence, as in the figures: more than num_steps pieces have. The time to
# split a word grows with the square of its length.
LONGEST_TEXT = 2000


class Look(NamedTuple):
    """A translation with its source and weights, in pieces including <eos>."""

    read: list[str]
    written: list[str]
    probabilities: torch.Tensor  # (written, vocab_size)
    cross: torch.Tensor  # (layers, heads, written, read)


class SubwordTranslator:
    """The network of chapter 8 on subwords, with one embedding for both languages.

    The same matrix embeds source and target, and is also the output matrix.

    Args:
        merges: see Subwords.
        tokens: the pieces in the order of their ids, without the reserved ones.
        sizes: num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout.
        num_steps: maximum sentence length in pieces with <eos>.
    Source: Press and Wolf 2017; chapter 10.
    """

    def __init__(self, merges, tokens, sizes, num_steps=40):
        self.subwords = Subwords(merges)
        self.vocab = Vocab([" ".join(tokens)])
        self.sizes, self.num_steps = tuple(sizes), num_steps
        encoder = TransformerEncoder(len(self.vocab), *sizes)
        decoder = TransformerDecoder(len(self.vocab), *sizes)
        decoder.embedding.embedding.weight = encoder.embedding.embedding.weight
        decoder.output.weight = encoder.embedding.embedding.weight
        self.net = EncoderDecoder(encoder, decoder).to(try_gpu())
        self.about = {}

    def encode(self, sentences: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Turn sentences into ids (sentences, num_steps) and valid_lens (sentences,)."""
        check_arguments(sentences=sentences)
        texts = (normalise(sentence)[:LONGEST_TEXT] for sentence in sentences)
        pieces = [self.subwords.split(text) for text in texts]
        return encode(pieces, self.vocab, self.num_steps)

    def translate(
        self, sentences: list[str], beam_size: int | None = None
    ) -> list[str]:
        """Translate sentences, by greedy search if beam_size is None; nothing stays nothing."""
        check_strings("sentences", sentences)
        said = [sentence for sentence in sentences if sentence.strip()]
        if not said:
            return ["" for _ in sentences]
        search = self.vocab, self.num_steps, try_gpu(), beam_size
        found = iter(translate_ids(self.net, *self.encode(said), *search))
        return [join(next(found)) if one.strip() else "" for one in sentences]

    def look(self, sentence: str) -> "Look":
        """Translate one sentence by greedy search, and return the attention weights, too.

        Raises:
            ValueError: the sentence is empty.
        """
        check_words("sentence", sentence)
        src, src_valid_lens = (array.to(try_gpu()) for array in self.encode([sentence]))
        src = src[:, : src_valid_lens[0]]
        ends = self.vocab.bos, self.vocab.eos, self.num_steps
        with eval_mode(self.net), torch.no_grad():
            tokens = greedy_search(self.net, src, src_valid_lens, *ends).tokens
            tgt = torch.tensor([tokens[:-1]], device=src.device)
            logits = self.net(src, tgt, src_valid_lens)  # (1, written, vocab_size)
        # (layers, 1, heads, written, read)
        cross = self.net.decoder.attention_weights[1]
        pieces = (self.vocab.to_tokens(ids) for ids in (src[0].tolist(), tokens[1:]))
        return Look(*pieces, logits[0].softmax(dim=-1).cpu(), cross[:, 0].cpu())

    def parts(self) -> dict:
        """The parts of the translator that a figure needs.

        numbers: name -> parameter, each once; tied: name -> name of the parameter that it
        shares; tokens by id; merges: see Subwords.
        """
        table = "encoder.embedding.embedding.weight"
        return {
            "numbers": dict(self.net.named_parameters()),  # each once
            "tied": {
                "decoder.embedding.embedding.weight": table,
                "decoder.output.weight": table,
            },
            "tokens": self.vocab.idx_to_token,
            "merges": [*self.subwords.ranks],
            "num_heads": self.sizes[2],
            "num_steps": self.num_steps,
        }

    def save(self, path: Path, **about) -> None:
        """Save pieces, sizes and weights to a file, matrices with 8 bits per weight.

        Args:
            path: the safetensors file to write; it is replaced atomically.
            about: notes for readers of the file, such as the licence of the data; values that
                JSON can represent.
        """
        check_kind("path", path, str | Path, "a path")
        tensors = {}
        for name, weights in self.net.named_parameters():  # each table once
            tensors[name], scale = to_bytes(weights.detach().float().cpu().contiguous())
            if weights.dim() > 1:
                tensors[name + SCALE] = scale
        notes = {
            "format": FORMAT,
            "version": VERSION,
            "merges": [*self.subwords.ranks],
            "tokens": self.vocab.idx_to_token[len(self.vocab.reserved) :],
            "sizes": self.sizes,
            "num_steps": self.num_steps,
            "about": about,
        }
        write_tensors(Path(path), tensors, notes)

    @classmethod
    def load(cls, path: Path) -> "SubwordTranslator":
        """Load a translator written by save; the notes are in its attribute about.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is truncated, or was not written by this version of save.
        """
        check_kind("path", path, str | Path, "a path")
        tensors, notes = read_tensors(Path(path))
        merges, tokens, sizes, num_steps, about = _check_notes(path, notes)
        _check_sizes(path, sizes, len(tokens), tensors)
        translator = cls(merges, tokens, sizes, num_steps)
        _check_tensors(path, tensors, translator.net)
        weights = {
            name: from_bytes(numbers, tensors.get(name + SCALE, torch.ones(1)))
            for name, numbers in tensors.items()
            if not name.endswith(SCALE)
        }
        translator.net.load_state_dict(weights, strict=False)  # each table once
        translator.net.eval()
        translator.about = about
        return translator


def _check_notes(path, notes):
    """Validate and return merges, tokens, sizes, num_steps and about."""
    if notes.get("format") != FORMAT:
        raise ValueError(
            f"path ({path}) must be a file that SubwordTranslator.save wrote"
        )
    if notes.get("version") != VERSION:
        found = notes.get("version")
        raise ValueError(
            f"path ({path}) has version {found}; this d2lmini reads {VERSION}"
        )
    for name in NOTES:
        if name not in notes:
            raise ValueError(f"path ({path}) lacks {name}")
    merges, tokens, sizes, num_steps, about = (notes[name] for name in NOTES)
    try:
        check_kind("merges", merges, list, "a list of pairs")
        merges = [tuple(pair) if type(pair) is list else pair for pair in merges]
        check_pairs("merges", merges, (str, str), "(piece, piece)")
        check_arguments(tokens=tokens)
        if Vocab([" ".join(tokens)]).idx_to_token != [*Vocab.reserved, *tokens]:
            raise ValueError("tokens must be pieces without spaces, each only once")
        check_kind("sizes", sizes, list, "a list")
        check_count("num_steps", num_steps)
        check_kind("about", about, dict, "a dictionary")
    except (TypeError, ValueError) as error:
        raise ValueError(f"path ({path}) is damaged: {error}") from error
    return merges, tokens, tuple(sizes), num_steps, about


def _check_sizes(path, sizes, num_tokens, tensors):
    """Validate the sizes, and reject nets far larger than the file, which could fill the memory."""
    try:
        width, ffn_num_hiddens, num_heads, num_layers, dropout = sizes
        check_arguments(ffn_num_hiddens=ffn_num_hiddens, num_layers=num_layers)
        check_arguments(dropout=dropout)
        check_divisible(num_hiddens=width, num_heads=num_heads)
        check_even("num_hiddens", width)
    except (TypeError, ValueError) as error:
        raise ValueError(f"path ({path}) is damaged: sizes: {error}") from error
    of_layer = 12 * width * width + 4 * width * ffn_num_hiddens
    in_matrices = num_tokens * width + num_layers * of_layer
    if in_matrices > 10 * sum(tensor.numel() for tensor in tensors.values()):
        raise ValueError(
            f"path ({path}) has too few numbers for a net of sizes {[*sizes]!r:.60}"
        )


def _check_tensors(path, tensors, net):
    """Check that the file contains exactly the tensors of the network."""
    wanted = {}
    for name, weights in net.named_parameters():
        is_matrix = weights.dim() > 1
        wanted[name] = torch.int8 if is_matrix else torch.float32, [*weights.shape]
        if is_matrix:
            wanted[name + SCALE] = torch.float32, [len(weights), 1]
    found = {name: (tensor.dtype, [*tensor.shape]) for name, tensor in tensors.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            raise ValueError(f"path ({path}) lacks the tensor {name}")
        if name not in wanted:
            raise ValueError(f"path ({path}) has an unexpected tensor {name}")
        if found[name] != wanted[name]:
            (dtype, shape), (needed, size) = found[name], wanted[name]
            raise ValueError(
                f"path ({path}): its {name} must be {needed} of shape {size}, "
                f"is {dtype} of shape {shape}"
            )
