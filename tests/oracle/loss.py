# SPDX-License-Identifier: BSD-2-Clause
"""Loss layers. The top is a scalar; its diff is the loss weight."""

import numpy as np

from .layer import Layer, count, layer
from .layers_norm import softmax
from .real import FLT_MIN, Real, choose, exp, log, real, sigmoid, sqrt, undecided, zeros
from .wire import read_blob

MODES = ('FULL', 'VALID', 'BATCH_SIZE', 'NONE')
LEAST = float(np.float32(1e-20))  # the least probability in a logarithm


class Loss(Layer):
    def same_items(self, bottoms):
        self.check(bottoms[0].shape[:1] == bottoms[1].shape[:1], 'data and labels differ in axis 0')

    def normalizer(self, default, outer, inner, valid):
        """The divisor of the sum, at least 1. `normalize` is the old field."""
        q = self.message.sub('loss_param')
        mode = q.enum('normalization', default, *MODES)
        if q.has('normalize') and not q.has('normalization'):
            mode = 'VALID' if q.bool('normalize') else 'BATCH_SIZE'
        return max(1, {'FULL': outer * inner, 'VALID': valid, 'BATCH_SIZE': outer, 'NONE': 1}[mode])

    def kept(self, labels):
        """The labels that are not the ignored one."""
        q = self.message.sub('loss_param')
        if not q.has('ignore_label'):
            return np.ones(labels.shape, bool)
        return np.trunc(labels.v) != q.int('ignore_label')


class Classes(Loss):
    """One label for each position outside of the class axis: x as (outer, classes, inner), labels (outer,
    inner)."""

    def parts(self, bottoms, axis):
        self.same_items(bottoms)
        x, labels = bottoms[:2]
        axis = self.axis(x, axis)
        outer, inner = count(x.shape[:axis]), count(x.shape[axis + 1 :])
        self.check(outer * inner == labels.size, '%d labels for %s', labels.size, x.shape)
        labels = labels.reshape(outer, inner)
        kept = self.kept(labels)
        index, open_ = self.indices(choose_kept(labels, kept), x.shape[axis])
        return x.reshape(outer, x.shape[axis], inner), index, kept, bool((open_ & kept).any())


def choose_kept(labels, kept):
    """The labels, 0 for ignored ones."""
    return Real(np.where(kept, labels.v, 0), np.where(kept, labels.e, 0), labels.doubt)


@layer('SoftmaxWithLoss', field='softmax_param', bottoms=2, tops=(0, 2), loss=True, closed=(1,))
class SoftmaxWithLoss(Classes):
    """-Σ log(max(p(label), FLT_MIN)), divided by default by the number of labels that are not ignored. Top 1:
    the probabilities."""

    def divisor(self, kept):
        return self.normalizer('VALID', kept.shape[0], kept.shape[1], int(kept.sum()))

    def forward(self, bottoms):
        x, label, kept, open_ = self.parts(bottoms, self.p.int('axis', 1))
        p = softmax(x, 1)
        own = p.map(lambda a: np.take_along_axis(a, label[:, None], 1)[:, 0])
        terms = choose_kept(log(choose(own < FLT_MIN, FLT_MIN, own)), kept)
        loss = -terms.sum() / self.divisor(kept)
        return [undecided(loss, open_), p.reshape(bottoms[0].shape)][: max(self.tops_wanted, 1)]

    def backward(self, tops, diffs, bottoms, needs):
        x, label, kept, open_ = self.parts(bottoms, self.p.int('axis', 1))
        hot = np.arange(x.shape[1])[None, :, None] == label[:, None]
        g = (softmax(x, 1) - hot.astype(float)) * kept[:, None].astype(float)
        g = g * (diffs[0] / self.divisor(kept))
        return [undecided(g.reshape(bottoms[0].shape), open_), None]


@layer(
    'InfogainLoss', field='infogain_loss_param', bottoms=(2, 3), tops=(0, 2), loss=True, closed=(1,)
)
class InfogainLoss(Classes):
    """-Σ over classes of H[label, class]·log(max(p, 1e-20)), where p is the softmax. H is bottom 2 or a file."""

    def matrix(self, bottoms, classes):
        if len(bottoms) > 2:
            h = bottoms[2]
        else:
            h = real(read_blob(self.p.get('source', '')))
        self.check(h.size == classes * classes, 'H has %d values for %d classes', h.size, classes)
        return h.reshape(classes, classes)

    def divisor(self, kept):
        self.check(
            not self.message.sub('loss_param').has('normalize'), 'normalize is not for this layer'
        )
        return self.normalizer('VALID', kept.shape[0], kept.shape[1], int(kept.sum()))

    def forward(self, bottoms):
        x, label, kept, open_ = self.parts(bottoms, self.p.int('axis', 1))
        p = softmax(x, 1)
        h = self.matrix(bottoms, x.shape[1])[label].map(lambda a: a.transpose(0, 2, 1))
        terms = h * log(choose(p < LEAST, LEAST, p)) * kept[:, None].astype(float)
        loss = -terms.sum() / self.divisor(kept)
        return [undecided(loss, open_), p.reshape(bottoms[0].shape)][: max(self.tops_wanted, 1)]

    def backward(self, tops, diffs, bottoms, needs):
        x, label, kept, open_ = self.parts(bottoms, self.p.int('axis', 1))
        matrix = self.matrix(bottoms, x.shape[1])
        h = matrix[label].map(lambda a: a.transpose(0, 2, 1))
        sums = matrix.sum(1)[label].map(lambda a: a[:, None])
        g = (
            (softmax(x, 1) * sums - h)
            * kept[:, None].astype(float)
            * (diffs[0] / self.divisor(kept))
        )
        return [undecided(g.reshape(bottoms[0].shape), open_), None, None][: len(bottoms)]


@layer('SigmoidCrossEntropyLoss', bottoms=2, tops=(0, 1), loss=True, closed=(1,))
class SigmoidCrossEntropyLoss(Loss):
    """Σ max(x, 0) - x·t + log(1 + exp(-|x|)), divided by default by the number of items."""

    def parts(self, bottoms):
        self.same_items(bottoms)
        x, t = bottoms
        self.check(x.size == t.size, '%d targets for %d inputs', t.size, x.size)
        t = t.reshape(x.shape)
        kept = self.kept(t)
        return (
            x,
            t,
            kept,
            self.normalizer('BATCH_SIZE', x.shape[0], count(x.shape[1:]), int(kept.sum())),
        )

    def forward(self, bottoms):
        x, t, kept, divisor = self.parts(bottoms)
        terms = choose(x > 0, x, 0.0) - x * t + log(exp(-abs(x)) + 1.0)
        return [choose_kept(terms, kept).sum() / divisor][: max(self.tops_wanted, 1)]

    def backward(self, tops, diffs, bottoms, needs):
        x, t, kept, divisor = self.parts(bottoms)
        return [choose_kept(sigmoid(x) - t, kept) * (diffs[0] / divisor), None]


@layer('EuclideanLoss', bottoms=2, tops=(0, 1), loss=True)
class EuclideanLoss(Loss):
    """Σ (a - b)² / 2N; both bottoms may have a gradient."""

    def difference(self, bottoms):
        self.same_items(bottoms)
        a, b = bottoms
        self.check(count(a.shape[1:]) == count(b.shape[1:]), 'the items differ in size')
        return a - b.reshape(a.shape)

    def forward(self, bottoms):
        d = self.difference(bottoms)
        return [(d * d).sum() / (2.0 * d.shape[0])]

    def backward(self, tops, diffs, bottoms, needs):
        g = self.difference(bottoms) * (diffs[0] / float(bottoms[0].shape[0]))
        return [g, -g.reshape(bottoms[1].shape)]


@layer('HingeLoss', field='hinge_loss_param', bottoms=2, tops=(0, 1), loss=True, closed=(1,))
class HingeLoss(Loss):
    """Σ max(0, 1 ± x)^norm / N, minus at the label."""

    def parts(self, bottoms):
        self.same_items(bottoms)
        x = bottoms[0].reshape(self.legacy4(bottoms[0])[0], -1)
        labels = bottoms[1].reshape(-1)[: x.shape[0]]
        index, open_ = self.indices(labels, x.shape[1])
        sign = np.where(np.arange(x.shape[1]) == index[:, None], -1.0, 1.0)
        margin = x * sign + 1.0
        return choose(margin > 0, margin, 0.0), margin, sign, bool(open_.any())

    def l2(self):
        return self.p.enum('norm', 'L1', '', 'L1', 'L2') == 'L2'

    def forward(self, bottoms):
        loss, _, _, open_ = self.parts(bottoms)
        total = (loss * loss).sum() if self.l2() else loss.sum()
        return [undecided(total / loss.shape[0], open_)]

    def backward(self, tops, diffs, bottoms, needs):
        loss, margin, sign, open_ = self.parts(bottoms)
        slope = loss * 2.0 if self.l2() else choose(margin > 0, 1.0, 0.0)
        g = slope * sign * (diffs[0] / loss.shape[0])
        return [undecided(g.reshape(bottoms[0].shape), open_), None]


@layer('MultinomialLogisticLoss', bottoms=2, tops=(0, 1), loss=True, closed=(1,))
class MultinomialLogisticLoss(Loss):
    """-Σ log(max(p(label), 1e-20)) / N of given probabilities; the label indexes an item's values,
    flattened."""

    def parts(self, bottoms):
        self.same_items(bottoms)
        x = bottoms[0].reshape(self.legacy4(bottoms[0])[0], -1)
        self.check(
            bottoms[1].size == x.shape[0], '%d labels for %d items', bottoms[1].size, x.shape[0]
        )
        index, open_ = self.indices(bottoms[1].reshape(-1), x.shape[1])
        own = x[np.arange(len(index)), index]
        return x, index, choose(own < LEAST, LEAST, own), bool(open_.any())

    def forward(self, bottoms):
        x, _, own, open_ = self.parts(bottoms)
        return [undecided(-log(own).sum() / x.shape[0], open_)]

    def backward(self, tops, diffs, bottoms, needs):
        x, index, own, open_ = self.parts(bottoms)
        at, slope = np.arange(len(index)), -diffs[0] / x.shape[0] / own
        g = zeros(x.shape)
        g.v[at, index], g.e[at, index] = slope.v, slope.e
        return [undecided(Real(g.v, g.e, slope.doubt).reshape(bottoms[0].shape), open_), None]


@layer(
    'ContrastiveLoss',
    field='contrastive_loss_param',
    bottoms=3,
    tops=(0, 1),
    loss=True,
    closed=(2,),
)
class ContrastiveLoss(Loss):
    """Σ d² for similar pairs, max(margin - d, 0)² for others (legacy: max(margin - d², 0)), / 2N.
    The gradient divides by d + 1e-4."""

    def parts(self, bottoms):
        self.same_items(bottoms)
        for x in bottoms:
            self.check(self.legacy4(x)[2:] == (1, 1), 'height and width must be 1')
        self.check(bottoms[0].shape == bottoms[1].shape, 'the bottoms differ in shape')
        n = bottoms[0].shape[0]
        self.check(bottoms[2].size == n, '%d labels for %d pairs', bottoms[2].size, n)
        apart = bottoms[0].reshape(n, -1) - bottoms[1].reshape(n, -1)
        similar = np.trunc(bottoms[2].v.reshape(n)) != 0
        return (
            apart,
            (apart * apart).sum(1),
            similar,
            self.p.float('margin', 1),
            self.p.bool('legacy_version'),
        )

    def forward(self, bottoms):
        _, squared, similar, margin, legacy = self.parts(bottoms)
        room = margin - (squared if legacy else sqrt(squared))
        room = choose(room > 0, room, 0.0)
        other = room if legacy else room * room
        terms = Real(
            np.where(similar, squared.v, other.v),
            np.where(similar, squared.e, other.e),
            squared.doubt,
        )
        return [terms.sum() / (2.0 * len(similar))]

    def backward(self, tops, diffs, bottoms, needs):
        apart, squared, similar, margin, legacy = self.parts(bottoms)
        share = diffs[0] / float(len(similar))
        distance = sqrt(squared)
        room = margin - (squared if legacy else distance)
        other = -share if legacy else -share * room / (distance + float(np.float32(1e-4)))
        other = choose(room > 0, other, 0.0)
        share = share * np.ones(len(similar))
        factor = Real(
            np.where(similar, share.v, other.v), np.where(similar, share.e, other.e), other.doubt
        )
        g = (apart * factor.reshape(-1, 1)).reshape(bottoms[0].shape)
        return [g, -g, None]
