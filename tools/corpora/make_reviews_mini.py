"""The grammar of reviews-mini: short film reviews, each with its verdict.

The words of a review say next to nothing about its verdict: positive adjectives are about as
frequent in positive reviews as in negative ones. What matters is how they are used: negated
("anything but dull"), on which side of a contrast ("although ..., ..."), or by whom ("the critics
saw ...").

In the test split, each adjective that matters is in a construction in which it never occurs in
training (see `is_new`).
"""

import random

from tools.corpora.corpus_files import typeset, write

GOOD, BAD = 1, 0
# Each suits every part of a film, and the film itself.
ADJECTIVES = {
    GOOD: ["brilliant", "charming", "clever", "convincing", "delightful", "elegant", "fresh",
           "gripping", "moving", "original", "subtle", "wonderful"],
    BAD: ["awkward", "boring", "clumsy", "dreary", "dull", "flat", "feeble", "forgettable",
          "lifeless", "predictable", "stale", "tedious"],
}  # fmt: skip
PARTS = ["plot", "script", "story", "dialogue", "acting", "music", "photography", "ending",
         "opening", "second half", "final scene"]  # fmt: skip

# How a clause uses its adjective: as it is, or negated
PLAIN = ["the {part} is {adjective}", "the {part} is truly {adjective}",
         "i found the {part} {adjective}"]  # fmt: skip
NEGATED = ["the {part} is not {adjective}", "the {part} is never {adjective}",
           "the {part} is hardly {adjective}", "the {part} is anything but {adjective}",
           "the {part} is far from {adjective}", "nobody could call the {part} {adjective}",
           "i did not find the {part} {adjective}"]  # fmt: skip
ASIDE = "the {part} , which the critics called {other} , is"  # the other adjective does not matter

# Which of two contrasting clauses gives the verdict
SECOND_WINS = ["although {first} , {second}", "{first} , but {second}",
               "yes , {first} ; still , {second}"]  # fmt: skip
FIRST_WINS = ["{first} , although {second}", "{first} , even if {second}"]

# What others said about the film, and how the reviewer agrees or disagrees with them
OF_THEM = (["they were right", "i agree with them"],
           ["they were wrong", "i do not agree with them"])  # fmt: skip
SAYINGS = {
    "the critics saw {a} {adjective} film": OF_THEM,
    "i expected {a} {adjective} film": (["i was right", "that is what i got"],
                                        ["i was wrong", "that is not what i got"]),
    "my friends called this film {adjective}": OF_THEM,
    "my sister finds this film {adjective}": (["she is right", "so do i"],
                                              ["she is wrong", "i do not"]),
}  # fmt: skip
CONSTRUCTIONS = [*PLAIN, *NEGATED, *SAYINGS]
SPLITS = {"test": 300, "val": 200, "train": 2500}
WORDS = ADJECTIVES[GOOD] + ADJECTIVES[BAD]


def opinion(rng, verdict, templates):
    """A clause with this verdict, and its use: construction and adjective."""
    template = rng.choice(templates)
    polarity = 1 - verdict if template in NEGATED else verdict
    adjective = rng.choice(ADJECTIVES[polarity])
    text = template.replace("{adjective}", adjective)
    return text.replace("{part}", rng.choice(PARTS)), (template, adjective)


def plain(rng, verdict, templates=PLAIN):
    """One clause, by default without a negation."""
    text, use = opinion(rng, verdict, templates)
    return text, [use]


def negated(rng, verdict):
    """One clause that negates its adjective."""
    return plain(rng, verdict, NEGATED)


def aside(rng, verdict):
    """A clause that quotes someone else's adjective, which does not matter."""
    templates = rng.choice([PLAIN, NEGATED])
    text, use = opinion(rng, verdict, [t for t in templates if "{part} is" in t])
    other = rng.choice(WORDS)
    part = text.partition("the ")[2].partition(" is")[0]
    return text.replace(f"the {part} is", ASIDE.format(part=part, other=other)), [use]


def contrast(rng, verdict):
    """Two clauses of opposite verdicts, about two parts of the film."""
    second_wins = rng.random() < len(SECOND_WINS) / len(SECOND_WINS + FIRST_WINS)
    verdicts = (1 - verdict, verdict) if second_wins else (verdict, 1 - verdict)
    while True:
        told = [opinion(rng, v, rng.choice([PLAIN, NEGATED])) for v in verdicts]
        (first, use), (second, use_2) = told
        if not any(part in first and part in second for part in PARTS):
            break
    template = rng.choice(SECOND_WINS if second_wins else FIRST_WINS)
    return template.format(first=first, second=second), [use, use_2]


def saying(rng, verdict):
    """Two sentences: an opinion of others, and whether they were right."""
    template = rng.choice(list(SAYINGS))
    is_borne_out = rng.random() < 0.5
    adjective = rng.choice(ADJECTIVES[verdict if is_borne_out else 1 - verdict])
    article = "an" if adjective[0] in "aeiou" else "a"
    first = template.format(a=article, adjective=adjective)
    second = rng.choice(SAYINGS[template][0 if is_borne_out else 1])
    return f"{first} . {second}", [(template, adjective)]


FORMS = {plain: 3, negated: 3, aside: 2, contrast: 4, saying: 2}  # relative frequencies


def review(rng, verdict, is_for_test):
    """A review whose uses of adjectives are all for training, or all for the test split."""
    [form] = rng.choices(list(FORMS), FORMS.values())
    while True:
        text, uses = form(rng, verdict)
        if {is_new(use) for use in uses} == {is_for_test}:
            return text + " ."


def is_new(use):
    """Whether a pair of construction and adjective is kept for the test split: one in twelve is."""
    template, adjective = use
    return (CONSTRUCTIONS.index(template) + WORDS.index(adjective)) % 12 == 0


def corpus(seed=0):
    """The three splits, each balanced: split -> list of (review, verdict)."""
    rng = random.Random(seed)
    splits, taken = {}, set()
    for split, size in SPLITS.items():
        chosen = []
        while len(chosen) < size:
            verdict = len(chosen) % 2
            text = review(rng, verdict, is_for_test=split == "test")
            if text not in taken:
                taken.add(text)
                chosen.append((text, verdict))
        rng.shuffle(chosen)
        splits[split] = chosen
    return splits


def files():
    """The text of each split's file: review<TAB>label lines, label 1 for praise."""
    texts = {}
    for split, reviews in corpus().items():
        lines = (f"{typeset(text)}\t{verdict}\n" for text, verdict in reviews)
        texts[split] = "".join(lines).replace(" i ", " I ")
    return texts


if __name__ == "__main__":
    write("reviews-mini", files())
