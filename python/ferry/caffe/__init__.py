# SPDX-License-Identifier: BSD-2-Clause
"""pycaffe's interface over ferry: scripts that say `import caffe` run unchanged.

    python -m ferry.caffe script.py arguments…

or, in a program, `import ferry.caffe as caffe`; after ferry.caffe.alias() `import caffe`, `from caffe.proto
import caffe_pb2` and the like refer to this package, in this process.

Net, the solvers, Classifier, Detector, Layer (layers in Python), io, draw, net_spec (layers, params,
NetSpec), proto.caffe_pb2 (which needs Python's protobuf, as net_spec and draw do). The device is the one of
FERRY_BACKEND, if that is set. Otherwise set_mode_cpu selects the CPU, and set_mode_gpu, or no call, the
device that ferry selects.

A file alone runs no code and writes no file: allow_python_layers() allows layers in Python (alias() and
python -m ferry.caffe include it), allow_write(folder) allows HDF5Output to write there.

Differences from pycaffe: an error is an exception with ferry's message and never ends the process; a process
has one solver, so that train.py uses one device."""

import importlib
import importlib.machinery
import sys

from . import _caffe, io, pycaffe
from ._blob import Blob
from ._caffe import __version__
from ._layer import Layer, layer_type_list
from ._net import TEST, TRAIN, Net
from ._solver import (NCCL, AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver,
                      Solver, get_solver)
from ._state import (allow_python_layers, allow_write, has_nccl, init_log, log, set_device, set_mode_cpu, set_mode_gpu, set_multiprocess,
                     set_random_seed, set_solver_count, set_solver_rank, solver_count, solver_rank)
from ._timer import Timer
from .classifier import Classifier
from .detector import Detector

__all__ = ["AdaDeltaSolver", "AdaGradSolver", "AdamSolver", "Blob", "Classifier", "Detector", "Layer",
           "NCCL", "NesterovSolver", "Net", "RMSPropSolver", "SGDSolver", "Solver", "TEST", "TRAIN", "Timer",
           "alias", "allow_python_layers", "allow_write", "get_solver", "has_nccl", "init_log", "io", "layer_type_list", "log", "set_device",
           "set_mode_cpu", "set_mode_gpu", "set_multiprocess", "set_random_seed", "set_solver_count",
           "set_solver_rank", "solver_count", "solver_rank"]

# Modules that need protobuf are imported when a script requests them.
_LATER = {"proto": "proto", "draw": "draw", "net_spec": "net_spec", "coord_map": "coord_map"}
_OF_NET_SPEC = ("layers", "params", "NetSpec", "to_proto")


def __getattr__(name):
    if name in _LATER:
        found = importlib.import_module("." + name, __name__)
        if name == "proto":
            importlib.import_module(".proto.caffe_pb2", __name__)
        return found
    if name in _OF_NET_SPEC:
        return getattr(importlib.import_module(".net_spec", __name__), name)
    raise AttributeError(f"module 'caffe' has no {name!r}")


class _Finder:
    """Finds `caffe` and its modules in this package."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):
        if name != "caffe" and not name.startswith("caffe."):
            return None
        return importlib.machinery.ModuleSpec(name, _Finder, is_package=True)

    @staticmethod
    def create_module(spec):
        return importlib.import_module(__name__ + spec.name[len("caffe"):])

    @staticmethod
    def exec_module(_module):
        """Does nothing: the module is loaded already."""


def alias():
    """Makes `import caffe` refer to this package, for the rest of the process, and allows layers in Python,
    since such scripts define them."""
    allow_python_layers()
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
