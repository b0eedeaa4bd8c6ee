# SPDX-License-Identifier: BSD-2-Clause
"""ferry's own layer types, from ONNX's definitions of the corresponding operators."""

import itertools
import math

import numpy as np

from .layer import Layer, layer
from .layers_norm import softmax
from .real import Real, Sum, choose, exp, log, power


def collapsed(x, shape):
    """The gradient of a broadcast operand: sums over the axes along which `shape` has one element, or lacks
    the axis."""
    more = x.ndim - len(shape)
    axes = tuple(i for i in range(x.ndim) if i < more or (shape[i - more] == 1 and x.shape[i] != 1))
    return (x.sum(axes, keepdims=True) if axes else x).reshape(shape)


@layer('Binary', field='binary_param', bottoms=2)
class Binary(Layer):
    """x ∘ u with NumPy's broadcasting."""

    def operation(self):
        return self.p.enum('operation', 'ADD', 'ADD', 'SUBTRACT', 'MULTIPLY', 'DIVIDE')

    def forward(self, bottoms):
        x, u = bottoms
        what = self.operation()
        last = zip(reversed(x.shape), reversed(u.shape))
        self.check(
            all(n == m or 1 in (n, m) for n, m in last), 'shapes %s and %s differ', x.shape, u.shape
        )
        if what == 'ADD':
            return [x + u]
        return [x - u if what == 'SUBTRACT' else x * u if what == 'MULTIPLY' else x / u]

    def backward(self, tops, diffs, bottoms, needs):
        (x, u), dy, what = bottoms, diffs[0], self.operation()
        if what in ('ADD', 'SUBTRACT'):
            pair = dy, dy if what == 'ADD' else -dy
        elif what == 'MULTIPLY':
            pair = dy * u, dy * x
        else:
            pair = dy / u, -(dy * tops[0]) / u
        return [collapsed(d, b.shape) for d, b in zip(pair, bottoms)]


@layer('LayerNorm', field='layer_norm_param')
class LayerNorm(Layer):
    """Mean 0 and variance 1 over all axes from `axis` on; eps is added to the variance."""

    def rows(self, x, like):
        axis = self.axis(like, self.p.int('axis', 1))
        return x.reshape(math.prod(like.shape[:axis]), -1)

    def forward(self, bottoms):
        x = self.rows(bottoms[0], bottoms[0])
        y = x - x.mean(1, keepdims=True)
        self.scale = power((y * y).mean(1, keepdims=True) + self.p.float('eps', 1e-5), -0.5)
        return [(y * self.scale).reshape(bottoms[0].shape)]

    def backward(self, tops, diffs, bottoms, needs):
        y, dy = (self.rows(x, bottoms[0]) for x in (tops[0], diffs[0]))
        dx = dy - dy.mean(1, keepdims=True) - y * (dy * y).mean(1, keepdims=True)
        return [(dx * self.scale).reshape(bottoms[0].shape)]


@layer('LogSoftmax', field='softmax_param', in_place=True)
class LogSoftmax(Layer):
    """x - max - log Σ exp(x - max)."""

    def forward(self, bottoms):
        axis = self.axis(bottoms[0], self.p.int('axis', 1))
        x = bottoms[0] - bottoms[0].max(axis, keepdims=True)
        return [x - log(exp(x).sum(axis, keepdims=True))]

    def backward(self, tops, diffs, bottoms, needs):
        axis = self.axis(bottoms[0], self.p.int('axis', 1))
        return [diffs[0] - softmax(bottoms[0], axis) * diffs[0].sum(axis, keepdims=True)]


@layer('Pad', field='pad_param')
class Pad(Layer):
    """NumPy's pad, after the elements of negative pads are removed."""

    def widths(self, x):
        begin, end = self.p.ints('begin'), self.p.ints('end')
        self.check(len(begin) == len(end) == x.ndim, '%d pads of %d axes', len(begin), x.ndim)
        return list(zip(begin, end))

    def kept(self, x):
        return tuple(slice(max(-b, 0), n - max(-e, 0)) for n, (b, e) in zip(x.shape, self.widths(x)))

    def forward(self, bottoms):
        mode = self.p.enum('mode', 'CONSTANT', 'CONSTANT', 'EDGE', 'REFLECT')
        widths = [(max(b, 0), max(e, 0)) for b, e in self.widths(bottoms[0])]
        x = bottoms[0][self.kept(bottoms[0])]
        if mode == 'CONSTANT':
            return [x.pad(widths, float(np.float32(self.p.float('value', 0.0))))]
        self.check(all(not any(pads) or n > (max(pads) if mode == 'REFLECT' else 0)
                       for n, pads in zip(x.shape, widths)), 'pads %s of %s', widths, x.shape)
        return [x.map(lambda a: np.pad(a, widths, mode=mode.lower()))]

    def backward(self, tops, diffs, bottoms, needs):
        x = bottoms[0]
        if self.p.enum('mode', 'CONSTANT', 'CONSTANT', 'EDGE', 'REFLECT') != 'CONSTANT':
            return [None]
        part = tuple(
            slice(max(b, 0), max(b, 0) + n - max(-b, 0) - max(-e, 0))
            for n, (b, e) in zip(x.shape, self.widths(x))
        )
        total = Sum(x.shape)
        total.term(diffs[0][part], self.kept(x))
        return [Real(total.v, total.e, total.doubt)]


@layer('Reduce', field='reduce_param')
class Reduce(Layer):
    """Sums, means or maxima over the listed axes."""

    def axes(self, x):
        axes = tuple(sorted({self.axis(x, i) for i in self.p.ints('axis')}))
        turns = itertools.groupby(i in axes for i, n in enumerate(x.shape) if n != 1)
        self.check(x.ndim <= 8 or len(list(turns)) <= 8, 'listed axes and others take turns more than 8 times')
        return axes

    def operation(self):
        return self.p.enum('operation', 'SUM', 'SUM', 'MEAN', 'ASUM', 'SUMSQ', 'MAX')

    def forward(self, bottoms):
        x, what, axes = bottoms[0], self.operation(), self.axes(bottoms[0])
        if what == 'MAX':
            y = x.max(axes, keepdims=True)
        elif what == 'MEAN':
            y = x.mean(axes, keepdims=True)
        else:
            y = (abs(x) if what == 'ASUM' else x * x if what == 'SUMSQ' else x).sum(
                axes, keepdims=True
            )
        if not self.p.bool('keep_axes', True):
            y = y.reshape([n for i, n in enumerate(y.shape) if i not in axes])
        return [y]

    def backward(self, tops, diffs, bottoms, needs):
        x, what, axes = bottoms[0], self.operation(), self.axes(bottoms[0])
        dy = diffs[0].reshape([1 if i in axes else n for i, n in enumerate(x.shape)])
        dy = dy.map(lambda a: np.broadcast_to(a, x.shape).copy())
        if what == 'MAX':
            return [None]
        if what == 'MEAN':
            return [dy / math.prod(x.shape[i] for i in axes)]
        if what == 'SUMSQ':
            return [dy * x * 2.0]
        return [dy * choose(x > 0, 1.0, choose(x < 0, -1.0, 0.0)) if what == 'ASUM' else dy]


@layer('Resize', field='resize_param')
class Resize(Layer):
    """Each axis separately: an output is a sum of inputs, weighted by their distance from its coordinate."""

    def sizes(self, x):
        """Axis, elements, and the ratio of coordinates."""
        axes, sizes, scales = (self.p.ints('axis'), self.p.ints('size'), self.p.floats('scale'))
        self.check({len(sizes), len(scales)} <= {0, len(axes)} and (sizes or scales or not axes),
                   'size or scale is not given for each axis')
        for k, i in enumerate(axes):
            i = self.axis(x, i)
            self.check(x.shape[i] > 0, 'axis %d has no element', i)
            scale = float(np.float32(scales[k])) if scales else sizes[k] / x.shape[i]
            size = sizes[k] if sizes else math.floor(x.shape[i] * scale)
            self.check(size > 0, '%d elements of axis %d', size, i)
            yield i, size, scale

    def coordinate(self, i, n, out, scale):
        sampling = self.p.enum(
            'sampling', 'HALF_PIXEL', 'HALF_PIXEL', 'ALIGN_CORNERS', 'ASYMMETRIC', 'PYTORCH_HALF_PIXEL'
        )
        if sampling == 'ALIGN_CORNERS':
            return i * (n - 1) / (n * scale - 1) if n * scale > 1 else 0.0
        if sampling == 'ASYMMETRIC':
            return i / scale
        return 0.0 if sampling[0] == 'P' and out < 2 else (i + 0.5) / scale - 0.5

    def nearest(self, at):
        rounding = self.p.enum(
            'rounding', 'ROUND_PREFER_FLOOR', 'ROUND_PREFER_FLOOR', 'ROUND_PREFER_CEIL', 'FLOOR', 'CEIL'
        )
        if rounding == 'FLOOR':
            return [(math.floor(at), 1.0)]
        if rounding == 'CEIL':
            return [(math.ceil(at), 1.0)]
        half = at - math.floor(at) == 0.5
        up = at - math.floor(at) > 0.5 or (half and rounding == 'ROUND_PREFER_CEIL')
        return [(math.floor(at) + up, 1.0)]

    def taps(self, at, n):
        """The inputs of a coordinate, and their weights."""
        method = self.p.enum('method', 'NEAREST', 'NEAREST', 'LINEAR', 'CUBIC')
        low = math.floor(at)
        t = at - low
        if method == 'NEAREST':
            return self.nearest(at)
        if method == 'LINEAR':
            taps = [(low, 1 - t), (low + 1, t)]
        else:
            a = self.p.float('cubic_coeff', -0.75)
            taps = [
                (low - 1, ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a),
                (low, ((a + 2) * t - (a + 3)) * t * t + 1),
                (low + 1, ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1),
                (low + 2, ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a),
            ]
        if self.p.bool('exclude_outside'):
            taps = [(k, w) for k, w in taps if 0 <= k < n]
            total = sum(w for _, w in taps)
            taps = [(k, w / total) for k, w in taps]
        return taps

    def matrix(self, n, out, scale):
        w = np.zeros((out, n))
        for i in range(out):
            for k, weight in self.taps(self.coordinate(i, n, out, scale), n):
                w[i, min(max(k, 0), n - 1)] += weight
        return w

    def along(self, x, axis, w):
        """Multiplies each row of w by x along an axis. A weight is a rounded function of a coordinate."""
        moved = x.map(lambda a: np.moveaxis(a, axis, 0))
        flat = moved.reshape(moved.shape[0], -1)
        weights = Real(w, (w % 1 != 0) * 2e-6)
        total = Sum((len(w), flat.shape[1]))
        total.product(weights, flat)
        y = total.real().reshape((len(w),) + moved.shape[1:])
        return y.map(lambda a: np.moveaxis(a, 0, axis))

    def forward(self, bottoms):
        x = bottoms[0]
        for axis, out, scale in self.sizes(bottoms[0]):
            x = self.along(x, axis, self.matrix(bottoms[0].shape[axis], out, scale))
        return [x]

    def backward(self, tops, diffs, bottoms, needs):
        dy = diffs[0]
        for axis, out, scale in self.sizes(bottoms[0]):
            dy = self.along(dy, axis, self.matrix(bottoms[0].shape[axis], out, scale).T)
        return [dy]


@layer('StridedSlice', field='strided_slice_param')
class StridedSlice(Layer):
    """Python's slices."""

    def part(self, x):
        steps = self.p.ints('step') or [1] * len(self.p.ints('axis'))
        part = [slice(None)] * x.ndim
        for i, b, e, s in zip(self.p.ints('axis'), self.p.ints('begin'), self.p.ints('end'), steps):
            part[self.axis(x, i)] = slice(b, e, s)
        return tuple(part)

    def forward(self, bottoms):
        return [bottoms[0][self.part(bottoms[0])]]

    def backward(self, tops, diffs, bottoms, needs):
        total = Sum(bottoms[0].shape)
        total.term(diffs[0], self.part(bottoms[0]))
        return [Real(total.v, total.e, total.doubt)]
