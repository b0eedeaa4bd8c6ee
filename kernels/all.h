/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Includes every source, to compile all of them at once: by nvcc and hipcc, and for the test double
 * of the CUDA driver. The including file defines VEC and GROUP.
 */
#include "kernels/args.h"
#include "kernels/dialect.h"

#define LANES 1
#include "kernels/convert.k"
#include "kernels/direct.k"
#include "kernels/element.k"
#include "kernels/image.k"
#include "kernels/pack.k"
#include "kernels/pool.k"
#include "kernels/random.k"
#include "kernels/row.k"
#include "kernels/share.k"
#include "kernels/slide.k"
#include "kernels/slope.k"
#include "kernels/spread.k"
#include "kernels/table.k"
#ifndef KERNELS_WITHOUT_TENSOR
#include "kernels/tensor.k"
#endif
#include "kernels/update.k"
#include "kernels/vector.k"

#include "kernels/convolution.k"
#undef LANES
#define LANES 2
#include "kernels/convolution.k"
#include "kernels/gradient.k"
#undef LANES
#define LANES 4
#include "kernels/convolution.k"
#undef LANES
