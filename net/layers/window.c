/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notations of windows in ConvolutionParameter: kernel_size 3, or 3 3, or kernel_h 3 kernel_w
 * 3.
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

/* One property of the window: a list, or a pair of fields for two axes, or a default. */
struct property {
    const char *list, *h, *w;
    int64_t usual; /* −1: it is required */
};

static int read_property(const ferry_layer *layer, const ferry_proto *p,
                         const struct property *what, uint32_t axes, int64_t *out)
{
    int64_t n = ferry_proto_value_count(p, what->list);
    bool pair =
        what->h && (ferry_proto_value_count(p, what->h) || ferry_proto_value_count(p, what->w));
    uint32_t i;

    if (pair && (n || axes != 2))
        return ferry_proto_error(p, what->h, 0, FERRY_EFORMAT,
                                 "layer \"%s\": %s and %s require two spatial axes, and exclude %s",
                                 ferry_layer_name(layer), what->h, what->w, what->list);
    if (pair) {
        out[0] = ferry_proto_integer(p, what->h, 0);
        out[1] = ferry_proto_integer(p, what->w, 0);
        return 0;
    }
    if ((!n && what->usual < 0 && axes) || (n > 1 && n != (int64_t)axes))
        return ferry_proto_error(p, n ? what->list : NULL, 0, FERRY_EFORMAT,
                                 "layer \"%s\": %s is given %lld times, not once or %u times",
                                 ferry_layer_name(layer), what->list, (long long)n, axes);
    for (i = 0; i < axes; i++)
        out[i] = n ? ferry_proto_integer(p, what->list, n > 1 ? i : 0) : what->usual;
    return 0;
}

static int in_range(const ferry_layer *layer, const ferry_proto *p, const char *what, int64_t value,
                    int64_t least)
{
    if (value >= least && value <= INT32_MAX)
        return 0;
    return ferry_proto_error(p, NULL, 0, FERRY_EFORMAT, "layer \"%s\": a %s of %lld",
                             ferry_layer_name(layer), what, (long long)value);
}

int ferry__window_read(const ferry_layer *layer, const ferry_proto *p, uint32_t axes,
                       struct ferry__window *out)
{
    static const struct property kernel = { "kernel_size", "kernel_h", "kernel_w", -1 };
    static const struct property stride = { "stride", "stride_h", "stride_w", 1 };
    static const struct property pad = { "pad", "pad_h", "pad_w", 0 };
    static const struct property dilation = { "dilation", NULL, NULL, 1 };
    uint32_t i;
    int err;

    memset(out, 0, sizeof *out);
    err = read_property(layer, p, &kernel, axes, out->kernel);

    if (!err)
        err = read_property(layer, p, &stride, axes, out->stride);
    if (!err)
        err = read_property(layer, p, &pad, axes, out->pad);
    if (!err)
        err = read_property(layer, p, &dilation, axes, out->dilation);
    for (i = 0; !err && i < axes; i++) {
        err = in_range(layer, p, "kernel", out->kernel[i], 1);
        if (!err)
            err = in_range(layer, p, "stride", out->stride[i], 1);
        if (!err)
            err = in_range(layer, p, "pad", out->pad[i], 0);
        if (!err)
            err = in_range(layer, p, "dilation", out->dilation[i], 1);
    }
    out->axes = axes;
    return err;
}

ferry_op_window ferry__window_of(const struct ferry__window *w)
{
    ferry_op_desc op;
    uint32_t i;

    ferry_op_desc_init(&op, FERRY_OP_CONVOLUTION);
    op.params.window.axes = w->axes ? w->axes : 1;
    for (i = 0; i < w->axes && i < FERRY_OP_SPATIAL; i++) {
        op.params.window.kernel[i] = w->kernel[i];
        op.params.window.stride[i] = w->stride[i];
        op.params.window.dilation[i] = w->dilation[i];
        op.params.window.pad[i] = op.params.window.pad_end[i] = w->pad[i];
    }
    return op.params.window;
}

int64_t ferry__window_slid(const struct ferry__window *w, uint32_t axis, int64_t in)
{
    int64_t extent = w->dilation[axis] * (w->kernel[axis] - 1) + 1;

    return in + 2 * w->pad[axis] < extent ? 0
                                          : (in + 2 * w->pad[axis] - extent) / w->stride[axis] + 1;
}
