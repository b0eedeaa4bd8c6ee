# SPDX-License-Identifier: BSD-2-Clause
# libferry: shapes, replicas, devices, and the loader. It names no backend.

lib_LTLIBRARIES += libferry.la
noinst_LTLIBRARIES += %D%/libferrycore.la

# The objects on their own, so that a unit test can link them and reach what is hidden.
%C%_libferrycore_la_SOURCES = \
	%D%/coherence.c \
	%D%/coherence.h \
	%D%/device.c \
	%D%/device.h \
	%D%/env.c \
	%D%/env.h \
	%D%/half.h \
	%D%/evict.c \
	%D%/evict.h \
	%D%/fallback.c \
	%D%/fallback.h \
	%D%/host.c \
	%D%/host.h \
	%D%/hostblock.c \
	%D%/hostblock.h \
	%D%/hostmath.c \
	%D%/hostmath.h \
	%D%/loader_posix.c \
	%D%/loader_posix.h \
	%D%/log.c \
	%D%/log.h \
	%D%/memory.c \
	%D%/memory.h \
	%D%/pending.c \
	%D%/pending.h \
	%D%/pool.c \
	%D%/pool.h \
	%D%/probe.c \
	%D%/probe.h \
	%D%/queue.c \
	%D%/queue.h \
	%D%/registry.c \
	%D%/registry.h \
	%D%/replica.c \
	%D%/replica.h \
	%D%/status.c \
	%D%/status.h \
	%D%/trace.c \
	%D%/trace.h \
	%D%/transfer.c \
	%D%/transfer.h
%C%_libferrycore_la_CPPFLAGS = -I$(top_builddir) $(PUBLIC_CPPFLAGS) \
	-DFERRY_PLUGINDIR='"$(plugindir)"' -DFERRY_SYSCONFDIR='"$(sysconfdir)"'
%C%_libferrycore_la_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden $(INIH_CFLAGS)
%C%_libferrycore_la_LIBADD = $(INIH_LIBS) $(CORE_SYSTEM_LIBS)

libferry_la_SOURCES =
libferry_la_LIBADD = %D%/libferrycore.la
libferry_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(Z_DEFS)
