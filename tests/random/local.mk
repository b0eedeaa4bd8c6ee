# SPDX-License-Identifier: BSD-2-Clause
# Random programs of the public interface compared with an oracle, all short sequences, and random
# nets; `make check` runs them for seconds, `make check-random` for ten minutes and more.

RANDOM_TESTS = %D%/test-random
WALK_TEST = tests/coherence/test-walk
SOAK_TEST = tests/unit/test-soak
check_PROGRAMS += $(RANDOM_TESTS) $(WALK_TEST)
TESTS += $(RANDOM_TESTS) $(WALK_TEST)

# The oracle and the steps, which the walk of all short sequences uses as well.
RANDOM_STEPS = \
	%D%/access.c \
	%D%/act.c \
	%D%/adopt.c \
	%D%/clock.c \
	%D%/elements.c \
	%D%/kernels.c \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/random.h \
	%D%/run.c \
	%D%/shapes.c \
	%D%/sums.c \
	%D%/threads.c \
	%D%/worlds.c

%C%_test_random_SOURCES = \
	%D%/main.c \
	%D%/program.c \
	%D%/shrink.c \
	$(RANDOM_STEPS)
# The exported symbols of the library, and the control table of the simulated device.
%C%_test_random_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir)
%C%_test_random_LDADD = libferry.la $(CORE_SYSTEM_LIBS)

tests_coherence_test_walk_SOURCES = tests/coherence/test-walk.c $(RANDOM_STEPS)
tests_coherence_test_walk_CPPFLAGS = $(%C%_test_random_CPPFLAGS)
tests_coherence_test_walk_LDADD = $(%C%_test_random_LDADD)

# Random nets, planned and fused, compared with unplanned ones.
if HAVE_CUNIT
NETS_TEST = %D%/test-random-nets
check_PROGRAMS += $(NETS_TEST)
TESTS += $(NETS_TEST)
%C%_test_random_nets_SOURCES = \
	%D%/nets-layers.c \
	%D%/nets-make.c \
	%D%/nets-train.c \
	%D%/nets.h \
	%D%/test-random-nets.c
%C%_test_random_nets_LDADD = $(NET_LIBS)
endif

# Random operations and their backward passes.
RANDOM_OPS = tests/unit/test-op-random tests/unit/test-op-backward

check-random: $(RANDOM_TESTS) $(WALK_TEST) $(SOAK_TEST) $(RANDOM_OPS) $(NETS_TEST) all
	$(RUN_ENV); $(WALK_TEST) --more && $(RANDOM_TESTS) --seconds 600 && \
	FERRY_TEST_OPS=1000000 $(SOAK_TEST)
	$(RUN_ENV); FERRY_TEST_OPS=2000; export FERRY_TEST_OPS; \
	for t in $(RANDOM_OPS); do ./$$t || exit 1; done
	$(RUN_ENV); for t in $(NETS_TEST); do ./$$t --seconds 60 || exit 1; done

# Random nets compared with the oracle of tests/oracle, in Python: check-random-nets.sh runs them
# for a minute, this target for ten, with all devices that were built.
check-oracle: $(check_DATA) all
	$(TEST_ENV) FERRY_TEST_SECONDS=600 \
	    $(SHELL) '$(srcdir)/tests/scripts/check-random-nets.sh'

EXTRA_DIST += \
	%D%/nets/__main__.py \
	%D%/nets/compare.py \
	%D%/nets/devices.py \
	%D%/nets/draw.py \
	%D%/nets/draw_solver.py \
	%D%/nets/ferry_side.py \
	%D%/nets/generate.py \
	%D%/nets/kinds_loss.py \
	%D%/nets/kinds_other.py \
	%D%/nets/kinds_pairs.py \
	%D%/nets/kinds_ferry.py \
	%D%/nets/kinds_shape.py \
	%D%/nets/kinds_unary.py \
	%D%/nets/kinds_window.py \
	%D%/nets/model.py \
	%D%/nets/runner.py \
	%D%/nets/shrink.py \
	%D%/nets/solvers.py \
	%D%/nets/truth.py \
	%D%/nets/values.py \
	%D%/nets/cases

.PHONY: check-oracle check-random
