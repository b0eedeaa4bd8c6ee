# SPDX-License-Identifier: BSD-2-Clause
# Stand-ins for the CUDA runtime, cuBLAS, libnvrtc and cuDNN, with which the CUDA plugin runs on
# machines without a GPU. The plugin is the installed one: LD_LIBRARY_PATH selects the libraries.

DOUBLES_FROM = \
	%D%/README.md \
	%D%/arena.c \
	%D%/build.sh \
	%D%/capture.c \
	%D%/compute.c \
	%D%/context.c \
	%D%/control.c \
	%D%/control.h \
	%D%/copy.c \
	%D%/cublas-matrix.c \
	%D%/cublas.c \
	%D%/cublas.h \
	%D%/cudnn-convolution.c \
	%D%/cudnn.c \
	%D%/cudnn.h \
	%D%/device.c \
	%D%/double.h \
	%D%/executor.c \
	%D%/executor.h \
	%D%/graph.c \
	%D%/kernels.c \
	%D%/memory.c \
	%D%/module.c \
	%D%/module.h \
	%D%/nvrtc.c \
	%D%/stream.c
DOUBLES = %D%/lib.stamp
DOUBLES_PATH = $(abs_top_builddir)/%D%/lib

if BUILD_CUDA
check_DATA += $(DOUBLES)
endif
$(DOUBLES): $(DOUBLES_FROM) $(PTX_SOURCES) $(KERNEL_FRONT) $(KERNEL_TEXTS) backends/cuda/target.h
	$(AM_V_GEN)CC='$(CC)' CPPFLAGS='$(CPPFLAGS) $(CUDA_CPPFLAGS)' CFLAGS='$(CFLAGS) $(WARN_CFLAGS)' \
	    LDFLAGS='$(LDFLAGS)' $(SHELL) '$(srcdir)/%D%/build.sh' '$(srcdir)/%D%' '$(srcdir)' \
	    %D%/lib '$(CUDA_CUDART_MAJOR)' '$(CUDA_CUBLAS_MAJOR)'
	@: >$@

clean-local: clean-doubles
clean-doubles:
	rm -rf %D%/lib $(DOUBLES)

.PHONY: clean-doubles
EXTRA_DIST += $(DOUBLES_FROM)
