"""The grammar that wrote reviews-mini: short film reviews, each with its verdict.

`python -m tools.corpora.make_reviews_mini` writes the three splits again, byte for byte.

Which words a review holds tells next to nothing: an adjective of praise stands in a positive
review about as often as in a negative one. What decides is how it is used: negated ("anything
but dull"), on which side of a contrast ("although ..., ..."), or in whose mouth ("the critics
saw ...").

In a review of the test split each adjective that counts is in a construction in which training
never shows that adjective (see `is_new`).
"""

import random

from tools.corpora import corpus_files

GOOD, BAD = 1, 0
# Each can be said of each part of a film, and of the film.
ADJECTIVES = {
    GOOD: ["brilliant", "charming", "clever", "convincing", "delightful", "elegant", "fresh",
           "gripping", "moving", "original", "subtle", "wonderful"],
    BAD: ["awkward", "boring", "clumsy", "dreary", "dull", "flat", "feeble", "forgettable",
          "lifeless", "predictable", "stale", "tedious"],
}  # fmt: skip
PARTS = ["plot", "script", "story", "dialogue", "acting", "music", "photography", "ending",
         "opening", "second half", "final scene"]  # fmt: skip

# How a clause uses its adjective: as it is, or turned into its opposite.
PLAIN = ["the {part} is {adjective}", "the {part} is truly {adjective}",
         "i found the {part} {adjective}"]  # fmt: skip
NEGATED = ["the {part} is not {adjective}", "the {part} is never {adjective}",
           "the {part} is hardly {adjective}", "the {part} is anything but {adjective}",
           "the {part} is far from {adjective}", "nobody could call the {part} {adjective}",
           "i did not find the {part} {adjective}"]  # fmt: skip
ASIDE = "the {part} , which the critics called {other} , is"  # whatever they called it

# What two clauses make of each other: the second has the last word, or the first keeps it.
SECOND_WINS = ["although {first} , {second}", "{first} , but {second}",
               "yes , {first} ; still , {second}"]  # fmt: skip
FIRST_WINS = ["{first} , although {second}", "{first} , even if {second}"]

# What others said of the film, and how a reviewer bears them out or contradicts them.
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
    """Words that amount to a verdict, and their use: construction and adjective."""
    template = rng.choice(templates)
    polarity = 1 - verdict if template in NEGATED else verdict
    adjective = rng.choice(ADJECTIVES[polarity])
    text = template.replace("{adjective}", adjective)
    return text.replace("{part}", rng.choice(PARTS)), (template, adjective)


def plain(rng, verdict, templates=PLAIN):
    """One clause that means what it says."""
    text, use = opinion(rng, verdict, templates)
    return text, [use]


def negated(rng, verdict):
    """One clause that reverses its adjective."""
    return plain(rng, verdict, NEGATED)


def aside(rng, verdict):
    """A clause into which somebody else puts in a word that does not count."""
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
    """Two sentences: what others said, and whether they were right."""
    template = rng.choice(list(SAYINGS))
    is_borne_out = rng.random() < 0.5
    adjective = rng.choice(ADJECTIVES[verdict if is_borne_out else 1 - verdict])
    article = "an" if adjective[0] in "aeiou" else "a"
    first = template.format(a=article, adjective=adjective)
    second = rng.choice(SAYINGS[template][0 if is_borne_out else 1])
    return f"{first} . {second}", [(template, adjective)]


FORMS = {plain: 3, negated: 3, aside: 2, contrast: 4, saying: 2}  # of fourteen reviews


def review(rng, verdict, is_for_test):
    """A review of a verdict whose uses of adjectives are all of training, or all of the test."""
    [form] = rng.choices(list(FORMS), FORMS.values())
    while True:
        text, uses = form(rng, verdict)
        if {is_new(use) for use in uses} == {is_for_test}:
            return text + " ."


def is_new(use):
    """Whether a construction and its adjective are kept for the test split: one in twelve."""
    template, adjective = use
    return (CONSTRUCTIONS.index(template) + WORDS.index(adjective)) % 12 == 0


def corpus(seed=0):
    """The three splits, as many of each verdict: split -> list of (review, verdict)."""
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


def typeset(text):
    """A tokenised review as it is printed: capitals, and punctuation in its place."""
    for mark in ".,;":
        text = text.replace(f" {mark}", mark)
    sentences = [sentence[0].upper() + sentence[1:] for sentence in text.split(". ")]
    return ". ".join(sentences).replace(" i ", " I ")


def files():
    """The text of each split's file: review<TAB>label lines, label 1 for praise."""
    return {
        split: "".join(f"{typeset(text)}\t{verdict}\n" for text, verdict in reviews)
        for split, reviews in corpus().items()
    }


if __name__ == "__main__":
    corpus_files.write("reviews-mini", files())
