/* SPDX-License-Identifier: BSD-2-Clause */
/* Layers that multiply and add: parameters, a second bottom, or statistics. */
#include "common/affine.h"
#include "net/layers/scale.h"
#include "net/onnx/layers.h"

#include <string.h>

/* ---- statistics ----------------------------------------------------------------------------- */

int ferry__onnx_centred(struct ferry__onnx *o, int x, int n, const int64_t *axes, int *out_variance)
{
    int y = ONNX_OP(o, "Sub", x, ferry__onnx_reduce(o, "ReduceMean", x, n, axes, true));

    if (out_variance)
        *out_variance = ferry__onnx_reduce(o, "ReduceMean", ONNX_OP(o, "Mul", y, y), n, axes, true);
    return y;
}

/* All axes except the channels. */
static int other_axes(int rank, int64_t *out)
{
    int n = 0, i;

    for (i = 0; i < rank; i++)
        if (i != 1)
            out[n++] = i;
    return n;
}

/* Normalizes with the batch's own statistics. */
static int batch_normalized(struct ferry__onnx *o, int x, double eps)
{
    int64_t axes[FERRY_MAX_AXES];
    int n = other_axes(ferry_blob_rank(ferry__onnx_bottom_blob(o, 0)), axes), variance;
    int y = ferry__onnx_centred(o, x, n, axes, &variance);

    variance = ferry__onnx_scaled(o, variance, 1, eps);
    return ONNX_OP(o, "Mul", y, ferry__onnx_raised(o, variance, -0.5));
}

/*
 * Mean and variance from the sums in a BatchNorm's parameters, and the affine function that they
 * define.
 */
struct statistics {
    int64_t channels;
    double *mean, *variance, *factors, *terms;
};

static bool read_statistics(struct ferry__onnx *o, double eps, struct statistics *s)
{
    const float *sums = ferry_blob_host_data(ferry_layer_param_at(o->layer, 0));
    const float *variances = ferry_blob_host_data(ferry_layer_param_at(o->layer, 1));
    const float *count = ferry_blob_host_data(ferry_layer_param_at(o->layer, 2));
    double *all;
    int64_t i;

    s->channels = ferry_blob_element_count(ferry_layer_param_at(o->layer, 0));
    all = ferry__onnx_alloc(o, (size_t)s->channels * 4 * sizeof *all);
    if (!o->err && (!sums || !variances || !count))
        o->err = ferry_last_error_code();
    if (o->err)
        return false;
    s->mean = all;
    s->variance = all + s->channels;
    s->factors = all + 2 * s->channels;
    s->terms = all + 3 * s->channels;
    for (i = 0; i < s->channels; i++) {
        ferry__affine_statistics((double)sums[i], (double)variances[i], (double)*count, eps,
                                 &s->mean[i], &s->factors[i]);
        s->variance[i] = ferry__affine_statistic((double)variances[i], (double)*count);
        s->terms[i] = -s->mean[i] * s->factors[i];
    }
    return true;
}

/* A node into which later affine functions can be folded: its scale is 1 and its shift 0. */
static int normalized(struct ferry__onnx *o, int x, double eps)
{
    struct ferry__onnx_affine affine = { .axis = 1 };
    struct statistics s;
    double *ones;
    int64_t i;
    int y;

    if (!read_statistics(o, eps, &s))
        return 0;
    if (ferry_blob_rank(ferry__onnx_bottom_blob(o, 0)) < 2)
        return ferry__onnx_scaled(o, x, s.factors[0], s.terms[0]);
    ones = ferry__onnx_alloc(o, (size_t)s.channels * 2 * sizeof *ones);
    for (i = 0; ones && i < s.channels; i++)
        ones[i] = 1;
    if (!ones)
        return 0;
    y = ONNX_OP(o, "BatchNormalization", x, ferry__onnx_rounded(o, 1, &s.channels, ones),
                ferry__onnx_rounded(o, 1, &s.channels, ones + s.channels),
                ferry__onnx_rounded(o, 1, &s.channels, s.mean),
                ferry__onnx_rounded(o, 1, &s.channels, s.variance));
    ferry__onnx_set_float(o, "epsilon", eps);
    affine.channels = s.channels;
    affine.factors = s.factors;
    affine.terms = s.terms;
    ferry__onnx_set_affine(o, &affine);
    ferry__onnx_set_absorbs(o, 1, s.channels, 1);
    return y;
}

void ferry__onnx_batch_norm(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "batch_norm_param");
    double eps = ferry_proto_real(p, "eps", 0);
    bool global = ferry_proto_value_count(p, "use_global_stats")
                      ? ferry_proto_boolean(p, "use_global_stats", 0)
                      : ferry_layer_phase(o->layer) == FERRY_PHASE_TEST;
    int x = ferry__onnx_bottom(o, 0);

    ferry__onnx_top(o, 0, global ? normalized(o, x, eps) : batch_normalized(o, x, eps));
}

void ferry__onnx_mvn(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "mvn_param");
    const ferry_blob *top = ferry__onnx_top_blob(o, 0);
    bool scaled = ferry_proto_boolean(p, "normalize_variance", 0);
    int first = ferry_proto_boolean(p, "across_channels", 0) ? 1 : 2, n = 0, i, variance = 0, y;
    int x = ferry__onnx_bottom(o, 0);
    int64_t axes[FERRY_MAX_AXES];

    if (ferry_blob_rank(ferry__onnx_bottom_blob(o, 0)) != ferry_blob_rank(top))
        x = ferry__onnx_reshape_as(o, x, top);
    for (i = first; i < ferry_blob_rank(top); i++)
        axes[n++] = i;
    y = ferry__onnx_centred(o, x, n, axes, scaled ? &variance : NULL);
    if (scaled)
        y = ONNX_OP(
            o, "Div", y,
            ferry__onnx_scaled(o, ONNX_OP(o, "Sqrt", variance), 1, ferry_proto_real(p, "eps", 0)));
    ferry__onnx_top(o, 0, y);
}

/* A parameter with one value, or with one for each channel, reshaped for a blob of that rank. */
static int per_channel(struct ferry__onnx *o, int index, int rank)
{
    int64_t n = ferry_blob_element_count(ferry_layer_param_at(o->layer, index));
    int64_t dims[FERRY_MAX_AXES];
    int i;

    dims[0] = n;
    for (i = 1; i < rank - 1; i++)
        dims[i] = 1;
    return ferry__onnx_param(o, index, n == 1 || rank < 2 ? 1 : rank - 1, dims);
}

void ferry__onnx_normalize(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "norm_param");
    int rank = ferry_blob_rank(ferry__onnx_bottom_blob(o, 0)), n = 1, x = ferry__onnx_bottom(o, 0);
    int64_t axes[FERRY_MAX_AXES] = { 1 };
    int sum, y;

    if (ferry_proto_boolean(p, "across_spatial", 0))
        for (; n < rank - 1; n++)
            axes[n] = 1 + n;
    sum = ferry__onnx_reduce(o, "ReduceSumSquare", x, n, axes, true);
    sum = ferry__onnx_scaled(o, sum, 1, ferry_proto_real(p, "eps", 0));
    y = ONNX_OP(o, "Div", x, ONNX_OP(o, "Sqrt", sum));
    ferry__onnx_top(o, 0, ONNX_OP(o, "Mul", y, per_channel(o, 0, rank)));
}

/* ---- factors and terms ---------------------------------------------------------------------- */

/* The shape in which a blob over some axes is broadcast over the bottom: 1 for the later axes. */
static int span_dims(const ferry_blob *b, const struct ferry__span *span, int64_t *out)
{
    int rank = ferry_blob_rank(b) - span->first, i;

    if (span->count == 0)
        return 0;
    for (i = 0; i < rank; i++)
        out[i] = i < span->count ? ferry_blob_dim(b, span->first + i) : 1;
    return rank;
}

/*
 * Declares that the latest node multiplies by or adds parameter `index`, one value for each channel
 * or for all.
 */
static void set_channels(struct ferry__onnx *o, int index, const struct ferry__span *span, bool add)
{
    const ferry_blob *b = ferry_layer_param_at(o->layer, index);
    const float *values = ferry_blob_host_data(b);
    struct ferry__onnx_affine f = { .axis = 1, .channels = ferry_blob_element_count(b) };
    int64_t i;

    if (span->count > 1 || (span->count == 1 && span->first != 1))
        return;
    f.factors = ferry__onnx_alloc(o, (size_t)f.channels * sizeof(double));
    f.terms = ferry__onnx_alloc(o, (size_t)f.channels * sizeof(double));
    if (!o->err && !values)
        o->err = ferry_last_error_code();
    for (i = 0; !o->err && i < f.channels; i++) {
        f.factors[i] = add ? 1 : values[i];
        f.terms[i] = add ? values[i] : 0;
    }
    if (!o->err)
        ferry__onnx_set_affine(o, &f);
}

/* Adds a function of x and a parameter over some of its axes: "Mul" or "Add". */
static int by_param(struct ferry__onnx *o, const char *type, int x, int index,
                    const struct ferry__span *span)
{
    int64_t dims[FERRY_MAX_AXES];
    int rank = span_dims(ferry__onnx_bottom_blob(o, 0), span, dims);
    int y = ONNX_OP(o, type, x, ferry__onnx_param(o, index, rank, dims));

    set_channels(o, index, span, !strcmp(type, "Add"));
    return y;
}

/* As by_param, with bottom 1 instead of the parameter. */
static int by_bottom(struct ferry__onnx *o, const char *type, int x, const struct ferry__span *span)
{
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);
    int64_t dims[FERRY_MAX_AXES];
    int rank = span_dims(b, span, dims), u = ferry__onnx_bottom(o, 1);

    if (rank != span->count)
        u = ferry__onnx_reshape_to(o, u, rank, dims);
    return ONNX_OP(o, type, x, u);
}

/* The span of Scale and Bias, with which their state begins. */
static const struct ferry__span *span_of(struct ferry__onnx *o)
{
    return ferry_layer_state(o->layer);
}

void ferry__onnx_scale(struct ferry__onnx *o)
{
    const struct ferry__span *span = span_of(o);
    bool two = o->layer->n_bottoms > 1;
    int x = ferry__onnx_bottom(o, 0), n = o->layer->n_params;
    int y = two ? by_bottom(o, "Mul", x, span) : by_param(o, "Mul", x, 0, span);

    if (n > (two ? 0 : 1))
        y = by_param(o, "Add", y, n - 1, span);
    ferry__onnx_top(o, 0, y);
}

void ferry__onnx_bias(struct ferry__onnx *o)
{
    const struct ferry__span *span = span_of(o);
    int x = ferry__onnx_bottom(o, 0);

    ferry__onnx_top(o, 0,
                    o->layer->n_bottoms > 1 ? by_bottom(o, "Add", x, span)
                                            : by_param(o, "Add", x, 0, span));
}

void ferry__onnx_bn(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "bn_param");
    const struct ferry__span span = { .first = 1, .count = 1 };
    bool learn = strcmp(ferry_proto_enum(p, "bn_mode", 0), "INFERENCE") != 0;
    int x = ferry__onnx_bottom(o, 0);

    if (learn)
        x = batch_normalized(o, x, 1e-9);
    ferry__onnx_top(o, 0, by_param(o, "Add", by_param(o, "Mul", x, 0, &span), 1, &span));
}
