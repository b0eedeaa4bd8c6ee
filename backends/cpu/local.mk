# SPDX-License-Identifier: BSD-2-Clause
# The CPU plugin: device memory is host memory, matrices are OpenBLAS's, the rest its own loops.

if BUILD_CPU
plugin_LTLIBRARIES += backends/ferry_cpu.la
backends_ferry_cpu_la_SOURCES = \
	%D%/blas1.c \
	%D%/convert.c \
	%D%/cpu.h \
	%D%/error.c \
	%D%/gemm.c \
	%D%/kernels.c \
	%D%/kernels.h \
	%D%/kernels_impl.h \
	%D%/memory.c \
	%D%/plugin.c \
	%D%/workers.c \
	%D%/workers.h
backends_ferry_cpu_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
backends_ferry_cpu_la_CFLAGS = $(PLUGIN_CFLAGS) $(OPENBLAS_CFLAGS)
backends_ferry_cpu_la_LDFLAGS = $(PLUGIN_LINK_FLAGS)
backends_ferry_cpu_la_LIBADD = $(OPENBLAS_LIBS) -lpthread
endif
