/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts MaxPool, AveragePool and the global poolings. */
#include "net/import/fold.h"
#include "net/import/ops.h"

#include <ferry/status.h>

#include <float.h>
#include <string.h>

/* A pooling over two axes; for an input with one spatial axis, the first of them was added. */
struct pooling {
    struct ferry__import_window window;
    bool max, padding; /* padding: an average counts the padding */
    bool ceil;
};

static struct pooling read_pooling(struct ferry__import *im, const struct ferry__import_shape *x)
{
    struct pooling p = { .max = !strcmp(ferry__import_operator(im), "MaxPool") };
    const char *indices =
        ferry__import_output_count(im) > 1 ? ferry_proto_string(im->node, "output", 1, NULL) : "";

    p.window = ferry__import_window_of(im, x, NULL);
    p.padding = ferry__import_integer(im, "count_include_pad", 0) != 0;
    p.ceil = ferry__import_integer(im, "ceil_mode", 0) != 0;
    if (p.window.n > 2)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "a window on %d axes", p.window.n);
    if (*indices && ferry__import_value_named(im, indices)->uses)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "its indices are used");
    for (int i = 0; i < p.window.n; i++) {
        if (p.window.dilation[i] != 1)
            ferry__import_fail(im, FERRY_EUNSUPPORTED, "a dilation of %lld",
                               (long long)p.window.dilation[i]);
        if (p.window.begin[i] >= p.window.kernel[i] || p.window.end[i] >= p.window.kernel[i])
            ferry__import_fail(im, FERRY_EUNSUPPORTED, "pads as large as its kernel");
    }
    return p;
}

/* Adds an axis of one element before the only spatial axis. */
static void widen(struct pooling *p)
{
    struct ferry__import_window *w = &p->window;

    *w = (struct ferry__import_window){ 2,        { 1, w->kernel[0] }, { 1, w->stride[0] },
                                        { 1, 1 }, { 0, w->begin[0] },  { 0, w->end[0] } };
}

static struct ferry__import_value *emit(struct ferry__import *im, const struct pooling *p,
                                        struct ferry__import_value *x,
                                        const struct ferry__import_shape *shape)
{
    const struct ferry__import_window *w = &p->window;

    ferry__import_layer(im, "Pooling", "pooling_param");
    ferry__import_put_word(im, "pool", p->max ? "MAX" : p->padding ? "AVE" : "AVE_EXC_PAD");
    ferry__import_put(im, "kernel_h", w->kernel[0]);
    ferry__import_put(im, "kernel_w", w->kernel[1]);
    ferry__import_put(im, "stride_h", w->stride[0]);
    ferry__import_put(im, "stride_w", w->stride[1]);
    if (w->begin[0] || w->begin[1]) {
        ferry__import_put(im, "pad_h", w->begin[0]);
        ferry__import_put(im, "pad_w", w->begin[1]);
    }
    if (!p->ceil)
        ferry__import_put_word(im, "round_mode", "FLOOR");
    ferry__import_bottom(im, x);
    return ferry__import_top(im, shape);
}

/* The number of the input's elements under window i of an axis. */
static int64_t covered(const struct ferry__import_window *w, int axis, int64_t i, int64_t in)
{
    int64_t first = i * w->stride[axis] - w->begin[axis], end = first + w->kernel[axis];

    return (end > in ? in : end) - (first < 0 ? 0 : first);
}

/*
 * Chooses the rounding with which Pooling gives `shape`. Without pads Caffe's keeps a last window
 * that begins after the input, and ONNX's does not.
 */
static void choose_rounding(struct ferry__import *im, struct pooling *p,
                            const struct ferry__import_shape *x,
                            const struct ferry__import_shape *shape)
{
    const struct ferry__import_window *w = &p->window;
    bool floor = true, ceil = true;

    for (int i = 0; i < 2; i++) {
        int64_t in = x->dim[i + 2], room = in + w->begin[i] + w->end[i] - w->kernel[i];
        int64_t up = (room + w->stride[i] - 1) / w->stride[i] + 1;

        if ((w->begin[0] || w->begin[1]) && (up - 1) * w->stride[i] >= in + w->begin[i])
            up--;
        floor = floor && shape->dim[i + 2] == room / w->stride[i] + 1;
        ceil = ceil && shape->dim[i + 2] == up;
    }
    if (!floor && !ceil)
        ferry__import_fail(im, FERRY_EUNSUPPORTED,
                           "rounded up along one axis, down along the other");
    p->ceil = !floor;
}

/*
 * For each window, its size divided by the number of the input's elements in it: multiplied by
 * this, an average over the window becomes an average over these elements.
 */
static struct ferry__import_tensor shares(struct ferry__import *im,
                                          const struct ferry__import_window *w,
                                          const struct ferry__import_shape *x,
                                          const struct ferry__import_shape *y)
{
    struct ferry__import_shape shape = { 2, { y->dim[2], y->dim[3] } };
    void *out;
    struct ferry__import_tensor t = ferry__import_make(im, FERRY__ONNX_FLOAT, &shape, &out);

    for (int64_t i = 0; i < t.count; i++) {
        int64_t n =
            covered(w, 0, i / shape.dim[1], x->dim[2]) * covered(w, 1, i % shape.dim[1], x->dim[3]);

        ((float *)out)[i] = n > 0 ? (float)(w->kernel[0] * w->kernel[1]) / (float)n : 0;
    }
    return t;
}

/* Converts a pooling whose pads differ at both ends: a layer before it adds them. */
static struct ferry__import_value *emit_uneven(struct ferry__import *im, struct pooling p,
                                               struct ferry__import_value *x,
                                               const struct ferry__import_shape *shape)
{
    const int64_t begin[] = { 0, 0, p.window.begin[0], p.window.begin[1] };
    const int64_t end[] = { 0, 0, p.window.end[0], p.window.end[1] };
    struct ferry__import_tensor share = { 0 };
    bool alone = !p.max && !p.padding;
    struct ferry__import_value *y;

    if (alone && p.ceil)
        ferry__import_fail(im, FERRY_EUNSUPPORTED,
                           "an average without its padding, rounded up, with uneven pads");
    if (alone)
        share = shares(im, &p.window, &x->shape, shape);
    p.padding = true;
    memset(p.window.begin, 0, sizeof p.window.begin);
    y = emit(im, &p, ferry__import_padded(im, x, begin, end, p.max ? (double)-FLT_MAX : 0), shape);
    return alone ? ferry__import_scaled(im, y, 2, 2, &share, NULL) : y;
}

void ferry__import_pool(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    struct pooling p = read_pooling(im, &x->shape);
    struct ferry__import_shape shape = x->shape, narrow = x->shape;

    if (im->err)
        return;
    if (p.window.n == 1) {
        shape = (struct ferry__import_shape){
            4, { x->shape.dim[0], x->shape.dim[1], 1, x->shape.dim[2] }
        };
        x = ferry__import_reshape(im, x, &shape);
        widen(&p);
    }
    for (int i = 0; i < 2; i++) {
        shape.dim[i + 2] = ferry__import_window_slid(&p.window, i, shape.dim[i + 2], p.ceil);
        if (shape.dim[i + 2] < 1)
            ferry__import_fail(im, FERRY_EFORMAT, "its window does not fit on its input");
    }
    if (im->err)
        return;
    choose_rounding(im, &p, &x->shape, &shape);
    y = ferry__import_window_is_even(&p.window) ? emit(im, &p, x, &shape)
                                                : emit_uneven(im, p, x, &shape);
    narrow.dim[narrow.rank - 1] = shape.dim[3];
    ferry__import_give(im, 0, narrow.rank == 3 ? ferry__import_reshape(im, y, &narrow) : y);
}

void ferry__import_global_pool(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    bool max = !strcmp(ferry__import_operator(im), "GlobalMaxPool");
    struct ferry__import_shape shape = x->shape;

    if (!im->err && shape.rank < 3)
        ferry__import_fail(im, FERRY_EFORMAT, "its input has %d axes", shape.rank);
    if (im->err)
        return;
    if (shape.rank != 4) {
        ferry__import_give(
            im, 0,
            ferry__import_reduced(im, x, max ? "MAX" : "MEAN", (1u << shape.rank) - 4, true));
        return;
    }
    shape.dim[2] = shape.dim[3] = 1;
    ferry__import_layer(im, "Pooling", "pooling_param");
    ferry__import_put_word(im, "pool", max ? "MAX" : "AVE");
    ferry__import_put(im, "global_pooling", 1);
    ferry__import_bottom(im, x);
    ferry__import_give(im, 0, ferry__import_top(im, &shape));
}
