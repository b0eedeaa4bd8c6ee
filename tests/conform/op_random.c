/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "op.h"

#include <ferry/op.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/*
 * ops-random: operations of random shapes, layouts and parameters, from a seed: the same ones for
 * a second, or as many as `--minutes` permits.
 */

#define ROUNDS 150 /* without --minutes */
#define MOST   20000 /* elements of an operand */

static uint64_t state;

static int64_t below(int64_t n)
{
    return (int64_t)(kit_random(&state) % (uint64_t)n);
}

/* Small sizes, and those around powers of two. */
static int64_t size(int64_t most)
{
    int64_t power = INT64_C(1) << below(8), n = below(2) ? 1 + below(9) : power + below(3) - 1;

    return n < 1 ? 1 : n > most ? most : n;
}

/* The axes in a random order, with gaps between them. */
static void lay(ferry_operand *o)
{
    uint32_t order[FERRY_OP_AXES];
    int64_t run = 1;
    bool gaps = below(3) == 0, mixed = below(3) == 0;

    for (uint32_t k = 0; k < o->rank; k++)
        order[k] = o->rank - 1 - k;
    for (uint32_t k = 0; mixed && k < o->rank; k++) {
        uint32_t with = (uint32_t)below(o->rank), axis = order[k];

        order[k] = order[with];
        order[with] = axis;
    }
    for (uint32_t k = 0; k < o->rank; k++) {
        int64_t room = o->shape[order[k]] + (gaps ? below(3) : 0);

        o->stride[order[k]] = run;
        run *= room > 1 ? room : 1;
    }
}

static void any_shape(ferry_operand *o, uint32_t least_rank)
{
    uint32_t rank = least_rank + (uint32_t)below(5 - least_rank);
    int64_t shape[FERRY_OP_AXES + 1], room = MOST;

    for (uint32_t axis = 0; axis < rank; axis++) {
        shape[axis] = size(room < 300 ? room : 300);
        room /= shape[axis];
    }
    shape[rank] = -1;
    op_shape(o, FERRY_F32, shape);
}

/* ---- kinds ---------------------------------------------------------------------------------- */

static ferry_op_desc unary(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_UNARY, 1, 1);
    uint32_t f = (uint32_t)below(FERRY_UNARY_COUNT);

    op.params.unary.function = f;
    op.params.unary.a = op_unary_trials[f][0];
    op.params.unary.b = op_unary_trials[f][1];
    op.params.unary.c = op_unary_trials[f][2];
    any_shape(&op.in[0], 0);
    op.out[0] = op.in[0];
    return op;
}

static ferry_op_desc binary(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_BINARY, 2, 1);

    op.params.binary.function = (uint32_t)below(FERRY_BINARY_QUOTIENT + 1);
    op.params.binary.a = 1.25;
    op.params.binary.b = -0.75;
    any_shape(&op.out[0], 1);
    op.in[0] = op.in[1] = op.out[0];
    for (uint32_t axis = 0; axis < op.out[0].rank; axis++)
        op.in[1].shape[axis] = below(3) ? op.out[0].shape[axis] : 1;
    op_lay(&op.in[1], OP_PLAIN);
    if (op.params.binary.function == FERRY_BINARY_NORMALISE ||
        (op.params.binary.function == FERRY_BINARY_SCALE && below(2)))
        op.in[op.n_in++] = op.in[1];
    return op;
}

static ferry_op_desc reduce(void)
{
    uint32_t f = (uint32_t)below(FERRY_REDUCE_ARGMAX + 2);
    bool moments = f > FERRY_REDUCE_ARGMAX;
    ferry_op_desc op =
        op_begin(moments ? FERRY_OP_MOMENTS : FERRY_OP_REDUCE, 1, moments ? 2 : 1);

    any_shape(&op.in[0], 1);
    op.params.reduce.function = moments ? 0 : f;
    op.params.reduce.scale = moments ? 0 : f == FERRY_REDUCE_ARGMAX ? 1 : 0.75;
    op.params.reduce.axes = f == FERRY_REDUCE_ARGMAX
                                ? 1u << below(op.in[0].rank)
                                : 1 + (uint32_t)below((INT64_C(1) << op.in[0].rank) - 1);
    op.out[0] = op.in[0];
    for (uint32_t axis = 0; axis < op.in[0].rank; axis++)
        if (op.params.reduce.axes >> axis & 1)
            op.out[0].shape[axis] = 1;
    op_lay(&op.out[0], OP_PLAIN);
    op.out[0].dtype = f == FERRY_REDUCE_ARGMAX ? FERRY_I32 : FERRY_F32;
    op.out[1] = moments ? op.out[0] : op.out[1];
    return op;
}

static ferry_op_desc softmax(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_SOFTMAX, 1, 1);

    any_shape(&op.in[0], 1);
    op.params.softmax.axis = (uint32_t)below(op.in[0].rank);
    op.params.softmax.logarithm = (uint32_t)below(2);
    op.out[0] = op.in[0];
    return op;
}

static ferry_op_desc copy(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_STRIDED_COPY, 1, 1);

    any_shape(&op.in[0], 0);
    op.out[0] = op.in[0];
    return op;
}

static int64_t out_size(int64_t in, const ferry_op_window *w, int axis)
{
    int64_t extent = w->dilation[axis] * (w->kernel[axis] - 1) + 1;

    return (in + w->pad[axis] + w->pad_end[axis] - extent) / w->stride[axis] + 1;
}

/* A window that an image of h × w elements has room for. */
static void any_window(ferry_op_window *w, const int64_t *image)
{
    w->axes = 2;
    w->group = 1;
    for (int axis = 0; axis < FERRY_OP_SPATIAL; axis++)
        w->kernel[axis] = w->stride[axis] = w->dilation[axis] = 1;
    for (int axis = 0; axis < 2; axis++) {
        w->kernel[axis] = 1 + below(image[axis] < 5 ? image[axis] : 5);
        w->stride[axis] = 1 + below(3);
        w->pad[axis] = below(w->kernel[axis]);
        w->pad_end[axis] = below(w->kernel[axis]);
    }
}

static ferry_op_desc convolution(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_CONVOLUTION, 2, 1);
    ferry_op_window *w = &op.params.window;
    int64_t image[2] = { size(24), size(24) }, group = 1 + below(3), c = size(24), o = size(24);

    any_window(w, image);
    w->group = (uint32_t)group;
    OP_SHAPE(&op.in[0], FERRY_F32, 1 + below(2), c * group, image[0], image[1]);
    OP_SHAPE(&op.in[1], FERRY_F32, o * group, c, w->kernel[0], w->kernel[1]);
    OP_SHAPE(&op.out[0], FERRY_F32, op.in[0].shape[0], o * group, out_size(image[0], w, 0),
             out_size(image[1], w, 1));
    if (below(2)) {
        OP_SHAPE(&op.in[2], FERRY_F32, o * group);
        op.n_in = 3;
        op.constants = 6;
    }
    return op;
}

static ferry_op_desc pool(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_POOL, 1, 1);
    ferry_op_window *w = &op.params.window;
    int64_t image[2] = { size(30), size(30) }, n = 1 + below(2), c = size(40);

    any_window(w, image);
    op.params.pool.method = (uint32_t)below(2);
    op.params.pool.divisor = op.params.pool.method ? (uint32_t)below(2) : 0;
    OP_SHAPE(&op.in[0], FERRY_F32, n, c, image[0], image[1]);
    OP_SHAPE(&op.out[0], FERRY_F32, n, c, out_size(image[0], w, 0), out_size(image[1], w, 1));
    return op;
}

static ferry_op_desc product(void)
{
    bool inner = below(2);
    ferry_op_desc op =
        op_begin(inner ? FERRY_OP_INNER_PRODUCT : FERRY_OP_BATCHED_GEMM, inner ? 3 : 2, 1);
    int64_t m = size(100), n = size(100), k = size(200), b = 1 + below(3);

    if (inner) {
        OP_SHAPE(&op.in[0], FERRY_F32, m, k);
        OP_SHAPE(&op.in[1], FERRY_F32, n, k);
        OP_SHAPE(&op.in[2], FERRY_F32, n);
        OP_SHAPE(&op.out[0], FERRY_F32, m, n);
        op.constants = below(2) ? 6 : 0;
        return op;
    }
    op.params.gemm.alpha = -0.75;
    OP_SHAPE(&op.in[0], FERRY_F32, b, m, k);
    OP_SHAPE(&op.in[1], FERRY_F32, below(2) ? b : 1, k, n);
    OP_SHAPE(&op.out[0], FERRY_F32, b, m, n);
    return op;
}

static ferry_op_desc lrn(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_LRN, 1, 1);

    op.params.lrn.region = (uint32_t)below(2);
    op.params.lrn.size = 1 + 2 * below(3);
    op.params.lrn.alpha = op.params.lrn.beta = 0.75;
    op.params.lrn.k = op.params.lrn.region == FERRY_LRN_ACROSS ? 2 : 1;
    OP_SHAPE(&op.in[0], FERRY_F32, 1 + below(2), size(40), size(15), size(15));
    op.out[0] = op.in[0];
    return op;
}

static ferry_op_desc resize(void)
{
    ferry_op_desc op = op_begin(FERRY_OP_RESIZE, 1, 1);
    int64_t n = 1 + below(2), c = size(9);

    op.params.resize.method = (uint32_t)below(2);
    op.params.resize.sampling = (uint32_t)below(3);
    OP_SHAPE(&op.in[0], FERRY_F32, n, c, size(20), size(20));
    OP_SHAPE(&op.out[0], FERRY_F32, n, c, size(40), size(40));
    return op;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static bool is_plain(const ferry_op_desc *op)
{
    for (uint32_t i = 0; i < op->n_in; i++) {
        ferry_operand o = op->in[i];

        op_lay(&o, OP_PLAIN);
        if (memcmp(&o, &op->in[i], sizeof(o)) != 0)
            return false;
    }
    return true;
}

static void round_of(uint64_t seed)
{
    static ferry_op_desc (*const kinds[])(void) = { unary,   binary,      reduce, softmax, copy,
                                                    convolution, pool, product, lrn,    resize };
    char note[48];
    ferry_op_desc op;

    state = seed * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 4; i++)
        kit_random(&state);
    op = kinds[below(sizeof(kinds) / sizeof(kinds[0]))]();
    for (uint32_t i = 0; i < op.n_in; i++)
        lay(&op.in[i]);
    for (uint32_t i = 0; i < op.n_out; i++)
        lay(&op.out[i]);
    snprintf(note, sizeof(note), "of seed %" PRIu64, seed);
    op_tally.tried++;
    if (op_try_laid(&op, note, false, false))
        op_tally.taken++;
    else if (!is_plain(&op)) /* a plugin may refuse other strides */
        op_try(&op, note, false);
}

void group_ops_random(void)
{
    struct timespec begin, now;
    uint64_t first = kit.target->seed ? kit.target->seed : 1, seed = first;

    op_open();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        round_of(seed++);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (kit.target->minutes ? now.tv_sec - begin.tv_sec < 60 * (int64_t)kit.target->minutes
                                 : seed < first + ROUNDS);
    if (!op_tally.taken)
        kit_not_offered("its table accepts none of %d operations", op_tally.tried);
    kit_remark("seeds %" PRIu64 " to %" PRIu64 ": %d of %d trials", first, seed - 1,
               op_tally.taken, op_tally.tried);
}
