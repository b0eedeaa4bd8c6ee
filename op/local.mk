# SPDX-License-Identifier: BSD-2-Clause
# Operations: tiers and composition. The lowest room of libferrynet.

noinst_LTLIBRARIES += %D%/libferryopobjs.la

%C%_libferryopobjs_la_SOURCES = \
	%D%/chain.c \
	%D%/chain.h \
	%D%/check.c \
	%D%/check_backward.c \
	%D%/check_kinds.c \
	%D%/check_window.c \
	%D%/compose.c \
	%D%/compose.h \
	%D%/compose_backward.c \
	%D%/compose_conv.c \
	%D%/compose_narrow.c \
	%D%/host.c \
	%D%/host.h \
	%D%/kind.h \
	%D%/operand.c \
	%D%/operand.h \
	%D%/operation.c \
	%D%/operation.h \
	%D%/packed.c \
	%D%/packed.h \
	%D%/places.c \
	%D%/places.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/repeat.c \
	%D%/repeat.h \
	%D%/run.c \
	%D%/run.h \
	%D%/origin.c \
	%D%/origin.h \
	%D%/submission.c \
	%D%/submission.h \
	%D%/target.c \
	%D%/target.h \
	%D%/unary.c \
	%D%/unary.h \
	%D%/workspace.c \
	%D%/workspace.h
%C%_libferryopobjs_la_CPPFLAGS = $(NET_CPPFLAGS)
%C%_libferryopobjs_la_CFLAGS = $(NET_CFLAGS)
%C%_libferryopobjs_la_LIBADD = kernels/libkernelhost.la

EXTRA_DIST += %D%/README.md
