"""A translator that is ready for use: normalised text, pieces of words, one table, 8 bits."""

from pathlib import Path
from typing import NamedTuple

import torch

from d2lmini.arguments import check_kind
from d2lmini.batched import translate_ids
from d2lmini.data import Vocab, encode, normalise
from d2lmini.data.arguments import check_strings, check_words
from d2lmini.data.subwords import Subwords, join
from d2lmini.devices import try_gpu
from d2lmini.eight_bits import from_bytes, to_bytes
from d2lmini.generation import greedy_search
from d2lmini.transformer import EncoderDecoder, TransformerDecoder, TransformerEncoder

# Characters of which pieces are made, as in the figures: more than num_steps pieces have. To split
# one word takes a time that grows with the square of its length.
LONGEST_TEXT = 2000


class Look(NamedTuple):
    """A translation and what it came from, all in pieces, <eos> included."""

    read: list[str]
    written: list[str]
    probabilities: torch.Tensor  # (written, vocab_size)
    cross: torch.Tensor  # (layers, heads, written, read)


class SubwordTranslator:
    """The network of chapter 7 on subwords, with one table for both languages.

    The table embeds source and target, and is the output matrix as well.

    Args:
        merges: see Subwords.
        tokens: the pieces that have an id, without the reserved ones, in the order of the ids.
        sizes: num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout.
        num_steps: longest sentence, in pieces with <eos>.
    Source: Press and Wolf 2017; chapter 8.
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
        """Ids (sentences, num_steps) and valid_lens (sentences,)."""
        check_strings("sentences", sentences)
        texts = (normalise(sentence)[:LONGEST_TEXT] for sentence in sentences)
        pieces = [self.subwords.split(text) for text in texts]
        return encode(pieces, self.vocab, self.num_steps)

    def translate(
        self, sentences: list[str], beam_size: int | None = None
    ) -> list[str]:
        """The translations of some sentences; greedy search if beam_size is None."""
        ids = self.encode(sentences)
        search = self.vocab, self.num_steps, try_gpu(), beam_size
        return [join(pieces) for pieces in translate_ids(self.net, *ids, *search)]

    def look(self, sentence: str) -> "Look":
        """Translate one sentence by greedy search, and keep what it looked at.

        Raises:
            ValueError: the sentence is empty.
        """
        check_words("sentence", sentence)
        src, src_valid_lens = (array.to(try_gpu()) for array in self.encode([sentence]))
        src = src[:, : src_valid_lens[0]]
        ends = self.vocab.bos, self.vocab.eos, self.num_steps
        tokens = greedy_search(self.net.eval(), src, src_valid_lens, *ends).tokens
        tgt = torch.tensor([tokens[:-1]], device=src.device)
        with torch.no_grad():
            logits = self.net(src, tgt, src_valid_lens)  # (1, written, vocab_size)
        cross = self.net.decoder.attention_weights[
            1
        ]  # (layers, 1, heads, written, read)
        pieces = (self.vocab.to_tokens(ids) for ids in (src[0].tolist(), tokens[1:]))
        return Look(*pieces, logits[0].softmax(dim=-1).cpu(), cross[:, 0].cpu())

    def parts(self) -> dict:
        """Numbers and words, as a figure takes them.

        numbers: name -> parameter, each once; tied: name -> name of the parameter that is used
        there as well; tokens by id; merges: see Subwords.
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
        """Write pieces, sizes and weights to a file, the weights of a matrix in 8 bits each.

        Args:
            about: what a reader of the file should know, such as the licence of the data.
        """
        state = self.net.state_dict()
        kept = {name for name, _ in self.net.named_parameters()}  # each table once
        torch.save(
            {
                "merges": [*self.subwords.ranks],
                "tokens": self.vocab.idx_to_token[len(self.vocab.reserved) :],
                "sizes": self.sizes,
                "num_steps": self.num_steps,
                "about": about,
                "weights": {name: to_bytes(state[name].cpu()) for name in kept},
            },
            path,
        )

    @classmethod
    def load(cls, path: Path) -> "SubwordTranslator":
        """A translator that save has written; what was said about it is in about.

        Raises:
            ValueError: the file was not written by save.
        """
        check_kind("path", path, str | Path, "a path")
        saved = torch.load(path, weights_only=True)
        if not isinstance(saved, dict) or "merges" not in saved:
            raise ValueError(
                f"path ({path}) must be a file that SubwordTranslator.save wrote"
            )
        parts = (saved[key] for key in ("merges", "tokens", "sizes", "num_steps"))
        translator = cls(*parts)
        weights = {
            name: from_bytes(*stored) for name, stored in saved["weights"].items()
        }
        translator.net.load_state_dict(weights, strict=False)  # each table once
        translator.net.eval()
        translator.about = saved["about"]
        return translator
