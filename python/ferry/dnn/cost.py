# SPDX-License-Identifier: BSD-2-Clause
"""The number of operations that OpenCV counts for a layer, by its own rules: a grouped convolution counts as
one without groups."""

from math import prod

from .._library import lib


def count(shape):
    """The number of elements of a shape."""
    return prod(shape)


def _all(shapes):
    return sum(map(count, shapes))


def _per_output(times):
    return lambda _message, _params, _ins, outs: times * _all(outs)


def _convolution(_message, params, ins, outs):
    return _all(outs) * (2 * count(params[0][2:]) * ins[0][1] + 1)


def _deconvolution(_message, params, ins, outs):
    return 2 * count(params[0][2:]) * outs[0][1] * _all(ins)


def _inner_product(_message, params, _ins, outs):
    return 3 * params[0][-1] * _all(outs)


def _eltwise(_message, _params, ins, _outs):
    return _all(ins)


def _integer(message, name, other):
    value = lib.ferry_proto_integer(message, name, 0)
    return value or other


def _pooling(message, _params, _ins, outs):
    param = lib.ferry_proto_message(message, b"pooling_param", 0)
    side = _integer(param, b"kernel_size", 1)  # OpenCV counts 1 for global pooling
    window = _integer(param, b"kernel_h", side) * _integer(param, b"kernel_w", side)
    return _all(outs) * (window + (1 if lib.ferry_proto_integer(param, b"pool", 0) == 1 else 0))


def _prior_box(_message, _params, ins, outs):
    return sum(count(shape[2:]) for shape in ins) * (outs[0][2] // count(ins[0][2:]))


def _mvn(_message, _params, ins, outs):
    return 6 * _all(outs) + 3 * count(ins[0][:2])


_OF = {"BatchNorm": _per_output(3), "Convolution": _convolution, "Deconvolution": _deconvolution,
       "Eltwise": _eltwise, "InnerProduct": _inner_product, "MVN": _mvn, "PReLU": _per_output(1),
       "Pooling": _pooling, "PriorBox": _prior_box, "ReLU": _per_output(1), "Scale": _per_output(2),
       "Softmax": _per_output(4)}


def flops(_number, kind, message, params, ins, outs):
    """The operations of one layer; 0 for a type without a rule, such as one that only moves its input."""
    return _OF[kind](message, params, ins, outs) if kind in _OF else 0
