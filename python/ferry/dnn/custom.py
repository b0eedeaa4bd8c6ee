# SPDX-License-Identifier: BSD-2-Clause
"""cv2.dnn_registerLayer: layers whose class the program defines. It can also replace types of ferry."""

import ctypes
import itertools
import weakref

import numpy as np

from .. import _abi
from .._blob import _int64s
from .._errors import InvalidArgument
from .._library import called_back, lib, string
from . import _text
from ._error import ASSERTION, made
from ._runner import shape_of

# ferry's type of such layers; python_param's param_str is the number of the layer's entry.
TYPE = "RegisteredLayer"

_classes = {}  # the classes of each type, of which the latest is used
_changes = itertools.count(1)
_numbers = itertools.count(1)
_entries = weakref.WeakValueDictionary()
_objects = {}  # by the number in a layer's state


class Registry:
    """`version` changes with each change of the registered classes."""

    version = 0


def registerLayer(type, class_):  # pylint: disable=redefined-builtin
    """Registers a class for layers of this type. Each layer becomes an object class_(params, blobs).
    getMemoryShapes(shapes) of the object returns the shapes of the outputs for those of the inputs, and
    forward(inputs) returns the outputs. `params` has the fields of the layer's messages; `blobs` is empty.
    The registration applies to nets that have not run yet."""
    if not callable(class_):
        raise TypeError("class is not callable")
    _classes.setdefault(str(type), []).append(class_)
    Registry.version = next(_changes)


def unregisterLayer(type):  # pylint: disable=redefined-builtin
    """Removes the class that was registered last for the type. Has no effect if there is no class."""
    found = _classes.get(str(type))
    if found:
        found.pop()
        Registry.version = next(_changes)


def classes_of(kinds):
    """Returns those of the types that are registered, with their classes."""
    return {kind: _classes[kind][-1] for kind in kinds if _classes.get(kind)}


def unknown(kinds):
    """Whether one of the types is neither ferry's nor registered."""
    return any(not lib.ferry_layer_type_find(kind.encode()) and not _classes.get(kind) for kind in kinds)


class _Entry:
    """A layer of the text: its type, its class and its parameters."""

    def __init__(self, kind, class_, params):
        self.kind, self.class_, self.params = kind, class_, params


def rewritten(text, classes):
    """Replaces the types of those layers by TYPE. Returns the text, and the entries that must live as long as
    the net."""
    kept = []

    def body(kind, params):
        entry, number = _Entry(kind, classes[kind], params), next(_numbers)
        _entries[number] = entry
        kept.append(entry)
        return f'type: "{TYPE}" python_param {{ param_str: "{number}" }}'

    return (_text.replaced(text, set(classes), body) if classes else text), kept


def kind_of(layer):
    """Returns the type that the text gives to a layer of a registered class."""
    return _entry_of(layer).kind


# ---- callbacks of ferry ----------------------------------------------------------------------------------

def _entry_of(layer):
    param = lib.ferry_proto_message(lib.ferry_layer_message(layer), b"python_param", 0)
    given = string(lib.ferry_proto_string(param, b"param_str", 0, None)) if param else ""
    found = _entries.get(int(given)) if given.isdigit() else None
    if found is None:
        raise InvalidArgument(f"the type {TYPE} is ferry.dnn's own, for classes of registerLayer")
    return found


def _state(layer):
    return ctypes.c_uint64.from_address(lib.ferry_layer_state(layer))


def _bottoms(layer):
    return [lib.ferry_layer_bottom_at(layer, i) for i in range(lib.ferry_layer_bottom_count(layer))]


def _tops(layer):
    return [lib.ferry_layer_top_at(layer, i) for i in range(lib.ferry_layer_top_count(layer))]


def _setup(layer):
    entry = _entry_of(layer)
    _state(layer).value = next(_numbers)
    _objects[_state(layer).value] = entry.class_(dict(entry.params), [])


def _reshape(layer):
    shapes = _objects[_state(layer).value].getMemoryShapes([shape_of(blob) for blob in _bottoms(layer)])
    _check_count(shapes, layer, "getMemoryShapes")
    for top, shape in zip(_tops(layer), shapes):
        lib.ferry_blob_reshape(top, _int64s([int(dim) for dim in shape]), len(shape), None)


def _forward(layer):
    inputs = [_copied(blob) for blob in _bottoms(layer)]
    outputs = _objects[_state(layer).value].forward(inputs)
    _check_count(outputs, layer, "forward")
    for top, array in zip(_tops(layer), outputs):
        array = np.ascontiguousarray(array, np.float32)
        if array.shape != shape_of(top):
            raise made(ASSERTION, f"forward of {_entry_of(layer).kind} gives a shape {array.shape}, and getMemoryShapes "
                       f"{shape_of(top)}", "forward")
        if array.size:
            ctypes.memmove(_address(top, _abi.WRITE), array.ctypes.data, array.nbytes)


def _check_count(given, layer, function):
    if len(given) != lib.ferry_layer_top_count(layer):
        raise made(ASSERTION, f"{function} of {_entry_of(layer).kind} gives {len(given)} outputs, and the text "
                   f"{lib.ferry_layer_top_count(layer)}", function)


def _address(blob, mode):
    ref = _abi.Ref()
    lib.ferry_blob_access(blob, 0, None, mode, None, ctypes.byref(ref))
    return ref.handle + ref.offset


def _copied(blob):
    array = np.empty(shape_of(blob), np.float32)
    if array.size:
        ctypes.memmove(array.ctypes.data, _address(blob, _abi.READ), array.nbytes)
    return array


def _destroy(layer):
    _objects.pop(_state(layer).value, None)


def _telling(function):
    """Reports an exception of the function as an error of the layer. The caller of ferry gets the exception."""
    def run(layer):
        try:
            function(layer)
        except BaseException as error:
            lib.ferry_layer_error(layer, -11, b"%s", ctypes.c_char_p(f"{type(error).__name__}: {error}".encode()))
            raise
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(called_back(run))


def _table():
    functions = {"setup": _telling(_setup), "reshape": _telling(_reshape), "forward": _telling(_forward),
                 "destroy": ctypes.CFUNCTYPE(None, ctypes.c_void_p)(called_back(_destroy))}
    messages = (ctypes.c_char_p * 2)(b"python_param", None)
    addresses = {name: ctypes.cast(function, ctypes.c_void_p) for name, function in functions.items()}
    table = _abi.LayerType(struct_size=ctypes.sizeof(_abi.LayerType), name=TYPE.encode(), state_size=8, min_bottoms=0,
                           max_bottoms=-1, min_tops=0, max_tops=-1, messages=messages, **addresses)
    return table, functions


_registered = _table()  # for the life of the process
lib.ferry_layer_register(ctypes.byref(_registered[0]))
