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
	%D%/driver.c \
	%D%/executor.c \
	%D%/executor.h \
	%D%/graph.c \
	%D%/hip.c \
	%D%/kernels.c \
	%D%/memory.c \
	%D%/module.c \
	%D%/module.h \
	%D%/nvrtc.c \
	%D%/rocblas.c \
	%D%/stream.c
DOUBLES = %D%/lib.stamp
HIP_DOUBLES = %D%/hip.stamp
DOUBLES_PATH = $(abs_top_builddir)/%D%/lib

# Both doubles contain the executor of PTX, and the kernels as the host's compiler makes them.
check_LTLIBRARIES += %D%/libparts.la
%C%_libparts_la_SOURCES = %D%/kernels.c %D%/module.h
%C%_libparts_la_CPPFLAGS = -I$(top_srcdir)
%C%_libparts_la_CFLAGS = $(STD_CFLAGS)
%C%_libparts_la_LIBADD = tests/ptx/libptx.la
DOUBLE_PARTS = %D%/libparts.la
DOUBLE_PARTS_FILE = %D%/.libs/libparts.a

if BUILD_CUDA
check_DATA += $(DOUBLES)
endif
if BUILD_HIP
check_DATA += $(HIP_DOUBLES)
endif
$(DOUBLES): $(DOUBLES_FROM) $(DOUBLE_PARTS) backends/cuda/target.h
	$(AM_V_GEN)CC='$(CC)' CPPFLAGS='$(CPPFLAGS) $(CUDA_CPPFLAGS)' CFLAGS='$(OPT_CFLAGS) $(CFLAGS) $(WARN_CFLAGS)' \
	    LDFLAGS='$(LDFLAGS)' FAST='$(FAST_CFLAGS)' $(SHELL) '$(srcdir)/%D%/build.sh' '$(srcdir)/%D%' '$(srcdir)' \
	    %D%/lib $(DOUBLE_PARTS_FILE) '$(CUDA_CUDART_MAJOR)' '$(CUDA_CUBLAS_MAJOR)'
	@: >$@

# Beside those of CUDA.
$(HIP_DOUBLES): $(DOUBLES_FROM) $(DOUBLE_PARTS) backends/cuda/target.h \
    backends/hip/names.h backends/hip/rocblas.h
	$(AM_V_GEN)CC='$(CC)' NM='$(NM)' CPPFLAGS='$(CPPFLAGS) $(HIP_CPPFLAGS)' CFLAGS='$(OPT_CFLAGS) $(CFLAGS) $(WARN_CFLAGS)' \
	    LDFLAGS='$(LDFLAGS)' FAST='$(FAST_CFLAGS)' $(SHELL) '$(srcdir)/%D%/build.sh' '$(srcdir)/%D%' '$(srcdir)' \
	    %D%/hip $(DOUBLE_PARTS_FILE) hip '$(HIP_LIBRARY)' 'librocblas.so.$(HIP_ROCBLAS)'
	@$(MKDIR_P) %D%/lib && cd %D%/lib && for file in ../hip/lib*.so.*[0-9]; do ln -sf $$file . || exit 1; done
	@: >$@

clean-local: clean-doubles
clean-doubles:
	rm -rf %D%/lib %D%/hip $(DOUBLES) $(HIP_DOUBLES)

.PHONY: clean-doubles
EXTRA_DIST += $(DOUBLES_FROM)
