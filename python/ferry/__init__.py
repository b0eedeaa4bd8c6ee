# SPDX-License-Identifier: BSD-2-Clause
"""Blobs kept coherent over any number of devices, the files that they come from, and nets on them.

    import ferry

    device = ferry.Runtime().device()            # FERRY_BACKEND or plugins.conf says which
    blob = ferry.Blob(device, (2, 3))
    blob.fill(3)                                 # on the device
    print(blob.data)                             # an array of NumPy's over ferry's own memory

    weights = ferry.open("lenet.caffemodel")     # a mapping of arrays
    net = ferry.Net(device, "lenet.prototxt", "lenet.caffemodel")
    scores = net.forward(data=digits)["prob"]
    ferry.save("scores.npz", {"prob": scores})

    ferry.export_onnx(net, "lenet.onnx")

    solver = ferry.Solver(device, "lenet_solver.prototxt")
    solver.step(100)

Errors are exceptions, all of them ferry.Error. Python's global lock is released in every call of ferry, so
that other threads run while a device works. Objects may be closed in any order, or left to Python."""

from ._blob import Blob, from_array, from_dlpack
from ._errors import (AbiMismatch, Busy, ConfigurationError, DeviceError, Error, Forked,
                      InvalidArgument, IOFailed, Lost, MalformedFile, NeverWritten, NoDevice,
                      NotPermitted, OutOfMemory, Overflow, PluginError, ShapeMismatch, Unsupported)
from ._files import Entry, File, open, save  # pylint: disable=redefined-builtin
from ._library import lib as _lib
from ._native import get_include
from ._net import Net
from ._onnx import export_onnx
from ._runtime import Candidate, Device, Properties, Runtime, Stats
from ._solver import Event, Score, Solver
from ._version import VERSION as __version__

#: The version of the library that is running.
library_version = _lib.ferry_version().decode()

__all__ = ["AbiMismatch", "Blob", "Busy", "Candidate", "ConfigurationError", "Device", "DeviceError",
           "Entry", "Error", "Event", "File", "Forked", "IOFailed", "InvalidArgument", "Lost",
           "MalformedFile", "Net", "NeverWritten", "NoDevice", "NotPermitted", "OutOfMemory", "Overflow",
           "PluginError", "Properties", "Runtime", "Score", "ShapeMismatch", "Solver", "Stats",
           "Unsupported", "export_onnx", "from_array", "from_dlpack", "get_include",
           "library_version", "open", "save"]
