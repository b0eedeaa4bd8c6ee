# SPDX-License-Identifier: BSD-2-Clause
"""Layers that mix or weight whole axes: products, scales, sums, rankings, interpolation."""

import numpy as np

from .layer import Layer, count, layer
from .real import Real, Sum, biased, choose, compare, matmul, real, shifted, stack, undecided, zeros


def transposed(x):
    return x.map(lambda a: a.swapaxes(-1, -2))


@layer('InnerProduct', field='inner_product_param')
class InnerProduct(Layer):
    """y = x·Wᵀ + b over the axes from `axis` on; W is (out, in), with `transpose` (in, out)."""

    def setup(self, bottoms):
        self.at = self.axis(bottoms[0], self.p.int('axis', 1))
        outputs, inputs = self.p.int('num_output'), count(bottoms[0].shape[self.at :])
        self.check(outputs > 0, 'num_output must be positive')
        shape = (inputs, outputs) if self.p.bool('transpose') else (outputs, inputs)
        self.parameter(shape, self.p.sub('weight_filler'))
        if self.p.bool('bias_term', True):
            self.parameter((outputs,), self.p.sub('bias_filler'))

    def matrix(self):
        """(in, out)."""
        return self.weight(0) if self.p.bool('transpose') else transposed(self.weight(0))

    def rows(self, x):
        inputs = count(x.shape[self.at :])
        self.check(
            inputs == self.matrix().shape[0],
            '%d inputs for %d weights',
            inputs,
            self.matrix().shape[0],
        )
        return x.reshape(count(x.shape[: self.at]), inputs)

    def forward(self, bottoms):
        x = bottoms[0]
        y = matmul(self.rows(x), self.matrix())
        if len(self.blobs) > 1:
            y = biased(y, self.weight(1), self.matrix().shape[0])
        return [y.reshape(x.shape[: self.at] + (y.shape[1],))]

    def backward(self, tops, diffs, bottoms, needs):
        x = self.rows(bottoms[0])
        dy = diffs[0].reshape(x.shape[0], -1)
        if self.wants(0):
            dw = matmul(transposed(x), dy)
            self.add_gradient(0, dw if self.p.bool('transpose') else transposed(dw))
        if self.wants(1):
            self.add_gradient(1, dy.sum(0))
        if not needs[0]:
            return [None]
        return [matmul(dy, transposed(self.matrix())).reshape(bottoms[0].shape)]


@layer('Embed', field='embed_param')
class Embed(Layer):
    """Rows of a table, by index."""

    def setup(self, bottoms):
        outputs, inputs = self.p.int('num_output'), self.p.int('input_dim')
        self.check(outputs > 0 and inputs > 0, 'num_output and input_dim must be positive')
        self.parameter((inputs, outputs), self.p.sub('weight_filler'))
        if self.p.bool('bias_term', True):
            self.parameter((outputs,), self.p.sub('bias_filler'))

    def forward(self, bottoms):
        index, open_ = self.indices(bottoms[0], self.blobs[0].data.shape[0])
        y = self.weight(0)[index]
        if len(self.blobs) > 1:
            y = shifted(y, self.weight(1))
        return [undecided(y, open_[..., None])]

    def backward(self, tops, diffs, bottoms, needs):
        index, open_ = self.indices(bottoms[0], self.blobs[0].data.shape[0])
        dy = diffs[0].reshape(index.size, -1)
        if self.wants(0):
            total = Sum(self.blobs[0].data.shape)
            for n, row in enumerate(index.ravel()):
                total.term(dy[n], int(row))
            self.add_gradient(0, undecided(total.real(), bool(open_.any())))
        if self.wants(1):
            self.add_gradient(1, dy.sum(0))
        return [None]


class Broadcast(Layer):
    """The common part of Scale and Bias: a factor over the axes [axis, axis + its axes) of bottom 0, which is
    a parameter or bottom 1. A factor without axes is a scalar."""

    def shape_of_parameter(self, x):
        axis, axes = self.axis(x, self.p.int('axis', 1)), self.p.int('num_axes', 1)
        self.check(
            axes >= -1 and (axes == -1 or axis + axes <= x.ndim),
            'axis %d and num_axes %d',
            axis,
            axes,
        )
        return x.shape[axis:] if axes == -1 else x.shape[axis : axis + axes]

    def spans(self, x, factor):
        """(outer, the factor's, inner) sizes."""
        axis = 0 if not factor.ndim else self.axis(x, self.p.int('axis', 1))
        end = axis + factor.ndim
        self.check(
            x.shape[axis:end] == factor.shape,
            'the factor %s does not fit %s',
            factor.shape,
            x.shape,
        )
        return count(x.shape[:axis]), factor.size, count(x.shape[end:])

    def over(self, x, factor):
        spans = self.spans(x, factor)
        return x.reshape(spans), factor.reshape((1, -1, 1))


@layer('Bias', field='bias_param', bottoms=(1, 2), in_place=True)
class Bias(Broadcast):
    def setup(self, bottoms):
        if len(bottoms) == 1:
            self.parameter(self.shape_of_parameter(bottoms[0]), self.p.sub('filler'))

    def factor(self, bottoms):
        return bottoms[1] if len(bottoms) > 1 else self.weight(0)

    def forward(self, bottoms):
        x, b = self.over(bottoms[0], self.factor(bottoms))
        return [shifted(x, b).reshape(bottoms[0].shape)]

    def backward(self, tops, diffs, bottoms, needs):
        factor = self.factor(bottoms)
        db = diffs[0].reshape(self.spans(bottoms[0], factor)).sum((0, 2)).reshape(factor.shape)
        if self.wants(0):
            self.add_gradient(0, db)
        return [diffs[0], db][: len(bottoms)]


@layer('Scale', field='scale_param', bottoms=(1, 2), in_place=True)
class Scale(Broadcast):
    """y = a·x, or with bias_term a·x + b: b is the last parameter, of a's shape."""

    def setup(self, bottoms):
        shape = self.shape_of_parameter(bottoms[0]) if len(bottoms) == 1 else bottoms[1].shape
        if len(bottoms) == 1:
            self.parameter(shape, self.p.sub('filler') if self.p.has('filler') else None, 1.0)
        if self.p.bool('bias_term'):
            self.parameter(shape, self.p.sub('bias_filler'))

    def factor(self, bottoms):
        return bottoms[1] if len(bottoms) > 1 else self.weight(0)

    def forward(self, bottoms):
        x, a = self.over(bottoms[0], self.factor(bottoms))
        y = x * a
        if self.p.bool('bias_term'):
            shift = self.weight(len(self.blobs) - 1)
            self.check(shift.size == a.size, '%d biases for %d factors', shift.size, a.size)
            y = shifted(y, shift.reshape((1, -1, 1)))
        return [y.reshape(bottoms[0].shape)]

    def backward(self, tops, diffs, bottoms, needs):
        factor = self.factor(bottoms)
        x, a = self.over(bottoms[0], factor)
        outer, size, _ = self.spans(bottoms[0], factor)
        dy = diffs[0].reshape(x.shape)
        if self.p.bool('bias_term') and self.wants(len(self.blobs) - 1):
            self.add_gradient(len(self.blobs) - 1, dy.sum((0, 2)))
        da = (dy * x).sum((0, 2)).reshape(factor.shape)
        if len(bottoms) == 1 and self.wants(0):
            # Caffe adds to the parameter's diff, but overwrites it if there is one outer item
            self.add_gradient(0, da, x.size == size or (outer == 1 and size > 1))
        return [(dy * a).reshape(bottoms[0].shape), da][: len(bottoms)]


@layer('Eltwise', field='eltwise_param', bottoms=(2, None), in_place=True)
class Eltwise(Layer):
    """PROD, SUM with coefficients, or MAX: of equal elements of bottoms 0 and 1 the second is selected, that
    of a later bottom only if it is larger."""

    def kind(self):
        return self.p.enum('operation', 'SUM', 'PROD', 'SUM', 'MAX')

    def coefficients(self, bottoms):
        values = self.p.floats('coeff')
        self.check(not values or len(values) == len(bottoms), '%d coefficients', len(values))
        self.check(not values or self.kind() != 'PROD', 'a product takes no coefficients')
        return values or [1.0] * len(bottoms)

    def forward(self, bottoms):
        self.check(all(x.shape == bottoms[0].shape for x in bottoms), 'the bottoms differ in shape')
        coefficients = self.coefficients(bottoms)
        if self.kind() == 'SUM':
            total = Sum(bottoms[0].shape)
            for a, x in zip(coefficients, bottoms):
                total.term(x if a == 1 else x * a)
            return [total.real()]
        if self.kind() == 'PROD':
            y = bottoms[0]
            for x in bottoms[1:]:
                y = y * x
            return [y]
        y = choose(bottoms[0] > bottoms[1], bottoms[0], bottoms[1])
        for x in bottoms[2:]:
            y = choose(x > y, x, y)
        return [Real(y.v, np.max([x.e for x in bottoms], axis=0), any(x.doubt for x in bottoms))]

    def backward(self, tops, diffs, bottoms, needs):
        dy = diffs[0]
        if self.kind() == 'SUM':
            return [dy if a == 1 else dy * a for a in self.coefficients(bottoms)]
        if self.kind() == 'MAX':
            return self.to_winner(tops[0], dy, bottoms)
        if not self.p.bool('stable_prod_grad', True):
            return [dy * (tops[0] / x) for x in bottoms]
        result = []
        for i in range(len(bottoms)):
            others = [x for j, x in enumerate(bottoms) if j != i]
            product = others[0]
            for x in others[1:]:
                product = product * x
            result.append(dy * product)
        return result

    def to_winner(self, y, dy, bottoms):
        winner = np.where(bottoms[0].v > bottoms[1].v, 0, 1)
        best = np.where(winner == 0, bottoms[0].v, bottoms[1].v)
        for i, x in enumerate(bottoms[2:], 2):
            winner, best = np.where(x.v > best, i, winner), np.maximum(x.v, best)
        near = [x.v + x.e >= best - y.e for x in bottoms]
        open_ = (sum(n.astype(int) for n in near) > 1) & (y.e > 0)
        return [
            Real(
                np.where(winner == i, dy.v, 0),
                np.where(winner == i, dy.e, 0) + np.where(n & open_, abs(dy.v) + dy.e, 0),
                dy.doubt or y.doubt or bool((n & open_).any()),
            )
            for i, n in enumerate(near)
        ]


@layer('Axpy', bottoms=3)
class Axpy(Layer):
    """a·x + y, where a has a number for each item and channel."""

    def forward(self, bottoms):
        a, x, y = bottoms
        self.check(x.shape == y.shape and a.shape[:2] == x.shape[:2], 'the bottoms do not fit')
        self.check(
            count(a.shape) == count(x.shape[:2]), 'bottom 0 has more than one value a channel'
        )
        return [x * self.factor(a, x) + y]

    def factor(self, a, x):
        return a.reshape(x.shape[:2] + (1,) * (x.ndim - 2))

    def backward(self, tops, diffs, bottoms, needs):
        a, x, _ = bottoms
        dy = diffs[0]
        da = (dy * x).reshape(x.shape[:2] + (-1,)).sum(2).reshape(a.shape)
        return [da, dy * self.factor(a, x), dy]


@layer('Reduction', field='reduction_param')
class Reduction(Layer):
    """SUM, ASUM, SUMSQ or MEAN over all axes from `axis` on, times coeff."""

    def parts(self, x):
        axis = self.axis(x, self.p.int('axis', 0)) if x.ndim else 0
        kind = self.p.enum('operation', 'SUM', '', 'SUM', 'ASUM', 'SUMSQ', 'MEAN')
        rows = x.reshape(x.shape[:axis] + (count(x.shape[axis:]),))
        coeff = self.p.float('coeff', 1)
        return kind, rows, coeff / rows.shape[-1] if kind == 'MEAN' else coeff

    def forward(self, bottoms):
        kind, x, coeff = self.parts(bottoms[0])
        terms = abs(x) if kind == 'ASUM' else x * x if kind == 'SUMSQ' else x
        return [terms.sum(-1) * coeff]

    def backward(self, tops, diffs, bottoms, needs):
        kind, x, coeff = self.parts(bottoms[0])
        share = (diffs[0] * coeff).map(lambda a: np.broadcast_to(a[..., None], x.shape))
        if kind == 'ASUM':
            share = choose(x > 0, share, choose(x < 0, -share, 0.0))
        if kind == 'SUMSQ':
            share = share * x * 2.0
        return [share.reshape(bottoms[0].shape)]


# ---- rankings, which have no gradient ----------------------------------------------------------


@layer('ArgMax', field='argmax_param')
class ArgMax(Layer):
    """The top_k largest, of equal ones the larger index first (with ferry's `first`, the smaller), NaN before
    numbers, as in NumPy's sort: indices, or values, along an axis. Without an axis, those of an item, as (N,
    1, k), or with out_max_val as (N, 2, k): indices, then values."""

    def forward(self, bottoms):
        x, k = bottoms[0], self.p.int('top_k', 1)
        along = self.p.has('axis')
        axis = self.axis(x, self.p.int('axis')) if along else 1
        rows = x.map(lambda a: np.moveaxis(a, axis, -1)) if along else x.reshape(x.shape[0], -1)
        self.check(1 <= k <= rows.shape[-1], 'top_k %d of %d', k, rows.shape[-1])
        order = np.flip(np.argsort(rows.v, axis=-1, kind='stable'), -1)
        if self.p.bool('first'):
            order = np.flip(np.argsort(np.flip(rows.v, -1), axis=-1, kind='stable'), -1)
            order = rows.shape[-1] - 1 - order
        ranked = rows.map(lambda a: np.take_along_axis(a, order, -1))
        index = undecided(Real(order[..., :k]), self.close(ranked, k))
        value = Real(
            ranked.v[..., :k], np.broadcast_to(rows.max(-1, True).e, order[..., :k].shape), x.doubt
        )
        if along:
            chosen = value if self.p.bool('out_max_val') else index
            return [chosen.map(lambda a: np.moveaxis(a, -1, axis))]
        parts = [index, value] if self.p.bool('out_max_val') else [index]
        return [stack(parts, 1).reshape((x.shape[0], len(parts), k) + (1,) * max(x.ndim - 3, 0))]

    def close(self, ranked, k):
        """Whether another element may be among the first k."""
        first, second = ranked[..., :-1], ranked[..., 1:]
        open_ = compare(np.equal, first, second).open[..., :k]
        return open_.any(-1, keepdims=True) if open_.size else False


@layer('Accuracy', field='accuracy_param', bottoms=2, tops=(1, 2))
class Accuracy(Layer):
    """The fraction of labels that fewer than top_k others reach: an equal one counts against the label. Top
    1: the same for each class, 0 for a class without samples."""

    def forward(self, bottoms):
        x, labels = bottoms
        axis, k = self.axis(x, self.p.int('axis', 1)), self.p.int('top_k', 1)
        classes = x.shape[axis]
        self.check(k <= classes, 'top_k %d of %d classes', k, classes)
        self.check(labels.size * classes == x.size, '%d labels for %s', labels.size, x.shape)
        rows = x.map(lambda a: np.moveaxis(a, axis, -1).reshape(-1, classes))
        kept = np.ones(labels.size, bool)
        if self.p.has('ignore_label'):
            kept = np.trunc(labels.v.ravel()) != self.p.int('ignore_label')
        rows = rows[kept]
        index, doubtful = self.indices(labels.reshape(-1)[kept], classes)
        own = rows[np.arange(len(index)), index].reshape(-1, 1)
        reaches = rows >= own
        # includes the label itself
        right = reaches.holds.sum(1) - 1 < k
        open_ = reaches.open & (np.arange(classes) != index[:, None])
        open_ = open_.any(1) | doubtful
        top = real(float(right.sum())) / max(len(right), 1)
        tops = [undecided(top, bool(open_.any()))]
        if self.tops_wanted > 1:
            samples = np.bincount(index, minlength=classes)
            hits = np.bincount(index[right], minlength=classes)
            share = real(hits.astype(float)) / np.maximum(samples, 1)
            tops.append(undecided(share, bool(open_.any())))
        return tops


@layer('Upsample', field='upsample_param', bottoms=(1, 2))
class Upsample(Layer):
    """With a mask (SegNet, ENet): each value goes to the index from max pooling; of two for one position the
    later one is kept. Without a mask (YOLO): each value is repeated `scale` times in both directions."""

    def scales(self):
        both = self.p.int('scale', 2)
        return self.p.int('scale_h', both) or both, self.p.int('scale_w', both) or both

    def size(self, x):
        p = self.p
        if p.has('upsample_h') and p.has('upsample_w'):
            return p.int('upsample_h'), p.int('upsample_w')
        high, wide = self.scales()
        return x.shape[2] * high - p.bool('pad_out_h'), x.shape[3] * wide - p.bool('pad_out_w')

    def places(self, bottoms):
        x, mask = bottoms
        high, wide = self.size(x)
        self.check(mask.shape == x.shape, 'the mask has another shape')
        return self.indices(mask.reshape(x.shape[:2] + (-1,)), high * wide)

    def forward(self, bottoms):
        x = bottoms[0]
        self.check(x.ndim == 4, 'the bottom has %d axes, not 4', x.ndim)
        if len(bottoms) == 1:
            high, wide = self.scales()
            return [x.map(lambda a: a.repeat(high, 2).repeat(wide, 3))]
        index, open_ = self.places(bottoms)
        high, wide = self.size(x)
        y = zeros(x.shape[:2] + (high * wide,))
        flat = x.reshape(index.shape)
        for n, c in np.ndindex(*x.shape[:2]):
            y.v[n, c, index[n, c]], y.e[n, c, index[n, c]] = flat.v[n, c], flat.e[n, c]
        y = Real(y.v, y.e, x.doubt).reshape(x.shape[:2] + (high, wide))
        return [undecided(y, bool(open_.any()))]

    def backward(self, tops, diffs, bottoms, needs):
        x, dy = bottoms[0], diffs[0]
        if len(bottoms) == 1:
            high, wide = self.scales()
            return [dy.reshape(x.shape[:2] + (x.shape[2], high, x.shape[3], wide)).sum((3, 5))]
        index, open_ = self.places(bottoms)
        flat = dy.reshape(x.shape[:2] + (-1,))
        dx = flat.map(lambda a: np.take_along_axis(a, index, 2)).reshape(x.shape)
        return [undecided(dx, bool(open_.any())), None]


@layer('Interp', field='interp_param')
class Interp(Layer):
    """Bilinear interpolation with aligned corners: y = A·x·Bᵀ. Negative pads crop the bottom first."""

    def sizes(self, x):
        p = self.p
        self.check(x.ndim == 4, 'the bottom has %d axes, not 4', x.ndim)
        crop = -p.int('pad_beg', 0), -p.int('pad_end', 0)
        self.check(min(crop) >= 0, 'pads must not be positive')
        inner = tuple(n - sum(crop) for n in x.shape[2:])
        if p.has('height') and p.has('width'):
            outer = p.int('height'), p.int('width')
        else:
            shrunk = tuple((n - 1) // p.int('shrink_factor', 1) + 1 for n in inner)
            outer = tuple(n + (n - 1) * (p.int('zoom_factor', 1) - 1) for n in shrunk)
        self.check(min(inner + outer) > 0, '%s to %s', inner, outer)
        part = (Ellipsis,) + tuple(slice(crop[0], crop[0] + n) for n in inner)
        return part, inner, outer

    def matrix(self, n, m):
        """(m, n): m points over n, the first and the last at the ends. The error of a coordinate moves weight
        between neighbours."""
        weights = np.zeros((m, n))
        at = np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
        low = np.minimum(at.astype(int), n - 1)
        part = at - low
        weights[np.arange(m), low] += 1 - part
        weights[np.arange(m), np.minimum(low + 1, n - 1)] += part
        bound = zeros((m, n)).v
        if n != m:
            for step in (-1, 0, 1, 2):
                bound[np.arange(m), np.clip(low + step, 0, n - 1)] = 4 * 2.0**-23 * (at + 1)
        return Real(weights, bound)

    def forward(self, bottoms):
        part, inner, outer = self.sizes(bottoms[0])
        rows, columns = self.matrix(inner[0], outer[0]), self.matrix(inner[1], outer[1])
        return [matmul(matmul(rows, bottoms[0][part]), transposed(columns))]

    def backward(self, tops, diffs, bottoms, needs):
        part, inner, outer = self.sizes(bottoms[0])
        rows, columns = self.matrix(inner[0], outer[0]), self.matrix(inner[1], outer[1])
        inside = matmul(matmul(transposed(rows), diffs[0]), columns)
        total = Sum(bottoms[0].shape)
        total.term(inside, part)
        return [total.real()]
