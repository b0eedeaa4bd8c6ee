# SPDX-License-Identifier: BSD-2-Clause
# Plugins with one thing wrong with each of them, for the loader's tests.

FAKES = %D%/fakes.stamp
FAKES_FROM = %D%/fake.c %D%/secure.c %D%/build.sh

check_DATA = $(FAKES)
$(FAKES): $(FAKES_FROM)
	$(AM_V_GEN)CC='$(CC)' CFLAGS='$(CFLAGS)' LDFLAGS='$(LDFLAGS)' $(SHELL) \
	    '$(srcdir)/%D%/build.sh' '$(srcdir)/%D%' '$(top_srcdir)/include' %D%/fakes
	@: >$@

clean-local: clean-fakes
clean-fakes:
	rm -rf %D%/fakes $(FAKES)

.PHONY: clean-fakes
EXTRA_DIST += $(FAKES_FROM)
