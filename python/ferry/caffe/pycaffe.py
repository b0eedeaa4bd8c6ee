# SPDX-License-Identifier: BSD-2-Clause
"""What scripts take from caffe.pycaffe: the same as from the package."""

from ._net import Net
from ._solver import AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver

__all__ = ["AdaDeltaSolver", "AdaGradSolver", "AdamSolver", "NesterovSolver", "Net", "RMSPropSolver", "SGDSolver"]
