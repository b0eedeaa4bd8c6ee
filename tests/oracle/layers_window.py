# SPDX-License-Identifier: BSD-2-Clause
"""Layers with a window: convolution and its transpose, im2col, pooling, spatial pyramid, LRN."""

import itertools

import numpy as np

from .layer import Layer, count, layer
from .real import FLT_MAX, Real, Sum, biased, concatenate, power, stack, undecided
from .text import Unsupported

WINOGRAD_CHANNELS = 4  # the floats of the shortest vector: no convolution of fewer channels
WINOGRAD_LOOSE = 16  # the factor by which the rounding errors of a convolution by tiles are larger


class Window:
    """A kernel's positions: for each offset within the kernel, the slice of the padded image under it for all
    outputs."""

    def __init__(self, owner, axes):
        p = owner.p
        self.kernel = self.sizes(owner, axes, 'kernel_size', ('kernel_h', 'kernel_w'), None)
        self.stride = self.sizes(owner, axes, 'stride', ('stride_h', 'stride_w'), 1)
        self.pad = self.sizes(owner, axes, 'pad', ('pad_h', 'pad_w'), 0)
        self.dilation = self.sizes(owner, axes, 'dilation', (), 1)
        owner.check(all(n > 0 for n in self.kernel), 'kernel %s', self.kernel)
        owner.check(all(n > 0 for n in self.stride), 'stride %s', self.stride)
        owner.check(all(n > 0 for n in self.dilation), 'dilation %s', self.dilation)
        owner.check(p.ints('pad') == [] or min(self.pad + (0,)) >= 0, 'pad %s', self.pad)

    def sizes(self, owner, axes, name, pair, default):
        p, values = owner.p, owner.p.ints(name)
        if any(p.has(n) for n in pair):
            owner.check(axes == 2, '%s and %s need 2 spatial axes, not %d', pair[0], pair[1], axes)
            owner.check(not values, 'both %s and %s', name, pair[0])
            return tuple(p.int(n) for n in pair)
        if not values and default is not None:
            return (default,) * axes
        owner.check(
            len(values) in (1, axes), '%d values of %s for %d axes', len(values), name, axes
        )
        return tuple(values * axes) if len(values) == 1 else tuple(values)

    def outputs(self, image):
        extents = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel)]
        return tuple(
            (n + 2 * p - e) // s + 1 for n, p, e, s in zip(image, self.pad, extents, self.stride)
        )

    def inputs(self, outputs):
        """The size of the image for a number of outputs, for deconvolution."""
        extents = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel)]
        return tuple(
            s * (n - 1) + e - 2 * p for n, p, e, s in zip(outputs, self.pad, extents, self.stride)
        )

    def places(self, outputs):
        """(offset, slices of the padded image) for each offset within the kernel."""
        for offset in itertools.product(*map(range, self.kernel)):
            yield offset, tuple(
                slice(i * d, i * d + s * (n - 1) + 1, s)
                for i, d, s, n in zip(offset, self.dilation, self.stride, outputs)
            )

    def padded(self, x, lead):
        return x.pad([(0, 0)] * lead + [(p, p) for p in self.pad])

    def inside(self, image):
        return tuple(slice(p, p + n) for p, n in zip(self.pad, image))


ALL = (slice(None),)


def cross(window, x, w, outputs, loose=1):
    """Σ over channels and offsets: x (N, G, C, image…) with w (G, O, C, kernel…) -> (N, G, O, outputs…).
    `loose` multiplies the bound of its own rounding errors."""
    padded = window.padded(x, 3)
    n, g, c = x.shape[:3]
    total = Sum((n, g, w.shape[1], count(outputs)))
    for offset, place in window.places(outputs):
        part = padded[ALL * 3 + place].reshape(n, g, c, count(outputs))
        total.product(w[ALL * 3 + offset], part)
    return total.real(loose).reshape((n, g, w.shape[1]) + tuple(outputs))


def spread(window, y, w, image):
    """The transpose of cross: y (N, G, O, outputs…) with w (G, O, C, kernel…) -> (N, G, C,
    image…)."""
    n, g, o = y.shape[:3]
    outputs, c = y.shape[3:], w.shape[2]
    flat = y.reshape(n, g, o, count(outputs))
    padded = Sum((n, g, c) + tuple(i + 2 * p for i, p in zip(image, window.pad)))
    for offset, place in window.places(outputs):
        product = Sum((n, g, c, count(outputs)))
        product.product(w[ALL * 3 + offset].map(lambda a: a.swapaxes(1, 2)), flat)
        where = ALL * 3 + place
        for name in ('v', 'e', 'size'):
            getattr(padded, name)[where] += getattr(product, name).reshape((n, g, c) + outputs)
        padded.terms, padded.doubt = padded.terms + o, padded.doubt or product.doubt
    return padded.real()[ALL * 3 + window.inside(image)]


def correlate(window, x, y, shape):
    """The weights' gradient: x (N, G, C, image…) with y (N, G, O, outputs…) -> shape (G, O, C,
    kernel…)."""
    n, g, o = y.shape[:3]
    outputs, c = y.shape[3:], x.shape[2]
    padded = window.padded(x, 3)
    left = y.reshape(n, g, o, -1).map(lambda a: a.transpose(1, 2, 0, 3)).reshape(g, o, -1)
    total = Sum(shape)
    terms = 0
    for offset, place in window.places(outputs):
        part = padded[ALL * 3 + place].reshape(n, g, c, -1)
        right = part.map(lambda a: a.transpose(1, 0, 3, 2)).reshape(g, -1, c)
        total.product(left, right, ALL * 3 + offset)
        terms = left.shape[-1]
    total.terms = terms  # each offset has a separate sum
    return total.real()


class Convolutional(Layer):
    """Any number of spatial axes after the channel axis; axes before it are items. All bottoms
    share the weights."""

    transposed = False

    def groups(self):
        return self.p.int('group', 1)

    def setup(self, bottoms):
        x = bottoms[0]
        self.channel = self.axis(x, self.p.int('axis', 1))
        self.channels, self.outputs = x.shape[self.channel], self.p.int('num_output')
        self.window = Window(self, x.ndim - self.channel - 1)
        g = self.groups()
        self.check(self.outputs > 0, 'num_output must be positive')
        self.check(g > 0 and self.channels % g == 0 and self.outputs % g == 0, '%d groups', g)
        rows, columns = (
            (self.channels, self.outputs) if self.transposed else (self.outputs, self.channels)
        )
        self.parameter((rows, columns // g) + self.window.kernel, self.p.sub('weight_filler'))
        if self.p.bool('bias_term', True):
            self.parameter((self.outputs,), self.p.sub('bias_filler'))

    def apart(self, x):
        """(items, groups, channels of a group, spatial…)."""
        g = self.groups()
        lead, channels = count(x.shape[: self.channel]), x.shape[self.channel]
        return x.reshape((lead, g, channels // g) + x.shape[self.channel + 1 :])

    def filters(self):
        w, g = self.weight(0), self.groups()
        return w.reshape((g, w.shape[0] // g) + w.shape[1:])

    def forward(self, bottoms):
        tops = []
        for x in bottoms:
            self.check(x.shape == bottoms[0].shape, 'the bottoms differ in shape')
            self.check(x.shape[self.channel] == self.channels, '%d channels', x.shape[self.channel])
            tops.append(self.top(x))
        return tops

    def top(self, x):
        image = x.shape[self.channel + 1 :]
        size = self.window.inputs(image) if self.transposed else self.window.outputs(image)
        self.check(all(n > 0 for n in size), 'the top would be %s', size)
        if self.transposed:
            y = spread(self.window, self.apart(x), self.filters(), size)
        else:
            loose = WINOGRAD_LOOSE if self.may_be_winograd() else 1
            y = cross(self.window, self.apart(x), self.filters(), size, loose)
        y = y.reshape(x.shape[: self.channel] + (self.outputs,) + size)
        if len(self.blobs) > 1:
            bias = self.weight(1).reshape((-1,) + (1,) * len(size))
            y = biased(y, bias, self.weight(0).size // self.outputs)
        return y

    def may_be_winograd(self):
        """Windows of 3 by 3 without stride, dilation and groups, over the channels of one vector."""
        window = self.window
        return (
            self.tiles
            and (window.kernel, window.stride, window.dilation) == ((3, 3), (1, 1), (1, 1))
            and self.groups() == 1
            and self.channels >= WINOGRAD_CHANNELS
        )

    def backward(self, tops, diffs, bottoms, needs):
        result = []
        for x, dy, need in zip(bottoms, diffs, needs):
            if self.wants(1):
                axes = tuple(i for i in range(dy.ndim) if i != self.channel)
                self.add_gradient(1, dy.sum(axes) if axes else dy)
            image, outer = self.apart(x), self.apart(dy)
            if self.wants(0):
                low, high = (outer, image) if self.transposed else (image, outer)
                self.add_gradient(0, correlate(self.window, low, high, self.filters().shape))
            if not need:
                result.append(None)
                continue
            apply = cross if self.transposed else spread
            result.append(
                apply(self.window, outer, self.filters(), image.shape[3:]).reshape(x.shape)
            )
        return result


@layer('Convolution', field='convolution_param', bottoms=(1, None), tops=(1, None))
class Convolution(Convolutional):
    pass


@layer('Deconvolution', field='convolution_param', bottoms=(1, None), tops=(1, None))
class Deconvolution(Convolutional):
    """The backward pass of Convolution as a forward pass; weights (in, out/group, kernel…)."""

    transposed = True


@layer(
    'ConvolutionDepthwise',
    'DepthwiseConvolution',
    field='convolution_param',
    bottoms=(1, None),
    tops=(1, None),
)
class Depthwise(Convolutional):
    """A convolution with a group for each channel, regardless of `group`."""

    def groups(self):
        return self.channels


@layer('Im2col', field='convolution_param')
class Im2col(Layer):
    """Each (channel, offset) is a channel of the top."""

    def setup(self, bottoms):
        self.channel = self.axis(bottoms[0], self.p.int('axis', 1))
        self.window = Window(self, bottoms[0].ndim - self.channel - 1)

    def forward(self, bottoms):
        x, lead = bottoms[0], self.channel + 1
        size = self.window.outputs(x.shape[lead:])
        self.check(all(n > 0 for n in size), 'the top would be %s', size)
        padded = self.window.padded(x, lead)
        columns = [padded[ALL * lead + place] for _, place in self.window.places(size)]
        shape = x.shape[: self.channel] + (x.shape[self.channel] * len(columns),) + size
        return [stack(columns, lead).reshape(shape)]

    def backward(self, tops, diffs, bottoms, needs):
        x, lead = bottoms[0], self.channel + 1
        size = tops[0].shape[lead:]
        columns = diffs[0].reshape(x.shape[:lead] + (-1,) + size)
        padded = Sum(
            x.shape[:lead] + tuple(n + 2 * p for n, p in zip(x.shape[lead:], self.window.pad))
        )
        for i, (_, place) in enumerate(self.window.places(size)):
            padded.term(columns[ALL * lead + (i,)], ALL * lead + place)
        return [padded.real()[ALL * lead + self.window.inside(x.shape[lead:])]]


# ---- pooling -----------------------------------------------------------------------------------


class Pool:
    """Caffe's 2-d pooling. The output size is rounded up; with padding, a last window that would begin in the
    padding after the image is dropped. The average divides by the size of the window clipped to the padded
    image."""

    def __init__(self, owner, method, kernel, stride, pad, round_up=True):
        owner.check(min(kernel) > 0 and min(stride) > 0, 'kernel %s, stride %s', kernel, stride)
        owner.check(
            pad == (0, 0) or all(p < k for p, k in zip(pad, kernel)),
            'pad %s of kernel %s',
            pad,
            kernel,
        )
        self.owner, self.method = owner, method
        self.kernel, self.stride, self.pad, self.round_up = kernel, stride, pad, round_up

    def size(self, image):
        result = []
        for n, k, s, p in zip(image, self.kernel, self.stride, self.pad):
            room = n + 2 * p - k
            # the division rounds up towards 0 for a kernel larger than the image, too
            steps = -(-room // s) if self.round_up else room // s
            result.append(steps + 1)
        if any(self.pad):
            for i, (n, s, p) in enumerate(zip(image, self.stride, self.pad)):
                if (result[i] - 1) * s >= n + p:
                    result[i] -= 1
                self.owner.check((result[i] - 1) * s < n + p, 'pad %s', self.pad)
        self.owner.check(min(result) > 0, 'the top would be %s', result)
        return tuple(result)

    def frame(self, x, value):
        """x with its padding before it, and with enough after it for every window."""
        out = self.size(x.shape[2:])
        behind = [
            max((o - 1) * s + k - p - n, 0)
            for o, s, k, p, n in zip(out, self.stride, self.kernel, self.pad, x.shape[2:])
        ]
        return x.pad([(0, 0), (0, 0)] + list(zip(self.pad, behind)), value), out

    def places(self, out):
        for offset in itertools.product(*map(range, self.kernel)):
            yield offset, (Ellipsis,) + tuple(
                slice(i, i + s * (n - 1) + 1, s) for i, s, n in zip(offset, self.stride, out)
            )

    def divisors(self, image, out):
        sides = []
        for n, k, s, p, o in zip(image, self.kernel, self.stride, self.pad, out):
            start = np.arange(o) * s - p
            sides.append(np.minimum(start + k, n + p) - start)
        return np.outer(*sides).astype(float)

    def average(self, x):
        framed, out = self.frame(x, 0.0)
        total = Sum(x.shape[:2] + out)
        for _, place in self.places(out):
            total.term(framed[place])
        return total.real() / self.divisors(x.shape[2:], out)

    def average_back(self, x, dy):
        framed, out = self.frame(x, 0.0)
        share = dy / self.divisors(x.shape[2:], out)
        total = Sum(framed.shape)
        for _, place in self.places(out):
            total.term(share, place)
        return total.real()[self.image(x)]

    def image(self, x):
        return (Ellipsis,) + tuple(slice(p, p + n) for p, n in zip(self.pad, x.shape[2:]))

    def windows(self, x):
        """Values and bounds of each window's elements, in scan order along axis 0, and their indices in the
        image. Elements outside are -inf; NaN, which is never larger, counts as -inf."""
        framed, out = self.frame(x, -np.inf)
        v = np.stack([framed.v[place] for _, place in self.places(out)])
        e = np.stack([framed.e[place] for _, place in self.places(out)])
        rows, columns = (np.arange(o) * s - p for o, s, p in zip(out, self.stride, self.pad))
        index = [
            (rows[:, None] + i) * x.shape[3] + (columns[None, :] + j)
            for (i, j), _ in self.places(out)
        ]
        return np.where(np.isnan(v), -np.inf, v), e, np.array(index)

    def maximum(self, x):
        """The maximum of each window and its index in the image; of equal ones the first. Also the elements
        that may be the maximum according to the bounds, along axis 0."""
        v, e, index = self.windows(x)
        winner, best, bound = v.argmax(0), v.max(0), e.max(0)
        found = best > -FLT_MAX
        near = v + e >= best - bound
        rivals = near & ((near.sum(0) > 1) & (bound > 0))
        places = np.take_along_axis(
            np.broadcast_to(index[:, None, None], v.shape), winner[None], 0
        )[0]
        best = Real(np.where(found, best, -FLT_MAX), bound, x.doubt)
        return best, np.where(found, places, -1), np.where(found, winner, -1), rivals

    def maximum_back(self, x, dy):
        _, _, winner, rivals = self.maximum(x)
        framed, out = self.frame(x, 0.0)
        total = Sum(framed.shape)
        for k, (_, place) in enumerate(self.places(out)):
            taken = winner == k
            e = np.where(taken, dy.e, 0) + np.where(rivals[k], abs(dy.v) + dy.e, 0)
            total.term(Real(np.where(taken, dy.v, 0), e), place)
        total.doubt = dy.doubt or x.doubt or bool(rivals.any())
        return total.real()[self.image(x)]

    def forward(self, x):
        self.owner.check(x.ndim == 4, 'the bottom has %d axes, not 4', x.ndim)
        return self.average(x) if self.method == 'AVE' else self.maximum(x)[0]

    def backward(self, x, dy):
        return self.average_back(x, dy) if self.method == 'AVE' else self.maximum_back(x, dy)


METHODS = ('MAX', 'AVE', 'STOCHASTIC')


def pool_method(owner):
    method = owner.p.enum('pool', 'MAX', *METHODS)
    if method == 'STOCHASTIC':
        raise Unsupported('layer %s: stochastic pooling is random' % owner.name)
    return method


@layer('Pooling', field='pooling_param', tops=(1, 2))
class Pooling(Layer):
    def pair(self, name, default):
        p = self.p
        if p.has(name + '_h') or p.has(name + '_w'):
            self.check(
                p.has(name + '_h') and p.has(name + '_w') and not p.has(name),
                '%s or both of %s_h and _w',
                name,
                name,
            )
            return p.int(name + '_h'), p.int(name + '_w')
        return (p.int(name, default),) * 2

    def kernel(self, x):
        p = self.p
        if p.bool('global_pooling'):
            self.check(
                not any(p.has(n) for n in ('kernel_size', 'kernel_h', 'kernel_w')),
                'global_pooling with a kernel',
            )
            return x.shape[2:]
        if p.has('kernel_size'):
            self.check(
                not (p.has('kernel_h') and p.has('kernel_w')), 'both kernel_size and kernel_h'
            )
            return (p.int('kernel_size'),) * 2
        self.check(p.has('kernel_h') and p.has('kernel_w'), 'no kernel')
        return p.int('kernel_h'), p.int('kernel_w')

    def pool(self, x):
        self.check(x.ndim == 4, 'the bottom has %d axes, not 4', x.ndim)
        stride, pad = self.pair('stride', 1), self.pair('pad', 0)
        if self.p.bool('global_pooling'):
            self.check(stride == (1, 1) and pad == (0, 0), 'global_pooling with stride or pad')
        up = self.p.enum('round_mode', 'CEIL', 'CEIL', 'FLOOR') == 'CEIL' and self.p.bool(
            'ceil_mode', True
        )
        return Pool(self, pool_method(self), self.kernel(x), stride, pad, up)

    def forward(self, bottoms):
        pool = self.pool(bottoms[0])
        if self.tops_wanted == 1:
            return [pool.forward(bottoms[0])]
        self.check(pool.method == 'MAX', 'only max pooling has a mask')
        best, index, _, rivals = pool.maximum(bottoms[0])
        return [best, undecided(Real(index), rivals.any(0))]

    def backward(self, tops, diffs, bottoms, needs):
        return [self.pool(bottoms[0]).backward(bottoms[0], diffs[0])]


@layer('SPP', field='spp_param')
class SPP(Layer):
    """Level i pools into 2^i × 2^i bins; the flattened levels are concatenated. A single level stays 4-d."""

    def pools(self, x):
        self.check(x.ndim == 4, 'the bottom has %d axes, not 4', x.ndim)
        levels, result = self.p.int('pyramid_height'), []
        for level in range(levels):
            bins = 2**level
            kernel = tuple(-(-n // bins) for n in x.shape[2:])
            pad = tuple((k * bins - n + 1) // 2 for k, n in zip(kernel, x.shape[2:]))
            result.append(Pool(self, pool_method(self), kernel, kernel, pad))
        return result

    def forward(self, bottoms):
        parts = [pool.forward(bottoms[0]) for pool in self.pools(bottoms[0])]
        if len(parts) == 1:
            return parts
        return [concatenate([p.reshape(p.shape[0], -1) for p in parts], 1)]

    def backward(self, tops, diffs, bottoms, needs):
        x, at, total = bottoms[0], 0, Sum(bottoms[0].shape)
        for pool in self.pools(x):
            shape = x.shape[:2] + pool.size(x.shape[2:])
            size = count(shape[1:])
            flat = diffs[0].reshape(x.shape[0], -1)
            total.term(pool.backward(x, flat[:, at : at + size].reshape(shape)))
            at += size
        return [total.real()]


@layer('LRN', field='lrn_param')
class LRN(Layer):
    """Across channels: y = x·s^-β, s = k + α/n·Σ x² over n channels. Within a channel: s = 1 + α·(average
    pooling of x² over n × n with padding); k is ignored."""

    def settings(self, x):
        self.check(x.ndim == 4, 'the bottom has %d axes, not 4', x.ndim)
        n, p = self.p.int('local_size', 5), self.p
        self.check(n % 2 == 1, 'local_size %d is even', n)
        return n, p.float('alpha', 1), p.float('beta', 0.75), p.float('k', 1)

    def within(self):
        regions = ('ACROSS_CHANNELS', 'WITHIN_CHANNEL')
        return self.p.enum('norm_region', regions[0], *regions) == regions[1]

    def neighbours(self, x, n):
        """Σ over the n channels around each channel."""
        padded = x.pad([(0, 0), (n // 2, n // 2), (0, 0), (0, 0)])
        total = Sum(x.shape)
        for i in range(n):
            total.term(padded[:, i : i + x.shape[1]])
        return total.real()

    def pool(self, n):
        return Pool(self, 'AVE', (n, n), (1, 1), (n // 2, n // 2))

    def scale(self, x):
        n, alpha, _, k = self.settings(x)
        if self.within():
            return self.pool(n).forward(x * x) * alpha + 1.0
        return self.neighbours(x * x, n) * (alpha / n) + k

    def forward(self, bottoms):
        x = bottoms[0]
        return [power(self.scale(x), -self.settings(x)[2]) * x]

    def backward(self, tops, diffs, bottoms, needs):
        x, dy = bottoms[0], diffs[0]
        n, alpha, beta, _ = self.settings(x)
        s = self.scale(x)
        through = dy * tops[0] / s  # dy·x·s^(-β-1)
        if self.within():
            gathered = self.pool(n).backward(x, through) * (2 * alpha * beta)
        else:
            gathered = self.neighbours(through, n) * (2 * alpha * beta / n)
        return [dy * power(s, -beta) - x * gathered]
