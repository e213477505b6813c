"""The grammar of stories-mini: a few sentences about who has what.

Each sentence of a story is right or wrong, given those before it: people can only give away what
they have, a pronoun agrees with the person just named, and the two questions at the end have one
answer each. So the output of a model can be checked.
"""

import random

from tools.corpora.corpus_files import typeset, write

PEOPLE = {"anna": "she", "ben": "he", "carla": "she", "david": "he", "emma": "she",
          "felix": "he", "grace": "she", "henry": "he"}  # fmt: skip
THINGS = ["ball", "book", "cup", "hat", "key", "lamp", "map", "ring"]
PLACES = ["garden", "kitchen", "market", "park", "river", "school"]
ACTIONS = ["reads", "sings", "sleeps", "waits"]
SPLITS = {"test": 300, "val": 300, "train": 4000}


def gift(rng, people, has):
    """One person gives something away; updates has."""
    thing = rng.choice(sorted(has))
    giver, taker = has[thing], rng.choice([p for p in people if p != has[thing]])
    has[thing] = taker
    text = f"{giver} gives the {thing} to {taker} ."
    return text + f" {PEOPLE[taker]} is happy ." * (rng.random() < 0.4)


def walk(rng, people):
    """One person goes somewhere, and nothing changes hands."""
    person = rng.choice(people)
    place, action = rng.choice(PLACES), rng.choice(ACTIONS)
    return f"{person} goes to the {place} . {PEOPLE[person]} {action} there ."


def story(rng):
    """Two things, three people, one to three events, and two questions with answers."""
    people, things = rng.sample(sorted(PEOPLE), 3), rng.sample(THINGS, 2)
    has = {thing: rng.choice(people) for thing in things}
    sentences = [f"{has[thing]} has a {thing} ." for thing in things]
    for _ in range(rng.choice([1, 2, 2, 3])):
        is_gift = rng.random() < 0.7
        sentences.append(gift(rng, people, has) if is_gift else walk(rng, people))
    rng.shuffle(things)
    sentences += [f"who has the {thing} ? {has[thing]} ." for thing in things]
    return " ".join(sentences)


def corpus():
    """The splits, without repeated stories: split -> stories."""
    rng, taken, splits = random.Random(13), set(), {}
    for split, size in SPLITS.items():
        splits[split] = []
        while len(splits[split]) < size:
            text = story(rng)
            if text not in taken:
                taken.add(text)
                splits[split].append(text)
    return splits


def files():
    """The text of each split's file, one story a line."""
    return {
        split: "".join(f"{typeset(text, PEOPLE)}\n" for text in stories)
        for split, stories in corpus().items()
    }


if __name__ == "__main__":
    write("stories-mini", files())
