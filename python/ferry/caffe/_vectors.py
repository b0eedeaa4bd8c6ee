# SPDX-License-Identifier: BSD-2-Clause
"""Lists with the names that pycaffe's extension uses for C++'s vectors."""


class BoolVec(list):
    """Truth values."""


class DtypeVec(list):
    """Floating-point numbers."""


class IntVec(list):
    """Numbers of blobs, from 0."""


class LayerVec(list):
    """Layers."""


class NetVec(list):
    """Nets."""


class StringVec(list):
    """Names."""
