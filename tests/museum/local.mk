# SPDX-License-Identifier: BSD-2-Clause
# Plugins as earlier headers made them (README.md).

TESTS += %D%/check-museum.sh

EXTRA_DIST += \
	%D%/1.0/ferry_acme.so \
	%D%/1.1/ferry_acme.so \
	%D%/1.2/ferry_acme.so \
	%D%/README.md \
	%D%/build.sh \
	%D%/check-museum.sh \
	%D%/sums.txt

check-museum:
	$(MAKE) $(AM_MAKEFLAGS) one T=%D%/check-museum.sh
.PHONY: check-museum
