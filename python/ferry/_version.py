# SPDX-License-Identifier: BSD-2-Clause
"""The version of this package, which is that of the headers that it was written for."""

VERSION = "1.0.0rc1"
