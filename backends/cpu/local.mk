# SPDX-License-Identifier: BSD-2-Clause
# The CPU plugin: device memory is host memory, arithmetic is OpenBLAS.

if BUILD_CPU
plugin_LTLIBRARIES += backends/ferry_cpu.la
backends_ferry_cpu_la_SOURCES =
backends_ferry_cpu_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
backends_ferry_cpu_la_CFLAGS = $(PLUGIN_CFLAGS) $(OPENBLAS_CFLAGS)
backends_ferry_cpu_la_LDFLAGS = $(PLUGIN_LINK_FLAGS)
backends_ferry_cpu_la_LIBADD = $(OPENBLAS_LIBS) -lpthread -lm
endif
