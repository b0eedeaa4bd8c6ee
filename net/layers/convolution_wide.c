/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolution and Deconvolution over more spatial axes than an operation supports. The image is
 * converted to columns (columns.c), and a convolution with a kernel of one element reads them.
 * Scratch blob 0 contains zeros; blob 1 contains the columns, its diff the columns of the backward
 * pass.
 */
#include "net/layers/convolution.h"

#include <ferry/status.h>

enum { ZEROS, COLUMNS };

/*
 * One bottom and its top: the image is on the wide side, the kernel's positions are on the narrow
 * side.
 */
struct wide {
    struct ferry__columns columns;
    struct ferry__term image, narrow, taken, weights;
    ferry_op_desc op; /* from the columns to the narrow side; the reverse if transposed */
};

ferry_operand ferry__convolution_weights(ferry_layer *layer, const struct convolution *c)
{
    const ferry_blob *w = ferry_layer_param_at(layer, 0);
    int64_t shape[3] = { ferry_blob_dim(w, 0),
                         ferry_blob_element_count_range(w, 1, ferry_blob_rank(w)), 1 };

    if (c->window.axes && c->window.axes <= FERRY_OP_SPATIAL)
        return ferry__whole(layer, ferry__of_param(0));
    return ferry_operand_make(FERRY_F32, shape, 3, NULL);
}

static ferry_operand rows(int64_t images, int64_t channels, const int64_t *dims, uint32_t axes)
{
    int64_t shape[3] = { images, channels, 1 };
    uint32_t i;

    for (i = 0; i < axes; i++)
        shape[2] *= dims[i];
    return ferry_operand_make(FERRY_F32, shape, 3, NULL);
}

/* Allocates the columns of bottom k: the scratch blob is sized for the largest bottom so far. */
static int make_room(ferry_layer *layer, int k, const ferry_operand *columns)
{
    const ferry_blob *had = ferry_layer_scratch_at(layer, COLUMNS);
    int64_t count = 1;
    uint32_t i;

    for (i = 0; i < columns->rank; i++)
        if (__builtin_mul_overflow(count, columns->shape[i], &count))
            return ferry_layer_error(layer, FERRY_EOVERFLOW, "its columns do not fit 63 bits");
    if (k && ferry_blob_element_count(had) > count)
        count = ferry_blob_element_count(had);
    return ferry_layer_scratch(layer, COLUMNS, 0, &count, 1) ? 0 : ferry_last_error_code();
}

static int describe(ferry_layer *layer, const struct convolution *c, int k, struct wide *out)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, k), *top = ferry_layer_top_at(layer, k);
    const ferry_blob *image = c->transposed ? top : bottom, *narrow = c->transposed ? bottom : top;
    int64_t images = ferry_blob_element_count_range(bottom, 0, c->axis), channels;
    int64_t taps = ferry__columns_taps(layer, &c->window);
    uint32_t axes = c->window.axes, i;

    if (taps < 0)
        return (int)taps;
    channels = ferry_blob_dim(image, c->axis);
    out->columns = (struct ferry__columns){ .window = &c->window, .planes = images * channels };
    for (i = 0; i < axes; i++) {
        out->columns.wide[i] = ferry_blob_dim(image, c->axis + 1 + (int)i);
        out->columns.narrow[i] = ferry_blob_dim(narrow, c->axis + 1 + (int)i);
    }
    out->image.o = rows(images, channels, out->columns.wide, axes);
    out->narrow.o = rows(images, ferry_blob_dim(narrow, c->axis), out->columns.narrow, axes);
    if (__builtin_mul_overflow(channels, taps, &channels))
        return ferry_layer_error(layer, FERRY_EOVERFLOW, "its columns do not fit 63 bits");
    out->taken.o = rows(images, channels, out->columns.narrow, axes);
    out->image.at = c->transposed ? ferry__of_top(k) : ferry__of_bottom(k);
    out->narrow.at = c->transposed ? ferry__of_bottom(k) : ferry__of_top(k);
    out->taken.at = ferry__of_scratch(COLUMNS);
    out->weights = (struct ferry__term){ ferry__convolution_weights(layer, c), ferry__of_param(0) };
    ferry_op_desc_init(&out->op, FERRY_OP_CONVOLUTION);
    out->op.params.window.axes = 1;
    out->op.params.window.group = c->group;
    out->op.params.window.transposed = c->transposed;
    return make_room(layer, k, &out->taken.o);
}

static struct ferry__term diff_of(struct ferry__term t)
{
    t.at.diff = 1;
    return t;
}

/* ---- Convolution ----------------------------------------------------------------------------- */

static int emit_forward(ferry_layer *layer, const struct convolution *c, const struct wide *w)
{
    struct ferry__term in[3] = { w->taken, w->weights };
    int err = ferry__emit_columns(layer, &w->columns, w->image.at, w->taken.at, ZEROS);

    if (c->bias)
        in[2] = ferry__term(layer, ferry__of_param(1));
    return err ? err
               : ferry__emit_pass(layer, &w->op, FERRY_PASS_FORWARD, c->bias ? 3 : 2, in,
                                  w->narrow);
}

static int emit_backward(ferry_layer *layer, const struct convolution *c, const struct wide *w,
                         bool data)
{
    struct ferry__term dy = diff_of(w->narrow), columns = diff_of(w->taken);
    int err = 0;

    if (c->bias && ferry_layer_param_propagates(layer, 1))
        err = ferry__emit_pass(layer, &w->op, FERRY_PASS_BACKWARD_BIAS, 1, &dy,
                               ferry__term(layer, ferry__diff(ferry__of_param(1))));
    if (!err && ferry_layer_param_propagates(layer, 0)) {
        err = ferry__emit_columns(layer, &w->columns, w->image.at, columns.at, ZEROS);
        if (!err)
            err = ferry__emit_pass(layer, &w->op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                                   (struct ferry__term[]){ dy, columns }, diff_of(w->weights));
    }
    if (err || !data)
        return err;
    err = ferry__emit_pass(layer, &w->op, FERRY_PASS_BACKWARD_DATA, 2,
                           (struct ferry__term[]){ dy, w->weights }, columns);
    return err ? err
               : ferry__emit_image(layer, &w->columns, columns.at, ferry__diff(w->image.at), ZEROS);
}

/* ---- Deconvolution --------------------------------------------------------------------------- */

static ferry_operand per_channel(const struct convolution *c)
{
    return ferry_operand_make(FERRY_F32, (int64_t[]){ 1, c->outputs, 1 }, 3, NULL);
}

static int emit_spread(ferry_layer *layer, const struct convolution *c, const struct wide *w)
{
    int err = ferry__emit_pass(layer, &w->op, FERRY_PASS_FORWARD, 2,
                               (struct ferry__term[]){ w->narrow, w->weights }, w->taken);

    if (!err)
        err = ferry__emit_image(layer, &w->columns, w->taken.at, w->image.at, ZEROS);
    if (err || !c->bias)
        return err;
    return ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, 1, w->image.o, w->image.at,
                              per_channel(c), ferry__of_param(1), w->image.o, w->image.at);
}

static int emit_gathered(ferry_layer *layer, const struct convolution *c, const struct wide *w,
                         bool data)
{
    struct ferry__term dy = diff_of(w->image), columns = diff_of(w->taken);
    bool learns = ferry_layer_param_propagates(layer, 0);
    ferry_op_desc sum;
    int err = 0;

    ferry_op_desc_init(&sum, FERRY_OP_BINARY);
    sum.params.binary.function = FERRY_BINARY_SUM;
    if (c->bias && ferry_layer_param_propagates(layer, 1))
        err = ferry__emit_pass(
            layer, &sum, FERRY_PASS_BACKWARD_WEIGHTS, 1, &dy,
            (struct ferry__term){ per_channel(c), ferry__diff(ferry__of_param(1)) });
    if (!err && (learns || data))
        err = ferry__emit_columns(layer, &w->columns, dy.at, columns.at, ZEROS);
    if (!err && learns)
        err = ferry__emit_pass(layer, &w->op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                               (struct ferry__term[]){ columns, w->narrow }, diff_of(w->weights));
    if (!err && data)
        err = ferry__emit_pass(layer, &w->op, FERRY_PASS_BACKWARD_DATA, 2,
                               (struct ferry__term[]){ columns, w->weights }, diff_of(w->narrow));
    return err;
}

int ferry__convolution_emit_wide(ferry_layer *layer, const struct convolution *c, int k)
{
    bool data = ferry_layer_propagates(layer, k);
    struct wide w;
    int err = describe(layer, c, k, &w);

    if (!err)
        err = c->transposed ? emit_spread(layer, c, &w) : emit_forward(layer, c, &w);
    if (err || !ferry_layer_needs_backward(layer))
        return err;
    return c->transposed ? emit_gathered(layer, c, &w, data) : emit_backward(layer, c, &w, data);
}
