"""Runs of chapter 12: the book's own reviews, and SST-2 with the models that it describes.

python -m benchmarks.recipes.sentiment saves the reader with which the chapter begins.
"""

import math
import random
import zlib

import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from torch import nn
from torch.nn import functional as F

from benchmarks.recipes.common import save_nets, up_and_down
from d2lmini import (
    EncoderStack,
    PositionalEncoding,
    TransformerEncoder,
    Vocab,
    encode,
    evaluate,
    masked_softmax,
    normalise,
    padding_mask,
    train,
    try_gpu,
)
from d2lmini.data import label_batches, read_labelled
from d2lmini.data.buckets import buckets
from d2lmini.data.labelled import cut_texts
from d2lmini.tasks.classification import (
    AttentionPooling,
    Classifier,
    classification_accuracy,
    classification_loss,
)
from d2lmini.training import train_epoch

SPLITS = "train", "val", "test"
NUM_STEPS = 60  # the longest sentence of SST-2 has 53 tokens

RIVALS = ["averaged words", "bag of words", "GRU", "Transformer"]
ORDER_BLIND = "order-blind network"  # a mean of word vectors, then a hidden layer
SLIPS = [  # mistakes of the source, one at a time
    "mask on the queries",
    "mask of the unsorted batch",
    "padding in the pooling",
    "output matrix never trained",
    "dropout while testing",
]
CHAPTER = {  # as in chapter 12
    "num_hiddens": 32,
    "dropout": 0.1,
    "std": 1.0,
    "batch_size": 64,
    "training": {"lr": 0.005, "num_epochs": 40, "warmup_steps": 200},
}
LARGER = {
    "num_hiddens": 64,
    "dropout": 0.5,
    "std": 0.1,
    "batch_size": 64,
    "training": {"lr": 0.002, "num_epochs": 20, "warmup_steps": 200, "keep_best": True},
}
LETTERS = {
    "sizes": [64, 128, 4, 0.3],
    "num_runs": 20_000,  # rows of the table; letter n-grams share them by checksum
    "hidden": 0.5,  # share of the words hidden in training
    "batch_size": 64,
    "lr": 1e-3,
    "weight_decay": 0.2,
    "warmup_steps": 200,
    "num_epochs": 12,
}
COUNTS = {"C": [1, 4, 16], "words": [1, 2], "letters": [2, 5]}  # lengths of n-grams
TUTORIAL = {  # as in the source
    "num_hiddens": 256,
    "heads": [2, 4],
    "dropout": 0.5,
    "uniform": 0.1,
    "batch_size": 256,
    "num_epochs": 30,
}
RECIPES = {
    "reviews-mini": CHAPTER,
    "sst2": {
        "rivals": LARGER,
        "letters": LETTERS,
        "source": TUTORIAL,
        "counts": COUNTS,
    },
}
EXPERIMENTS = {
    "reviews-mini": [
        {"name": "reviews-mini", "model": model}
        for model in [*RIVALS, "source", ORDER_BLIND]
    ],
    "sst2": [
        {"name": "sst2", "model": model}
        for model in [
            *RIVALS,
            "TF-IDF, logistic regression",
            "TF-IDF with letters",
            "Transformer with letters",
            "five of them",
            "letters without attention",
            "TF-IDF with letters, words hidden",
        ]
    ]
    + [{"name": "sst2", "model": "source", "slips": SLIPS}]
    + [
        {"name": "sst2", "model": "source", "pooling": pooling, "positions": positions}
        for pooling, positions in [
            ("softmax", False),
            ("mean", False),
            ("both", False),
            ("softmax", True),
        ]
    ]
    + [{"name": "sst2", "model": "source", "slips": [slip]} for slip in SLIPS],
}


class Mean(nn.Module):
    """The mean over the real positions. Shapes: as for AttentionPooling."""

    def forward(self, X, mask):
        weights = mask / mask.sum(dim=-1, keepdim=True)  # (batch, 1, steps)
        return (weights @ X)[:, 0]


class WordsAlone(nn.Module):
    """An encoder whose positions see only their own word."""

    def __init__(self, vocab_size, num_hiddens, std):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        nn.init.normal_(self.embedding.weight, std=std)

    def forward(self, tokens, valid_lens):
        return self.embedding(tokens)


class OneAfterTheOther(nn.Module):
    """A GRU, whose positions see their own word and earlier ones."""

    def __init__(self, vocab_size, num_hiddens, std):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        nn.init.normal_(self.embedding.weight, std=std)
        self.gru = nn.GRU(num_hiddens, num_hiddens, batch_first=True)

    def forward(self, tokens, valid_lens):
        return self.gru(self.embedding(tokens))[0]


class LetterReader(nn.Module):
    """The classifier of chapter 12 with embeddings that also use the letters of words.

    A word's vector is its own plus those of its n-grams of 3 to 5 letters, so that an unknown word
    resembles known words with a similar spelling (Bojanowski et al. 2017). In training, every
    word is hidden with probability one half, from attention and from pooling.

    Args:
        words: all possible words, by id. For words not in a training text, only the letters count.
        is_known: (words,), whether the word occurs in a training text.
        attends: whether there are positions and an encoder block; without them, word vectors are
            pooled as they are.
    """

    num_runs = LETTERS["num_runs"]

    def __init__(
        self, words, is_known, num_hiddens, ffn_num_hiddens, num_heads, dropout,
        attends=True,
    ):  # fmt: skip
        super().__init__()
        self.words = nn.Embedding(len(words), num_hiddens)
        self.runs = nn.EmbeddingBag(
            self.num_runs, num_hiddens, mode="sum", padding_idx=0
        )
        for table in (self.words, self.runs):
            nn.init.normal_(table.weight, std=0.1)
        with torch.no_grad():
            self.runs.weight[0] = 0
        self.register_buffer("is_known", is_known.float())
        self.register_buffer("runs_of", runs_of_letters(words, self.num_runs))
        self.positions = PositionalEncoding(num_hiddens, dropout)
        self.stack = EncoderStack(num_hiddens, ffn_num_hiddens, num_heads, 1, dropout)
        self.attends = attends
        self.pooling = AttentionPooling(num_hiddens)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(num_hiddens, 2)

    def embed(self, tokens):
        different, places = tokens.unique(return_inverse=True)
        own = self.words(different) * self.is_known[different, None]
        runs = self.runs_of[different]  # (words, runs)
        spelt = (
            self.runs(runs) / (runs > 0).sum(dim=1, keepdim=True).clamp(min=1).sqrt()
        )
        return (own + spelt)[places]  # (batch, steps, num_hiddens)

    def forward(self, tokens, valid_lens):
        mask = padding_mask(valid_lens, tokens.shape[1])  # (batch, 1, 1, steps)
        if self.training:
            mask = mask & (
                torch.rand(mask.shape, device=mask.device) < 1 - LETTERS["hidden"]
            )
        X = self.embed(tokens)
        if self.attends:
            X = self.stack(self.positions(X), mask)
        return self.output(self.dropout(self.pooling(X, mask[:, 0])))


def runs_of_letters(words, num_runs):
    """The rows of the n-gram table for each word, (words, longest), padded with 0."""
    rows = []
    for word in words:
        spelt = f"<{word}>"
        runs = [spelt[i : i + n] for n in (3, 4, 5) for i in range(len(spelt) - n + 1)]
        rows.append(
            torch.tensor([1 + zlib.crc32(r.encode()) % (num_runs - 1) for r in runs])
        )
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


class Source(nn.Module):
    """The classifier of the book's source: one attention, pooled by its sums over features.

    The mean over the text, weighted by the softmax of the attention outputs summed over features,
    or unweighted, or the sum of both, goes to one output. The slips are those of the printed
    program; without them, it does what was meant.
    """

    def __init__(self, vocab_size, pooling, positions, slips):
        super().__init__()
        self.pooling, self.slips = pooling, slips
        width, dropout, limit = (
            TUTORIAL[key] for key in ("num_hiddens", "dropout", "uniform")
        )
        self.heads, self.head_size = TUTORIAL["heads"]
        inner = self.heads * self.head_size
        self.embedding = nn.Embedding(vocab_size, width)
        nn.init.uniform_(self.embedding.weight, -limit, limit)
        self.positions = PositionalEncoding(width, dropout) if positions else None
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(width, 3 * inner)  # queries, keys, values
        self.W_o = nn.Linear(inner, width)
        self.output = nn.Linear(width, 1)

    def forward(self, tokens, valid_lens):
        real = padding_mask(valid_lens, tokens.shape[1])[:, 0, 0]  # (batch, steps)
        X = self.embedding(tokens)
        X = self.dropout(X if self.positions is None else self.positions(X))
        heads = self.project(X).unflatten(-1, (3, self.heads, self.head_size))
        Q, K, V = heads.permute(2, 0, 3, 1, 4)  # (batch, heads, steps, head_size)
        scores = Q @ K.mT / math.sqrt(self.head_size)
        if "mask on the queries" in self.slips:
            weights = scores.masked_fill(~real[:, None, :, None], -1e9).softmax(dim=-1)
        else:
            weights = masked_softmax(scores, real[:, None, None])
        Z = (weights @ V).transpose(1, 2).flatten(2)  # (batch, steps, 8)
        if "output matrix never trained" in self.slips:
            self.W_o.reset_parameters()
            Z = F.linear(Z, self.W_o.weight.detach(), self.W_o.bias.detach())
        else:
            Z = self.W_o(Z)
        sums = Z.sum(dim=-1)  # (batch, steps)
        everywhere = torch.ones_like(real)
        mask = everywhere if "padding in the pooling" in self.slips else real
        pooled = 0
        if self.pooling in ("softmax", "both"):
            pooled = (masked_softmax(sums, mask)[:, None] @ X)[:, 0]
        if self.pooling in ("mean", "both"):
            pooled = pooled + (X * real[..., None]).sum(1) / valid_lens[:, None]
        logit = self.output(pooled)  # (batch, 1)
        return torch.cat([torch.zeros_like(logit), logit], dim=1)  # two classes


def arrays_of(texts, vocab):
    """Ids, lengths and labels of texts."""
    ids, lens = encode([normalise(text) for text, _ in texts], vocab, NUM_STEPS)
    return ids, lens, torch.tensor([label for _, label in texts])


def sorted_batch(batch):
    """Sort the texts by length as in the source, whose lengths stay unsorted."""
    tokens, valid_lens, labels = batch
    order = valid_lens.argsort(descending=True)
    return tokens[order], valid_lens, labels[order]


def in_order(texts, vocab, slips):
    """Batches in file order."""
    size = TUTORIAL["batch_size"]
    rows = zip(*(array.split(size) for array in arrays_of(texts, vocab)), strict=True)
    found = [tuple(cut_texts(batch)) for batch in rows]
    return (
        [sorted_batch(b) for b in found]
        if "mask of the unsorted batch" in slips
        else found
    )


def run_source(texts, pooling="softmax", positions=False, slips=()):
    """Train by TUTORIAL, at Adam's default rate; keep the weights of the best validation epoch."""
    vocab = Vocab([normalise(text) for text, _ in texts["train"]])
    net, device = Source(len(vocab), pooling, positions, slips), try_gpu()
    data = {split: in_order(texts[split], vocab, slips) for split in SPLITS}

    def measure(split, metric=classification_accuracy):
        if "dropout while testing" not in slips:
            return evaluate(net, data[split], metric, device)
        rows = [metric(net.train(), [a.to(device) for a in b]) for b in data[split]]
        return sum(float(mean) * count for mean, count in rows) / len(texts[split])

    curve, best = [], (0.0, None)
    optimizer = torch.optim.Adam(net.to(device).parameters(), fused=True)
    for _ in range(TUTORIAL["num_epochs"]):
        net.train()
        for batch in data["train"]:
            loss, _ = classification_loss(net, [array.to(device) for array in batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            curve.append(round(measure("val"), 4))
        if curve[-1] > best[0]:
            best = curve[-1], {n: t.clone() for n, t in net.state_dict().items()}
    net.load_state_dict(best[1])
    net.train("dropout while testing" in slips)
    with torch.no_grad():
        predictions = [
            predicted_in_order(net, [array.to(device) for array in batch], slips)
            for batch in data["test"]
        ]
        loss, train_accuracy = (
            measure("test", classification_loss),
            measure("train"),
        )
    predictions = torch.cat(predictions).tolist()
    labels = [label for _, label in texts["test"]]
    right = sum(p == label for p, label in zip(predictions, labels, strict=True))
    return {
        "accuracy": right / len(labels),
        "loss": loss,
        "train_accuracy": train_accuracy,
        "val_curve": curve,
        "predictions": "".join(map(str, predictions)),
    }


def predicted_in_order(net, batch, slips):
    """Predict the classes of a batch, in file order."""
    tokens, valid_lens, _ = batch
    found = net(tokens, valid_lens).argmax(dim=-1).cpu()
    if "mask of the unsorted batch" not in slips:
        return found
    order = valid_lens.cpu().argsort(descending=True)  # as in sorted_batch
    return torch.empty_like(found).index_copy_(0, order, found)


def with_words_hidden(texts, seed):
    """As many copies of the texts as a LetterReader sees, each with as many words hidden."""
    generator = random.Random(seed)
    return [
        (" ".join(w for w in text.split() if generator.random() > LETTERS["hidden"]), y)
        for _ in range(LETTERS["num_epochs"])
        for text, y in texts
    ]


def run_tfidf(texts, letters):
    """Classify by counts of words, word pairs and letter n-grams; choose C on validation texts."""
    words = TfidfVectorizer(token_pattern=r"\S+")
    if letters:
        pairs, runs = tuple(COUNTS["words"]), tuple(COUNTS["letters"])
        pairs = TfidfVectorizer(
            token_pattern=r"\S+", ngram_range=pairs, sublinear_tf=True
        )
        runs = TfidfVectorizer(analyzer="char_wb", ngram_range=runs, sublinear_tf=True)
        words = make_union(pairs, runs)
    columns = {split: tuple(zip(*texts[split], strict=True)) for split in SPLITS}
    fitted = [
        make_pipeline(words, LogisticRegression(C=C, max_iter=2000)).fit(
            *columns["train"]
        )
        for C in COUNTS["C"]
    ]
    best = max(fitted, key=lambda model: model.score(*columns["val"]))
    predictions = best.predict(columns["test"][0]).tolist()
    return {
        "accuracy": best.score(*columns["test"]),
        "val_accuracy": best.score(*columns["val"]),
        "train_accuracy": best.score(*columns["train"]),
        "predictions": "".join(map(str, predictions)),
    }


def run_letters(texts, seeds, attends=True):
    """Train one LetterReader per seed; the ensemble averages their probabilities."""
    sentences = {
        split: [normalise(text) for text, _ in texts[split]] for split in SPLITS
    }
    vocab = Vocab([s for split in SPLITS for s in sentences[split]])
    seen = {*vocab.reserved, *" ".join(sentences["train"]).split()}
    is_known = torch.tensor([word in seen for word in vocab.idx_to_token])
    arrays = {split: arrays_of(texts[split], vocab) for split in SPLITS}
    data = buckets(
        arrays["train"], arrays["train"][1], LETTERS["batch_size"], cut_texts
    )
    num_epochs, device = LETTERS["num_epochs"], try_gpu()
    votes = dict.fromkeys(("val", "test"), 0)
    for seed in seeds:
        torch.manual_seed(seed)
        sizes = LETTERS["sizes"]
        net = LetterReader(vocab.idx_to_token, is_known, *sizes, attends).to(device)
        optimizer = torch.optim.AdamW(
            net.parameters(),
            LETTERS["lr"],
            weight_decay=LETTERS["weight_decay"],
            fused=True,
        )
        schedule = up_and_down(
            optimizer, LETTERS["warmup_steps"], num_epochs * len(data)
        )
        for _ in range(num_epochs):
            train_epoch(
                net.train(), data, classification_loss, optimizer, schedule, device
            )
        with torch.no_grad():
            for split in votes:
                batch = (array.to(device) for array in arrays[split][:2])
                votes[split] = votes[split] + net.eval()(*batch).softmax(dim=-1).cpu()
    right = {split: votes[split].argmax(dim=-1) == arrays[split][2] for split in votes}
    return {
        "accuracy": right["test"].float().mean().item(),
        "val_accuracy": right["val"].float().mean().item(),
        "predictions": "".join(map(str, votes["test"].argmax(dim=-1).tolist())),
    }


def make(model, texts, recipe):
    """Create a classifier and its vocabulary."""
    vocab = Vocab([normalise(text) for text, _ in texts["train"]], min_freq=2)
    width, dropout, std = (recipe[key] for key in ("num_hiddens", "dropout", "std"))
    encoders = {
        "averaged words": lambda: WordsAlone(len(vocab), width, std),
        "bag of words": lambda: WordsAlone(len(vocab), width, std),
        ORDER_BLIND: lambda: WordsAlone(len(vocab), width, std),
        "GRU": lambda: OneAfterTheOther(len(vocab), width, std),
        "Transformer": lambda: TransformerEncoder(
            len(vocab), width, 2 * width, 4, 2, dropout
        ),
    }
    net = Classifier(encoders[model](), width, 2, dropout)
    if model in ("averaged words", ORDER_BLIND):
        net.pooling = Mean()
    if model == ORDER_BLIND:
        net.output = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 2))
    return net, vocab


def run(seed, name, model, **source):
    """Train once and test once; return the results as a dict for the ledger."""
    texts = {split: read_labelled(name, split) for split in SPLITS}
    torch.manual_seed(seed)
    if model == "source":
        return run_source(texts, **source)
    if model.endswith("words hidden"):
        hidden = {"train": with_words_hidden(texts["train"], seed)}
        return run_tfidf(texts | hidden, letters=True)
    if model.startswith("TF-IDF"):
        return run_tfidf(texts, letters=model.endswith("letters"))
    if model == "Transformer with letters":
        return run_letters(texts, [seed])
    if model == "letters without attention":
        return run_letters(texts, [seed], attends=False)
    if model == "five of them":
        return run_letters(texts, range(5 * seed, 5 * seed + 5))
    recipe = CHAPTER if name == "reviews-mini" else LARGER
    net, vocab = make(model, texts, recipe)
    device = try_gpu()
    if name == "reviews-mini":  # as in the chapter
        batches = label_batches(texts["train"], vocab, recipe["batch_size"], NUM_STEPS)
    else:
        arrays = arrays_of(texts["train"], vocab)
        batches = buckets(arrays, arrays[1], recipe["batch_size"], cut_texts)
    val = label_batches(texts["val"], vocab, 256, NUM_STEPS)
    settings = recipe["training"] | {"val_batches": val, "unit": "texts"}
    history = train(net, batches, classification_loss, device=device, **settings)
    *test, labels = arrays_of(texts["test"], vocab)
    with torch.no_grad():
        logits = net.eval()(*(array.to(device) for array in test))
    predictions = logits.argmax(dim=-1).cpu()
    return {
        "accuracy": (predictions == labels).float().mean().item(),
        "val_accuracy": evaluate(net, val, classification_accuracy, device),
        "train_accuracy": evaluate(net, batches, classification_accuracy, device),
        "val_losses": [round(loss, 4) for loss in history.val_loss],
        "predictions": "".join(map(str, predictions.tolist())),
    }


def save_reader(name="verdict", seed=10):
    """Save the Transformer with which the chapter begins."""
    torch.set_num_threads(1)
    texts = {split: read_labelled("reviews-mini", split) for split in SPLITS}
    torch.manual_seed(seed)
    net, vocab = make("Transformer", texts, CHAPTER)
    batches = label_batches(texts["train"], vocab, CHAPTER["batch_size"], NUM_STEPS)
    train(net, batches, classification_loss, device="cpu", **CHAPTER["training"])
    save_nets(name, {"reader": net.state_dict()}, seed=seed, **CHAPTER["training"])


if __name__ == "__main__":
    save_reader()
