# SPDX-License-Identifier: BSD-2-Clause
"""Finds the three libraries, declares the functions that the package calls, and converts failures to
exceptions.

If FERRY_LIBRARY_PATH is set (absolute paths of folders with colons between them), only these folders are
searched. Otherwise a wheel's own libraries are used. A package without libraries uses the system's loader
(LD_LIBRARY_PATH, ld.so.conf), then Python's own prefix and /usr/local."""

import ctypes
import os
import signal
import sys
import threading
from types import SimpleNamespace

from . import _abi, _errors, _native


def _places(soname):
    given = os.environ.get("FERRY_LIBRARY_PATH")
    if given:
        return [os.path.join(folder, soname) for folder in given.split(os.pathsep) if folder]
    if _native.is_carried():
        return [os.path.join(_native.FOLDER, soname)]
    return [soname, os.path.join(sys.prefix, "lib", soname), os.path.join("/usr/local/lib", soname)]


def _load(soname):
    """Loads the library of that name, with local symbols: global symbols of its libhdf5 would replace those of
    h5py, tables and netCDF4. The other libraries depend on libferry, which is open by then, so the loader
    finds it by its soname."""
    tried = []
    for place in _places(soname):
        folder = os.path.dirname(place)
        if folder and not os.path.isabs(folder):
            tried.append(f"{folder}: not an absolute path")
            continue
        try:
            return ctypes.CDLL(place, ctypes.RTLD_LOCAL)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(f"ferry: {soname} cannot be loaded: {'; '.join(tried)} "
                      "(FERRY_LIBRARY_PATH may name the folder that it is in)", name="ferry")


# By thread: the exception of a Python callback, until the call of ferry that made the callback has failed.
_raised = threading.local()


def called_back(function):
    """Wraps a callback for ferry: returns 0, or the code of the exception, which ferry then returns to its
    caller."""
    def run(*arguments):
        try:
            function(*arguments)
            return 0
        except BaseException as error:  # pylint: disable=broad-exception-caught
            code = getattr(error, "code", 0)
            code = code if isinstance(error, _errors.Error) and code < 0 else _errors.PluginError.code
            _raised.last = (code, error)
            return code
    return run


class InterruptWaits:
    """A block in which ferry calls Python. Ctrl-C could interrupt the beginning of such a call, where nothing
    can catch the exception: ctypes would only print it. So the interrupt is raised at the end of the block;
    `on_interrupt` is called immediately."""

    def __init__(self, on_interrupt=None):
        self._on_interrupt = on_interrupt
        self._before = self._struck = None

    def _note(self, *arguments):
        self._struck = arguments
        if self._on_interrupt:
            self._on_interrupt()

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_):
        if self._before:
            signal.signal(signal.SIGINT, self._before)
        if self._struck:
            self._before(*self._struck)


def _raise(code):
    raised, _raised.last = getattr(_raised, "last", None), None
    if raised and raised[0] == code:
        raise raised[1]
    line = lib.ferry_last_error() if lib.ferry_last_error_code() == code else lib.ferry_strerror(code)
    raise _errors.of(code, line.decode(errors="replace"))


def _check_code(result, _function, _arguments):
    if result < 0:
        _raise(result)
    return result


def _check_null(result, _function, _arguments):
    if not result:
        _raise(lib.ferry_last_error_code())
    return result


def _declare(library, soname, name, declared):
    try:
        function = getattr(library, name)
    except AttributeError:
        raise ImportError(f"ferry: {soname} has no {name}: it is older than this package",
                          name="ferry") from None
    function.restype = declared.result
    function.argtypes = declared.arguments
    if declared.fails:
        function.errcheck = _check_code if declared.fails == "code" else _check_null
    return function


lib = SimpleNamespace()
for _soname, _functions in _abi.LIBRARIES.items():
    _library = _load(_soname)
    for _name, _declared in _functions.items():
        setattr(lib, _name, _declare(_library, _soname, _name, _declared))


class Handle:
    """A pointer of ferry's, released with the last Python reference to it.

    A handle passed to a call lives until that call returns, even if another thread closes its object
    meanwhile. `keeps` are the handles from which this one is borrowed."""

    __slots__ = ("_as_parameter_", "_free", "_keeps")

    def __init__(self, pointer, free=None, keeps=()):
        self._as_parameter_ = pointer
        self._free = free
        self._keeps = keeps

    def __del__(self):
        if self._free:
            self._free(self._as_parameter_)


class Held:
    """An object over a handle: closed by `close`, at the end of a `with` block, or with its last reference.

    Objects may be closed in any order. Parts of a closed object that other objects need live until those are
    closed too: after `close`, using this object is a ValueError."""

    _handle = None

    def _use(self):
        handle = self._handle
        if handle is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return handle

    def close(self):
        """Closes the object. A second call has no effect."""
        self._handle = None

    @property
    def closed(self):
        return self._handle is None

    def __enter__(self):
        self._use()
        return self

    def __exit__(self, *_):
        self.close()


def out_pointer(function, *arguments):
    """Calls a function whose last argument receives a pointer; returns the pointer."""
    out = ctypes.c_void_p()
    function(*arguments, ctypes.byref(out))
    return out.value


def out_double(function, *arguments):
    """As `got`, for a double."""
    out = ctypes.c_double()
    function(*arguments, ctypes.byref(out))
    return out.value


def text(value):
    """Encodes a string for ferry; None stays None."""
    return None if value is None else os.fsencode(value)


def string(value):
    """Decodes a string from ferry."""
    return os.fsdecode(value or b"")


def texts(values):
    """An array of several encoded strings; a single string counts as one."""
    values = [values] if isinstance(values, str) else list(values)
    return (ctypes.c_char_p * len(values))(*map(text, values))
