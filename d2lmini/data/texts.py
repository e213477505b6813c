"""Plain texts, one per line."""

from pathlib import Path

from d2lmini.data.catalogue import TEXTS
from d2lmini.data.registry import find_paths, read_lines
from d2lmini.data.text import normalise
from d2lmini.support.arguments import check_arguments


def read_texts(name: str | Path = "stories-mini", split: str = "train") -> list[str]:
    """Read the texts of a corpus, in file order.

    Args:
        name: "stories-mini", or the path of a UTF-8 file with one text per line.
        split: "train", or "val" or "test", which the corpus has.
    Returns:
        The lines that are not blank.
    Raises:
        ValueError: all lines are blank, or see registry.find_paths and read_lines.
    Source: chapter 15.
    """
    (path,) = find_paths(name, split, TEXTS)
    texts = [line.strip() for line in read_lines(path) if line.strip()]
    if not texts:
        raise ValueError(f"{path} must hold at least one line of text")
    return texts


# The people of stories-mini.
PRONOUNS = {"anna": "she", "ben": "he", "carla": "she", "david": "he",
            "emma": "she", "felix": "he", "grace": "she", "henry": "he"}  # fmt: skip


def mistake_in(story: str) -> str | None:
    """Find the first sentence of a story that contradicts the previous ones; None if none does.

    People can only give what they have; a pronoun must agree with the person just named; an
    answer must name the owner of the thing.

    Source: chapter 15.
    """
    check_arguments(story=story)
    has, named = {}, None
    for sentence in normalise(story).removesuffix(" .").split(" . "):
        match sentence.split():
            case [who, "has", "a", thing] if who in PRONOUNS and thing not in has:
                has[thing] = who
            case [who, "gives", "the", thing, "to", whom] if (
                has.get(thing) == who != whom and whom in PRONOUNS
            ):
                has[thing] = named = whom
            case [who, "goes", "to", "the", _] if who in PRONOUNS:
                named = who
            case ["he" | "she" as pronoun, *_] if pronoun == PRONOUNS.get(named):
                pass
            case ["who", "has", "the", thing, "?", who] if has.get(thing) == who:
                pass
            case _:
                return sentence
    return None
