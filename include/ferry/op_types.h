/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_types.h
 * What an operation is, in numbers: kinds, operands, parameters, epilogue. Shared by programs (op.h)
 * and by plugins (the table "ferry.op/1", op_plugin.h).
 *
 * Part of the plugin ABI from minor 1.1: fixed-width members, numbers that never change, structures
 * that start with their size and grow at the end only. A kind that a plugin does not know is
 * FERRY_EUNSUPPORTED to it.
 *
 * Shapes are always logical: N, C, then the spatial axes. How an operand lies in memory is in its
 * strides alone: channels-last is a matter of strides, so is a slice of a concatenation, and a
 * transposed matrix. An operand is *plain* if it is row-major without gaps. A plugin takes plain
 * operands of any kind that it supports, and may refuse others.
 */
#ifndef FERRY_OP_TYPES_H
#define FERRY_OP_TYPES_H

#include <ferry/op_params.h>

FERRY_BEGIN_DECLS

/**
 * Where the elements of an operand lie: element (i0, i1, …) is at the sum of i·stride, counted in
 * elements from the reference that is given when the operation runs. Strides are positive; one of 0
 * is allowed on inputs of strided copies alone (tiling), and where the dimension is 1 the stride
 * says nothing. Outputs do not overlap themselves.
 */
typedef struct ferry_operand {
    uint32_t dtype;                /* FERRY_F32, … */
    uint32_t rank;                 /* 0 (a scalar) to FERRY_OP_AXES */
    int64_t shape[FERRY_OP_AXES];  /* each ≥ 0; the rest 0 */
    int64_t stride[FERRY_OP_AXES]; /* elements; the rest 0 */
} ferry_operand;

/*
 * Kinds. For each: its inputs and outputs in their order, "?" for those that may be left out at the
 * end, and what each element of out[0] is. Axis 1 is the channel. The numbers continue those of
 * plugin_types.h, so that one number means one operation.
 *
 * "data:", "weights:" and "bias:" are the backward passes of a kind, those that no other operation says:
 * what they read and what they write. dy is the gradient of y, in y's shape, and so for the others; the
 * parameters are those of the forward pass, and so is all that has to fit. Data overwrites dx; weights
 * and bias *add* to their output ("+="), which is read too, so that gradients gather over several runs.
 * A backward pass has one output and no epilogue.
 */

/**
 * in: x (N, C, spatial…), w, bias? (O). out: y (N, O, spatial…). Parameters: window.
 *
 * Cross-correlation as Caffe's Convolution: w is (O, C/group, kernel…), and each spatial axis of y has
 * (in + pad + pad_end − (dilation·(kernel − 1) + 1)) / stride + 1 elements, rounded down. With
 * window.transposed, Caffe's Deconvolution: w is (C, O/group, kernel…), and an axis of y has
 * stride·(in − 1) + dilation·(kernel − 1) + 1 − pad − pad_end elements.
 *
 * data: dy, w → dx. weights: dy, x → dw +=. bias: dy → db (O) +=.
 */
#define FERRY_OP_CONVOLUTION 32u
/**
 * in: x (M, …), w (N, K), bias? (N). out: y (M, N). K is the product of x's axes from 1 on, taken in
 * their logical order whatever x's strides: y = x·wᵀ + bias. A transposed w is one with its strides
 * exchanged. data: dy, w → dx. weights: dy, x → dw (N, K) +=. bias: dy → db (N) +=.
 */
#define FERRY_OP_INNER_PRODUCT 33u
/**
 * in: x (N, C, spatial…). out: columns (N, C·kernel…, spatial' …) with spatial' as convolution's y:
 * row c·K + k of image n is what element k of the kernel sees of channel c, 0 in the padding.
 * Parameters: window (group 1). Backward it is COL2IM, and that is IM2COL.
 */
#define FERRY_OP_IM2COL 34u
/** The reverse: in: columns as above. out: y (N, C, spatial…), each element the sum of its columns. */
#define FERRY_OP_COL2IM 35u
/**
 * in: a (B, M, K), b (B, K, N), c? (B, M, N). out: y (B, M, N) = gemm.alpha·a·b + gemm.beta·c. B of an
 * input may be 1: it is the same for each. Transposition is a matter of strides. y may be c exactly.
 */
#define FERRY_OP_BATCHED_GEMM 36u
/**
 * in: x (N, C, spatial…). out: y (N, C, spatial'…), mask? as y, F32 or I32. Parameters: pool, window.
 *
 * Window i of an axis covers from i·stride − pad on `kernel` elements, clipped; spatial' is the
 * caller's to choose (Caffe rounds up) as long as each window begins before in + pad_end. Max: of the
 * elements in the window, beginning at −FLT_MAX; the mask is the offset of the (first) maximum in its
 * plane, −1 where there was none. Average: the sum over the divisor of pool.divisor.
 *
 * data: dy, mask (for max alone) → dx. Each element gets the sum of dy over the windows that hold it:
 * max: of those whose mask names it, so that a mask of −1, or outside its own window, gives to none;
 * average: of all, each over its divisor.
 */
#define FERRY_OP_POOL 37u
/**
 * in: x. out: y, of x's shape: unary.function of x. y may be x exactly. Parameters: unary.
 *
 * data: dy, r → dx, where r is x or y: the functions say which. dx may be dy exactly.
 */
#define FERRY_OP_UNARY 38u
/**
 * in: x, u, v?. out: y. Shapes have one rank; each axis of an input is y's or 1, and is then repeated.
 * y may be x or u exactly, where that has y's shape and strides. Parameters: binary.
 *
 * data: dy, x, u → dx, of dy's shape; x has it too; dx may be dy exactly. weights: dy, and x and u where
 * the function says so → du +=. bias: dy → dv +=. What is repeated in y gets the sum over its
 * repetitions. The functions say which passes they have.
 */
#define FERRY_OP_BINARY 39u
/**
 * in: x. out: y, of x's rank, with 1 on each axis in reduce.axes and x's dimension on the others.
 * Parameters: reduce. Sums of F32 are as exact as pairwise summation at least.
 *
 * data: dy, x? → dx. Sum (without x): scale·dy; sum of squares: 2·scale·x·dy; sum of magnitudes:
 * scale·dy by x's sign, 0 where x is 0. A maximum has none.
 */
#define FERRY_OP_REDUCE 40u
/**
 * in: x. out: mean, variance (the biased one), shaped as the output of REDUCE over reduce.axes. In two
 * passes: the variance is the mean of the squares of x − mean. Of no elements both are 0.
 *
 * data: dy, y?, scale? → dx, of dy's shape: through the normalisation y = (x − mean)·scale, where scale
 * has the mean's shape and comes from the variance: scale·(dy − M(dy) − y·M(dy·y)), M the mean over
 * reduce.axes. dy alone: y = x − mean, and dx = dy − M(dy). dx may be dy exactly.
 */
#define FERRY_OP_MOMENTS 41u
/**
 * in: x. out: y, of x's shape: exp(x − max) over its sum along softmax.axis. y may be x exactly.
 *
 * data: dy, y → dx = y·(dy − Σ dy·y), with softmax.logarithm dy − exp(y)·Σ dy, the sums along the axis.
 * dx may be dy exactly.
 */
#define FERRY_OP_SOFTMAX 42u
/**
 * in: x (N, C, spatial…). out: y, scale?, of x's shape. Parameters: lrn. Across channels: scale =
 * k + alpha/size · Σ x² over `size` channels around each; within a channel: scale = 1 + alpha ·
 * (Σ x² over size × size around each) / (the elements of that window, its padding included, as POOL's
 * average). y = x · scale^−beta. (Caffe: LRN.)
 *
 * data: dy, x, y, scale → dx = dy·scale^−beta − 2·alpha·beta/n · x · Σ dy·y/scale, the sum over the same
 * neighbours, n being size across and size² within.
 */
#define FERRY_OP_LRN 43u
/**
 * in: x. out: y, of x's shape: y = x, converted where dtypes differ: rounded once, to nearest even, integers
 * saturate, NaN becomes 0 in them. Any strides; x's may be 0.
 * Concatenation, slices, crops, permutations, tiling and changes of layout are made of it. Backward it
 * is a copy the other way, for tiling a REDUCE.
 */
#define FERRY_OP_STRIDED_COPY 44u
/**
 * in: x (N, C, H, W). out: y (N, C, H', W'). Parameters: resize.
 *
 * data: dy → dx: each element the sum of what it gave to elements of y, by the same weights.
 */
#define FERRY_OP_RESIZE 45u
/**
 * in: x (N, C, H, W), rois (R, 5): image, x1, y1, x2, y2. out: y (R, C', PH, PW). Parameters: roi. Max
 * over each bin (Fast R-CNN's ROIPooling; C' = C), or with roi.group the average over position-
 * sensitive channels (R-FCN's PSROIPooling; C = C'·group²).
 */
#define FERRY_OP_ROI_POOL 46u
/**
 * in: table (T, D…), index (I…), F32, I32 or I64. out: y (I…, D…): the rows of the table that the
 * indices name, an F32's fraction being cut off. An index below 0, from T on or NaN gives a row of
 * zeros, never a read elsewhere. Backward it is SCATTER_ADD.
 */
#define FERRY_OP_GATHER 47u
/**
 * in: x (I…, D…), index (I…), as GATHER's. in/out: y (T, D…): row index[i] of y += row i of x; in order
 * of i. An index that names no row adds to none. Backward it is GATHER.
 */
#define FERRY_OP_SCATTER_ADD 48u
/**
 * out: y. Philox 4×32-10, keyed by the run's seed: the same numbers on every device. Element i is made
 * of word i mod 4 of the block that is counted by the run's offset + i / 4; its upper 24 bits are u in
 * [0, 1). Gaussian numbers come in pairs of an even i and i + 1 (Box and Muller): with u of the even
 * one plus 2⁻²⁴ and v of the odd one, √(−2·ln u) times cos 2πv and sin 2πv. Parameters: random.
 */
#define FERRY_OP_RANDOM 49u
/**
 * A solver's update of parameters. in: grad. in/out: param w, histories h (and k, of ADADELTA and
 * ADAM), all of one shape. Parameters: update. What changes from run to run is in the run's scalars, of
 * which there are FERRY_UPDATE_SCALARS, so that one prepared operation serves a whole training:
 * scale, l2, l1, rate, momentum, decay, delta. With g = scale·grad + l2·w + l1·sign(w), each run is
 *
 *     SGD       h = momentum·h + rate·g                                    w −= h
 *     NESTEROV  h' = momentum·h + rate·g, then h = h'                      w −= (1 + momentum)·h' − momentum·h
 *     ADAGRAD   h = h + g²                                                 w −= rate·(g / (√h + delta))
 *     RMSPROP   h = decay·h + (1 − decay)·g²                               w −= rate·(g / (√h + delta))
 *     ADADELTA  h = momentum·h + (1 − momentum)·g²,
 *               u = g·√((k + delta) / (h + delta)), k = momentum·k + (1 − momentum)·u²    w −= rate·u
 *     ADAM      h = momentum·h + (1 − momentum)·g, k = decay·k + (1 − decay)·g²
 *                                                                          w −= rate·(h / (√k + delta))
 *
 * Adam's correction of its bias is part of the rate that it is given.
 */
#define FERRY_OP_UPDATE 50u
/** What `name` says ("acme.roialign/1"), with a parameter block of its own. Parameters: named. */
#define FERRY_OP_NAMED 63u

/** Passes. Backward ones get the gradient of y as in[0]; each kind's comment says the rest. */
#define FERRY_PASS_FORWARD          0u
#define FERRY_PASS_BACKWARD_DATA    1u /* out[0] = the gradient of x */
#define FERRY_PASS_BACKWARD_WEIGHTS 2u /* out[0] += the gradient of w, or of u */
#define FERRY_PASS_BACKWARD_BIAS    3u /* out[0] += the gradient of the bias, or of v */

/** Flags of ferry_op_desc.math: what may be traded for speed. 0: nothing. */
#define FERRY_MATH_TF32     1u
#define FERRY_MATH_WINOGRAD 2u /* convolutions by tiles: fewer multiplications, other rounding */

/** Steps of an epilogue. */
#define FERRY_STEP_UNARY 0u /* y = function(y; a, b, c) */
#define FERRY_STEP_ADD   1u /* y += in[operand], which has y's shape */
#define FERRY_STEP_SCALE 2u /* y *= in[operand], one element a channel (C) */
#define FERRY_STEP_SHIFT 3u /* y += in[operand], one element a channel (C) */
#define FERRY_STEP_PRELU \
    4u /* y = y > 0 ? y : in[operand]·y, one element a channel (C), or one in all */

/** One step that is applied to out[0] before it is stored. Its operands follow the kind's own. */
typedef struct ferry_op_step {
    uint32_t step;     /* FERRY_STEP_… */
    uint32_t function; /* FERRY_UNARY_… */
    uint32_t operand;  /* index of an input */
    uint32_t reserved;
    double a, b, c;
} ferry_op_step;

/**
 * An operation. ferry_op_desc_init (op.h) makes an empty one of a kind; whoever fills it in sets what the
 * kind's comment names. A value: it owns nothing, and is copied by whoever keeps it.
 */
typedef struct ferry_op_desc {
    uint32_t struct_size;
    uint32_t kind; /* FERRY_OP_… */
    uint32_t pass; /* FERRY_PASS_… */
    uint32_t math; /* FERRY_MATH_… */
    uint32_t n_in, n_out, n_epilogue;
    uint32_t constants; /* bit i: in[i] seldom changes (weights), and may be packed */
    ferry_operand in[FERRY_OP_INPUTS];
    ferry_operand out[FERRY_OP_OUTPUTS];
    ferry_op_params params;
    ferry_op_step epilogue[FERRY_OP_EPILOGUE];
} ferry_op_desc;

FERRY_END_DECLS

#endif
