import functools
import inspect
import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from d2lmini import EncoderDecoder, TransformerDecoder, TransformerEncoder, Vocab
from tools.browser import NoBrowser, chromium

# Real data sets, where they lie beside the checkout.
SHARED = Path(__file__).parents[2] / "shared" / "data"
if SHARED.is_dir():
    os.environ.setdefault("D2LMINI_DATA", str(SHARED))

# The same examples in each run, and no limit on time: a slow machine is no failure.
settings.register_profile("book", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("book")


def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("in_browser")


def for_each(values):
    """Run a test for each value, in one test; an error says for which."""

    cases = [*values]

    def decorate(test):
        @functools.wraps(test)
        def run(**fixtures):
            for value in cases:
                try:
                    test(value, **fixtures)
                except BaseException as error:
                    error.add_note(f"for {getattr(value, 'name', value)}")
                    raise

        parameters = list(inspect.signature(test).parameters.values())
        run.__signature__ = inspect.Signature(parameters[1:])
        return run

    return decorate


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def tiny_net(src_size=11, tgt_size=13, dropout=0.0):
    """An untrained translator in eval mode: d = 8, 2 heads, 2 layers."""
    sizes = 8, 16, 2, 2, dropout
    encoder = TransformerEncoder(src_size, *sizes)
    decoder = TransformerDecoder(tgt_size, *sizes)
    return EncoderDecoder(encoder, decoder).eval()


# Two small languages, and a translator from one to the other.
SRC, TGT = Vocab(["a b c d e f g"]), Vocab(["r s t u v w x y z"])


def random_net(seed):
    """A translator of SRC into TGT that knows nothing."""
    torch.manual_seed(seed)
    return tiny_net(len(SRC), len(TGT))


@pytest.fixture
def fra_eng(monkeypatch):
    """The real corpus, where D2LMINI_DATA points at it."""
    from d2lmini.data.registry import REGISTRY, data_folder

    path = data_folder() / REGISTRY["fra-eng"].splits["train"][0].path
    if not path.exists():
        pytest.skip(f"fra-eng is not at {path}; set D2LMINI_DATA to its folder")
    return path


@pytest.fixture(autouse=True)
def no_download(monkeypatch, request):
    """No test reaches for the network."""

    def refuse(file, path):
        pytest.fail(f"a test wants to download {file.url}")

    if request.module.__name__ != "test_registry":  # which has a server of its own
        monkeypatch.setattr("d2lmini.data.registry.download", refuse)


@pytest.fixture(scope="session")
def without_browser():
    """What to call where there is no browser: a reader does without its tests, CI does not."""
    return pytest.fail if os.environ.get("CI") else pytest.skip


@pytest.fixture(scope="session")
def browser(without_browser):
    """The Chromium of this machine, without a network."""
    try:
        with chromium() as found:
            yield found
    except NoBrowser as error:
        without_browser(str(error))


DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
DEVICES += ["mps"] * torch.backends.mps.is_available()


@pytest.fixture(params=DEVICES)
def each_device(request):
    """The test is run on every device of this machine: tensors and nets are made there."""
    if request.param == "cpu":
        yield
        return
    with torch.device(request.param):
        yield


def generator(seed):
    """Random numbers of their own, on the device of the test."""
    return torch.Generator(torch.get_default_device()).manual_seed(seed)
