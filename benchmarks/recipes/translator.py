"""fra-eng-full: the translator of chapter 10 on all of fra-eng, with subwords."""

import random
import time
from collections import defaultdict

import sacrebleu
import torch

from benchmarks.recipes.common import commit, up_and_down
from d2lmini import Vocab, normalise, read_pairs, seq2seq_loss, try_gpu
from d2lmini.data import cut_padding
from d2lmini.data.buckets import buckets
from d2lmini.data.catalogue import REGISTRY
from d2lmini.data.pairs import with_a_gap
from d2lmini.data.subwords import Subwords, learn_merges
from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.translator import SubwordTranslator
from d2lmini.training import train_epoch

HELD_OUT = 1000  # English sentences in each of test and val
NUM_STEPS = 40  # one sentence in a thousand is longer
RECIPE = {"held_out": HELD_OUT, "num_steps": NUM_STEPS, "min_freq": 2, "beam_size": 4}
MARKS = tuple(".!?")
UNMARKED = 200  # test sentences that are translated again without their final mark
TRAINING = {
    "dropout": 0.1,
    "label_smoothing": 0.1,
    "batch_size": 128,
    "lr": 0.003,
    "warmup_steps": 800,
    "num_epochs": 12,
}
FULL = {
    "name": "fra-eng",
    "num_merges": 3880,
    "num_hiddens": 128,
    "ffn_num_hiddens": 512,
    "num_heads": 4,
    "num_layers": 2,
} | TRAINING
EXPERIMENTS = {
    # A quarter of the pairs lose their final marks: people leave them out, too.
    "fra-eng-full": [FULL | {"share_unmarked": 0.25}],
    # Once more with two threads, to measure the time (OMP_NUM_THREADS=2)
    "fra-eng-two-cores": [FULL],
}
RECIPES = dict.fromkeys(EXPERIMENTS, RECIPE)


def split_pairs(name):
    """Split -> English sentence -> its translations; sampled by English sentence.

    Sentences that differ by at most one word from one of test, or of val, are left out.
    """
    by_english = defaultdict(dict)  # a dict keeps the order and drops duplicates
    for english, french in read_pairs(name):
        by_english[normalise(english)][normalise(french)] = None
    english = [*by_english]
    random.Random(0).shuffle(english)
    parts = {
        "test": english[:HELD_OUT],
        "val": english[HELD_OUT : 2 * HELD_OUT],
        "train": english[2 * HELD_OUT :],
    }
    taken, splits = set(), {}
    for split, sentences in parts.items():
        kept = [s for s in sentences if taken.isdisjoint(with_a_gap(s))]
        splits[split] = {s: [*by_english[s]] for s in kept}
        taken |= set().union(*map(with_a_gap, kept))
    return splits


def unmarked(sentence):
    """Remove the mark at the end of a normalised sentence, if there is one."""
    words = sentence.split()
    return " ".join(words[:-1] if words[1:] and words[-1] in MARKS else words)


def unmark_some(pairs, share, seed):
    """Remove the final marks of both sentences in a share of the pairs, chosen at random."""
    generator = random.Random(seed)
    return [
        (unmarked(a), unmarked(b)) if generator.random() < share else (a, b)
        for a, b in pairs
    ]


def make_translator(pairs, num_merges, sizes):
    """Create a translator whose pieces are learned from both languages together."""
    sentences = [sentence for pair in pairs for sentence in pair]
    merges = learn_merges(sentences, num_merges)
    subwords = Subwords(merges)
    vocab = Vocab(
        [subwords.split(sentence) for sentence in sentences],
        min_freq=RECIPE["min_freq"],
    )
    tokens = vocab.idx_to_token[len(vocab.reserved) :]
    return SubwordTranslator(merges, tokens, sizes, NUM_STEPS)


def fit(
    translator,
    pairs,
    val,
    label_smoothing,
    batch_size,
    lr,
    warmup_steps,
    num_epochs,
    precision="float32",
):
    """Train on normalised pairs with a rate that falls to 0; return loss and BLEU on val by epoch.

    Args:
        val: source sentences, and a list of translations for each.
        precision: the dtype of matrix products. "bfloat16" takes little more than half the time
            on processors that support it; weights and loss stay in float32.
    """
    arrays = [
        *translator.encode([source for source, _ in pairs]),
        *translator.encode([target for _, target in pairs]),
    ]
    data = buckets(arrays, arrays[1] + arrays[3], batch_size, cut_padding)
    net, bos = translator.net, translator.vocab.bos
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    schedule = up_and_down(optimizer, warmup_steps, num_epochs * len(data))

    device, dtype = try_gpu(), getattr(torch, precision)

    def loss(net, batch):
        with torch.autocast(device.type, dtype, enabled=precision != "float32"):
            return seq2seq_loss(net, batch, bos, label_smoothing)

    curve = []
    for epoch in range(1, num_epochs + 1):
        nats, per_sec = train_epoch(
            net.train(), data, loss, optimizer, schedule, device
        )
        bleu = scores(translator.translate(val[0]), val[1])["bleu"]
        curve.append({"loss": round(nats, 4), "val_bleu": round(bleu, 2)})
        print(f"epoch {epoch}: {curve[-1]}, {per_sec:.0f} tokens/s", flush=True)
    return curve


def tested(translator, sentences, references, beam_size=RECIPE["beam_size"]):
    """Scores and translations by greedy and by beam search."""
    found = {}
    for key, size in (("greedy", None), ("beam", beam_size)):
        translations = translator.translate(sentences, size)
        found[key] = scores(translations, references)
        found[f"{key}_translations"] = translations
    return found


def scores(predictions, references):
    """BLEU with all references, BLEU with only the first, chrF, and their signatures."""
    most = max(map(len, references))
    every = [[r[i] if i < len(r) else None for r in references] for i in range(most)]
    metric, chrf = sacrebleu.BLEU(tokenize="none", force=True), sacrebleu.CHRF()
    found = {
        "bleu": metric.corpus_score(predictions, every).score,
        "chrf": chrf.corpus_score(predictions, every).score,
        "signature": str(metric.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
    }
    first = [[r[0] for r in references]]
    return found | {"bleu_first": metric.corpus_score(predictions, first).score}


def scores_of_first(found, references):
    """Scores of the first UNMARKED translations, the marks taken off them and their references.

    A mark is an easy token: left on, it would raise the score of whoever writes it.
    """
    references = [[*map(unmarked, french)] for french in references[:UNMARKED]]
    return {
        key: scores(
            [*map(unmarked, found[f"{key}_translations"][:UNMARKED])], references
        )
        for key in ("greedy", "beam")
    }


def run(seed, name, num_merges, num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout,
        share_unmarked=0.0, **training):  # fmt: skip
    """Train once and test once; return the results, and save the weights to results/."""
    splits, start = split_pairs(name), time.perf_counter()
    val, test = (([*splits[s]], [*splits[s].values()]) for s in ("val", "test"))
    pairs = [(e, f) for e, french in splits["train"].items() for f in french]
    torch.manual_seed(seed)
    sizes = num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
    translator = make_translator(pairs, num_merges, sizes)
    pairs = unmark_some(pairs, share_unmarked, seed)
    found = {
        "parameters": sum(p.numel() for p in translator.net.parameters()),
        "train_pairs": len(pairs),
        "train_sentences": len(splits["train"]),
        "val_sentences": len(splits["val"]),
        "curve": fit(translator, pairs, val, **training),
        "seconds": time.perf_counter() - start,
    }
    path, licence = RESULTS / f"fra-eng-full-{seed}.safetensors", REGISTRY[name].licence
    training |= {"share_unmarked": share_unmarked}
    translator.save(path, data=licence, training=training, seed=seed, commit=commit())
    found |= tested(translator, *test)
    # To compare with those read without marks
    found["marked"] = scores_of_first(found, test[1])
    sources = [unmarked(sentence) for sentence in test[0][:UNMARKED]]
    references = [[*map(unmarked, french)] for french in test[1][:UNMARKED]]
    return found | {"unmarked": tested(translator, sources, references)}
