"""The examinations of the doctor, each a function of a subject, a model called in one way.

Each returns a verdict and a sentence with the smallest case that shows it, and if it does not
hold also what usually causes it, likeliest first, and where the book explains it.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from d2lmini.check.future import future
from d2lmini.check.gradients import leaves_of
from d2lmini.check.padding_and_cache import cache, padding
from d2lmini.check.stacks import (
    idle_third,
    layers,
    lost_layers,
    lost_weights,
    one_layer_is_blind,
    unseen,
    without_gradient,
)
from d2lmini.check.trying import ERRORS, copied, difference, largest, mode, rounding
from d2lmini.check.whole_models import (
    FAILS,
    HOLDS,
    UNTRIED,
    WARNS,
    traced,
)

AXES = (
    "batch and steps exchanged (batch_first), positions added on the batch axis, or a view that "
    "mixes axes"
)


def eval_mode(subject):
    """Two calls on the same tokens agree."""
    with mode(subject.net, training=False), torch.no_grad():
        first, second = (subject.read(subject.net, subject.tokens) for _ in range(2))
    size = largest(difference(first.nan_to_num(), second.nan_to_num()))
    if size > rounding(first):
        sentence = f"Two calls on the same tokens differ by {size:.2g} in eval mode."
        cause = "F.dropout without training=self.training"
        again = difference(subject(subject.tokens), subject(subject.tokens))
        if largest(again) > rounding(first):  # although each draws the same numbers
            cause = (
                "something kept from one call to the next, such as a cache or a state"
            )
        elif not subject.is_module:
            sentence += " net is a function, whose mode is not known here."
            cause = "a model in training mode: call its eval() first, or give the model itself"
            return WARNS, sentence, cause, "museum, 10"
        elif held := unseen(subject.net):
            cause = f"layers in a plain list or dictionary, {held}, which eval() does not reach"
        elif _strangers(subject):
            cause = "weights that are made anew in forward"
        return FAILS, sentence, cause, "museum, 10"
    return HOLDS, "Two calls on the same tokens agree."


def _strangers(subject):
    """Whether weights are used that are no parameters."""
    if not subject.is_module:
        return False
    with mode(subject.net, training=False):
        logits = subject.read(subject.net, subject.tokens)
    known = {id(parameter) for parameter in subject.net.parameters()}
    return any(id(leaf) not in known for leaf in leaves_of(logits))


def past(subject):
    """The last output depends on each earlier token."""
    tokens, steps = subject.tokens, subject.tokens.shape[1]
    blind = []
    for t in range(steps):
        changed = tokens.clone()
        changed[:, t] = subject.other(tokens)[:, t]
        moved, _ = subject.moved(changed)
        if not moved[:, -1].any():
            blind.append(t)
    if not blind:
        return HOLDS, "The last output depends on all tokens."
    if blind == [steps - 1]:
        sentence = f"The last output does not depend on the last {subject.token}."
        return FAILS, sentence, "tokens that are shifted twice", "chapter 9, The shift"
    if len(blind) >= steps - 1:
        sentence = f"The last output depends on no earlier {subject.token}."
        cause = "attention whose output is lost or zero, or a mask that is inverted"
        return FAILS, sentence, cause, "chapter 8, What one batch does not show"
    sentence = f"The last output does not depend on {subject.token}s {blind}."
    return WARNS, sentence, "a window, or a mask that hides too much", "chapter 16"


def order(subject):
    """The last output depends on the order of the earlier tokens."""
    tokens = subject.tokens
    swapped = torch.cat([tokens[:, :-1].flip(1), tokens[:, -1:]], dim=1)
    moved, limit = subject.moved(swapped)
    if moved[:, -1].max() > limit:
        if one_layer_is_blind(subject, swapped):
            sentence = (
                "With one of its layers, the order of earlier tokens does not matter."
            )
            cause = (
                "positions that are thrown away, as in X + table without =, are all 0, or are left "
                "out on purpose: under a causal mask, a second layer tells the order in part"
            )
            return WARNS, sentence, cause, "museum, 17"
        if lost := _lost_table(subject):
            cause = "positions that are thrown away, as in X + table without ="
            return WARNS, f"The buffer {lost} moves no output.", cause, "museum, 17"
        return HOLDS, "The last output depends on the order of the tokens before it."
    sentence = "With all earlier tokens reversed, the last output is the same."
    cause = "positions that are not added, added on the wrong axis, or thrown away"
    return FAILS, sentence, cause, "chapter 3; museum, 8 and 17"


def _lost_table(subject) -> str:
    """The name of a table of numbers beside the parameters that is not used."""
    if not subject.is_module:
        return ""
    for name, table in subject.net.named_buffers():
        if table.is_floating_point() and table.squeeze().dim() > 1:
            usual = subject(subject.tokens)
            changed = subject.given(net=copied(subject.net))
            changed.net.get_buffer(name).add_(1.0)
            if torch.equal(changed(subject.tokens), usual):
                return f"{name} {tuple(table.shape)}"
    return ""


def length(subject):
    """Outputs are the same in a longer text, and in a shorter one."""
    tokens = subject.tokens
    shorter = subject(tokens[:, :-1])
    moved = difference(shorter, subject(tokens)[:, :-1]).amax(-1)
    if moved.max() <= rounding(shorter):
        return HOLDS, "Another token at the end moves no earlier output."
    changed = tokens.clone()
    changed[:, -1] = subject.other(tokens)[:, -1]
    by_content, limit = subject.moved(changed)
    if by_content[:, :-1].max() > limit:
        return UNTRIED, "Earlier outputs depend on the last token itself (see future)."
    sentence = f"One token more moves earlier outputs by {moved.max():.2g}."
    cause = (
        "positions counted from the end, a scale by the length of the text, or heads cut along "
        "the wrong axis"
    )
    return FAILS, sentence, cause, "chapter 3, Adding them"


def batch(subject):
    """A text has the same output in any company."""
    for is_training in (False, True):
        subject = subject.given(training=is_training)
        here = subject(subject.tokens)[0]
        company, tokens = subject.in_other_company()
        size = largest(difference(company(tokens)[0], here))
        if size > rounding(here):
            when = "in training mode" if is_training else "in eval mode"
            sentence = (
                f"Other texts in the batch move this one's output by {size:.2g} {when}."
            )
            cause = "batch normalisation" if is_training else AXES
            return (
                FAILS,
                sentence,
                cause,
                "chapter 7, Which numbers enter the mean; museum, 8 and 12",
            )
    subject = subject.given(training=False)
    parts = [subject.part(slice(i, i + 1)) for i in range(len(subject.tokens))]
    one_by_one = torch.cat([alone(text) for alone, text in parts])
    alone = largest(difference(one_by_one, subject(subject.tokens)))
    if alone > rounding(one_by_one):
        sentence = f"Alone, a text has outputs that differ by {alone:.2g}."
        if hasattr(subject, "lens"):
            full = subject.given(
                lens=torch.full_like(subject.lens, subject.source.shape[1])
            )
            parts = [full.part(slice(i, i + 1)) for i in range(len(subject.tokens))]
            one_by_one = torch.cat([alone(text) for alone, text in parts])
            if largest(difference(one_by_one, full(full.tokens))) <= rounding(
                one_by_one
            ):
                cause = "one source's length or mask for the whole batch"
                return FAILS, sentence, cause, "chapter 2, Padding"
        return FAILS, sentence, AXES, "chapter 3, Adding them; museum, 8"
    return HOLDS, "A text has the same output alone and in any batch."


def numbers(subject):
    """Logits and gradients are finite, also in 16 bits."""
    named = subject.whole.named_parameters() if subject.is_module else ()
    if bad := [name for name, p in named if not p.isfinite().all()]:
        sentence = f"{bad[0]} has entries that are not finite."
        cause = "a training that diverged, or a file of weights that is damaged"
        return FAILS, sentence, cause, "chapter 9, Step, run, curve"
    with mode(subject.net, training=False), torch.no_grad():
        logits = subject.read(subject.net, subject.tokens)
    empty = (~logits.isfinite().all(-1)).any(0).nonzero().flatten().tolist()
    if empty:
        sentence = f"Logits are not finite at positions {empty}."
        cause = "a row with nothing to attend to, or a logarithm or root of 0"
        if empty == [len(logits[0]) - 1]:
            cause = "a mask that is inverted, so that the last position may see nothing"
        elif empty == [0]:
            cause = "a mask that hides each position from itself, too"
        return FAILS, sentence, cause, "chapter 2, Blind to the future; museum, 4"
    kinds = {
        "32 bits": torch.float32,
        "bfloat16": torch.bfloat16,
        "float16": torch.float16,
    }
    for name, kind in kinds.items():
        worse = FAILS if name == "32 bits" else WARNS
        try:
            found = logits_and_gradients(subject, kind)
            if (
                kind == torch.float32
            ):  # also with the weights it came with, which may be 0
                found += logits_and_gradients(subject.as_given(), kind)
        except ERRORS as error:
            text = str(error).partition("\n")[0]
            cause = "tensors that forward makes in 32 bits, whatever it is given"
            if "overflow" in text:
                cause = "-1e9, which float16 cannot hold: use torch.finfo(dtype).min"
            return worse, f"In {name} it raised: {text}.", cause, "Making it fast"
        if not all(tensor.isfinite().all() for tensor in found):
            sentence = f"In {name}, logits or gradients are not finite."
            cause = "a row with nothing to attend to, -1e9 in 16 bits, or a logarithm or root of 0"
            return worse, sentence, cause, "chapter 2; museum, 4"
        if not subject.is_module:
            return HOLDS, "Logits are finite in 32 bits."
    return HOLDS, "Logits and gradients are finite, also in 16 bits."


def logits_and_gradients(subject, kind):
    """Of a copy of the model in a dtype."""
    net = subject.net
    if subject.is_module:
        net = copied(net).to(kind)
    with mode(net, training=False):  # until the gradients are there: checkpointing
        logits = subject.read(net, subject.tokens)
        if subject.is_module and logits.requires_grad:
            logits.float().square().mean().backward()
    if subject.is_module and logits.requires_grad:
        grads = [p.grad for p in net.parameters() if p.grad is not None]
        return [logits, *(g.to_dense() if g.is_sparse else g for g in grads)]
    return [logits]


def parameters(subject):
    """Each parameter that may be trained gets a gradient."""
    if not subject.is_module:
        return UNTRIED, "net is no nn.Module, so its parameters are unknown."
    if isinstance(subject.net, torch.jit.ScriptModule):
        return UNTRIED, "A traced or scripted model keeps its parameters to itself."
    if found := lost_layers(subject.net):
        return found
    net = copied(subject.net)
    names = [name for name, p in net.named_parameters() if p.requires_grad]
    if not names:
        return UNTRIED, "No parameter asks for a gradient."
    with mode(net, training=False):
        logits = subject.read(net, subject.tokens)
        loss = _loss(logits, subject.tokens)
        if found := lost_weights(logits, net.parameters()):
            return found
        if not loss.requires_grad:
            sentence = "No gradient flows from the logits to any parameter."
            cause = "torch.no_grad(), detach() or numpy in forward"
            return FAILS, sentence, cause, "chapter 8, What one batch does not show"
        loss.backward()
    idle = [name for name, p in net.named_parameters()
            if p.requires_grad and without_gradient(p, p.grad)]  # fmt: skip
    thirds = [said for name, p in net.named_parameters()
              if p.grad is not None and (said := idle_third(name, p, p.grad))]  # fmt: skip
    if not idle and thirds:
        cause = "queries, keys or values that are not used"
        return FAILS, thirds[0], cause, "chapter 8, What one batch does not show"
    if not idle:
        frozen = sum(not p.requires_grad for p in net.parameters())
        rest = f" (Frozen, and left out: {frozen}.)" if frozen else ""
        return HOLDS, f"All {len(names)} parameters get a gradient.{rest}"
    few = ", ".join(idle[:3]) + (" and more" if len(idle) > 3 else "")
    sentence = f"{len(idle)} of {len(names)} parameters get no gradient: {few}."
    used = {name for name, *_ in traced(subject, subject.tokens)}
    if any(name.rpartition(".")[0] in used for name in idle):
        cause = "an output that is thrown away or detached, or followed by zeros"
    else:
        cause = "a part that is built and not used"
    return FAILS, sentence, cause, "chapter 8, What one batch does not show"


def _loss(logits, tokens):
    """Cross-entropy of the next token, in nats."""
    return F.cross_entropy(
        logits[:, :-1].float().flatten(0, 1), tokens[:, 1:].flatten()
    )


def first_loss(subject):
    """A new model knows nothing: its loss is about ln V."""
    subject = subject.as_given()
    logits = subject(subject.tokens)
    sums = logits.double().sum(-1)
    if logits.min() >= 0 and largest(difference(sums, torch.ones_like(sums))) < 0.01:
        sentence = "The outputs are probabilities: they sum to 1 at each position."
        cause = "a softmax in the model, and another in the loss, which wants logits"
        return FAILS, sentence, cause, "chapter 9, Step, run, curve"
    if logits.min() >= 0:
        sentence = "No logit is below 0, so none can be ruled out by its own score."
        cause = "an activation, such as a ReLU, after the output layer"
        return WARNS, sentence, cause, "chapter 9, Step, run, curve"
    loss = _loss(logits, subject.tokens).item()
    even = math.log(subject.vocab_size)
    sentence = f"The loss of random tokens is {loss:.2f}, and ln V {even:.2f}."
    if loss < 0.5 * even:
        cause = "a model that reads what it should predict"
        return WARNS, sentence, cause, "chapter 2, Blind to the future"
    if loss > even + 1:
        cause = "a trained model, or weights that start too large"
        return WARNS, sentence, cause, "chapter 9, Step, run, curve"
    return HOLDS, sentence


def by_heart(subject, num_steps=150):
    """A copy can learn three short texts by heart, or is well on the way."""
    if not subject.is_module:
        return UNTRIED, "net is no nn.Module."
    net = copied(subject.as_given().net).float()
    parameters = [p for p in net.parameters() if p.requires_grad]
    if not parameters:
        return UNTRIED, "No parameter asks for a gradient."
    optimizer = torch.optim.Adam(parameters, lr=0.003)
    enough = 0.5 * math.log(subject.vocab_size)
    with mode(net, training=False):
        for step in range(1, num_steps + 1):
            loss = _loss(subject.read(net, subject.tokens), subject.tokens)
            if loss < enough:
                return HOLDS, f"Half of ln V is reached after {step} training steps."
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
    sentence = (
        f"After {num_steps} training steps on three texts, the loss is {loss:.2f}, "
    )
    sentence += f"more than half of ln V ({enough:.2f})."
    cause = "gradients that do not arrive, or too little width"
    return WARNS, sentence, cause, "chapter 8, One batch by heart"


EXAMINATIONS = (
    numbers, eval_mode, future, past, order, length, batch, parameters, layers, first_loss,
    by_heart, padding, cache,
)  # fmt: skip
