/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize.h"

#include <ferry/net_ranges.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bias correction: M. Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
 * Correction", ICCV 2019, section 4.2, with means measured on the inputs of --calibrate. A second
 * net in F32 has rounded weights and rounds the input of each product to its levels. Both nets run
 * layer by layer, so that the output of a product is compared before layers in place change it, and
 * the layers after it read its corrected output. Values outside a range are rounded but not
 * clipped: the mean of what clipping cuts off depends on few inputs, and correcting it makes the
 * results for other inputs worse (doc/measurements/2026-11-29-integers.md). The first pass over the
 * inputs corrects by the mean error of the batches so far, the second one by that of the first.
 */

#define LEVELS 127

struct correction {
    int layer; /* its index in the net */
    int channels;
    bool has_bias;
    double *error, *applied; /* by channel: sums of the errors' means, and the correction */
    double weight;           /* the number of items in the sums */
};

struct corrector {
    struct quantize *q;
    ferry_net *rounded;
    struct correction *at; /* for each of q->layers */
    bool second;           /* the second pass */
};

/* ---- the net with rounded weights ------------------------------------------------------------ */

static int copy_params(struct corrector *c)
{
    for (int i = 0; i < ferry_net_layer_count(c->q->net); i++) {
        const ferry_layer *from = ferry_net_layer_at(c->q->net, i);

        for (int k = 0; k < ferry_layer_param_count(from); k++) {
            const void *x = ferry_blob_host_data(ferry_layer_param_at(from, k));
            void *y = ferry_blob_overwrite_host_data(ferry_net_param_at(c->rounded, i, k));
            size_t size = (size_t)ferry_blob_element_count(ferry_layer_param_at(from, k)) *
                          ferry_dtype_size(ferry_blob_dtype(ferry_layer_param_at(from, k)));

            if (size && (!x || !y))
                return tool_ferry_error();
            if (size)
                memcpy(y, x, size);
        }
    }
    return TOOL_OK;
}

static int round_weights(const struct quantize_layer *l, const ferry_layer *to)
{
    const struct quantize_channels w = quantize_channels_of(l);
    float *out = ferry_blob_mutable_host_data(ferry_layer_param_at(to, 0));

    if (!w.values || !out)
        return tool_ferry_error();
    for (int64_t o = 0; o < w.count; o++) {
        double step = quantize_channel_most(&w, o) / LEVELS;

        for (int64_t i = 0; step > 0 && i < w.each; i++) {
            float *x = &out[o * w.apart + i * w.stride];

            *x = (float)(rint((double)*x / step) * step);
        }
    }
    return TOOL_OK;
}

/* Rounds the values of a blob to the step of its range. */
static int round_input(const struct corrector *c, ferry_blob *b)
{
    int64_t n = ferry_blob_element_count(b);
    float *x = ferry_blob_mutable_host_data(b), least, most;

    if (ferry_net_get_range(c->q->net, ferry_blob_name(b), &least, &most) || (n && !x))
        return tool_ferry_error();
    for (int64_t i = 0; isfinite(least) && isfinite(most) && i < n; i++)
        x[i] = (float)range_round(least, most, (double)x[i]);
    return TOOL_OK;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Adds the mean error of each channel, and the power of the outputs. */
static void add_errors(struct correction *at, struct quantize_layer *l, const float *is,
                       const float *wanted, int64_t items, int64_t each)
{
    for (int64_t n = 0; n < items; n++)
        for (int64_t o = 0; o < at->channels; o++) {
            int64_t from = (n * at->channels + o) * each;
            double sum = 0;

            for (int64_t i = from; i < from + each; i++) {
                if (!isfinite(is[i]) || !isfinite(wanted[i]))
                    continue;
                sum += (double)is[i] - (double)wanted[i];
                l->output_power += (double)wanted[i] * (double)wanted[i] / (double)each;
            }
            at->error[o] += sum / (double)each;
        }
    at->weight += (double)items;
}

/* Compares the outputs of a layer, and corrects that of the net with rounded weights. */
static int compare(struct corrector *c, int index, const ferry_blob *wanted, ferry_blob *is)
{
    struct correction *at = &c->at[index];
    const float *b = ferry_blob_host_data(wanted);
    float *a = ferry_blob_mutable_host_data(is);
    int64_t count = ferry_blob_element_count(is), items = ferry_blob_dim(is, 0), each;

    if (count == 0)
        return TOOL_OK;
    if (!a || !b)
        return tool_ferry_error();
    each = count / (items * at->channels);
    add_errors(at, &c->q->layers[index], a, b, items, each);
    for (int o = 0; !c->second && o < at->channels; o++)
        at->applied[o] = at->error[o] / at->weight;
    for (int64_t i = 0; at->has_bias && i < count; i++)
        a[i] = (float)((double)a[i] - at->applied[i / each % at->channels]);
    return TOOL_OK;
}

static int run_range(const struct corrector *c, int from, int to)
{
    const char *first = ferry_layer_name(ferry_net_layer_at(c->q->net, from));
    const char *last = ferry_layer_name(ferry_net_layer_at(c->q->net, to));

    return from <= to && (ferry_net_forward_range(c->q->net, first, last, NULL) ||
                          ferry_net_forward_range(c->rounded, first, last, NULL))
               ? tool_ferry_error()
               : TOOL_OK;
}

/* Runs both nets on a batch, from product to product. */
static int run_batch(struct corrector *c, int64_t at, int64_t n)
{
    int status = feed_put(&c->q->feed, c->q->net, at, n), next = 0;

    if (status == TOOL_OK)
        status = feed_put(&c->q->feed, c->rounded, at, n);
    for (int i = 0; status == TOOL_OK && i < c->q->n_layers; i++) {
        int index = c->at[i].layer;
        const ferry_layer *layer = ferry_net_layer_at(c->rounded, index);

        if (!c->at[i].error) /* it is computed in F32 */
            continue;
        if (next < index)
            status = run_range(c, next, index - 1);
        if (status == TOOL_OK)
            status = round_input(c, ferry_layer_bottom_at(layer, 0));
        if (status == TOOL_OK)
            status = run_range(c, index, index);
        if (status == TOOL_OK)
            status = compare(c, i, ferry_layer_top_at(c->q->layers[i].layer, 0),
                             ferry_layer_top_at(layer, 0));
        next = index + 1;
    }
    return status;
}

static int run_all(struct corrector *c)
{
    const struct quantize *q = c->q;
    struct progress progress = { .quiet = q->quiet };
    int status = TOOL_OK;

    for (int i = 0; i < q->n_layers; i++) {
        for (int o = 0; o < c->at[i].channels; o++)
            c->at[i].error[o] = 0;
        c->at[i].weight = q->layers[i].output_power = 0;
    }
    progress_begin(&progress, "correcting", "inputs", (uint64_t)q->feed.items);
    for (int64_t at = 0; status == TOOL_OK && at < q->feed.items; at += q->feed.per) {
        int64_t left = q->feed.items - at, n = left < q->feed.per ? left : q->feed.per;

        status = run_batch(c, at, n);
        progress_step(&progress, (uint64_t)n);
    }
    progress_end(&progress);
    for (int i = 0; i < q->n_layers; i++)
        for (int o = 0; c->at[i].weight > 0 && o < c->at[i].channels; o++)
            c->at[i].applied[o] = c->at[i].error[o] / c->at[i].weight;
    return status;
}

/* ---- corrections ----------------------------------------------------------------------------- */

/*
 * Whether the bias of a layer can be corrected: its channels are the elements of the bias and axis
 * 1 of its only top, and no other layer has the same bias.
 */
static bool has_own_bias(const struct corrector *c, const ferry_layer *layer)
{
    const ferry_blob *top = ferry_layer_top_at(layer, 0), *bias = ferry_layer_param_at(layer, 1);

    return bias && ferry_layer_bottom_count(layer) == 1 && quantize_is_product(layer) &&
           ferry_blob_element_count(bias) == ferry_blob_dim(top, 1) &&
           quantize_owns_param(c->q, layer, 1);
}

static int begin_layer(struct corrector *c, int i)
{
    struct correction *at = &c->at[i];
    const ferry_layer *layer = c->q->layers[i].layer;
    const ferry_blob *top = ferry_layer_top_at(layer, 0);

    while (ferry_net_layer_at(c->q->net, at->layer) != layer)
        at->layer++;
    if (!quantize_is_rounded(c->q, layer))
        return TOOL_OK;
    at->channels = ferry_blob_rank(top) > 1 ? (int)ferry_blob_dim(top, 1) : 1;
    at->error = calloc((size_t)at->channels + 1, sizeof(double));
    at->applied = calloc((size_t)at->channels + 1, sizeof(double));
    if (!at->error || !at->applied)
        return tool_error(TOOL_FAILURE, "out of memory");
    at->has_bias = has_own_bias(c, layer);
    return round_weights(&c->q->layers[i], ferry_net_layer_at(c->rounded, at->layer));
}

static int apply(struct corrector *c, int i)
{
    const struct correction *at = &c->at[i];
    struct quantize_layer *l = &c->q->layers[i];
    float *bias;

    if (at->weight == 0) /* it is computed in F32 */
        return TOOL_OK;
    l->output_power /= at->weight;
    for (int o = 0; o < at->channels; o++)
        l->mean_noise += at->applied[o] * at->applied[o];
    l->has_mean = true;
    l->is_corrected = at->has_bias;
    if (!at->has_bias)
        return TOOL_OK;
    bias = ferry_blob_mutable_host_data(ferry_layer_param_at(l->layer, 1));
    if (!bias)
        return tool_ferry_error();
    for (int o = 0; o < at->channels; o++)
        bias[o] = (float)((double)bias[o] - at->applied[o]);
    return TOOL_OK;
}

static int correct(struct corrector *c)
{
    struct net_request r = c->q->request;
    int status;

    c->at = calloc((size_t)c->q->n_layers + 1, sizeof(*c->at));
    if (!c->at)
        return tool_error(TOOL_FAILURE, "out of memory");
    status = net_open_on(&r, ferry_net_device(c->q->net), &c->rounded);
    if (status == TOOL_OK)
        status = copy_params(c);
    if (status == TOOL_OK)
        status = quantize_begin_integers(c->q);
    for (int i = 0; status == TOOL_OK && i < c->q->n_layers; i++)
        status = begin_layer(c, i);
    if (status == TOOL_OK)
        status = run_all(c);
    c->second = true;
    if (status == TOOL_OK)
        status = run_all(c);
    if (status == TOOL_OK) /* it becomes the net that results are compared with */
        status = copy_params(c);
    for (int i = 0; status == TOOL_OK && i < c->q->n_layers; i++)
        status = apply(c, i);
    return status;
}

int quantize_correct_biases(struct quantize *q)
{
    struct corrector c = { .q = q };
    int status = correct(&c);

    for (int i = 0; c.at && i < q->n_layers; i++) {
        free(c.at[i].error);
        free(c.at[i].applied);
    }
    free(c.at);
    q->reference = c.rounded;
    return status;
}
