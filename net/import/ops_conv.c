/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts Conv, ConvTranspose, Gemm and MatMul, whose weights are constants. */
#include "net/import/fold.h"
#include "net/import/ops.h"

#include <ferry/status.h>

#include <string.h>

/* ---- Conv and ConvTranspose ----------------------------------------------------------------- */

/* The weights, the bias or NULL, and the node's attributes. */
struct convolution {
    struct ferry__import_value *x;
    const struct ferry__import_tensor *weights, *bias;
    struct ferry__import_window window;
    int64_t group, outputs;
    bool transposed;
};

static struct convolution read_convolution(struct ferry__import *im, bool transposed)
{
    struct convolution c = { .transposed = transposed };
    const struct ferry__import_shape *w;

    c.x = ferry__import_input(im, 0);
    c.weights = ferry__import_constant(im, 1);
    c.bias = ferry__import_has(im, 2) ? ferry__import_constant(im, 2) : NULL;
    c.group = ferry__import_integer(im, "group", 1);
    w = &c.weights->shape;
    if (!im->err && w->rank != c.x->shape.rank)
        ferry__import_fail(im, FERRY_EFORMAT, "weights of %d axes for an input of %d", w->rank,
                           c.x->shape.rank);
    if (im->err)
        return c;
    c.window = ferry__import_window_of(im, &c.x->shape, w->dim + 2);
    c.outputs = transposed ? w->dim[1] * c.group : w->dim[0];
    if (!im->err && (c.group < 1 || c.group > INT32_MAX || c.outputs < 1 || w->dim[1] < 1 ||
                     c.x->shape.dim[1] != (transposed ? w->dim[0] : w->dim[1] * c.group) ||
                     c.x->shape.dim[1] % c.group || c.outputs % c.group))
        ferry__import_fail(im, FERRY_EFORMAT,
                           "weights of %lld × %lld, %lld groups and %lld channels do not match",
                           (long long)w->dim[0], (long long)w->dim[1], (long long)c.group,
                           (long long)c.x->shape.dim[1]);
    if (!im->err && c.bias && c.bias->count != c.outputs)
        ferry__import_fail(im, FERRY_EFORMAT, "a bias of %lld elements for %lld outputs",
                           (long long)c.bias->count, (long long)c.outputs);
    return c;
}

/* Adds the layer, with the window's pads at the beginning used for both ends. */
static struct ferry__import_value *emit_convolution(struct ferry__import *im,
                                                    const struct convolution *c,
                                                    struct ferry__import_value *x,
                                                    const struct ferry__import_shape *shape,
                                                    const struct ferry__import_tensor *bias)
{
    ferry__import_layer(im, c->transposed ? "Deconvolution" : "Convolution", "convolution_param");
    ferry__import_put(im, "num_output", c->outputs);
    if (!bias)
        ferry__import_put(im, "bias_term", 0);
    for (int i = 0; i < c->window.n; i++) {
        ferry__import_put(im, "pad", c->window.begin[i]);
        ferry__import_put(im, "kernel_size", c->window.kernel[i]);
        ferry__import_put(im, "stride", c->window.stride[i]);
        ferry__import_put(im, "dilation", c->window.dilation[i]);
    }
    if (c->group != 1)
        ferry__import_put(im, "group", c->group);
    ferry__import_bottom(im, x);
    ferry__import_weights(im, c->weights);
    if (bias)
        ferry__import_weights(im, bias);
    return ferry__import_top(im, shape);
}

void ferry__import_conv(struct ferry__import *im)
{
    struct convolution c = read_convolution(im, false);
    struct ferry__import_shape shape = c.x->shape;
    int64_t begin[FERRY_OP_AXES] = { 0 }, end[FERRY_OP_AXES] = { 0 };
    int i;

    if (im->err)
        return;
    shape.dim[1] = c.outputs;
    for (i = 0; i < c.window.n; i++) {
        shape.dim[i + 2] = ferry__import_window_slid(&c.window, i, shape.dim[i + 2], false);
        begin[i + 2] = c.window.begin[i];
        end[i + 2] = c.window.end[i];
        if (shape.dim[i + 2] < 1)
            ferry__import_fail(im, FERRY_EFORMAT, "its window does not fit on its input");
    }
    if (!ferry__import_window_is_even(&c.window)) {
        c.x = ferry__import_padded(im, c.x, begin, end, 0);
        memset(c.window.begin, 0, sizeof c.window.begin);
    }
    ferry__import_give(im, 0, emit_convolution(im, &c, c.x, &shape, c.bias));
}

/*
 * Computes the size of ConvTranspose's result from output_shape or output_padding, and the number
 * of elements that are cut off its end.
 */
static void size_transposed(struct ferry__import *im, struct convolution *c,
                            struct ferry__import_shape *full, struct ferry__import_shape *shape)
{
    const char *how = ferry__import_string(im, "auto_pad", "NOTSET");
    int64_t more[FERRY__IMPORT_SPATIAL] = { 0 }, wanted[FERRY_OP_AXES];
    int n_more = ferry__import_integers(im, "output_padding", more, FERRY__IMPORT_SPATIAL);
    int n = ferry__import_integers(im, "output_shape", wanted, FERRY_OP_AXES), i;
    struct ferry__import_window *w = &c->window;
    bool alike = !strncmp(how, "SAME", 4);

    if (!im->err && ((n && n != w->n && n != w->n + 2) || (n_more && n_more != w->n)))
        ferry__import_fail(im, FERRY_EFORMAT, "output_shape has %d values, output_padding %d", n,
                           n_more);
    for (i = 0; !im->err && i < w->n; i++) {
        int64_t in = c->x->shape.dim[i + 2], pad;

        full->dim[i + 2] = w->stride[i] * (in - 1) + w->dilation[i] * (w->kernel[i] - 1) + 1;
        if (more[i] < 0 || more[i] > INT32_MAX)
            ferry__import_fail(im, FERRY_EFORMAT, "output_padding is %lld", (long long)more[i]);
        if (n || alike) { /* the pads follow from the size */
            shape->dim[i + 2] = n ? wanted[n - w->n + i] : in * w->stride[i];
            pad = full->dim[i + 2] + more[i] - shape->dim[i + 2];
            pad = pad > 0 ? pad : 0;
            w->begin[i] = !strcmp(how, "SAME_UPPER") ? pad / 2 : pad - pad / 2;
            if (!alike)
                w->begin[i] = pad / 2;
            w->end[i] = full->dim[i + 2] - w->begin[i] - shape->dim[i + 2];
        } else {
            w->end[i] -= more[i];
            shape->dim[i + 2] = full->dim[i + 2] - w->begin[i] - w->end[i];
        }
        if (shape->dim[i + 2] < 1)
            ferry__import_fail(im, FERRY_EFORMAT, "its result has %lld elements along an axis",
                               (long long)shape->dim[i + 2]);
    }
}

void ferry__import_conv_transpose(struct ferry__import *im)
{
    struct convolution c = read_convolution(im, true);
    struct ferry__import_shape full = c.x->shape, shape = full;
    int64_t begin[FERRY_OP_AXES] = { 0 }, end[FERRY_OP_AXES] = { 0 };
    struct ferry__import_value *y;

    if (im->err)
        return;
    full.dim[1] = shape.dim[1] = c.outputs;
    size_transposed(im, &c, &full, &shape);
    if (ferry__import_window_is_even(&c.window)) {
        y = emit_convolution(im, &c, c.x, &shape, c.bias);
    } else {
        for (int i = 0; i < c.window.n; i++) {
            begin[i + 2] = -c.window.begin[i];
            end[i + 2] = -c.window.end[i];
        }
        memset(c.window.begin, 0, sizeof c.window.begin);
        y = emit_convolution(im, &c, c.x, &full, NULL);
        y = ferry__import_padded(im, y, begin, end, 0);
        if (c.bias)
            y = ferry__import_scaled(im, y, 1, 1, NULL, c.bias);
    }
    ferry__import_give(im, 0, y);
}

/* ---- Gemm and MatMul ------------------------------------------------------------------------ */

/*
 * Adds an InnerProduct of x, flattened from `axis` on, with weights of inputs × outputs or, without
 * `transposed`, of outputs × inputs.
 */
static struct ferry__import_value *emit_product(struct ferry__import *im,
                                                struct ferry__import_value *x, int axis,
                                                const struct ferry__import_tensor *weights,
                                                bool transposed,
                                                const struct ferry__import_tensor *bias)
{
    struct ferry__import_shape shape = x->shape;
    int64_t inputs = weights->shape.dim[transposed ? 0 : 1];

    if (!im->err &&
        (weights->shape.rank != 2 || shape.rank != axis + 1 || shape.dim[axis] != inputs))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "weights of %d axes for an input of %d",
                           weights->shape.rank, shape.rank);
    if (im->err)
        return x;
    shape.dim[axis] = weights->shape.dim[transposed ? 1 : 0];
    if (shape.dim[axis] < 1 || inputs < 1)
        ferry__import_fail(im, FERRY_EFORMAT, "weights of %lld × %lld",
                           (long long)weights->shape.dim[0], (long long)weights->shape.dim[1]);
    ferry__import_layer(im, "InnerProduct", "inner_product_param");
    ferry__import_put(im, "num_output", shape.dim[axis]);
    if (!bias)
        ferry__import_put(im, "bias_term", 0);
    if (axis != 1)
        ferry__import_put(im, "axis", axis);
    if (transposed)
        ferry__import_put(im, "transpose", 1);
    ferry__import_bottom(im, x);
    ferry__import_weights(im, weights);
    if (bias)
        ferry__import_weights(im, bias);
    return ferry__import_top(im, &shape);
}

/* Converts Gemm, alpha · A · B + beta · C; the factors are multiplied into the constants. */
void ferry__import_gemm(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    struct ferry__import_tensor weights = *ferry__import_constant(im, 1), bias = { 0 };
    double alpha = ferry__import_real(im, "alpha", 1), beta = ferry__import_real(im, "beta", 1);
    bool transposed = !ferry__import_integer(im, "transB", 0), fits = false;
    struct ferry__import_value *c = ferry__import_has(im, 2) ? ferry__import_input(im, 2) : NULL;

    if (!im->err && (x->shape.rank != 2 || weights.shape.rank != 2))
        ferry__import_fail(im, FERRY_EFORMAT, "its inputs have %d and %d axes", x->shape.rank,
                           weights.shape.rank);
    if (im->err)
        return;
    if (ferry__import_integer(im, "transA", 0))
        x = ferry__import_permute(im, x, (int64_t[]){ 1, 0 });
    if (alpha != 1)
        weights = ferry__import_constant_affine(im, &weights, alpha, 0);
    if (c && c->constant) {
        bias = c->tensor;
        fits = bias.shape.rank && bias.count == weights.shape.dim[transposed ? 1 : 0] &&
               bias.count == bias.shape.dim[bias.shape.rank - 1];
    }
    if (fits && beta != 1)
        bias = ferry__import_constant_affine(im, &bias, beta, 0);
    y = emit_product(im, x, 1, &weights, transposed, fits ? &bias : NULL);
    if (c && !fits)
        y = ferry__import_binary_of(im, "ADD", y,
                                    beta == 1 ? c : ferry__import_affine(im, c, beta, 0));
    ferry__import_give(im, 0, y);
}

void ferry__import_mat_mul(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    struct ferry__import_tensor weights = *ferry__import_constant(im, 1);
    bool vector = weights.shape.rank == 1;
    struct ferry__import_value *y;
    struct ferry__import_shape shape;

    if (!im->err && x->shape.rank < 1)
        ferry__import_fail(im, FERRY_EFORMAT, "its input is a scalar");
    if (im->err)
        return;
    if (vector)
        weights.shape = (struct ferry__import_shape){ 2, { weights.count, 1 } };
    y = emit_product(im, x, x->shape.rank - 1, &weights, true, NULL);
    shape = y->shape;
    shape.rank -= vector;
    ferry__import_give(im, 0, ferry__import_reshape(im, y, &shape));
}
