# SPDX-License-Identifier: BSD-2-Clause
# The executor of PTX: the doubles of the drivers contain it, and test-ptx tests it by itself.

PTX_SOURCES = \
	%D%/access.c \
	%D%/approximate.c \
	%D%/bits.c \
	%D%/check.c \
	%D%/compare.c \
	%D%/convert.c \
	%D%/decode.c \
	%D%/flow.c \
	%D%/half.c \
	%D%/integer.c \
	%D%/matrix.c \
	%D%/memory.c \
	%D%/module.c \
	%D%/opcodes.c \
	%D%/operand.c \
	%D%/parse.c \
	%D%/parse.h \
	%D%/program.h \
	%D%/ptx.h \
	%D%/real.c \
	%D%/real.h \
	%D%/run.c \
	%D%/run.h \
	%D%/text.c \
	%D%/text.h \
	%D%/warp-ops.c

PTX_CASES = \
	%D%/cases/absent-lane.ptx \
	%D%/cases/barrier.ptx \
	%D%/cases/beyond-allocation.ptx \
	%D%/cases/beyond-local.ptx \
	%D%/cases/beyond-shared.ptx \
	%D%/cases/divergent-barrier.ptx \
	%D%/cases/ended-thread.ptx \
	%D%/cases/fences.ptx \
	%D%/cases/indexed-branch.ptx \
	%D%/cases/matrix-lane.ptx \
	%D%/cases/misaligned.ptx \
	%D%/cases/missing-barrier.ptx \
	%D%/cases/no-acquire.ptx \
	%D%/cases/no-release.ptx \
	%D%/cases/plain-counter.ptx \
	%D%/cases/store-after-load.ptx \
	%D%/cases/tickets.ptx \
	%D%/cases/turns.ptx \
	%D%/cases/two-blocks.ptx \
	%D%/cases/unwritten-global.ptx \
	%D%/cases/unwritten-shared.ptx

check_LTLIBRARIES += %D%/libptx.la
%C%_libptx_la_SOURCES = $(PTX_SOURCES)
%C%_libptx_la_CPPFLAGS = -I$(top_srcdir)
%C%_libptx_la_CFLAGS = $(STD_CFLAGS) $(FAST_CFLAGS) -fvisibility=hidden

# Runs every architecture and order, of which `make check` runs one each: minutes.
check-ptx: $(check_PROGRAMS)
	FERRY_TEST_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check TEST_LENGTH= TESTS='tests/scripts/check-ptx.sh'

# Removes each barrier, guard, limit and atomic operation of the kernels in turn: half an hour on
# one processor. MUTANTS: further arguments of mutants.py, such as --only row.k or --rules bound.
check-mutants: all $(check_DATA) tests/unit/test-kernels-ptx
	nvcc -ptx -O3 -lineinfo -diag-suppress 177 -arch=sm_80 -I'$(srcdir)' -o %D%/mutants.ptx \
	    '$(srcdir)/backends/cuda/kernels.cu'
	@$(TEST_ENV) python3 '$(srcdir)/%D%/mutants.py' --rest %D%/mutants.ptx $(MUTANTS)
CLEANFILES += %D%/mutants.ptx

# As above, with the OpenCL plugin on PoCL, or with MUTANTS=--oclgrind in that simulator: an hour.
check-mutants-opencl: all tests/unit/test-op-random
	@$(TEST_ENV) python3 '$(srcdir)/%D%/mutants_opencl.py' $(MUTANTS)

.PHONY: check-ptx check-mutants check-mutants-opencl
EXTRA_DIST += %D%/mutants.list %D%/mutants.py \
	%D%/mutants_opencl.py

EXTRA_DIST += $(PTX_CASES) %D%/README.md
