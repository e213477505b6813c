"""The grammar of eng-fra-mini: short English sentences, each with one French translation.

Conventions that make translations unique: the speaker is a man, "you" is one friend (tu), "we" and
"they" are men (nous, ils); a simple past becomes a passé composé (il a couru), "was" an imperfect
(il était); a command ends in "!"; a learned skill takes "savoir" (il sait nager).

The fourth split, compositional, tests more than training words in slightly different sentences:
pairs of words that never occur together in training (see `unseen`), and sentences of two clauses
that are longer than any training sentence (see `joined`).
"""

import random
import re
from collections import Counter
from itertools import cycle, islice, product
from typing import NamedTuple

from tools.corpora.corpus_files import rows, typeset, write

# Verb forms are in the order je, tu, il or elle, nous, ils.
JE, TU, IL, NOUS, ILS = range(5)
ETRE = ["suis", "es", "est", "sommes", "sont"]
ETAIT = ["étais", "étais", "était", "étions", "étaient"]
AVOIR = ["ai", "as", "a", "avons", "ont"]
ALLER = ["vais", "vas", "va", "allons", "vont"]
BE = ["am", "are", "is", "are", "are"]
WAS = ["was", "were", "was", "were", "were"]
HAVE = ["have", "have", "has", "have", "have"]

VOWELS = "aeiouéèêàâîôh"  # every h in this lexicon is mute
ELISION = re.compile(rf"(?<!\S)(je|ne|le|la|de|me|te|que) (?=[{VOWELS}])")


def french(*parts):
    """Join words and elide: je ai -> j’ai, le arbre -> l’arbre."""
    text = " ".join(" ".join(parts).split())
    return ELISION.sub(lambda word: word[1][:-1] + "’", text)


class Subject(NamedTuple):
    """A subject in both languages, and the words that agree with it."""

    english: str
    be: str  # "i'm", "tom is"
    french: str
    person: int
    gender: str  # "m" or "f"
    disjunctive: str  # chez moi

    @property
    def not_be(self):
        return self.be + ("n't" if self.be.endswith(" is") else " not")

    @property
    def do_not(self):
        return self.verb("don't", "doesn't")

    @property
    def is_pronoun(self):
        return self.french in ("je", "tu", "il", "elle", "nous", "ils")

    def verb(self, base, third):
        """The English present tense."""
        return third if self.person == IL else base

    def agree(self, masculine, feminine, plural=None):
        """The form of an adjective or participle for this subject."""
        if self.person in (NOUS, ILS):
            return plural or masculine + "s"
        return feminine if self.gender == "f" else masculine

    def affirms(self, *parts):
        """A French statement."""
        return french(self.french, *parts, ".")

    def denies(self, verb, *parts):
        """A French statement, negated."""
        return french(self.french, "ne", verb, "pas", *parts, ".")


SUBJECTS = [
    Subject("i", "i'm", "je", JE, "m", "moi"), Subject("you", "you're", "tu", TU, "m", "toi"),
    Subject("he", "he's", "il", IL, "m", "lui"), Subject("she", "she's", "elle", IL, "f", "elle"),
    Subject("we", "we're", "nous", NOUS, "m", "nous"),
    Subject("they", "they're", "ils", ILS, "m", "eux"),
    Subject("tom", "tom is", "tom", IL, "m", "lui"),
    Subject("mary", "mary is", "marie", IL, "f", "elle"),
]  # fmt: skip

# English, masculine, feminine, masculine plural
ADJECTIVES = rows("""
    calm/calme/calme/calmes, sad/triste/triste/tristes, rich/riche/riche/riches,
    sick/malade/malade/malades, young/jeune/jeune/jeunes, happy/heureux/heureuse/heureux,
    lazy/paresseux/paresseuse/paresseux, strong/fort/forte/forts, tall/grand/grande/grands,
    tired/fatigué/fatiguée/fatigués, busy/occupé/occupée/occupés, ready/prêt/prête/prêts,
    alone/seul/seule/seuls, kind/gentil/gentille/gentils
""")
NOT_VERY = ("ready", "alone")
COMMANDS = ("calm", "happy", "strong", "ready", "kind")  # but nobody says "be tall"
WARNINGS = ("sad", "lazy")  # "don't be sad"
WHYS = ("calm", "sad", "sick", "happy", "tired", "busy", "alone")  # "why are you sad"
# Questions people ask about themselves: "am i late", "did we win", but not "did i swim"
ABOUT_ONESELF = ("ready", "alone", "late", "right", "wrong", "win", "lose", "pay")
# English says "to be", French "to have"
STATES = rows(
    "hungry/faim, thirsty/soif, cold/froid, right/raison, wrong/tort, afraid/peur"
)
PLACES = rows("""
    here/ici, outside/dehors, late/en retard, in bed/au lit, at work/au travail,
    at school/à l’école, in paris/à paris, in the car/dans la voiture, in the house/dans la maison
""")
WITH = rows("me/moi, you/toi, him/lui, her/elle, us/nous, them/eux")
DESTINATIONS = rows("""
    to bed/au lit, to work/au travail, to school/à l’école, to paris/à paris, outside/dehors
""")
# English, third person, past; French present, infinitive, participle
VERBS = rows("""
    run/runs/ran/cours cours court courons courent/courir/couru,
    sleep/sleeps/slept/dors dors dort dormons dorment/dormir/dormi,
    laugh/laughs/laughed/ris ris rit rions rient/rire/ri,
    wait/waits/waited/attends attends attend attendons attendent/attendre/attendu,
    work/works/worked/travaille travailles travaille travaillons travaillent/travailler/travaillé,
    sing/sings/sang/chante chantes chante chantons chantent/chanter/chanté,
    dance/dances/danced/danse danses danse dansons dansent/danser/dansé,
    swim/swims/swam/nage nages nage nageons nagent/nager/nagé,
    listen/listens/listened/écoute écoutes écoute écoutons écoutent/écouter/écouté,
    win/wins/won/gagne gagnes gagne gagnons gagnent/gagner/gagné,
    lose/loses/lost/perds perds perd perdons perdent/perdre/perdu,
    pay/pays/paid/paie paies paie payons paient/payer/payé
""")
IMPERATIVE_OF_IL = ("work", "sing", "dance", "swim", "listen", "win", "pay")
SKILLS = ("sing", "dance", "swim")  # i can swim: je sais nager
# English, past, participle, imperative; these take être, and the participle agrees.
MOVES = rows("""
    leave/left/parti/pars, fall/fell/tombé/, arrive/arrived/arrivé/, stay/stayed/resté/reste,
    come/came/venu/viens
""")
# English, third person, past; French present, participle. A tense that is left out is not used:
# nobody says "he loses my key".
TRANSITIVE = rows("""
    see/sees/saw/vois vois voit voyons voient/vu, find//found//trouvé,
    buy/buys/bought/achète achètes achète achetons achètent/acheté,
    sell/sells/sold/vends vends vend vendons vendent/vendu,
    draw/draws/drew/dessine dessines dessine dessinons dessinent/dessiné,
    lose//lost//perdu, want/wants//veux veux veut voulons veulent/
""")
UNLIKELY = rows("lose/tree, lose/house, buy/letter, sell/letter, draw/letter")
# English, third person, French present; the object can be a person.
FEELINGS = rows("""
    see/sees/vois vois voit voyons voient, love/loves/aime aimes aime aimons aiment,
    know/knows/connais connais connaît connaissons connaissent,
    chase/chases/poursuis poursuis poursuit poursuivons poursuivent,
    help/helps/aide aides aide aidons aident
""")
MODALS = rows("""
    can/can/peux peux peut pouvons peuvent, must/must/dois dois doit devons doivent,
    want to/wants to/veux veux veut voulons veulent
""")
# English, French, gender, the colours that it can have
NOUNS = rows("""
    dog/chien/m/black white, cat/chat/m/black white, book/livre/m/black white red green,
    hat/chapeau/m/black white red green, boat/bateau/m/black white red green,
    horse/cheval/m/black white, bird/oiseau/m/black white red green, tree/arbre/m/green,
    car/voiture/f/black white red green, house/maison/f/black white red green,
    key/clé/f/black white red green, letter/lettre/f/white red, flower/fleur/f/white red,
    shirt/chemise/f/black white red green
""")
# English, masculine, feminine
DETERMINERS = rows("""
    the/le/la, a/un/une, my/mon/ma, your/ton/ta, his/son/sa, her/son/sa, our/notre/notre
""")
# Adjectives before their noun: English, masculine, masculine before a vowel, feminine
BEFORE = rows("""
    big/grand/grand/grande, small/petit/petit/petite, old/vieux/vieil/vieille,
    beautiful/beau/bel/belle
""")
# Adjectives after their noun: English, masculine, feminine
AFTER = rows("black/noir/noire, white/blanc/blanche, red/rouge/rouge, green/vert/verte")
# English, French, the person of the French pronoun
OBJECT_PRONOUNS = [("me", "me", JE), ("you", "te", TU), ("him", "le", IL), ("her", "la", IL),
                   ("us", "nous", NOUS), ("them", "les", ILS)]  # fmt: skip
S1_SENTENCES = rows("""
    go ./va !, i lost ./j’ai perdu ., he's calm ./il est calme ., i'm home ./je suis chez moi .
""")


def noun_phrases():
    """(english, french, indefinite french after a negation or None)."""
    for (det, det_m, det_f), row in product(DETERMINERS, NOUNS):
        noun, nom, gender, colours = row
        phrases = [(noun, nom)]
        for adj, masculine, before_vowel, feminine in BEFORE:
            masculine = before_vowel if nom[0] in VOWELS else masculine
            form = feminine if gender == "f" else masculine
            phrases.append((f"{adj} {noun}", f"{form} {nom}"))
        for adj, masculine, feminine in AFTER:
            if adj in colours.split():
                form = feminine if gender == "f" else masculine
                phrases.append((f"{adj} {noun}", f"{nom} {form}"))
        le = det_m if gender == "m" else det_f
        for english, gn in phrases:
            an = "an" if det == "a" and english[0] in "aeiou" else det
            negated = french("de", gn) if det == "a" else None
            yield f"{an} {english}", french(le, gn), negated


def inverted(forms, subject):
    """Verb and pronoun inverted for a question: es-tu, a-t-elle; tom est-il."""
    verb = forms[subject.person]
    joint = "-t-" if verb[-1] in "ae" else "-"
    if subject.is_pronoun:
        return f"{verb}{joint}{subject.french}"
    pronoun = "elle" if subject.gender == "f" else "il"
    return f"{subject.french} {verb}{joint}{pronoun}"


def asks(subject, about):
    """Whether one would ask this about the subject: nobody asks "am i tall ?"."""
    return subject.person not in (JE, NOUS) or about in ABOUT_ONESELF


def being():
    """i'm calm, she was calm, are you calm ?"""
    for s, (adj, m, f, plural) in product(SUBJECTS, ADJECTIVES):
        form, suis, was = s.agree(m, f, plural), ETRE[s.person], WAS[s.person]
        yield f"{s.be} {adj} .", s.affirms(suis, form)
        if adj not in NOT_VERY:
            yield f"{s.be} very {adj} .", s.affirms(suis, "très", form)
        yield f"{s.not_be} {adj} .", s.denies(suis, form)
        yield f"{s.english} {was} {adj} .", s.affirms(ETAIT[s.person], form)
        if asks(s, adj):
            yield f"{BE[s.person]} {s.english} {adj} ?", f"{inverted(ETRE, s)} {form} ?"
            yield f"{was} {s.english} {adj} ?", f"{inverted(ETAIT, s)} {form} ?"
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
        yield f"{s.be} {state} .", s.affirms(AVOIR[s.person], noun)
        yield f"{s.not_be} {state} .", s.denies(AVOIR[s.person], noun)
        if asks(s, state):
            question = f"{BE[s.person]} {s.english} {state} ?"
            yield question, f"{inverted(AVOIR, s)} {noun} ?"


def places():
    """she's in bed, where is tom ?"""
    for s in SUBJECTS:
        suis, is_he = ETRE[s.person], f"{BE[s.person]} {s.english}"
        for place, lieu in [*PLACES, ("home", f"chez {s.disjunctive}")]:
            yield f"{s.be} {place} .", s.affirms(suis, lieu)
            if place != "here" or s.person not in (JE, NOUS):  # "i'm not here"
                yield f"{s.not_be} {place} .", s.denies(suis, lieu)
            if asks(s, place):
                yield f"{is_he} {place} ?", f"{inverted(ETRE, s)} {lieu} ?"
        for them, eux in WITH:
            if {s.disjunctive, eux} not in ({"moi", "nous"}, {eux}):  # "we're with me"
                yield f"{s.be} with {them} .", s.affirms(suis, "avec", eux)
        where = inverted(ETRE, s) if s.is_pronoun else f"est {s.french}"
        yield f"where {is_he} ?", f"où {where} ?"
    yield "don't be late .", "ne sois pas en retard !"


def going():
    """he goes to bed, don't go to school"""
    for s, (place, lieu) in product(SUBJECTS, DESTINATIONS):
        goes, va = s.verb("go", "goes"), ALLER[s.person]
        yield f"{s.english} {goes} {place} .", s.affirms(va, lieu)
        yield f"{s.english} {s.do_not} go {place} .", s.denies(va, lieu)
    for place, lieu in DESTINATIONS:
        yield f"go {place} .", f"va {lieu} !"
        yield f"don't go {place} .", f"ne va pas {lieu} !"
        yield f"let's go {place} .", f"allons {lieu} !"
    # Without a place French says "y", or another verb; "va !" is the source chapter's.
    yield from rows("go ./va !, don't go ./ne pars pas !, let's go ./allons-y !")


def acting():
    """he runs, we don't sing, did you sleep ?, sing !"""
    for s, (base, third, past, forms, _, participle) in product(SUBJECTS, VERBS):
        verb, present = s.verb(base, third), forms.split()[s.person]
        have = AVOIR[s.person]
        yield f"{s.english} {verb} .", s.affirms(present)
        yield f"{s.english} {s.do_not} {base} .", s.denies(present)
        yield f"{s.english} {past} .", s.affirms(have, participle)
        yield f"{s.english} didn't {base} .", s.denies(have, participle)
        if asks(s, base):
            yield f"did {s.english} {base} ?", f"{inverted(AVOIR, s)} {participle} ?"
    for base, _, past, forms, _, participle in VERBS:
        je, _, il, nous, _ = forms.split()
        imperative = il if base in IMPERATIVE_OF_IL else je
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
        yield f"{s.english} {past} .", s.affirms(ETRE[s.person], form)
        yield f"{s.english} didn't {base} .", s.denies(ETRE[s.person], form)
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
        peut = forms.split()[s.person]
        yield f"{s.english} {s.verb(base, third)} {verb[0]} .", s.affirms(peut, verb[4])
        if base == "can":
            yield f"{s.english} can't {verb[0]} .", s.denies(peut, verb[4])


def objects():
    """i lost my key, he doesn't have a dog."""
    for s, phrase, verb in product(SUBJECTS, noun_phrases(), TRANSITIVE):
        (base, third, past, forms, participle), (np, gn, negated) = verb, phrase
        if (base, np.split()[-1]) in UNLIKELY:
            continue
        if forms:
            sees, present = s.verb(base, third), forms.split()[s.person]
            yield f"{s.english} {sees} {np} .", s.affirms(present, gn)
        if past:
            have, de = AVOIR[s.person], negated or gn
            yield f"{s.english} {past} {np} .", s.affirms(have, participle, gn)
            yield f"{s.english} didn't {base} {np} .", s.denies(have, participle, de)
    for s, (np, gn, negated) in product(SUBJECTS, noun_phrases()):
        have, de = AVOIR[s.person], negated or gn
        yield f"{s.english} {HAVE[s.person]} {np} .", s.affirms(have, gn)
        yield f"{s.english} {s.do_not} have {np} .", s.denies(have, de)


def phrases():
    """where is my key ?, the red car is here."""
    for np, gn, negated in noun_phrases():
        if negated is None:
            yield f"where is {np} ?", f"où est {gn} ?"
            yield f"{np} is here .", f"{gn} est ici ."


def pronouns():
    """she loves me: French puts the object before the verb."""
    for s, (base, third, forms) in product(SUBJECTS, FEELINGS):
        sees, present = s.verb(base, third), forms.split()[s.person]
        for him, le, person in OBJECT_PRONOUNS:
            if {s.person, person} in ({JE}, {TU}, {NOUS}, {JE, NOUS}):
                continue  # "i love me", "we love me"
            yield f"{s.english} {sees} {him} .", s.affirms(le, present)
            yield f"{s.english} {s.do_not} {base} {him} .", s.denies(f"{le} {present}")
        for name, nom in rows("tom/tom, mary/marie, jerry/jerry"):
            if s.english != name:
                yield f"{s.english} {sees} {name} .", s.affirms(present, nom)


# Number of sentences drawn from each construction, before the cut to the sizes of the splits
CONSTRUCTIONS = [(being, 400), (having, 110), (places, 200), (going, 90), (acting, 360),
                 (moving, 110), (modal, 150), (objects, 520), (phrases, 60),
                 (pronouns, 280)]  # fmt: skip
JOINED = 120  # sentences of two clauses
SPLITS = {"train": 1800, "val": 200, "test": 200}
COMPOSITIONAL = {"pair": 100, "long": 100}
SHORT, LONG = range(1, 10), range(10, 15)  # tokens on each side, with <eos>

# The words of combinations, and the base form of each verb form
PARTNERS = [row[0] for row in [*TRANSITIVE, ("have",), *BEFORE, *AFTER]]
THINGS = [noun[0] for noun in NOUNS]
TENSES = [row[:3] for row in VERBS + TRANSITIVE] + [row[:2] for row in MOVES + FEELINGS]
BASE = {form: base for base, *forms in TENSES for form in forms} | {"has": "have"}
PAST = {*WAS, *(row[2] for row in VERBS + TRANSITIVE), *(row[1] for row in MOVES)}
CONNECTIVES = {"and": "et", "but": "mais", "because": "parce que"}


def combinations(english):
    """Pairs of verb or adjective and a noun in one clause; i saw her old dog: see dog, old dog."""
    found = set()
    for clause in re.split("|".join(f" {word} " for word in CONNECTIVES), english):
        words = [BASE.get(word, word) for word in clause.split()]
        found |= set(product(set(PARTNERS) & set(words), set(THINGS) & set(words)))
    return found


def unseen(english):
    """The combinations kept out of train, val and test: a fixed quarter of all."""
    found = combinations(english)
    return {(p, t) for p, t in found if (PARTNERS.index(p) + THINGS.index(t)) % 4 == 0}


REASONS = {  # he's happy because she won
    "happy": ("win", "sing", "dance", "come", "stay", "find", "buy"),
    "sad": ("lose", "leave", "fall", "sell"),
}
SAME = {"tom": "he", "mary": "she", "we": "i"}  # "tom" and "he" may be one person


def parts(english):
    """The features that make_sense compares: subject, verbs, last word, is past, is negated."""
    *words, last, _ = english.split()  # the last token is the full stop
    subject = words[0].split("'")[0]
    base = [BASE.get(word, word) for word in words]
    verbs = [verb for verb in base if verb in BASE.values()]
    is_past = "didn't" in words or not PAST.isdisjoint([*words, last])
    is_negated = "not" in words or "n't " in english
    return SAME.get(subject, subject), verbs, BASE.get(last, last), is_past, is_negated


def make_sense(one, connective, two):
    """Whether two English statements, about different people, make sense together.

    With "and", both are positive and differ in the last word (i see tom and he sees mary); with
    "but", one negates the other (i run but you don't run); with "because", the second is a reason
    to be happy or sad.
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
        statements: the statements of each construction; both sides of "and" and "but" come from
            the same one.
        steps: the allowed lengths of each side, in tokens with <eos>.
    """
    weights = {c: size for c, size in CONSTRUCTIONS if c in statements}
    while True:
        [first] = [second] = rng.choices(list(weights), list(weights.values()))
        if connective == "because":
            first, second = being, rng.choice([acting, moving, objects])
        one, two = rng.choice(statements[first]), rng.choice(statements[second])
        english = f"{one[0][:-2]} {connective} {two[0]}"
        translation = french(one[1][:-2], CONNECTIVES[connective], two[1])
        fits = all(len(side.split()) + 1 in steps for side in (english, translation))
        if fits and make_sense(one[0], connective, two[0]):
            return english, translation


def corpus(seed=0):
    """The four splits; each sentence, in either language, is in only one of them.

    Returns:
        A dict: split -> list of (english, french), tokenised; in "compositional" a third entry
        is the kind, "pair" or "long". Each word of the held-out splits occurs at least twice in
        train.
    """
    rng = random.Random(seed)
    grammar, statements, pool = {}, {}, {}
    for construction, size in CONSTRUCTIONS:
        grammar[construction] = sorted(set(construction()))
        known = [pair for pair in grammar[construction] if not unseen(pair[0])]
        pool.update(rng.sample(known, min(size, len(known))))
        if construction is not phrases:
            statements[construction] = [p for p in known if p[1].endswith(".")]
    for connective in CONNECTIVES:
        for _ in range(JOINED // 3):
            pool.update([joined(rng, connective, statements, SHORT)])
    pairs = [pair for pair in pool.items() if pair not in S1_SENTENCES]
    rng.shuffle(pairs)
    pairs = pairs[: sum(SPLITS.values()) - len(S1_SENTENCES)]
    words = Counter(" ".join(map(" ".join, pairs)).split())
    seen_french = Counter(translation for _, translation in pairs)
    known_french = dict(S1_SENTENCES).values()
    splits = {"train": [], "val": [], "test": []}
    for pair in pairs:
        is_unique = seen_french[pair[1]] == 1 and pair[1] not in known_french
        # Two clauses are for training; "long" tests how well they are translated.
        is_one_clause = CONNECTIVES.keys().isdisjoint(pair[0].split())
        tokens = [word for side in pair for word in side.split()]
        open_splits = [s for s in ("test", "val") if len(splits[s]) < SPLITS[s]]
        is_common = min(words[token] for token in tokens) > 3
        if open_splits and is_unique and is_one_clause and is_common:
            words.subtract(tokens)
            splits[open_splits[0]].append(pair)
        else:
            splits["train"].append(pair)
    splits["train"] = S1_SENTENCES + splits["train"]
    splits["compositional"] = compositional(rng, grammar, statements, splits)
    return splits


def compositional(rng, grammar, statements, splits):
    """Sentences that combine known words in a new way: (english, french, kind).

    A sentence of kind "pair" has one combination that is not in training, and each such combination
    occurs at most twice; one of kind "long" has none. The long sentences cycle through the
    connectives.
    """
    words = Counter(" ".join(map(" ".join, splits["train"])).split())
    shown = {c for english, _ in splits["train"] for c in combinations(english)}
    taken = {side for pairs in splits.values() for pair in pairs for side in pair}
    chosen = []

    def add(pair, kind):
        """Add the pair if it is new in the way of its kind only; return whether it is."""
        new = combinations(pair[0]) - shown
        is_known = all(words[word] > 1 for side in pair for word in side.split())
        fits = len(new) == (1 if kind == "pair" else 0) and is_known
        if is_new := fits and taken.isdisjoint(pair):
            taken.update(pair)
            chosen.append((*pair, kind))
        return is_new

    candidates = [p for p in grammar[objects] + grammar[phrases] if unseen(p[0])]
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
    names, texts = ("tom", "mary", "marie", "jerry", "paris", "i"), {}
    for split, pairs in corpus().items():
        texts[split] = ""
        for english, translation, *kind in pairs:
            # French sets a narrow no-break space before ! and ?
            translation = re.sub(" (?=[!?])", "\u202f", translation)
            sides = [typeset(side, names) for side in (english, translation)]
            texts[split] += "\t".join([*sides, *kind]).replace("'", "’") + "\n"
    return texts


if __name__ == "__main__":
    write("eng-fra-mini", files())
