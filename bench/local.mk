# SPDX-License-Identifier: BSD-2-Clause
# Measurements, never part of `make check`. `make bench` builds what it needs and runs it.

BENCHES =
EXTRA_PROGRAMS += $(BENCHES)
CLEANFILES += $(BENCHES)

bench: all $(BENCHES)
	@$(RUN_ENV); set -e; for program in $(BENCHES); do ./$$program; done

.PHONY: bench
