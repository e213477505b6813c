"""Exercises of chapter 9."""

import math
from copy import deepcopy

import torch
from torch.nn import functional as F

from d2lmini.check.exercise import Exercise
from d2lmini.losses import masked_cross_entropy, shift_right
from d2lmini.transformer import EncoderDecoder, TransformerDecoder, TransformerEncoder


def _batch(*shape, seed=0, lens=None):
    """Logits, labels, and lengths that differ between sentences."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(*shape, generator=generator)
    labels = torch.randint(shape[2], shape[:2], generator=generator)
    lens = torch.arange(1, shape[0] + 1) if lens is None else torch.tensor(lens)
    return logits, labels, lens


def training(
    shift=True, zero=True, anew=False, clip=True, weigh=True, by_epoch=True,
    optimiser=torch.optim.Adam,
):  # fmt: skip
    """Return a training loop, perhaps with mistakes: mean nats per target token, by epoch."""

    def trained(net, batches, lr, num_epochs):
        net = deepcopy(net)
        optimizer, epochs = optimiser(net.parameters(), lr=lr), []
        for _ in range(num_epochs):
            if anew:
                optimizer = optimiser(net.parameters(), lr=lr)
            means, counts = [], []
            for batch in batches:
                src, src_valid_lens, tgt, tgt_valid_lens = batch
                reads = shift_right(tgt, 2) if shift else tgt
                nats = masked_cross_entropy(
                    net(src, reads, src_valid_lens), tgt, tgt_valid_lens
                )
                if zero:
                    optimizer.zero_grad()
                nats.backward()
                if clip:
                    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                means.append(nats.item())
                counts.append(tgt_valid_lens.sum().item())
            weights = counts if weigh else [1] * len(counts)
            pairs = zip(means, weights, strict=True)
            epochs.append(sum(mean * n for mean, n in pairs) / sum(weights))
        return epochs if by_epoch else means

    return trained


def _training_case(seed, num_batches, num_epochs, lr=0.01, scale=10.0):
    """A small net, batches that differ in size, a learning rate, and a number of epochs.

    scale: of the output's weights. Clipping matters where logits are large.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        sizes = 6, 4, 8, 2, 1, 0.0
        net = EncoderDecoder(TransformerEncoder(*sizes), TransformerDecoder(*sizes))
        net.decoder.output.weight.data *= scale
        batches = []
        for n in range(1, num_batches + 1):
            sides = torch.randint(3, 6, (2, n, 3))
            lens, tgt_lens = torch.arange(n) % 3 + 1, (torch.arange(n) + 1) % 3 + 1
            batches.append((sides[0], lens, sides[1], tgt_lens))
    return net, batches, lr, num_epochs


def _drawn_training(dice):
    return _training_case(
        dice.random.getrandbits(32),
        dice.number(2, 3),
        dice.number(2, 3),
        dice.number(1, 3) / 100,
        dice.random.choice((0.5, 10.0)),
    )


def run(zero=True, once=True, back=True, weigh=True):
    """Return the loop to mend, with some of its mistakes: loss on other batches, by epoch."""

    def measured(net, batches, others, lr, num_epochs):
        net = deepcopy(net)
        optimizer, found = torch.optim.Adam(net.parameters(), lr=lr), []
        for _ in range(num_epochs):
            if not once:
                optimizer = torch.optim.Adam(net.parameters(), lr=lr)
            if back:
                net.train()
            for X, y in batches:
                loss = F.mse_loss(net(X), y)
                if zero:
                    optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            net.eval()
            with torch.no_grad():
                losses = [(F.mse_loss(net(X), y).item(), len(X)) for X, y in others]
            weights = [n if weigh else 1 for _, n in losses]
            pairs = zip(losses, weights, strict=True)
            found.append(sum(loss * n for (loss, _), n in pairs) / sum(weights))
        return found

    return measured


def _run_case(seed, num_batches, num_epochs, lr=0.05, sizes=(5, 2)):
    """A net with batch normalisation, batches of five, others of which the last is smaller."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(
            # Before a batch norm the gradient of a bias is rounding, which Adam would enlarge.
            torch.nn.Linear(3, 4, bias=False),
            torch.nn.BatchNorm1d(4),
            torch.nn.Linear(4, 1),
        )
        batches = [(torch.randn(5, 3), torch.randn(5, 1)) for _ in range(num_batches)]
        others = [(torch.randn(n, 3), torch.randn(n, 1)) for n in sizes]
    return net, batches, others, lr, num_epochs


def _drawn_run(dice):
    sizes = dice.number(4, 6), dice.number(1, 3)
    return _run_case(
        dice.random.getrandbits(32),
        dice.number(2, 4),
        dice.number(2, 4),
        dice.number(1, 5) / 100,
        sizes,
    )


def without_the_end(logits, labels, valid_lens):
    """A loss that leaves out the last real token of each sentence, its <eos>."""
    return masked_cross_entropy(logits, labels, (valid_lens - 1).clamp(min=1))


def _sentences_batch_case(dice):
    batch, steps, vocab_size = dice.sizes(3, low=3)
    labels = dice.below(vocab_size, batch, steps)
    return dice.normal(batch, steps, vocab_size), labels, dice.lengths(batch, steps, 2)


EXERCISES = [
    Exercise(
        "training-1",
        lambda loss: [math.exp(-loss), math.exp(loss), loss / math.log(2)],
        [(0.0,), (math.log(2),), (2.3,), (12.0,)],
        {
            "powers of 2: the loss is in nats, so the base is e": lambda loss: [
                2**-loss,
                2**loss,
                loss / math.log(2),
            ],
            "bits that are fewer than nats: one nat is 1 / ln 2 bits": lambda loss: [
                math.exp(-loss),
                math.exp(loss),
                loss * math.log(2),
            ],
            "probability and number of words exchanged": lambda loss: [
                math.exp(loss),
                math.exp(-loss),
                loss / math.log(2),
            ],
            "a probability of 1 - loss": lambda loss: [
                1 - loss,
                math.exp(loss),
                loss / math.log(2),
            ],
        },
        (
            "The loss is -ln(probability of the right word).",
            "A choice among n equally likely words has the probability 1 / n.",
            "ln 2 nats are one bit.",
        ),
        draw=lambda dice: (dice.random.uniform(0.1, 6),),
    ),
    Exercise(
        "training-2",
        training(),
        [
            _training_case(0, 1, 1),
            _training_case(1, 2, 3),
            _training_case(1, 2, 3, 0.03, 0.5),
        ],
        {
            'a decoder that reads the target itself; see "Without the shift"': training(
                shift=False
            ),
            "gradients that add up from batch to batch": training(zero=False),
            "an optimiser that is made anew for each epoch and forgets its estimates": (
                training(anew=True)
            ),
            "a training step without clipping": training(clip=False),
            "a mean of the batches' means: tokens of small batches count for more": (
                training(weigh=False)
            ),
            "losses of single batches, not one for each epoch": training(
                by_epoch=False
            ),
            "plain gradient descent instead of Adam": training(
                optimiser=torch.optim.SGD
            ),
        },
        (
            "Three loops, each inside the one before: epochs, batches, and one training step.",
            "seq2seq_loss(net, batch, 2) gives the mean and the number of tokens of a batch.",
            "Mean of an epoch: add up mean times count, and divide by the sum of the counts.",
        ),
        draw=_drawn_training,
    ),
    Exercise(
        "training-3",
        run(),
        [_run_case(0, 2, 2), _run_case(1, 3, 3), _run_case(2, 2, 2, 0.02, (4, 3))],
        {
            "the loop as it was given": run(False, False, False, False),
            "gradients that are never set to zero": run(zero=False),
            "an optimiser that is made anew for each epoch": run(once=False),
            "a net that stays in eval mode after the first epoch": run(back=False),
            "a mean of the batches' means: the last batch is smaller": run(weigh=False),
        },
        (
            "What does the optimiser remember from one epoch to the next? And the gradients?",
            "net.eval() has a counterpart. When is it needed?",
            "The last batch is smaller. Its mean must count for less.",
        ),
        draw=_drawn_run,
    ),
    Exercise(
        "training-4",
        without_the_end,
        [
            _batch(1, 3, 3, lens=[2]),
            _batch(2, 3, 2, lens=[3, 2]),
            _batch(2, 4, 5, lens=[4, 2]),
        ],
        {
            "a loss without a mistake": masked_cross_entropy,
            "a loss without the first token: it is the last that is missing": (
                lambda logits, labels, lens: masked_cross_entropy(
                    logits[:, 1:], labels[:, 1:], lens - 1
                )
            ),
            "a loss without the last step of the batch: only the longest sentence ends there": (
                lambda logits, labels, lens: masked_cross_entropy(
                    logits, labels, lens.clamp(max=max(1, labels.shape[1] - 1))
                )
            ),
            "a sum over the tokens without the last, divided by all of them": (
                lambda logits, labels, lens: (
                    without_the_end(logits, labels, lens)
                    * ((lens - 1).sum() / lens.sum())
                )
            ),
        },
        (
            "Let the logits of a single position be very wrong. Which positions move the loss?",
            "A mistake at the last real token of a sentence costs nothing.",
            "Which positions does it count as real? Try the masked loss with other lengths.",
        ),
        draw=_sentences_batch_case,
        unseen=True,
    ),
]
