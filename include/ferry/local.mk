# SPDX-License-Identifier: BSD-2-Clause
# The installed headers. tests/scripts/check-headers.sh compiles each of them alone.

ferryincludedir = $(includedir)/ferry
ferryinclude_HEADERS =
