/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All functions that are compiled for an instruction set, and their table: see vector.h. No include
 * guard.
 */

#include "vector.h"

#include "deconvolution_impl.h"
#include "depthwise_impl.h"

#include "copied_impl.h"
#include "dots_impl.h"
#if HAVE_AVX512
#include "grouped_impl.h"
#endif
#include "lines_impl.h"
#include "lrn_block_impl.h"
#define FORM(function) NAME(function)
#define WIDENS         0
#include "micro_impl.h"
#if HAVE_AVX512 || HAVE_AVX2
#undef FORM
#undef WIDENS
#define FORM(function) NAME(widened_##function)
#define WIDENS         1
#define MICROS_OF_BF16 NAME(widened_micros)
#include "micro_impl.h"
#undef FORM
#undef WIDENS
#define FORM(function) NAME(of_f16_##function)
#define WIDENS         2
#define MICROS_OF_F16  NAME(of_f16_micros)
#include "micro_impl.h"
#else
#define MICROS_OF_BF16 NULL
#define MICROS_OF_F16  NULL
#endif
#include "patches_impl.h"
#include "pool_lines_impl.h"
#include "pool_windows_impl.h"
#include "rows_impl.h"
#include "slide_impl.h"
#include "step_impl.h"
#include "strassen_impl.h"
#include "winograd_impl.h"
#include "winograd_planes_impl.h"

static const struct cpu_loops NAME(loops) = {
    .rows = MOST_ROWS,
    .lanes = LANES,
    .micro = NAME(micros),
    .micro_of_bf16 = MICROS_OF_BF16,
    .micro_of_f16 = MICROS_OF_F16,
    .patches = NAME(patches),
    .depthwise_last = NAME(depthwise_last),
    .depthwise_slide = NAME(depthwise_slide),
    .depthwise_copied = NAME(depthwise_copied),
    .depthwise_plane = NAME(depthwise_plane),
    .tap_sums = NAME(tap_sums),
#if HAVE_AVX512
    .grouped = NAME(grouped),
#endif
    .dots = NAME(dots),
    .deconvolve = NAME(deconvolve),
    .unary = NAME(unary),
    .softmax_pairs = NAME(softmax_pairs),
    .slope = NAME(slope),
    .binary = NAME(binary),
    .sum = NAME(sum),
    .dot = NAME(dot),
    .deviation = NAME(deviation),
    .center = NAME(center),
    .sum_rows = NAME(sum_rows),
    .move_lines = NAME(move_lines),
    .add_lines = NAME(add_lines),
    .interleave = NAME(interleave),
    .pool = NAME(pool),
    .pool_lines = NAME(pool_lines),
    .give_lines = NAME(give_lines),
    .lrn = NAME(lrn),
    .lrn_block = NAME(lrn_block),
    .lrn_back = NAME(lrn_back),
    .step = NAME(step),
    .store = NAME(store),
    .strassen_parts = NAME(strassen_parts),
    .add_vectors = NAME(add_vectors),
    .winograd_taps = NAME(winograd_taps),
    .winograd_in = NAME(winograd_in),
    .winograd_out = NAME(winograd_out),
    .winograd_across = NAME(winograd_across),
    .winograd_down = NAME(winograd_down),
    .winograd_up = NAME(winograd_up),
    .winograd_give = NAME(winograd_give),
};
