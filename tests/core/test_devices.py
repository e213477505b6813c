import pytest
import torch

from d2lmini import try_gpu
from d2lmini.support import devices


@pytest.fixture(autouse=True)
def nothing_remembered():
    devices.agrees_with_cpu.cache_clear()
    yield
    devices.agrees_with_cpu.cache_clear()


def test_device(monkeypatch):
    monkeypatch.setenv("D2LMINI_DEVICE", "cpu")
    assert try_gpu() == torch.device("cpu")
    monkeypatch.setenv("D2LMINI_DEVICE", "gpu")
    with pytest.raises(ValueError, match=r"D2LMINI_DEVICE \('gpu'\) must be cpu,"):
        try_gpu()
    if not torch.cuda.is_available():
        monkeypatch.setenv("D2LMINI_DEVICE", "cuda")
        with pytest.raises(ValueError, match=r"\('cuda'\) must be a device of this"):
            try_gpu()
    monkeypatch.delenv("D2LMINI_DEVICE")
    assert try_gpu().type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("error", [0.0, 1e-6, 0.1, float("nan")])
def test_mps_is_taken_only_if_it_computes_what_the_cpu_does(monkeypatch, error):
    on_cpu = devices.one_batch("cpu")
    results = {"cpu": on_cpu, "mps": [on_cpu[0] + error, *on_cpu[1:]]}
    monkeypatch.setenv("D2LMINI_DEVICE", "mps")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(devices, "one_batch", results.get)
    if error in (0.0, 1e-6):
        assert try_gpu() == torch.device("mps")
        return
    with pytest.warns(RuntimeWarning, match="mps differs from the CPU by"):
        assert try_gpu() == torch.device("cpu")
    assert try_gpu() == torch.device("cpu")  # and says so once


def test_the_batch_tells_wrong_numbers_apart():
    """A deviation in any of its numbers counts, and the batch is the same each time."""
    first = devices.one_batch("cpu")
    torch.rand(1)  # whatever was drawn in between
    second = devices.one_batch("cpu")
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert all(tensor.isfinite().all() and tensor.any() for tensor in first)
