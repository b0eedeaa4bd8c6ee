# SPDX-License-Identifier: BSD-2-Clause
# The OpenCL plugin: any driver that the ICD loader finds, and CLBlast.

if BUILD_OPENCL
plugin_LTLIBRARIES += backends/ferry_opencl.la
backends_ferry_opencl_la_SOURCES = \
	%D%/arith.c \
	%D%/blas.c \
	%D%/cache.c \
	%D%/cache.h \
	%D%/command_buffer.c \
	%D%/context.c \
	%D%/device.c \
	%D%/element.c \
	%D%/errors.c \
	%D%/event.c \
	%D%/hostmem.c \
	%D%/icd.c \
	%D%/integer.c \
	%D%/integer.h \
	%D%/integer_args.h \
	%D%/kernels.c \
	%D%/list.c \
	%D%/memory.c \
	%D%/opencl.h \
	%D%/operation.c \
	%D%/options.c \
	%D%/platform.c \
	%D%/plugin.c \
	%D%/profile.c \
	%D%/queue.c
if RELOCATABLE
backends_ferry_opencl_la_SOURCES += %D%/loader.c
endif
nodist_backends_ferry_opencl_la_SOURCES = %D%/integer.cl.h %D%/kernels.cl.h
backends_ferry_opencl_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir) -I$(top_builddir)/%D% $(OPENCL_CFLAGS) \
	$(CLBLAST_CFLAGS)
backends_ferry_opencl_la_CFLAGS = $(PLUGIN_CFLAGS)
backends_ferry_opencl_la_LDFLAGS = $(PLUGIN_LINK_FLAGS)
backends_ferry_opencl_la_LIBADD = kernels/libkerneltexts.la $(CLBLAST_LIBS) $(OPENCL_LOADER) -ldl -lpthread -lm

if RELOCATABLE
OPENCL_LOADER =
else
OPENCL_LOADER = $(OPENCL_LIBS)
endif

# The kernels' source as C strings, one per line.
BUILT_SOURCES += %D%/integer.cl.h %D%/kernels.cl.h
CLEANFILES += %D%/integer.cl.h %D%/kernels.cl.h
$(backends_ferry_opencl_la_OBJECTS): %D%/integer.cl.h %D%/kernels.cl.h
INTEGER_TEXTS = $(srcdir)/kernels/types.h $(srcdir)/%D%/integer_args.h $(srcdir)/%D%/integer.cl
%D%/integer.cl.h: $(INTEGER_TEXTS)
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(SED) -e '/^#include "/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n",/' $(INTEGER_TEXTS) >$@
%D%/kernels.cl.h: $(srcdir)/%D%/kernels.cl
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(SED) -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n",/' $(srcdir)/%D%/kernels.cl >$@
endif

# Caches of compiled programs that PoCL and the plugin wrote for the tests, the benchmarks and the
# demo (RUN_ENV).
clean-local: clean-pocl-cache
clean-pocl-cache:
	rm -rf pocl-cache kernel-cache

.PHONY: clean-pocl-cache
EXTRA_DIST += %D%/integer.cl %D%/kernels.cl %D%/loader.c

EXTRA_DIST += %D%/README.md
