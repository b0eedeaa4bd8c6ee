# SPDX-License-Identifier: BSD-2-Clause
"""Blobs whose arrays may be written at any time, as in pycaffe."""

import contextlib
import functools
import sys
import threading
import weakref

import numpy as np

from .. import _abi
from .._blob import Blob as FerryBlob
from .._errors import Error, Lost, Unsupported
from . import _state

BOTH = _abi.READ | _abi.WRITE


class _Shared:
    """The arrays over a blob's memory that are still referenced."""

    def __init__(self, blob, diff):
        self._blob, self._diff = blob, diff
        self._memory = blob._memory(diff)
        self._owner = None

    def lend(self):
        """An array that is writable from now on."""
        array = self._blob._view(self._diff, BOTH)
        self._owner = weakref.ref(array if array.base is None else array.base)
        return array

    @property
    def key(self):
        return self._memory, self._diff

    def is_out(self):
        return self._owner() is not None

    def announce(self):
        """Before a pass: makes the host's copy, which the arrays may have changed, the only valid one."""
        self._blob._view(self._diff, BOTH)

    def refresh(self):
        """After a pass: updates the host's copy, and so the arrays."""
        self._blob._view(self._diff, _abi.READ)


class _Copy:
    """As _Shared, for devices that map the host's memory, whose pages are not always accessible: one copy of
    the whole memory, which is written back if it has changed."""

    def __init__(self, blob, diff):
        self._blob, self._diff = blob, diff
        self._array = blob._view(diff, _abi.READ).ravel().copy()
        self._seen = self._array.copy()

    def fits(self, blob, memory):
        """Whether this is a copy of that memory, as large as the blob."""
        return blob.size == self._array.size and self._blob._memory(self._diff) == memory

    def lend(self, blob):
        return self._array.reshape(blob.shape)

    def is_out(self):
        return sys.getrefcount(self._array) > 2

    def announce(self):
        if np.array_equal(self._array.view(np.uint8), self._seen.view(np.uint8)):  # NaN equals NaN
            return
        now = self._blob._view(self._diff, BOTH).ravel()
        n = min(now.size, self._array.size)
        now[:n] = self._array[:n]
        self._seen[...] = self._array

    def refresh(self):
        now = self._blob._view(self._diff, _abi.READ).ravel()
        n = min(now.size, self._array.size)
        self._array[:n] = self._seen[:n] = now[:n]


_joining = threading.Lock()


class Views:
    """The arrays that are referenced over the blobs of nets that share memory, and the lock of these nets.

    Before a pass the arrays' contents become the valid ones, and after it they are updated: only those that
    are still referenced. pycaffe holds the interpreter's lock in every call, so its scripts use one net from
    several threads; ferry releases that lock, so `locked` admits one thread at a time to the nets. The same
    thread may enter again, as a layer in Python does that calls its net. `_books` guards only the lists: a
    layer in Python may wait for a thread of its own that uses its bottoms and tops, so these do not take the
    nets' lock."""

    def __init__(self):
        self._shared, self._copies = [], {}
        self._joined = None
        self._lock, self._books = threading.RLock(), threading.RLock()

    def _root(self):
        return self._joined._root() if self._joined else self

    @contextlib.contextmanager
    def locked(self):
        """A block in which no other thread uses the nets."""
        while True:
            root = self._root()
            with root._lock:
                if root is self._root():  # otherwise the nets were joined meanwhile
                    yield
                    return

    @contextlib.contextmanager
    def joined(self, other):
        """A block in which one net takes the parameters of another; afterwards both nets have one set of
        arrays. Only one thread at a time takes two locks, so their order does not matter."""
        with _joining, self.locked(), other.locked(), self.working(), other.working():
            yield
            self._join(other)

    def _join(self, other):
        mine, theirs = self._root(), other._root()
        if mine is not theirs:
            with mine._books, theirs._books:
                theirs._shared += mine._shared
                theirs._copies.update(mine._copies)
                mine._shared, mine._copies, mine._joined = [], {}, theirs

    def lend(self, blob, diff):
        """Returns an array over the blob."""
        root = self._root()
        with root._books:
            if blob.home.properties.unified and blob.size:
                return root._copy_of(blob, diff).lend(blob)
            if len(root._shared) >= 64:
                root._shared = [one for one in root._shared if one.is_out()]
            one = _Shared(blob, diff)
            array = one.lend()
            root._shared.append(one)
            return array

    def _copy_of(self, blob, diff):
        key = blob._memory(diff), diff
        found = self._copies.get(key)
        if found is None or not found.fits(blob, key[0]):
            if found:
                found.announce()
            found = self._copies[key] = _Copy(blob, diff)
        return found

    def _out(self):
        """One object for each memory with arrays."""
        with self._books:
            self._shared = [one for one in self._shared if one.is_out()]
            return [*{one.key: one for one in self._shared}.values(), *self._copies.values()]

    def _announce(self):
        for one in self._root()._out():
            with contextlib.suppress(Lost):  # a failure invalidated it: a pass overwrites it, or a read reports the failure
                one.announce()

    def _refresh(self):
        root = self._root()
        with root._books:
            root._copies = {key: one for key, one in root._copies.items() if one.is_out()}
        for one in root._out():
            one.refresh()

    @contextlib.contextmanager
    def working(self):
        """A block in which ferry works on the nets, and no other thread uses them."""
        with self.locked():
            self._announce()
            try:
                yield
            except BaseException:
                with contextlib.suppress(Error):
                    self._refresh()
                raise
            self._refresh()

    @contextlib.contextmanager
    def within(self):
        """A block within a pass, for a layer in Python."""
        for one in self._root()._copies.values():
            one.refresh()
        yield
        for one in self._root()._copies.values():
            one.announce()


def _guarded(method):
    """The method, run while no other thread uses the net."""
    @functools.wraps(method)
    def run(self, *arguments):
        with self._guard():
            return method(self, *arguments)
    return run


class Blob:
    """A blob of a net. `data` and `diff` are arrays over ferry's own host memory (a copy if devices map the
    host's) that may be read and written at any time: a pass uses the values written before it, and after a
    pass an array shows the new contents. While arrays of a net's parameters are referenced, each pass packs
    the parameters again."""

    def __init__(self, blob, views, locks=True):
        self._blob, self._views = blob, views
        self._locks = locks

    def _guard(self):
        return self._views.locked() if self._locks else contextlib.nullcontext()

    @property
    @_guarded
    def data(self):
        """The data, as an array."""
        return self._views.lend(self._blob, False)

    @property
    @_guarded
    def diff(self):
        """The diff, as an array."""
        return self._views.lend(self._blob, True)

    @property
    @_guarded
    def shape(self):
        """The shape; () for a blob without a shape."""
        shape = self._blob.shape
        return () if shape == (0,) and not self._blob.size else shape

    @property
    @_guarded
    def count(self):
        """The number of elements."""
        return self._blob.size

    def _legacy(self, axis):
        shape = self.shape
        if len(shape) > 4:
            raise ValueError(f"a blob of {len(shape)} axes has no num, channels, height and width")
        return shape[axis] if axis < len(shape) else 1

    num = property(lambda self: self._legacy(0))
    channels = property(lambda self: self._legacy(1))
    height = property(lambda self: self._legacy(2))
    width = property(lambda self: self._legacy(3))

    @_guarded
    def reshape(self, *shape):
        """Changes the shape: reshape(1, 3, 224, 224)."""
        self._blob.reshape(tuple(int(dim) for dim in shape))

    @property
    def ferry(self):
        """The ferry.Blob."""
        return self._blob

    def __dlpack__(self, **arguments):
        with self._views.working():
            return self._blob.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._blob.__dlpack_device__()

    def __repr__(self):
        return f"<ferry.caffe.Blob {self._blob.name} {list(self._blob.shape)}>"


class BlobVec(list):
    """The parameters of a layer, or a list of blobs."""

    _of_net = False

    def add_blob(self, *shape):
        """Appends a new blob of zeros. The parameters of a net's layer can only be added in the layer's
        setup."""
        if self._of_net:
            raise Unsupported("add_blob: parameters of a layer can only be added in its setup")
        self.append(Blob(FerryBlob(_state.device(), tuple(map(int, shape))), Views()))
