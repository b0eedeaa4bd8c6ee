/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/reference/reference.h"

#include <math.h>

/* The reference of the kinds that access images by coordinates: RESIZE and ROI_POOL. */

/* ---- resize --------------------------------------------------------------------------------- */

/* The weight of element `x` of `in` in element `y` of `out`, along one axis. */
static long double weight_of(const ferry_op_desc *op, int64_t in, int64_t out, int64_t x, int64_t y)
{
    uint32_t sampling = op->params.resize.sampling;
    double at, low, weight = 0;

    if (sampling == FERRY_RESIZE_ALIGN_CORNERS)
        at = out > 1 ? (double)(y * (in - 1)) / (double)(out - 1) : 0;
    else if (sampling == FERRY_RESIZE_ASYMMETRIC)
        at = (double)(y * in) / (double)out;
    else
        at = (double)((2 * y + 1) * in) / (double)(2 * out) - 0.5;
    if (op->params.resize.method == FERRY_RESIZE_NEAREST) {
        low = floor(sampling == FERRY_RESIZE_ASYMMETRIC ? at : at + 0.5);
        return fmin(fmax(low, 0), (double)(in - 1)) == (double)x;
    }
    low = floor(at);
    if (fmin(fmax(low, 0), (double)(in - 1)) == (double)x)
        weight += 1 - (at - low);
    if (fmin(fmax(low + 1, 0), (double)(in - 1)) == (double)x)
        weight += at - low;
    return (long double)weight;
}

/*
 * Adds all elements of `from` that contribute to element i of the other image; with `is_data`, i is
 * an element of x.
 */
static void resized(const struct op_scene *s, const int64_t *i, bool is_data, struct op_number *out)
{
    const int64_t *from = s->in[0].o.shape, *to = s->out[0].o.shape;
    int64_t at[4] = { i[0], i[1], 0, 0 };

    for (at[2] = 0; at[2] < from[2]; at[2]++)
        for (at[3] = 0; at[3] < from[3]; at[3]++) {
            long double weight = 1;

            for (int k = 2; k < 4; k++)
                weight *= is_data ? weight_of(s->op, to[k], from[k], i[k], at[k])
                                  : weight_of(s->op, from[k], to[k], at[k], i[k]);
            if (weight != 0)
                op_add(out, weight * op_get(&s->in[0], at));
        }
    out->magnitude += 1; /* coordinates are rounded, too */
    out->roundings += 8;
}

void op_expect_resize(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    resized(s, i, false, out);
}

void op_expect_resize_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    resized(s, i, true, out);
}

/* ---- regions -------------------------------------------------------------------------------- */

/* The elements of an axis that a bin covers. */
struct bin {
    int64_t first, end;
};

/* Fast R-CNN rounds the region's corners, R-FCN the ends of the bins. */
static struct bin bin_of(const struct op_scene *s, int axis, const int64_t *y)
{
    int64_t region[2] = { y[0], 2 - axis }, bins = s->out[0].o.shape[2 + axis];
    double scale = s->op->params.roi.spatial_scale, most = (double)s->in[0].o.shape[2 + axis];
    double first = (double)op_get(&s->in[1], region), last, size, low, high;
    bool grouped = s->op->params.roi.group > 0;

    region[1] += 2;
    last = (double)op_get(&s->in[1], region);
    first = grouped ? round(first) * scale : round(first * scale);
    last = grouped ? (round(last) + 1) * scale : round(last * scale) + 1;
    size = fmax(last - first, grouped ? 0.1 : 1) / (double)bins;
    low = (double)y[2 + axis] * size;
    high = (double)(y[2 + axis] + 1) * size;
    low = grouped ? floor(low + first) : floor(low) + first;
    high = grouped ? ceil(high + first) : ceil(high) + first;
    return (struct bin){ (int64_t)fmin(fmax(low, 0), most), (int64_t)fmin(fmax(high, 0), most) };
}

void op_expect_roi_pool(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    int64_t group = s->op->params.roi.group, x[4] = { 0, i[1], 0, 0 };
    struct bin h = bin_of(s, 0, i), w = bin_of(s, 1, i);
    long double most = -INFINITY, n = (long double)((h.end - h.first) * (w.end - w.first));

    if (h.first >= h.end || w.first >= w.end)
        return;
    x[0] = (int64_t)fmin(fmax((double)op_get(&s->in[1], (int64_t[]){ i[0], 0 }), 0),
                         (double)(s->in[0].o.shape[0] - 1));
    if (group)
        x[1] = (i[1] * group + i[2] * group / s->out[0].o.shape[2]) * group +
               i[3] * group / s->out[0].o.shape[3];
    for (x[2] = h.first; x[2] < h.end; x[2]++)
        for (x[3] = w.first; x[3] < w.end; x[3]++) {
            op_add(out, op_get(&s->in[0], x));
            most = fmaxl(most, op_get(&s->in[0], x));
        }
    if (group)
        op_set(out, out->value / n, out->magnitude / n, out->roundings + 2);
    else
        op_set(out, most, 0, 0);
}
