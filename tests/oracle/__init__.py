# SPDX-License-Identifier: BSD-2-Clause
"""An interpreter of Caffe nets in float64, written from the definition of each layer; see
README.md."""

# each module registers its types
from . import detection, layers_dense, layers_ferry, layers_neuron, layers_norm  # noqa: F401
from . import layers_shape, layers_window, loss, recurrent  # noqa: F401
from .fill import fill
from .graph import Net
from .layer import TYPES
from .solver import Solver
from .text import Message, NetError, Unsupported, parse

__all__ = ['Message', 'Net', 'NetError', 'Solver', 'TYPES', 'Unsupported', 'fill', 'parse']
