# SPDX-License-Identifier: BSD-2-Clause
# The installed headers. tests/scripts/check-headers.sh compiles each of them alone.

ferryincludedir = $(includedir)/ferry
ferryinclude_HEADERS = \
	%D%/blob.h \
	%D%/descriptor.h \
	%D%/device.h \
	%D%/ferry.h \
	%D%/image.h \
	%D%/io.h \
	%D%/layer.h \
	%D%/math.h \
	%D%/memory.h \
	%D%/net.h \
	%D%/op.h \
	%D%/op_plugin.h \
	%D%/op_types.h \
	%D%/plugin.h \
	%D%/plugin_types.h \
	%D%/proto.h \
	%D%/queue.h \
	%D%/runtime.h \
	%D%/solver.h \
	%D%/status.h \
	%D%/types.h \
	%D%/version.h
