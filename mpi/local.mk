# SPDX-License-Identifier: BSD-2-Clause
# libferrympi: collective operations on blobs. Includes public headers and those of MPI only.

EXTRA_DIST += %D%/README.md

if HAVE_MPI
lib_LTLIBRARIES += libferrympi.la
pkgconfig_DATA += ferrympi.pc
ferryinclude_HEADERS += include/ferry/mpi.h
dist_man_MANS += man/ferry_mpi.3

libferrympi_la_SOURCES = \
	%D%/begin.c \
	%D%/cuda.c \
	%D%/ends.c \
	%D%/errors.c \
	%D%/notes.c \
	%D%/open.c \
	%D%/progress.c \
	%D%/start.c \
	%D%/state.h \
	%D%/team.c
libferrympi_la_CPPFLAGS = -I$(top_srcdir) $(PUBLIC_CPPFLAGS)
libferrympi_la_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden $(MPI_CFLAGS)
libferrympi_la_LIBADD = libferry.la $(MPI_LIBS) $(CORE_SYSTEM_LIBS)
libferrympi_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(Z_DEFS) $(VERSION_FLAGS)
EXTRA_libferrympi_la_DEPENDENCIES = $(VERSION_MAP)
endif
