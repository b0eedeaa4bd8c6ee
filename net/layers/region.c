/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies and sums over regions of blobs with more axes than an operand supports. */
#include "net/layers/emit.h"

#include <string.h>

/*
 * Drops axes of one element and merges two that are contiguous in x and in y. False: the region is
 * empty.
 */
static bool merge(const struct ferry__region *r, struct ferry__region *out)
{
    int i, last;

    out->axes = 0;
    for (i = 0; i < r->axes; i++) {
        if (!r->shape[i])
            return false;
        if (r->shape[i] == 1)
            continue;
        last = out->axes - 1;
        if (last >= 0 && out->step_x[last] == r->shape[i] * r->step_x[i] &&
            out->step_y[last] == r->shape[i] * r->step_y[i]) {
            out->shape[last] *= r->shape[i];
        } else {
            last = out->axes++;
            out->shape[last] = r->shape[i];
        }
        out->step_x[last] = r->step_x[i];
        out->step_y[last] = r->step_y[i];
    }
    return true;
}

/* The operand of the axes of `r` from `first` on, at most FERRY_OP_AXES. */
static ferry_operand part(const struct ferry__region *r, int first, const int64_t *step)
{
    ferry_operand o = ferry_operand_make(FERRY_F32, r->shape + first, r->axes - first, NULL);
    int i;

    for (i = first; i < r->axes; i++)
        o.stride[i - first] = step[i];
    return o;
}

static int emit_part(ferry_layer *layer, const struct ferry__region *r, int first,
                     ferry_layer_operand x_at, ferry_layer_operand y_at, bool add)
{
    ferry_operand x = part(r, first, r->step_x), y = part(r, first, r->step_y);

    if (add)
        return ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, 1, y, y_at, x, x_at, y, y_at);
    return ferry__emit_copy(layer, x, x_at, y, y_at);
}

int ferry__emit_region(ferry_layer *layer, const struct ferry__region *region,
                       ferry_layer_operand x_at, ferry_layer_operand y_at, bool add)
{
    struct ferry__region r;
    int64_t at[FERRY_MAX_AXES + 2] = { 0 };
    int first, i, err;

    if (!merge(region, &r))
        return 0;
    first = r.axes > FERRY_OP_AXES ? r.axes - FERRY_OP_AXES : 0;
    do {
        err = emit_part(layer, &r, first, x_at, y_at, add);
        for (i = first; !err && i-- > 0;) { /* moves to the next index of the axes before them */
            x_at.offset += r.step_x[i];
            y_at.offset += r.step_y[i];
            if (++at[i] < r.shape[i])
                break;
            x_at.offset -= r.shape[i] * r.step_x[i];
            y_at.offset -= r.shape[i] * r.step_y[i];
            at[i] = 0;
        }
    } while (!err && i >= 0);
    return err;
}

struct ferry__region ferry__region_back(const struct ferry__region *region)
{
    struct ferry__region back = *region;

    memcpy(back.step_x, region->step_y, sizeof back.step_x);
    memcpy(back.step_y, region->step_x, sizeof back.step_y);
    return back;
}

/*
 * The only axis of which a part is copied, in steps of 1. −1 if there is no such axis, if the
 * region is empty, or if it is the last axis, because the rows of such a view would be short.
 */
static int cut_axis(const ferry_layer *layer, const struct ferry__region *r)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int i, axis = -1;

    for (i = 0; i < r->axes; i++) {
        if (!r->shape[i])
            return -1;
        if (r->shape[i] == ferry_blob_dim(bottom, i))
            continue;
        if (axis >= 0 || r->step_x[i] != ferry_blob_element_count_range(bottom, i + 1, r->axes))
            return -1;
        axis = i;
    }
    return axis == r->axes - 1 ? -1 : axis;
}

/*
 * Emits a copy with the operands of a copy that Slice emits, so that the result can become a view
 * of the bottom.
 */
static int emit_slice(ferry_layer *layer, const struct ferry__region *r, int axis,
                      ferry_layer_operand from, ferry_layer_operand to)
{
    ferry_operand x = ferry__around(layer, ferry__of_bottom(0), axis);

    x.shape[1] = r->shape[axis];
    return ferry__emit_copy(layer, x, from, ferry__around(layer, to, axis), to);
}

int ferry__emit_cut(ferry_layer *layer, struct ferry__region *r, int64_t offset)
{
    ferry_layer_operand from = ferry__of_bottom(0), to = ferry__of_top(0);
    struct ferry__region back;
    int64_t step = 1;
    int i, axis, err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), r->shape, r->axes, NULL);

    if (err)
        return err;
    from.offset = offset;
    for (i = r->axes; i-- > 0; step *= r->shape[i])
        r->step_y[i] = step;
    axis = cut_axis(layer, r);
    err = axis < 0 ? ferry__emit_region(layer, r, from, to, false)
                   : emit_slice(layer, r, axis, from, to);
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    back = ferry__region_back(r);
    err = ferry__emit_zeros(layer, ferry__diff(ferry__of_bottom(0)), 0);
    return err ? err : ferry__emit_region(layer, &back, ferry__diff(to), ferry__diff(from), false);
}
