# SPDX-License-Identifier: BSD-2-Clause
"""Element types: NumPy's, and bfloat16, which NumPy lacks and which has that name here."""

import numpy as np

from ._errors import Unsupported

BFLOAT16 = "bfloat16"

#: Indexed by ferry_dtype, from 0.
NAMES = ("float32", "float64", "float16", BFLOAT16, "int8", "uint8", "int32", "int64", "uint32")
FLOAT32 = NAMES.index("float32")


def number(dtype):
    """The ferry_dtype of a value that NumPy accepts as a dtype, or of "bfloat16"."""
    if isinstance(dtype, str) and dtype == BFLOAT16:
        return NAMES.index(BFLOAT16)
    name = np.dtype(dtype).name
    if name not in NAMES:
        raise Unsupported(f"ferry has no element type {name}")
    return NAMES.index(name)


def of(value):
    """The Python equivalent of a ferry_dtype."""
    return BFLOAT16 if NAMES[value] == BFLOAT16 else np.dtype(NAMES[value])


def numpys(value):
    """The NumPy dtype of a ferry_dtype, if there is one."""
    if NAMES[value] == BFLOAT16:
        raise Unsupported("NumPy has no bfloat16: astype('float32') holds the same values")
    return np.dtype(NAMES[value])


def widened(raw, value, shape):
    """An array of the values in `raw`, a flat array of their bytes; bfloat16 becomes float32, exactly."""
    if NAMES[value] == BFLOAT16:
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return raw.view(NAMES[value]).reshape(shape)
