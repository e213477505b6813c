"""The grammar of deu-eng-mini: German picture captions, each with one English translation.

The word order differs: German puts the verb second in a main clause, whatever comes first, and last
in a subordinate clause; the particle of a separable verb goes to the end; the place comes before
the object.

No sentence of val or test, in either language, differs from one in another split by only one word.
"""

import random
from typing import NamedTuple

from d2lmini.data.pairs import with_a_gap
from tools.corpora.corpus_files import rows, typeset, write

SPLITS = {"test": 200, "val": 200, "train": 2000}
NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
ENDINGS = {"m": ("er", "en", "en"), "f": ("e", "e", "en"), "n": ("es", "es", "en")}
ARTICLES = {"m": ("ein", "einen", "einem"), "f": ("eine", "eine", "einer"),
            "n": ("ein", "ein", "einem")}  # fmt: skip
RELATIVE = {"m": "der", "f": "die", "n": "das", "pl": "die"}
NUMBERS = {2: ("two", "zwei"), 3: ("three", "drei")}


class Noun(NamedTuple):
    """A noun in both languages; oblique is the German accusative and dative."""

    english: str
    german: str
    gender: str
    english_plural: str = ""
    german_plural: str = ""
    oblique: str = ""


class Verb(NamedTuple):
    """A verb: English participle and infinitive, German singular, plural and infinitive.

    particle is the part of a separable verb that goes to the end: "zieht ... an".
    """

    participle: str
    infinitive: str
    singular: str
    plural: str
    german: str
    particle: str = ""
    case: int = ACCUSATIVE


def nouns(text):
    """A table of nouns, in the order of the fields."""
    return [Noun(*row) for row in rows(text)]


PEOPLE = nouns("""
    man/Mann/m/men/Männer, woman/Frau/f/women/Frauen, boy/Junge/m/boys/Jungen/Jungen,
    girl/Mädchen/n/girls/Mädchen, child/Kind/n/children/Kinder,
    musician/Musiker/m/musicians/Musiker, tourist/Touristin/f/tourists/Touristinnen
""")
CHILDREN = PEOPLE[2:5]
DOG = Noun("dog", "Hund", "m", "dogs", "Hunde")
AGES = rows("young/jung, old/alt, tall/groß, tired/müde")
OF_CHILDREN = rows("small/klein, tall/groß, tired/müde")
COLOURS = rows("red/rot, blue/blau, green/grün, black/schwarz, white/weiß")
CLOTHES = nouns("""
    hat/Hut/m, jacket/Jacke/f, shirt/Hemd/n, coat/Mantel/m, dress/Kleid/n, cap/Mütze/f
""")
PAPER = nouns("book/Buch/n, newspaper/Zeitung/f, letter/Brief/m")
FOOD = nouns("apple/Apfel/m, banana/Banane/f, bread roll/Brötchen/n, cake/Kuchen/m")
LOADS = nouns("""
    bag/Tasche/f, basket/Korb/m, suitcase/Koffer/m, ball/Ball/m, surfboard/Surfbrett/n
""")
SIGHTS = nouns(
    "picture/Bild/n, bridge/Brücke/f, tower/Turm/m, tree/Baum/m, house/Haus/n"
)
PLACES = rows("""
    in the park/im Park, on the beach/am Strand, on the street/auf der Straße,
    in the kitchen/in der Küche, in the garden/im Garten, at the lake/am See,
    at the market/auf dem Markt, in front of a house/vor einem Haus,
    next to a tree/neben einem Baum, under a bridge/unter einer Brücke,
    on a bench/auf einer Bank, at the window/am Fenster, in the snow/im Schnee, in the rain/im Regen
""")
INTRANSITIVE = [Verb(*row) for row in rows("""
    sleeping/sleep/schläft/schlafen/schlafen, laughing/laugh/lacht/lachen/lachen,
    dancing/dance/tanzt/tanzen/tanzen, singing/sing/singt/singen/singen,
    sitting/sit/sitzt/sitzen/sitzen, standing/stand/steht/stehen/stehen,
    waiting/wait/wartet/warten/warten, working/work/arbeitet/arbeiten/arbeiten,
    getting up/get up/steht/stehen/stehen/auf,
    playing the guitar/play the guitar/spielt Gitarre/spielen Gitarre/spielen,
    riding a bike/ride a bike/fährt Fahrrad/fahren Fahrrad/fahren
""")]  # fmt: skip
TRANSITIVE = [  # with their possible objects
    (Verb("reading", "read", "liest", "lesen", "lesen"), PAPER),
    (Verb("buying", "buy", "kauft", "kaufen", "kaufen"), PAPER + FOOD + CLOTHES),
    (Verb("eating", "eat", "isst", "essen", "essen"), FOOD),
    (Verb("wearing", "wear", "trägt", "tragen", "tragen"), CLOTHES),
    (Verb("carrying", "carry", "trägt", "tragen", "tragen"), LOADS),
    (Verb("pulling", "pull", "zieht", "ziehen", "ziehen"), LOADS[1:3]),
    (Verb("painting", "paint", "malt", "malen", "malen"), SIGHTS),
    (Verb("photographing", "photograph", "fotografiert", "fotografieren", "fotografieren"),
     [*SIGHTS, *PEOPLE, DOG]),
    (Verb("holding", "hold", "hält", "halten", "halten"), LOADS + FOOD + PAPER),
    (Verb("putting on", "put on", "zieht", "ziehen", "ziehen", "an"), CLOTHES[1:5]),
    (Verb("taking off", "take off", "zieht", "ziehen", "ziehen", "aus"), CLOTHES[1:5]),
    (Verb("looking at", "look at", "schaut", "schauen", "schauen", "an"), SIGHTS),
    (Verb("picking up", "pick up", "hebt", "heben", "heben", "auf"), LOADS + FOOD + PAPER),
    (Verb("watching", "watch", "sieht", "sehen", "sehen", "zu", DATIVE), [*PEOPLE, DOG]),
    (Verb("helping", "help", "hilft", "helfen", "helfen", "", DATIVE), PEOPLE),
    (Verb("listening to", "listen to", "hört", "hören", "hören", "zu", DATIVE), PEOPLE),
]  # fmt: skip

POSTURES = INTRANSITIVE[4:7]  # sitting, standing, waiting
HAVING = [row for row in TRANSITIVE if row[0].infinitive in ("wear", "carry", "hold")]


class Phrase(NamedTuple):
    """A noun phrase in both languages."""

    english: str
    german: str
    gender: str
    is_plural: bool = False


def one(rng, noun, case, adjectives=()):
    """A noun in a case, with an indefinite article and, half the time, an adjective."""
    german = noun.oblique if case != NOMINATIVE and noun.oblique else noun.german
    article, english = ARTICLES[noun.gender][case], noun.english
    if adjectives and rng.random() < 0.5:
        adjective, stem = rng.choice(adjectives)
        # "müde" already ends in e.
        german = f"{stem.removesuffix('e')}{ENDINGS[noun.gender][case]} {german}"
        english = f"{adjective} {english}"
    a = "an" if english[0] in "aeiou" else "a"
    return Phrase(f"{a} {english}", f"{article} {german}", noun.gender)


def subject(rng):
    """The subject: one person or several."""
    noun = rng.choice(PEOPLE)
    if rng.random() < 0.3:
        number, zahl = NUMBERS[rng.choice([*NUMBERS])]
        adjective, stem = rng.choice([("", ""), *adjectives_of(noun)])
        english = f"{number} {adjective} {noun.english_plural}"
        german = f"{zahl} {stem and stem.removesuffix('e') + 'e'} {noun.german_plural}"
        return Phrase(*(" ".join(p.split()) for p in (english, german)), "pl", True)
    return one(rng, noun, NOMINATIVE, adjectives_of(noun))


class Deed(NamedTuple):
    """A verb and its object, which may be empty."""

    verb: Verb
    english_object: str
    german_object: str


def adjectives_of(noun):
    """The adjectives that suit a person or a thing."""
    if noun in PEOPLE:
        return OF_CHILDREN if noun in CHILDREN else AGES
    return COLOURS if noun in CLOTHES + LOADS else ()


def deed(rng, alone=INTRANSITIVE, others=TRANSITIVE, share=0.3):
    """Draw a verb with an object or, for this share of draws, one without."""
    if rng.random() < share:
        return Deed(rng.choice(alone), "", "")
    verb, things = rng.choice(others)
    thing = rng.choice(things)
    thing = one(rng, thing, verb.case, adjectives_of(thing))
    return Deed(verb, thing.english, thing.german)


def sentence(*parts):
    """Join the non-empty parts of a sentence."""
    return " ".join(" ".join(parts).split())


def english(who, what, *rest):
    """'a man is reading a letter'"""
    is_doing = f"{'are' if who.is_plural else 'is'} {what.verb.participle}"
    return sentence(who.english, is_doing, what.english_object, *rest)


def finite(who, what):
    """The German verb in agreement with its subject, and the rest of the verb phrase."""
    form = what.verb.plural if who.is_plural else what.verb.singular
    verb, _, rest = form.partition(" ")
    return verb, rest


def verb_last(who, what):
    """The end of a subordinate clause: 'einen Brief liest', 'eine Jacke anzieht'."""
    verb, rest = finite(who, what)
    return sentence(what.german_object, rest, what.verb.particle + verb)


def main_clause(rng, place=("", "")):
    """'ein Mann liest im Park einen Brief'"""
    who, what = subject(rng), deed(rng)
    verb, rest = finite(who, what)
    end = what.german_object, rest, what.verb.particle
    return english(who, what, place[0]), sentence(who.german, verb, place[1], *end)


def with_place(rng):
    """A main clause with a place, which German puts before the object."""
    return main_clause(rng, rng.choice(PLACES))


def place_first(rng):
    """'im Park liest ein Mann einen Brief': the verb stays second."""
    who, what, place = subject(rng), deed(rng), rng.choice(PLACES)
    verb, rest = finite(who, what)
    end = what.german_object, rest, what.verb.particle
    german = sentence(place[1], verb, who.german, *end)
    return f"{place[0]} , {english(who, what)}", german


def relative(rng):
    """'ein Mann , der einen Hut trägt , liest einen Brief'"""
    who, aside, what = subject(rng), deed(rng, POSTURES, HAVING), deed(rng, share=0)
    verb, rest = finite(who, what)
    doing = english(who, aside).removeprefix(who.english)
    clause = f", {RELATIVE[who.gender]} {verb_last(who, aside)} ,"
    end = what.german_object, rest, what.verb.particle
    german = sentence(who.german, clause, verb, *end)
    return english(Phrase(f"{who.english} who{doing}", *who[1:]), what), german


def while_another(rng):
    """'ein Mann singt , während eine Frau einen Brief liest'"""
    (first, erst), who, what = main_clause(rng), subject(rng), deed(rng)
    german = f"{erst} , während {who.german} {verb_last(who, what)}"
    return f"{first} while {english(who, what)}", german


def trying(rng):
    """'ein Mann versucht , einen Hut anzuziehen'"""
    active = [row for row in TRANSITIVE if row not in HAVING]
    who, what = subject(rng), deed(rng, INTRANSITIVE[:1], active, share=0.1)
    _, rest = finite(who, what)
    zu = f"{what.verb.particle}zu" if what.verb.particle else "zu "
    is_trying = "are trying to" if who.is_plural else "is trying to"
    text = sentence(who.english, is_trying, what.verb.infinitive, what.english_object)
    tries = "versuchen ," if who.is_plural else "versucht ,"
    to_do = zu + what.verb.german
    return text, sentence(who.german, tries, what.german_object, rest, to_do)


FORMS = {main_clause: 2, with_place: 4, place_first: 4, relative: 4, while_another: 3,
         trying: 3}  # fmt: skip


def is_told_twice(text):
    """Whether a noun or a verb occurs twice, which sounds odd."""
    words = [word for word in text.split() if len(word) > 3]
    words = [word for word in words if word not in ("eine", "einen")]
    return len(words) != len(set(words))


def corpus(seed=0):
    """The three splits: split -> list of (German, English)."""
    rng = random.Random(seed)
    splits, taken = {}, set()
    for split, size in SPLITS.items():
        chosen, gaps = {}, set()
        while len(chosen) < size:
            [form] = rng.choices([*FORMS], FORMS.values())
            text, german = form(rng)
            near = with_a_gap(german) | with_a_gap(text)
            is_new = german not in chosen and near.isdisjoint(taken)
            if is_new and not is_told_twice(german):
                chosen[german] = text
                gaps |= near
        taken |= gaps
        splits[split] = [*chosen.items()]
    return splits


def files():
    """The text of each split's file: German<TAB>English lines."""
    return {
        split: "".join(f"{typeset(de)}.\t{typeset(en)}.\n" for de, en in pairs)
        for split, pairs in corpus().items()
    }


if __name__ == "__main__":
    write("deu-eng-mini", files())
