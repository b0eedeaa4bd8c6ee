# SPDX-License-Identifier: BSD-2-Clause
# The reference of operations, for `ferry check` and the tests.

noinst_LTLIBRARIES += %D%/libreference.la
%C%_libreference_la_SOURCES = \
	%D%/backward.c \
	%D%/element.c \
	%D%/image.c \
	%D%/reference.h \
	%D%/state.c \
	%D%/table.c \
	%D%/unary.c \
	%D%/view.c \
	%D%/window.c
%C%_libreference_la_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir) -iquote $(top_srcdir)/tests/unit
%C%_libreference_la_CFLAGS = $(STD_CFLAGS)

EXTRA_DIST += %D%/README.md
