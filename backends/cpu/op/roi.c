/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <float.h>
#include <math.h>

/*
 * ROI_POOL: Fast R-CNN's ROIPooling (Girshick 2015), whose regions are rounded to pixels, and
 * R-FCN's PSROIPooling (Dai et al. 2016), whose bins are fractions of pixels. An invalid image
 * index is clamped to the nearest valid one.
 */

struct regions {
    const ferry_op_desc *op;
    const void *x, *rois;
    void *y;
    bool is_f32;
};

/* A region in pixels of x, and the size of its bins. */
struct region {
    int64_t image;
    double start[2], bin[2]; /* for H and W */
};

static double load(const struct regions *r, const void *from, int64_t at)
{
    return r->is_f32 ? (double)((const float *)from)[at] : ((const double *)from)[at];
}

static int64_t within(double at, int64_t size)
{
    return at > 0 ? at < (double)size ? (int64_t)at : size : 0;
}

static void region_of(const struct regions *r, int64_t roi, struct region *out)
{
    const ferry_operand *rois = &r->op->in[1], *y = &r->op->out[0];
    bool is_grouped = r->op->params.roi.group != 0;
    double scale = r->op->params.roi.spatial_scale;

    out->image = within(load(r, r->rois, roi * rois->stride[0]), r->op->in[0].shape[0] - 1);
    for (int i = 0; i < 2; i++) {
        int64_t first = roi * rois->stride[0] + (2 - i) * rois->stride[1];
        double low = load(r, r->rois, first);
        double high = load(r, r->rois, first + 2 * rois->stride[1]);
        double length;

        if (is_grouped) {
            out->start[i] = round(low) * scale;
            length = fmax((round(high) + 1) * scale - out->start[i], 0.1);
        } else {
            out->start[i] = round(low * scale);
            length = fmax(round(high * scale) - out->start[i] + 1, 1);
        }
        out->bin[i] = length / (double)y->shape[2 + i];
    }
}

/* The range of pixels of bin i along an axis. */
static void bin_of(const struct regions *r, const struct region *region, int axis, int64_t i,
                   int64_t *first, int64_t *end)
{
    int64_t size = r->op->in[0].shape[2 + axis];
    double low = (double)i * region->bin[axis], high = (double)(i + 1) * region->bin[axis];
    double start = region->start[axis];

    if (r->op->params.roi.group) {
        *first = within(floor(low + start), size);
        *end = within(ceil(high + start), size);
    } else {
        *first = within(floor(low) + start, size);
        *end = within(ceil(high) + start, size);
    }
}

static double pool_bin(const struct regions *r, const struct region *region, int64_t c, int64_t i,
                       int64_t j)
{
    const ferry_operand *x = &r->op->in[0];
    bool is_grouped = r->op->params.roi.group != 0;
    double most = (double)-FLT_MAX, sum = 0;
    int64_t top, bottom, left, right;

    bin_of(r, region, 0, i, &top, &bottom);
    bin_of(r, region, 1, j, &left, &right);
    if (bottom <= top || right <= left)
        return 0;
    for (int64_t h = top; h < bottom; h++)
        for (int64_t w = left; w < right; w++) {
            double value = load(r, r->x,
                                region->image * x->stride[0] + c * x->stride[1] + h * x->stride[2] +
                                    w * x->stride[3]);

            most = value > most ? value : most;
            sum += value;
        }
    return is_grouped ? sum / (double)((bottom - top) * (right - left)) : most;
}

static void pool_regions(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct regions *r = arg;
    const ferry_operand *y = &r->op->out[0];
    int64_t group = r->op->params.roi.group;

    (void)piece;
    for (int64_t at = first; at < first + count; at++) {
        int64_t roi = at / y->shape[1], c = at % y->shape[1];
        struct region region;

        region_of(r, roi, &region);
        for (int64_t i = 0; i < y->shape[2]; i++)
            for (int64_t j = 0; j < y->shape[3]; j++) {
                int64_t from = c, to = roi * y->stride[0] + c * y->stride[1] + i * y->stride[2] +
                                       j * y->stride[3];
                double value;

                if (group)
                    from = (c * group + i * group / y->shape[2]) * group + j * group / y->shape[3];
                value = pool_bin(r, &region, from, i, j);
                if (r->is_f32)
                    ((float *)r->y)[to] = (float)value;
                else
                    ((double *)r->y)[to] = value;
            }
    }
}

static int roi_plan(struct cpu_op *p)
{
    return cpu_op_is_real(p) && p->op.in[0].rank == 4 ? 0 : FERRY_EUNSUPPORTED;
}

static void roi_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const ferry_operand *x = &p->op.in[0], *y = &p->op.out[0];
    struct regions r = { .op = &p->op,
                         .x = args->in[0],
                         .rois = args->in[1],
                         .y = args->out[0],
                         .is_f32 = y->dtype == FERRY_F32 };
    int64_t planes = y->shape[0] * y->shape[1];

    workers_run(d->workers, planes, walk_piece_of(planes, x->shape[2] * x->shape[3] + 64),
                pool_regions, &r);
}

const struct cpu_op_kind cpu_op_roi_pool = {
    .kind = FERRY_OP_ROI_POOL,
    .plan = roi_plan,
    .run = roi_run,
};
