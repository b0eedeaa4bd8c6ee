# SPDX-License-Identifier: BSD-2-Clause
"""caffe.coord_map: the position of a pixel of one top in another, and the Crop that aligns two tops, for
segmentation nets.

A map is (axis, scale, shift): coordinate x of the layer's bottom is scale · x + shift in its top. The axis is
the one before the first spatial axis; None if it does not matter to the layer."""

import numpy as np

from .net_spec import layers

PASS_THROUGH_LAYERS = ["AbsVal", "BatchNorm", "Bias", "BNLL", "Dropout", "Eltwise", "ELU", "Log", "LRN", "Exp",
                       "MVN", "Power", "ReLU", "PReLU", "Scale", "Sigmoid", "Split", "TanH", "Threshold"]
_SIDES = ("pad_h", "pad_w", "kernel_h", "kernel_w", "stride_h", "stride_w")


class UndefinedMapException(Exception):
    """A layer that does not preserve positions, such as InnerProduct."""


class AxisMismatchException(Exception):
    """Two maps of different axes."""


def conv_params(fn):
    """The window of a layer: axis, stride, extent with dilation, pad; each an array with one value for each
    spatial axis, or with a single value."""
    params = fn.params.get("convolution_param", fn.params)
    given = [name for name in _SIDES if name in fn.params]
    assert not given, f"{', '.join(given)}: windows are given by kernel_size, stride and pad here"
    kernel, dilation, stride, pad = (np.array(params.get(name, other), ndmin=1) for name, other in (
        ("kernel_size", 1), ("dilation", 1), ("stride", 1), ("pad", 0)))
    return params.get("axis", 1), stride, (kernel - 1) * dilation + 1, pad


def crop_params(fn):
    """The axis and offset of a Crop."""
    params = fn.params.get("crop_param", fn.params)
    return params.get("axis", 2), np.array(params.get("offset", 0), ndmin=1)


def coord_map(fn):
    """The map of a layer, from a bottom to a top."""
    if fn.type_name in PASS_THROUGH_LAYERS:
        return None, 1, 0
    if fn.type_name == "Crop":
        axis, offset = crop_params(fn)
        return axis - 1, 1, -offset
    if fn.type_name not in ("Convolution", "Pooling", "Im2col", "Deconvolution"):
        raise UndefinedMapException(f"a {fn.type_name} layer does not preserve positions")
    axis, stride, extent, pad = conv_params(fn)
    centre = (extent - 1) / 2
    if fn.type_name == "Deconvolution":
        return axis, stride, centre - pad
    return axis, 1 / stride, (pad - centre) / stride


def compose(base_map, next_map):
    """The composition of two maps; `next_map` is the one nearer to the bottom."""
    (one, scale, shift), (other, inner, moved) = base_map, next_map
    if one is not None and other is not None and one != other:
        raise AxisMismatchException(f"axes {one} and {other}")
    return other if one is None else one, scale * inner, scale * moved + shift


def inverse(coord_map):  # pylint: disable=redefined-outer-name
    """The inverse map."""
    axis, scale, shift = coord_map
    return axis, 1 / scale, -shift / scale


def _ancestors(top):
    """A top and the tops that it depends on, the nearest first, each with the map from there to the top."""
    found, waiting = {top: (None, 1, 0)}, [top]
    while waiting:
        at = waiting.pop(0)
        yield at, found[at]
        try:
            step = compose(found[at], coord_map(at.fn)) if at.fn.inputs else None
        except UndefinedMapException:
            continue
        for given in at.fn.inputs[:1] if at.fn.type_name == "Crop" else at.fn.inputs:
            if given not in found:
                found[given] = step
                waiting.append(given)


def coord_map_from_to(top_from, top_to):
    """The map from one top to another, by way of the nearest top that both depend on. Raises RuntimeError if
    they depend on no common top, or if a layer between them does not preserve positions."""
    of_from = dict(_ancestors(top_from))
    for at, to_map in _ancestors(top_to):
        if at in of_from:
            return compose(to_map, inverse(of_from[at]))
    raise RuntimeError("no layers that preserve positions connect the two tops")


def crop(top_from, top_to):
    """A Crop of one top to the extent of another, at the offset that aligns them. AssertionError if their
    scales differ, or if the offset is negative or not an integer."""
    axis, scale, shift = coord_map_from_to(top_from, top_to)
    scale, shift = np.array(scale, ndmin=1), np.array(shift, ndmin=1)
    assert (scale == 1).all(), f"crop: the scales differ by {scale}"
    assert (shift <= 0).all(), f"crop: an offset of {-shift}"
    assert (np.round(shift) == shift).all(), f"crop: the offset {-shift} is not an integer"
    offset = [int(value) for value in -np.round(shift)]
    return layers.Crop(top_from, top_to, crop_param={"axis": (1 if axis is None else axis) + 1, "offset": offset})
