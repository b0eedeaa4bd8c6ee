# SPDX-License-Identifier: BSD-2-Clause
# The unit tests are listed in programs.list, one per line; programs.mk is made from it.

# configure.ac writes it too, so that it exists before automake reads this file.
$(srcdir)/%D%/programs.mk: %D%/programs.awk %D%/programs.list
	$(AM_V_GEN)$(AWK) -f '$(srcdir)/%D%/programs.awk' '$(srcdir)/%D%' >$@-new && mv -f $@-new $@
include %D%/programs.mk
EXTRA_DIST += %D%/programs.awk %D%/programs.list

# The tests that read files or run the built programs: an incomplete package makes them fail. For
# distcheck, where time matters: `make print-package-tests`.
PACKAGE_TESTS = $(PACKAGE_UNIT_TESTS) $(FUZZ_TESTS) $(SCRIPT_TESTS)

# Tests that read the sources only and need no build.
TEXT_TESTS = \
	%D%/model/check-events.sh \
	%D%/scripts/check-api.sh \
	%D%/scripts/check-columns.sh \
	%D%/scripts/check-descriptors.sh \
	%D%/scripts/check-docs.sh \
	%D%/scripts/check-man.sh \
	%D%/scripts/check-oracle.sh \
	%D%/scripts/check-packed.sh \
	%D%/scripts/check-prose.sh \
	%D%/scripts/check-rooms.sh

SCRIPT_TESTS = \
	%D%/scripts/check-examples.sh \
	%D%/scripts/check-encoding.sh \
	%D%/scripts/check-exports.sh \
	%D%/scripts/check-full-disk.sh \
	%D%/scripts/check-functions.sh \
	%D%/scripts/check-gdb.sh \
	%D%/scripts/check-headers.sh \
	%D%/scripts/check-hip.sh \
	%D%/scripts/check-interop.sh \
	%D%/scripts/check-kinds.sh \
	%D%/scripts/check-mpi-train.sh \
	%D%/scripts/check-mpi.sh \
	%D%/scripts/check-mtcnn.sh \
	%D%/scripts/check-fold.sh \
	%D%/scripts/check-netron.sh \
	%D%/scripts/check-onnx.sh \
	%D%/scripts/check-proto.sh \
	%D%/scripts/check-python.sh \
	%D%/scripts/check-slang.sh \
	%D%/scripts/check-trace.sh \
	%D%/scripts/check-users.sh \
	%D%/scripts/check-wheel.sh

# Each takes minutes and tests about one layer of the library; `make check-long` runs them.
LONG_TESTS = \
	%D%/scripts/check-caffe-names.sh \
	%D%/scripts/check-dnn-names.sh \
	%D%/scripts/check-gpu-run.sh \
	%D%/scripts/check-opencl-accesses.sh \
	%D%/scripts/check-opencl-drivers.sh \
	%D%/scripts/check-ptx.sh \
	%D%/scripts/check-random-nets.sh \
	%D%/scripts/check-site.sh \
	%D%/scripts/check-triton.sh

AM_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir) -I$(top_srcdir)/tests/unit $(CUNIT_CFLAGS)
AM_LDFLAGS = -no-install $(TEST_LDFLAGS)
LDADD = $(UNIT_LIBS)
UNIT_LIBS = %D%/unit/libferrytest.la io/libferryioobjs.la core/libferrycore.la $(CUNIT_LIBS) -lm

# The libraries and flags that programs.list may name. The objects of libferrynet precede those that
# they use.
NET_LIBS = $(NET_ROOMS) $(UNIT_LIBS)
LINK_alone = %D%/unit/libferrytest.la $(CUNIT_LIBS) $(CORE_SYSTEM_LIBS) -lm
LINK_clblast =
LINK_core = $(UNIT_LIBS)
LINK_cpuisa = %D%/unit/libcpuisa.la
LINK_cuda = %D%/unit/libcudadriver.la
LINK_hdf5 = $(HDF5_LIBS)
LINK_image =
LINK_jansson = $(JANSSON_LIBS)
LINK_kernels = kernels/libkernelhost.la
LINK_leveldb = $(LEVELDB_LIBS)
LINK_library = libferrykernels.la
LINK_lmdb = $(LMDB_LIBS)
LINK_net = $(NET_LIBS)
LINK_nvrtc =
LINK_ocldriver = %D%/unit/libopencldriver.la
LINK_opencl = $(OPENCL_LIBS)
LINK_png = $(PNG_LIBS)
LINK_ptx = %D%/ptx/libptx.la
LINK_reference = tests/reference/libreference.la
LINK_rig = %D%/unit/librig.la
LINK_shared = libferrynet.la libferryio.la libferry.la
LINK_sim = %D%/unit/libsimdriver.la
LINK_texts = kernels/libkerneltexts.la
FLAGS_clblast = $(CLBLAST_CFLAGS)
FLAGS_hdf5 = $(HDF5_CFLAGS)
FLAGS_image = $(NET_CPPFLAGS_LIBS)
FLAGS_lmdb = $(LMDB_CFLAGS)
FLAGS_nvrtc = -DNVRTC_PATH='"$(CUDA_LIBDIR)/libnvrtc.so"'
FLAGS_opencl = $(OPENCL_CFLAGS)
FLAGS_png = $(PNG_CFLAGS)

# The linker redirects allocations to the test (tests/unit/oom.c).
OOM_WRAPS = -Wl,--wrap=malloc,--wrap=calloc \
	-Wl,--wrap=realloc,--wrap=strdup,--wrap=strndup,--wrap=vasprintf

# A program that check-proto.py compares with protobuf.
check_PROGRAMS += %D%/unit/proto-tool
ONE_SCRIPTS_RUN = %D%/unit/proto-tool $(RUN_COMMAND)
%C%_unit_proto_tool_LDADD = $(NET_ROOMS) core/libferrycore.la

if HAVE_CUNIT
check_LTLIBRARIES += %D%/unit/libferrytest.la
%C%_unit_libferrytest_la_SOURCES = \
	%D%/unit/arith-convert.c \
	%D%/unit/arith-matrix.c \
	%D%/unit/arith-vector.c \
	%D%/unit/arith.c \
	%D%/unit/arith.h \
	%D%/unit/cuda-double.c \
	%D%/unit/cuda-double.h \
	%D%/unit/fakes.c \
	%D%/unit/fakes.h \
	%D%/unit/ferry-test.c \
	%D%/unit/ferry-test.h \
	%D%/unit/fixture.c \
	%D%/unit/fixture.h \
	%D%/unit/host-options.h \
	%D%/unit/io-build.h \
	%D%/unit/io-zip.h \
	%D%/unit/little.h \
	%D%/unit/plugin-driver.c \
	%D%/unit/plugin-driver.h \
	%D%/unit/proto-text.h \
	%D%/unit/small-net.h \
	%D%/unit/world.c \
	%D%/unit/world.h
%C%_unit_libferrytest_la_CFLAGS = $(STD_CFLAGS)
# Makes operations, and compares what a device computes of them with the reference.
check_LTLIBRARIES += %D%/unit/librig.la
%C%_unit_librig_la_SOURCES = \
	%D%/unit/op-backward.c \
	%D%/unit/op-backward.h \
	%D%/unit/op-make.c \
	%D%/unit/op-make.h \
	%D%/unit/op-results.c \
	%D%/unit/op-results.h \
	%D%/unit/op-rig-operands.c \
	%D%/unit/op-rig.c \
	%D%/unit/op-rig.h
%C%_unit_librig_la_CFLAGS = $(STD_CFLAGS)
%C%_unit_libsimdriver_la_SOURCES = \
	%D%/unit/sim-driver.c \
	%D%/unit/sim-driver.h
check_LTLIBRARIES += %D%/unit/libsimdriver.la
# The choice of an instruction set, whose features the test sets.
%C%_unit_libcpuisa_la_SOURCES = backends/cpu/isa.c backends/cpu/isa.h
%C%_unit_libcpuisa_la_CFLAGS = $(STD_CFLAGS)
check_LTLIBRARIES += %D%/unit/libcpuisa.la
%C%_unit_libcudadriver_la_SOURCES = \
	%D%/unit/cuda-driver.c \
	%D%/unit/cuda-driver.h
check_LTLIBRARIES += %D%/unit/libcudadriver.la
if BUILD_OPENCL
%C%_unit_libopencldriver_la_SOURCES = \
	%D%/unit/opencl-driver.c \
	%D%/unit/opencl-driver.h
%C%_unit_libopencldriver_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
check_LTLIBRARIES += %D%/unit/libopencldriver.la
endif
check_PROGRAMS += $(UNIT_TESTS)
endif
# The scripts are first, since some take long: a processor that waits for the last test is idle.
TESTS += $(SCRIPT_TESTS) $(TEXT_TESTS)
if HAVE_CUNIT
TESTS += $(UNIT_TESTS)
endif

# Makes a program find the files of this build, and ignore the configuration of the machine and the
# user. PoCL, an OpenCL driver, stores compiled kernels in a folder, which must be writable.
RUN_ENV = \
	FERRY_PLUGIN_PATH='$(abs_top_builddir)/backends/.libs'; export FERRY_PLUGIN_PATH; \
	FERRY_CONF='$(abs_top_srcdir)/%D%/data/empty.conf'; export FERRY_CONF; \
	POCL_CACHE_DIR="$${POCL_CACHE_DIR:-$(abs_top_builddir)/pocl-cache}"; export POCL_CACHE_DIR; \
	XDG_CACHE_HOME='$(abs_top_builddir)/kernel-cache'; export XDG_CACHE_HOME; \
	$(MKDIR_P) "$$POCL_CACHE_DIR" "$$XDG_CACHE_HOME"; \
	unset FERRY_BACKEND FERRY_STRICT FERRY_TRACE FERRY_LOG

# The backends of each suite: those that were built, and again with the options that make the memory
# shared instead of discrete, or the reverse, and that select the kernels for a GPU.
TEST_VARIANTS =
if BUILD_CUDA
TEST_VARIANTS += cuda(double)[CUDA_DOUBLE_DEVICES=3,CUDA_DOUBLE_POOLS=0,device_order=pci,cudnn=off,f16=tensor]
TEST_VARIANTS += cuda(double)[CUDA_DOUBLE_UNIFIED=integrated]
endif
if BUILD_OPENCL
TEST_VARIANTS += opencl[zero_copy=off,items=many,f16=on,command_buffers=yes]
endif
if BUILD_SIM
TEST_VARIANTS += sim[unified=on,ops=arithmetic,FERRY_TEST_OPERATIONS=none]
endif

TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = $(TEST_ENV) $(TEST_LENGTH)

# Some versions of AddressSanitizer (gcc 12's among them) guess the size of a plugin's thread-local variables from the
# bytes before them and follow a wrong pointer if they begin just behind a page's start. Without its guess,
# LeakSanitizer still finds them: they are ordinary blocks of malloc.
ASAN_FLAGS = allocator_may_return_null=1:intercept_tls_get_addr=0
TEST_ENV = $(RUN_ENV); \
	FERRY_TEST_BACKENDS='$(TEST_BACKENDS) $(TEST_VARIANTS)'; export FERRY_TEST_BACKENDS; \
	FERRY_TEST_PLUGINS='$(BUILT_BACKENDS)'; export FERRY_TEST_PLUGINS; \
	FERRY_TEST_MPIEXEC='$(MPIEXEC)'; export FERRY_TEST_MPIEXEC; \
	LD_LIBRARY_PATH='$(DOUBLES_PATH)'$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}; \
	export LD_LIBRARY_PATH; \
	FERRY_TEST_SRCDIR='$(abs_top_srcdir)'; export FERRY_TEST_SRCDIR; \
	FERRY_TEST_BUILDDIR='$(abs_top_builddir)'; export FERRY_TEST_BUILDDIR; \
	FERRY_TEST_COMMAND='$(abs_top_builddir)/tests/unit/ferry-command'; export FERRY_TEST_COMMAND; \
	LSAN_OPTIONS="suppressions=$(abs_top_srcdir)/%D%/data/leaks.supp:print_suppressions=0$${LSAN_OPTIONS:+:$$LSAN_OPTIONS}"; \
	export LSAN_OPTIONS; \
	ASAN_OPTIONS="$(ASAN_FLAGS)$${ASAN_OPTIONS:+:$$ASAN_OPTIONS}"; export ASAN_OPTIONS; \
	TSAN_OPTIONS="allocator_may_return_null=1$${TSAN_OPTIONS:+:$$TSAN_OPTIONS}"; export TSAN_OPTIONS; \
	FERRY_TEST_VERSION_SCRIPT='$(VERSION_SCRIPT)'; export FERRY_TEST_VERSION_SCRIPT; \
	CC='$(CC)'; export CC; CFLAGS='$(OPT_CFLAGS) $(CFLAGS)'; export CFLAGS; LDFLAGS='$(LDFLAGS)'; export LDFLAGS; CXX='$(CXX)'; export CXX; NM='$(NM)'; export NM; \
	AWK='$(AWK)'; export AWK;

# `make check` shortens long tests (FERRY_TEST_QUICK: 2, or 1 as in .ci/run) and omits the LONG_TESTS; `make check-long`
# runs both in full, with kernels that PoCL optimizes, which takes it twice as long. Without TEST_LENGTH the
# environment decides.
TEST_LENGTH = FERRY_TEST_QUICK="$${FERRY_TEST_QUICK:-2}"; export FERRY_TEST_QUICK; \
	POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable; export POCL_EXTRA_BUILD_FLAGS;

# Runs one test after a change, in a tree that `make` has built. It builds the out-of-date files
# that the test uses, in this make, because reading the Makefile takes most of a second. It runs the
# test in the environment of `make check`, with its output on the terminal. A script, or a program
# that runs the command, may use everything that `make` builds; other programs only load plugins.
ONE_USES = $(check_DATA) $(plugin_LTLIBRARIES)
one: $(ONE_USES) $(T)
	@case ' $(COMMAND_TESTS) $(T)' in \
	*' ') echo 'usage: make one T=tests/unit/test-NAME [A=CASE]' >&2; exit 2 ;; \
	*.sh) $(MAKE) -s $(AM_MAKEFLAGS) all $(ONE_SCRIPTS_RUN) || exit 1; run='$(SH_LOG_COMPILER) $(srcdir)/$(T)' ;; \
	*' $(T) '*) $(MAKE) -s $(AM_MAKEFLAGS) all $(RUN_COMMAND) || exit 1; run='./$(T)' ;; \
	*) run='./$(T)' ;; \
	esac; \
	$(TEST_ENV) $$run $(A)

# The tests that FERRY_TEST_QUICK shortens.
SHORTENED_TESTS = $(SHORTENED_UNIT_TESTS) $(WALK_TEST) $(RANDOM_TESTS) $(NETS_TEST) \
	%D%/model/check-events.sh %D%/scripts/check-headers.sh %D%/scripts/check-mpi-train.sh \
	%D%/scripts/check-proto.sh %D%/scripts/check-python.sh

# Runs all long tests, or those that LONG names.
LONG = $(LONG_TESTS) $(SHORTENED_TESTS)
check-long:
	$(MAKE) $(AM_MAKEFLAGS) check TEST_LENGTH='unset FERRY_TEST_QUICK POCL_EXTRA_BUILD_FLAGS;' TESTS='$(LONG)'
print-long-tests:
	@echo '$(LONG)'

# Prints the files that `make dist` packs, and the folders that it packs with all their files.
print-packed:
	@for file in $(DISTFILES); do echo "$${file#$(srcdir)/}"; done

check-threads:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(THREAD_TESTS)' check_PROGRAMS='$(THREAD_TESTS)'

# Runs all comparisons of training with Caffe; needs FERRY_TEST_DATA.
check-training: $(check_PROGRAMS)
	FERRY_TEST_LONG=1 FERRY_TEST_TIMEOUT=3600 $(MAKE) $(AM_MAKEFLAGS) check TEST_LENGTH= \
	    TESTS='%D%/unit/test-solver-runs %D%/unit/test-solver-snapshot'

# Runs all tests of the Triton server, and measures its times; requires FERRY_TEST_TRITON and
# FERRY_TEST_DATA.
check-triton: all
	FERRY_TEST_LONG=1 $(MAKE) $(AM_MAKEFLAGS) one T=%D%/scripts/check-triton.sh
bench-triton: all
	FERRY_TEST_SERVED=times $(MAKE) $(AM_MAKEFLAGS) one T=%D%/scripts/check-triton.sh

print-package-tests:
	@echo '$(PACKAGE_TESTS)'

# The long tests that are programs, and the programs that scripts run.
PROGRAMS_OF_OTHERS = %D%/unit/test-opencl %D%/unit/test-opencl-kernels
print-package-programs:
	@for program in $(check_PROGRAMS); do \
	    case ' $(TESTS) ' in \
	    *" $$program "*) tests=' $(PACKAGE_TESTS) $(PROGRAMS_OF_OTHERS) ' ;; \
	    *) tests=" $$program " ;; \
	    esac; \
	    case "$$tests" in *" $$program "*) echo "$$program" ;; esac; \
	done

# The tests that are useful with a sanitizer. These are omitted: tests that only compile, or that
# read built files; programs of C++ headers, whose compilation takes minutes; kernels of a driver's
# compiler, which sanitizers do not see; and ranks that are threads and open HDF5 at the same time,
# because in a child of fork AddressSanitizer's malloc can wait for a thread that does not exist
# there.
TESTS_OF_NO_CODE = $(TEXT_TESTS) %D%/abi/check-abi.sh %D%/scripts/check-exports.sh \
	%D%/scripts/check-caffe-names.sh %D%/scripts/check-dnn-names.sh %D%/scripts/check-site.sh \
	%D%/scripts/check-headers.sh %D%/unit/test-opencl-kernels \
	%D%/unit/test-opencl-math %D%/unit/test-team
# The coverage of all tests, or of those that CODE_FROM names.
CODE_FROM = $(TESTS)
print-code-tests:
	@for test in $(CODE_FROM); do \
	    case ' $(TESTS_OF_NO_CODE) ' in *" $$test "*) ;; *) echo "$$test" ;; esac; \
	done

# OpenBLAS picks its kernels by CPU, and valgrind does not know the newest instructions.
VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
    --suppressions='$(abs_top_srcdir)/%D%/data/valgrind.supp'
check-valgrind: $(check_PROGRAMS)
	OPENBLAS_CORETYPE=Haswell FERRY_TEST_VALGRIND=1 \
	    $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(CORE_TESTS)' LOG_COMPILER='$(VALGRIND)'

# The OpenCL plugin's kernels on a simulator that sees each access; its short tests are part of `make check` too.
check-oclgrind: $(check_PROGRAMS)
	FERRY_TEST_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check TEST_LENGTH= TESTS='%D%/scripts/check-opencl-accesses.sh'

# Builds ferry for another architecture and runs its tests, or those that CROSS_TESTS names, under qemu-user.
CROSS_TESTS =
check-cross:
	$(SHELL) '$(srcdir)/%D%/scripts/cross.sh' '$(ARCH)' $(CROSS_TESTS)
print-cross-tests:
	@for test in $(UNIT_TESTS); do \
	    case " $(COMMAND_TESTS) " in *" $$test "*) continue ;; esac; \
	    case $$test in \
	    *test-cuda* | *test-opencl* | *test-openvino | %D%/ptx/* | %D%/triton/*) ;; \
	    *) echo "$$test" ;; \
	    esac; \
	done

# The models: `make check` runs all sequences of 4 operations and searches 3 accesses. This target
# runs more of both (minutes), and the last one more still (an hour).
MODEL_TESTS = %D%/coherence/test-coherence %D%/model/check-events.sh
check-model: $(check_PROGRAMS)
	FERRY_TEST_LENGTH=5 FERRY_TEST_STEPS=4 FERRY_TEST_TIMEOUT=3600 \
	    $(MAKE) $(AM_MAKEFLAGS) check TEST_LENGTH= TESTS='$(MODEL_TESTS)'
check-model-full: $(check_PROGRAMS)
	FERRY_TEST_LENGTH=6 FERRY_TEST_STEPS=5 FERRY_TEST_TIMEOUT=36000 \
	    $(MAKE) $(AM_MAKEFLAGS) check TEST_LENGTH= TESTS='$(MODEL_TESTS)'

# An external program and an external plugin, built only with the files that `make install` has
# installed.
installcheck-local:
	@DESTDIR='$(DESTDIR)' CC='$(CC)' CXX='$(CXX)' CFLAGS='$(OPT_CFLAGS) $(CFLAGS)' LDFLAGS='$(LDFLAGS)' \
	    libdir='$(libdir)' plugindir='$(plugindir)' pkgconfigdir='$(pkgconfigdir)' \
	    includedir='$(includedir)' bindir='$(bindir)' \
	    FERRY_TEST_SRCDIR='$(abs_top_srcdir)' FERRY_TEST_BACKENDS='$(BUILT_BACKENDS)' \
	    $(SHELL) '$(srcdir)/%D%/outside/run.sh'

# Packs the files for a machine with a GPU into one folder, where `sh run` writes one report. The
# pack is built separately, with the options of this build but without parts that such a machine
# does not need, such as LevelDB with its C++ library. `all` is first, because it is a make of its
# own.
GPU_FOLDER = ferry-gpu
GPU_BUILD = gpu-build
gpu-pack:
	@$(MKDIR_P) '$(GPU_BUILD)'
	cd '$(GPU_BUILD)' && { test -f config.status || { \
	    eval "set -- `'$(abs_top_builddir)/config.status' --config`" && \
	    $(SHELL) '$(abs_top_srcdir)/configure' "$$@" --enable-cuda=yes --enable-hip=no --enable-opencl=no \
	        --with-hdf5=no --with-mpi=no -q ac_cv_lib_leveldb_leveldb_open=no CFLAGS='$(OPT_CFLAGS) $(CFLAGS) -ffunction-sections -fdata-sections' \
	        LDFLAGS='$(LDFLAGS) -Wl,--gc-sections'; }; } && \
	    $(MAKE) $(AM_MAKEFLAGS) all && \
	    $(MAKE) $(AM_MAKEFLAGS) gpu-folder GPU_FOLDER='$(abs_top_builddir)/$(GPU_FOLDER)'
gpu-folder: $(check_PROGRAMS) $(check_DATA) $(BENCHES) $(BENCH_CHILDREN)
	$(SHELL) '$(srcdir)/%D%/gpu/pack' . '$(GPU_FOLDER)'

# Runs the pack on the doubles, in a root that contains only the pack, libc and a shell.
check-gpu-pack: gpu-pack
	$(SHELL) '$(srcdir)/%D%/gpu/root' '$(GPU_FOLDER)' '$(GPU_BUILD)/%D%/doubles/lib'
clean-local: clean-gpu
clean-gpu:
	rm -rf '$(GPU_FOLDER)' '$(GPU_BUILD)'

.PHONY: gpu-pack gpu-folder check-gpu-pack clean-gpu
.PHONY: check-cross print-cross-tests one check-training check-triton bench-triton check-oclgrind print-package-programs print-package-tests print-code-tests print-long-tests print-packed check-threads check-valgrind check-long check-model check-model-full

EXTRA_DIST += \
	$(LONG_TESTS) \
	$(SCRIPT_TESTS) \
	$(TEXT_TESTS) \
	%D%/cxx/caffe.cpp \
	%D%/cxx/cases.hpp \
	%D%/cxx/cpu-device.cpp \
	%D%/cxx/dnn.cpp \
	%D%/cxx/layers.cpp \
	%D%/cxx/openpose.cpp \
	%D%/cxx/passes.cpp \
	%D%/cxx/protobuf.cpp \
	%D%/cxx/windows.cpp \
	%D%/gpu/pack \
	%D%/gpu/root \
	%D%/gpu/run \
	%D%/scripts/caffe-tests.list \
	%D%/scripts/sum-results.sh \
	%D%/scripts/caffe-demos.py \
	%D%/scripts/caffe-examples.py \
	%D%/scripts/caffe-scripts.py \
	%D%/scripts/check-caffe-demos.sh \
	%D%/scripts/check-caffe-examples.sh \
	%D%/scripts/check-caffe-scripts.sh \
	%D%/scripts/check-caffe-tests.sh \
	%D%/scripts/check-dnn-scripts.sh \
	%D%/scripts/check-interop.py \
	%D%/scripts/check-fold.py \
	%D%/scripts/check-netron.py \
	%D%/scripts/check-onnx.py \
	%D%/scripts/check-onnx-import.py \
	%D%/scripts/make-onnx-models.py \
	%D%/scripts/mtcnn.py \
	%D%/scripts/check-opencv-samples.sh \
	%D%/scripts/check-openpose.sh \
	%D%/scripts/check-upgrade.sh \
	%D%/scripts/check-proto.py \
	%D%/scripts/calls.list \
	%D%/scripts/circles.awk \
	%D%/scripts/dnn-scripts.py \
	%D%/scripts/cross.sh \
	%D%/scripts/lib.sh \
	%D%/scripts/slang.py \
	%D%/scripts/trace_lanes.py \
	%D%/scripts/opencv-samples.py \
	%D%/scripts/openpose.py \
	%D%/scripts/prose.awk \
	%D%/scripts/prose.patterns \
	%D%/scripts/prose.todo \
	%D%/scripts/rooms.awk \
	%D%/scripts/rooms.list \
	%D%/scripts/sets.awk \
	%D%/scripts/text.sh \
	%D%/model/events.pml \
	%D%/data/empty.conf \
	%D%/data/images \
	%D%/data/leaks.supp \
	%D%/data/valgrind.supp \
	%D%/outside/plugin.c \
	%D%/outside/plugin.rs \
	%D%/outside/program.c \
	%D%/outside/run.sh \
	%D%/outside/cmake/CMakeLists.txt \
	%D%/outside/cmake/classes.cpp \
	%D%/outside/cmake/kernels.c \
	%D%/outside/cmake/nets.c \
	%D%/outside/meson/meson.build \
	%D%/triton/cv2_model.py \
	%D%/triton/features.py \
	%D%/triton/served.py \
	%D%/triton/serving.py \
	%D%/triton/times.py \
	%D%/users/evil.c \
	%D%/users/exchange.c \
	%D%/users/program.c \
	%D%/users/vendor.c

include %D%/abi/local.mk
include %D%/museum/local.mk
include %D%/plugins/local.mk
include %D%/mutants/local.mk
include %D%/ptx/local.mk
include %D%/doubles/local.mk
include %D%/mpi/local.mk
include %D%/fuzz/local.mk
include %D%/random/local.mk
include %D%/oracle/local.mk
