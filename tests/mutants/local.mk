# SPDX-License-Identifier: BSD-2-Clause
# Faults of the sim plugin's operations, for `ferry check`: minutes.

# MUTANTS: more arguments of ops.py, as --only pool.k.
check-mutants-ops: all
	@$(AM_TESTS_ENVIRONMENT) CC='$(CC)' $(PYTHON) '$(srcdir)/%D%/ops.py' '$(srcdir)' %D%/ops $(MUTANTS)
clean-local: clean-mutants
clean-mutants:
	rm -rf %D%/ops
.PHONY: check-mutants-ops clean-mutants
EXTRA_DIST += %D%/README.md %D%/ops.list %D%/ops.py
