# SPDX-License-Identifier: BSD-2-Clause
"""The values of inputs and parameters: from a seed and a few words for their kind. Plain values have distinct
magnitudes of at least 0.1, so that maxima are unique and the kink of an activation at 0 is far away."""

import zlib

import numpy as np


def source(seed, *names):
    """A separate generator for each name, so that a reduced net keeps the values of its other parts."""
    return np.random.RandomState([seed & 0x7fffffff, zlib.crc32("/".join(map(str, names)).encode())])


def distinct(rng, shape, low, high):
    """Distinct magnitudes from low to high."""
    n = int(np.prod(shape))
    return (low + (high - low) * (rng.permutation(n) + rng.uniform(0.25, 0.75, n)) / max(n, 1)).reshape(shape)


def draw(what, shape, rng):
    """A float32 array of this shape, of the kind that an input's words describe."""
    words = what.split()
    make = MAKERS[words[0]]
    return make(rng, tuple(shape), *map(float, words[1:])).astype(np.float32)


def _values(rng, shape, scale=1.0):
    return scale * distinct(rng, shape, 0.1, 2.0) * rng.choice([-1.0, 1.0], shape)


def _positive(rng, shape):
    return distinct(rng, shape, 0.2, 2.0)


def _integers(rng, shape, low, high):
    return rng.randint(int(low), int(high) + 1, shape).astype(float)


def _binary(rng, shape, ones=0.5):
    return (rng.uniform(size=shape) < ones).astype(float)


def _selector(rng, shape, ones):
    """Zeros, and that many ones."""
    out = np.arange(int(np.prod(shape))) < ones
    return rng.permutation(out).reshape(shape).astype(float)


def _probability(rng, shape):
    return distinct(rng, shape, 0.05, 0.95)


def _continued(rng, shape):
    """A recurrent layer's continuation flags: each stream begins at the first step."""
    out = _binary(rng, shape, 0.7)
    out[0] = 0
    return out


def _rois(rng, shape, batch, height, width):
    """Rows of image, x1, y1, x2, y2, away from halves, which rounding would decide."""
    rows = shape[0]
    out = np.zeros((rows, 5))
    out[:, 0] = rng.randint(int(batch), size=rows)
    for first, last, size in ((1, 3, width), (2, 4, height)):
        ends = np.sort(rng.randint(0, max(int(size), 1), (rows, 2)), axis=1)
        out[:, first], out[:, last] = ends[:, 0] + 0.125, ends[:, 1] + 0.125
    return out.reshape(shape)


def _picture(_rng, shape, height, width):
    """Proposal's third bottom: height, width and scale of the image."""
    return np.array([height, width, 1.0]).reshape(shape)


def _boxes(rng, shape):
    """PriorBox's output: corners within the image, then variances."""
    n = shape[-1] // 4
    low, side = rng.uniform(0, 0.6, (n, 2)), rng.uniform(0.1, 0.4, (n, 2))
    return np.stack([np.concatenate([low, low + side], 1).reshape(-1),
                     np.tile([0.1, 0.1, 0.2, 0.2], n)]).reshape(shape)


MAKERS = {"values": _values, "positive": _positive, "integers": _integers, "binary": _binary,
          "selector": _selector, "probability": _probability, "continued": _continued, "rois": _rois,
          "picture": _picture, "boxes": _boxes}


def param(kind, index, shape, rng):
    """Parameter `index` of a layer of this type."""
    shape = tuple(shape)
    if kind == "BatchNorm":
        if index == 2:
            return np.full(shape, rng.choice([1.0, 1.0, 2.5, 0.5]), np.float32)
        made = _positive(rng, shape) if index == 1 else _values(rng, shape, 0.3)
    elif kind in ("PReLU", "BN", "Scale", "Normalize") and index == 0:
        made = _values(rng, shape, 0.6)
    elif len(shape) > 1 and kind not in ("Bias", "Parameter"):
        made = _values(rng, shape) / np.sqrt(max(1.0, np.prod(shape[1:]) / 2))
    else:
        made = _values(rng, shape, 0.5)
    return made.astype(np.float32)
