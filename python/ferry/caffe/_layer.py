# SPDX-License-Identifier: BSD-2-Clause
"""Layers of a net, and layers that a Python class computes (type Python)."""

import ctypes
import enum
import importlib
import itertools
import threading
import weakref

from .. import _abi
from .._blob import Blob as FerryBlob
from .._errors import InvalidArgument, Unsupported
from .._library import Handle, called_back, lib, string
from . import _state as _state_of_process
from ._blob import Blob, BlobVec, Views
from ._vectors import BoolVec

_COUNTS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_ENDS = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_objects = {}  # by the number in a layer's state
_numbers = itertools.count(1)
_opening = threading.local()


class opening:  # pylint: disable=invalid-name
    """A block in which a net is opened: its layers in Python create their arrays with these views."""

    def __init__(self, views):
        self._views = views

    def __enter__(self):
        self._before = getattr(_opening, "views", None)
        _opening.views = self._views

    def __exit__(self, *_):
        _opening.views = self._before


def _type_name(layer):
    return string(_abi.LayerType.from_address(lib.ferry_layer_get_type(layer)).name)


def blob_over(pointer, views, keeps=(), locks=True):
    """A Blob over a blob that is borrowed from a net. `locks` is false within a call of a layer, which has
    locked the net already."""
    return Blob(FerryBlob._over(Handle(pointer, None, keeps), part=True), views, locks)


def lasting(views):
    """A weak reference to the views, for objects that the net itself keeps, such as its layers in Python: the
    opener of the net keeps the views, whose arrays keep the net."""
    return views if views is None or isinstance(views, weakref.ProxyType) else weakref.proxy(views)


class NetLayer:
    """A layer of a net: `type`, and the parameters in `blobs`."""

    def __init__(self, layer, blobs):
        self.type = _type_name(layer)
        self.blobs = blobs

    def __repr__(self):
        return f"<ferry.caffe layer of type {self.type}>"


class _Declaring(BlobVec):
    """The parameters of a layer in Python, which its setup declares."""

    def __init__(self, layer, views):
        super().__init__()
        self._layer, self._views = layer, views

    def add_blob(self, *shape):
        """Declares the next parameter; it is zeros, unless setup writes into it."""
        shape = (ctypes.c_int64 * len(shape))(*map(int, shape))
        param = _abi.LayerParam(struct_size=ctypes.sizeof(_abi.LayerParam), rank=len(shape), shape=shape,
                                lr_mult=1, decay_mult=1)
        lib.ferry_layer_declare_param(self._layer, ctypes.byref(param))
        self.append(blob_over(lib.ferry_layer_param_at(self._layer, len(self)), self._views, locks=False))


class Phase(enum.IntEnum):
    """The phase of a layer: Caffe's number, whose str() is its name, since layers written for the forks read
    their configuration by str(self.phase)."""

    TRAIN = 0
    TEST = 1

    def __str__(self):
        return self.name

    def __format__(self, spec):
        return format(self.name if not spec or spec[-1] == "s" else int(self), spec)


class Layer:
    """The base class of layers in Python. A prototxt's

        layer { type: "Python" … python_param { module: "m" layer: "L" param_str: "…" } }

    creates an m.L. It calls setup(bottom, top) once, reshape(bottom, top) and forward(bottom, top) in each
    pass, and backward(top, propagate_down, bottom). In setup, `blobs.add_blob(shape)` declares a parameter.
    The attributes `param_str` and `phase` (TRAIN, TEST) are set. Call allow_python_layers() before such a net
    is opened."""

    type = "Python"
    param_str = ""
    phase = Phase.TEST

    def __init__(self, param=None):
        self.param = param
        self.blobs = BlobVec()

    def setup(self, bottom, top):
        """Optional."""

    def reshape(self, bottom, top):
        """Sets the shapes of the tops."""
        raise NotImplementedError(f"{type(self).__name__} has no reshape")

    def forward(self, bottom, top):
        """Computes the tops."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def backward(self, top, propagate_down, bottom):
        """Computes the diffs of the bottoms whose entry in propagate_down is true."""
        raise NotImplementedError(f"{type(self).__name__} has no backward")


# ---- callbacks of ferry ----------------------------------------------------------------------------------

def _state(layer):
    return ctypes.c_uint64.from_address(lib.ferry_layer_state(layer))


def object_of(layer):
    """The object of a layer in Python; None for any other layer."""
    return _objects.get(_state(layer).value) if _type_name(layer) == "Python" else None


def _bottoms(layer, views):
    return [blob_over(lib.ferry_layer_bottom_at(layer, i), views, locks=False)
            for i in range(lib.ferry_layer_bottom_count(layer))]


def _tops(layer, views):
    return [blob_over(lib.ferry_layer_top_at(layer, i), views, locks=False)
            for i in range(lib.ferry_layer_top_count(layer))]


def _class_of(layer):
    param = lib.ferry_proto_message(lib.ferry_layer_message(layer), b"python_param", 0)
    module, name, given = (string(lib.ferry_proto_string(param, field, 0, None))
                           for field in (b"module", b"layer", b"param_str"))
    if not _state_of_process.python_layers:
        raise Unsupported(f"python_param names {module}.{name}, and layers in Python are not allowed: "
                          "ferry.caffe.allow_python_layers() allows files to run code")
    found = getattr(importlib.import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, Layer)):
        raise InvalidArgument(f"{module}.{name} is not a subclass of caffe.Layer")
    return found, given


def _setup(layer):
    made_by, given = _class_of(layer)
    views = lasting(getattr(_opening, "views", None)) or Views()
    made = made_by.__new__(made_by)
    made.param_str = made.param_str_ = given
    made.phase = Phase.TRAIN if lib.ferry_layer_phase(layer) == _abi.PHASES["train"] else Phase.TEST
    made.__init__(None)
    made.blobs = _Declaring(layer, views)
    _state(layer).value = next(_numbers)
    _objects[_state(layer).value] = made
    made._views = views
    with views.within():
        made.setup(_bottoms(layer, views), _tops(layer, views))


def _reshape(layer):
    made = object_of(layer)
    with made._views.within():
        made.reshape(_bottoms(layer, made._views), _tops(layer, made._views))


def _forward(layer):
    made = object_of(layer)
    bottoms, tops = _bottoms(layer, made._views), _tops(layer, made._views)
    with made._views.within():
        made.reshape(bottoms, tops)
        made.forward(bottoms, tops)


def _backward(layer):
    made = object_of(layer)
    bottoms = _bottoms(layer, made._views)
    wanted = BoolVec(bool(lib.ferry_layer_propagates(layer, i)) for i in range(len(bottoms)))
    with made._views.within():
        made.backward(_tops(layer, made._views), wanted, bottoms)


def _destroy(layer):
    made = _objects.pop(_state(layer).value, None)
    if made is not None:
        for blob in made.blobs:
            blob.ferry.close()
        made.blobs = BlobVec()


def _telling(function):
    """Reports an exception of the function as an error of the layer. The caller of ferry gets the exception."""
    def run(layer):
        try:
            function(layer)
        except BaseException as error:
            said = f"{type(error).__name__}: {error}".encode()
            lib.ferry_layer_error(layer, getattr(error, "code", -11) or -11, b"%s",
                                  ctypes.c_char_p(said))
            raise
    return called_back(run)


def _table():
    functions = {name: _COUNTS(_telling(function)) for name, function in (
        ("setup", _setup), ("reshape", _reshape), ("forward", _forward), ("backward", _backward))}
    functions["destroy"] = _ENDS(called_back(_destroy))
    messages = (ctypes.c_char_p * 2)(b"python_param", None)
    addresses = {name: ctypes.cast(function, ctypes.c_void_p) for name, function in functions.items()}
    table = _abi.LayerType(struct_size=ctypes.sizeof(_abi.LayerType), name=b"Python", state_size=8,
                           min_bottoms=0, max_bottoms=-1, min_tops=0, max_tops=-1,
                           flags=_abi.LAYER_RESHAPES, messages=messages, **addresses)
    return table, functions


_registered = _table()  # for the life of the process
lib.ferry_layer_register(ctypes.byref(_registered[0]))


def layer_type_list():
    """The names of all layer types."""
    types = (_abi.LayerType.from_address(lib.ferry_layer_type_at(i))
             for i in range(lib.ferry_layer_type_count()))
    return [string(found.name) for found in types]
