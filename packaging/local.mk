# SPDX-License-Identifier: BSD-2-Clause
# For other build systems and packages: files of CMake, a wheel for Python.

cmakedir = $(libdir)/cmake/ferry
nodist_cmake_DATA = %D%/cmake/ferry-config.cmake %D%/cmake/ferry-config-version.cmake
CLEANFILES += $(nodist_cmake_DATA)
EXTRA_DIST += %D%/cmake/ferry-config.cmake.in %D%/cmake/ferry-config-version.cmake.in
$(nodist_cmake_DATA): %D%/local.mk Makefile
	@$(MKDIR_P) %D%/cmake
	$(AM_V_GEN)relative=`realpath -m --relative-to='$(cmakedir)' '$(includedir)'` && \
	    sources=`realpath -m --relative-to='$(cmakedir)' '$(pkgdatadir)'` && $(SED) \
	    -e "s|@relative_includedir[@]|$$relative|" -e "s|@relative_sourcedir[@]|$$sources|" \
	    -e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|' \
	    '$(srcdir)/$@.in' >$@-new && mv -f $@-new $@
%D%/cmake/ferry-config.cmake: %D%/cmake/ferry-config.cmake.in
%D%/cmake/ferry-config-version.cmake: %D%/cmake/ferry-config-version.cmake.in

# Builds apart, in wheel-build, with Zig, patchelf and static libraries (packaging/wheel/build.sh); the wheel is in dist.
# WHEEL_ARCH=aarch64 builds it for that machine, by a cross compiler. WHEEL_CUDA=yes adds the wheel of the plugin cuda.
WHEEL_FOLDER = dist
WHEEL_ARCH = $$(uname -m)
WHEEL_CUDA = no
WHEELS = ferry_caffe-$$(echo '$(PACKAGE_VERSION)' | $(SED) 's/~//')-*
CUDA_WHEELS = ferry_caffe_cuda*-$$(echo '$(PACKAGE_VERSION)' | $(SED) 's/~//')-*.whl
generated-sources: $(BUILT_SOURCES)
wheel:
	@$(MKDIR_P) wheel-build/$(WHEEL_ARCH) '$(WHEEL_FOLDER)'
	out=`cd '$(WHEEL_FOLDER)' && pwd` && arch=$(WHEEL_ARCH) && cd "wheel-build/$$arch" && \
	    CC='$(CC)' STRIP='$(STRIP)' WHEEL_ARCH="$$arch" WHEEL_CUDA='$(WHEEL_CUDA)' \
	    $(SHELL) '$(abs_top_srcdir)/packaging/wheel/build.sh' '$(abs_top_srcdir)' "$$out"

check-wheel: wheel $(check_PROGRAMS)
	wheel=`ls -t $(abs_builddir)/dist/$(WHEELS)_$(WHEEL_ARCH).whl | head -n 1` && cuda= && if test '$(WHEEL_CUDA)' = yes; then \
	    cuda=`ls -t $(abs_builddir)/dist/$(CUDA_WHEELS) | head -n 1`; fi && \
	    FERRY_TEST_WHEEL=$$wheel FERRY_TEST_CUDA_WHEEL=$$cuda $(MAKE) $(AM_MAKEFLAGS) one T=tests/scripts/check-wheel.sh

# The tarball, the SBOM and the sums, in release/ (packaging/release.sh); wheels if RELEASE_WHEEL=yes, Debian's packages
# if RELEASE_DEBS=yes. The wheel for aarch64 is one of them if there is a cross compiler.
RELEASE_FOLDER = release
RELEASE_WHEEL = no
RELEASE_DEBS = no
OTHER_WHEEL = $$(test "$$(uname -m)" = aarch64 || ! command -v aarch64-linux-gnu-gcc >/dev/null || echo aarch64)
release:
	wheel= && if test '$(RELEASE_WHEEL)' = yes; then $(MAKE) $(AM_MAKEFLAGS) wheel && \
	    wheel=`ls -t $(WHEEL_FOLDER)/$(WHEELS)_$(WHEEL_ARCH).whl | head -n 1` && \
	    for arch in $(OTHER_WHEEL); do $(MAKE) $(AM_MAKEFLAGS) wheel WHEEL_ARCH=$$arch WHEEL_CUDA=no && \
	    wheel="$$wheel `ls -t $(WHEEL_FOLDER)/$(WHEELS)_$$arch.whl | head -n 1`" || exit 1; done; fi && \
	    if test '$(RELEASE_WHEEL)$(WHEEL_CUDA)' = yesyes; then \
	    wheel="$$wheel `ls -t $(WHEEL_FOLDER)/$(CUDA_WHEELS) | head -n 1`"; fi && \
	    MAKE='$(MAKE)' RELEASE_DEBS='$(RELEASE_DEBS)' $(SHELL) '$(srcdir)/%D%/release.sh' '$(abs_top_srcdir)' '$(PACKAGE_VERSION)' \
	    '$(RELEASE_FOLDER)' $$wheel

clean-local: clean-wheel
clean-wheel:
	rm -rf wheel-build dist release

.PHONY: release wheel check-wheel clean-wheel generated-sources
EXTRA_DIST += \
	%D%/apt.sh \
	%D%/check-debs.sh \
	%D%/check-release.sh \
	%D%/debs.sh \
	%D%/release.sh \
	%D%/sbom.py \
	%D%/wheel/assemble.py \
	%D%/wheel/build.sh \
	%D%/wheel/cc.sh \
	%D%/wheel/glibc.c \
	%D%/wheel/streams.c \
	%D%/wheel/sysroot.sh

# Debian's packages, from the tarball that `make release` left (packaging/debs.sh).
debs:
	$(SHELL) '$(srcdir)/%D%/debs.sh' '$(RELEASE_FOLDER)/ferry-$(VERSION).tar.gz' '$(RELEASE_FOLDER)'

# Everything that `make release` makes, twice, by different users in different folders: the same bytes. It takes many minutes.
check-release: release
	$(SHELL) '$(srcdir)/%D%/check-release.sh' '$(RELEASE_FOLDER)/ferry-$(VERSION).tar.gz'

# The packages of `make debs`, checked by lintian and in a root of their own; as root (packaging/check-debs.sh).
check-debs:
	$(SHELL) '$(srcdir)/%D%/check-debs.sh' '$(RELEASE_FOLDER)'
.PHONY: debs check-debs check-release
EXTRA_DIST += \
	debian/changelog \
	debian/control \
	debian/copyright \
	debian/ferry-common.install \
	debian/ferry-doc.install \
	debian/ferry-plugin-cpu.install \
	debian/ferry-plugin-cuda.install \
	debian/ferry-plugin-opencl.install \
	debian/ferry-plugin-sim.install \
	debian/ferry-tools.install \
	debian/ferry-triton.install \
	debian/libferry-dev.install \
	debian/libferry0.install \
	debian/libferry0.symbols \
	debian/libferryio1.install \
	debian/libferryio1.symbols \
	debian/libferrykernels0.install \
	debian/libferrykernels0.symbols \
	debian/libferrympi0.install \
	debian/libferrympi0.symbols \
	debian/libferrynet0.install \
	debian/libferrynet0.symbols \
	debian/rules \
	debian/source/format \
	debian/source/lintian-overrides \
	debian/tests/cmake \
	debian/tests/control \
	debian/tests/plugins \
	debian/tests/readme-c \
	debian/tests/readme-python
