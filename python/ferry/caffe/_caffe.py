# SPDX-License-Identifier: BSD-2-Clause
"""The names of pycaffe's extension module: its classes, and its lists of blobs, layers, names and numbers."""

from ._blob import Blob, BlobVec
from ._layer import Layer, layer_type_list
from ._net import Net
from ._solver import (NCCL, AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver,
                      SGDSolver, Solver, get_solver)
from ._state import (has_nccl, init_log, log, set_device, set_mode_cpu, set_mode_gpu, set_multiprocess,
                     set_random_seed, set_solver_count, set_solver_rank, solver_count, solver_rank)
from ._timer import Timer
from ._vectors import BoolVec, DtypeVec, IntVec, LayerVec, NetVec, StringVec

# The version of Caffe with this interface.
__version__ = "1.0.0"

__all__ = ["AdaDeltaSolver", "AdaGradSolver", "AdamSolver", "Blob", "BlobVec", "BoolVec", "DtypeVec", "IntVec",
           "Layer", "LayerVec", "NCCL", "NesterovSolver", "Net", "NetVec", "RMSPropSolver", "SGDSolver", "Solver",
           "StringVec", "Timer", "get_solver", "has_nccl", "init_log", "layer_type_list", "log", "set_device",
           "set_mode_cpu", "set_mode_gpu", "set_multiprocess", "set_random_seed", "set_solver_count",
           "set_solver_rank", "solver_count", "solver_rank"]
