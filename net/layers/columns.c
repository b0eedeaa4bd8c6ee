/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns of a convolution (im2col) over any number of spatial axes, by one operation for each
 * element of the kernel; IM2COL and COL2IM need only one operation, for up to FERRY_OP_SPATIAL
 * axes.
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

/*
 * The range that one tap covers on an axis: it begins at `first` in the columns and at `seen` in
 * the image.
 */
static bool tap_axis(const struct ferry__columns *c, uint32_t axis, int64_t tap, int64_t *out_first,
                     int64_t *out_count, int64_t *out_seen)
{
    const struct ferry__window *w = c->window;
    int64_t stride = w->stride[axis], shift = tap * w->dilation[axis] - w->pad[axis], end;

    *out_first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    end = c->wide[axis] - shift > 0 ? (c->wide[axis] - shift + stride - 1) / stride : 0;
    if (end > c->narrow[axis])
        end = c->narrow[axis];
    *out_count = end - *out_first;
    *out_seen = *out_first * stride + shift;
    return *out_count > 0;
}

/*
 * The region that a tap covers, with the strides of the columns as x and those of the image as y,
 * and its offset in each. False: the tap covers only padding.
 */
static bool tap_region(const struct ferry__columns *c, int64_t taps, int64_t tap,
                       struct ferry__region *r, int64_t *out_column, int64_t *out_image)
{
    int64_t narrow = 1, wide = 1, rest = tap;
    uint32_t i;

    *out_column = *out_image = 0;
    r->axes = 1 + (int)c->window->axes;
    for (i = c->window->axes; i-- > 0;) {
        int64_t first, seen;

        if (!tap_axis(c, i, rest % c->window->kernel[i], &first, &r->shape[1 + i], &seen))
            return false;
        rest /= c->window->kernel[i];
        r->step_x[1 + i] = narrow;
        r->step_y[1 + i] = wide * c->window->stride[i];
        *out_column += first * narrow;
        *out_image += seen * wide;
        narrow *= c->narrow[i];
        wide *= c->wide[i];
    }
    *out_column += tap * narrow;
    r->shape[0] = c->planes;
    r->step_x[0] = taps * narrow;
    r->step_y[0] = wide;
    return true;
}

static bool is_padded(const struct ferry__window *w)
{
    uint32_t i;

    for (i = 0; i < w->axes; i++)
        if (w->pad[i])
            return true;
    return false;
}

int64_t ferry__columns_taps(const ferry_layer *layer, const struct ferry__window *w)
{
    const int64_t most = 1 << 20;
    int64_t taps = 1;
    uint32_t i;

    for (i = 0; i < w->axes; i++)
        if (__builtin_mul_overflow(taps, w->kernel[i], &taps) ||
            (w->axes > FERRY_OP_SPATIAL && taps > most))
            return ferry_layer_error(layer, FERRY_EUNSUPPORTED,
                                     "its kernel of %u axes has more than %lld elements", w->axes,
                                     (long long)(w->axes > FERRY_OP_SPATIAL ? most : INT64_MAX));
    return taps;
}

int ferry__emit_columns(ferry_layer *layer, const struct ferry__columns *c,
                        ferry_layer_operand image, ferry_layer_operand columns, int scratch)
{
    int64_t taps = ferry__columns_taps(layer, c->window), tap, column, place;
    int err = is_padded(c->window) ? ferry__emit_zeros(layer, columns, scratch) : 0;
    struct ferry__region seen, r;

    for (tap = 0; !err && tap < taps; tap++) {
        ferry_layer_operand from = image, to = columns;

        if (!tap_region(c, taps, tap, &seen, &column, &place))
            continue;
        r = ferry__region_back(&seen);
        from.offset += place;
        to.offset += column;
        err = ferry__emit_region(layer, &r, from, to, false);
    }
    return err;
}

int ferry__emit_image(ferry_layer *layer, const struct ferry__columns *c,
                      ferry_layer_operand columns, ferry_layer_operand image, int scratch)
{
    int64_t taps = ferry__columns_taps(layer, c->window), tap, column, place;
    int err = ferry__emit_zeros(layer, image, scratch);
    struct ferry__region r;

    for (tap = 0; !err && tap < taps; tap++) {
        ferry_layer_operand from = columns, to = image;

        if (!tap_region(c, taps, tap, &r, &column, &place))
            continue;
        from.offset += column;
        to.offset += place;
        err = ferry__emit_region(layer, &r, from, to, true);
    }
    return err;
}
