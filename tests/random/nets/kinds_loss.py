# SPDX-License-Identifier: BSD-2-Clause
"""Losses, and Accuracy."""

from draw import Refused, count
from model import Word

NORMALIZATION = ("FULL", "VALID", "BATCH_SIZE", "NONE")


def _weight(d):
    return [["loss_weight", d.one(1.0, 0.5, 2.0, -1.0, 0.25)]] if d.chance(0.5) else []


def _loss(d, kind, bottoms, fields=(), more=()):
    """A loss with a top, or without one, which is then added by ferry."""
    tops = [[]] if d.chance(0.85) else []
    weight = _weight(d)
    for top in d.layer(kind, bottoms, tops + list(more), list(fields) + weight):
        top.values = "loss"


def _normalized(d):
    """loss_param: the ignored label and the divisor."""
    fields = []
    if d.chance(0.4):
        fields.append(["ignore_label", d.integer(0, 2)])
    if d.chance(0.5):
        fields.append(["normalization", Word(d.one(*NORMALIZATION))])
    elif d.chance(0.3):
        fields.append(["normalize", d.chance(0.5)])
    return [["loss_param", fields]] if fields else []


def _labels(d, bottom, axis):
    shape = bottom.shape[:axis] + bottom.shape[axis + 1:]
    if d.chance(0.3):
        shape = bottom.shape[:axis] + [1] + bottom.shape[axis + 1:]
    return d.input(shape, f"integers 0 {bottom.shape[axis] - 1}")


def _softmax_loss(d):
    bottom = d.bottom(1, 5)
    axis = 1 if bottom.rank > 1 and d.chance(0.7) else d.integer(0, bottom.rank - 1)
    fields = _normalized(d)
    if axis != 1:
        fields.append(["softmax_param", [["axis", d.axis(axis, bottom.rank)]]])
    labels = _labels(d, bottom, axis)
    if d.chance(0.15):
        tops = d.layer("SoftmaxWithLoss", [bottom, labels], [[], bottom.shape], fields)
        tops[0].values = tops[1].values = "loss"
    else:
        _loss(d, "SoftmaxWithLoss", [bottom, labels], fields)


def _euclidean(d):
    bottom = d.bottom(1, 6)
    pair = [bottom, d.other(bottom.shape)]
    if pair[0] is pair[1]:
        raise Refused
    _loss(d, "EuclideanLoss", pair)


def _sigmoid_loss(d):
    bottom = d.bottom(1, 5)
    _loss(d, "SigmoidCrossEntropyLoss", [bottom, d.input(bottom.shape, d.one("binary", "probability", "integers 0 2"))],
          _normalized(d))


def _hinge(d):
    bottom = d.bottom(2, 4)
    labels = d.input(bottom.shape[:1], f"integers 0 {count(bottom.shape[1:]) - 1}")
    fields = [["hinge_loss_param", [["norm", Word(d.one("L1", "L2"))]]]] if d.chance(0.6) else []
    _loss(d, "HingeLoss", [bottom, labels], fields)


def _probabilities(d, bottom):
    """A Softmax before the loss, whose logarithm needs probabilities."""
    return d.layer("Softmax", [bottom], [bottom.shape])[0]


def _multinomial(d):
    bottom = _probabilities(d, d.bottom(2, 4))
    labels = d.input(bottom.shape[:1], f"integers 0 {bottom.shape[1] - 1}")
    if count(bottom.shape[2:]) != 1:
        raise Refused
    _loss(d, "MultinomialLogisticLoss", [bottom, labels])


def _infogain(d):
    bottom = d.bottom(2, 4)
    axis = 1 if d.chance(0.7) else d.integer(0, bottom.rank - 1)
    n = bottom.shape[axis]
    fields = _normalized(d)
    if axis != 1:
        fields.append(["infogain_loss_param", [["axis", d.axis(axis, bottom.rank)]]])
    _loss(d, "InfogainLoss", [bottom, _labels(d, bottom, axis), d.input([1, 1, n, n], "probability")], fields)


def _contrastive(d):
    rows, width = d.integer(1, 5), d.integer(1, 6)
    shape = [rows, width] + [1] * d.one(0, 2)
    pair = [d.other(shape), d.other(shape)]
    if pair[0] is pair[1]:
        raise Refused
    fields = []
    if d.chance(0.7):
        fields = [["contrastive_loss_param", [["margin", d.real(0.5, 4)], ["legacy_version", d.chance(0.4)]]]]
    _loss(d, "ContrastiveLoss", pair + [d.input([rows], "binary")], fields)


def _accuracy(d):
    bottom = d.bottom(1, 5)
    axis = 1 if bottom.rank > 1 and d.chance(0.7) else d.integer(0, bottom.rank - 1)
    fields = []
    if d.chance(0.4):
        fields.append(["top_k", d.integer(1, bottom.shape[axis])])
    if axis != 1:
        fields.append(["axis", d.axis(axis, bottom.rank)])
    if d.chance(0.3):
        fields.append(["ignore_label", d.integer(0, 2)])
    tops = [[]] + ([[bottom.shape[axis]]] if d.chance(0.2) else [])
    for top in d.layer("Accuracy", [bottom, _labels(d, bottom, axis)], tops,
                       [["accuracy_param", fields]] if fields else []):
        top.values = "score"


KINDS = {
    "Accuracy": _accuracy,
    "ContrastiveLoss": _contrastive,
    "EuclideanLoss": _euclidean,
    "HingeLoss": _hinge,
    "InfogainLoss": _infogain,
    "MultinomialLogisticLoss": _multinomial,
    "SigmoidCrossEntropyLoss": _sigmoid_loss,
    "SoftmaxWithLoss": _softmax_loss,
}
