"""Save and restore the states of PyTorch's random number generators."""

import torch


def random_states() -> list[torch.Tensor]:
    """Return the RNG states of the CPU and of each CUDA device."""
    return [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]


def set_random_states(states: list[torch.Tensor]) -> None:
    """Restore RNG states from random_states(); ignore absent devices."""
    torch.set_rng_state(states[0])
    for device, state in zip(
        range(torch.cuda.device_count()), states[1:], strict=False
    ):
        torch.cuda.set_rng_state(state, device)
