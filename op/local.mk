# SPDX-License-Identifier: BSD-2-Clause
# Operations: tiers, composition, the oracle. The lowest room of libferrynet.

noinst_LTLIBRARIES += %D%/libferryopobjs.la

%C%_libferryopobjs_la_SOURCES = \
	%D%/check.c \
	%D%/check_backward.c \
	%D%/check_kinds.c \
	%D%/check_window.c \
	%D%/compose.c \
	%D%/compose.h \
	%D%/compose_backward.c \
	%D%/compose_conv.c \
	%D%/compose_half.c \
	%D%/element.c \
	%D%/element.h \
	%D%/kind.h \
	%D%/operand.c \
	%D%/operand.h \
	%D%/operation.c \
	%D%/operation.h \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/oracle_backward.c \
	%D%/oracle_backward_window.c \
	%D%/oracle_image.c \
	%D%/oracle_kinds.c \
	%D%/oracle_parts.h \
	%D%/oracle_update.c \
	%D%/oracle_window.c \
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
	%D%/segment.c \
	%D%/segment.h \
	%D%/target.c \
	%D%/target.h \
	%D%/unary.c \
	%D%/unary.h \
	%D%/workspace.c \
	%D%/workspace.h
%C%_libferryopobjs_la_CPPFLAGS = $(NET_CPPFLAGS)
%C%_libferryopobjs_la_CFLAGS = $(NET_CFLAGS)

EXTRA_DIST += %D%/README.md
