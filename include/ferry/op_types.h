/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_types.h
 * Operations as data: the kinds. Programs (op.h) and plugins (the table "ferry.op/1", op_plugin.h)
 * share these definitions and the structures of op_desc.h.
 *
 * Part of the plugin ABI from minor 1.1: numbers never change. A plugin returns FERRY_EUNSUPPORTED
 * for a kind that it does not know.
 *
 * This header declares nothing but macros. A compiler cache therefore recompiles only the sources
 * that use a macro whose value has changed.
 */
#ifndef FERRY_OP_TYPES_H
#define FERRY_OP_TYPES_H

#include <ferry/op_desc.h>

/*
 * Special values and errors, for all kinds without permitted approximations (FERRY_MATH_…);
 * `ferry check` tries them.
 *
 * NaN: an element whose definition uses a NaN is NaN, also after RELU. MAX and ARGMAX (with POOL's
 * mask) may ignore a NaN instead; THRESHOLD, CLIP, HARD_SIGMOID and HARD_SWISH may give a bound.
 * Where IEEE arithmetic gives NaN for an infinite x (0·∞, ∞/∞), a function may give its limit
 * instead. These are undefined: the sign of a zero, products of padding and a weight that is not
 * finite, and products of an x that is not finite and the weights of other groups of a convolution.
 *
 * Overflow: only a result beyond the dtype's range is infinite; the intermediate results of a
 * finite one must not overflow. Results below the smallest normal number may be 0. With gemm.beta
 * 0, c is not read.
 *
 * Errors: each rounding in a definition permits an error of half an ε (the distance from 1 to the
 * next number; of F32 for halves) of the sum of the magnitudes of its terms. A sum of n terms has n
 * roundings, 64 + 4·√(n − 64) if n > 64; REDUCE and MOMENTS have 34 + 2·log₂(n/32) if n > 32; roots
 * and transcendental functions 24. MAX, ARGMAX, masks, THRESHOLD and copies are exact.
 */

/*
 * Kinds. Each comment lists the inputs and outputs in order and defines the elements of out[0]; "?"
 * marks operands that may be omitted at the end. Axis 1 is the channel axis. The numbers continue
 * those of plugin_types.h, so a number identifies one operation across both lists.
 *
 * "data:", "weights:" and "bias:" give the inputs and the output of the kind's backward passes.
 * Gradients that another kind can compute have no pass here. dy is the gradient of y and has y's
 * shape, and likewise dx, dw and db. Parameters and shape rules are those of the forward pass. The
 * data pass overwrites dx. The weights and bias passes read their output and add to it ("+="), so
 * gradients accumulate over several runs. A backward pass has one output and no epilogue.
 */

/**
 * in: x (N, C, spatial…), w, bias? (O). out: y (N, O, spatial…). Parameters: window.
 *
 * Cross-correlation as in Caffe's Convolution. w is (O, C/group, kernel…). Each spatial axis of y
 * has (in + pad + pad_end − (dilation·(kernel − 1) + 1)) / stride + 1 elements, rounded down. With
 * window.transposed the kind is Caffe's Deconvolution: w is (C, O/group, kernel…), and each spatial
 * axis of y has stride·(in − 1) + dilation·(kernel − 1) + 1 − pad − pad_end elements.
 *
 * data: dy, w → dx. weights: dy, x → dw +=. bias: dy → db (O) +=.
 */
#define FERRY_OP_CONVOLUTION 32u
/**
 * in: x (M, …), w (N, K), bias? (N). out: y (M, N) = x·wᵀ + bias. (Caffe: InnerProduct.)
 *
 * K is the product of x's axes from 1 on; x is flattened in logical order, independent of its
 * strides. A transposed w is expressed by its strides. data: dy, w → dx. weights: dy, x → dw (N, K)
 * +=. bias: dy → db (N) +=.
 */
#define FERRY_OP_INNER_PRODUCT 33u
/**
 * in: x (N, C, spatial…). out: columns (N, C·kernel…, spatial'…), with spatial' as of y in
 * convolution. Parameters: window (group 1).
 *
 * Row c·K + k of image n has, for each position of the window, the element of channel c under
 * element k of the kernel, where K is the number of kernel elements; elements in the padding are 0.
 * The backward pass of IM2COL is COL2IM, and the reverse.
 */
#define FERRY_OP_IM2COL 34u
/**
 * The reverse of IM2COL. in: columns as above. out: y (N, C, spatial…). Each element of y is the
 * sum of its elements in the columns.
 */
#define FERRY_OP_COL2IM 35u
/**
 * in: a (B, M, K), b (B, K, N), c? (B, M, N). out: y (B, M, N) = gemm.alpha·a·b + gemm.beta·c.
 *
 * An input with B = 1 is used for every matrix of the batch. Transposition is expressed by strides.
 * y may be the same operand as c.
 */
#define FERRY_OP_BATCHED_GEMM 36u
/**
 * in: x (N, C, spatial…). out: y (N, C, spatial'…), mask? (y's shape, F32 or I32). Parameters:
 * pool, window.
 *
 * Window i of an axis covers `kernel` elements from i·stride − pad on, clipped to the input. The
 * caller chooses spatial' (Caffe rounds up); every window has to begin before in + pad_end. Max:
 * the largest element of the window, with the initial value −FLT_MAX. The mask is the offset of the
 * first maximum in its plane, or −1 if no element exceeds the initial value. Average: the sum
 * divided as pool.divisor selects; 0 if the divisor counts no element of the window.
 *
 * data: dy, mask (max only) → dx. For max, each element gets the sum of dy over the windows whose
 * mask selects it; a mask of −1 or outside its own window selects no element. For average, each
 * element gets the sum of dy / divisor over the windows that contain it.
 */
#define FERRY_OP_POOL 37u
/**
 * in: x. out: y (x's shape) = unary.function(x). y may be the same operand as x. Parameters: unary.
 *
 * data: dy, r → dx. r is x or y, as the comment of each function states. dx may be the same operand
 * as dy.
 */
#define FERRY_OP_UNARY 38u
/**
 * in: x, u, v?. out: y = binary.function(x, u, v). Parameters: binary. All shapes have the same
 * rank; each axis of an input has y's dimension, or 1 and is broadcast. y may be the same operand
 * as x or u if that has y's shape and strides.
 *
 * data: dy, x, u → dx; dx and x have dy's shape, and dx may be the same operand as dy. weights: dy,
 * and x and u if the function needs them → du +=. bias: dy → dv +=. The gradient of a broadcast
 * axis is the sum along that axis. The comment of each function lists its passes.
 */
#define FERRY_OP_BINARY 39u
/**
 * in: x. out: y, of x's rank: dimension 1 on the axes in reduce.axes, x's dimension on the others.
 * Parameters: reduce. Sums in F32 are at least as exact as pairwise summation.
 *
 * data: dy, x? → dx. Sum: scale·dy, without x. Sum of squares: 2·scale·x·dy. Sum of absolute
 * values: scale·dy·sign(x), with sign(0) = 0. MAX and ARGMAX have no backward pass.
 */
#define FERRY_OP_REDUCE 40u
/**
 * in: x. out: mean, variance (biased), both shaped as the output of REDUCE over reduce.axes.
 * Computed in two passes: the variance is the mean of (x − mean)². Both are 0 for an empty input.
 *
 * data: dy, y?, scale? → dx, of dy's shape: the gradient of the normalisation y = (x − mean)·scale.
 * scale has the mean's shape and is a function of the variance. With M the mean over reduce.axes,
 * dx = scale·(dy − M(dy) − y·M(dy·y)). With dy alone, y = x − mean and dx = dy − M(dy). dx may be
 * the same operand as dy.
 */
#define FERRY_OP_MOMENTS 41u
/**
 * in: x. out: y (x's shape) = exp(x − max) / Σ exp(x − max), with maximum and sum along
 * softmax.axis. y may be the same operand as x. Parameters: softmax.
 *
 * data: dy, y → dx = y·(dy − Σ dy·y). With softmax.logarithm: dx = dy − exp(y)·Σ dy. Sums are along
 * the axis. dx may be the same operand as dy.
 */
#define FERRY_OP_SOFTMAX 42u
/**
 * in: x (N, C, spatial…). out: y, scale?, both of x's shape. Parameters: lrn. (Caffe: LRN.)
 *
 * Across channels: scale = k + alpha/size · Σ x² over the `size` channels centred on each. Within a
 * channel: scale = 1 + alpha · (Σ x² over the size × size window centred on each element) /
 * (elements of that window, with padding, as in POOL's average). y = x · scale^−beta.
 *
 * data: dy, x, y, scale → dx = dy·scale^−beta − 2·alpha·beta/n · x · Σ dy·y/scale. The sum is over
 * the same window; n is size across channels and size² within.
 */
#define FERRY_OP_LRN 43u
/**
 * in: x. out: y (x's shape) = x. If the dtypes differ, values are converted: rounded once to
 * nearest even, integers saturate, NaN becomes integer 0. All strides are valid; x's may be 0.
 *
 * Concatenation, slicing, cropping, permutation, tiling and layout changes are strided copies. The
 * backward pass is a copy in the other direction; for tiling it is a REDUCE.
 */
#define FERRY_OP_STRIDED_COPY 44u
/**
 * in: x (N, C, H, W). out: y (N, C, H', W'). Parameters: resize.
 *
 * data: dy → dx. Each element of dx is the weighted sum of the elements of dy that it contributed
 * to, with the weights of the forward pass.
 */
#define FERRY_OP_RESIZE 45u
/**
 * in: x (N, C, H, W), rois (R, 5): image index, x1, y1, x2, y2. out: y (R, C', PH, PW). Parameters:
 * roi. The maximum over each bin (Fast R-CNN's ROIPooling; C' = C), or with roi.group the average
 * over position-sensitive channels (R-FCN's PSROIPooling; C = C'·group²). An empty bin gives 0. An
 * image index is limited to 0 … N − 1.
 */
#define FERRY_OP_ROI_POOL 46u
/**
 * in: table (T, D…), index (I…; F32, I32 or I64). out: y (I…, D…): the rows of the table at the
 * indices. The fraction of an F32 index is truncated. For an index below 0, an index ≥ T, and NaN
 * the row is zeros; memory outside the table is never read. The backward pass is SCATTER_ADD.
 * (Caffe: Embed.)
 */
#define FERRY_OP_GATHER 47u
/**
 * in: x (I…, D…), index (I…), as GATHER's. in/out: y (T, D…). Row index[i] of y += row i of x, in
 * increasing order of i. An index out of range is skipped. The backward pass is GATHER.
 */
#define FERRY_OP_SCATTER_ADD 48u
/**
 * out: y. Random numbers by Philox 4×32-10, keyed by the run's seed: the same on every device.
 * Parameters: random.
 *
 * Element i uses word i mod 4 of block offset + i / 4, where `offset` is the run's. u, in [0, 1),
 * is the upper 24 bits of the word. Gaussian numbers are computed in pairs by Box and Muller,
 * elements i (even) and i + 1: with u of element i plus 2⁻²⁴ and v of element i + 1, they are
 * √(−2·ln u)·cos 2πv and √(−2·ln u)·sin 2πv.
 */
#define FERRY_OP_RANDOM 49u
/**
 * A solver's update of parameters. in: grad. in/out: param w, history h, and for ADADELTA and ADAM
 * a second history k; all of one shape. Parameters: update.
 *
 * The run passes the values that change between iterations as FERRY_UPDATE_SCALARS scalars, so one
 * prepared operation serves a whole training: scale, l2, l1, rate, momentum, decay, delta. With g =
 * scale·grad + l2·w + l1·sign(w):
 *
 *     SGD       h = momentum·h + rate·g;                   w −= h
 *     NESTEROV  h' = momentum·h + rate·g;                  w −= (1 + momentum)·h' − momentum·h;
 *               then h = h'
 *     ADAGRAD   h = h + g²;                                w −= rate·(g / (√h + delta))
 *     RMSPROP   h = decay·h + (1 − decay)·g²;              w −= rate·(g / (√h + delta))
 *     ADADELTA  h = momentum·h + (1 − momentum)·g²;        w −= rate·u
 *               u = g·√((k + delta) / (h + delta));
 *               k = momentum·k + (1 − momentum)·u²
 *     ADAM      h = momentum·h + (1 − momentum)·g;         w −= rate·(h / (√k + delta))
 *               k = decay·k + (1 − decay)·g²
 *
 * For ADAM the caller includes the bias correction in `rate`.
 */
#define FERRY_OP_UPDATE 50u
/** The largest number of a kind of this header but FERRY_OP_NAMED; the kinds have no gap. */
#define FERRY_OP_LAST 50u
/**
 * An operation of a plugin, selected by params.named.name ("acme.roialign/1"), with its own
 * parameter block. Parameters: named.
 */
#define FERRY_OP_NAMED 63u

#endif
