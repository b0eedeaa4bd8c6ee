# SPDX-License-Identifier: BSD-2-Clause
"""Layers that combine blobs: Scale and Bias with parameters and with operands, Eltwise, Axpy."""

from draw import Refused, count
from model import Word


def _span(d, bottom):
    """Axes [first, last) of a blob, for a parameter or an operand."""
    first = 1 if bottom.rank > 1 and d.chance(0.5) else d.integer(0, max(bottom.rank - 1, 0))
    last = min(first + 1, bottom.rank) if d.chance(0.5) else d.integer(first, bottom.rank)
    return first, last


def _axis(d, first, rank):
    return [["axis", d.axis(first, rank)]] if first != 1 or d.chance(0.2) else []


def _with_parameters(d, kind, message, bottom):
    first, last = _span(d, bottom)
    fields = _axis(d, first, bottom.rank)
    if last - first != 1 or d.chance(0.2):
        fields.append(["num_axes", -1 if last == bottom.rank and d.chance(0.5) else last - first])
    bias = kind == "Scale" and d.chance(0.4)
    if bias:
        fields.append(["bias_term", True])
    shape = bottom.shape[first:last]
    more = d.params(shape, shape) if bias else d.params(shape)
    d.layer(kind, [bottom], [bottom.shape], [[message, fields]] + more, d.chance(0.5))


def _with_operand(d, kind, message, bottom):
    """The second bottom covers axes first to last of the first one, whose shape the top has."""
    first, last = _span(d, bottom)
    shape = bottom.shape[first:last]
    operand = _made(d, shape) if d.chance(0.4) else d.other(shape)
    fields = _axis(d, first, bottom.rank)
    more = d.params(shape)
    if kind == "Scale" and d.chance(0.2):
        fields.append(["bias_term", True])
    else:
        more = []
    d.layer(kind, [bottom, operand], [bottom.shape], ([[message, fields]] if fields else []) + more,
            operand is not bottom and d.chance(0.4))


def _made(d, shape):
    """A blob of this shape that layers compute from another: the branch of a squeeze or of a condition."""
    size = count(shape)
    source = d.pick(lambda b: 1 < b.rank <= 4)
    if d.chance(0.5):
        top = d.layer("InnerProduct", [source], [[source.shape[0], size]],
                      [["inner_product_param", [["num_output", size]]]])[0]
        if source.shape[0] > 1:
            top = d.layer("Reduction", [d.layer("Permute", [top], [[size, source.shape[0]]],
                                                [["permute_param", [["order", 1], ["order", 0]]]])[0]],
                          [[size]], [["reduction_param", [["axis", 1], ["operation", Word("MEAN")]]]])[0]
    else:
        source = d.pick(lambda b: b.rank == 4 and b.shape[0] == 1)
        top = d.layer("Convolution", [source], [[1, size] + source.shape[2:]],
                      [["convolution_param", [["num_output", size], ["kernel_size", 1]]]])[0]
        top = d.layer("Pooling", [top], [[1, size, 1, 1]],
                      [["pooling_param", [["pool", Word("AVE")], ["global_pooling", True]]]])[0]
    if d.chance(0.5):
        top = d.layer("Sigmoid", [top], [top.shape], [], True)[0]
    if top.shape != list(shape):
        top = d.layer("Reshape", [top], [shape], [["reshape_param", [["shape", [["dim", n] for n in shape]]]]])[0]
    return top


def _span_layer(kind, message):
    def make(d):
        bottom = d.bottom(1, 8)
        (_with_parameters if d.chance(0.4) else _with_operand)(d, kind, message, bottom)
    return make


def _excite(d):
    """Squeeze and excitation, or a condition (FiLM), after a layer with weights: the output of a branch of
    the net scales or shifts the channels of each image."""
    bottom = d.bottom(4, 4)
    kind = d.one("Convolution", "Deconvolution", "InnerProduct")
    out = d.integer(1, 5)
    if kind == "InnerProduct":
        body = d.layer(kind, [bottom], [[bottom.shape[0], out]], [["inner_product_param", [["num_output", out]]]])[0]
    else:
        body = d.layer(kind, [bottom], [[bottom.shape[0], out] + bottom.shape[2:]],
                       [["convolution_param", [["num_output", out], ["kernel_size", 1]]]])[0]
    if d.chance(0.3):
        body = d.layer("ReLU", [body], [body.shape], [], d.chance(0.7))[0]
    squeezed = body
    if body.rank == 4:
        squeezed = d.layer("Pooling", [body], [body.shape[:2] + [1, 1]],
                           [["pooling_param", [["pool", Word("AVE")], ["global_pooling", True]]]])[0]
    gate = d.layer("InnerProduct", [squeezed], [[body.shape[0], out]],
                   [["inner_product_param", [["num_output", out]]]])[0]
    gate = d.layer(d.one("Sigmoid", "TanH"), [gate], [gate.shape], [], d.chance(0.6))[0]
    for name in d.one(("Scale",), ("Bias",), ("Scale", "Bias")):
        message = {"Scale": "scale_param", "Bias": "bias_param"}[name]
        body = d.layer(name, [body, gate], [body.shape], [[message, [["axis", 0]]]],
                       d.chance(0.4) and body.users == 0)[0]


def _widen(d):
    """A two-bottom Scale or Bias whose first bottom is small and whose operand is the layer with weights."""
    bottom = d.bottom(4, 4)
    out = d.integer(1, 4)
    operand = d.layer("Convolution", [bottom], [[bottom.shape[0], out] + bottom.shape[2:]],
                      [["convolution_param", [["num_output", out], ["kernel_size", 1]]]])[0]
    lead = d.shape(d.integer(0, 1))
    body = d.other(lead + operand.shape)
    kind, message = d.one(("Scale", "scale_param"), ("Bias", "bias_param"))
    d.layer(kind, [body, operand], [body.shape], [[message, [["axis", len(lead)]]]])


def _eltwise(d):
    bottom = d.bottom(0, 10)
    bottoms = [bottom] + [bottom if d.chance(0.1) else d.other(bottom.shape) for _ in range(d.one(1, 1, 1, 2, 3))]
    operation = d.one("PROD", "SUM", "SUM", "SUM", "MAX")
    fields = [["operation", Word(operation)]] if operation != "SUM" or d.chance(0.3) else []
    if operation == "SUM" and d.chance(0.5):
        fields += [["coeff", d.one(1.0, -1.0, d.real(-2, 2))] for _ in bottoms]
    if operation == "PROD" and d.chance(0.3):
        fields.append(["stable_prod_grad", d.chance(0.5)])
    d.layer("Eltwise", bottoms, [bottom.shape], [["eltwise_param", fields]] if fields else [], d.chance(0.15))


def _axpy(d):
    x = d.bottom(4, 4)
    gate = d.other(x.shape[:2] + d.one([], [1, 1]))
    d.layer("Axpy", [gate, x, d.other(x.shape)], [x.shape])


def _operand(d):
    """A two-bottom layer directly after a blob that a layer in place has written."""
    bottom = d.bottom(2, 6)
    if not d.may_write(bottom):
        raise Refused
    d.layer(d.one("ReLU", "Sigmoid", "TanH", "ELU"), [bottom], [bottom.shape], [], True)
    d.one(_with_operand, _with_parameters)(d, *d.one(("Scale", "scale_param"), ("Bias", "bias_param")), bottom)


def _kept(d):
    """A layer whose backward pass reads its result, after one with parameters, and a layer in place that
    overwrites that result."""
    bottom = d.bottom(4, 4)
    if d.chance(0.7):
        bottom = d.layer("Convolution", [bottom], [[bottom.shape[0], 3] + bottom.shape[2:]],
                         [["convolution_param", [["num_output", 3], ["kernel_size", 1]]]])[0]
    kind = d.one("LRN", "LRN", "Softmax", "MVN", "Sigmoid", "TanH", "ELU", "Exp")
    fields = []
    if kind == "LRN":
        region = d.one("ACROSS_CHANNELS", "WITHIN_CHANNEL", "WITHIN_CHANNEL")
        fields = [["lrn_param", [["local_size", d.one(3, 5)], ["alpha", d.real(0.5, 2)],
                                 ["norm_region", Word(region)]]]]
    top = d.layer(kind, [bottom], [bottom.shape], fields)[0]
    _overwrite(d, top)


def _overwrite(d, blob):
    kind = d.one("Power", "ReLU", "TanH")
    fields = [["power_param", [["scale", d.real(1, 2)], ["shift", 0.5]]]] if kind == "Power" else []
    return d.layer(kind, [blob], [blob.shape], fields, True)[0]


def _likeness(d):
    """A Crop of which only the second bottom depends on parameters."""
    bottom = d.input(d.shape(4))
    like = d.layer("Scale", [d.input(bottom.shape)], [bottom.shape])[0]
    bottoms = [bottom, like] if d.chance(0.8) else [like, bottom]
    d.layer("Crop", bottoms, [bottom.shape])


def _weighed(d):
    """A loss weight on a top whose memory a layer in place overwrites."""
    bottom = d.bottom(1, 4)
    tops = d.layer("Split", [bottom], [bottom.shape] * 2)
    if d.chance(0.5):
        _overwrite(d, tops[1])
        d.net.layers[-2].fields += [["loss_weight", 1.0], ["loss_weight", 0.0]]
    else:
        d.layer("Reshape", tops[:1], [bottom.shape], [["reshape_param", [["shape", [["dim", 0]]], ["num_axes", 1]]],
                                                      ["loss_weight", 0.5]])
        _overwrite(d, tops[1])


KINDS = {
    "Again": lambda d: d.again(),
    "Axpy": _axpy,
    "Bias": _span_layer("Bias", "bias_param"),
    "Eltwise": _eltwise,
    "Excite": _excite,
    "Kept": _kept,
    "Likeness": _likeness,
    "Operand": _operand,
    "Scale": _span_layer("Scale", "scale_param"),
    "Weighed": _weighed,
    "Widen": _widen,
}
