/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds with a window over spatial axes. */
#include "op/kind.h"

#include <ferry/status.h>

#include <inttypes.h>
#include <stdio.h>

/* The extent of the window on a spatial axis; −1 on overflow. */
static int64_t kernel_extent(const ferry_op_window *w, uint32_t i)
{
    int64_t extent;

    if (__builtin_mul_overflow(w->dilation[i], w->kernel[i] - 1, &extent) ||
        __builtin_add_overflow(extent, 1, &extent))
        return -1;
    return extent;
}

static int axis_check(const ferry_op_desc *op, uint32_t i)
{
    static const char *const wrong[] = { "kernel", "stride", "dilation", "pad", "pad_end" };
    const ferry_op_window *w = &op->params.window;
    const int64_t got[] = { w->kernel[i], w->stride[i], w->dilation[i], w->pad[i], w->pad_end[i] };
    char what[48];
    int k;

    for (k = 0; k < 5; k++)
        if (got[k] < (k < 3) || got[k] > INT32_MAX) {
            snprintf(what, sizeof what, "%s of spatial axis %u", wrong[k], i);
            return ferry__bad(op, what, got[k], k < 3, INT32_MAX);
        }
    return 0;
}

/* Checks the window, and that `x` has its number of spatial axes. */
static int window_check(const ferry_op_desc *op, const ferry_operand *x)
{
    const ferry_op_window *w = &op->params.window;
    uint32_t i;
    int err;

    if (w->axes < 1 || w->axes > FERRY_OP_SPATIAL)
        return ferry__bad(op, "window.axes", w->axes, 1, FERRY_OP_SPATIAL);
    if (w->group < 1 || (w->group > 1 && op->kind != FERRY_OP_CONVOLUTION))
        return ferry__bad(op, "window.group", w->group, 1,
                          op->kind == FERRY_OP_CONVOLUTION ? UINT32_MAX : 1);
    if (w->transposed > 1 || (w->transposed && op->kind != FERRY_OP_CONVOLUTION))
        return ferry__bad(op, "window.transposed", w->transposed, 0,
                          op->kind == FERRY_OP_CONVOLUTION);
    if (x->rank != w->axes + 2)
        return ferry__misfit(op, "the rank of its image", x->rank, w->axes + 2);
    for (i = 0; i < w->axes; i++) {
        err = axis_check(op, i);
        if (err)
            return err;
    }
    return 0;
}

/* Reports a spatial axis i whose valid parameters multiply to more than 63 bits. */
static int too_wide(const ferry_op_desc *op, uint32_t i, int64_t in)
{
    const ferry_op_window *w = &op->params.window;

    return ferry_error_set(FERRY_EOVERFLOW,
                           "%s: spatial axis %u does not fit 63 bits: %" PRId64
                           " elements, stride %" PRId64 ", kernel %" PRId64 ", dilation %" PRId64,
                           ferry__op_title(op), i, in, w->stride[i], w->kernel[i], w->dilation[i]);
}

/* The output size of sliding the window over `in` elements of spatial axis i; FERRY_ESHAPE. */
static int64_t slid(const ferry_op_desc *op, uint32_t i, int64_t in)
{
    const ferry_op_window *w = &op->params.window;
    int64_t extent = kernel_extent(w, i), padded;

    if (extent < 0 || __builtin_add_overflow(in, w->pad[i] + w->pad_end[i], &padded))
        return too_wide(op, i, in);
    if (extent > padded)
        return ferry_error_set(FERRY_ESHAPE,
                               "%s: a kernel that covers %" PRId64
                               " elements of spatial axis %u, which has %" PRId64
                               " with its padding",
                               ferry__op_title(op), extent, i, padded);
    return (padded - extent) / w->stride[i] + 1;
}

/* As slid, for the transposed window. */
static int64_t spread(const ferry_op_desc *op, uint32_t i, int64_t in)
{
    const ferry_op_window *w = &op->params.window;
    int64_t extent = kernel_extent(w, i), wide;

    if (extent < 0 || __builtin_mul_overflow(w->stride[i], in - 1, &wide) ||
        __builtin_add_overflow(wide, extent, &wide))
        return too_wide(op, i, in);
    wide -= w->pad[i] + w->pad_end[i];
    if (wide < 1)
        return ferry_error_set(FERRY_ESHAPE,
                               "%s: spatial axis %u would have %" PRId64 " elements, at least 1 is "
                               "required",
                               ferry__op_title(op), i, wide);
    return wide;
}

static int spatial_misfit(const ferry_op_desc *op, uint32_t i, int64_t got, int64_t want)
{
    char what[32];

    snprintf(what, sizeof what, "spatial axis %u of y", i);
    return ferry__misfit(op, what, got, want);
}

static int weights_check(const ferry_op_desc *op)
{
    const ferry_op_window *w = &op->params.window;
    const ferry_operand *x = &op->in[0], *k = &op->in[1], *y = &op->out[0];
    int64_t wide = w->transposed ? y->shape[1] : x->shape[1]; /* the number of channels that are
                                                               * divided into groups */
    uint32_t i;

    if (k->rank != w->axes + 2)
        return ferry__misfit(op, "the rank of its weights", k->rank, w->axes + 2);
    if (x->shape[1] % w->group || y->shape[1] % w->group)
        return ferry_error_set(FERRY_ESHAPE, "%s: %" PRId64 " channels to %" PRId64 " in %u groups",
                               ferry__op_title(op), x->shape[1], y->shape[1], w->group);
    if (k->shape[0] != (w->transposed ? x->shape[1] : y->shape[1]))
        return ferry__misfit(op, "axis 0 of its weights", k->shape[0],
                             w->transposed ? x->shape[1] : y->shape[1]);
    if (k->shape[1] != wide / w->group)
        return ferry__misfit(op, "axis 1 of its weights", k->shape[1], wide / w->group);
    for (i = 0; i < w->axes; i++)
        if (k->shape[i + 2] != w->kernel[i])
            return ferry__misfit(op, "a kernel axis of its weights", k->shape[i + 2], w->kernel[i]);
    return 0;
}

/* Checks the number of multiplications, the same in all passes. */
static int products_check(const ferry_op_desc *op)
{
    const ferry_operand *w = &op->in[1];
    double inner = (double)w->shape[1];
    uint32_t i;

    for (i = 2; i < w->rank; i++)
        inner *= (double)w->shape[i];
    return ferry__check_work(op, op->params.window.transposed ? &op->in[0] : &op->out[0], inner);
}

int ferry__check_convolution(const ferry_op_desc *op)
{
    const ferry_op_window *w = &op->params.window;
    const ferry_operand *x = &op->in[0], *y = &op->out[0];
    uint32_t i;
    int err = window_check(op, x);

    if (err)
        return err;
    if (y->rank != x->rank)
        return ferry__misfit(op, "the rank of y", y->rank, x->rank);
    if (y->shape[0] != x->shape[0])
        return ferry__misfit(op, "axis 0 of y", y->shape[0], x->shape[0]);
    err = weights_check(op);
    if (err)
        return err;
    if (ferry_op_own_inputs(op) > 2 && (op->in[2].rank != 1 || op->in[2].shape[0] != y->shape[1]))
        return ferry__misfit(op, "the length of its bias", op->in[2].shape[0], y->shape[1]);
    for (i = 0; i < w->axes; i++) {
        int64_t in = x->shape[i + 2], want = w->transposed ? spread(op, i, in) : slid(op, i, in);

        if (want < 0)
            return (int)want;
        if (y->shape[i + 2] != want)
            return spatial_misfit(op, i, y->shape[i + 2], want);
    }
    return products_check(op);
}

/* Checks `image` (N, C, spatial…) against `columns` (N, C·kernel…, spatial'…). */
static int columns_check(const ferry_op_desc *op, const ferry_operand *image,
                         const ferry_operand *columns)
{
    const ferry_op_window *w = &op->params.window;
    int64_t rows;
    uint32_t i;
    int err = window_check(op, image);

    if (err)
        return err;
    if (columns->rank != image->rank)
        return ferry__misfit(op, "the rank of its columns", columns->rank, image->rank);
    if (columns->shape[0] != image->shape[0])
        return ferry__misfit(op, "axis 0 of its columns", columns->shape[0], image->shape[0]);
    rows = image->shape[1];
    for (i = 0; i < w->axes; i++) {
        int64_t want = slid(op, i, image->shape[i + 2]);

        if (want < 0)
            return (int)want;
        if (columns->shape[i + 2] != want)
            return ferry__misfit(op, "a spatial axis of its columns", columns->shape[i + 2], want);
        if (__builtin_mul_overflow(rows, w->kernel[i], &rows))
            return ferry_error_set(FERRY_EOVERFLOW,
                                   "%s: %" PRId64 " channels and a kernel axis of %" PRId64
                                   " do not fit 63 bits",
                                   ferry__op_title(op), image->shape[1], w->kernel[i]);
    }
    return columns->shape[1] == rows
               ? 0
               : ferry__misfit(op, "axis 1 of its columns", columns->shape[1], rows);
}

int ferry__check_im2col(const ferry_op_desc *op)
{
    return columns_check(op, &op->in[0], &op->out[0]);
}

int ferry__check_col2im(const ferry_op_desc *op)
{
    return columns_check(op, &op->out[0], &op->in[0]);
}

/* Checks that each window of POOL begins before the end of the padded image. */
static int pool_axis_check(const ferry_op_desc *op, uint32_t i)
{
    const ferry_op_window *w = &op->params.window;
    int64_t in = op->in[0].shape[i + 2], out = op->out[0].shape[i + 2], begin;

    if (w->dilation[i] != 1)
        return ferry__bad(op, "the dilation of a pooling window", w->dilation[i], 1, 1);
    if (w->pad[i] >= w->kernel[i])
        return ferry__bad(op, "the padding before a pooling window", w->pad[i], 0,
                          w->kernel[i] - 1);
    if (!out || !in)
        return out && !in ? spatial_misfit(op, i, out, 0) : 0;
    if (__builtin_mul_overflow(out - 1, w->stride[i], &begin))
        return too_wide(op, i, in);
    if (begin - w->pad[i] >= in + w->pad_end[i])
        return spatial_misfit(op, i, out, (in + w->pad_end[i] + w->pad[i] - 1) / w->stride[i] + 1);
    return 0;
}

int ferry__check_pool(const ferry_op_desc *op)
{
    const ferry_operand *x = &op->in[0], *y = &op->out[0];
    double taps = 1;
    uint32_t i;
    int err = window_check(op, x);

    if (err)
        return err;
    if (op->params.pool.method > FERRY_POOL_AVERAGE)
        return ferry__bad(op, "pool.method", op->params.pool.method, 0, FERRY_POOL_AVERAGE);
    if (op->params.pool.divisor > FERRY_POOL_DIVISOR_VALID)
        return ferry__bad(op, "pool.divisor", op->params.pool.divisor, 0, FERRY_POOL_DIVISOR_VALID);
    if (y->rank != x->rank)
        return ferry__misfit(op, "the rank of y", y->rank, x->rank);
    for (i = 0; i < 2; i++)
        if (y->shape[i] != x->shape[i])
            return ferry__misfit(op, i ? "axis 1 of y" : "axis 0 of y", y->shape[i], x->shape[i]);
    for (i = 0; i < op->params.window.axes; i++) {
        err = pool_axis_check(op, i);
        if (err)
            return err;
        taps *= (double)op->params.window.kernel[i];
    }
    err = ferry__check_work(op, y, taps);
    if (err)
        return err;
    if (op->n_out < 2)
        return 0;
    if (op->params.pool.method != FERRY_POOL_MAX)
        return ferry__bad(op, "pool.method, of a pool with a mask,", op->params.pool.method,
                          FERRY_POOL_MAX, FERRY_POOL_MAX);
    err = ferry__check_place(op, &op->out[1], "the mask's");
    return err ? err : ferry__check_same(op, &op->out[1], "the mask", y);
}
