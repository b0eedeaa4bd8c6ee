# SPDX-License-Identifier: BSD-2-Clause
# Plugins with one error each: for the loader's tests, and for `ferry check`.

FAKES = %D%/fakes.stamp
FAKES_FROM = %D%/beside.c %D%/fake.c %D%/secure.c %D%/short.c %D%/build.sh

check_DATA = $(FAKES)
$(FAKES): $(FAKES_FROM)
	$(AM_V_GEN)CC='$(CC)' CFLAGS='$(TEST_CFLAGS) $(CFLAGS)' LDFLAGS='$(LDFLAGS)' $(SHELL) \
	    '$(srcdir)/%D%/build.sh' '$(srcdir)/%D%' '$(top_srcdir)/include' %D%/fakes
	@: >$@

BAD = %D%/bad.stamp
BAD_FROM = \
	%D%/build-bad.sh \
	%D%/good.h \
	%D%/good-ops.h \
	%D%/bad-alignment.c \
	%D%/bad-axpy.c \
	%D%/bad-binding.c \
	%D%/bad-bool.c \
	%D%/bad-chunk.c \
	%D%/bad-close.c \
	%D%/bad-convert.c \
	%D%/bad-copy.c \
	%D%/bad-counters.c \
	%D%/bad-counts-events.c \
	%D%/bad-counts.c \
	%D%/bad-crash.c \
	%D%/bad-crumbs.c \
	%D%/bad-denormals.c \
	%D%/bad-drop-axpy.c \
	%D%/bad-drop-count.c \
	%D%/bad-drop-gemm.c \
	%D%/bad-drop-map.c \
	%D%/bad-drop-op.c \
	%D%/bad-drop-open.c \
	%D%/bad-drop-queue.c \
	%D%/bad-drop-refused.c \
	%D%/bad-drop-unmap.c \
	%D%/bad-early.c \
	%D%/bad-early-memory.c \
	%D%/bad-early-threads.c \
	%D%/bad-error.c \
	%D%/bad-event.c \
	%D%/bad-events.c \
	%D%/bad-exit-crash.c \
	%D%/bad-exit-stderr.c \
	%D%/bad-exit.c \
	%D%/bad-flush.c \
	%D%/bad-habits.c \
	%D%/bad-hang.c \
	%D%/bad-kept.c \
	%D%/bad-leak.c \
	%D%/bad-manners.c \
	%D%/bad-map.c \
	%D%/bad-memset.c \
	%D%/bad-memset24.c \
	%D%/bad-needed.c \
	%D%/bad-null.c \
	%D%/bad-offset24.c \
	%D%/bad-offset32.c \
	%D%/bad-op-add.c \
	%D%/bad-op-again.c \
	%D%/bad-op-convert.c \
	%D%/bad-op-copy.c \
	%D%/bad-op-gap.c \
	%D%/bad-op-pass.c \
	%D%/bad-op-query.c \
	%D%/bad-op-resize.c \
	%D%/bad-op-roi.c \
	%D%/bad-op-scalars.c \
	%D%/bad-options.c \
	%D%/bad-outlive.c \
	%D%/bad-outside.c \
	%D%/bad-owns.c \
	%D%/bad-process.c \
	%D%/bad-query-third.c \
	%D%/bad-query.c \
	%D%/bad-queues.c \
	%D%/bad-rounding.c \
	%D%/bad-signals.c \
	%D%/bad-stderr.c \
	%D%/bad-submit.c \
	%D%/bad-synchronize.c \
	%D%/bad-threads.c \
	%D%/bad-wait-default.c \
	%D%/bad-wait-none.c \
	%D%/bad-wait.c \
	%D%/bad-zero.c \
	%D%/good-async.c \
	%D%/good-fast.c \
	%D%/good-library.c \
	%D%/good-near.c \
	%D%/good-ops.c \
	%D%/good-scratch.c \
	%D%/good-sync.c

check_DATA += $(BAD)
$(BAD): $(BAD_FROM)
	$(AM_V_GEN)CC='$(CC)' CFLAGS='$(TEST_CFLAGS) $(CFLAGS)' LDFLAGS='$(LDFLAGS)' $(SHELL) \
	    '$(srcdir)/%D%/build-bad.sh' '$(srcdir)/%D%' '$(top_srcdir)/include' %D%/bad
	@: >$@

EVEX = %D%/evex.stamp
AMX = %D%/amx.stamp
ISA_FROM = %D%/amx-model.h %D%/amx.c %D%/build-isa.sh %D%/evex.c
if BUILD_CPU
check_DATA += $(EVEX) $(AMX)
$(EVEX) $(AMX): $(ISA_FROM) backends/ferry_cpu.la
	$(AM_V_GEN)CC='$(CC)' CFLAGS='$(OPT_CFLAGS) $(AVXVNNI_CPPFLAGS) $(AMX_CPPFLAGS) $(CFLAGS)' \
	    LDFLAGS='$(LDFLAGS)' LIBS='$(CORE_SYSTEM_LIBS) -lm' $(SHELL) '$(srcdir)/%D%/build-isa.sh' \
	    '$(top_srcdir)' $(@:.stamp=) $(backends_ferry_cpu_la_OBJECTS)
	@: >$@
endif

clean-local: clean-fakes
clean-fakes:
	rm -rf %D%/fakes $(FAKES) %D%/bad $(BAD) %D%/evex $(EVEX) %D%/amx $(AMX)

.PHONY: clean-fakes
EXTRA_DIST += $(FAKES_FROM) $(BAD_FROM) $(ISA_FROM)
