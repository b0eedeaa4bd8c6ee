/* SPDX-License-Identifier: BSD-2-Clause */
/* Losses as functions of predictions and labels, which are inputs of the model. */
#include "net/layers/loss.h"
#include "net/onnx/layers.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- shared functions ----------------------------------------------------------------------- */

/* The sum of all elements: a scalar. */
static int sum_of(struct ferry__onnx *o, int x)
{
    int flat = ONNX_OP(o, "Reshape", x, ferry__onnx_ints(o, 1, &(int64_t){ -1 }));

    return ferry__onnx_reduce(o, "ReduceSum", flat, 1, &(int64_t){ 0 }, false);
}

/*
 * Computes 1 for labels that are not ignored and 0 for the others; returns value 0 if no label is
 * ignored.
 */
static int counted(struct ferry__onnx *o, const struct ferry__loss *s, int labels)
{
    int equal;

    if (!s->ignores)
        return 0;
    equal = ONNX_OP(o, "Equal", ferry__onnx_cast(o, labels, FERRY__ONNX_INT64),
                    ferry__onnx_int(o, s->ignored));
    return ferry__onnx_cast(o, ONNX_OP(o, "Not", equal), FERRY__ONNX_FLOAT);
}

/* Computes the mean of the losses of all positions, by the layer's normalization. */
static void finish(struct ferry__onnx *o, const struct ferry__loss *s, int losses, int counts)
{
    double places = (double)s->outer * (double)s->inner, divisor = 1;
    int sum, valid;

    if (counts)
        losses = ONNX_OP(o, "Mul", losses, counts);
    sum = sum_of(o, losses);
    if (counts && s->normalization == FERRY__NORMALIZE_VALID) {
        valid = ONNX_OP(o, "Max", sum_of(o, counts), ferry__onnx_float(o, 1));
        ferry__onnx_top(o, 0, ONNX_OP(o, "Div", sum, valid));
        return;
    }
    if (s->normalization == FERRY__NORMALIZE_BATCH_SIZE)
        divisor = (double)s->outer;
    else if (s->normalization != FERRY__NORMALIZE_NONE)
        divisor = places;
    ferry__onnx_top(o, 0, ferry__onnx_scaled(o, sum, 1 / (divisor > 1 ? divisor : 1), 0));
}

/*
 * The value of x, outer × classes × inner, at each label, outer × 1 × inner. The label is clipped,
 * because an ignored label may be out of range.
 */
static int at_labels(struct ferry__onnx *o, int x, const struct ferry__loss *s, int *out_labels)
{
    int64_t dims[3] = { s->outer, 1, s->inner };
    int labels = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 1), 3, dims), index, y;

    index = ferry__onnx_clip_to(o, labels, 0, (double)(s->classes - 1));
    y = ONNX_OP(o, "GatherElements", x, ferry__onnx_cast(o, index, FERRY__ONNX_INT64));
    ferry__onnx_set_int(o, "axis", 1);
    *out_labels = labels;
    return y;
}

/* ---- the losses ----------------------------------------------------------------------------- */

/* Adds SoftmaxWithLoss. As in Caffe, smaller probabilities are replaced by FLT_MIN. */
void ferry__onnx_softmax_with_loss(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "softmax_param");
    const struct ferry__loss *s = ferry_layer_state(o->layer);
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);
    int axis = ferry__onnx_axis(b, p, "axis"), rank = ferry_blob_rank(b), labels, y;
    int64_t dims[3] = { s->outer, s->classes, s->inner };

    y = ferry__onnx_softmax_of(o, "LogSoftmax", ferry__onnx_bottom(o, 0), rank, axis);
    y = at_labels(o, ferry__onnx_reshape_to(o, y, 3, dims), s, &labels);
    y = ONNX_OP(o, "Max", y, ferry__onnx_float(o, log((double)FLT_MIN)));
    finish(o, s, ONNX_OP(o, "Neg", y), counted(o, s, labels));
    if (o->layer->n_tops > 1)
        ferry__onnx_top(o, 1,
                        ferry__onnx_softmax_of(o, "Softmax", ferry__onnx_bottom(o, 0), rank, axis));
}

/* Treats bottom 0 as entries with one label each. */
static struct ferry__loss by_entry(const struct ferry__onnx *o)
{
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);
    struct ferry__loss s = { .normalization = FERRY__NORMALIZE_FULL, .inner = 1 };

    s.outer = ferry_blob_dim(b, 0);
    s.classes = ferry_blob_element_count_range(b, 1, ferry_blob_rank(b));
    return s;
}

void ferry__onnx_multinomial_logistic_loss(struct ferry__onnx *o)
{
    struct ferry__loss s = by_entry(o);
    int64_t dims[3] = { s.outer, s.classes, 1 };
    int x = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 0), 3, dims), labels;
    int y = at_labels(o, x, &s, &labels);

    y = ONNX_OP(o, "Log", ONNX_OP(o, "Max", y, ferry__onnx_float(o, 1e-20)));
    finish(o, &s, ONNX_OP(o, "Neg", y), 0);
}

/* Adds log(1 + exp(x)) − x · target. */
void ferry__onnx_sigmoid_cross_entropy_loss(struct ferry__onnx *o)
{
    const struct ferry__loss *s = ferry_layer_state(o->layer);
    int x = ferry__onnx_bottom(o, 0), targets = ferry__onnx_bottom(o, 1), y;

    if (!ferry_blob_shape_equals(ferry__onnx_bottom_blob(o, 0), ferry__onnx_bottom_blob(o, 1)))
        targets = ferry__onnx_reshape_as(o, targets, ferry__onnx_bottom_blob(o, 0));
    y = ONNX_OP(o, "Sub", ONNX_OP(o, "Softplus", x), ONNX_OP(o, "Mul", x, targets));
    finish(o, s, y, counted(o, s, targets));
}

void ferry__onnx_euclidean_loss(struct ferry__onnx *o)
{
    const ferry_blob *a = ferry__onnx_bottom_blob(o, 0);
    int b = ferry__onnx_bottom(o, 1), d;

    if (!ferry_blob_shape_equals(a, ferry__onnx_bottom_blob(o, 1)))
        b = ferry__onnx_reshape_as(o, b, a);
    d = ONNX_OP(o, "Sub", ferry__onnx_bottom(o, 0), b);
    ferry__onnx_top(o, 0,
                    ferry__onnx_scaled(o, sum_of(o, ONNX_OP(o, "Mul", d, d)),
                                       0.5 / (double)ferry_blob_dim(a, 0), 0));
}

/* Adds max(0, 1 ± x): the sign is minus at the label's class, for which OneHot gives −1. */
void ferry__onnx_hinge_loss(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "hinge_loss_param");
    struct ferry__loss s = by_entry(o);
    int64_t flat[2] = { s.outer, s.classes }, entries = s.outer;
    int x = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 0), 2, flat), signs, y;

    y = ferry__onnx_cast(o, ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 1), 1, &entries),
                         FERRY__ONNX_INT64);
    signs = ONNX_OP(o, "OneHot", y, ferry__onnx_int(o, s.classes),
                    ferry__onnx_floats(o, 1, &(int64_t){ 2 }, (float[]){ 1, -1 }));
    y = ONNX_OP(o, "Relu", ferry__onnx_scaled(o, ONNX_OP(o, "Mul", x, signs), 1, 1));
    if (!strcmp(ferry_proto_enum(p, "norm", 0), "L2"))
        y = ONNX_OP(o, "Mul", y, y);
    ferry__onnx_top(o, 0, ferry__onnx_scaled(o, sum_of(o, y), 1 / (double)s.outer, 0));
}

void ferry__onnx_contrastive_loss(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "contrastive_loss_param");
    bool legacy = ferry_proto_boolean(p, "legacy_version", 0);
    struct ferry__loss s = by_entry(o);
    int64_t flat[2] = { s.outer, s.classes }, pairs = s.outer, axis = 1;
    int a = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 0), 2, flat);
    int b = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 1), 2, flat), squared, apart, similar;

    squared = ferry__onnx_reduce(o, "ReduceSumSquare", ONNX_OP(o, "Sub", a, b), 1, &axis, false);
    apart = legacy ? squared : ONNX_OP(o, "Sqrt", squared);
    apart = ferry__onnx_scaled(o, apart, -1, ferry_proto_real(p, "margin", 0));
    apart = ONNX_OP(o, "Relu", apart);
    if (!legacy)
        apart = ONNX_OP(o, "Mul", apart, apart);
    similar = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 2), 1, &pairs);
    similar =
        ferry__onnx_cast(o, ferry__onnx_cast(o, similar, FERRY__ONNX_INT64), FERRY__ONNX_BOOL);
    squared = sum_of(o, ONNX_OP(o, "Where", similar, squared, apart));
    ferry__onnx_top(o, 0, ferry__onnx_scaled(o, squared, 0.5 / (double)s.outer, 0));
}
