# SPDX-License-Identifier: BSD-2-Clause
"""The codes of ferry/status.h as exceptions."""


class Error(Exception):
    """A failed call of ferry. `code` is the FERRY_E… code; the text is ferry's error message, which names
    device, operation, file and cause."""

    code = 0

    def __init__(self, line="", code=None):
        super().__init__(line)
        if code is not None:
            self.code = code


class InvalidArgument(Error, ValueError):
    code = -1


class OutOfMemory(Error, MemoryError):
    code = -2


class NoDevice(Error):
    code = -3


class Unsupported(Error, NotImplementedError):
    code = -4


class Overflow(Error, OverflowError):
    code = -5


class ShapeMismatch(Error, ValueError):
    code = -6


class NeverWritten(Error):
    code = -7


class Busy(Error):
    code = -8


class DeviceError(Error):
    code = -9


class Lost(Error):
    code = -10


class PluginError(Error):
    code = -11


class AbiMismatch(PluginError):
    code = -12


class NotPermitted(Error, PermissionError):
    code = -13


class ConfigurationError(Error, ValueError):
    code = -14


class MalformedFile(Error, ValueError):
    code = -15


class IOFailed(Error, OSError):
    code = -16


class Forked(Error):
    code = -17


CLASSES = {cls.code: cls for cls in (
    InvalidArgument, OutOfMemory, NoDevice, Unsupported, Overflow, ShapeMismatch, NeverWritten, Busy,
    DeviceError, Lost, PluginError, AbiMismatch, NotPermitted, ConfigurationError, MalformedFile,
    IOFailed, Forked)}


def of(code, line):
    """The exception for a code; a code of a newer ferry is a plain Error."""
    return CLASSES.get(code, Error)(line, code)
