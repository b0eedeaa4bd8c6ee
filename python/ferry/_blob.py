# SPDX-License-Identifier: BSD-2-Clause
"""Blobs, and NumPy's views of them."""

import contextlib
import ctypes

import numpy as np

from . import _abi, _dlpack, _dtypes
from ._errors import ShapeMismatch
from ._library import Handle, Held, lib, out_double, out_pointer, string, text
from ._runtime import Device

# Storage that ferry frees.
_libc = ctypes.CDLL(None)
_libc.malloc.argtypes, _libc.malloc.restype = (ctypes.c_size_t,), ctypes.c_void_p


class _Place:
    """The object that NumPy makes a view of, and keeps as long as the view exists: an address, and the memory
    behind it."""

    def __init__(self, address, shape, dtype, writable, memory):
        self.__array_interface__ = {"version": 3, "data": (address, not writable), "shape": shape,
                                    "typestr": dtype.str}
        self._memory = memory


def _int64s(shape):
    return (ctypes.c_int64 * len(shape))(*shape)


class Blob(Held):
    """An array of `data` and `diff` that is kept coherent between the host and any number of devices.

    `Blob(device, (2, 3))` has its home on that device. No storage is allocated before first use, and elements
    that were never written read as zeros. Without a shape, reshape or copy_from sets it. A dtype is any NumPy
    dtype that ferry supports, or "bfloat16", which NumPy lacks: see astype.

    Arrays. `data` and `diff` are read-only NumPy arrays over ferry's own host memory. If a device has newer
    contents, ferry copies them to the host first; it makes no other copy. Writes are explicit, because ferry
    has to know that the devices' copies become stale:

        blob.data = values                   # all elements; shapes broadcast, dtypes convert as in NumPy
        with blob.writing() as a:            # some elements, in place
            a[0] += 1

    An array shows the contents at the time of the request. After a write on a device, or through another blob
    of the same memory, the array has the old values or a mixture: request it again, which costs nothing if no
    copy is needed. The memory lives as long as one of its arrays, even if the blob is closed. If the device
    maps the host's memory (`properties.unified`), its pages are not accessible while the device has them;
    there `data` and `diff` are copies, and `reading()` and `writing()` give access to the memory within their
    block.

    numpy.asarray(blob) is `data`. numpy.from_dlpack(blob) and torch.from_dlpack(blob) share the memory, also
    for writing.

    Threads: several threads may use distinct blobs, or read one blob, at the same time. The caller serialises
    writes, reshapes and moves; Python's global lock does not, because ferry releases it while it works."""

    def __init__(self, device, shape=None, dtype="float32"):
        shape = None if shape is None else _int64s(_dims(shape))
        pointer = out_pointer(lib.ferry_blob_create, device._use(), _dtypes.number(dtype),
                              shape, _abi.UNSHAPED if shape is None else len(shape))
        self._handle = Handle(pointer, lib.ferry_blob_destroy, (device._use(),))
        self._part = False

    @classmethod
    def _over(cls, handle, part=False):
        """A blob over an existing handle. `part`: the blob is a part of its memory."""
        blob = cls.__new__(cls)
        blob._handle = handle
        blob._part = part
        return blob

    def close(self):
        """Closes the blob; its arrays stay valid. A second call has no effect."""
        super().close()
        _dlpack.sweep()

    # ---- properties ------------------------------------------------------------------------------

    @property
    def shape(self):
        """The shape, as in NumPy; (0,) for a blob without a shape."""
        handle = self._use()
        rank = lib.ferry_blob_rank(handle)
        if rank == 0:
            return () if lib.ferry_blob_element_count(handle) == 1 else (0,)
        return tuple(lib.ferry_blob_shape(handle)[:rank])

    @property
    def size(self):
        """The number of elements."""
        return lib.ferry_blob_element_count(self._use())

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self):
        """A dtype of NumPy's, or "bfloat16"."""
        return _dtypes.of(lib.ferry_blob_dtype(self._use()))

    @property
    def home(self):
        """The home device; `to` changes it."""
        handle = self._use()
        return Device(Handle(lib.ferry_blob_home(handle), None, (handle,)))

    @property
    def name(self):
        """The name in traces and logs; settable."""
        return string(lib.ferry_blob_name(self._use()))

    @name.setter
    def name(self, value):
        lib.ferry_blob_set_name(self._use(), text(value))

    @property
    def head(self):
        """The location of the newest data: "uninitialized", "at_host", "at_device", "synced"."""
        return _abi.HEADS[lib.ferry_memory_head(lib.ferry_blob_data_memory(self._use()))]

    def __len__(self):
        if not self.shape:
            raise TypeError("a blob of no axes has no length")
        return self.shape[0]

    def __repr__(self):
        if self.closed:
            return "<ferry.Blob, closed>"
        return f"<ferry.Blob {self.name or ''}{list(self.shape)} {self.dtype} on {self.home.name}>"

    # ---- arrays ----------------------------------------------------------------------------------

    def _memory(self, diff):
        get = lib.ferry_blob_diff_memory if diff else lib.ferry_blob_data_memory
        return get(self._use())

    def _view(self, diff, access):
        handle, shape, ref = self._use(), self.shape, _abi.Ref()
        dtype = _dtypes.numpys(lib.ferry_blob_dtype(handle))
        writable = bool(access & _abi.WRITE)
        lib.ferry_blob_access(handle, int(diff), None, access, None, ctypes.byref(ref))
        if not self.size:
            array = np.empty(shape, dtype)
            array.flags.writeable = writable
            return array
        memory = Handle(lib.ferry_memory_retain(self._memory(diff)), lib.ferry_memory_release)
        return np.asarray(_Place(ref.handle + ref.offset, shape, dtype, writable, memory))

    def _copy(self, diff=False):
        """A new array of the data (or the diff)."""
        handle, ref = self._use(), _abi.Ref()
        array = np.empty(self.shape, _dtypes.numpys(lib.ferry_blob_dtype(handle)))
        if array.size:
            lib.ferry_blob_access(handle, int(diff), None, _abi.READ, None, ctypes.byref(ref))
            ctypes.memmove(array.ctypes.data, ref.handle + ref.offset, array.nbytes)
        return array

    def _share(self, values):
        """Makes a contiguous array of the blob's dtype and shape the host's copy of the data, without a copy
        and without a reference to it. Returns the memory; None, and does nothing, for other arrays."""
        if values.dtype != _dtypes.numpys(lib.ferry_blob_dtype(self._use())) or \
                not (values.flags.c_contiguous and values.flags.aligned and values.size):
            return None
        memory = self._memory(False)
        lib.ferry_memory_adopt(memory, None, _abi.Ref(values.ctypes.data, 0), values.nbytes,
                               _abi.ADOPT_READONLY, None, None)
        return memory

    @staticmethod
    def _unshare(memory, size):
        """Ends the use of a shared array by _share's memory, after pending work: new storage takes its place.
        The data are lost."""
        storage = _libc.malloc(size)
        if not storage:
            raise MemoryError(f"{size} bytes for an input's blob")
        lib.ferry_memory_adopt(memory, None, _abi.Ref(storage, 0), size, 0, _libc.free, storage)
        lib.ferry_memory_mark_lost(memory)

    def _lasting(self, diff):
        if not self.home.properties.unified:
            return self._view(diff, _abi.READ)
        array = self._copy(diff)
        array.flags.writeable = False
        return array

    @property
    def data(self):
        """The data, read-only: see the class. Settable from any value that broadcasts to the shape."""
        return self._lasting(False)

    @data.setter
    def data(self, values):
        self._write(values, False)

    @property
    def diff(self):
        """The diff, as `data`."""
        return self._lasting(True)

    @diff.setter
    def diff(self, values):
        self._write(values, True)

    def _write(self, values, diff):
        values, handle = np.asarray(values), self._use()
        dtype = _dtypes.numpys(lib.ferry_blob_dtype(handle))
        if values.dtype == dtype and values.flags.c_contiguous and values.size and values.shape == self.shape:
            ref = _abi.Ref()
            lib.ferry_blob_access(handle, int(diff), None, _abi.WRITE, None, ctypes.byref(ref))
            ctypes.memmove(ref.handle + ref.offset, values.ctypes.data, values.nbytes)
            return
        if not np.can_cast(values.dtype, dtype, "same_kind"):
            raise TypeError(f"values of {values.dtype} in a blob of {dtype}: convert them first")
        try:
            values = np.broadcast_to(values, self.shape)
        except ValueError:
            raise ShapeMismatch(f"values of shape {values.shape} in a blob of {self.shape}") from None
        with self.writing(diff, whole=True) as array:
            np.copyto(array, values, casting="same_kind")

    @contextlib.contextmanager
    def reading(self, diff=False):
        """The data (or the diff) within a block, read-only: always ferry's host memory and never a copy. No
        device may write the blob in the block."""
        yield self._view(diff, _abi.READ)

    @contextlib.contextmanager
    def writing(self, diff=False, whole=False):
        """The data (or the diff) within a block, to read and write in place; after the block the array is
        read-only. No device may use the blob in the block.

        `whole` promises that every element is written, so that the old ones are not copied. If the block then
        raises, the elements are undefined: the contents are lost (reading raises `Lost`) until they are
        written again."""
        array = self._view(diff, _abi.WRITE if whole else _abi.READ | _abi.WRITE)
        try:
            yield array
        except BaseException:
            if whole and not self._part:
                lib.ferry_memory_mark_lost(self._memory(diff))
            raise
        finally:
            array.flags.writeable = False

    def __array__(self, dtype=None, copy=None):
        array = self.data
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"{array.dtype} as {np.dtype(dtype)} takes a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """The data as a DLPack tensor: on the home device if DLPack has a device type for it, otherwise on
        the host. The export counts as a write: that copy becomes the only valid one, and ferry later reads
        the other library's writes. All work on it is done, for any stream."""
        return _dlpack.export(self, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return _dlpack.place_of(self.home)[0]

    # ---- shape and contents ----------------------------------------------------------------------

    def reshape(self, *shape):
        """Changes the shape; within the capacity the contents stay. reshape(2, 3) or reshape((2, 3))."""
        shape = _int64s(_dims(shape[0] if len(shape) == 1 else shape))
        lib.ferry_blob_reshape(self._use(), shape, len(shape), None)

    def fill(self, value, diff=False):
        """Sets every element, at the place of the newest data."""
        (lib.ferry_blob_fill_diff if diff else lib.ferry_blob_fill_data)(self._use(), value)

    def scale(self, factor, diff=False):
        """Multiplies every element, at the place of the newest data."""
        (lib.ferry_blob_scale_diff if diff else lib.ferry_blob_scale_data)(self._use(), factor)

    def update(self):
        """data -= diff, at the place of the newest data."""
        lib.ferry_blob_update(self._use())

    def asum(self, diff=False):
        """The sum of absolute values, computed at the place of the newest data."""
        return out_double(lib.ferry_blob_asum_diff if diff else lib.ferry_blob_asum_data, self._use())

    def sumsq(self, diff=False):
        """The sum of squares, as `asum`."""
        return out_double(lib.ferry_blob_sumsq_diff if diff else lib.ferry_blob_sumsq_data, self._use())

    def copy_from(self, source, diff=False, reshape=False):
        """Copies another blob's data (or diff), with conversion. Shapes must be equal, unless `reshape` is
        set."""
        flags = (_abi.COPY_DIFF if diff else 0) | (_abi.COPY_RESHAPE if reshape else 0)
        lib.ferry_blob_copy_from(self._use(), source._use(), flags)

    def astype(self, dtype):
        """A new blob on the same home with these data in another dtype."""
        out = Blob(self.home, self.shape, dtype)
        out.copy_from(self)
        return out

    def to(self, device):
        """Changes the home; the next access copies the bytes that it needs."""
        lib.ferry_blob_move_to(self._use(), device._use())

    def slice(self, start, count):
        """A blob of `count` entries of axis 0 from `start` on, over the same memory."""
        handle = self._use()
        out = out_pointer(lib.ferry_blob_slice, handle, start, count)
        return Blob._over(Handle(out, lib.ferry_blob_destroy, (handle,)), part=True)


def _dims(shape):
    return (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)


def from_array(device, values, dtype=None):
    """A new blob with its home on `device` and a copy of these values."""
    values = np.asarray(values)
    blob = Blob(device, values.shape, values.dtype if dtype is None else dtype)
    blob.data = values
    return blob


def from_dlpack(device, source):
    """A blob over the memory of another library's array (NumPy's, PyTorch's), with its home on `device`.

    Nothing is copied: each side sees the other's writes, as long as ferry does not write to another copy. The
    blob keeps the array's memory alive. Raises Unsupported if the array is not contiguous."""
    return Blob._over(_dlpack.adopt(device, source))
