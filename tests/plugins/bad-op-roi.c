/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_op_roi"
#include "good-ops.h"

static void good_row(float *y, int64_t y_step, const float *x, int64_t x_step, int64_t n,
                     int64_t room)
{
    (void)y, (void)y_step, (void)x, (void)x_step, (void)n, (void)room;
}

static int is_plain(const ferry_operand *o)
{
    int64_t next = 1;

    for (uint32_t i = o->rank; i-- > 0; next *= o->shape[i])
        if (o->stride[i] != next)
            return 0;
    return 1;
}

static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    (void)dev, (void)out;
    return op->kind == FERRY_OP_ROI_POOL && op->pass == FERRY_PASS_FORWARD &&
                   op->params.roi.group == 0 && op->in[0].dtype == FERRY_F32 &&
                   is_plain(&op->in[0]) && is_plain(&op->in[1]) && is_plain(&op->out[0])
               ? 0
               : FERRY_EUNSUPPORTED;
}

static double down(double v)
{
    int64_t i = (int64_t)v;

    return (double)(i - (v < (double)i));
}

/* Computes bin `bin` between two corners with an exclusive end instead of an inclusive one. */
static void find_bin(const float *corner, int64_t bin, const ferry_op_desc *op, int axis,
                     int64_t bound[2])
{
    double scale = op->params.roi.spatial_scale, most = (double)op->in[0].shape[2 + axis];
    double first = down((double)corner[0] * scale + 0.5);
    double end = down((double)corner[2] * scale + 0.5);
    double size = (end - first > 1 ? end - first : 1) / (double)op->out[0].shape[2 + axis];

    for (int i = 0; i < 2; i++) {
        double at = (double)(bin + i) * size;

        at = (i ? -down(-at) : down(at)) + first;
        bound[i] = (int64_t)(at < 0 ? 0 : at > most ? most : at);
    }
}

static float largest(const float *x, int64_t row, const int64_t h[2], const int64_t w[2])
{
    float most = h[0] < h[1] && w[0] < w[1] ? x[h[0] * row + w[0]] : 0;

    for (int64_t i = h[0]; i < h[1]; i++)
        for (int64_t j = w[0]; j < w[1]; j++)
            most = x[i * row + j] > most ? x[i * row + j] : most;
    return most;
}

static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const ferry_op_desc *op = prepared;
    const int64_t *from = op->in[0].shape, *to = op->out[0].shape;
    const float *x = (const float *)(const void *)good_at(args->in[0].handle, args->in[0].offset);
    const float *r = (const float *)(const void *)good_at(args->in[1].handle, args->in[1].offset);
    float *y = (float *)(void *)good_at(args->out[0].handle, args->out[0].offset);
    int64_t bins = to[2] * to[3], h[2], w[2];

    (void)dev, (void)queue;
    for (int64_t i = 0; i < to[0] * to[1] * bins; i++) {
        const float *region = r + i / bins / to[1] * 5;
        int64_t plane = (int64_t)region[0] * from[1] + i / bins % to[1];

        find_bin(region + 2, i / to[3] % to[2], op, 0, h);
        find_bin(region + 1, i % to[3], op, 1, w);
        y[i] = largest(x + plane * from[2] * from[3], from[3], h, w);
    }
    return 0;
}

static void spoil_ops(ferry_op_table *table)
{
    table->query = query;
    table->run = run;
}
