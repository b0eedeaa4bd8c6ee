# SPDX-License-Identifier: BSD-2-Clause
"""The version of this package: that of the headers that it was written for."""

VERSION = "0.2.0"
