"""Training a sequence-to-sequence net with teacher forcing."""

import math
import os
import sys
import time
import warnings
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

IGNORED = -100  # a label that is no token: cross-entropy leaves it out of sum and count


def try_gpu() -> torch.device:
    """The device that $D2LMINI_DEVICE names; without it cuda if there is one, else cpu.

    Raises:
        ValueError: D2LMINI_DEVICE is not cpu, cuda or mps, or this machine has no such device.
    Source: chapter 8.
    """
    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    name = os.environ.get("D2LMINI_DEVICE") or ("cuda" if available["cuda"] else "cpu")
    if name not in available:
        raise ValueError(f"D2LMINI_DEVICE ({name!r}) must be cpu, cuda or mps")
    if not available[name]:
        raise ValueError(f"D2LMINI_DEVICE ({name!r}) must be a device of this machine")
    return torch.device(name)


def xavier_init(net: nn.Module) -> None:
    """Draw the weights of every linear layer of net anew, Xavier uniform.

    Source: Glorot and Bengio 2010; chapter 8.
    """
    for module in net.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)


def masked_cross_entropy(
    logits: torch.Tensor,
    labels: torch.Tensor,
    valid_lens: torch.Tensor,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Cross-entropy over the real tokens of a padded batch.

    Args:
        label_smoothing: share of the target probability spread over the whole vocabulary.
    Shapes:
        logits: (batch, steps, vocab_size)
        labels: (batch, steps)
        valid_lens: (batch,), the number of real tokens of each row
    Returns:
        Mean nats per non-pad target token, a scalar.
    Source: chapter 8.
    """
    steps = torch.arange(labels.shape[1], device=labels.device)
    labels = labels.masked_fill(steps >= valid_lens[:, None], IGNORED)
    return F.cross_entropy(
        logits.flatten(0, 1),  # (batch * steps, vocab_size)
        labels.flatten(),  # (batch * steps,)
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
    )


def shift_right(labels: torch.Tensor, bos: int) -> torch.Tensor:
    """The decoder's input under teacher forcing: <bos>, then all labels but the last.

    Shapes:
        labels: (batch, steps), and so the result
    Source: chapter 8.
    """
    return F.pad(labels, (1, -1), value=bos)


class NotFiniteError(ArithmeticError):
    """The loss or its gradient became infinite or NaN; step counts from 1 in its epoch."""

    step = None


def train_step(net, batch, optimizer, bos, label_smoothing=0.0):
    """One batch forward, one backward, one step of the optimiser.

    Returns:
        The loss in nats per target token.
    Raises:
        NotFiniteError: the loss or the gradient's norm is not finite; no step was made.
    Source: chapter 8.
    """
    src, src_valid_lens, tgt, tgt_valid_lens = batch
    # Steps that are padding in every row are work for nothing.
    src, tgt = src[:, : src_valid_lens.max()], tgt[:, : tgt_valid_lens.max()]
    reads = shift_right(tgt, bos)
    logits = net(src, reads, src_valid_lens)  # (batch, steps, vocab_size)
    loss = masked_cross_entropy(logits, tgt, tgt_valid_lens, label_smoothing)
    optimizer.zero_grad()
    loss.backward()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    norm = nn.utils.clip_grad_norm_(parameters, max_norm=1.0).item()
    if not math.isfinite(loss.item() + norm):
        raise NotFiniteError(
            f"loss ({loss.item()}) and gradient norm ({norm}) must be finite"
        )
    optimizer.step()
    return loss.item()


def train_epoch(net, train_iter, optimizer, schedule, bos, device, label_smoothing=0.0):
    """train_step on each batch.

    Returns:
        The loss, mean nats per target token, and the target tokens per second.
    Raises:
        NotFiniteError: see train_step; its step is set.
    Source: chapter 8.
    """
    start, nats, num_tokens = time.perf_counter(), 0.0, 0
    for step, batch in enumerate(train_iter, start=1):
        batch = [array.to(device) for array in batch]
        try:
            loss = train_step(net, batch, optimizer, bos, label_smoothing)
        except NotFiniteError as error:
            error.step = step
            raise
        schedule.step()
        batch_tokens = batch[3].sum().item()
        nats, num_tokens = nats + loss * batch_tokens, num_tokens + batch_tokens
    return nats / num_tokens, num_tokens / (time.perf_counter() - start)


def warmup(warmup_steps: int) -> Callable[[int], float]:
    """Factor on the learning rate by step: up linearly for warmup_steps, then 1 / sqrt(step).

    Args:
        warmup_steps: 0 gives the constant 1.
    Source: Vaswani et al. 2017, section 5.3; chapter 8.
    """

    def factor(step):
        if warmup_steps == 0:
            return 1.0
        return min((step + 1) / warmup_steps, math.sqrt(warmup_steps / (step + 1)))

    return factor


def train_seq2seq(
    net,
    train_iter,
    lr,
    num_epochs,
    tgt_vocab,
    device,
    *,
    warmup_steps=0,
    label_smoothing=0.0,
):
    """Train net with teacher forcing: Adam, gradients clipped to norm 1.

    A progress bar goes to stderr, plain lines where the variable CI is set. Ctrl-C stops the
    training. So does a loss that is not finite, with a warning that names the step, and the
    weights of the last epoch that ended well are put back.

    Args:
        lr: learning rate; with a warm-up, its peak.
        warmup_steps: see warmup.
        label_smoothing: see masked_cross_entropy.
    Returns:
        A pandas table, one row a finished epoch: loss (mean nats per target token, dropout on)
        and tokens_per_sec (target tokens, padding not counted).
    Source: chapter 8.
    """
    # Imported here: it takes longer to import than all of d2lmini.
    from pandas import DataFrame

    net.to(device).train()
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(warmup_steps))
    history, snapshots = [], [_copy_weights(net)]  # after each epoch; two are kept
    epochs = range(1, num_epochs + 1)
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    bar = tqdm(epochs, "training", unit="epoch", disable=in_ci)
    try:
        for epoch in bar:
            args = optimizer, schedule, tgt_vocab.bos, device, label_smoothing
            history.append(train_epoch(net, train_iter, *args))
            snapshots = [snapshots[-1], _copy_weights(net)]
            _report(bar, epoch, *history[-1])
    except KeyboardInterrupt:
        print(f"stopped by hand after {len(history)} epochs", file=sys.stderr)
    except NotFiniteError as error:
        # What fails at the first step was broken by the last step of the epoch before.
        good = max(len(history) - 1, 0) if error.step == 1 else len(history)
        net.load_state_dict(snapshots[0 if error.step == 1 else -1])
        warnings.warn(
            f"training stopped at epoch {len(history) + 1}, step {error.step}: {error}. The "
            f"weights after epoch {good} are back in place; try a smaller lr than {lr}",
            RuntimeWarning,
            stacklevel=2,
        )
    index = range(1, len(history) + 1)
    return DataFrame(history, index, ["loss", "tokens_per_sec"]).rename_axis("epoch")


def _copy_weights(net):
    """The state of net now; its own tensors go on changing."""
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def _report(bar, epoch, loss, tokens_per_sec):
    """Show an epoch on the bar; every tenth and the last as a line where there is no bar."""
    bar.set_postfix(loss=f"{loss:.3f}", tokens_per_sec=f"{tokens_per_sec:.0f}")
    if bar.disable and (epoch % 10 == 0 or epoch == bar.total):
        line = f"epoch {epoch}: loss {loss:.3f}, {tokens_per_sec:.0f} tokens/s"
        print(line, file=sys.stderr)
