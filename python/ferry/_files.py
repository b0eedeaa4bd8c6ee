# SPDX-License-Identifier: BSD-2-Clause
"""Files of arrays, as mappings."""

import ctypes
import threading
from collections import namedtuple
from collections.abc import Mapping

import numpy as np

from . import _abi, _dtypes
from ._blob import Blob
from ._errors import InvalidArgument
from ._library import Handle, Held, lib, out_pointer, string, text

#: The description of an array, known before it is read; see ferry_io_entry.
Entry = namedtuple("Entry", "name dtype shape has_diff layer_name layer_type storage unreadable")


def _entry(structure):
    return Entry(string(structure.name), _dtypes.of(structure.dtype),
                 tuple(structure.shape[:structure.rank]), bool(structure.has_diff),
                 string(structure.layer_name), string(structure.layer_type),
                 string(structure.storage), string(structure.unreadable))


class File(Held, Mapping):
    """An open file of arrays by name: Caffe's, NumPy's, safetensors, HDF5, PyTorch's; the content determines
    the format. Opening reads only headers, and needs no device.

    file["conv1/0"] is a new array with the values; bfloat16 becomes float32, exactly. `blob` reads an array
    onto a device. If several arrays have one name, as in a caffemodel with layers of one name, the first has the
    name, the second the name with "#2", and so on. Any thread may use the file."""

    def __init__(self, path):
        self._handle = Handle(out_pointer(lib.ferry_io_open, text(path)), lib.ferry_io_close)
        self._lock = threading.Lock()
        self._at = {}
        counts = {}
        for i in range(lib.ferry_io_entry_count(self._handle)):
            pointer = out_pointer(lib.ferry_io_entry_at, self._handle, i)
            self._at[self._free_key(string(_abi.IoEntry.from_address(pointer).name), counts)] = pointer

    def _free_key(self, name, counts):
        """The name, or with "#2", "#3" … if it is a key already. `counts` has the last number of each name."""
        key = name
        while key in self._at:
            counts[name] = counts.get(name, 1) + 1
            key = f"{name}#{counts[name]}"
        return key

    def _find(self, name):
        """The handle and the entry; the handle keeps the entry valid."""
        handle = self._use()
        return handle, _abi.IoEntry.from_address(self._at[name])

    def _values(self, name, read, dtype_of):
        handle, entry = self._find(name)
        dtype = dtype_of(entry)
        width = 2 if _dtypes.of(dtype) == _dtypes.BFLOAT16 else _dtypes.numpys(dtype).itemsize
        raw = np.empty(entry.count * width, np.uint8)
        with self._lock:
            read(handle, ctypes.byref(entry), 0, entry.count, raw.ctypes.data)
        return _dtypes.widened(raw, dtype, tuple(entry.shape[:entry.rank]))

    def __getitem__(self, name):
        return self._values(name, lib.ferry_io_read_values, lambda entry: entry.dtype)

    def diff(self, name):
        """The diff of an array; InvalidArgument if it has no diff."""
        return self._values(name, lib.ferry_io_read_diff_values, lambda entry: entry.diff_dtype)

    def blob(self, name, device):
        """A new blob on `device` with an array's data, and its diff if it has one. Large arrays of .npy, .npz
        and safetensors stay in the file's pages until they are accessed."""
        handle, entry = self._find(name)
        blob = Blob(device, None, _dtypes.of(entry.dtype))
        with self._lock:
            lib.ferry_io_read(handle, ctypes.byref(entry), blob._use())
        return blob

    def entry(self, name):
        """An array's Entry; its `name` is that in the file, without "#2"."""
        _handle, entry = self._find(name)
        return _entry(entry)

    def __iter__(self):
        self._use()
        return iter(self._at)

    def __len__(self):
        self._use()
        return len(self._at)

    @property
    def format(self):
        """ "caffemodel", "npy", "safetensors" … """
        return string(lib.ferry_io_format_name(lib.ferry_io_get_format(self._use())))

    @property
    def metadata(self):
        """The file's metadata strings."""
        handle, out = self._use(), {}
        for i in range(lib.ferry_io_metadata_count(handle)):
            key, value = ctypes.c_char_p(), ctypes.c_char_p()
            lib.ferry_io_metadata_at(handle, i, ctypes.byref(key), ctypes.byref(value))
            out[string(key.value)] = string(value.value)
        return out

    def __repr__(self):
        return "<ferry.File, closed>" if self.closed else f"<ferry.File {self.format}, {len(self)} arrays>"


class _Writer:
    """A file that is being written: committed if the block succeeds, aborted otherwise."""

    def __init__(self, path, kind):
        self._handle = out_pointer(lib.ferry_io_writer_create, text(path), kind)

    def __enter__(self):
        return self._handle

    def __exit__(self, kind, *_):
        if kind is None:
            lib.ferry_io_writer_commit(self._handle)
        else:
            lib.ferry_io_writer_abort(self._handle)


def _declared(name, array):
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    return _abi.IoEntry(struct_size=ctypes.sizeof(_abi.IoEntry), name=text(name),
                        dtype=_dtypes.number(array.dtype), rank=array.ndim, shape=shape, count=array.size)


_LAYOUTS = {"plain": 0, "weights": 1}


def save(path, arrays, metadata=None, format=None, layout=None):  # pylint: disable=redefined-builtin
    """Writes a mapping of names to arrays, or blobs, as .npz, .npy (one array), .safetensors, .h5,
    .caffemodel ("conv1/0" is blob 0 of layer conv1) or .binaryproto (one array): by the path's suffix or the
    format's name. `metadata` are strings that the file contains. `layout` is for .h5: "plain", the default,
    stores each array at the path of its name; "weights" stores "conv1/0" at /data/conv1/0, as Caffe's
    weights. Unsupported if the format cannot represent an array. The file atomically replaces an existing
    one."""
    arrays = {name: np.ascontiguousarray(np.asarray(array)).reshape(np.shape(array))
              for name, array in arrays.items()}
    with _Writer(path, lib.ferry_io_format_find(text(format or path))) as writer:
        if layout is not None:
            if layout not in _LAYOUTS:
                raise InvalidArgument(f"layout {layout!r}: expected one of {', '.join(_LAYOUTS)}")
            lib.ferry_io_writer_set_layout(writer, _LAYOUTS[layout])
        for name, array in arrays.items():
            lib.ferry_io_writer_declare(writer, ctypes.byref(_declared(name, array)))
        for key, value in (metadata or {}).items():
            lib.ferry_io_writer_set_metadata(writer, text(key), text(value))
        for array in arrays.values():
            lib.ferry_io_writer_write_values(writer, array.ctypes.data, array.nbytes)


def open(path):  # pylint: disable=redefined-builtin
    """Opens a file of arrays: a mapping from names to arrays, and a context manager."""
    return File(path)
