# SPDX-License-Identifier: BSD-2-Clause
# Example programs. `make demo` runs the first two and one for each topic on each backend, then writes
# arrays to a file and reads them with the command. expected/ has the output of each topic, which
# tests/scripts/check-examples.sh compares.

TOPICS = %D%/queues %D%/two-devices %D%/slices %D%/adoption %D%/errors %D%/digits %D%/split-net
if HAVE_DLPACK
TOPICS += %D%/dlpack
endif
EXAMPLES = %D%/first %D%/tour $(TOPICS)
noinst_PROGRAMS += $(EXAMPLES) %D%/weights %D%/classify

EXTRA_DIST += \
	%D%/classify.cpp \
	%D%/digits-solver.prototxt \
	%D%/digits-train.prototxt \
	%D%/expected/adoption.txt \
	%D%/expected/digits.txt \
	%D%/expected/dlpack.txt \
	%D%/expected/errors.txt \
	%D%/expected/queues.txt \
	%D%/expected/slices.txt \
	%D%/expected/split-net.txt \
	%D%/expected/two-devices.txt

%C%_first_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_first_LDADD = libferry.la
%C%_first_LDFLAGS =
%C%_tour_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_tour_LDADD = libferry.la
%C%_tour_LDFLAGS =
%C%_queues_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_queues_LDADD = libferry.la
%C%_queues_LDFLAGS =
%C%_two_devices_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_two_devices_LDADD = libferry.la
%C%_two_devices_LDFLAGS =
%C%_slices_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_slices_LDADD = libferry.la
%C%_slices_LDFLAGS =
%C%_adoption_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_adoption_LDADD = libferry.la
%C%_adoption_LDFLAGS =
%C%_errors_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_errors_LDADD = libferry.la
%C%_errors_LDFLAGS =
%C%_dlpack_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_dlpack_LDADD = libferryio.la libferry.la
%C%_dlpack_LDFLAGS =
%C%_classify_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_classify_LDADD = libferrynet.la libferryio.la libferry.la
%C%_classify_LDFLAGS =
%C%_digits_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_digits_LDADD = libferrynet.la libferryio.la libferry.la
%C%_digits_LDFLAGS =
%C%_split_net_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_split_net_LDADD = libferrynet.la libferryio.la libferry.la
%C%_split_net_LDFLAGS =
%C%_weights_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_weights_LDADD = libferryio.la libferry.la
%C%_weights_LDFLAGS =

# Models for the Triton server around a net; tests/triton/features.py serves them.
EXTRA_DIST += \
	%D%/triton/README.md \
	%D%/triton/best/config.pbtxt \
	%D%/triton/best/model.py \
	%D%/triton/decode/config.pbtxt \
	%D%/triton/decode/model.py \
	%D%/triton/make-repository.sh \
	%D%/triton/photo/config.pbtxt \
	%D%/triton/photo_bls/config.pbtxt \
	%D%/triton/photo_bls/model.py

# A layer type in a shared object.
noinst_LTLIBRARIES += %D%/acme_layers.la
%C%_acme_layers_la_SOURCES = %D%/acme-layers.c
%C%_acme_layers_la_CPPFLAGS = $(PUBLIC_CPPFLAGS)
%C%_acme_layers_la_LIBADD = libferrynet.la libferryio.la libferry.la
%C%_acme_layers_la_LDFLAGS = -module -avoid-version -rpath /nowhere
EXTRA_DIST += %D%/acme.prototxt

# An OpenCL kernel of the program on a blob's data.
if BUILD_OPENCL
noinst_PROGRAMS += %D%/opencl-kernel
%C%_opencl_kernel_CPPFLAGS = $(PUBLIC_CPPFLAGS) $(OPENCL_CFLAGS)
%C%_opencl_kernel_LDADD = libferry.la $(OPENCL_LIBS)
%C%_opencl_kernel_LDFLAGS =
endif

# A CUDA kernel of the program on a blob's data; built only with nvcc. It links the shared runtime, which
# the plugin uses: a second runtime would have a current device and a last error of its own.
if HAVE_NVCC
CUDA_EXAMPLE = %D%/cuda-kernel
noinst_DATA = $(CUDA_EXAMPLE)
endif
%D%/cuda-kernel: %D%/cuda-kernel.cu libferry.la
	$(AM_V_GEN)$(NVCC) -std=c++17 -cudart shared -I'$(top_srcdir)/include' \
	    '$(srcdir)/%D%/cuda-kernel.cu' -o $@ \
	    -L.libs -lferry -Xlinker -rpath,'$(abs_top_builddir)/.libs' \
	    -L'$(CUDA_LIBDIR)' -Xlinker -rpath,'$(CUDA_LIBDIR)' || \
	    { echo '$(NVCC) cannot build $@ here; it is not built'; : >$@; }
CLEANFILES += %D%/cuda-kernel
EXTRA_DIST += %D%/cuda-kernel.cu

# More files of arrays for the demo to inspect: make demo DEMO_FILES='a.npy b.caffemodel'
DEMO_FILES =
DEMO_BACKENDS = cpu sim

demo: all
	@$(RUN_ENV); set -e; \
	say() { echo; echo "== FERRY_BACKEND=$$FERRY_BACKEND $$*"; "$$@"; }; \
	for backend in $(DEMO_BACKENDS); do \
	    case " $(BUILT_BACKENDS) " in *" $$backend "*) ;; *) continue ;; esac; \
	    FERRY_BACKEND="$$backend"; export FERRY_BACKEND; \
	    for program in $(EXAMPLES); do say ./$$program; done; \
	    say %D%/weights "$$backend.caffemodel"; \
	    for file in "$$backend.caffemodel" $(DEMO_FILES); do \
	        say tools/ferry/ferry inspect "$$file"; \
	    done; \
	done; \
	unset FERRY_BACKEND; \
	echo; echo "== ferry plugins"; tools/ferry/ferry plugins; \
	FERRY_BACKEND=; say %D%/digits digits; \
	say tools/ferry/ferry run digits/digits.caffemodel --input data=digits/digit-3.png \
	    --scale 0.00390625 --top 3; \
	for digit in 4 7; do \
	    say %D%/classify digits/digits.prototxt digits/digits.caffemodel digits/digit-$$digit.png; \
	done; \
	if test '$(CXX)' != no; then \
	    $(CXX) -std=c++11 -I'$(srcdir)/include/ferry/compat' -I'$(srcdir)/include' '$(srcdir)/%D%/classify.cpp' \
	        -o digits/classify-caffe -L.libs -lferrynet -lferryio -lferry -Wl,-rpath,"$$(pwd)/.libs"; \
	    say digits/classify-caffe digits/digits.prototxt digits/digits.caffemodel digits/digit-7.png; \
	fi; \
	say tools/ferry/ferry run --layers "$$(pwd)/%D%/.libs/acme_layers.so" '$(srcdir)/%D%/acme.prototxt'; \
	say tools/ferry/ferry time digits/digits.caffemodel; \
	if command -v dot >/dev/null; then picture=digits/digits.svg; else picture=digits/digits.dot; fi; \
	say tools/ferry/ferry draw digits/digits.caffemodel -o $$picture; \
	echo "the net's picture: $$(pwd)/$$picture"

CLEANFILES += cpu.caffemodel sim.caffemodel
clean-local-digits:
	rm -rf digits
clean-local: clean-local-digits
.PHONY: clean-local-digits

# A template project for a plugin: tests/outside builds it in its installed folder.
templatedir = $(pkgdatadir)/plugin-template
dist_template_DATA = \
	%D%/plugin-template/Makefile.am \
	%D%/plugin-template/README.md \
	%D%/plugin-template/acme.c \
	%D%/plugin-template/acme_driver.c \
	%D%/plugin-template/acme_driver.h \
	%D%/plugin-template/acme_queues.c \
	%D%/plugin-template/configure.ac \
	%D%/plugin-template/plugins.conf \
	%D%/plugin-template/pyproject.toml \
	%D%/plugin-template/setup.py
# The plugin with all operations.
operationsdir = $(templatedir)/operations
dist_operations_DATA = \
	%D%/plugin-template/operations/Makefile.am \
	%D%/plugin-template/operations/README.md \
	%D%/plugin-template/operations/acme.c \
	%D%/plugin-template/operations/acme_launch.c \
	%D%/plugin-template/operations/acme_launch.h \
	%D%/plugin-template/operations/configure.ac

.PHONY: demo
