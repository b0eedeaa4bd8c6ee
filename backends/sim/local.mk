# SPDX-License-Identifier: BSD-2-Clause
# The sim plugin: a discrete accelerator in software.

if BUILD_SIM
plugin_LTLIBRARIES += backends/ferry_sim.la
backends_ferry_sim_la_SOURCES = \
	%D%/arena.c \
	%D%/clock.c \
	%D%/control.c \
	%D%/control.h \
	%D%/copy.c \
	%D%/device.c \
	%D%/element.c \
	%D%/event.c \
	%D%/fault.c \
	%D%/graph.c \
	%D%/handles.c \
	%D%/hostmem.c \
	%D%/hostrange.c \
	%D%/list.c \
	%D%/math.c \
	%D%/memory.c \
	%D%/operation.c \
	%D%/ops.c \
	%D%/options.c \
	%D%/path.c \
	%D%/place.c \
	%D%/profile.c \
	%D%/queue.c \
	%D%/run.c \
	%D%/section.c \
	%D%/shared.c \
	%D%/sim.c \
	%D%/sim.h \
	%D%/worker.c
backends_ferry_sim_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir)
backends_ferry_sim_la_CFLAGS = $(PLUGIN_CFLAGS)
backends_ferry_sim_la_LDFLAGS = $(PLUGIN_LINK_FLAGS)
backends_ferry_sim_la_LIBADD = kernels/libkernelhost.la -lpthread -lm
endif

EXTRA_DIST += %D%/README.md
