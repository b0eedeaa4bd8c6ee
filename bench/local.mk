# SPDX-License-Identifier: BSD-2-Clause
# Measurements, never part of `make check`. `make bench` builds what it needs and runs it;
# BENCH_FLAGS=--json gives rows for a program, and a suite's name runs that one alone.

BENCHES =
EXTRA_LTLIBRARIES =

if BUILD_CPU
BENCHES += %D%/ferry-bench

# The reference is a call into another shared object: as far away as libferry is.
EXTRA_LTLIBRARIES += %D%/libbenchref.la
%C%_libbenchref_la_SOURCES = %D%/ref.c
%C%_libbenchref_la_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_libbenchref_la_LDFLAGS = -rpath /nowhere -avoid-version

BENCH_CHILDREN = %D%/child-ferry %D%/child-openblas
EXTRA_PROGRAMS += $(BENCH_CHILDREN)

%C%_ferry_bench_SOURCES = \
	%D%/bench-blob.c \
	%D%/bench-math.c \
	%D%/bench-process.c \
	%D%/bench.c \
	%D%/bench.h
%C%_ferry_bench_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_ferry_bench_CFLAGS = $(STD_CFLAGS) $(OPENBLAS_CFLAGS)
%C%_ferry_bench_LDADD = %D%/libbenchref.la libferry.la $(OPENBLAS_LIBS) $(CORE_SYSTEM_LIBS)
%C%_ferry_bench_LDFLAGS = -no-install

%C%_child_ferry_SOURCES = %D%/child-ferry.c
%C%_child_ferry_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_child_ferry_LDADD = libferry.la
%C%_child_ferry_LDFLAGS = -no-install

%C%_child_openblas_SOURCES = %D%/child-openblas.c
%C%_child_openblas_CPPFLAGS =
%C%_child_openblas_LDADD = $(CORE_SYSTEM_LIBS)
%C%_child_openblas_LDFLAGS =
endif

EXTRA_PROGRAMS += $(BENCHES)
CLEANFILES += $(BENCHES) $(BENCH_CHILDREN) $(EXTRA_LTLIBRARIES)

bench: all $(BENCHES) $(BENCH_CHILDREN)
	@$(RUN_ENV); set -e; for program in $(BENCHES); do ./$$program $(BENCH_FLAGS); done

.PHONY: bench
