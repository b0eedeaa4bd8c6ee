# SPDX-License-Identifier: BSD-2-Clause
# For other build systems and packages: files of CMake, a wheel for Python.

cmakedir = $(libdir)/cmake/ferry
nodist_cmake_DATA = %D%/cmake/ferry-config.cmake %D%/cmake/ferry-config-version.cmake
CLEANFILES += $(nodist_cmake_DATA)
EXTRA_DIST += %D%/cmake/ferry-config.cmake.in %D%/cmake/ferry-config-version.cmake.in
$(nodist_cmake_DATA): %D%/local.mk Makefile
	@$(MKDIR_P) %D%/cmake
	$(AM_V_GEN)relative=`realpath -m --relative-to='$(cmakedir)' '$(includedir)'` && $(SED) \
	    -e "s|@relative_includedir[@]|$$relative|" -e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|' \
	    '$(srcdir)/$@.in' >$@-new && mv -f $@-new $@
%D%/cmake/ferry-config.cmake: %D%/cmake/ferry-config.cmake.in
%D%/cmake/ferry-config-version.cmake: %D%/cmake/ferry-config-version.cmake.in

# Builds apart, in wheel-build, with Zig, patchelf and static libraries (packaging/wheel/build.sh); the wheel is in dist.
WHEEL_FOLDER = dist
wheel:
	@$(MKDIR_P) wheel-build '$(WHEEL_FOLDER)'
	out=`cd '$(WHEEL_FOLDER)' && pwd` && cd wheel-build && CC='$(CC)' STRIP='$(STRIP)' $(SHELL) \
	    '$(abs_top_srcdir)/packaging/wheel/build.sh' '$(abs_top_srcdir)' "$$out"

check-wheel: wheel $(check_PROGRAMS)
	wheel=`ls -t $(abs_builddir)/dist/ferry_caffe-$(PACKAGE_VERSION)-*.whl | head -n 1` && \
	    FERRY_TEST_WHEEL=$$wheel $(MAKE) $(AM_MAKEFLAGS) one T=tests/scripts/check-wheel.sh

# The tarball, a wheel if RELEASE_WHEEL=yes, the SBOM and the sums, in release/ (packaging/release.sh).
RELEASE_FOLDER = release
RELEASE_WHEEL = no
release:
	wheel= && if test '$(RELEASE_WHEEL)' = yes; then $(MAKE) $(AM_MAKEFLAGS) wheel && \
	    wheel=`ls -t $(WHEEL_FOLDER)/ferry_caffe-$(PACKAGE_VERSION)-*.whl | head -n 1`; fi && \
	    MAKE='$(MAKE)' $(SHELL) '$(srcdir)/%D%/release.sh' '$(abs_top_srcdir)' '$(PACKAGE_VERSION)' \
	    '$(RELEASE_FOLDER)' $$wheel

clean-local: clean-wheel
clean-wheel:
	rm -rf wheel-build dist release

.PHONY: release wheel check-wheel clean-wheel
EXTRA_DIST += \
	%D%/release.sh \
	%D%/sbom.py \
	%D%/wheel/assemble.py \
	%D%/wheel/build.sh \
	%D%/wheel/cc.sh \
	%D%/wheel/glibc.c \
	%D%/wheel/streams.c
