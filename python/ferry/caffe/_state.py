# SPDX-License-Identifier: BSD-2-Clause
"""What pycaffe keeps for a whole process: the mode, the device, the seed."""

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
_mode = None  # "cpu", "gpu"; None: nothing was said
_number = 0
seed = 0
python_layers = False  # whether a net may have layers in Python
writes_to = None  # the folder in which layers may write


def runtime():
    """The one runtime of this module, opened at first use."""
    global _runtime  # pylint: disable=global-statement
    with _lock:
        if _runtime is None:
            _runtime = Runtime()
        return _runtime


def _on_gpu(number):
    """Device `number` of the plugin that ferry selects; the CPU, with a warning, where there is no other."""
    selected = runtime().device()
    plugin = selected.properties.plugin
    if plugin == "cpu" and not os.environ.get("FERRY_BACKEND"):
        warnings.warn("set_mode_gpu: ferry finds no GPU here: what follows runs on the CPU", RuntimeWarning,
                      stacklevel=5)
        return selected
    if ":" in os.environ.get("FERRY_BACKEND", "") or not number:
        return selected
    return runtime().device(f"{plugin}:{number}")


def _find(mode, number):
    if mode == "gpu":
        return _on_gpu(number)
    # FERRY_BACKEND is its user's last word: an unchanged script runs where it says.
    if mode == "cpu" and not os.environ.get("FERRY_BACKEND"):
        return runtime().device("cpu")
    return runtime().device()


def device():
    """The device of the mode that was set; without one that which ferry selects."""
    key = (_mode, _number)
    if key not in _found:
        _found[key] = _find(*key)
    return _found[key]


def set_mode_cpu():
    """What runs from now on runs on the CPU; where FERRY_BACKEND is set, on that."""
    global _mode  # pylint: disable=global-statement
    _mode = "cpu"


def set_mode_gpu():
    """What runs from now on runs on the device that ferry selects, with a warning if that is the CPU."""
    global _mode  # pylint: disable=global-statement
    _mode = "gpu"
    device()


def set_device(number):
    """Which of the selected plugin's devices a GPU is."""
    global _number  # pylint: disable=global-statement
    if number < 0:
        raise NoDevice(f"set_device: {number} is no device's number")
    _number = number


def set_random_seed(value):
    """The seed of nets that are opened from now on. Solvers have theirs in their texts."""
    global seed  # pylint: disable=global-statement
    seed = value


def log(line):
    """Writes a line to ferry's log."""
    lib.ferry_log_write(LOG_INFO, b"%s", str(line).encode())


def init_log(*_):
    """Nothing is to be done: FERRY_LOG says what is logged."""


# One process is one solver here; several are started by mpirun.

def solver_count():
    """1."""
    return 1


def solver_rank():
    """0."""
    return 0


def set_solver_count(count):
    """1, or Unsupported."""
    if count != 1:
        raise Unsupported("set_solver_count: a process has one solver; several are started by mpirun")


def set_solver_rank(rank):
    """0, or Unsupported."""
    if rank != 0:
        raise Unsupported("set_solver_rank: a process has one solver; several are started by mpirun")


def set_multiprocess(_):
    """Whether each solver has a process of its own: here always."""


def has_nccl():
    """False."""
    return False


def allow_python_layers(allowed=True):
    """Lets nets that are opened from now on have layers in Python, whose modules their files name: such a file
    imports and runs what it says. Off as it begins, but for a script that `python -m ferry.caffe` runs and after
    alias(): a file alone never runs Python code."""
    global python_layers  # pylint: disable=global-statement
    python_layers = bool(allowed)


def allow_write(folder):
    """Lets layers of nets that are opened from now on write files (HDF5Output) in that folder and below it;
    None, as it begins: nowhere."""
    global writes_to  # pylint: disable=global-statement
    writes_to = folder
