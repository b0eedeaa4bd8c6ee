# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite, which `ferry check` runs.

noinst_LTLIBRARIES += %D%/libferryconform.la
%C%_libferryconform_la_SOURCES = \
	%D%/busy.c \
	%D%/calls.c \
	%D%/coherence.c \
	%D%/conform.h \
	%D%/convert.c \
	%D%/copy.c \
	%D%/counts.c \
	%D%/descriptor.c \
	%D%/early.c \
	%D%/elf.c \
	%D%/elf.h \
	%D%/exit.c \
	%D%/failure.c \
	%D%/far.c \
	%D%/forked.c \
	%D%/graph.c \
	%D%/growth.c \
	%D%/hammer.c \
	%D%/kit.c \
	%D%/kit.h \
	%D%/large.c \
	%D%/leaks.c \
	%D%/manners.c \
	%D%/matrix.c \
	%D%/memory.c \
	%D%/mirror.c \
	%D%/numbers.c \
	%D%/op.c \
	%D%/op.h \
	%D%/op_block.c \
	%D%/op_convert.c \
	%D%/op_large.c \
	%D%/op_others.c \
	%D%/op_passes.c \
	%D%/op_random.c \
	%D%/op_reuse.c \
	%D%/op_run.c \
	%D%/op_steps.c \
	%D%/op_trials.c \
	%D%/op_try.c \
	%D%/op_values.c \
	%D%/op_whole.c \
	%D%/options.c \
	%D%/own.c \
	%D%/owns.c \
	%D%/peer.c \
	%D%/queues.c \
	%D%/profile.c \
	%D%/reduce.c \
	%D%/run.c \
	%D%/scratch.c \
	%D%/share.c \
	%D%/steps.c \
	%D%/threads.c \
	%D%/through.c \
	%D%/through.h \
	%D%/vector.c \
	tests/unit/arith.c \
	tests/unit/arith.h
%C%_libferryconform_la_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir) -iquote $(top_srcdir)/tests/unit
%C%_libferryconform_la_CFLAGS = $(STD_CFLAGS)
%C%_libferryconform_la_LIBADD = tests/reference/libreference.la $(CORE_SYSTEM_LIBS) -lm

EXTRA_DIST += %D%/README.md
