# SPDX-License-Identifier: BSD-2-Clause
# Plugins as earlier headers made them (README.md).

TESTS += %D%/check-museum.sh

EXTRA_DIST += \
	%D%/1.0/ferry_acme.so \
	%D%/1.1/ferry_acme.so \
	%D%/1.2/ferry_acme.so \
	%D%/README.md \
	%D%/build.sh \
	%D%/check-older.sh \
	%D%/check-museum.sh \
	%D%/sums.txt

# Then the template of this tree, in earlier versions of ferry, which are built once: minutes.
check-museum:
	$(MAKE) $(AM_MAKEFLAGS) one T=%D%/check-museum.sh
	$(MAKE) $(AM_MAKEFLAGS) one T=%D%/check-older.sh
clean-local: clean-museum
clean-museum:
	chmod -R u+w %D%/ferry-* 2>/dev/null || :
	rm -rf %D%/ferry-*
.PHONY: check-museum clean-museum
