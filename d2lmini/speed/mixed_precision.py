"""Training steps for large networks: 16 bits a number, and a batch in several parts."""

import torch
from torch import nn

from d2lmini.support.arguments import check_arguments


class MixedPrecisionStep:
    """training.train_step with 16-bit matrix products, on a batch split into num_parts parts.

    Weights, gradients and the optimiser stay in float32. A batch whose gradient is not finite is
    skipped and counted. float16 needs this: to use its narrow range the loss is scaled up until
    a gradient overflows.

    Args:
        device: of the training.
        dtype: of the matrix products; with float32 nothing is skipped.
        num_parts: parts into which the rows of a batch are split; gradients accumulate to those
            of the whole batch, in the memory of one part.
    Raises:
        TypeError, ValueError: dtype is another; num_parts is less than 1, or more than 1 where
            several processes train.
    Source: Micikevicius et al. 2018; the page "Making it fast".
    """

    def __init__(self, device, dtype=torch.bfloat16, num_parts=1):
        check_arguments(device=device, num_parts=num_parts)
        known = torch.bfloat16, torch.float16, torch.float32
        if dtype not in known:
            raise ValueError(f"dtype ({dtype}) must be one of {known}")
        self.device = torch.device(device)
        self.dtype, self.num_parts = dtype, num_parts
        self.is_mixed = dtype != torch.float32
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.is_mixed)
        self.skipped = torch.zeros((), dtype=torch.long, device=device)

    def __str__(self):
        return f"{type(self).__name__}, {self.dtype}, num_parts {self.num_parts}"

    def __call__(self, net, batch, loss, optimizer):
        """Run one batch, as train_step; a skipped batch returns mean 0 and count 0."""
        optimizer.zero_grad()
        total, count, guess = 0.0, 0, None
        for part in self.parts_of(batch):
            with torch.autocast(self.device.type, self.dtype, enabled=self.is_mixed):
                mean, part_count = loss(net, part)
            if guess is None:  # at the count of the whole batch
                guess = self.num_parts * torch.as_tensor(part_count).clamp(min=1)
            share = mean * (part_count / guess)
            self.scaler.scale(share).backward()  # the gradients of the parts add up
            total = total + mean.detach() * part_count
            count = count + part_count
        self.scaler.unscale_(optimizer)
        if self.num_parts > 1:
            for parameter in net.parameters():
                if parameter.grad is not None:
                    parameter.grad *= guess / count
        norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
        self.scaler.step(optimizer)  # does nothing if a gradient was not finite
        self.scaler.update()
        finite = (total + norm).isfinite()
        if not self.is_mixed:
            return total / count, count, finite
        self.skipped += ~finite
        mean = torch.where(finite, total / count, 0.0)
        return mean, finite * count, torch.ones_like(finite)

    def parts_of(self, batch):
        """Split the rows of a batch into num_parts nearly equal parts, none of them empty."""
        if self.num_parts == 1:
            return [batch]
        if torch.distributed.is_initialized():
            raise ValueError(
                f"num_parts ({self.num_parts}) must be 1 where several processes train: "
                "they would not have equally many parts"
            )
        num_parts = min(self.num_parts, len(batch[0]))
        return zip(*(array.tensor_split(num_parts) for array in batch), strict=True)

    def state_dict(self) -> dict:
        """State for a checkpoint."""
        return {"scaler": self.scaler.state_dict(), "skipped": self.skipped.cpu()}

    def load_state_dict(self, state: dict) -> None:
        """Restore what state_dict returned."""
        self.scaler.load_state_dict(state["scaler"])
        self.skipped = state["skipped"].to(self.device)
