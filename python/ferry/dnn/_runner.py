# SPDX-License-Identifier: BSD-2-Clause
"""An open net of ferry for some of its blobs, with NumPy arrays as the memory of its inputs and outputs."""

import ctypes
import sys

import numpy as np

from .. import _abi
from .._blob import _int64s
from .._dtypes import FLOAT32
from .._errors import Error
from .._library import Handle, lib, out_pointer, string

_READ, _READ_ONLY = _abi.READ, _abi.ADOPT_READONLY
_BYTE = ctypes.c_char
_adopt, _access, _forward = lib.ferry_memory_adopt, lib.ferry_blob_access, lib.ferry_net_forward


def _alone():
    """The result of sys.getrefcount for an array that only one slot references."""
    slot = [np.empty(1)]
    return sys.getrefcount(slot[0])


_ALONE = _alone()


def open_net(device, text, name, keep=(), only=False, fuse=True):
    """The handle of a net in TEST, opened from a prototxt's text; errors call it `name`."""
    kept = (ctypes.c_char_p * len(keep))(*(one.encode() for one in keep))
    options = _abi.NetOptions(struct_size=ctypes.sizeof(_abi.NetOptions), phase=_abi.PHASES["test"], text=text,
                              text_size=len(text), keep=kept, keep_count=len(kept), only=int(only),
                              no_fuse=not fuse)
    pointer = out_pointer(lib.ferry_net_open, device._use(), name.encode(), ctypes.byref(options))
    return Handle(pointer, lib.ferry_net_close, (device._use(),))


def shape_of(blob):
    """The shape of a blob."""
    return tuple(lib.ferry_blob_shape(blob)[:lib.ferry_blob_rank(blob)])


def _address(array):
    """The address of an array's first element; five times as fast as NumPy's own attributes."""
    if array.flags.writeable and array.size:
        return ctypes.addressof(_BYTE.from_buffer(array))
    return array.__array_interface__["data"][0]


class _Input:
    """An input, whose host copy is the array that was set."""

    __slots__ = ("blob", "shape", "stamp", "array", "memory", "place")

    def __init__(self, blob):
        self.blob = blob
        self.shape = self.stamp = self.array = self.memory = None
        self.place = _abi.Ref()

    def take(self, array, stamp):
        """Adopts the array, which is contiguous, without a copy; returns whether the shape changes."""
        reshaped = self.shape != array.shape
        if reshaped:
            self.shape = None
            self._reshape(array)
            self.memory = lib.ferry_blob_data_memory(self.blob)
        if array is not self.array:
            self.place.handle = _address(array)
        _adopt(self.memory, None, self.place, array.nbytes, _READ_ONLY, None, None)
        self.array, self.shape, self.stamp = array, array.shape, stamp
        return reshaped

    def _reshape(self, array):
        """Gives the blob the array's shape. A memory with more bytes in use cannot adopt fewer, so a blob
        that shrinks gets a new memory."""
        shrinks = array.size < lib.ferry_blob_element_count(self.blob)
        shape = _int64s(array.shape)
        lib.ferry_blob_reshape(self.blob, shape, len(shape), None)
        if shrinks:
            fresh = out_pointer(lib.ferry_blob_create, lib.ferry_blob_home(self.blob), FLOAT32, shape, len(shape))
            try:
                lib.ferry_blob_share_data(self.blob, fresh)
            finally:
                lib.ferry_blob_destroy(fresh)


class _Output:
    """A blob that the caller reads. Its host copy is an array. If the caller references that array, the next
    pass does not change it: the blob gets a new one. If the blob shares its memory with one in `sources`,
    which no pass writes, the caller gets copies."""

    __slots__ = ("blob", "array", "address", "ref", "sources", "reshapes", "shape", "memory", "held", "out")

    def __init__(self, blob, sources, reshapes):
        self.blob, self.sources, self.reshapes = blob, sources, reshapes
        self.array = self.address = self.shape = self.memory = self.held = None
        self.ref = _abi.Ref()
        self.out = ctypes.byref(self.ref)

    def reshaped(self):
        """Called after a change of the blob's shape."""
        self._hold()
        self.array = self.address = self.shape = None

    def _hold(self):
        """Keeps the array that the blob's memory still uses."""
        if self.address is not None:
            self.held = self.array

    def make_room(self):
        """Prepares a pass: replaces an array that the caller references."""
        if self.array is None or sys.getrefcount(self.array) > _ALONE:
            self.renew()

    def renew(self):
        """Gives the blob a new array in its current shape."""
        if self.shape is None or self.reshapes:
            self._look()
        array = np.empty(self.shape, np.float32)
        address = None
        if self.memory:
            address = self.ref.handle = _address(array)
            self.ref.offset = 0
            try:
                _adopt(self.memory, None, self.ref, array.nbytes, 0, None, None)
                self.held = None
            except Error:  # a part of a memory, or a memory with more bytes in use
                self._hold()
                address = None
        self.array, self.address = array, address

    def _look(self):
        """Finds the shape, and the memory if an array can replace it."""
        self.shape = shape_of(self.blob)
        memory = lib.ferry_blob_data_memory(self.blob)
        own = 0 not in self.shape and all(lib.ferry_blob_data_memory(one) != memory for one in self.sources)
        self.memory = memory if own else None

    def get(self):
        """The array after a pass. A copy if the pass changed the shape, which is possible only if the net
        `reshapes`, or if the host's copy is not in the array."""
        ref = self.ref
        _access(self.blob, 0, None, _READ, None, self.out)
        if ref.handle == self.address and not ref.offset and (
                not self.reshapes or shape_of(self.blob) == self.array.shape):
            return self.array
        return self.copy()

    def copy(self):
        """A copy of the blob's contents."""
        array = np.empty(shape_of(self.blob), np.float32)
        if array.size:
            _access(self.blob, 0, None, _READ, None, self.out)
            ctypes.memmove(array.__array_interface__["data"][0], self.ref.handle + self.ref.offset, array.nbytes)
        return array


class Runner:
    """Runs one open net."""

    def __init__(self, handle):
        self.handle, self._pointer = handle, handle._as_parameter_
        self._inputs = {}
        for i in range(lib.ferry_net_input_count(handle)):
            blob = lib.ferry_net_input_at(handle, i)
            self._inputs[string(lib.ferry_blob_name(blob))] = _Input(blob)
        self._outputs = {}
        layers = [lib.ferry_net_layer_at(handle, i) for i in range(lib.ferry_net_layer_count(handle))]
        self._reshapes = any(_abi.LayerType.from_address(lib.ferry_layer_get_type(layer)).flags &
                             _abi.LAYER_RESHAPES for layer in layers)
        self._sources = [lib.ferry_layer_top_at(layer, k) for layer in layers
                         if not lib.ferry_layer_bottom_count(layer)
                         for k in range(lib.ferry_layer_top_count(layer))]

    @property
    def input_shapes(self):
        """The shapes of the inputs, by name."""
        return {name: shape_of(one.blob) for name, one in self._inputs.items()}

    def output(self, name):
        """The output object of a blob, by name."""
        found = self._outputs.get(name)
        if found is None:
            found = self._outputs[name] = _Output(lib.ferry_net_blob_find(self.handle, name.encode()),
                                                    self._sources, self._reshapes)
        return found

    def feed(self, given):
        """Sets the inputs: arrays, each with a stamp that changes with each setInput."""
        reshaped = False
        for name, one in self._inputs.items():
            array, stamp = given[name]
            if stamp != one.stamp:
                reshaped |= one.take(array, stamp)
        if reshaped:
            lib.ferry_net_reshape(self._pointer)
            for one in self._outputs.values():
                one.reshaped()

    def run(self, given, names):
        """Runs a pass, and returns the arrays of the blobs of those names."""
        self.feed(given)
        wanted = [self.output(name) for name in names]
        for one in self._outputs.values():  # also the arrays of earlier passes
            one.make_room()
        _forward(self._pointer, None)
        return [one.get() for one in wanted]

    def run_to(self, given, stops):
        """Runs a pass, and returns copies of blobs after layers, given as (index of the layer, name of the
        blob) in the net's order: contents that a later layer overwrites in place are copied before that layer
        runs."""
        self.feed(given)
        made, done = {}, -1
        for place, name in stops:
            if place > done:
                lib.ferry_net_forward_range(self._pointer, self._name_at(done + 1), self._name_at(place), None)
                done = place
            made[place, name] = self.output(name).copy()
        return made

    def _name_at(self, place):
        return lib.ferry_layer_name(lib.ferry_net_layer_at(self.handle, place))

    def reshaped(self, shapes):
        """Reshapes all blobs for these shapes of the inputs."""
        for name, one in self._inputs.items():
            one.shape = one.stamp = None
            lib.ferry_blob_reshape(one.blob, _int64s(shapes[name]), len(shapes[name]), None)
        lib.ferry_net_reshape(self._pointer)
        for one in self._outputs.values():
            one.reshaped()
