# SPDX-License-Identifier: BSD-2-Clause
# libferry: shapes, replicas, devices, and the loader. It names no backend.
#
# One folder a room, low to high: base conf load plugin device math coherence blob runtime. A new file
# goes into the lowest room that knows all it needs, and its includes go down only: rooms.list in
# tests/scripts has the order. The README.md of each room describes it and names the file to read first.

# The default order in which backends are tried, and those that are used only if a program asks for
# them by name. The sources of the core name no backend.
DEFAULT_ORDER = cuda,opencl,cpu
ONLY_BY_NAME = sim

lib_LTLIBRARIES += libferry.la
noinst_LTLIBRARIES += %D%/libferrycore.la

EXTRA_DIST += \
	%D%/base/README.md \
	%D%/blob/README.md \
	%D%/coherence/README.md \
	%D%/conf/README.md \
	%D%/device/README.md \
	%D%/load/README.md \
	%D%/math/README.md \
	%D%/plugin/README.md \
	%D%/runtime/README.md \
	%D%/validate/README.md

# The objects on their own, so that a unit test can link them and reach what is hidden.
%C%_libferrycore_la_SOURCES = \
	common/half.h \
	common/hash.h \
	common/rounding.h \
	common/status.h \
	%D%/base/dtype.c \
	%D%/base/dtype.h \
	%D%/base/env.c \
	%D%/base/env.h \
	%D%/base/fresh.c \
	%D%/base/fresh.h \
	%D%/base/log.c \
	%D%/base/log.h \
	%D%/base/os_posix.c \
	%D%/base/os_posix.h \
	%D%/base/permit.c \
	%D%/base/permit.h \
	%D%/base/place.c \
	%D%/base/place.h \
	%D%/base/status.c \
	%D%/base/status.h \
	%D%/base/text.c \
	%D%/base/text.h \
	%D%/blob/at_once.h \
	%D%/blob/blob.c \
	%D%/blob/blob.h \
	%D%/blob/blob_access.c \
	%D%/blob/blob_math.c \
	%D%/blob/blob_share.c \
	%D%/blob/shape.c \
	%D%/blob/shape.h \
	%D%/coherence/coherence.c \
	%D%/coherence/coherence.h \
	%D%/coherence/enter.c \
	%D%/coherence/enter.h \
	%D%/coherence/evict.c \
	%D%/coherence/idle.c \
	%D%/coherence/idle.h \
	%D%/coherence/lost.c \
	%D%/coherence/lost.h \
	%D%/coherence/memory.c \
	%D%/coherence/memory.h \
	%D%/coherence/memory_blob.c \
	%D%/coherence/record.c \
	%D%/coherence/replica.c \
	%D%/coherence/replica.h \
	%D%/coherence/state.h \
	%D%/coherence/transfer.c \
	%D%/coherence/transfer.h \
	%D%/coherence/uses.c \
	%D%/coherence/uses.h \
	%D%/conf/choice.c \
	%D%/conf/choice.h \
	%D%/conf/conf.c \
	%D%/conf/conf.h \
	%D%/conf/conf_file.c \
	%D%/conf/conf_file.h \
	%D%/device/at_exit.c \
	%D%/device/at_exit.h \
	%D%/device/device.c \
	%D%/device/device.h \
	%D%/device/device_list.c \
	%D%/device/device_list.h \
	%D%/device/device_open.c \
	%D%/device/device_open.h \
	%D%/device/pool.c \
	%D%/device/pool.h \
	%D%/device/pool_calls.c \
	%D%/device/lent.c \
	%D%/device/lent.h \
	%D%/device/profile.c \
	%D%/device/profile.h \
	%D%/device/queue.c \
	%D%/device/queue.h \
	%D%/device/queue_calls.c \
	%D%/device/section.c \
	%D%/device/section.h \
	%D%/device/trace.c \
	%D%/device/trace.h \
	%D%/device/trace_file.c \
	%D%/device/trace_file.h \
	%D%/device/trace_lanes.c \
	%D%/device/trace_lanes.h \
	%D%/device/unified_probe.c \
	%D%/device/unified_probe.h \
	%D%/load/elf_dynamic.c \
	%D%/load/elf_dynamic.h \
	%D%/load/elf_file.c \
	%D%/load/elf_file.h \
	%D%/load/elf_paths.c \
	%D%/load/elf_paths.h \
	%D%/load/examine.c \
	%D%/load/examine.h \
	%D%/load/isa.c \
	%D%/load/isa.h \
	%D%/load/loader.c \
	%D%/load/loader.h \
	%D%/load/load.c \
	%D%/load/loader_posix.c \
	%D%/load/loader_posix.h \
	%D%/load/note.c \
	%D%/load/note.h \
	%D%/math/hostblock.c \
	%D%/math/hostblock.h \
	%D%/math/hostmath.c \
	%D%/math/hostmath.h \
	%D%/math/math.c \
	%D%/math/mathcall.c \
	%D%/math/mathcall.h \
	%D%/math/matrix.c \
	%D%/math/reduce.c \
	%D%/plugin/host.c \
	%D%/plugin/host.h \
	%D%/plugin/options.c \
	%D%/plugin/options.h \
	%D%/plugin/plugin.h \
	%D%/plugin/plugin_table.c \
	%D%/plugin/plugin_table.h \
	%D%/plugin/registry.c \
	%D%/plugin/registry.h \
	%D%/runtime/plugin_probe.c \
	%D%/runtime/plugin_probe.h \
	%D%/runtime/report.c \
	%D%/runtime/runtime.c \
	%D%/runtime/runtime.h \
	%D%/runtime/select.c \
	%D%/validate/access.c \
	%D%/validate/arithmetic.c \
	%D%/validate/bytes.c \
	%D%/validate/operation.c \
	%D%/validate/order.c \
	%D%/validate/overlap.c \
	%D%/validate/profile.c \
	%D%/validate/track.c \
	%D%/validate/track.h \
	%D%/validate/unwritten.c \
	%D%/validate/validate.c \
	%D%/validate/validate.h \
	%D%/validate/work.c
%C%_libferrycore_la_CPPFLAGS = -I$(top_builddir) -I$(top_srcdir) $(PUBLIC_CPPFLAGS) \
	-DFERRY_PLUGINDIR='"$(RUN_PLUGINDIR)"' -DFERRY_SYSTEM_CONF='"$(RUN_CONF)"' \
	-DFERRY_DEFAULT_ORDER='"$(DEFAULT_ORDER)"' -DFERRY_ONLY_BY_NAME='"$(ONLY_BY_NAME)"'
%C%_libferrycore_la_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden $(INIH_CFLAGS)
%C%_libferrycore_la_LIBADD = $(INIH_LIBS) $(CORE_SYSTEM_LIBS)

libferry_la_SOURCES =
libferry_la_LIBADD = %D%/libferrycore.la
libferry_la_LDFLAGS = -version-info 1:0:1 -no-undefined $(Z_DEFS) $(Z_NODELETE) \
	$(VERSION_FLAGS)
EXTRA_libferry_la_DEPENDENCIES = $(VERSION_MAP)
EXTRA_DIST += %D%/ferry.map
