# SPDX-License-Identifier: BSD-2-Clause
"""Layers that produce, move or drop elements and compute nothing."""

import numpy as np

from .fill import fill, is_deterministic
from .layer import Layer, count, layer
from .real import Real, Sum, concatenate, undecided, zeros
from .text import Message, NetError


def shape(message):
    """A BlobShape's dimensions."""
    shape = tuple(message.ints('dim'))
    if any(n < 0 for n in shape):
        raise NetError('a shape has a negative dimension')
    return shape


class Source(Layer):
    """Tops whose values Net.set_input sets; `declared` are their shapes before that, None if unknown."""

    def declared(self):
        return [None] * self.tops_wanted

    def forward(self, bottoms):
        raise NotImplementedError  # the net has the values


@layer('Input', field='input_param', bottoms=0, tops=(1, None))
class Input(Source):
    def declared(self):
        shapes = [shape(s) for s in self.p.all('shape')]
        self.check(
            len(shapes) in (0, 1, self.tops_wanted),
            '%d shapes for %d tops',
            len(shapes),
            self.tops_wanted,
        )
        return (
            [None] * self.tops_wanted
            if not shapes
            else (shapes * self.tops_wanted)[: self.tops_wanted]
        )


@layer('MemoryData', field='memory_data_param', bottoms=0, tops=2)
class MemoryData(Source):
    def declared(self):
        n, c, h, w = (self.p.int(name) for name in ('batch_size', 'channels', 'height', 'width'))
        self.check(min(n, c, h, w) > 0, 'batch_size, channels, height and width must be positive')
        return [(n, c, h, w), (n,)]


@layer('Data', 'HDF5Data', 'ImageData', 'WindowData', bottoms=0, tops=(1, None))
class File(Source):
    """Layers that read a file: their tops are inputs of unknown shape."""


@layer('DummyData', field='dummy_data_param', bottoms=0, tops=(1, None))
class DummyData(Source):
    """Constant tops; one with a random filler is an input."""

    def one(self, values, index, what):
        self.check(
            len(values) in (1, self.tops_wanted),
            '%d %s for %d tops',
            len(values),
            what,
            self.tops_wanted,
        )
        return values[0] if len(values) == 1 else values[index]

    def declared(self):
        legacy = [self.p.ints(name) for name in ('num', 'channels', 'height', 'width')]
        if any(legacy):
            self.check(not self.p.has('shape'), 'both shape and num, channels, height, width')
            return [
                tuple(self.one(v, i, 'dimensions') for v in legacy) for i in range(self.tops_wanted)
            ]
        return [shape(self.one(self.p.all('shape'), i, 'shapes')) for i in range(self.tops_wanted)]

    def filler(self, index):
        fillers = self.p.all('data_filler') or [Message()]
        return self.one(fillers, index, 'fillers')

    def constant(self, index, shape):
        filler = self.filler(index)
        return fill(filler, shape) if is_deterministic(filler) else None


@layer('Parameter', field='parameter_param', bottoms=0, tops=1)
class Parameter(Layer):
    """The top has the parameter's values. Its gradient is added to the parameter's. In Caffe both are one
    array, so that it replaces the gradient that other layers with the parameter, or an earlier pass, have
    added."""

    def setup(self, bottoms):
        self.parameter(shape(self.p.sub('shape')))

    def forward(self, bottoms):
        return [self.weight(0)]

    def backward(self, tops, diffs, bottoms, needs):
        self.add_gradient(0, diffs[0])
        return []


@layer('Silence', 'HDF5Output', bottoms=(1, None), tops=0)
class Silence(Layer):
    """Consumes its bottoms; their diffs become zero if they are needed."""

    def forward(self, bottoms):
        return []

    def backward(self, tops, diffs, bottoms, needs):
        return [zeros(x.shape) if self.type == 'Silence' else None for x in bottoms]


@layer('Split', tops=(1, None))
class Split(Layer):
    """Copies; the diffs are added."""

    def forward(self, bottoms):
        return [bottoms[0]] * self.tops_wanted

    def backward(self, tops, diffs, bottoms, needs):
        total = Sum(bottoms[0].shape)
        for diff in diffs:
            total.term(diff)
        return [total.real() if len(diffs) > 1 else diffs[0]]


@layer('Concat', field='concat_param', bottoms=(1, None))
class Concat(Layer):
    def where(self, x):
        self.check(
            not (self.p.has('axis') and self.p.has('concat_dim')), 'both axis and concat_dim'
        )
        if self.p.has('concat_dim'):
            return self.axis(x, self.p.int('concat_dim'))
        return self.axis(x, self.p.int('axis', 1))

    def forward(self, bottoms):
        axis = self.where(bottoms[0])
        rest = [x.shape[:axis] + x.shape[axis + 1 :] for x in bottoms]
        self.check(
            all(x.ndim == bottoms[0].ndim for x in bottoms), 'the bottoms differ in their axes'
        )
        self.check(
            all(shape == rest[0] for shape in rest), 'the bottoms differ beside axis %d', axis
        )
        return [concatenate(bottoms, axis)]

    def backward(self, tops, diffs, bottoms, needs):
        axis, at, result = self.where(bottoms[0]), 0, []
        for x in bottoms:
            part = [slice(None)] * x.ndim
            part[axis] = slice(at, at + x.shape[axis])
            result.append(diffs[0][tuple(part)])
            at += x.shape[axis]
        return result


@layer('Slice', field='slice_param', tops=(1, None))
class Slice(Layer):
    def where(self, x):
        self.check(not (self.p.has('axis') and self.p.has('slice_dim')), 'both axis and slice_dim')
        if self.p.has('slice_dim'):
            return self.axis(x, self.p.int('slice_dim'))
        return self.axis(x, self.p.int('axis', 1))

    def ends(self, size):
        points, tops = self.p.ints('slice_point'), self.tops_wanted
        if not points:
            self.check(size % tops == 0, '%d tops of %d', tops, size)
            return [size // tops * i for i in range(tops + 1)]
        self.check(len(points) == tops - 1, '%d slice points for %d tops', len(points), tops)
        ends = [0] + points + [size]
        self.check(
            all(a < b for a, b in zip(ends, ends[1:])),
            'the slice points do not rise within %d',
            size,
        )
        return ends

    def forward(self, bottoms):
        x = bottoms[0]
        axis = self.where(x)
        ends = self.ends(x.shape[axis])
        lead = (slice(None),) * axis
        return [x[lead + (slice(a, b),)] for a, b in zip(ends, ends[1:])]

    def backward(self, tops, diffs, bottoms, needs):
        return [concatenate(diffs, self.where(bottoms[0]))]


class SameElements(Layer):
    """A view with another shape."""

    def shape(self, x):
        raise NotImplementedError

    def forward(self, bottoms):
        return [bottoms[0].reshape(self.shape(bottoms[0]))]

    def backward(self, tops, diffs, bottoms, needs):
        return [diffs[0].reshape(bottoms[0].shape)]


@layer('Flatten', field='flatten_param')
class Flatten(SameElements):
    def shape(self, x):
        start, end = self.axis(x, self.p.int('axis', 1)), self.axis(x, self.p.int('end_axis', -1))
        # If the end is before the start, Caffe's CHECK permits one case: an axis of 1 is inserted.
        self.check(start <= end + 1, 'end_axis %d before axis %d', end, start)
        return x.shape[:start] + (count(x.shape[start : end + 1]),) + x.shape[end + 1 :]


@layer('Reshape', field='reshape_param')
class Reshape(SameElements):
    """axis and num_axes select the axes that are replaced; a negative axis counts from one past the end. 0
    copies the bottom's dimension at the same position after axis, -1 is the remaining count."""

    def shape(self, x):
        wanted = self.p.sub('shape').ints('dim')
        start, extent = self.p.int('axis', 0), self.p.int('num_axes', -1)
        start += x.ndim + 1 if start < 0 else 0
        self.check(0 <= start <= x.ndim, 'axis %d of %d axes', start, x.ndim)
        end = x.ndim if extent == -1 else start + extent
        self.check(extent >= -1 and end <= x.ndim, 'num_axes %d', extent)
        self.check(wanted.count(-1) <= 1, 'more than one -1')
        new = []
        for i, n in enumerate(wanted):
            self.check(n or start + i < x.ndim, 'there is no axis %d to copy', start + i)
            new.append(x.shape[start + i] if n == 0 else n)
        shape = list(x.shape[:start]) + new + list(x.shape[end:])
        if -1 in wanted:
            rest = count([n for n in shape if n != -1])
            self.check(rest and x.size % rest == 0, '%d elements by %d', x.size, rest)
            shape[start + wanted.index(-1)] = x.size // rest
        self.check(count(shape) == x.size, '%d elements into %s', x.size, shape)
        return tuple(shape)


@layer('Crop', field='crop_param', bottoms=2)
class Crop(Layer):
    """From `axis` on, the part of bottom 0 that starts at the offset and has bottom 1's size.
    The gradient of bottom 1 is 0: Caffe never writes its diff."""

    def part(self, x, like):
        axis, offsets = self.axis(x, self.p.int('axis', 2)), self.p.ints('offset')
        self.check(len(offsets) <= 1 or len(offsets) == x.ndim - axis, '%d offsets', len(offsets))
        part = [slice(None)] * axis
        for i in range(axis, x.ndim):
            self.check(i < like.ndim, 'bottom 1 has no axis %d', i)
            start = 0 if not offsets else offsets[0] if len(offsets) == 1 else offsets[i - axis]
            self.check(
                start + like.shape[i] <= x.shape[i], 'axis %d: %d at %d', i, like.shape[i], start
            )
            part.append(slice(start, start + like.shape[i]))
        return tuple(part)

    def forward(self, bottoms):
        return [bottoms[0][self.part(*bottoms)]]

    def backward(self, tops, diffs, bottoms, needs):
        total = Sum(bottoms[0].shape)
        total.term(diffs[0], self.part(*bottoms))
        return [Real(total.v, total.e, total.doubt), zeros(bottoms[1].shape)]


@layer('Tile', field='tile_param')
class Tile(Layer):
    def forward(self, bottoms):
        x, tiles = bottoms[0], self.p.int('tiles')
        self.check(tiles > 0, 'tiles must be positive')
        return [concatenate([x] * tiles, self.axis(x, self.p.int('axis', 1)))]

    def backward(self, tops, diffs, bottoms, needs):
        x, axis = bottoms[0], self.axis(bottoms[0], self.p.int('axis', 1))
        tiles = self.p.int('tiles')
        return [diffs[0].reshape(x.shape[:axis] + (tiles,) + x.shape[axis:]).sum(axis)]


@layer('Filter', bottoms=(2, None), tops=(1, None))
class Filter(Layer):
    """The items (axis 0) for which the last bottom, the selector, is not 0; other items get a gradient of 0.
    The first reshape, before there are values, selects all items."""

    def chosen(self, bottoms):
        selector = bottoms[-1]
        self.check(all(x.ndim for x in bottoms), 'a bottom has no axis')
        self.check(count(selector.shape[1:]) == 1, 'the selector has more than one value an item')
        self.check(
            all(x.shape[0] == selector.shape[0] for x in bottoms), 'the bottoms differ in axis 0'
        )
        values = selector.reshape(selector.shape[0])
        open_ = (abs(values.v) <= values.e) & (values.e > 0)
        return np.arange(len(values.v)) if self.dry else np.flatnonzero(values.v), bool(open_.any())

    def forward(self, bottoms):
        self.check(self.tops_wanted == len(bottoms) - 1, '%d tops', self.tops_wanted)
        chosen, open_ = self.chosen(bottoms)
        return [undecided(x[chosen], open_) for x in bottoms[:-1]]

    def backward(self, tops, diffs, bottoms, needs):
        chosen, open_ = self.chosen(bottoms)
        result = []
        for x, dy in zip(bottoms, diffs):
            dx = zeros(x.shape)
            dx.v[chosen], dx.e[chosen] = dy.v, dy.e
            result.append(undecided(Real(dx.v, dx.e, dy.doubt), open_))
        return result + [None]


@layer('BatchReindex', bottoms=2)
class BatchReindex(Layer):
    """Items of bottom 0 by bottom 1's indices; an item selected twice gets both gradients."""

    def taken(self, bottoms):
        self.check(bottoms[1].ndim == 1, 'bottom 1 has %d axes', bottoms[1].ndim)
        return self.indices(bottoms[1], bottoms[0].shape[0])

    def forward(self, bottoms):
        index, open_ = self.taken(bottoms)
        x = bottoms[0][index]
        return [undecided(x, np.reshape(open_, (-1,) + (1,) * (x.ndim - 1)))]

    def backward(self, tops, diffs, bottoms, needs):
        index, open_ = self.taken(bottoms)
        total = Sum(bottoms[0].shape)
        for to, dy in zip(index, (diffs[0][i] for i in range(len(index)))):
            total.term(dy, int(to))
        return [undecided(total.real(), bool(np.any(open_))), None]


@layer('Permute', field='permute_param')
class Permute(Layer):
    """The axes in `order`, then the remaining ones, in their own order."""

    def order(self, x):
        order = self.p.ints('order')
        self.check(
            len(set(order)) == len(order) and all(0 <= i < x.ndim for i in order), 'order %s', order
        )
        return order + [i for i in range(x.ndim) if i not in order]

    def same_memory(self):
        order = self.p.ints('order')
        return order == list(range(len(order)))

    def forward(self, bottoms):
        order = self.order(bottoms[0])
        return [bottoms[0].map(lambda a: a.transpose(order))]

    def backward(self, tops, diffs, bottoms, needs):
        back = np.argsort(self.order(bottoms[0]))
        return [diffs[0].map(lambda a: a.transpose(back))]


@layer('ShuffleChannel', field='shuffle_channel_param')
class ShuffleChannel(Layer):
    """Reads group × rest channels as rest × group."""

    def shuffle(self, x, rows):
        self.check(
            x.ndim >= 2 and rows > 0 and x.shape[1] % rows == 0, 'channels by %d groups', rows
        )
        apart = x.reshape((x.shape[0], rows, x.shape[1] // rows) + x.shape[2:])
        return apart.map(lambda a: a.swapaxes(1, 2)).reshape(x.shape)

    def forward(self, bottoms):
        return [self.shuffle(bottoms[0], self.p.int('group', 1))]

    def backward(self, tops, diffs, bottoms, needs):
        return [self.shuffle(diffs[0], bottoms[0].shape[1] // self.p.int('group', 1))]
