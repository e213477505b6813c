"""The grammar that wrote eng-fra-mini: short English sentences with one French translation each.

`python -m tools.corpora.make_eng_fra_mini` writes the four splits again, byte for byte.

Conventions, so that a sentence has one translation: the speaker is a man, "you" is one friend
(tu), "we" and "they" are men (nous, ils); a simple past is a passé composé (il a couru), "was" an
imperfect (il était); a command ends in "!"; a skill that one learns is "savoir" (il sait nager).

The fourth split, compositional, asks for more than the words of training in sentences that differ
by a word: for pairs of words that training never shows together (see `unseen`), and for
sentences of two clauses that are longer than any training sentence (see `joined`).
"""

import random
import re
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice, product

from tools.corpora import corpus_files

# Forms of a verb are listed for je, tu, il or elle, nous, ils.
JE, TU, IL, NOUS, ILS = range(5)
ETRE = ["suis", "es", "est", "sommes", "sont"]
ETAIT = ["étais", "étais", "était", "étions", "étaient"]
AVOIR = ["ai", "as", "a", "avons", "ont"]
WAS = ["was", "were", "was", "were", "were"]
HAVE = ["have", "have", "has", "have", "have"]


@dataclass(frozen=True)
class Subject:
    english: str
    be: str  # "i'm", "tom is"
    not_be: str  # "i'm not", "tom isn't"
    french: str
    person: int
    gender: str  # "m" or "f"
    disjunctive: str  # chez moi

    @property
    def is_pronoun(self):
        return self.french in ("je", "tu", "il", "elle", "nous", "ils")

    def agree(self, masculine, feminine, plural=None):
        """The form of an adjective or participle for this subject."""
        if self.person in (NOUS, ILS):
            return plural or masculine + "s"
        return feminine if self.gender == "f" else masculine


SUBJECTS = [
    Subject("i", "i'm", "i'm not", "je", JE, "m", "moi"),
    Subject("you", "you're", "you're not", "tu", TU, "m", "toi"),
    Subject("he", "he's", "he's not", "il", IL, "m", "lui"),
    Subject("she", "she's", "she's not", "elle", IL, "f", "elle"),
    Subject("we", "we're", "we're not", "nous", NOUS, "m", "nous"),
    Subject("they", "they're", "they're not", "ils", ILS, "m", "eux"),
    Subject("tom", "tom is", "tom isn't", "tom", IL, "m", "lui"),
    Subject("mary", "mary is", "mary isn't", "marie", IL, "f", "elle"),
]
PERSONS = [s for s in SUBJECTS if s.is_pronoun]

# English, masculine, feminine, masculine plural.
ADJECTIVES = [
    ("calm", "calme", "calme", "calmes"),
    ("sad", "triste", "triste", "tristes"),
    ("rich", "riche", "riche", "riches"),
    ("sick", "malade", "malade", "malades"),
    ("young", "jeune", "jeune", "jeunes"),
    ("happy", "heureux", "heureuse", "heureux"),
    ("lazy", "paresseux", "paresseuse", "paresseux"),
    ("strong", "fort", "forte", "forts"),
    ("tall", "grand", "grande", "grands"),
    ("tired", "fatigué", "fatiguée", "fatigués"),
    ("busy", "occupé", "occupée", "occupés"),
    ("ready", "prêt", "prête", "prêts"),
    ("alone", "seul", "seule", "seuls"),
    ("kind", "gentil", "gentille", "gentils"),
]
NOT_VERY = ("ready", "alone")
COMMANDS = (
    "calm",
    "happy",
    "strong",
    "ready",
    "kind",
)  # "be calm", but nobody says "be tall"
WARNINGS = ("sad", "lazy")  # "don't be sad"
WHYS = ("calm", "sad", "sick", "happy", "tired", "busy", "alone")  # "why are you sad"
# What one asks about oneself: "am i late", "did we win", but not "did i swim".
ABOUT_ONESELF = ("ready", "alone", "late", "right", "wrong", "win", "lose", "pay")
STATES = [  # to be in English, to have in French
    ("hungry", "faim"),
    ("thirsty", "soif"),
    ("cold", "froid"),
    ("right", "raison"),
    ("wrong", "tort"),
    ("afraid", "peur"),
]
PLACES = [
    ("here", "ici"),
    ("outside", "dehors"),
    ("late", "en retard"),
    ("in bed", "au lit"),
    ("at work", "au travail"),
    ("at school", "à l’école"),
    ("in paris", "à paris"),
    ("in the car", "dans la voiture"),
    ("in the house", "dans la maison"),
]
WITH = [
    ("me", "moi"),
    ("you", "toi"),
    ("him", "lui"),
    ("her", "elle"),
    ("us", "nous"),
    ("them", "eux"),
]
DESTINATIONS = [("to bed", "au lit"), ("to work", "au travail"), ("to school", "à l’école"),
                ("to paris", "à paris"), ("outside", "dehors")]  # fmt: skip
# English, third person, past; present, infinitive, participle; auxiliary.
VERBS = [
    ("run", "runs", "ran", "cours cours court courons courent", "courir", "couru"),
    ("sleep", "sleeps", "slept", "dors dors dort dormons dorment", "dormir", "dormi"),
    ("laugh", "laughs", "laughed", "ris ris rit rions rient", "rire", "ri"),
    ("wait", "waits", "waited", "attends attends attend attendons attendent",
     "attendre", "attendu"),
    ("work", "works", "worked", "travaille travailles travaille travaillons travaillent",
     "travailler", "travaillé"),
    ("sing", "sings", "sang", "chante chantes chante chantons chantent", "chanter", "chanté"),
    ("dance", "dances", "danced", "danse danses danse dansons dansent", "danser", "dansé"),
    ("swim", "swims", "swam", "nage nages nage nageons nagent", "nager", "nagé"),
    ("listen", "listens", "listened", "écoute écoutes écoute écoutons écoutent",
     "écouter", "écouté"),
    ("win", "wins", "won", "gagne gagnes gagne gagnons gagnent", "gagner", "gagné"),
    ("lose", "loses", "lost", "perds perds perd perdons perdent", "perdre", "perdu"),
    ("pay", "pays", "paid", "paie paies paie payons paient", "payer", "payé"),
]  # fmt: skip
SKILLS = ("sing", "dance", "swim")  # i can swim: je sais nager
# English, past, participle, imperative; these take être, and the participle agrees.
MOVES = [
    ("leave", "left", "parti", "pars"),
    ("fall", "fell", "tombé", ""),
    ("arrive", "arrived", "arrivé", ""),
    ("stay", "stayed", "resté", "reste"),
    ("come", "came", "venu", "viens"),
]
# English, third person, past; present, participle; each takes an object. Where a tense is left
# out, it is not used: nobody says "he loses my key".
TRANSITIVE = [
    ("see", "sees", "saw", "vois vois voit voyons voient", "vu"),
    ("find", "", "found", "", "trouvé"),
    ("buy", "buys", "bought", "achète achètes achète achetons achètent", "acheté"),
    ("sell", "sells", "sold", "vends vends vend vendons vendent", "vendu"),
    (
        "draw",
        "draws",
        "drew",
        "dessine dessines dessine dessinons dessinent",
        "dessiné",
    ),
    ("lose", "", "lost", "", "perdu"),
    ("want", "wants", "", "veux veux veut voulons veulent", ""),
]
UNLIKELY = [("lose", "tree"), ("lose", "house"), ("buy", "letter"), ("sell", "letter"),
            ("draw", "letter")]  # fmt: skip
# English, third person; present; the object may be a person.
FEELINGS = [
    ("see", "sees", "vois vois voit voyons voient"),
    ("love", "loves", "aime aimes aime aimons aiment"),
    ("know", "knows", "connais connais connaît connaissons connaissent"),
    ("chase", "chases", "poursuis poursuis poursuit poursuivons poursuivent"),
    ("help", "helps", "aide aides aide aidons aident"),
]
MODALS = [
    ("can", "can", "peux peux peut pouvons peuvent"),
    ("must", "must", "dois dois doit devons doivent"),
    ("want to", "wants to", "veux veux veut voulons veulent"),
]
COLOURS = "black white red green"
NOUNS = [  # English, French, gender, the colours that it may have
    ("dog", "chien", "m", "black white"),
    ("cat", "chat", "m", "black white"),
    ("book", "livre", "m", COLOURS),
    ("hat", "chapeau", "m", COLOURS),
    ("boat", "bateau", "m", COLOURS),
    ("horse", "cheval", "m", "black white"),
    ("bird", "oiseau", "m", COLOURS),
    ("tree", "arbre", "m", "green"),
    ("car", "voiture", "f", COLOURS),
    ("house", "maison", "f", COLOURS),
    ("key", "clé", "f", COLOURS),
    ("letter", "lettre", "f", "white red"),
    ("flower", "fleur", "f", "white red"),
    ("shirt", "chemise", "f", COLOURS),
]
DETERMINERS = [  # English, masculine, feminine
    ("the", "le", "la"),
    ("a", "un", "une"),
    ("my", "mon", "ma"),
    ("your", "ton", "ta"),
    ("his", "son", "sa"),
    ("her", "son", "sa"),
    ("our", "notre", "notre"),
]
BEFORE = [  # English, masculine, masculine before a vowel, feminine; stands before its noun
    ("big", "grand", "grand", "grande"),
    ("small", "petit", "petit", "petite"),
    ("old", "vieux", "vieil", "vieille"),
    ("beautiful", "beau", "bel", "belle"),
]
AFTER = [("black", "noir", "noire"), ("white", "blanc", "blanche"), ("red", "rouge", "rouge"),
         ("green", "vert", "verte")]  # fmt: skip
OBJECT_PRONOUNS = [
    ("me", "me", JE),
    ("you", "te", TU),
    ("him", "le", IL),
    ("her", "la", IL),
    ("us", "nous", NOUS),
    ("them", "les", ILS),
]
S1_SENTENCES = [
    ("go .", "va !"),
    ("i lost .", "j’ai perdu ."),
    ("he's calm .", "il est calme ."),
    ("i'm home .", "je suis chez moi ."),
]
VOWELS = "aeiouéèêàâîôh"  # each h of this lexicon is mute


def french(*parts):
    """Join words and elide: je ai -> j’ai, le arbre -> l’arbre."""
    words = " ".join(parts).split()
    for i in range(len(words) - 1):
        if (
            words[i] in ("je", "ne", "le", "la", "de", "me", "te", "que")
            and words[i + 1][0] in VOWELS
        ):
            words[i] = words[i][:-1] + "’"
    return " ".join(words).replace("’ ", "’")


def noun_phrases():
    """(english, french, indefinite french after a negation or None)."""
    for (det, det_m, det_f), (noun, nom, gender, colours) in product(
        DETERMINERS, NOUNS
    ):
        le = det_m if gender == "m" else det_f
        yield (
            f"{det} {noun}",
            french(le, nom),
            french("de", nom) if det == "a" else None,
        )
        for adj, masculine, before_vowel, feminine in BEFORE:
            form = feminine if gender == "f" else masculine
            if gender == "m" and nom[0] in VOWELS:
                form = before_vowel
            de = french("de", form, nom) if det == "a" else None
            an = "an" if det == "a" and adj[0] in "aeiou" else det
            yield f"{an} {adj} {noun}", french(le, form, nom), de
        for adj, masculine, feminine in AFTER:
            if adj not in colours.split():
                continue
            form = feminine if gender == "f" else masculine
            de = french("de", nom, form) if det == "a" else None
            yield f"{det} {adj} {noun}", french(le, nom, form), de


def inverted(forms, subject):
    """Verb and pronoun turned for a question: es-tu, a-t-elle; tom est-il."""
    verb = forms[subject.person]
    pronoun = (
        subject.french
        if subject.is_pronoun
        else {"m": "il", "f": "elle"}[subject.gender]
    )
    joint = "-t-" if verb[-1] in "ae" else "-"
    turned = f"{verb}{joint}{pronoun}"
    return turned if subject.is_pronoun else f"{subject.french} {turned}"


def question_be(subject, past=False):
    """English: is he, were they."""
    be = (
        WAS[subject.person]
        if past
        else ["am", "are", "is", "are", "are"][subject.person]
    )
    return f"{be} {subject.english}"


def asks(subject, about):
    """Does one ask this about the subject? Nobody asks "am i tall ?"."""
    return subject.person not in (JE, NOUS) or about in ABOUT_ONESELF


def being():
    """i'm calm, she was calm, are you calm ?"""
    for s, (adj, m, f, plural) in product(SUBJECTS, ADJECTIVES):
        form, suis, was = s.agree(m, f, plural), ETRE[s.person], ETAIT[s.person]
        yield f"{s.be} {adj} .", french(s.french, suis, form, ".")
        if adj not in NOT_VERY:
            yield f"{s.be} very {adj} .", french(s.french, suis, "très", form, ".")
        yield f"{s.not_be} {adj} .", french(s.french, "ne", suis, "pas", form, ".")
        yield f"{s.english} {WAS[s.person]} {adj} .", french(s.french, was, form, ".")
        if asks(s, adj):
            yield f"{question_be(s)} {adj} ?", f"{inverted(ETRE, s)} {form} ?"
            yield (
                f"{question_be(s, past=True)} {adj} ?",
                f"{inverted(ETAIT, s)} {form} ?",
            )
    for adj, form, _, _ in ADJECTIVES:
        if adj in WHYS:
            yield f"why are you {adj} ?", f"pourquoi es-tu {form} ?"
        if adj in COMMANDS:
            yield f"be {adj} .", f"sois {form} !"
        if adj in WARNINGS:
            yield f"don't be {adj} .", f"ne sois pas {form} !"


def having():
    """i'm hungry: English is, French has."""
    for s, (state, noun) in product(SUBJECTS, STATES):
        have = AVOIR[s.person]
        yield f"{s.be} {state} .", french(s.french, have, noun, ".")
        yield f"{s.not_be} {state} .", french(s.french, "ne", have, "pas", noun, ".")
        if asks(s, state):
            yield f"{question_be(s)} {state} ?", f"{inverted(AVOIR, s)} {noun} ?"


def places():
    """she's in bed, where is tom ?"""
    for s in SUBJECTS:
        for place, lieu in [*PLACES, ("home", f"chez {s.disjunctive}")]:
            yield f"{s.be} {place} .", french(s.french, ETRE[s.person], lieu, ".")
            if place != "here" or s.person not in (JE, NOUS):  # "i'm not here"
                yield (
                    f"{s.not_be} {place} .",
                    french(s.french, "ne", ETRE[s.person], "pas", lieu, "."),
                )
            if asks(s, place):
                yield f"{question_be(s)} {place} ?", f"{inverted(ETRE, s)} {lieu} ?"
        for them, eux in WITH:
            if {s.disjunctive, eux} not in ({"moi", "nous"}, {eux}):  # "we're with me"
                yield (
                    f"{s.be} with {them} .",
                    french(s.french, ETRE[s.person], "avec", eux, "."),
                )
        where = inverted(ETRE, s) if s.is_pronoun else f"est {s.french}"
        yield f"where {question_be(s)} ?", f"où {where} ?"
    yield "don't be late .", "ne sois pas en retard !"


def going():
    """he goes to bed, don't go to school"""
    for s, (place, lieu) in product(SUBJECTS, DESTINATIONS):
        verb = "goes" if s.person == IL else "go"
        va = ["vais", "vas", "va", "allons", "vont"][s.person]
        do = "doesn't" if s.person == IL else "don't"
        yield f"{s.english} {verb} {place} .", french(s.french, va, lieu, ".")
        no = french(s.french, "ne", va, "pas", lieu, ".")
        yield f"{s.english} {do} go {place} .", no
    for place, lieu in DESTINATIONS:
        yield f"go {place} .", f"va {lieu} !"
        yield f"don't go {place} .", f"ne va pas {lieu} !"
        yield f"let's go {place} .", f"allons {lieu} !"
    # Without a place French says "y", or another verb; "va !" is the source chapter's.
    yield "go .", "va !"
    yield "don't go .", "ne pars pas !"
    yield "let's go .", "allons-y !"


def acting():
    """he runs, we don't sing, did you sleep ?, sing !"""
    for s, (base, third, past, forms, _, participle) in product(SUBJECTS, VERBS):
        verb, present = (third if s.person == IL else base), forms.split()[s.person]
        do = "doesn't" if s.person == IL else "don't"
        have = AVOIR[s.person]
        yield f"{s.english} {verb} .", french(s.french, present, ".")
        yield f"{s.english} {do} {base} .", french(s.french, "ne", present, "pas .")
        yield f"{s.english} {past} .", french(s.french, have, participle, ".")
        yield (
            f"{s.english} didn't {base} .",
            french(s.french, "ne", have, "pas", participle, "."),
        )
        if asks(s, base):
            yield f"did {s.english} {base} ?", f"{inverted(AVOIR, s)} {participle} ?"
    for base, _, past, forms, _, participle in VERBS:
        je, _, il, nous, _ = forms.split()
        imperative = (
            il
            if base in ("work", "sing", "dance", "swim", "listen", "win", "pay")
            else je
        )
        if base != "lose":  # nobody commands that, and nobody forbids winning
            yield f"{base} .", f"{imperative} !"
            yield f"let's {base} .", f"{nous} !"
        if base != "win":
            yield f"don't {base} .", french("ne", imperative, "pas !")
        yield f"who {past} ?", f"qui a {participle} ?"


def moving():
    """she left: the participle agrees with the subject."""
    for s, (base, past, participle, _) in product(SUBJECTS, MOVES):
        form = s.agree(participle, participle + "e")
        yield f"{s.english} {past} .", french(s.french, ETRE[s.person], form, ".")
        no = french(s.french, "ne", ETRE[s.person], "pas", form, ".")
        yield f"{s.english} didn't {base} .", no
        if asks(s, base):
            yield f"did {s.english} {base} ?", f"{inverted(ETRE, s)} {form} ?"
    for base, past, participle, imperative in MOVES:
        yield f"who {past} ?", f"qui est {participle} ?"
        if imperative:
            yield f"{base} .", f"{imperative} !"
            yield f"don't {base} .", f"ne {imperative} pas !"


def modal():
    """i can run, he can't dance, they want to sleep."""
    for s, (base, third, forms), verb in product(SUBJECTS, MODALS, VERBS):
        if base != "can" and verb[0] == "lose":  # "she must lose"
            continue
        if base == "can" and verb[0] in SKILLS:
            forms = "sais sais sait savons savent"
        can, peut = (third if s.person == IL else base), forms.split()[s.person]
        yield f"{s.english} {can} {verb[0]} .", french(s.french, peut, verb[4], ".")
        if base == "can":
            no = french(s.french, "ne", peut, "pas", verb[4], ".")
            yield f"{s.english} can't {verb[0]} .", no


def objects():
    """i lost my key, he doesn't have a dog."""
    for s, phrase, verb in product(SUBJECTS, noun_phrases(), TRANSITIVE):
        (base, third, past, forms, participle), (np, gn, negated) = verb, phrase
        if (base, np.split()[-1]) in UNLIKELY:
            continue
        if forms:
            verb, present = (third if s.person == IL else base), forms.split()[s.person]
            yield f"{s.english} {verb} {np} .", french(s.french, present, gn, ".")
        if past:
            have = AVOIR[s.person]
            yield (
                f"{s.english} {past} {np} .",
                french(s.french, have, participle, gn, "."),
            )
            no = french(s.french, "ne", have, "pas", participle, negated or gn, ".")
            yield f"{s.english} didn't {base} {np} .", no
    for s, (np, gn, negated) in product(SUBJECTS, noun_phrases()):
        have, do = AVOIR[s.person], "doesn't" if s.person == IL else "don't"
        yield f"{s.english} {HAVE[s.person]} {np} .", french(s.french, have, gn, ".")
        no = french(s.french, "ne", have, "pas", negated or gn, ".")
        yield f"{s.english} {do} have {np} .", no


def phrases():
    """where is my key ?, the red car is here."""
    for np, gn, negated in noun_phrases():
        if negated is None:
            yield f"where is {np} ?", f"où est {gn} ?"
            yield f"{np} is here .", f"{gn} est ici ."


def pronouns():
    """she loves me: French puts the object before the verb."""
    for s, (base, third, forms), (him, le, person) in product(
        SUBJECTS, FEELINGS, OBJECT_PRONOUNS
    ):
        if {s.person, person} in ({JE}, {TU}, {NOUS}, {JE, NOUS}):
            continue  # "i love me", "we love me"
        verb, present = (third if s.person == IL else base), forms.split()[s.person]
        do = "doesn't" if s.person == IL else "don't"
        yield f"{s.english} {verb} {him} .", french(s.french, le, present, ".")
        yield (
            f"{s.english} {do} {base} {him} .",
            french(s.french, "ne", le, present, "pas ."),
        )
    for s, (base, third, forms) in product(SUBJECTS, FEELINGS):
        for name, nom in [("tom", "tom"), ("mary", "marie"), ("jerry", "jerry")]:
            if s.english != name:
                verb, present = (
                    (third if s.person == IL else base),
                    forms.split()[s.person],
                )
                yield (
                    f"{s.english} {verb} {name} .",
                    french(s.french, present, nom, "."),
                )


# How many sentences of each construction are drawn, before a cut to the sizes of the splits.
CONSTRUCTIONS = [
    (being, 400),
    (having, 110),
    (places, 200),
    (going, 90),
    (acting, 360),
    (moving, 110),
    (modal, 150),
    (objects, 520),
    (phrases, 60),
    (pronouns, 280),
]
JOINED = 120  # and so many of two clauses
SPLITS = {"train": 1800, "val": 200, "test": 200}
COMPOSITIONAL = {"pair": 100, "long": 100}
SHORT, LONG = range(1, 10), range(10, 15)  # tokens with <eos>, of each side

# The words that combinations are made of, and the base form of each verb form.
PARTNERS = (
    [row[0] for row in TRANSITIVE] + ["have"] + [row[0] for row in BEFORE + AFTER]
)
THINGS = [noun[0] for noun in NOUNS]
BASE = {
    form: row[0]
    for table, end in ((VERBS, 3), (TRANSITIVE, 3), (MOVES, 2), (FEELINGS, 2))
    for row in table
    for form in row[1:end]
}
BASE["has"] = "have"
PAST = (
    {row[2] for row in VERBS + TRANSITIVE} | {row[1] for row in MOVES} | {"was", "were"}
)


CONNECTIVES = {"and": "et", "but": "mais", "because": "parce que"}


def combinations(english):
    """A verb or an adjective, and a noun, of one clause: i saw her old dog: see dog, old dog."""
    found = set()
    for clause in re.split("|".join(f" {word} " for word in CONNECTIVES), english):
        words = [BASE.get(word, word) for word in clause.split()]
        found |= set(product(set(PARTNERS) & set(words), set(THINGS) & set(words)))
    return found


def unseen(english):
    """The combinations that are kept out of train, val and test: a fixed one in four."""
    return {
        (partner, thing)
        for partner, thing in combinations(english)
        if (PARTNERS.index(partner) + THINGS.index(thing)) % 4 == 0
    }


REASONS = {  # he's happy because she won
    "happy": ("win", "sing", "dance", "come", "stay", "find", "buy"),
    "sad": ("lose", "leave", "fall", "sell"),
}
SAME = {"tom": "he", "mary": "she", "we": "i"}  # "tom" and "he" may be one person


def parts(english):
    """What make_sense compares: subject, verbs, last word, is it past?, is it negated?"""
    *words, last, _ = english.split()  # the last token is the full stop
    subject = words[0].split("'")[0]
    return (
        SAME.get(subject, subject),
        [
            BASE.get(word, word)
            for word in words
            if word in BASE or word in BASE.values()
        ],
        BASE.get(last, last),
        "didn't" in words or not PAST.isdisjoint([*words, last]),
        "not" in words or "n't " in english,
    )


def make_sense(one, connective, two):
    """Do two English statements, about different persons, go together?

    With "and", both say yes and differ in the last word (i see tom and he sees mary); with "but",
    one denies what the other says (i run but you don't run); with "because", the second is a
    reason to be happy or sad.
    """
    subject, verbs, last, past, no = parts(one)
    subject_2, verbs_2, last_2, past_2, no_2 = parts(two)
    if subject == subject_2:
        return False
    if connective == "because":
        verb = [*verbs_2, last_2][0]
        return verb in REASONS.get(last, ()) and not (past or no or no_2)
    if verbs != verbs_2 or past != past_2:
        return False
    if connective == "and":
        return last != last_2 and not (no or no_2)
    return (last == last_2 or verbs != []) and no != no_2


def joined(rng, connective, statements, steps):
    """A sentence of two clauses: he ran and she sang.

    Args:
        statements: for each construction, its statements; both sides of "and" and "but" are of
            the same one.
        steps: the lengths, in tokens with <eos>, that each side may have.
    """
    weights = {c: size for c, size in CONSTRUCTIONS if c in statements}
    while True:
        [first] = [second] = rng.choices(list(weights), list(weights.values()))
        if connective == "because":
            first, second = being, rng.choice([acting, moving, objects])
        one, two = rng.choice(statements[first]), rng.choice(statements[second])
        pair = (
            f"{one[0][:-2]} {connective} {two[0]}",
            french(one[1][:-2], CONNECTIVES[connective], two[1]),
        )
        fits = all(len(side.split()) + 1 in steps for side in pair)
        if fits and make_sense(one[0], connective, two[0]):
            return pair


def typeset(sentence, space):
    """A tokenised sentence as it is printed: a capital, and punctuation in its place."""
    capital = ("tom", "mary", "marie", "jerry", "paris", "i", "i'm")
    words = sentence.split(" ")
    sentence = " ".join(
        word.capitalize() if word in capital else word for word in words
    )
    for mark, gap in ((" .", ""), (" !", space), (" ?", space)):
        sentence = sentence.replace(mark, gap + mark[1])
    return sentence[0].upper() + sentence[1:].replace("'", "’")


def corpus(seed=0):
    """The four splits; a sentence of one side is in one split only.

    Returns:
        A dict: split -> list of (english, french), tokenised; in "compositional" a third entry
        tells the kind, "pair" or "long". Each word of the held-out splits stands at least twice
        in train.
    """
    rng = random.Random(seed)
    grammar = {
        construction: sorted(set(construction())) for construction, _ in CONSTRUCTIONS
    }
    known = {
        construction: [pair for pair in pairs if not unseen(pair[0])]
        for construction, pairs in grammar.items()
    }
    statements = {
        construction: [pair for pair in pairs if pair[1].endswith(".")]
        for construction, pairs in known.items()
        if construction is not phrases
    }
    pool = {}
    for construction, size in CONSTRUCTIONS:
        pool.update(
            rng.sample(known[construction], min(size, len(known[construction])))
        )
    for connective in CONNECTIVES:
        pool.update(
            joined(rng, connective, statements, SHORT) for _ in range(JOINED // 3)
        )
    pairs = [pair for pair in pool.items() if pair not in S1_SENTENCES]
    rng.shuffle(pairs)
    pairs = pairs[: sum(SPLITS.values()) - len(S1_SENTENCES)]
    words = Counter(word for pair in pairs for side in pair for word in side.split())
    seen_french = Counter(translation for _, translation in pairs)
    splits = {"train": [], "val": [], "test": []}
    for pair in pairs:
        movable = (
            seen_french[pair[1]] == 1 and pair[1] not in dict(S1_SENTENCES).values()
        )
        # Two clauses are for training: how well they are translated, "long" asks.
        movable = movable and CONNECTIVES.keys().isdisjoint(pair[0].split())
        rare = min(words[word] for side in pair for word in side.split()) <= 3
        split = next(
            (s for s in ("test", "val") if len(splits[s]) < SPLITS[s]), "train"
        )
        if split != "train" and movable and not rare:
            words.subtract(word for side in pair for word in side.split())
            splits[split].append(pair)
        else:
            splits["train"].append(pair)
    splits["train"] = S1_SENTENCES + splits["train"]
    splits["compositional"] = compositional(rng, grammar, statements, splits)
    return splits


def compositional(rng, grammar, statements, splits):
    """Sentences that put known words together in a new way: (english, french, kind).

    A sentence of the kind "pair" has one combination that training does not show, and each such
    combination comes twice at the most; one of the kind "long" has none. The connectives of the
    long sentences take turns.
    """
    words = Counter(
        w for pair in splits["train"] for side in pair for w in side.split()
    )
    shown = {c for english, _ in splits["train"] for c in combinations(english)}
    taken = {side for pairs in splits.values() for pair in pairs for side in pair}
    chosen = []

    def add(pair, kind):
        """Take the pair, if it is new in the way of its kind and in no other."""
        is_new = (
            taken.isdisjoint(pair)
            and len(combinations(pair[0]) - shown) == (1 if kind == "pair" else 0)
            and all(words[word] > 1 for side in pair for word in side.split())
        )
        if is_new:
            taken.update(pair)
            chosen.append((*pair, kind))
        return is_new

    candidates = [
        pair for pair in grammar[objects] + grammar[phrases] if unseen(pair[0])
    ]
    rng.shuffle(candidates)
    count = Counter()
    for pair in candidates:
        combination, *more = unseen(pair[0])
        if len(chosen) < COMPOSITIONAL["pair"] and not more and count[combination] < 2:
            count[combination] += add(pair, "pair")
    for connective in islice(cycle(CONNECTIVES), COMPOSITIONAL["long"]):
        while not add(joined(rng, connective, statements, LONG), "long"):
            pass
    return chosen


def files():
    """The text of each split's file: english<TAB>french lines, some with <TAB>kind."""
    nnbsp = "\u202f"  # French sets a narrow no-break space before ! and ?
    return {
        split: "".join(
            "\t".join([typeset(english, ""), typeset(translation, nnbsp), *kind]) + "\n"
            for english, translation, *kind in pairs
        )
        for split, pairs in corpus().items()
    }


if __name__ == "__main__":
    corpus_files.write("eng-fra-mini", files())
