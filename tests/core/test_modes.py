"""Functions that use a net leave it in the mode it was in."""

import functools

import pytest
import torch
from conftest import tiny_net
from torch import nn

from d2lmini import EncoderDecoder, Vocab, evaluate, predict_seq2seq, translate_all
from d2lmini.support.modes import eval_mode
from d2lmini.tasks.classification import Classifier, classify
from d2lmini.tasks.trajectories import PathDecoder, PathEncoder, roll_out

VOCAB = Vocab(["a b c d e f g"])  # with the reserved tokens 11
SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 16, "num_heads": 2}
SIZES |= {"num_layers": 1, "dropout": 0.5}


def classifier():
    return Classifier(tiny_net(dropout=0.5).encoder, 8, 2, 0.5)


def walker():
    return EncoderDecoder(PathEncoder(**SIZES), PathDecoder(**SIZES))


def loss(net, batch):
    assert not any(module.training for module in net.modules())
    return batch[0].mean(), 1


translator = functools.partial(tiny_net, 11, 11, dropout=0.5)
CALLS = {
    "evaluate": (translator, lambda net: evaluate(net, [(torch.ones(1),)], loss, "cpu")),
    "predict_seq2seq": (
        translator, lambda net: predict_seq2seq(net, "a b", VOCAB, VOCAB, 5, "cpu")),
    "predict_seq2seq, beam": (
        translator, lambda net: predict_seq2seq(net, "a b", VOCAB, VOCAB, 5, "cpu", 2)),
    "translate_all": (
        translator, lambda net: translate_all(net, ["a b"], VOCAB, VOCAB, 5, "cpu")),
    "classify": (classifier, lambda net: classify(net, "a b", VOCAB, 5, "cpu")),
    "roll_out": (walker, lambda net: roll_out(net, torch.randn(2, 4, 2) / 9, 3)),
}  # fmt: skip


def modes(net):
    return {name: module.training for name, module in net.named_modules()}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_the_mode_is_as_it_was(name, mixed, fails):
    make, call = CALLS[name]
    net, seen = make().train(), []
    if mixed:  # as when only a part of it is trained
        net.encoder.eval()
    before = modes(net)
    net.encoder.register_forward_hook(lambda *_: seen.append(net.training))
    if fails and name != "evaluate":
        net.encoder.register_forward_hook(lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            call(net)
    else:
        call(net)
    assert modes(net) == before and not any(seen)


def test_eval_mode_ends_with_an_error():
    net = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3).eval())
    with pytest.raises(KeyboardInterrupt), eval_mode(net):
        assert not net[0].training
        raise KeyboardInterrupt
    assert net.training and net[0].training and not net[1].training
