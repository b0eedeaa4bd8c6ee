# SPDX-License-Identifier: BSD-2-Clause
"""The names that scripts import from caffe.pycaffe: those of the package."""

from ._net import Net
from ._solver import NCCL, AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver
from ._timer import Timer

__all__ = ["AdaDeltaSolver", "AdaGradSolver", "AdamSolver", "NCCL", "NesterovSolver", "Net", "RMSPropSolver",
           "SGDSolver", "Timer"]
