# SPDX-License-Identifier: BSD-2-Clause
"""pycaffe's state of the process: the mode, the device, the seed."""

import os
import threading
import warnings

from .._errors import NoDevice, Unsupported
from .._library import lib
from .._abi import LOG_INFO
from .._runtime import Runtime

_lock = threading.Lock()
_runtime = None
_found = {}  # devices, by mode and number
_mode = None  # "cpu", "gpu"; None: not set
_number = 0
seed = 0
python_layers = False  # whether a net may have layers in Python
writes_to = None  # the folder below which layers may write


def runtime():
    """The runtime of this module, opened at first use."""
    global _runtime  # pylint: disable=global-statement
    with _lock:
        if _runtime is None:
            _runtime = Runtime()
        return _runtime


def _on_gpu(number):
    """Device `number` of the plugin that ferry selects; the CPU, with a warning, if there is no other device."""
    selected = runtime().device()
    plugin = selected.properties.plugin
    if plugin == "cpu" and not os.environ.get("FERRY_BACKEND"):
        warnings.warn("set_mode_gpu: ferry finds no GPU: nets run on the CPU", RuntimeWarning,
                      stacklevel=5)
        return selected
    if ":" in os.environ.get("FERRY_BACKEND", "") or not number:
        return selected
    return runtime().device(f"{plugin}:{number}")


def _find(mode, number):
    if mode == "gpu":
        return _on_gpu(number)
    # FERRY_BACKEND has precedence over the script: an unchanged script runs on that device.
    if mode == "cpu" and not os.environ.get("FERRY_BACKEND"):
        return runtime().device("cpu")
    return runtime().device()


def device():
    """The device of the mode that was set; by default the device that ferry selects."""
    key = (_mode, _number)
    if key not in _found:
        _found[key] = _find(*key)
    return _found[key]


def set_mode_cpu():
    """Selects the CPU for later passes, unless FERRY_BACKEND is set."""
    global _mode  # pylint: disable=global-statement
    _mode = "cpu"


def set_mode_gpu():
    """Selects ferry's device for later passes, with a warning if that is the CPU."""
    global _mode  # pylint: disable=global-statement
    _mode = "gpu"
    device()


def set_device(number):
    """Sets the number of the GPU among the selected plugin's devices."""
    global _number  # pylint: disable=global-statement
    if number < 0:
        raise NoDevice(f"set_device: no device has the number {number}")
    _number = number


def set_random_seed(value):
    """Sets the seed of nets that are opened later. Solvers have their seeds in their texts."""
    global seed  # pylint: disable=global-statement
    seed = value


def log(line):
    """Writes a line to ferry's log."""
    lib.ferry_log_write(LOG_INFO, b"%s", str(line).encode())


def init_log(*_):
    """Has no effect: FERRY_LOG sets the level of the log."""


# A process has one solver; mpirun starts several processes.

def solver_count():
    """Always 1."""
    return 1


def solver_rank():
    """Always 0."""
    return 0


def set_solver_count(count):
    """Accepts 1; Unsupported for any other number."""
    if count != 1:
        raise Unsupported("set_solver_count: a process has one solver; several are started by mpirun")


def set_solver_rank(rank):
    """Accepts 0; Unsupported for any other number."""
    if rank != 0:
        raise Unsupported("set_solver_rank: a process has one solver; several are started by mpirun")


def set_multiprocess(_):
    """Always true: each solver has a process of its own."""


def has_nccl():
    """Always false."""
    return False


def allow_python_layers(allowed=True):
    """Allows layers in Python in nets that are opened later. A file with such a layer names a module, which
    is imported and run. Off by default, except in a script that `python -m ferry.caffe` runs and after
    alias(): a file alone never runs Python code."""
    global python_layers  # pylint: disable=global-statement
    python_layers = bool(allowed)


def allow_write(folder):
    """Allows layers of nets that are opened later to write files (HDF5Output) in that folder and below it;
    None, the default, allows it nowhere."""
    global writes_to  # pylint: disable=global-statement
    writes_to = folder
