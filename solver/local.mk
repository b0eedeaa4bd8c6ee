# SPDX-License-Identifier: BSD-2-Clause
# Solvers, the highest room of libferrynet.

noinst_LTLIBRARIES += %D%/libferrysolverobjs.la

%C%_libferrysolverobjs_la_SOURCES = \
	%D%/exact.c \
	%D%/nets.c \
	%D%/open.c \
	%D%/paths.c \
	%D%/rate.c \
	%D%/restore.c \
	%D%/score.c \
	%D%/settings.c \
	%D%/snapshot.c \
	%D%/state.h \
	%D%/step.c \
	%D%/team.c \
	%D%/update.c
%C%_libferrysolverobjs_la_CPPFLAGS = $(NET_CPPFLAGS)
%C%_libferrysolverobjs_la_CFLAGS = $(NET_CFLAGS)

EXTRA_DIST += %D%/README.md
