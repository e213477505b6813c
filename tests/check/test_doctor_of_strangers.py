"""The doctor on models in the styles of other people: right ones, odd ones, and broken ones."""

import copy
import re
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from conftest import for_each
from faults import seeded, warnings_of
from test_doctor import VOCAB, WIDTH
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from d2lmini import check

HEADS, LONGEST = 4, 32


class Branch(nn.Module):
    """Causal self-attention, called as the models of many repositories call it."""

    def __init__(self, mask="causal", fill=float("-inf")):
        super().__init__()
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.projection = nn.Linear(WIDTH, WIDTH)
        self.mask, self.fill = mask, fill

    def forward(self, X):
        parts = self.attention(X).unflatten(-1, (3, HEADS, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)  # (batch, heads, steps, head size)
        steps = X.shape[1]
        seen = torch.ones(steps, steps, dtype=torch.bool)
        if self.mask != "none":
            seen = seen.tril(-1 if self.mask == "not itself" else 0)
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, self.fill)
        return self.projection((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, branch, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.branch, self.drop = branch, nn.Dropout(dropout)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))

    def forward(self, X):
        X = X + self.drop(self.branch(self.norm1(X)))
        return X + self.drop(self.mlp(self.norm2(X)))


class Model(nn.Module):
    """Tokens, learned positions, two blocks, logits."""

    def __init__(self, branch=Branch, dropout=0.0):
        super().__init__()
        self.config = SimpleNamespace(n_layer=2)
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.ModuleList(Block(branch(), dropout) for _ in range(2))
        self.output = nn.Linear(WIDTH, VOCAB)

    def body(self, tokens):
        X = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            X = block(X)
        return X

    def forward(self, tokens):
        return self.output(self.body(tokens))


class Checkpointed(Model):
    def __init__(self):
        super().__init__(dropout=0.2)

    def body(self, tokens):
        X = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            X = checkpoint(block, X, use_reentrant=False)
        return X


class ReZero(Block):
    """Each branch is multiplied by a number that starts at 0."""

    def __init__(self, branch, dropout):
        super().__init__(branch, dropout)
        self.scale = nn.Parameter(torch.zeros(()))

    def forward(self, X):
        X = X + self.scale * self.branch(self.norm1(X))
        return X + self.scale * self.mlp(self.norm2(X))


class WithWeights(Model):
    """Returns something beside the logits, and has one more argument, but no cache."""

    def forward(self, tokens, mask=None):
        return super().forward(tokens), torch.ones(len(tokens), HEADS)


class Looked(Branch):
    """Keeps what it computed, for a look at it."""

    def forward(self, X):
        self.kept = [super().forward(X)]
        return self.kept[0]


def silent_branches():
    net = Model()
    for block in net.blocks:
        nn.init.zeros_(block.branch.projection.weight)
        nn.init.zeros_(block.branch.projection.bias)
        nn.init.zeros_(block.mlp[2].weight)
    return net


def with_rezero():
    net = Model()
    net.blocks = nn.ModuleList(ReZero(Branch(), 0.0) for _ in range(2))
    return net


def positions_that_start_at_zero():
    net = Model()
    nn.init.zeros_(net.positions.weight)
    return net


class Wrapped(nn.Module):
    def __init__(self, wrap):
        super().__init__()
        self.net, self.wrap = Model(), wrap

    def forward(self, tokens):
        return self.wrap(self.net(tokens))


RIGHT = {
    "a config": Model,
    "bfloat16": lambda: Model().bfloat16(),
    "float16": lambda: Model().half(),
    "checkpointing": Checkpointed,
    "branches that start silent": silent_branches,
    "ReZero": with_rezero,
    "positions that start at 0": positions_that_start_at_zero,
    "logits and weights": WithWeights,
    "loss and logits": lambda: Wrapped(lambda logits: (None, logits)),
    "a dictionary": lambda: Wrapped(lambda logits: {"loss": None, "logits": logits}),
    "what was computed is kept": lambda: Model(Looked),
    "its forward": lambda: Model(dropout=0.2).forward,
}


@for_each(RIGHT)
def test_no_right_model_is_accused(name):
    net = seeded(RIGHT[name])
    before = copy.deepcopy(net.state_dict()) if isinstance(net, nn.Module) else {}
    net(torch.zeros(1, 3, dtype=torch.long))  # it may have been used
    report = check.language_model(net, VOCAB)
    assert report and not warnings_of(report), report
    for key, tensor in before.items():  # the examination moves a copy only
        assert torch.equal(net.state_dict()[key], tensor)


def test_a_function_in_training_mode_is_warned_of_and_not_accused():
    net = seeded(lambda: Model(dropout=0.2))
    report = check.language_model(lambda tokens: net(tokens), VOCAB)
    assert report and warnings_of(report) == {"eval mode"}, report
    assert "call its eval() first" in repr(report).replace("\n    ", " ")
    untried = {f.name for f in report.findings if "(see eval mode)" in f.sentence}
    assert untried >= {"length", "batch"}


class Both(nn.Module):
    """A recurrent model that reads from both ends."""

    def __init__(self):
        super().__init__()
        self.tokens, self.output = nn.Embedding(VOCAB, WIDTH), nn.Linear(WIDTH, VOCAB)
        self.lstm = nn.LSTM(WIDTH, WIDTH // 2, bidirectional=True, batch_first=True)

    def forward(self, tokens):
        return self.output(self.lstm(self.tokens(tokens))[0])


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(WIDTH, WIDTH, 3, padding="same")

    def forward(self, X):
        return self.convolution(X.mT).mT


class NormOfAll(Model):
    """A norm over steps and features, in the forward of the whole model."""

    def body(self, tokens):
        X = super().body(tokens)
        return F.layer_norm(X, X.shape[1:])


class Keeps(Model):
    """What was read before is added to what is read now."""

    kept = 0.0

    def body(self, tokens):
        X = super().body(tokens)
        self.kept = self.kept + X.mean().item()
        return X + self.kept


class Detached(Model):
    @torch.no_grad()
    def forward(self, tokens):
        return super().forward(tokens)


class Output(NamedTuple):
    logits: torch.Tensor
    past_key_values: torch.Tensor


class Restarts(Model):
    """Keeps the tokens so far, but counts the positions of the new ones from 0."""

    def forward(self, tokens, past_key_values=None, use_cache=False):
        X = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        if past_key_values is not None:
            X = torch.cat([past_key_values, X], dim=1)
        Y = X
        for block in self.blocks:
            Y = block(Y)
        return Output(self.output(Y[:, -tokens.shape[1] :]), X)


BROKEN = {
    "softmax at the end": (
        lambda: Wrapped(lambda logits: logits.softmax(-1)), "first loss", "another in the loss"),
    "no_grad": (Detached, "parameters", "torch.no_grad()"),
    "no mask": (lambda: Model(lambda: Branch("none")), "future", "no causal mask"),
    "the first hidden from itself": (
        lambda: Model(lambda: Branch("not itself", -1e9)), "future", "the first sees anything"),
    "both directions": (Both, "future", "bidirectional=True"),
    "a convolution": (lambda: Model(Convolution), "future", "padded on both sides"),
    "a norm over all": (NormOfAll, "future", "a norm or a mean over"),
    "kept": (Keeps, "eval mode", "kept from one call"),
    "a cache with positions from 0": (Restarts, "cache", "positions that start again"),
    "-1e9": (lambda: Model(lambda: Branch(fill=-1e9)), "numbers", "-1e9"),
}  # fmt: skip


@for_each(BROKEN)
def test_a_fault_is_found_and_its_cause_said(name):
    make, examination, word = BROKEN[name]
    report = check.language_model(seeded(make), VOCAB)
    (found,) = (f for f in report.findings if f.name == examination)
    assert found.verdict in ("FAILS", "warning"), report
    assert word in found.cause, found


class Translator(nn.Module):
    """Knows the padding of the source by its id."""

    def __init__(self, pad=3, is_masked=True, batch_first=True):
        super().__init__()
        self.pad, self.is_masked, self.batch_first = pad, is_masked, batch_first
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        sizes = WIDTH, HEADS, 1, 1, 64, 0.0
        self.net = nn.Transformer(*sizes, batch_first=batch_first)
        self.output = nn.Linear(WIDTH, VOCAB)

    def place(self, ids):
        rows = self.positions.weight[: ids.shape[self.batch_first]]
        return self.tokens(ids) + (rows if self.batch_first else rows[:, None])

    def forward(self, src, tgt, *mask):
        steps = tgt.shape[self.batch_first]
        ahead = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        mask = mask[0] if mask else src == self.pad if self.is_masked else None
        X = self.net(
            self.place(src), self.place(tgt), tgt_mask=ahead, src_key_padding_mask=mask,
            memory_key_padding_mask=mask,
        )  # fmt: skip
        return self.output(X)


def test_a_translator_that_knows_padding_by_its_id():
    for pad in (0, 3, VOCAB - 1):
        report = check.translator(seeded(Translator, pad), VOCAB, VOCAB, mask_means=pad)
        assert report and not warnings_of(report), report
    blind = seeded(Translator, 3, False)
    report = check.translator(blind, VOCAB, VOCAB, mask_means=3)
    (found,) = (f for f in report.findings if f.verdict == "FAILS")
    assert found.name == "source padding" and "for the id 3" in found.cause


def test_the_other_order_of_axes_is_said_if_it_mends_the_report():
    net = seeded(Translator, 3, True, False)
    settings = {"mask_means": "block"}
    report = check.translator(net, VOCAB, VOCAB, batch_first=False, **settings)
    assert report, report
    assert not any("It raised" in found.sentence for found in report.findings)
    note = r"With batch_first=False nothing fails\."
    with pytest.raises(ValueError, match=note):  # source and target differ in length
        check.translator(net, VOCAB, VOCAB, **settings)
    net = seeded(Model)
    report = check.language_model(lambda tokens: net(tokens.T).transpose(0, 1), VOCAB)
    assert not report and re.search(note, repr(report))


REFUSED = {
    "one more argument": (lambda tokens, mask: None, r"raised TypeError: .*mask"),
    "too short": (lambda tokens: Model()(tokens.repeat(1, 9)), "give num_steps"),
}


@for_each(REFUSED)
def test_what_a_model_raises_is_said_with_what_is_wanted(name):
    net, said = REFUSED[name]
    with pytest.raises(ValueError, match=said) as refused:
        check.language_model(net, VOCAB)
    assert "must return logits (batch, steps, 50)" in str(refused.value)


class AllInOne(nn.Module):
    """A model whose forward holds everything, with its layers in lists."""

    def __init__(self, fault, width=16, num_heads=2):
        super().__init__()
        self.fault, self.num_heads = fault, num_heads
        self.tokens, self.positions = (
            nn.Embedding(VOCAB, width),
            nn.Embedding(32, width),
        )

        def two(make):
            return nn.ModuleList([make(), make()])

        self.queries, self.keys, self.values, self.joined = (
            two(lambda: nn.Linear(width, width)) for _ in range(4)
        )
        self.norms, self.more_norms = (
            two(lambda: nn.LayerNorm(width)) for _ in range(2)
        )
        self.ffns = two(
            lambda: nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, width))
        )
        self.output = nn.Linear(width, VOCAB)

    def forward(self, tokens):
        fault, steps = self.fault, tokens.shape[1]
        given = tokens.roll(-1, 1) if fault == "input" else tokens
        X = self.tokens(given) + self.positions(torch.arange(steps))
        mask = (
            torch.ones(steps, steps)
            .tril({"off by one": 1, "not itself": -1, "none": steps}.get(fault, 0))
            .bool()
        )
        mask = ~mask if fault == "inverted" else mask
        for queries, keys, values, joined, norm, more_norm, ffn in zip(
            self.queries, self.keys, self.values, self.joined, self.norms, self.more_norms,
            self.ffns, strict=True,
        ):  # fmt: skip
            Y = norm(X)
            if fault == "norm over steps":
                Y = (Y - Y.mean(1, keepdim=True)) / (Y.std(1, keepdim=True) + 1e-5)
            Q, K, V = (self.cut(part(Y)) for part in (queries, keys, values))
            scores = (Q @ K.mT / Q.shape[-1] ** 0.5).masked_fill(~mask, -1e9)
            heads = scores.softmax(-1) @ V
            heads = heads if fault == "joined untransposed" else heads.transpose(1, 2)
            X = X + joined(heads.reshape(Y.shape))
            X = X - X.mean(1, keepdim=True) if fault == "mean over steps" else X
            X = X + ffn(more_norm(X))
        return self.output(X)

    def cut(self, Y):
        batch, steps, _ = Y.shape
        if self.fault == "cut untransposed":
            return Y.reshape(batch, self.num_heads, steps, -1)
        return Y.view(batch, steps, self.num_heads, -1).transpose(1, 2)


CAUSES = {
    "input": "get into the input", "off by one": "off by one", "not itself": "from itself",
    "none": "no causal mask", "inverted": "inverted", "norm over steps": "norm or a mean",
    "mean over steps": "norm or a mean", "joined untransposed": "transposed back",
    "cut untransposed": "transposed back",
}  # fmt: skip


@for_each(CAUSES)
def test_the_cause_of_a_leak_is_found_inside_one_forward(name):
    assert check.language_model(seeded(lambda: AllInOne("")), VOCAB)
    report = check.language_model(seeded(lambda: AllInOne(name)), VOCAB)
    (found,) = (f for f in report.findings if f.name == "future")
    assert found.verdict == "FAILS" and CAUSES[name] in found.cause, found


class Unseen(Model):
    """Its blocks, or some of its numbers, lie where PyTorch does not see them."""

    def __init__(self, kind):
        super().__init__()
        self.kind, blocks = kind, [*self.blocks]
        if kind != "a matrix":
            self.blocks = None
        if kind == "a dictionary":
            self.mine = {str(number): block for number, block in enumerate(blocks)}
        elif kind == "lists in a list":
            self.mine = [[block] for block in blocks]
        self.call = lambda X: blocks[1](blocks[0](X))
        matrices = [nn.Parameter(torch.eye(WIDTH) + 0.1 * torch.randn(WIDTH, WIDTH))]
        self.more = (lambda X: X @ matrices[0]) if kind == "a matrix" else nn.Identity()

    def body(self, tokens):
        X = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.more(self.call(X))


def test_weights_that_no_optimiser_finds_are_named():
    for kind in ("a dictionary", "lists in a list", "a closure", "a matrix"):
        report = check.language_model(seeded(Unseen, kind), VOCAB)
        (found,) = (f for f in report.findings if f.name == "parameters")
        assert found.verdict == "FAILS", (kind, report)
    net = seeded(Model)
    net.for_convenience = [net.blocks[0], net.blocks[1]]  # they are seen, too
    assert check.language_model(net, VOCAB)


def test_a_third_of_a_matrix_without_gradient_is_named():
    class KeysForQueries(Branch):
        def forward(self, X):
            W = self.attention.weight
            used = torch.cat([W[WIDTH : 2 * WIDTH], W[WIDTH:]])
            attention = copy.copy(self.attention)
            attention._parameters = {"weight": used, "bias": self.attention.bias}
            whole, self.attention = self.attention, attention
            try:
                return super().forward(X)
            finally:
                self.attention = whole

    report = check.language_model(seeded(Model, KeysForQueries), VOCAB)
    (found,) = (f for f in report.findings if f.name == "parameters")
    assert found.verdict == "FAILS" and "Part 1/3 of the rows" in found.sentence, report


class Copied(Model):
    """Two of its parts are copies, in a list or not."""

    def __init__(self, kind):
        super().__init__()
        first, second = self.blocks
        if kind == "later in a list":
            self.blocks.append(copy.deepcopy(second))
        elif kind == "attributes":
            self.blocks, self.first, self.second = None, first, copy.deepcopy(first)
        elif kind == "a dictionary":
            self.blocks = nn.ModuleDict({"a": first, "b": copy.deepcopy(first)})

    def body(self, tokens):
        X = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        held = self.blocks or [self.first, self.second]
        for block in held.values() if isinstance(held, nn.ModuleDict) else held:
            X = block(X)
        return X


def test_copies_are_found_wherever_they_are():
    for kind in ("later in a list", "attributes", "a dictionary"):
        report = check.language_model(seeded(Copied, kind), VOCAB)
        (found,) = (f for f in report.findings if f.name == "layers")
        assert "equal weights" in found.sentence, (kind, report)


class Positions(Model):
    """Positions in a buffer, added or thrown away; two blocks tell the order in part."""

    def __init__(self, are_added):
        super().__init__()
        del self.positions
        self.are_added = are_added
        self.register_buffer("table", torch.randn(LONGEST, WIDTH))

    def body(self, tokens):
        X = self.tokens(tokens)
        Y = X + self.table[: tokens.shape[1]]
        X = Y if self.are_added else X
        for block in self.blocks:
            X = block(X)
        return X


def test_a_buffer_of_positions_that_is_thrown_away_is_named():
    for are_added in (True, False):
        report = check.language_model(seeded(Positions, are_added), VOCAB)
        (found,) = (f for f in report.findings if f.name == "order")
        assert (found.verdict == "holds") == are_added, report
    assert "With one of its layers" in found.sentence


def test_of_two_layers_without_positions_the_first_is_asked():
    class Rotary(Branch):
        """Turns queries and keys by their place, or all by place 0."""

        places = True

        def forward(self, X):
            parts = self.attention(X).unflatten(-1, (3, HEADS, -1))
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            angles = torch.arange(X.shape[1])[:, None] * self.places * 1.0
            q, k = (torch.complex(x[..., ::2], x[..., 1::2]) for x in (q, k))
            q, k = (
                torch.view_as_real(x * torch.exp(1j * angles)).flatten(-2)
                for x in (q, k)
            )
            seen = torch.ones(X.shape[1], X.shape[1], dtype=torch.bool).tril()
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
            return self.projection((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

    class Still(Rotary):
        places = False

    class NoPositions(Model):
        def body(self, tokens):
            X = self.tokens(tokens)
            X + self.positions.weight[: tokens.shape[1]]
            for block in self.blocks:
                X = block(X)
            return X

    for branch, verdict in ((Rotary, "holds"), (Still, "warning"), (Branch, "warning")):
        report = check.language_model(seeded(NoPositions, branch), VOCAB)
        (found,) = (f for f in report.findings if f.name == "order")
        assert found.verdict == verdict, (branch, report)


def test_one_length_for_all_sources_is_named():
    net = seeded(Translator)

    def first(src, tgt, lens):
        mask = torch.arange(src.shape[1]) >= lens[0]
        return net(src, tgt, mask.expand(src.shape))

    report = check.translator(first, VOCAB, VOCAB)
    (found,) = (f for f in report.findings if f.name == "batch")
    assert "one source's length" in found.cause, report


def test_a_weight_that_is_no_number_comes_first():
    net = seeded(Model)
    with torch.no_grad():
        net.tokens.weight[3, 0] = float("nan")
    first = check.language_model(net, VOCAB).findings[0]
    assert first.name == "numbers" and first.sentence.startswith("tokens.weight has")


class AndMore(Model):
    """Returns more than the logits, which is no cache."""

    def forward(self, tokens, return_hidden=False):
        return super().forward(tokens), self.body(tokens)


class WithState(AndMore):
    def forward(self, tokens, training_state=None):
        return super().forward(tokens)


class OfTheCaller(AndMore):
    def forward(self, tokens, cache=None):
        return super().forward(tokens)[0], torch.zeros(1)


def test_what_is_no_cache_is_not_taken_for_one():
    for make in (AndMore, WithState, OfTheCaller):
        report = check.language_model(seeded(make), VOCAB)
        (found,) = (f for f in report.findings if f.name == "cache")
        assert report and found.verdict == "not tried", report


class Padded(Model):
    """Takes an attention_mask, and ignores it, under a causal mask."""

    def forward(self, tokens, attention_mask=None):
        return super().forward(tokens)


def test_an_attention_mask_that_is_ignored_is_found_under_a_causal_one():
    report = check.language_model(seeded(Padded), VOCAB)
    (found,) = (f for f in report.findings if f.name == "padding")
    assert found.verdict == "FAILS" and "not used" in found.cause, report


def test_options_of_pytorch_and_a_residual_are_not_accused():
    for options in ({"add_zero_attn": True}, {"add_bias_kv": True}):
        layer = nn.MultiheadAttention(WIDTH, 2, batch_first=True, **options)
        assert check.attention(layer, WIDTH), options

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.MultiheadAttention(WIDTH, 2, batch_first=True)

        def forward(self, queries, keys, values, mask):
            mask = None if mask is None else ~mask[:, 0].repeat_interleave(2, 0)
            return queries + self.inner(queries, keys, values, attn_mask=mask)[0]

    assert check.attention(seeded(Residual), WIDTH)


def test_a_traced_model_is_not_accused():
    tokens = torch.randint(VOCAB, (3, 8))
    report = check.language_model(torch.jit.trace(seeded(Model), tokens), VOCAB)
    assert report, report


def test_a_cross_attention_that_sees_too_little_is_named():
    class NoEncoder(nn.Module):
        def forward(self, src, **masks):
            return src

    class Early(Translator):
        def __init__(self):
            super().__init__()
            self.net.encoder = NoEncoder()

        def forward(self, src, tgt, mask):
            ahead = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
            late = torch.ones(tgt.shape[1], src.shape[1], dtype=torch.bool).triu(1)
            X = self.net(
                self.place(src), self.place(tgt), tgt_mask=ahead, memory_mask=late,
                src_key_padding_mask=mask, memory_key_padding_mask=mask,
            )  # fmt: skip
            return self.output(X)

    report = check.translator(seeded(Early), VOCAB, VOCAB, mask_means="block")
    (found,) = (f for f in report.findings if f.name == "source")
    assert "causal mask in the cross-attention" in found.cause, report


def test_an_activation_after_the_logits_is_named():
    report = check.language_model(seeded(lambda: Wrapped(torch.relu)), VOCAB)
    (found,) = (f for f in report.findings if f.name == "first loss")
    assert "after the output layer" in found.cause, report


def test_what_cannot_be_copied_or_is_lazy_is_refused_with_a_reason(tmp_path):
    net = seeded(Model)
    with (
        (tmp_path / "log").open("w") as net.log,
        pytest.raises(ValueError, match="be copied"),
    ):
        check.language_model(net, VOCAB)
    net = seeded(Model)
    net.output = nn.LazyLinear(VOCAB)
    with pytest.raises(ValueError, match="call a lazy module once first"):
        check.language_model(net, VOCAB)


def test_pytorch_s_attention_without_a_mask_is_told_from_a_norm():
    class Unmasked(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

        def forward(self, X):
            return self.inner(X, X, X, need_weights=False)[0]

    report = check.language_model(seeded(Model, Unmasked), VOCAB)
    (found,) = (f for f in report.findings if f.name == "future")
    assert "no causal mask" in found.cause, report
