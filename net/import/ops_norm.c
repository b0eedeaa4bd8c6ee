/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts normalizations, Softmax and reductions. */
#include "net/import/fold.h"
#include "net/import/ops.h"

#include <ferry/status.h>

#include <float.h>
#include <string.h>

/* Whether output k is read by a node or is an output of the graph. */
static bool is_used(struct ferry__import *im, int k)
{
    const char *name =
        k < ferry__import_output_count(im) ? ferry_proto_string(im->node, "output", k, NULL) : "";

    return *name && ferry__import_value_named(im, name)->uses > 0;
}

/* Returns input i as a constant of `count` elements; fails if it has another size. */
static const struct ferry__import_tensor *vector(struct ferry__import *im, int i, int64_t count)
{
    const struct ferry__import_tensor *t = ferry__import_constant(im, i);

    if (!im->err && t->count != count)
        ferry__import_fail(im, FERRY_EFORMAT, "input %d has %lld elements, not %lld", i,
                           (long long)t->count, (long long)count);
    return t;
}

/* ---- by stored statistics ------------------------------------------------------------------- */

void ferry__import_batch_norm(struct ferry__import *im)
{
    static const float one = 1;
    const struct ferry__import_tensor factor = {
        FERRY__ONNX_FLOAT, { 1, { 1 } }, 1, (const unsigned char *)&one, true
    };
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    int64_t channels = x->shape.rank > 1 ? x->shape.dim[1] : 0;
    const struct ferry__import_tensor *in[5];

    for (int i = 1; i < 5; i++)
        in[i] = vector(im, i, channels);
    if (ferry__import_integer(im, "training_mode", 0) || is_used(im, 1))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "training_mode");
    if (!ferry__import_integer(im, "spatial", 1))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "statistics of each element");
    y = ferry__import_map(im, x, "BatchNorm", "batch_norm_param");
    ferry__import_put_real(im, "eps", ferry__import_real(im, "epsilon", (double)1e-5f));
    for (int i = 3; i < 5 && !im->err; i++)
        ferry__import_weights(im, in[i]);
    ferry__import_weights(im, &factor);
    if (!im->err)
        ferry__import_give(im, 0, ferry__import_scaled(im, y, 1, 1, in[1], in[2]));
}

/* ---- by the statistics of the input --------------------------------------------------------- */

static struct ferry__import_value *normalized(struct ferry__import *im,
                                              struct ferry__import_value *x, int axis)
{
    struct ferry__import_value *y = ferry__import_map(im, x, "LayerNorm", "layer_norm_param");

    ferry__import_put(im, "axis", axis);
    ferry__import_put_real(im, "eps", ferry__import_real(im, "epsilon", (double)1e-5f));
    return y;
}

void ferry__import_instance_norm(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    int64_t channels = x->shape.rank > 1 ? x->shape.dim[1] : 0;
    const struct ferry__import_tensor *factor = vector(im, 1, channels);
    const struct ferry__import_tensor *term = vector(im, 2, channels);

    if (!im->err && x->shape.rank < 3)
        ferry__import_fail(im, FERRY_EFORMAT, "its input has %d axes", x->shape.rank);
    if (!im->err)
        ferry__import_give(im, 0,
                           ferry__import_scaled(im, normalized(im, x, 2), 1, 1, factor, term));
}

/* Sets outputs 1 and 2 of LayerNormalization: the mean, and 1 / √(variance + eps). */
static void give_statistics(struct ferry__import *im, struct ferry__import_value *x, int axis)
{
    unsigned axes = (1u << x->shape.rank) - (1u << axis);
    struct ferry__import_value *mean = ferry__import_reduced(im, x, "MEAN", axes, true), *rest;
    int64_t elements = ferry__import_shape_count(&x->shape) /
                       (im->err ? 1 : ferry__import_shape_count(&mean->shape));

    rest = ferry__import_binary_of(im, "SUBTRACT", x, mean);
    rest = ferry__import_reduced(im, rest, "SUMSQ", axes, true);
    rest = ferry__import_affine(im, rest, 1 / (double)elements,
                                ferry__import_real(im, "epsilon", (double)1e-5f));
    ferry__import_put_real(im, "power", -0.5);
    ferry__import_give(im, 1, mean);
    ferry__import_give(im, 2, rest);
}

void ferry__import_layer_norm(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    int axis = ferry__import_axis(im, ferry__import_integer(im, "axis", -1), x->shape.rank);
    struct ferry__import_shape rest = { .rank = x->shape.rank - axis };
    struct ferry__import_tensor term = { 0 }, factor;

    if (!im->err && (is_used(im, 1) || is_used(im, 2)) && ferry__import_shape_count(&x->shape))
        give_statistics(im, x, axis);
    if (im->err)
        return;
    memcpy(rest.dim, x->shape.dim + axis, (size_t)rest.rank * sizeof rest.dim[0]);
    factor = *vector(im, 1, ferry__import_shape_count(&rest));
    factor.shape = rest;
    if (ferry__import_has(im, 2)) {
        term = *vector(im, 2, ferry__import_shape_count(&rest));
        term.shape = rest;
    }
    ferry__import_give(im, 0,
                       ferry__import_scaled(im, normalized(im, x, axis), axis, -1, &factor,
                                            ferry__import_has(im, 2) ? &term : NULL));
}

/*
 * Converts GroupNormalization; before operator set 21 factor and term have one element for each
 * group.
 */
void ferry__import_group_norm(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    int64_t groups = ferry__import_integer(im, "num_groups", 1);
    int64_t channels = x->shape.rank > 1 ? x->shape.dim[1] : 0;
    struct ferry__import_shape split = { 3, { x->shape.dim[0], groups, 0 } };

    if (!im->err && (groups < 1 || !channels || channels % groups))
        ferry__import_fail(im, FERRY_EFORMAT, "%lld groups of %lld channels", (long long)groups,
                           (long long)channels);
    if (!im->err && im->opset < 21 && groups != channels)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "factors of groups, as before operator set 21");
    if (im->err || !split.dim[0])
        return;
    split.dim[2] = ferry__import_shape_count(&x->shape) / (split.dim[0] * groups);
    y = normalized(im, ferry__import_reshape(im, x, &split), 2);
    y = ferry__import_reshape(im, y, &x->shape);
    ferry__import_give(
        im, 0, ferry__import_scaled(im, y, 1, 1, vector(im, 1, channels), vector(im, 2, channels)));
}

/*
 * Converts LpNormalization: x over the sum of absolute values (p 1) or the root of the sum of
 * squares (p 2) along an axis.
 */
void ferry__import_lp_norm(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *norm;
    int axis = ferry__import_axis(im, ferry__import_integer(im, "axis", -1), x->shape.rank);
    int64_t p = ferry__import_integer(im, "p", 2);

    if (p != 1 && p != 2)
        ferry__import_fail(im, FERRY_EFORMAT, "p is %lld", (long long)p);
    norm = ferry__import_reduced(im, x, p == 1 ? "ASUM" : "SUMSQ", 1u << axis, true);
    if (p == 2) {
        norm = ferry__import_map(im, norm, "Power", "power_param");
        ferry__import_put_real(im, "power", 0.5);
    }
    norm = ferry__import_map(im, norm, "Clip", "clip_param"); /* with this bound 0 / 0 becomes 0 */
    ferry__import_put_real(im, "min", (double)FLT_MIN);
    ferry__import_put_real(im, "max", (double)FLT_MAX);
    ferry__import_give(im, 0, ferry__import_binary_of(im, "DIVIDE", x, norm));
}

void ferry__import_lrn(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    int64_t size = ferry__import_integer(im, "size", 1);

    if (size < 1 || size > INT32_MAX || size % 2 == 0)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "a size of %lld", (long long)size);
    y = ferry__import_map(im, x, "LRN", "lrn_param");
    ferry__import_put(im, "local_size", size);
    ferry__import_put_real(im, "alpha", ferry__import_real(im, "alpha", (double)1e-4f));
    ferry__import_put_real(im, "beta", ferry__import_real(im, "beta", 0.75));
    ferry__import_put_real(im, "k", ferry__import_real(im, "bias", 1));
    ferry__import_give(im, 0, y);
}

/* ---- Softmax -------------------------------------------------------------------------------- */

/*
 * Converts Softmax and LogSoftmax; before operator set 13 they include all axes from the axis on.
 */
void ferry__import_softmax(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    bool old = im->opset < 13;
    int axis =
        ferry__import_axis(im, ferry__import_integer(im, "axis", old ? 1 : -1), x->shape.rank);
    struct ferry__import_shape flat = { 2, { 1, 1 } };
    int rest = 0;

    if (im->err)
        return;
    for (int i = 0; i < x->shape.rank; i++) {
        flat.dim[i >= axis] *= x->shape.dim[i];
        rest += i > axis && x->shape.dim[i] != 1;
    }
    y = old && rest ? ferry__import_reshape(im, x, &flat) : x;
    y = ferry__import_map(im, y, ferry__import_operator(im), "softmax_param");
    ferry__import_put(im, "axis", old && rest ? 1 : axis);
    ferry__import_give(im, 0, ferry__import_reshape(im, y, &x->shape));
}

/* ---- reductions ----------------------------------------------------------------------------- */

struct ferry__import_value *ferry__import_reduced(struct ferry__import *im,
                                                  struct ferry__import_value *x, const char *what,
                                                  unsigned axes, bool keep)
{
    struct ferry__import_shape shape = { 0 };

    if (!axes && !strcmp(what, "ASUM"))
        return ferry__import_map(im, x, "AbsVal", NULL);
    if (!axes) {
        if (strcmp(what, "SUMSQ"))
            return x;
        x = ferry__import_map(im, x, "Power", "power_param");
        ferry__import_put_real(im, "power", 2);
        return x;
    }
    ferry__import_layer(im, "Reduce", "reduce_param");
    ferry__import_put_word(im, "operation", what);
    for (int i = 0; i < x->shape.rank; i++) {
        if (axes >> i & 1)
            ferry__import_put(im, "axis", i);
        if (!(axes >> i & 1) || keep)
            shape.dim[shape.rank++] = axes >> i & 1 ? 1 : x->shape.dim[i];
    }
    if (!keep)
        ferry__import_put(im, "keep_axes", 0);
    ferry__import_bottom(im, x);
    return ferry__import_top(im, &shape);
}

/* The reductions: the Reduce layer's operation, and the functions before and after it. */
static const struct reduction {
    const char *op, *operation;
    bool negate, root, logarithm;
} reductions[] = {
    { "ReduceL1", "ASUM", false, false, false },
    { "ReduceL2", "SUMSQ", false, true, false },
    { "ReduceLogSum", "SUM", false, false, true },
    { "ReduceMax", "MAX", false, false, false },
    { "ReduceMean", "MEAN", false, false, false },
    { "ReduceMin", "MAX", true, false, false },
    { "ReduceSum", "SUM", false, false, false },
    { "ReduceSumSquare", "SUMSQ", false, false, false },
};

/* The axes of input 1 or of the attribute; all axes without them. */
static unsigned axes_of(struct ferry__import *im, int rank)
{
    int64_t axes[FERRY_OP_AXES];
    int n = ferry__import_list(im, 1, "axes", axes, FERRY_OP_AXES);
    unsigned out = 0;

    for (int i = 0; !im->err && i < n; i++)
        out |= 1u << ferry__import_axis(im, axes[i], rank);
    if (!n && !ferry__import_integer(im, "noop_with_empty_axes", 0))
        out = (1u << rank) - 1;
    return out;
}

void ferry__import_reduce(struct ferry__import *im)
{
    const char *op = ferry__import_operator(im);
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    unsigned axes = axes_of(im, x->shape.rank);
    bool keep = ferry__import_integer(im, "keepdims", 1) != 0;
    const struct reduction *r = reductions;

    while (strcmp(r->op, op))
        r++;
    if (im->err)
        return;
    y = r->negate ? ferry__import_affine(im, x, -1, 0) : x;
    y = ferry__import_reduced(im, y, r->operation, axes, keep);
    if (r->negate)
        y = ferry__import_affine(im, y, -1, 0);
    if (r->root) {
        y = ferry__import_map(im, y, "Power", "power_param");
        ferry__import_put_real(im, "power", 0.5);
    }
    if (r->logarithm)
        y = ferry__import_map(im, y, "Log", NULL);
    ferry__import_give(im, 0, y);
}

/* Converts ArgMax: the first of equal values, or with select_last_index the last. */
void ferry__import_arg_max(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0), *y;
    int axis = ferry__import_axis(im, ferry__import_integer(im, "axis", 0), x->shape.rank);
    bool min = !strcmp(ferry__import_operator(im), "ArgMin");
    struct ferry__import_shape shape = x->shape, kept = { 0 };

    if (im->err)
        return;
    if (min)
        x = ferry__import_affine(im, x, -1, 0);
    shape.dim[axis] = 1;
    ferry__import_layer(im, "ArgMax", "argmax_param");
    ferry__import_put(im, "axis", axis);
    if (!ferry__import_integer(im, "select_last_index", 0))
        ferry__import_put(im, "first", 1);
    ferry__import_bottom(im, x);
    y = ferry__import_top(im, &shape);
    for (int i = 0; i < shape.rank; i++)
        if (i != axis || ferry__import_integer(im, "keepdims", 1))
            kept.dim[kept.rank++] = shape.dim[i];
    ferry__import_give(im, 0, ferry__import_reshape(im, y, &kept));
}
