# SPDX-License-Identifier: BSD-2-Clause
# SPDX-License-Identifier: BSD-2-Clause
#
# The CUDA plugin. It links the runtime, which loads on any machine and reports a missing driver; it
# loads cuBLAS itself if there is a driver.

if BUILD_CUDA
plugin_LTLIBRARIES += backends/ferry_cuda.la
backends_ferry_cuda_la_SOURCES = \
	%D%/blas.c \
	%D%/blocks.c \
	%D%/built.c \
	%D%/context.c \
	%D%/convolution.c \
	%D%/copy.c \
	%D%/cublas.c \
	%D%/cuda.h \
	%D%/device.c \
	%D%/dnn.c \
	%D%/dnn.h \
	%D%/driver.c \
	%D%/error.c \
	%D%/fill.c \
	%D%/kernels.h \
	%D%/launch.c \
	%D%/list.c \
	%D%/list.h \
	%D%/matrix.c \
	%D%/memory.c \
	%D%/module.c \
	%D%/nvidia.c \
	%D%/nvidia.h \
	%D%/nvrtc.c \
	%D%/operation.c \
	%D%/options.c \
	%D%/plugin.c \
	%D%/process.c \
	%D%/properties.c \
	%D%/profile.c \
	%D%/queue.c \
	%D%/reduce.c \
	%D%/target.h \
	%D%/vector.c
backends_ferry_cuda_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir) $(CUDA_CPPFLAGS) $(CUDA_BUILT)
backends_ferry_cuda_la_CFLAGS = $(PLUGIN_CFLAGS)
backends_ferry_cuda_la_LDFLAGS = $(PLUGIN_LINK_FLAGS) $(CUDA_LDFLAGS)
backends_ferry_cuda_la_LIBADD = kernels/libkerneltexts.la $(CUDA_RUNTIME) -lpthread $(CORE_SYSTEM_LIBS)

# A relocatable plugin contains the runtime, and looks for cuBLAS in NVIDIA's packages for Python too.
if RELOCATABLE
backends_ferry_cuda_la_CPPFLAGS += -DCUDA_RELOCATABLE
CUDA_RUNTIME = -lcudart_static -lrt -ldl
else
CUDA_RUNTIME = -lcudart
endif

# The output of nvcc for the kernels is included in the plugin (built.c).
if BUILD_CUDA_KERNELS
CUDA_BUILT = -DCUDA_FATBIN='"%D%/kernels.fatbin"'
CLEANFILES += %D%/kernels.fatbin
%D%/kernels.fatbin: $(srcdir)/%D%/kernels.cu $(srcdir)/%D%/target.h $(srcdir)/kernels/all.h \
    $(KERNEL_FRONT) $(KERNEL_TEXTS)
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(NVCC) -fatbin -O3 -diag-suppress 177 -I'$(srcdir)' $(CUDA_CODE) \
	    -o $@ '$(srcdir)/%D%/kernels.cu'
# By a name of its own, because automake would take a rule for its own target as a replacement of
# all its rules.
CUDA_BUILT_OBJECT = %D%/ferry_cuda_la-built.lo
$(CUDA_BUILT_OBJECT): %D%/kernels.fatbin
endif
endif

EXTRA_DIST += %D%/kernels.cu

EXTRA_DIST += %D%/README.md
