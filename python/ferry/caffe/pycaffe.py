# SPDX-License-Identifier: BSD-2-Clause
"""What scripts take from caffe.pycaffe: the same as from the package."""

from ._net import Net
from ._solver import NCCL, AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver
from ._timer import Timer

__all__ = ["AdaDeltaSolver", "AdaGradSolver", "AdamSolver", "NCCL", "NesterovSolver", "Net", "RMSPropSolver",
           "SGDSolver", "Timer"]
