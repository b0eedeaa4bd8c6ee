/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resize (resize_param), ferry's own: the listed axes get `size` elements each, or `scale` times as
 * many, rounded down. method: NEAREST with a rounding, LINEAR, CUBIC; sampling selects how an
 * output's coordinate in the input is computed. (ONNX: Resize, Upsample.)
 *
 * If FERRY_OP_RESIZE computes the requested method, it resizes the last two of four axes. Otherwise
 * each axis is resized by a product with a matrix of weights.
 */
#include "net/layers/emit.h"
#include "net/layers/resample.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>

/* The maximum number of elements of a matrix of weights. */
#define LARGEST_MATRIX (1 << 26)

struct axis {
    int axis;
    int64_t size; /* 0: `scale` determines the size */
    double scale; /* 0: `size` determines the scale */
};

struct resize {
    struct ferry__resample resample;
    int n;
    struct axis axes[FERRY_MAX_AXES];
};

/*
 * The indices of the scratch blobs: a matrix for each axis, the results between the axes, and the
 * zeros for their gradients.
 */
static int matrix_of(int k)
{
    return 2 * k;
}

static int result_of(int k)
{
    return 2 * k + 1;
}

static int read_axis(ferry_layer *layer, const ferry_proto *p, int i, struct axis *out)
{
    int64_t sizes = ferry_proto_value_count(p, "size"), n = ferry_proto_value_count(p, "axis");
    int64_t scales = ferry_proto_value_count(p, "scale");

    out->size = sizes ? ferry_proto_integer(p, "size", i) : 0;
    out->scale = scales ? ferry_proto_real(p, "scale", i) : 0;
    if ((sizes && sizes != n) || (scales && scales != n) || (!sizes && !scales))
        return ferry_proto_error(p, "axis", i, FERRY_EFORMAT,
                                 "layer \"%s\": size or scale is not given for each axis",
                                 ferry_layer_name(layer));
    if ((sizes && (out->size < 1 || out->size > INT32_MAX)) ||
        (scales && !(out->scale > 0 && out->scale < INT32_MAX)))
        return ferry_proto_error(p, sizes ? "size" : "scale", i, FERRY_EFORMAT,
                                 "layer \"%s\": a size of %lld or a scale of %g",
                                 ferry_layer_name(layer), (long long)out->size, out->scale);
    return ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", i),
                          ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), &out->axis);
}

static int setup(ferry_layer *layer)
{
    struct resize *s = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "resize_param", 0);
    int64_t n = ferry_proto_value_count(p, "axis");
    int err = 0;

    if (n > FERRY_MAX_AXES)
        return ferry_proto_error(p, "axis", 0, FERRY_EFORMAT, "layer \"%s\": %lld axes",
                                 ferry_layer_name(layer), (long long)n);
    s->n = (int)n;
    s->resample = (struct ferry__resample){
        .method = (enum ferry__resample_method)ferry_proto_integer(p, "method", 0),
        .sampling = (enum ferry__resample_sampling)ferry_proto_integer(p, "sampling", 0),
        .rounding = (enum ferry__resample_rounding)ferry_proto_integer(p, "rounding", 0),
        .cubic_coeff = ferry_proto_real(p, "cubic_coeff", 0),
        .exclude_outside = ferry_proto_boolean(p, "exclude_outside", 0),
    };
    for (int i = 0; !err && i < s->n; i++)
        err = read_axis(layer, p, i, &s->axes[i]);
    return err;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static int64_t size_of(const struct axis *a, int64_t in)
{
    return a->size ? a->size : (int64_t)floor((double)in * a->scale);
}

static double scale_of(const struct axis *a, int64_t in, int64_t out)
{
    return a->scale > 0 ? a->scale : (double)out / (double)in;
}

static int shape_top(ferry_layer *layer, const struct resize *s)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t shape[FERRY_MAX_AXES], in;
    int rank = ferry_blob_rank(bottom), i;

    for (i = 0; i < rank; i++)
        shape[i] = ferry_blob_dim(bottom, i);
    for (i = 0; i < s->n; i++) {
        in = ferry_blob_dim(bottom, s->axes[i].axis);
        shape[s->axes[i].axis] = size_of(&s->axes[i], in);
        if (in < 1 || in > INT32_MAX || shape[s->axes[i].axis] < 1)
            return ferry_layer_error(layer, FERRY_ESHAPE, "%lld elements cannot be made of %lld",
                                     (long long)shape[s->axes[i].axis], (long long)in);
    }
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
}

/* ---- by FERRY_OP_RESIZE ---------------------------------------------------------------------- */

/*
 * Whether the operation has the same rounding of NEAREST: with half-pixel coordinates it rounds to
 * nearest, ties up.
 */
static bool rounds_alike(const struct resize *s)
{
    enum ferry__resample_rounding rounding = s->resample.rounding;

    return s->resample.sampling == FERRY__RESAMPLE_ASYMMETRIC
               ? rounding == FERRY__RESAMPLE_FLOOR
               : rounding == FERRY__RESAMPLE_ROUND_PREFER_CEIL;
}

/*
 * Whether FERRY_OP_RESIZE computes the requested method. Half-pixel coordinates that are whole
 * multiples never tie.
 */
static bool is_operation(const ferry_layer *layer, const struct resize *s)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *y = ferry_layer_top_at(layer, 0);
    bool nearest = s->resample.method == FERRY__RESAMPLE_NEAREST, alike = rounds_alike(s);
    bool half = s->resample.sampling == FERRY__RESAMPLE_HALF_PIXEL;

    if (ferry_blob_rank(x) != 4 || s->resample.method == FERRY__RESAMPLE_CUBIC ||
        s->resample.sampling == FERRY__RESAMPLE_PYTORCH_HALF_PIXEL || s->resample.exclude_outside)
        return false;
    for (int i = 0; i < s->n; i++) {
        int axis = s->axes[i].axis;
        int64_t in = ferry_blob_dim(x, axis), out = ferry_blob_dim(y, axis);

        if (axis < 2 || (s->axes[i].scale > 0 && s->axes[i].scale * (double)in != (double)out))
            return false;
        if (nearest && !alike &&
            !(half && s->resample.rounding == FERRY__RESAMPLE_ROUND_PREFER_FLOOR && out % in == 0))
            return false;
    }
    return true;
}

static int emit_operation(ferry_layer *layer, const struct resize *s)
{
    static const uint32_t samplings[] = { FERRY_RESIZE_HALF_PIXEL, FERRY_RESIZE_ALIGN_CORNERS,
                                          FERRY_RESIZE_ASYMMETRIC };
    struct ferry__term x = ferry__term(layer, ferry__of_bottom(0));
    struct ferry__term y = ferry__term(layer, ferry__of_top(0)), dx = x, dy = y;
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_RESIZE);
    op.params.resize.method = s->resample.method == FERRY__RESAMPLE_NEAREST ? FERRY_RESIZE_NEAREST
                                                                            : FERRY_RESIZE_BILINEAR;
    op.params.resize.sampling = samplings[s->resample.sampling];
    err = ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 1, &x, y);
    dx.at = ferry__diff(x.at);
    dy.at = ferry__diff(y.at);
    return err || !ferry_layer_propagates(layer, 0)
               ? err
               : ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 1, &dy, dx);
}

/* ---- by matrices ----------------------------------------------------------------------------- */

/*
 * The step that resizes axis k: x is the blob before the step as outer × in × inner, y the blob
 * after it as outer × out × inner.
 */
struct pass {
    int64_t outer, in, out, inner;
    ferry_layer_operand x, y;
};

static void make_passes(const ferry_layer *layer, const struct resize *s, struct pass *out)
{
    const ferry_blob *top = ferry_layer_top_at(layer, 0), *b = ferry_layer_bottom_at(layer, 0);
    int64_t shape[FERRY_MAX_AXES];
    int rank = ferry_blob_rank(b), i, k;

    memcpy(shape, ferry_blob_shape(b), (size_t)rank * sizeof shape[0]);
    for (k = 0; k < s->n; k++) {
        int axis = s->axes[k].axis;

        out[k] = (struct pass){ .outer = 1, .inner = 1, .in = shape[axis] };
        out[k].out = shape[axis] = ferry_blob_dim(top, axis);
        for (i = 0; i < rank; i++)
            *(i < axis ? &out[k].outer : &out[k].inner) *= i == axis ? 1 : shape[i];
        out[k].x = k ? ferry__of_scratch(result_of(k - 1)) : ferry__of_bottom(0);
        out[k].y = k + 1 < s->n ? ferry__of_scratch(result_of(k)) : ferry__of_top(0);
    }
}

/*
 * Emits a batch of products of x and the matrix of weights; if no axis follows, a single product
 * suffices.
 */
static int emit_product(ferry_layer *layer, const struct pass *p, int matrix, bool back)
{
    struct ferry__term w = { ferry_operand_make(FERRY_F32, (int64_t[]){ 1, p->out, p->in }, 3,
                                                NULL),
                             ferry__of_scratch(matrix) };
    int64_t from = back ? p->out : p->in, to = back ? p->in : p->out;
    bool last = p->inner == 1;
    struct ferry__term x = { .at = back ? ferry__diff(p->y) : p->x };
    struct ferry__term y = { .at = back ? ferry__diff(p->x) : p->y };
    ferry_op_desc op;

    x.o = ferry_operand_make(
        FERRY_F32,
        (int64_t[]){ last ? 1 : p->outer, last ? p->outer : from, last ? from : p->inner }, 3,
        NULL);
    y.o = ferry_operand_make(
        FERRY_F32, (int64_t[]){ last ? 1 : p->outer, last ? p->outer : to, last ? to : p->inner },
        3, NULL);
    if (back != last) { /* the matrix is transposed */
        w.o.shape[1] = p->in;
        w.o.shape[2] = p->out;
        w.o.stride[1] = 1;
        w.o.stride[2] = p->in;
    }
    ferry_op_desc_init(&op, FERRY_OP_BATCHED_GEMM);
    op.params.gemm.alpha = 1;
    return ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 2,
                            last ? (struct ferry__term[]){ x, w } : (struct ferry__term[]){ w, x },
                            y);
}

static int emit_matrices(ferry_layer *layer, const struct resize *s)
{
    struct pass passes[FERRY_MAX_AXES];
    int err = 0, k;

    make_passes(layer, s, passes);
    for (k = 0; !err && k < s->n; k++) {
        const struct pass *p = &passes[k];
        int64_t count = p->outer * p->out * p->inner;

        if (p->in > LARGEST_MATRIX / p->out)
            return ferry_layer_error(layer, FERRY_EUNSUPPORTED,
                                     "an axis of %lld elements from one of %lld", (long long)p->out,
                                     (long long)p->in);
        if (!ferry_layer_scratch(layer, matrix_of(k), 1, (int64_t[]){ p->out, p->in }, 2) ||
            !ferry_layer_scratch(layer, result_of(k), 0, &count, 1))
            return ferry_last_error_code();
        err = emit_product(layer, p, matrix_of(k), false);
    }
    for (k = s->n; !err && ferry_layer_propagates(layer, 0) && k-- > 0;)
        err = emit_product(layer, &passes[k], matrix_of(k), true);
    return err;
}

static int prepare(ferry_layer *layer)
{
    const struct resize *s = ferry_layer_state(layer);
    struct pass passes[FERRY_MAX_AXES];

    if (is_operation(layer, s))
        return 0;
    make_passes(layer, s, passes);
    for (int k = 0; k < s->n; k++) {
        float *to = ferry_blob_overwrite_host_data(ferry_layer_scratch_at(layer, matrix_of(k)));

        if (!to)
            return ferry_last_error_code();
        ferry__resample_weights(&s->resample, passes[k].in, passes[k].out,
                                scale_of(&s->axes[k], passes[k].in, passes[k].out), to);
    }
    return 0;
}

/* ---------------------------------------------------------------------------------------------- */

static int reshape(ferry_layer *layer)
{
    const struct resize *s = ferry_layer_state(layer);
    int err = shape_top(layer, s);

    if (err)
        return err;
    if (!s->n)
        return ferry_layer_alias(layer, 0, 0);
    return is_operation(layer, s) ? emit_operation(layer, s) : emit_matrices(layer, s);
}

static const char *const messages[] = { "resize_param", NULL };

const ferry_layer_type ferry__resize_layer = {
    .struct_size = sizeof ferry__resize_layer,
    .name = "Resize",
    .state_size = sizeof(struct resize),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .setup = setup,
    .prepare = prepare,
    .reshape = reshape,
};
