# SPDX-License-Identifier: BSD-2-Clause
"""Runtimes and their devices."""

import ctypes
from collections import namedtuple

from . import _abi, _native
from ._library import Handle, Held, lib, out_pointer, string, text

#: One line of the load report: a plugin, and the reason if it cannot be used.
Candidate = namedtuple("Candidate", [name for name, _ in _abi.Candidate._fields_[1:]])

#: The properties of a device; see ferry_device_properties.
Properties = namedtuple("Properties", [name for name, _ in _abi.DeviceProperties._fields_[1:]])

#: The counters of a device since it was opened; see ferry_device_stats.
Stats = namedtuple("Stats", [name for name, _ in _abi.Stats._fields_[1:]])


def _tuple_of(kind, structure):
    values = (getattr(structure, name) for name in kind._fields)
    return kind(*(value if isinstance(value, int) else string(value) for value in values))


class Device:
    """A device, such as cuda:1, from Runtime.device. It keeps its runtime alive as far as necessary. Two
    objects are equal if they refer to one device. Any thread may use it."""

    def __init__(self, handle):
        self._handle = handle

    def _use(self):
        return self._handle

    @property
    def name(self):
        """ "plugin:index" """
        return string(lib.ferry_device_name(self._handle))

    @property
    def properties(self):
        """The device's properties. Some may be missing until the first use of the device, which opens it."""
        return _tuple_of(Properties, lib.ferry_device_get_properties(self._handle).contents)

    def stats(self):
        """The device's counters: copies, bytes, allocations, fallbacks."""
        out = _abi.Stats(struct_size=ctypes.sizeof(_abi.Stats))
        lib.ferry_device_get_stats(self._handle, ctypes.byref(out))
        return _tuple_of(Stats, out)

    def memory_available(self):
        """The bytes that are free on the device; Unsupported if the vendor reports no number."""
        out = ctypes.c_uint64()
        lib.ferry_device_memory_available(self._handle, ctypes.byref(out))
        return out.value

    def synchronize(self):
        """Waits for all work of all queues of the device. Other Python threads run meanwhile."""
        lib.ferry_device_synchronize(self._handle)

    def __eq__(self, other):
        if not isinstance(other, Device):
            return NotImplemented
        return self._handle._as_parameter_ == other._handle._as_parameter_

    def __hash__(self):
        return hash(self._handle._as_parameter_)

    def __repr__(self):
        return f"<ferry.Device {self.name}>"


class Runtime(Held):
    """The plugins that the configuration allows, and the devices of open plugins. Any thread may use it.

    `backend` is as FERRY_BACKEND ("cuda", "opencl:1", "cuda,cpu"), `conf` is the one configuration file to
    read, `strict` whether a fallback to the host is an error; for None the environment and plugins.conf
    decide. Plugins of other packages (entry points `ferry.plugins`) are searched after the installed ones.
    `options` are set before a plugin is opened: {"sim": {"devices": 2}}."""

    def __init__(self, backend=None, conf=None, strict=None, options=None):
        given = _abi.RuntimeOptions(struct_size=ctypes.sizeof(_abi.RuntimeOptions), conf=text(conf),
                                    backend=text(backend), plugin_path_last=text(_native.plugin_path()))
        if strict is not None:
            given.strict = _abi.STRICT_ON if strict else _abi.STRICT_OFF
        self._handle = Handle(out_pointer(lib.ferry_runtime_open, ctypes.byref(given)),
                              lib.ferry_runtime_close)
        for plugin, pairs in (options or {}).items():
            for key, value in pairs.items():
                self.set_option(plugin, key, value)

    def set_option(self, plugin, key, value):
        """Sets an option, as `option.key = value` in the plugin's section of plugins.conf; Busy once the
        plugin is open."""
        lib.ferry_runtime_set_option(self._use(), text(plugin), text(key), text(str(value)))

    def device(self, name=None):
        """Opens the device of that name, or the selected one. Raises NoDevice with the reason if that fails."""
        handle = self._use()
        return Device(Handle(out_pointer(lib.ferry_runtime_get_device, handle, text(name)), None, (handle,)))

    def devices(self):
        """All devices of all plugins that the configuration allows; opens none of them."""
        handle, count = self._use(), ctypes.c_int()
        lib.ferry_runtime_enumerate(handle, ctypes.byref(count))
        return [Device(Handle(out_pointer(lib.ferry_runtime_device_at, handle, i), None, (handle,)))
                for i in range(count.value)]

    def report(self):
        """The load report: a Candidate for each plugin that was found, in the order of search."""
        handle = self._use()
        lines = []
        for i in range(lib.ferry_runtime_candidate_count(handle)):
            line = out_pointer(lib.ferry_runtime_candidate_at, handle, i)
            lines.append(_tuple_of(Candidate, _abi.Candidate.from_address(line)))
        return lines
