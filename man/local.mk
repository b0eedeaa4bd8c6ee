# SPDX-License-Identifier: BSD-2-Clause
# Manual pages.

dist_man_MANS +=
