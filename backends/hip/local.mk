# SPDX-License-Identifier: BSD-2-Clause
# The hip plugin: the sources of the CUDA plugin under HIP's names (names.h), and three files of its
# own. It links libamdhip64, and loads rocBLAS with a device.

HIP_FROM_CUDA = \
	backends/cuda/blas.c \
	backends/cuda/blocks.c \
	backends/cuda/built.c \
	backends/cuda/context.c \
	backends/cuda/copy.c \
	backends/cuda/device.c \
	backends/cuda/error.c \
	backends/cuda/fill.c \
	backends/cuda/launch.c \
	backends/cuda/list.c \
	backends/cuda/matrix.c \
	backends/cuda/memory.c \
	backends/cuda/module.c \
	backends/cuda/operation.c \
	backends/cuda/options.c \
	backends/cuda/plugin.c \
	backends/cuda/process.c \
	backends/cuda/properties.c \
	backends/cuda/profile.c \
	backends/cuda/queue.c \
	backends/cuda/reduce.c \
	backends/cuda/vector.c
HIP_NAMES = -DCUDA_NAMES='"backends/hip/names.h"'

if BUILD_HIP
plugin_LTLIBRARIES += backends/ferry_hip.la
backends_ferry_hip_la_SOURCES = $(HIP_FROM_CUDA) \
	%D%/absent.c \
	%D%/names.h \
	%D%/rocblas.c \
	%D%/rocblas.h \
	%D%/runtime.c
backends_ferry_hip_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir) $(HIP_CPPFLAGS) $(HIP_NAMES) \
	-DHIP_ROCBLAS=$(HIP_ROCBLAS) -DCUDA_FATBIN='"%D%/kernels.bundle"'
backends_ferry_hip_la_CFLAGS = $(PLUGIN_CFLAGS)
backends_ferry_hip_la_LDFLAGS = $(PLUGIN_LINK_FLAGS) $(HIP_LDFLAGS)
backends_ferry_hip_la_LIBADD = kernels/libkerneltexts.la -lamdhip64 -lpthread $(CORE_SYSTEM_LIBS)

# The output of hipcc for the kernels is included in the plugin (built.c).
CLEANFILES += %D%/kernels.bundle
%D%/kernels.bundle: $(srcdir)/%D%/kernels.sh $(srcdir)/backends/cuda/kernels.cu \
    $(srcdir)/backends/cuda/target.h $(srcdir)/kernels/all.h $(KERNEL_FRONT) $(KERNEL_TEXTS)
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(SHELL) '$(srcdir)/%D%/kernels.sh' '$(HIPCC)' '$(srcdir)' $@ $(HIP_ARCH)
HIP_BUILT_OBJECT = backends/cuda/ferry_hip_la-built.lo
$(HIP_BUILT_OBJECT): %D%/kernels.bundle
endif

EXTRA_DIST += %D%/README.md %D%/kernels.sh

# The assembly of the kernels for each architecture, with what it tells: nothing is run.
HIP_CHECKED = gfx90a gfx1030 gfx1100
check-hip:
	@HIPCC='$(HIPCC)' $(SHELL) '$(srcdir)/%D%/check.sh' '$(srcdir)' $(HIP_CHECKED)
.PHONY: check-hip
EXTRA_DIST += %D%/check.sh
