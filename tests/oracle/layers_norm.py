# SPDX-License-Identifier: BSD-2-Clause
"""Layers that normalise: batch, mean and variance, length, softmax."""

from .layer import Layer, count, layer
from .real import exp, real, shifted, sqrt
from .text import Message


@layer('BatchNorm', field='batch_norm_param', in_place=True)
class BatchNorm(Layer):
    """(x - mean) / sqrt(variance + eps), by channel (axis 1). The parameters are sums of means and of
    variances, and the weight of these sums, by which they are divided (if it is 0, they count as 0). With
    batch statistics each forward pass, in TEST too, multiplies all three by the fraction and adds mean,
    m/(m-1)·variance and 1. scale_bias (NVCaffe): two more parameters."""

    def default_spec(self):
        return Message(lr_mult=[0 if len(self.blobs) < 3 else 1])

    def setup(self, bottoms):
        x = bottoms[0]
        self.check(x.ndim >= 2, 'the bottom has fewer than 2 axes')
        statistics = self.message.all('param')[:3]
        for spec in statistics:
            # old files have three specifications: their multipliers become 0
            self.check(
                len(statistics) == 3 or spec.float('lr_mult', 1) == 0,
                'statistics cannot be learned',
            )
        for shape in ((x.shape[1],), (x.shape[1],), (1,)):
            self.parameter(shape)
        for param in self.blobs:
            param.lr_mult, param.decay_mult, param.needed = (
                0.0,
                0.0 if len(statistics) == 3 else param.decay_mult,
                False,
            )
        if self.p.bool('scale_bias'):
            self.parameter(
                (x.shape[1],),
                self.p.sub('scale_filler') if self.p.has('scale_filler') else None,
                1.0,
            )
            self.parameter((x.shape[1],), self.p.sub('bias_filler'))

    def rows(self, x):
        """(items, channels, rest)."""
        self.check(x.shape[1] == self.blobs[0].data.size, '%d channels', x.shape[1])
        return x.reshape(x.shape[0], x.shape[1], count(x.shape[2:]))

    def stored(self):
        return self.p.bool('use_global_stats', self.phase == 'TEST')

    def learned(self, index):
        return self.weight(index).reshape((1, -1, 1))

    def forward(self, bottoms):
        x = self.rows(bottoms[0])
        if self.stored():
            weight = float(self.blobs[2].data[0])
            factor = 0.0 if weight == 0 else 1 / weight
            mean, variance = self.learned(0) * factor, self.learned(1) * factor
            centred = shifted(x, -mean)
        else:
            mean = x.mean((0, 2), keepdims=True)
            centred = x - mean
            variance = (centred * centred).mean((0, 2), keepdims=True)
            self.move(mean, variance, x.size // x.shape[1])
        self.deviation = sqrt(variance + self.p.float('eps', 1e-5))
        self.normal = centred / self.deviation
        y = self.normal
        if len(self.blobs) > 3:
            y = shifted(y * self.learned(3), self.learned(4))
        return [y.reshape(bottoms[0].shape)]

    def move(self, mean, variance, m):
        if self.dry:
            return
        fraction = self.p.float('moving_average_fraction', 0.999)
        news = (mean, variance * (m / (m - 1) if m > 1 else 1.0), real(1.0))
        for param, new in zip(self.blobs, news):
            param.data[...] = param.data * fraction + new.v.ravel()
            param.slack = param.slack * fraction + new.e.ravel()

    def backward(self, tops, diffs, bottoms, needs):
        y, dy = self.normal, self.rows(diffs[0])
        if len(self.blobs) > 3:
            if self.wants(3):
                self.add_gradient(3, (dy * y).sum((0, 2)))
            if self.wants(4):
                self.add_gradient(4, dy.sum((0, 2)))
            dy = dy * self.learned(3)
        if not self.stored():
            dy = dy - dy.mean((0, 2), keepdims=True) - y * (dy * y).mean((0, 2), keepdims=True)
        return [(dy / self.deviation).reshape(bottoms[0].shape)]


@layer('BN', field='bn_param', in_place=True)
class BN(Layer):
    """SegNet's BN. LEARN: batch statistics, variance E(x²) - E(x)², eps 1e-9; then scale and shift,
    parameters (1, C, 1, 1). INFERENCE: only scale and shift. Both overwrite the parameters' diffs."""

    def setup(self, bottoms):
        shape = (1, self.legacy4(bottoms[0])[1], 1, 1)
        self.parameter(shape, self.p.sub('scale_filler'))
        self.parameter(shape, self.p.sub('shift_filler'))

    def learns(self):
        return self.p.enum('bn_mode', 'LEARN', 'LEARN', 'INFERENCE') == 'LEARN'

    def forward(self, bottoms):
        x = bottoms[0].reshape(self.legacy4(bottoms[0]))
        self.check(x.shape[1] == self.blobs[0].data.size, '%d channels', x.shape[1])
        self.normal = x
        if self.learns():
            axes = (0, 2, 3)
            mean = x.mean(axes, keepdims=True)
            variance = (x * x).mean(axes, keepdims=True) - mean * mean
            self.deviation = sqrt(variance + 1e-9)
            self.normal = (x - mean) / self.deviation
        return [self.normal * self.weight(0) + self.weight(1)]

    def backward(self, tops, diffs, bottoms, needs):
        axes, y, dy = (0, 2, 3), self.normal, diffs[0].reshape(tops[0].shape)
        if self.wants(0):
            self.add_gradient(0, (dy * y).sum(axes), True)
        if self.wants(1):
            self.add_gradient(1, dy.sum(axes), True)
        dy = dy * self.weight(0)
        if self.learns():
            dy = dy - dy.mean(axes, keepdims=True) - y * (dy * y).mean(axes, keepdims=True)
            dy = dy / self.deviation
        return [dy.reshape(bottoms[0].shape)]


@layer('MVN', field='mvn_param', in_place=True)
class MVN(Layer):
    """Mean 0 and variance 1 for each channel, or item: divides by sqrt(variance) + eps, with eps outside the
    root. The top has 4 axes."""

    def rows(self, x):
        n, c = self.legacy4(x)[:2]
        return x.reshape(n if self.p.bool('across_channels') else n * c, -1)

    def forward(self, bottoms):
        x = self.rows(bottoms[0])
        y = x - x.mean(1, keepdims=True)
        if self.p.bool('normalize_variance', True):
            self.deviation = sqrt((y * y).mean(1, keepdims=True)) + self.p.float('eps', 1e-9)
            y = y / self.deviation
        return [y.reshape(self.legacy4(bottoms[0]))]

    def backward(self, tops, diffs, bottoms, needs):
        y, dy = self.rows(tops[0]), self.rows(diffs[0])
        dx = dy - dy.mean(1, keepdims=True)
        if self.p.bool('normalize_variance', True):
            dx = (dx - y * (dy * y).mean(1, keepdims=True)) / self.deviation
        return [dx.reshape(bottoms[0].shape)]


@layer('Normalize', field='norm_param')
class Normalize(Layer):
    """SSD's Normalize: x / sqrt(Σ x² + eps) over channels, or over channels and space; then a scale, one for
    all or one for each channel. The gradient is that of the function, as in ferry; SSD's sums dy·x before it
    multiplies by the scale, and equals it only if all channels have the same scale."""

    def setup(self, bottoms):
        self.check(bottoms[0].ndim >= 2, 'the bottom has fewer than 2 axes')
        shape = () if self.p.bool('channel_shared', True) else (bottoms[0].shape[1],)
        self.parameter(
            shape, self.p.sub('scale_filler') if self.p.has('scale_filler') else None, 1.0
        )

    def parts(self, x):
        """x as (items, channels, rest), its norm, the scale."""
        rows = x.reshape(x.shape[0], x.shape[1], -1)
        axes = (1, 2) if self.p.bool('across_spatial', True) else (1,)
        norm = sqrt((rows * rows).sum(axes, keepdims=True) + self.p.float('eps', 1e-10))
        return rows, axes, norm, self.weight(0).reshape((1, -1, 1))

    def forward(self, bottoms):
        x, _, norm, scale = self.parts(bottoms[0])
        return [(x / norm * scale).reshape(bottoms[0].shape)]

    def backward(self, tops, diffs, bottoms, needs):
        x, axes, norm, scale = self.parts(bottoms[0])
        dy = diffs[0].reshape(x.shape)
        if self.wants(0):
            product = dy * x / norm
            self.add_gradient(0, product.sum((0, 2)) if self.blobs[0].data.ndim else product.sum())
        dy = dy * scale
        along = (dy * x).sum(axes, keepdims=True)
        return [((dy - x * along / (norm * norm)) / norm).reshape(bottoms[0].shape)]


def softmax(x, axis):
    """exp(x - max) / Σ; the shift cancels, so its bound is not added."""
    e = exp(x - x.max(axis, keepdims=True).exact())
    return e / e.sum(axis, keepdims=True)


@layer('Softmax', field='softmax_param', in_place=True)
class Softmax(Layer):
    def forward(self, bottoms):
        return [softmax(bottoms[0], self.axis(bottoms[0], self.p.int('axis', 1)))]

    def backward(self, tops, diffs, bottoms, needs):
        y, dy, axis = tops[0], diffs[0], self.axis(bottoms[0], self.p.int('axis', 1))
        return [(dy - (dy * y).sum(axis, keepdims=True)) * y]
