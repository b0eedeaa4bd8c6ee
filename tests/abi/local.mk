# SPDX-License-Identifier: BSD-2-Clause
# The interfaces between binaries; check-abi.sh lists the checks.

TESTS += %D%/check-abi.sh

EXTRA_DIST += \
	%D%/1.0/ferry/descriptor.h \
	%D%/1.0/ferry/plugin.h \
	%D%/1.0/ferry/status.h \
	%D%/1.0/ferry/types.h \
	%D%/1.1/ferry/descriptor.h \
	%D%/1.1/ferry/op_params.h \
	%D%/1.1/ferry/op_plugin.h \
	%D%/1.1/ferry/op_types.h \
	%D%/1.1/ferry/plugin.h \
	%D%/1.1/ferry/plugin_types.h \
	%D%/1.1/ferry/status.h \
	%D%/1.1/ferry/types.h \
	%D%/check-abi.sh \
	%D%/headers.sh \
	%D%/libferry.abi \
	%D%/libferryio.abi \
	%D%/libferrykernels.abi \
	%D%/libferrympi.abi \
	%D%/libferrynet.abi \
	%D%/offsets.c \
	%D%/plugin.abi \
	%D%/suppress.ini

# Writes the dumps that check-abi.sh compares with; run at each release, and after a change of an
# unreleased interface. Needs abidw (Debian: abigail-tools), gcc and -g.
ABIDW = abidw --exported-interfaces-only --drop-undefined-syms --no-show-locs --no-comp-dir-path \
	--no-corpus-path --no-elf-needed
abi-dump: all
	$(ABIDW) .libs/libferry.so >'$(srcdir)/%D%/libferry.abi'
	$(ABIDW) .libs/libferryio.so >'$(srcdir)/%D%/libferryio.abi'
	$(ABIDW) .libs/libferrykernels.so >'$(srcdir)/%D%/libferrykernels.abi'
	$(ABIDW) .libs/libferrynet.so >'$(srcdir)/%D%/libferrynet.abi'
	test ! -f .libs/libferrympi.so || \
	    $(ABIDW) .libs/libferrympi.so >'$(srcdir)/%D%/libferrympi.abi'
	$(ABIDW) backends/.libs/ferry_sim.so >'$(srcdir)/%D%/plugin.abi'

.PHONY: abi-dump
