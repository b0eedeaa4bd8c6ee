# SPDX-License-Identifier: BSD-2-Clause
# The CUDA plugin. It links the runtime, which loads on any machine and says that there is no
# driver; cuBLAS it loads itself, once there is one.

if BUILD_CUDA
plugin_LTLIBRARIES += backends/ferry_cuda.la
backends_ferry_cuda_la_SOURCES = \
	%D%/blas.c \
	%D%/blocks.c \
	%D%/copy.c \
	%D%/cuda.h \
	%D%/device.c \
	%D%/driver.c \
	%D%/error.c \
	%D%/fill.c \
	%D%/matrix.c \
	%D%/memory.c \
	%D%/options.c \
	%D%/plugin.c \
	%D%/process.c \
	%D%/properties.c \
	%D%/queue.c \
	%D%/reduce.c \
	%D%/vector.c
backends_ferry_cuda_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(CUDA_CPPFLAGS)
backends_ferry_cuda_la_CFLAGS = $(PLUGIN_CFLAGS)
backends_ferry_cuda_la_LDFLAGS = $(PLUGIN_LINK_FLAGS) $(CUDA_LDFLAGS)
backends_ferry_cuda_la_LIBADD = -lcudart -lpthread $(CORE_SYSTEM_LIBS)
endif
