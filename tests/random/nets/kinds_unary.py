# SPDX-License-Identifier: BSD-2-Clause
"""Layers of one bottom whose top has its shape."""

from draw import Refused
from model import Word


def _unary(kind, message=None, fields=None, in_place=True, low=0, high=10):
    """The function that draws a layer of this type."""
    def make(d):
        bottom = d.bottom(low, high)
        pairs = fields(d, bottom) if fields else []
        body = [[message, pairs]] if message and pairs else []
        d.layer(kind, [bottom], [bottom.shape], body, in_place and d.chance(0.5))
    return make


def _some(d, **choices):
    """Each field with a high probability; omitted fields have their defaults."""
    return [[name, make()] for name, make in choices.items() if d.chance(0.7)]


def _clip(d, _bottom):
    low = d.real(-1.5, 0.4)
    return [["min", low + 0.001953125], ["max", low + d.real(0.1, 2)]]


def _positive(d, low, high):
    """An input of positive values, or an AbsVal's top raised above 0, which Log and odd powers need."""
    if d.chance(0.5):
        return d.input(d.shape(d.integer(low, high)), "positive")
    bottom = d.bottom(low, high)
    top = d.layer("AbsVal", [bottom], [bottom.shape])[0]
    return d.layer("Power", [top], [top.shape], [["power_param", [["shift", 0.5]]]], True)[0]


def _log(d):
    bottom = _positive(d, 1, 6)
    fields = _some(d, base=lambda: d.one(2.0, 10.0, -1.0), scale=lambda: d.real(0.2, 2),
                   shift=lambda: d.real(0, 1))
    d.layer("Log", [bottom], [bottom.shape], [["log_param", fields]], d.chance(0.4))


def _exp(d, _bottom):
    return _some(d, base=lambda: d.one(2.0, -1.0, 0.5), scale=lambda: d.real(-1, 1),
                 shift=lambda: d.real(-1, 1))


def _power(d):
    whole = d.chance(0.7)
    bottom = d.bottom(0, 10) if whole else _positive(d, 1, 6)
    fields = _some(d, power=lambda: d.one(0.0, 1.0, 1.0, 2.0, 2.0, 3.0) if whole else d.one(0.5, -1.0, 1.5),
                   scale=lambda: d.real(0.1, 1.5) * (d.one(1, -1) if whole else 1),
                   shift=lambda: d.real(-1 if whole else 0, 1))
    d.layer("Power", [bottom], [bottom.shape], [["power_param", fields]], d.chance(0.4))


def _relu(d, _bottom):
    return [["negative_slope", d.real(-0.5, 0.9)]] if d.chance(0.4) else []


def _elu(d, _bottom):
    return _some(d, alpha=lambda: d.real(-0.5, 1.5))


def _dropout(d):
    if d.net.phase != "TEST":
        raise Refused
    _unary("Dropout", "dropout_param", lambda d, b: _some(d, dropout_ratio=lambda: d.one(0.25, 0.5, 0.75)))(d)


def _prelu(d):
    bottom = d.bottom(2, 4)
    one = d.chance(0.4)
    fields = [["prelu_param", [["channel_shared", one]]]] + d.params([1 if one else bottom.shape[1]])
    d.layer("PReLU", [bottom], [bottom.shape], fields, d.chance(0.5))


def _batch_norm(d):
    bottom = d.bottom(1, 6)
    fields = _some(d, use_global_stats=lambda: d.chance(0.5), eps=lambda: d.one(1e-5, 1e-3, 0.1),
                   moving_average_fraction=lambda: d.one(0.999, 0.5, 0.9))
    d.layer("BatchNorm", [bottom], [bottom.shape], [["batch_norm_param", fields]], d.chance(0.5))


def _bn(d):
    bottom = d.bottom(4, 4)
    fields = [["bn_param", _some(d, bn_mode=lambda: Word(d.one("LEARN", "INFERENCE")))]]
    d.layer("BN", [bottom], [bottom.shape], fields, d.chance(0.4))


def _lrn(d, _bottom):
    return _some(d, local_size=lambda: d.one(1, 3, 5, 7), alpha=lambda: d.real(0.1, 1.5),
                 beta=lambda: d.one(0.5, 0.75, 1.0, 0.25), k=lambda: d.real(0.5, 2),
                 norm_region=lambda: Word(d.one("ACROSS_CHANNELS", "WITHIN_CHANNEL")))


def _mvn(d):
    """The top has four axes, whatever the bottom has."""
    bottom = d.bottom(2, 4)
    fields = _some(d, normalize_variance=lambda: d.chance(0.5), across_channels=lambda: d.chance(0.5),
                   eps=lambda: d.one(1e-9, 1e-3))
    shape = bottom.shape + [1] * (4 - bottom.rank)
    d.layer("MVN", [bottom], [shape], [["mvn_param", fields]] if fields else [])


def _softmax(d, bottom):
    if bottom.rank < 2 or d.chance(0.5):
        return [["axis", d.axis(d.integer(0, bottom.rank - 1), bottom.rank)]]
    return []


def _normalize(d, _bottom):
    return _some(d, across_spatial=lambda: d.chance(0.5), channel_shared=lambda: d.chance(0.5))


def _shuffle(d):
    bottom = d.bottom(4, 4)
    groups = [g for g in range(1, bottom.shape[1] + 1) if bottom.shape[1] % g == 0]
    d.layer("ShuffleChannel", [bottom], [bottom.shape], [["shuffle_channel_param", [["group", d.one(*groups)]]]])


KINDS = {
    "AbsVal": _unary("AbsVal"),
    "BN": _bn,
    "BNLL": _unary("BNLL"),
    "BatchNorm": _batch_norm,
    "Clip": _unary("Clip", "clip_param", _clip),
    "Dropout": _dropout,
    "ELU": _unary("ELU", "elu_param", _elu),
    "Exp": _unary("Exp", "exp_param", _exp),
    "GELU": _unary("GELU"),
    "HSigmoid": _unary("HSigmoid"),
    "HSwish": _unary("HSwish"),
    "HardSigmoid": _unary("HardSigmoid"),
    "HardSwish": _unary("HardSwish"),
    "LRN": _unary("LRN", "lrn_param", _lrn, False, 4, 4),
    "Log": _log,
    "Mish": _unary("Mish"),
    "MVN": _mvn,
    "Normalize": _unary("Normalize", "norm_param", _normalize, False, 4, 4),
    "PReLU": _prelu,
    "Power": _power,
    "ReLU": _unary("ReLU", "relu_param", _relu),
    "ReLU6": _unary("ReLU6"),
    "ShuffleChannel": _shuffle,
    "Sigmoid": _unary("Sigmoid"),
    "Softmax": _unary("Softmax", "softmax_param", _softmax, False, 1, 6),
    "Softplus": _unary("Softplus"),
    "Softsign": _unary("Softsign"),
    "Swish": _unary("Swish", "swish_param", lambda d, b: _some(d, beta=lambda: d.real(-1, 2))),
    "TanH": _unary("TanH"),
    "Threshold": _unary("Threshold", "threshold_param",
                        lambda d, b: _some(d, threshold=lambda: d.real(-1, 1) + 0.001953125)),
}
