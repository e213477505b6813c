"""Where PyTorch's random numbers are."""

import torch


def random_states() -> list[torch.Tensor]:
    """The states of PyTorch's random generators: of the CPU, and of each CUDA device."""
    return [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]


def set_random_states(states: list[torch.Tensor]) -> None:
    """Draw on from random_states(); of devices that are not here, nothing is set."""
    torch.set_rng_state(states[0])
    for device, state in zip(
        range(torch.cuda.device_count()), states[1:], strict=False
    ):
        torch.cuda.set_rng_state(state, device)
