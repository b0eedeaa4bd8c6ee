# SPDX-License-Identifier: BSD-2-Clause
# Faults of the sim plugin's operations, which `ferry check` must find, and reverted fixes of nets,
# which random nets must find. Each takes minutes.

# MUTANTS: further arguments of ops.py and nets.py, such as --only pool.k.
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
