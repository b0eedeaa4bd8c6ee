# SPDX-License-Identifier: BSD-2-Clause
"""A net under construction: the blobs so far, and the choice of a layer's bottoms."""

import copy
import random

import model

#: The maximum size of a blob.
LARGEST = 1500


def count(shape):
    """The number of elements of a shape."""
    out = 1
    for dim in shape:
        out *= dim
    return out


class Refused(Exception):
    """The current layer does not fit the blobs; another one is drawn."""


class Blob:
    """A blob that later layers can use as bottom. `values` describes its elements, in values.draw's words."""

    def __init__(self, name, shape, values="values"):
        self.name, self.shape, self.values = name, list(shape), values
        self.users = 0

    @property
    def rank(self):
        """A number of axes."""
        return len(self.shape)


class Draw:
    """The random choices of a net."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.net = model.Net(seed)
        self.blobs = []
        self.names = 0
        self.shared, self.shapes = {}, {}

    # ---- random numbers --------------------------------------------------------------------------

    def chance(self, p):
        """True with probability p."""
        return self.rng.random() < p

    def integer(self, low, high):
        """A number from low to high, inclusive."""
        return self.rng.randint(low, high)

    def one(self, *choices):
        """A random element of the sequence."""
        return self.rng.choice(choices)

    def real(self, low, high):
        """A number with few digits, which a prototxt and a float represent equally."""
        return round(self.rng.uniform(low, high) * 64) / 64

    def size(self):
        """A dim: 1 to 7, small ones more often."""
        return self.one(1, 2, 2, 3, 3, 4, 4, 5, 6, 7)

    def shape(self, rank):
        """A shape of that many axes, not too large."""
        while True:
            shape = [self.size() if rank < 6 else self.one(1, 1, 2, 2, 3) for _ in range(rank)]
            if rank and self.chance(0.6):
                shape[0] = self.integer(1, 3)
            if count(shape) <= LARGEST:
                return shape

    def axis(self, axis, rank):
        """The axis, sometimes counted from the end."""
        return axis - rank if self.chance(0.3) else axis

    # ---- blobs and layers ------------------------------------------------------------------------

    def name(self, prefix):
        """An unused name."""
        self.names += 1
        return f"{prefix}{self.names}"

    def input(self, shape, values="values", prefix="x"):
        """Adds an input."""
        if count(shape) > LARGEST:
            raise Refused
        name = self.name(prefix)
        self.net.layers.append(model.Input(name, shape, values))
        blob = Blob(name, shape, values)
        if values == "values":
            self.blobs.append(blob)
        return blob

    def pick(self, fits=lambda blob: True):
        """A blob that fits, one of the latest in most cases."""
        found = [blob for blob in self.blobs if blob.values == "values" and fits(blob)]
        if not found:
            raise Refused
        if self.chance(0.6):
            return found[-1]
        return self.rng.choice(found[-5:] if self.chance(0.6) else found)

    def bottom(self, low, high, fits=lambda blob: True):
        """A blob of low to high axes that fits, or a new input of that rank."""
        try:
            return self.pick(lambda blob: low <= blob.rank <= high and fits(blob))
        except Refused:
            if len(self.blobs) > 8 or self.chance(0.4):
                raise
        rank = self.integer(low, min(high, low + 2))
        blob = self.input(self.shape(rank))
        if not fits(blob):
            raise Refused
        return blob

    def other(self, shape, values="values"):
        """A second bottom of a shape: an existing blob or a new input."""
        found = [blob for blob in self.blobs if blob.shape == list(shape) and blob.values == "values"]
        if values == "values" and found and self.chance(0.7):
            return self.rng.choice(found)
        return self.input(shape, values)

    def layer(self, kind, bottoms, shapes, fields=(), in_place=False, name=None):
        """Appends a layer whose tops have these shapes; returns the new blobs. In place: the top is the first
        bottom, unless another layer uses that one or a layer may not write it."""
        if any(count(shape) > LARGEST or (shape and min(shape) < 1) for shape in shapes):
            raise Refused
        name = name or self.name("l")
        if len(bottoms) == 1 and len(shapes) == 1 and bottoms[0].values == "values":
            self.shapes[name] = (list(bottoms[0].shape), list(shapes[0]))
        if in_place and self.may_write(bottoms[0]) and bottoms.count(bottoms[0]) == 1:
            tops = [bottoms[0]]
            tops[0].shape, tops[0].values = list(shapes[0]), "values"
        else:
            tops = [Blob(self.name("b"), shape) for shape in shapes]
        for blob in bottoms:
            blob.users += 1
        if tops and tops[0] in bottoms:
            tops[0].users = 0
            self.blobs = [blob for blob in self.blobs if blob is not tops[0]]
        self.net.layers.append(model.Layer(kind, name, [b.name for b in bottoms], [t.name for t in tops],
                                           fields))
        self.blobs += tops
        return tops

    def may_write(self, blob):
        """A layer in place is an error in Caffe if another layer reads the blob before it."""
        return blob.users == 0

    def latest(self):
        """The layer that was appended last."""
        return self.net.layers[-1]

    def params(self, *shapes):
        """The `param` messages for parameters of these shapes: rates, and sometimes the names of parameters of
        other layers, most of which have the same shape."""
        if not self.chance(0.35):
            return []
        key = str(shapes)
        if not self.chance(0.5):
            return [["param", [["lr_mult", self.one(0, 0, 2)]]] for _ in range(self.integer(1, len(shapes)))]
        groups = self.shared.get(key, []) if self.chance(0.95) else [g for l in self.shared.values() for g in l]
        group = self.rng.choice(groups) if groups and self.chance(0.8) else None
        if not group:
            group = self.name("w")
            self.shared.setdefault(key, []).append(group)
        mode = [["share_mode", model.Word("PERMISSIVE")]] if self.chance(0.15) else []
        return [["param", [["name", f"{group}_{i}"]] + mode] for i in range(len(shapes))]

    def again(self):
        """A second layer with the parameters of an earlier one, by name, on a bottom of the same shape."""
        found = [layer for layer in self.net.layers if layer.name in self.shapes
                 and any(f[0] == "param" and f[1][0][0] == "name" for f in layer.fields)]
        if not found:
            raise Refused
        first = self.rng.choice(found)
        before = self.shapes.get(first.name)
        bottom = self.other(before[0])
        self.layer(first.kind, [bottom], [before[1]], copy.deepcopy(first.fields), self.chance(0.3))
