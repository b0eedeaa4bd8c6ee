# SPDX-License-Identifier: BSD-2-Clause
# Random programs of the public interface beside an oracle; `make check-random` takes ten minutes.

RANDOM_TESTS = %D%/test-random
check_PROGRAMS += $(RANDOM_TESTS)

%C%_test_random_SOURCES = \
	%D%/access.c \
	%D%/act.c \
	%D%/adopt.c \
	%D%/clock.c \
	%D%/kernels.c \
	%D%/main.c \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/program.c \
	%D%/random.h \
	%D%/shapes.c \
	%D%/shrink.c \
	%D%/sums.c \
	%D%/threads.c \
	%D%/worlds.c
# What the library exports, and the simulated device's levers.
%C%_test_random_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir)
%C%_test_random_LDADD = libferry.la $(CORE_SYSTEM_LIBS)

check-random: $(RANDOM_TESTS) all
	$(RUN_ENV); $(RANDOM_TESTS) --seconds 600

.PHONY: check-random
