# SPDX-License-Identifier: BSD-2-Clause
# The installed headers. tests/scripts/check-headers.sh compiles each of them alone.

ferryincludedir = $(includedir)/ferry
ferryinclude_HEADERS = \
	%D%/blob.h \
	%D%/blobproto.h \
	%D%/caffe.hpp \
	%D%/comm.h \
	%D%/descriptor.h \
	%D%/device.h \
	%D%/dlpack.h \
	%D%/ferry.h \
	%D%/image.h \
	%D%/io.h \
	%D%/io_reader.h \
	%D%/io_writer.h \
	%D%/layer.h \
	%D%/math.h \
	%D%/memory.h \
	%D%/net.h \
	%D%/op.h \
	%D%/op_params.h \
	%D%/op_plugin.h \
	%D%/op_types.h \
	%D%/plugin.h \
	%D%/plugin_names.h \
	%D%/plugin_types.h \
	%D%/proto.h \
	%D%/queue.h \
	%D%/runtime.h \
	%D%/solver.h \
	%D%/status.h \
	%D%/types.h \
	%D%/version.h

# Caffe's own names for C++: below compat, so that its path alone makes <caffe/caffe.hpp> be these.
compatdir = $(ferryincludedir)/compat/caffe
compat_HEADERS = \
	%D%/compat/caffe/blob.hpp \
	%D%/compat/caffe/caffe.hpp \
	%D%/compat/caffe/common.hpp \
	%D%/compat/caffe/layer.hpp \
	%D%/compat/caffe/logging.hpp \
	%D%/compat/caffe/net.hpp \
	%D%/compat/caffe/syncedmem.hpp
compatprotodir = $(compatdir)/proto
compatproto_HEADERS = %D%/compat/caffe/proto/caffe.pb.h
compatutildir = $(compatdir)/util
compatutil_HEADERS = %D%/compat/caffe/util/io.hpp
