# SPDX-License-Identifier: BSD-2-Clause
# Faults of the sim plugin's operations, for `ferry check`, and mends of nets taken back, for random
# nets: minutes each.

# MUTANTS: more arguments of ops.py and nets.py, as --only pool.k.
check-mutants-ops: all
	@$(AM_TESTS_ENVIRONMENT) CC='$(CC)' $(PYTHON) '$(srcdir)/%D%/ops.py' '$(srcdir)' %D%/ops $(MUTANTS)
check-mutants-nets: all
	@. '$(srcdir)/tests/scripts/lib.sh'; CC='$(CC)' PYTHONDONTWRITEBYTECODE=1 \
	    "$$(PYTHON='$(PYTHON)' python_with numpy)" '$(srcdir)/%D%/nets.py' '$(srcdir)' %D%/nets $(MUTANTS)
clean-local: clean-mutants
clean-mutants:
	rm -rf %D%/ops %D%/nets
.PHONY: check-mutants-ops check-mutants-nets clean-mutants
EXTRA_DIST += %D%/README.md %D%/nets.list %D%/nets.py %D%/ops.list %D%/ops.py
