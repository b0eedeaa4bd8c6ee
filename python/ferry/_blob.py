# SPDX-License-Identifier: BSD-2-Clause
"""Blobs, and NumPy's views of them."""

import contextlib
import ctypes

import numpy as np

from . import _abi, _dlpack, _dtypes
from ._errors import ShapeMismatch
from ._library import Handle, Held, lib, out_double, out_pointer, string, text
from ._runtime import Device


class _Place:
    """What NumPy makes a view of, and keeps while there is one: an address, and the memory behind it."""

    def __init__(self, address, shape, dtype, writable, memory):
        self.__array_interface__ = {"version": 3, "data": (address, not writable), "shape": shape,
                                    "typestr": dtype.str}
        self._memory = memory


def _int64s(shape):
    return (ctypes.c_int64 * len(shape))(*shape)


class Blob(Held):
    """An array of `data` and `diff` that is kept coherent between the host and any number of devices.

    `Blob(device, (2, 3))` lives on that device; no storage is allocated before first use, and what was
    never written reads as zeros. Without a shape it gets one from reshape or copy_from. A dtype is
    anything of NumPy's that ferry has, or "bfloat16", which NumPy cannot look at: see astype.

    Arrays. `data` and `diff` are arrays of NumPy's to read, over ferry's own host memory: what is newer
    on a device is copied there first, and nothing else is copied. To write, say so, since ferry has to
    know that the devices' copies are old then:

        blob.data = values                   # all of it; shapes broadcast, dtypes convert as NumPy's do
        with blob.writing() as a:            # part of it, in place
            a[0] += 1

    An array shows the contents of when it was asked for. A write on a device, or through another blob of
    the same memory, leaves it behind, with the old values or part of them; ask again afterwards, which
    costs nothing where nothing has moved. The memory lives as long as an array of it, whatever becomes
    of the blob. Where the device shares the host's memory by mapping it (`properties.unified`) the pages
    go away when the device gets them; there `data` and `diff` are copies, and `reading()` and `writing()`
    lend the memory itself, for their block alone.

    numpy.asarray(blob) is `data`. numpy.from_dlpack(blob) and torch.from_dlpack(blob) share the memory, to
    write as well.

    Threads: distinct blobs from distinct threads; one is read by several at once. Writes, reshapes and
    moves need exclusion, which Python's own lock is not: other threads run while ferry works."""

    def __init__(self, device, shape=None, dtype="float32"):
        shape = None if shape is None else _int64s(_dims(shape))
        pointer = out_pointer(lib.ferry_blob_create, device._use(), _dtypes.number(dtype),
                              shape, _abi.UNSHAPED if shape is None else len(shape))
        self._handle = Handle(pointer, lib.ferry_blob_destroy, (device._use(),))
        self._part = False

    @classmethod
    def _over(cls, handle, part=False):
        """A blob over a handle that exists. `part`: it is not all of its memory."""
        blob = cls.__new__(cls)
        blob._handle = handle
        blob._part = part
        return blob

    def close(self):
        """Gives the blob back; arrays of it stay. Again is fine."""
        super().close()
        _dlpack.sweep()

    # ---- what it is ------------------------------------------------------------------------------

    @property
    def shape(self):
        """Its shape, as NumPy has them; (0,) as long as it has no shape."""
        handle = self._use()
        rank = lib.ferry_blob_rank(handle)
        if rank == 0:
            return () if lib.ferry_blob_element_count(handle) == 1 else (0,)
        return tuple(lib.ferry_blob_shape(handle)[:rank])

    @property
    def size(self):
        """Elements."""
        return lib.ferry_blob_element_count(self._use())

    @property
    def ndim(self):
        """Axes."""
        return len(self.shape)

    @property
    def dtype(self):
        """A dtype of NumPy's, or "bfloat16"."""
        return _dtypes.of(lib.ferry_blob_dtype(self._use()))

    @property
    def home(self):
        """The device that it lives on; `to` moves it."""
        handle = self._use()
        return Device(Handle(lib.ferry_blob_home(handle), None, (handle,)))

    @property
    def name(self):
        """The name in traces and logs; may be set."""
        return string(lib.ferry_blob_name(self._use()))

    @name.setter
    def name(self, value):
        lib.ferry_blob_set_name(self._use(), text(value))

    @property
    def head(self):
        """Where the newest data are: "uninitialized", "at_host", "at_device", "synced"."""
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
        """A new array of the data (or diff)."""
        handle, ref = self._use(), _abi.Ref()
        array = np.empty(self.shape, _dtypes.numpys(lib.ferry_blob_dtype(handle)))
        if array.size:
            lib.ferry_blob_access(handle, int(diff), None, _abi.READ, None, ctypes.byref(ref))
            ctypes.memmove(array.ctypes.data, ref.handle + ref.offset, array.nbytes)
        return array

    def _lasting(self, diff):
        if not self.home.properties.unified:
            return self._view(diff, _abi.READ)
        array = self._copy(diff)
        array.flags.writeable = False
        return array

    @property
    def data(self):
        """The data, to read: see above. May be set, from anything that broadcasts to its shape."""
        return self._lasting(False)

    @data.setter
    def data(self, values):
        self._write(values, False)

    @property
    def diff(self):
        """The diff, likewise."""
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
        """The data (or diff) for a block, to read: never a copy of ferry's host memory. No device writes
        the blob in the block."""
        yield self._view(diff, _abi.READ)

    @contextlib.contextmanager
    def writing(self, diff=False, whole=False):
        """The data (or diff) for a block, to read and write in place; behind the block the array is only
        to read. No device uses the blob in the block.

        `whole` promises that every element is written, and saves the copy of the old ones. If the block
        then raises, nobody knows what the elements are: the contents are lost (`Lost` from what reads
        them) until they are written again."""
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
        """The data as a DLPack tensor, for whoever asks, on the home device where DLPack has a name for it
        and on the host otherwise. It is a write: the copy there becomes the only valid one, and what the
        other library writes is what ferry then reads. All work on it is done, whatever the stream."""
        return _dlpack.export(self, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return _dlpack.place_of(self.home)[0]

    # ---- shape and contents ----------------------------------------------------------------------

    def reshape(self, *shape):
        """Changes the shape; within the capacity contents stay. reshape(2, 3) or reshape((2, 3))."""
        shape = _int64s(_dims(shape[0] if len(shape) == 1 else shape))
        lib.ferry_blob_reshape(self._use(), shape, len(shape), None)

    def fill(self, value, diff=False):
        """Sets every element, where the data are."""
        (lib.ferry_blob_fill_diff if diff else lib.ferry_blob_fill_data)(self._use(), value)

    def scale(self, factor, diff=False):
        """Multiplies every element, where the data are."""
        (lib.ferry_blob_scale_diff if diff else lib.ferry_blob_scale_data)(self._use(), factor)

    def update(self):
        """data -= diff, where the data are."""
        lib.ferry_blob_update(self._use())

    def asum(self, diff=False):
        """The sum of absolute values, computed where the data are."""
        return out_double(lib.ferry_blob_asum_diff if diff else lib.ferry_blob_asum_data, self._use())

    def sumsq(self, diff=False):
        """The sum of squares, likewise."""
        return out_double(lib.ferry_blob_sumsq_diff if diff else lib.ferry_blob_sumsq_data, self._use())

    def copy_from(self, source, diff=False, reshape=False):
        """Copies another blob's data (or diff), converting; shapes are equal, or taken on."""
        flags = (_abi.COPY_DIFF if diff else 0) | (_abi.COPY_RESHAPE if reshape else 0)
        lib.ferry_blob_copy_from(self._use(), source._use(), flags)

    def astype(self, dtype):
        """A new blob on the same home with these data in another dtype."""
        out = Blob(self.home, self.shape, dtype)
        out.copy_from(self)
        return out

    def to(self, device):
        """Moves the home; bytes follow when they are needed."""
        lib.ferry_blob_move_to(self._use(), device._use())

    def slice(self, start, count):
        """A blob of `count` entries of axis 0 from `start` on, over the same memory."""
        handle = self._use()
        out = out_pointer(lib.ferry_blob_slice, handle, start, count)
        return Blob._over(Handle(out, lib.ferry_blob_destroy, (handle,)), part=True)


def _dims(shape):
    return (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)


def from_array(device, values, dtype=None):
    """A new blob with these values and its home on `device`; a copy."""
    values = np.asarray(values)
    blob = Blob(device, values.shape, values.dtype if dtype is None else dtype)
    blob.data = values
    return blob


def from_dlpack(device, source):
    """A blob over the memory of another library's array (NumPy's, PyTorch's), with its home on `device`.

    Nothing is copied: what either writes the other sees, as long as ferry has not written elsewhere. The
    array's memory is kept until the blob lets go of it. Contiguous arrays alone; Unsupported otherwise."""
    return Blob._over(_dlpack.adopt(device, source))
