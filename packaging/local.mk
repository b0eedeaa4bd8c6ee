# SPDX-License-Identifier: BSD-2-Clause
# Packages of other systems: a wheel for Python.

# Builds apart, in wheel-build, with Zig, patchelf and static libraries (packaging/wheel/build.sh); the wheel is in dist.
WHEEL_FOLDER = dist
wheel:
	@$(MKDIR_P) wheel-build '$(WHEEL_FOLDER)'
	out=`cd '$(WHEEL_FOLDER)' && pwd` && cd wheel-build && CC='$(CC)' STRIP='$(STRIP)' $(SHELL) \
	    '$(abs_top_srcdir)/packaging/wheel/build.sh' '$(abs_top_srcdir)' "$$out"

check-wheel: wheel $(check_PROGRAMS)
	wheel=`ls -t $(abs_builddir)/dist/ferry_caffe-$(PACKAGE_VERSION)-*.whl | head -n 1` && \
	    FERRY_TEST_WHEEL=$$wheel $(MAKE) $(AM_MAKEFLAGS) one T=tests/scripts/check-wheel.sh

clean-local: clean-wheel
clean-wheel:
	rm -rf wheel-build dist

.PHONY: wheel check-wheel clean-wheel
EXTRA_DIST += \
	%D%/wheel/assemble.py \
	%D%/wheel/build.sh \
	%D%/wheel/cc.sh \
	%D%/wheel/glibc.c \
	%D%/wheel/streams.c
