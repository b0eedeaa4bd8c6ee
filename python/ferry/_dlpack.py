# SPDX-License-Identifier: BSD-2-Clause
"""DLPack's capsules, by which Python libraries exchange memory."""

import ctypes
import sys
import threading

from . import _abi
from ._library import Handle, lib, out_pointer

CPU, CUDA, OPENCL = 1, 2, 4

# For tensors before and from DLPack 1.0: the capsule's name, its name once consumed, and the offset of the
# tensor's deleter.
_OLD = (b"dltensor", b"used_dltensor", 56)
_VERSIONED = (b"dltensor_versioned", b"used_dltensor_versioned", 16)

_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _python(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)

# The capsules that were returned. A capsule cannot have a destructor in Python: a consumer that rejects a
# tensor destroys the capsule while an exception is set, when no Python code may run. So the capsules are kept
# here, and checked when the next one is created or a blob is closed.
_given = []
_given_lock = threading.Lock()


def _counts(things):
    """The reference count of each member of a list, including the reference of this loop."""
    return [sys.getrefcount(thing) for thing in things]


# The count of a member that only the list references.
_ALONE = _counts([object()])[0]


def _take_back(capsules):
    for capsule in capsules:
        for name, used, at in (_OLD, _VERSIONED):
            if _is_valid(capsule, name):
                tensor = _pointer(capsule, name)
                _set_name(capsule, used)
                _Deleter(ctypes.c_void_p.from_address(tensor + at).value)(tensor)


def sweep():
    """Deletes the tensors of capsules that were not consumed and that only the list references."""
    if not _given:
        return
    with _given_lock:
        counts = _counts(_given)
        gone = [_given[i] for i, count in enumerate(counts) if count == _ALONE]
        _given[:] = [_given[i] for i, count in enumerate(counts) if count != _ALONE]
    _take_back(gone)


def _give(tensor, name):
    sweep()
    capsule = _new(tensor, name, None)
    with _given_lock:
        _given.append(capsule)
    return capsule


def place_of(device):
    """DLPack's (device_type, device_id) for the exports of a blob with this home, and whether it is that
    device; the host if DLPack has no type for the device."""
    properties = device.properties
    if properties.host_memory:
        return (CPU, 0), False
    if properties.plugin == "cuda":
        number = ctypes.c_int()
        lib.ferry_device_native(device._use(), b"cuda_device", ctypes.byref(number),
                                ctypes.sizeof(number))
        return (CUDA, number.value), True
    if properties.plugin == "opencl":
        return (OPENCL, int(properties.name.partition(":")[2])), True
    return (CPU, 0), False


def export(blob, max_version, dl_device, copy):
    """The capsule that __dlpack__ returns."""
    home = blob.home
    place, on_device = place_of(home)
    wanted = place if dl_device is None else tuple(dl_device)
    if wanted not in (place, (CPU, 0)) or (copy is False and wanted != place):
        raise BufferError(f"a blob on {home.name} cannot be shared with device {wanted}")
    where = home._use() if on_device and wanted == place else None
    if max_version is not None and tuple(max_version) >= (1, 0):
        tensor = out_pointer(lib.ferry_blob_to_dlpack_versioned, blob._use(), where,
                             _abi.DLPACK_COPY if copy else 0)
        return _give(tensor, _VERSIONED[0])
    if copy:
        raise BufferError("DLPack before 1.0 cannot say that a tensor is a copy")
    return _give(out_pointer(lib.ferry_blob_to_dlpack, blob._use(), where, 0), _OLD[0])


def adopt(device, source):
    """The handle of a new blob over the array that `source` exports by __dlpack__."""
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # of DLPack before 1.0
        capsule = source.__dlpack__()
    if _is_valid(capsule, _VERSIONED[0]):
        (name, used, _at), take = _VERSIONED, lib.ferry_blob_from_dlpack_versioned
    elif _is_valid(capsule, _OLD[0]):
        (name, used, _at), take = _OLD, lib.ferry_blob_from_dlpack
    else:
        raise ValueError("__dlpack__ returned no tensor, or one that is taken already")
    pointer = out_pointer(take, device._use(), _pointer(capsule, name))
    _set_name(capsule, used)
    return Handle(pointer, lib.ferry_blob_destroy, (device._use(),))
