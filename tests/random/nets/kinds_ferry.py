# SPDX-License-Identifier: BSD-2-Clause
"""ferry's own layer types."""

from draw import Refused, count
from model import Word


def _repeated(d, shape):
    """A shape that broadcasts to `shape`: some axes of one element, some left out in front."""
    out = [1 if d.chance(0.4) else n for n in shape]
    return out[d.integer(0, len(out) - 1):] if d.chance(0.4) else out


def _binary(d):
    bottom = d.bottom(1, 5)
    what = d.one("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE")
    other = d.input(_repeated(d, bottom.shape), "positive" if what == "DIVIDE" else "values")
    bottoms = [bottom, other]
    if what != "DIVIDE" and d.chance(0.4):
        bottoms.reverse()
    fields = [["operation", Word(what)]] if what != "ADD" or d.chance(0.3) else []
    d.layer("Binary", bottoms, [bottom.shape], [["binary_param", fields]] if fields else [])


def _layer_norm(d):
    bottom = d.bottom(1, 5)
    axis = d.integer(0, bottom.rank - 1)
    fields = [["axis", d.axis(axis, bottom.rank)], ["eps", d.one(1e-3, 0.1, 1.0)]]
    d.layer("LayerNorm", [bottom], [bottom.shape], [["layer_norm_param", fields]])


def _log_softmax(d):
    bottom = d.bottom(2, 5)
    axis = d.integer(0, bottom.rank - 1)
    fields = [["axis", d.axis(axis, bottom.rank)]] if axis != 1 or d.chance(0.2) else []
    d.layer("LogSoftmax", [bottom], [bottom.shape], [["softmax_param", fields]] if fields else [])


def _pad(d):
    bottom = d.bottom(1, 5)
    mode = d.one("CONSTANT", "CONSTANT", "EDGE", "REFLECT")
    begin, end = [], []
    for n in bottom.shape:
        least, most = (-1 if mode == "CONSTANT" and n > 2 else 0), (min(n - 1, 2) if mode == "REFLECT" else 2)
        begin.append(d.integer(least, most) if d.chance(0.6) else 0)
        end.append(d.integer(least, most) if d.chance(0.6) else 0)
    shape = [b + n + e for b, n, e in zip(begin, bottom.shape, end)]
    if count(shape) > 1500:
        raise Refused
    fields = [["begin", n] for n in begin] + [["end", n] for n in end]
    if mode != "CONSTANT":
        fields.append(["mode", Word(mode)])
    elif d.chance(0.5):
        fields.append(["value", d.one(-2.0, 0.5)])
    top = d.layer("Pad", [bottom], [shape], [["pad_param", fields]])[0]
    if mode != "CONSTANT":
        top.values = "chosen"  # it has no gradient


def _reduce(d):
    bottom = d.bottom(1, 5)
    what = d.one("SUM", "MEAN", "ASUM", "SUMSQ", "MAX")
    axes = sorted(d.rng.sample(range(bottom.rank), d.integer(1, bottom.rank)))
    keep = d.chance(0.6)
    shape = [1 if i in axes else n for i, n in enumerate(bottom.shape) if keep or i not in axes]
    fields = [["axis", d.axis(i, bottom.rank)] for i in axes]
    if what != "SUM" or d.chance(0.2):
        fields.append(["operation", Word(what)])
    if not keep:
        fields.append(["keep_axes", False])
    top = d.layer("Reduce", [bottom], [shape], [["reduce_param", fields]])[0]
    if what == "MAX":
        top.values = "chosen"  # it has no gradient


def _resize(d):
    bottom = d.bottom(2, 4)
    axes = [2, 3] if bottom.rank == 4 and d.chance(0.6) else \
        sorted(d.rng.sample(range(bottom.rank), d.integer(1, 2)))
    sizes = [d.integer(1, 9) for _ in axes]
    shape = list(bottom.shape)
    for axis, size in zip(axes, sizes):
        shape[axis] = size
    if count(shape) > 1500:
        raise Refused
    method = d.one("NEAREST", "LINEAR", "CUBIC")
    sampling = d.one("HALF_PIXEL", "ALIGN_CORNERS", "ASYMMETRIC", "PYTORCH_HALF_PIXEL")
    if method == "NEAREST":  # whole ratios: else float and double may round a coordinate to different inputs
        sampling = d.one("HALF_PIXEL", "ASYMMETRIC")
        sizes = [bottom.shape[axis] * d.integer(1, 3) for axis in axes]
        for axis, size in zip(axes, sizes):
            shape[axis] = size
        if count(shape) > 1500:
            raise Refused
    fields = [["axis", axis] for axis in axes] + [["size", size] for size in sizes]
    fields += [["method", Word(method)], ["sampling", Word(sampling)]]
    if method == "NEAREST":
        rounding = d.one("ROUND_PREFER_FLOOR", "ROUND_PREFER_CEIL") if sampling == "HALF_PIXEL" else "FLOOR"
        fields.append(["rounding", Word(rounding)])
    if method != "NEAREST" and d.chance(0.3):
        fields.append(["exclude_outside", True])
    d.layer("Resize", [bottom], [shape], [["resize_param", fields]])


def _strided_slice(d):
    bottom = d.bottom(1, 5)
    axes = sorted(d.rng.sample(range(bottom.rank), d.integer(1, bottom.rank)))
    shape, fields = list(bottom.shape), []
    for axis in axes:
        n = bottom.shape[axis]
        begin = d.integer(0, n - 1)
        end, step = d.integer(begin + 1, n), d.integer(1, 3)
        shape[axis] = (end - begin - 1) // step + 1
        fields += [["axis", d.axis(axis, bottom.rank)], ["begin", begin - n if d.chance(0.3) else begin],
                   ["end", end], ["step", step]]
    d.layer("StridedSlice", [bottom], [shape], [["strided_slice_param", fields]])


KINDS = {
    "Binary": _binary,
    "LayerNorm": _layer_norm,
    "LogSoftmax": _log_softmax,
    "Pad": _pad,
    "Reduce": _reduce,
    "Resize": _resize,
    "StridedSlice": _strided_slice,
}
