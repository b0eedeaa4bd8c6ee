# SPDX-License-Identifier: BSD-2-Clause
# The CPU plugin: device memory is host memory, OpenBLAS multiplies matrices, the plugin's own loops
# compute the rest.

if BUILD_CPU
plugin_LTLIBRARIES += backends/ferry_cpu.la
backends_ferry_cpu_la_SOURCES = \
	common/blocks.h \
	common/rounding.h \
	common/window.h \
	%D%/blas.c \
	%D%/blas.h \
	%D%/blas1.c \
	%D%/convert.c \
	%D%/cpu.h \
	%D%/error.c \
	%D%/features.c \
	%D%/gemm.c \
	%D%/isa.c \
	%D%/isa.h \
	%D%/kernels.c \
	%D%/kernels.h \
	%D%/kernels_impl.h \
	%D%/memory.c \
	%D%/op/amx.h \
	%D%/op/chains.c \
	%D%/op/columns.c \
	%D%/op/columns_impl.h \
	%D%/op/convolution.c \
	%D%/op/convolution_weights.c \
	%D%/op/convolution_weights_impl.h \
	%D%/op/copy.c \
	%D%/op/copied_impl.h \
	%D%/op/deconvolution.c \
	%D%/op/deconvolution.h \
	%D%/op/deconvolution_impl.h \
	%D%/op/depthwise.c \
	%D%/op/depthwise.h \
	%D%/op/depthwise_planes.c \
	%D%/op/depthwise_planes.h \
	%D%/op/depthwise_impl.h \
	%D%/op/direct.c \
	%D%/op/direct_impl.h \
	%D%/op/dots.c \
	%D%/op/dots.h \
	%D%/op/dots_impl.h \
	%D%/op/elementwise.c \
	%D%/op/elementwise_backward.c \
	%D%/op/elementwise_backward_impl.h \
	%D%/op/elementwise_impl.h \
	%D%/op/epilogue.c \
	%D%/op/gather.c \
	%D%/op/gemm.c \
	%D%/op/gemm.h \
	%D%/op/gemm_pack.c \
	%D%/op/grouped.c \
	%D%/op/grouped.h \
	%D%/op/grouped_impl.h \
	%D%/op/image_backward.c \
	%D%/op/image_backward_impl.h \
	%D%/op/integer.h \
	%D%/op/integer_amx.c \
	%D%/op/integer_avx2.c \
	%D%/op/integer_avx512.c \
	%D%/op/integer_avxvnni.c \
	%D%/op/integer_bf16.c \
	%D%/op/integer_depthwise.c \
	%D%/op/integer_affine_impl.h \
	%D%/op/integer_depthwise_impl.h \
	%D%/op/integer_dotprod.c \
	%D%/op/integer_i8mm.c \
	%D%/op/integer_impl.h \
	%D%/op/integer_neon_impl.h \
	%D%/op/integer_pool.c \
	%D%/op/integer_pack.c \
	%D%/op/integer_pool_impl.h \
	%D%/op/integer_product.c \
	%D%/op/integer_run.h \
	%D%/op/integer_rows.c \
	%D%/op/integer_store.c \
	%D%/op/integer_tasks.c \
	%D%/op/integer_vnni.c \
	%D%/op/lines.h \
	%D%/op/lines_impl.h \
	%D%/op/loops.c \
	%D%/op/loops.h \
	%D%/op/loops_avx2.c \
	%D%/op/loops_avx512.c \
	%D%/op/loops_impl.h \
	%D%/op/loops_neon.c \
	%D%/op/loops_portable.c \
	%D%/op/lrn.c \
	%D%/op/lrn_block_impl.h \
	%D%/op/lrn_impl.h \
	%D%/op/matrix.c \
	%D%/op/matrix_backward.c \
	%D%/op/matrix_impl.h \
	%D%/op/micro_impl.h \
	%D%/op/normalise_backward.c \
	%D%/op/normalise_backward_impl.h \
	%D%/op/op.h \
	%D%/op/pairs_bf16.c \
	%D%/op/patches.h \
	%D%/op/patches_impl.h \
	%D%/op/operand.c \
	%D%/op/planes.c \
	%D%/op/pool.c \
	%D%/op/pool_backward.c \
	%D%/op/pool_backward_impl.h \
	%D%/op/pool_impl.h \
	%D%/op/pool_lines_impl.h \
	%D%/op/random.c \
	%D%/op/turn.h \
	%D%/op/update.c \
	%D%/op/reals_impl.h \
	%D%/op/reduce.c \
	%D%/op/resize.c \
	%D%/op/resize_impl.h \
	%D%/op/roi.c \
	%D%/op/rows.h \
	%D%/op/rows_impl.h \
	%D%/op/sizes.h \
	%D%/op/slide_impl.h \
	%D%/op/slide_neon_impl.h \
	%D%/op/softmax.c \
	%D%/op/softmax_impl.h \
	%D%/op/step_impl.h \
	%D%/op/sums.c \
	%D%/op/sums_impl.h \
	%D%/op/table.c \
	%D%/op/tile.h \
	%D%/op/vector.h \
	%D%/op/walk.c \
	%D%/op/walk.h \
	%D%/op/window.c \
	%D%/op/winograd.c \
	%D%/op/winograd.h \
	%D%/op/winograd_impl.h \
	%D%/op/winograd_planes.c \
	%D%/op/winograd_planes.h \
	%D%/op/winograd_planes_impl.h \
	%D%/op/winograd_weights.c \
	%D%/plugin.c \
	%D%/processors.c \
	%D%/processors.h \
	%D%/profile.c \
	%D%/workers.c \
	%D%/workers.h
backends_ferry_cpu_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir) $(AVXVNNI_CPPFLAGS) $(AMX_CPPFLAGS) \
	-DCPU_BLAS_SONAME='"$(OPENBLAS_SONAME)"'
backends_ferry_cpu_la_CFLAGS = $(PLUGIN_CFLAGS) $(OPENBLAS_CFLAGS)
backends_ferry_cpu_la_LDFLAGS = $(PLUGIN_LINK_FLAGS)
backends_ferry_cpu_la_LIBADD = -ldl -lpthread -lm
endif

EXTRA_DIST += %D%/README.md %D%/op/README.md
