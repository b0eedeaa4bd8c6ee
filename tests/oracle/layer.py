# SPDX-License-Identifier: BSD-2-Clause
"""A layer: its parameters, a forward and a backward function; and the list of types."""

import numpy as np

from .fill import fill, is_deterministic
from .real import Real
from .text import Message, NetError

TYPES = {}


class Param:
    """A parameter blob. Layers that share it have views of one array (`data`) and one gradient
    (`owner.diff`)."""

    def __init__(self, data, spec):
        self.data = data
        self.owner = self
        self.diff = None  # a Real after the first backward pass that adds to it
        self.slack = np.zeros(np.shape(data))  # the bound of the error that forward passes have added
        self.name = spec.get('name', '')
        self.share_mode = spec.enum('share_mode', 'STRICT', 'STRICT', 'PERMISSIVE')
        self.has_lr, self.lr_mult = spec.has('lr_mult'), spec.float('lr_mult', 1.0)
        self.has_decay, self.decay_mult = spec.has('decay_mult'), spec.float('decay_mult', 1.0)
        self.needed = self.lr_mult != 0

    def gradient(self):
        """The accumulated gradient in this layer's shape, or None."""
        diff = self.owner.diff
        return None if diff is None else diff.reshape(self.data.shape)


def layer(*types, field='', bottoms=1, tops=1, loss=False, in_place=False, keeps=True, closed=()):
    """Registers a class. `bottoms` and `tops` are a count or (least, most). `closed` bottoms get no gradient
    from force_backward. `keeps`: an in-place layer of this type has a copy of its bottom for its backward
    pass, as in ferry; any other type has its top there, as in Caffe, which has one buffer for both."""

    def register(cls):
        for name in types:
            attributes = dict(field=field, bottoms=bottoms, tops=tops, loss=loss)
            attributes.update(in_place=in_place, keeps=keeps, closed=closed)
            TYPES[name] = type(cls.__name__, (cls,), attributes)
        return cls

    return register


class Layer:
    def __init__(self, message, phase):
        self.message, self.phase = message, phase
        self.name, self.type = message.get('name', ''), message.get('type', '')
        self.p = message.sub(self.field)
        self.blobs = []
        self.tiles = False  # whether a convolution may use Winograd's algorithm
        self.dry = False  # in the pass that determines shapes
        self.tops_wanted = len(message.all('top'))

    @property
    def params(self):
        return [param.data for param in self.blobs]

    def check(self, condition, text, *arguments):
        if not condition:
            raise NetError('layer %s (%s): %s' % (self.name, self.type, text % arguments))

    def same_memory(self):
        """Whether the top is the bottom's memory, if that depends on parameters."""
        return False

    # ---- functions of a type -------------------------------------------------------------------

    def setup(self, bottoms):
        """Called once, with the first bottoms: makes the parameters."""

    def forward(self, bottoms):
        """Computes the tops."""
        raise NotImplementedError

    def backward(self, tops, diffs, bottoms, needs):
        """Computes the bottoms' diffs, None for one without a diff; parameter gradients by add_gradient."""
        return [None] * len(bottoms)

    # ---- helpers -------------------------------------------------------------------------------

    def parameter(self, shape, filler=None, value=0.0):
        """Declares the next parameter, filled by its filler, or else by a constant."""
        specs = self.message.all('param')
        index = len(self.blobs)
        spec = specs[index] if index < len(specs) else self.default_spec()
        data = np.full(tuple(shape), value)
        if filler is not None and is_deterministic(filler):
            data = fill(filler, shape)
        self.blobs.append(Param(data, spec))

    def default_spec(self):
        return Message()

    def weight(self, index):
        return Real(self.blobs[index].data)

    def wants(self, index):
        return index < len(self.blobs) and self.blobs[index].needed

    def add_gradient(self, index, gradient, overwrite=False):
        owner = self.blobs[index].owner
        gradient = gradient.reshape(owner.data.shape)
        owner.diff = gradient if owner.diff is None or overwrite else owner.diff + gradient

    def axis(self, x, value, limit=None):
        """A negative axis counts from the end."""
        count = x.ndim if limit is None else limit
        self.check(-count <= value < count, 'axis %d of %d axes', value, count)
        return value + count if value < 0 else value

    def legacy4(self, x):
        """num, channels, height and width of a blob of at most four axes."""
        self.check(x.ndim <= 4, '%d axes where at most 4 are allowed', x.ndim)
        return tuple(x.shape) + (1,) * (4 - x.ndim)

    def indices(self, x, limit):
        """A blob's values as indices below a limit, and which of them the bounds do not determine. In the
        pass that determines shapes the values are meaningless and are limited to the range."""
        whole, open_ = integers(x)
        if self.dry:
            return np.clip(whole, 0, max(limit - 1, 0)), open_
        self.check(
            bool(((whole >= 0) & (whole < limit)).all()), 'an index is not in 0..%d', limit - 1
        )
        return whole, open_


def count(shape):
    return int(np.prod(shape, dtype=np.int64))


def integers(x):
    """A blob's values converted to int as in C; in doubt if a bound does not determine the integer."""
    whole = np.trunc(np.nan_to_num(x.v)).astype(np.int64)
    return whole, (x.e > 0) & (np.trunc(x.v - x.e) != np.trunc(x.v + x.e))
