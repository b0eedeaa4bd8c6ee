# SPDX-License-Identifier: BSD-2-Clause
"""The fillers that are not random."""

import numpy as np

from .text import NetError, Unsupported

RANDOM = ('uniform', 'gaussian', 'positive_unitball', 'xavier', 'msra')


def is_deterministic(filler):
    return filler.get('type', 'constant') not in RANDOM


def bilinear(shape):
    """Upsampling by interpolation: 1 - |i/f - c| along each side, f = ceil(k/2), c = (k - 1) /
    2f."""
    if len(shape) != 4 or shape[2] != shape[3]:
        raise NetError('the bilinear filler needs a blob of 4 axes with square filters')
    side = shape[3]
    f = -(-side // 2)
    centre = (side - 1) / (2.0 * f)
    tent = np.array([1 - abs(i / f - centre) for i in range(side)])
    return np.broadcast_to(np.outer(tent, tent), shape).copy()


def fill(filler, shape):
    """The values of a FillerParameter: constant (the default) or bilinear."""
    shape = tuple(int(n) for n in shape)
    kind = filler.get('type', 'constant')
    if kind == 'constant':
        return np.full(shape, filler.float('value', 0.0))
    if kind == 'bilinear':
        return bilinear(shape)
    if kind in RANDOM:
        raise Unsupported('the %s filler is random' % kind)
    raise NetError('there is no filler %s' % kind)
