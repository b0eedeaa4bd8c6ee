# SPDX-License-Identifier: BSD-2-Clause
# libferry: shapes, replicas, devices, and the loader. It names no backend.

# The order in which backends are tried when nobody says one, and those that nobody gets who did
# not ask for them by name. The core itself knows no names.
DEFAULT_ORDER = cuda,opencl,cpu
ONLY_BY_NAME = sim

lib_LTLIBRARIES += libferry.la
noinst_LTLIBRARIES += %D%/libferrycore.la

# The objects on their own, so that a unit test can link them and reach what is hidden.
%C%_libferrycore_la_SOURCES = \
	%D%/blob.c \
	%D%/blob.h \
	%D%/blob_math.c \
	%D%/blob_share.c \
	%D%/choice.c \
	%D%/choice.h \
	%D%/coherence.c \
	%D%/coherence.h \
	%D%/conf.c \
	%D%/conf.h \
	%D%/conf_file.c \
	%D%/conf_file.h \
	%D%/device.c \
	%D%/device.h \
	%D%/elf_file.c \
	%D%/elf_file.h \
	%D%/env.c \
	%D%/env.h \
	%D%/evict.c \
	%D%/evict.h \
	%D%/fallback.c \
	%D%/fallback.h \
	%D%/fresh.c \
	%D%/fresh.h \
	%D%/half.h \
	%D%/host.c \
	%D%/host.h \
	%D%/hostblock.c \
	%D%/hostblock.h \
	%D%/hostmath.c \
	%D%/hostmath.h \
	%D%/isa.c \
	%D%/isa.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/loader.c \
	%D%/loader.h \
	%D%/loader_posix.c \
	%D%/loader_posix.h \
	%D%/log.c \
	%D%/log.h \
	%D%/math.c \
	%D%/mathcall.c \
	%D%/mathcall.h \
	%D%/matrix.c \
	%D%/memory.c \
	%D%/memory.h \
	%D%/memory_blob.c \
	%D%/note.c \
	%D%/note.h \
	%D%/options.c \
	%D%/options.h \
	%D%/pending.c \
	%D%/pending.h \
	%D%/permit.c \
	%D%/permit.h \
	%D%/pool.c \
	%D%/pool.h \
	%D%/probe.c \
	%D%/probe.h \
	%D%/queue.c \
	%D%/queue.h \
	%D%/reduce.c \
	%D%/registry.c \
	%D%/registry.h \
	%D%/replica.c \
	%D%/replica.h \
	%D%/report.c \
	%D%/request.c \
	%D%/request.h \
	%D%/runtime.c \
	%D%/runtime.h \
	%D%/select.c \
	%D%/shape.c \
	%D%/shape.h \
	%D%/sharers.c \
	%D%/sharers.h \
	%D%/status.c \
	%D%/status.h \
	%D%/text.c \
	%D%/text.h \
	%D%/trace.c \
	%D%/trace.h \
	%D%/transfer.c \
	%D%/transfer.h \
	%D%/trial.c \
	%D%/trial.h
%C%_libferrycore_la_CPPFLAGS = -I$(top_builddir) $(PUBLIC_CPPFLAGS) \
	-DFERRY_PLUGINDIR='"$(plugindir)"' -DFERRY_SYSCONFDIR='"$(sysconfdir)"' \
	-DFERRY_DEFAULT_ORDER='"$(DEFAULT_ORDER)"' -DFERRY_ONLY_BY_NAME='"$(ONLY_BY_NAME)"'
%C%_libferrycore_la_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden $(INIH_CFLAGS)
%C%_libferrycore_la_LIBADD = $(INIH_LIBS) $(CORE_SYSTEM_LIBS)

libferry_la_SOURCES =
libferry_la_LIBADD = %D%/libferrycore.la
libferry_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(Z_DEFS)
