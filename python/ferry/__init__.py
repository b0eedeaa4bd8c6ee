# SPDX-License-Identifier: BSD-2-Clause
"""Blobs that are kept coherent over any number of devices, files of blobs, and nets.

    import ferry

    device = ferry.Runtime().device()            # selected by FERRY_BACKEND or plugins.conf
    blob = ferry.Blob(device, (2, 3))
    blob.fill(3)                                 # on the device
    print(blob.data)                             # a NumPy array over ferry's own memory

    weights = ferry.open("lenet.caffemodel")     # a mapping of arrays
    net = ferry.Net(device, "lenet.prototxt", "lenet.caffemodel")
    scores = net.forward(data=digits)["prob"]
    ferry.save("scores.npz", {"prob": scores})

    ferry.export_onnx(net, "lenet.onnx")

    solver = ferry.Solver(device, "lenet_solver.prototxt")
    solver.step(100)

Errors are exceptions of ferry.Error or a subclass. Every call of ferry releases Python's global lock, so
other threads run while a device works. Objects may be closed in any order, or left to the garbage collector."""

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

#: The version of the loaded library.
library_version = _lib.ferry_version().decode()

__all__ = ["AbiMismatch", "Blob", "Busy", "Candidate", "ConfigurationError", "Device", "DeviceError",
           "Entry", "Error", "Event", "File", "Forked", "IOFailed", "InvalidArgument", "Lost",
           "MalformedFile", "Net", "NeverWritten", "NoDevice", "NotPermitted", "OutOfMemory", "Overflow",
           "PluginError", "Properties", "Runtime", "Score", "ShapeMismatch", "Solver", "Stats",
           "Unsupported", "export_onnx", "from_array", "from_dlpack", "get_include",
           "library_version", "open", "save"]
