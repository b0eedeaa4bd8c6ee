/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize.h"

#include <ferry/net_info.h>
#include <ferry/net_ranges.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Compares the outputs of the quantized net with those in F32, and leaves layers in F32 if the
 * difference is too large. The errors of layers are nearly independent, so that the noise of an
 * output is nearly the sum of the noises that each layer alone makes. The layers with the most
 * noise for their time come first; the number of multiplications is the measure of time, so that
 * the result is the same on every machine.
 */

#define ALONE_ITEMS 16 /* the inputs that layers are measured with one by one, if there are more */

int quantize_open_beside(struct quantize *q)
{
    struct net_request r = q->request;
    int status;

    if (q->quantized)
        return TOOL_OK;
    r.keep = NULL;
    r.no_plan = r.in_float = false;
    status = net_open_on(&r, ferry_net_device(q->net), &q->quantized);
    if (status == TOOL_OK && ferry_net_share(q->quantized, q->net))
        status = tool_ferry_error();
    return status;
}

/* ---- layers with integers -------------------------------------------------------------------- */

/* Whether the device computes layer `index` of the quantized net with integers. */
static bool is_integer(const struct quantize *q, int index)
{
    ferry_net_layer_info info = { .struct_size = sizeof(info) };

    return !ferry_net_get_layer_info(q->quantized, index, &info) &&
           strcmp(info.precision, "int8") == 0;
}

int quantize_begin_integers(struct quantize *q)
{
    int64_t n = q->feed.items < q->feed.per ? q->feed.items : q->feed.per;
    int status = quantize_open_beside(q);

    if (status == TOOL_OK)
        status = feed_put(&q->feed, q->quantized, 0, n);
    if (status == TOOL_OK && ferry_net_reshape(q->quantized))
        status = tool_ferry_error();
    for (int i = 0; status == TOOL_OK && i < ferry_net_layer_count(q->quantized); i++)
        q->has_integers = q->has_integers || is_integer(q, i);
    return status;
}

bool quantize_is_rounded(const struct quantize *q, const ferry_layer *layer)
{
    int index = 0;

    while (ferry_net_layer_at(q->net, index) != layer)
        index++;
    return !ferry_net_is_float_only(q->net, ferry_layer_name(layer)) &&
           (!q->has_integers || is_integer(q, index));
}

int quantize_open_reference(struct quantize *q)
{
    int status =
        q->reference ? TOOL_OK : net_open_on(&q->request, ferry_net_device(q->net), &q->reference);

    for (int i = 0; status == TOOL_OK && i < ferry_net_layer_count(q->net); i++) {
        const ferry_layer *from = ferry_net_layer_at(q->net, i);

        for (int k = 0; status == TOOL_OK && k < ferry_layer_param_count(from); k++)
            if (ferry_blob_copy_from(ferry_net_param_at(q->reference, i, k),
                                     ferry_layer_param_at(from, k), 0))
                status = tool_ferry_error();
    }
    return status;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static int add_output(struct quantize_output *o, const ferry_blob *is, const ferry_blob *wanted)
{
    const float *a = ferry_blob_host_data(is), *b = ferry_blob_host_data(wanted);
    int64_t n = ferry_blob_element_count(wanted);

    if (n == 0)
        return TOOL_OK;
    if (!a || !b)
        return tool_ferry_error();
    if (ferry_blob_element_count(is) != n) { /* outputs of detections may have different numbers of
                                              * rows */
        o->noise = INFINITY;
        return TOOL_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        double difference = (double)a[i] - (double)b[i];

        o->power += (double)b[i] * (double)b[i];
        o->noise += difference * difference;
    }
    return TOOL_OK;
}

static int compare(struct quantize *q, void *arg)
{
    int status = TOOL_OK;

    (void)arg;
    for (int i = 0; status == TOOL_OK && i < q->n_outputs; i++)
        status = add_output(
            &q->outputs[i], ferry_net_output_at(q->quantized, i),
            ferry_net_blob_find(q->reference ? q->reference : q->net, q->outputs[i].name));
    return status;
}

int quantize_compare(struct quantize *q)
{
    free(q->outputs);
    q->n_outputs = ferry_net_output_count(q->quantized);
    q->outputs = calloc((size_t)q->n_outputs + 1, sizeof(*q->outputs));
    if (!q->outputs)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; i < q->n_outputs; i++)
        q->outputs[i].name = ferry_blob_name(ferry_net_output_at(q->quantized, i));
    return quantize_each(q, "comparing", compare, NULL);
}

/* The smallest ratio of all outputs. */
static double ratio(const struct quantize *q)
{
    double least = INFINITY;

    for (int i = 0; i < q->n_outputs; i++)
        least = fmin(least, range_decibels(q->outputs[i].power, q->outputs[i].noise));
    return least;
}

/* ---- layers in F32 --------------------------------------------------------------------------- */

/* A layer that may be left in F32. */
struct candidate {
    struct quantize_layer *layer;
    const char *name;
    double gain; /* the noise of the outputs that F32 removes, by its multiplications */
    int index;
};

/* The candidates with the most gain first; in the order of the net among equal ones. */
static int by_gain(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->gain != y->gain ? (x->gain < y->gain) - (x->gain > y->gain)
                              : (x->index > y->index) - (x->index < y->index);
}

static int set_float(struct quantize *q, const struct candidate *c, bool on)
{
    return ferry_net_set_float_only(q->quantized, c->name, on) ? tool_ferry_error() : TOOL_OK;
}

/* Compares the outputs with one candidate in 8 bits, and the others in F32. */
static int measure_alone(struct quantize *q, struct candidate *c)
{
    int status = set_float(q, c, false);

    if (status == TOOL_OK)
        status = quantize_compare(q);
    c->layer->alone = ratio(q);
    c->layer->is_alone = true;
    c->gain = pow(10, -c->layer->alone / 10) / quantize_multiplications(c->layer);
    return status == TOOL_OK ? set_float(q, c, true) : status;
}

/* Measures the candidates one by one on a part of the batches, and sorts them. */
static int measure_candidates(struct quantize *q, struct candidate *c, int count)
{
    int64_t batches = q->feed.items / q->feed.per, wanted = ALONE_ITEMS / q->feed.per + 1;
    int status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < count; i++)
        status = set_float(q, &c[i], true);
    q->feed.stride = batches > wanted ? batches / wanted : 1;
    for (int i = 0; status == TOOL_OK && i < count; i++)
        status = measure_alone(q, &c[i]);
    q->feed.stride = 1;
    qsort(c, (size_t)count, sizeof(*c), by_gain);
    return status;
}

/* Compares the outputs with the first n candidates in F32. */
static int try(struct quantize *q, const struct candidate *c, int count, int n)
{
    for (int i = 0; i < count; i++)
        if (set_float(q, &c[i], i < n) != TOOL_OK)
            return TOOL_FAILURE;
    return quantize_compare(q);
}

/*
 * Finds the smallest number of candidates that suffices, by bisection; all of them together
 * suffice.
 */
static int search(struct quantize *q, const struct candidate *c, int count)
{
    int few = 0, enough = count, status = TOOL_OK; /* `few` candidates do not suffice, `enough`
                                                    * do */

    while (status == TOOL_OK && enough - few > 1) {
        int n = few + (enough - few) / 2;

        status = try(q, c, count, n);
        if (ratio(q) >= q->loss)
            enough = n;
        else
            few = n;
    }
    if (status == TOOL_OK)
        status = try(q, c, count, enough);
    for (int i = 0; status == TOOL_OK && i < enough; i++)
        if (ferry_net_set_float_only(q->net, c[i].name, true))
            status = tool_ferry_error();
    return status;
}

static int limit(struct quantize *q, struct candidate *c)
{
    int count = 0, status;

    for (int i = 0; i < q->n_layers; i++) {
        const char *name = ferry_layer_name(q->layers[i].layer);

        if (!ferry_net_is_float_only(q->net, name)) {
            c[count] = (struct candidate){ &q->layers[i], name, 0, count };
            count++;
        }
    }
    status = try(q, c, count, count);
    if (status == TOOL_OK && ratio(q) < q->loss)
        status = tool_error(TOOL_FAILURE,
                            "--max-loss %g: with all layers in F32 the outputs have %.1f dB",
                            q->loss, ratio(q));
    if (status == TOOL_OK)
        status = measure_candidates(q, c, count);
    return status == TOOL_OK ? search(q, c, count) : status;
}

int quantize_limit_loss(struct quantize *q)
{
    struct candidate *c;
    int status;

    if (ratio(q) >= q->loss)
        return TOOL_OK;
    c = calloc((size_t)q->n_layers + 1, sizeof(*c));
    status = c ? limit(q, c) : tool_error(TOOL_FAILURE, "out of memory");
    free(c);
    return status;
}
