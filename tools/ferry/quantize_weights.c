/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lists the layers whose weights are quantized, and measures the errors of the weights. */

#define LEVELS 127 /* the number of levels on each side of 0 */

static bool has_weights(const ferry_layer *layer)
{
    static const char *const types[] = { "Convolution", "ConvolutionDepthwise",
                                         "DepthwiseConvolution", "InnerProduct" };
    const char *type = ferry_layer_get_type(layer)->name;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(type, types[i]) == 0)
            return ferry_layer_bottom_count(layer) > 0 && ferry_layer_param_count(layer) > 0;
    return false;
}

/*
 * The weights by output channel: channels are axis 0, or the last axis of a transposed inner
 * product.
 */
struct quantize_channels quantize_channels_of(const struct quantize_layer *l)
{
    const ferry_blob *b = ferry_layer_param_at(l->layer, 0);
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(l->layer), "inner_product_param", 0);
    bool transposed = strcmp(ferry_layer_get_type(l->layer)->name, "InnerProduct") == 0 &&
                      ferry_proto_boolean(p, "transpose", 0);
    struct quantize_channels c = { .values = ferry_blob_host_data(b) };

    c.count = ferry_blob_dim(b, transposed ? ferry_blob_rank(b) - 1 : 0);
    c.each = c.count > 0 ? ferry_blob_element_count(b) / c.count : 0;
    c.stride = transposed ? c.count : 1;
    c.apart = transposed ? 1 : c.each;
    return c;
}

bool quantize_is_same(const ferry_blob *a, const ferry_blob *b)
{
    return a && b && ferry_blob_data_memory(a) == ferry_blob_data_memory(b);
}

bool quantize_owns_param(const struct quantize *q, const ferry_layer *layer, int index)
{
    const ferry_blob *b = ferry_layer_param_at(layer, index);

    for (int i = 0; i < ferry_net_layer_count(q->net); i++) {
        const ferry_layer *other = ferry_net_layer_at(q->net, i);

        for (int k = 0; other != layer && k < ferry_layer_param_count(other); k++)
            if (quantize_is_same(ferry_layer_param_at(other, k), b))
                return false;
    }
    return b != NULL;
}

double quantize_channel_most(const struct quantize_channels *c, int64_t channel)
{
    double most = 0;

    for (int64_t i = 0; i < c->each; i++)
        most = fmax(most, fabs((double)c->values[channel * c->apart + i * c->stride]));
    return most;
}

/* Adds the errors of one channel. */
static void measure_channel(struct quantize_layer *l, const struct quantize_channels *c,
                            int64_t channel)
{
    double step = quantize_channel_most(c, channel) / LEVELS;

    for (int64_t i = 0; i < c->each; i++) {
        double x = (double)c->values[channel * c->apart + i * c->stride];
        double error = step > 0 ? x - rint(x / step) * step : 0;

        l->weight_power += x * x;
        l->weight_noise += error * error;
    }
}

static int measure(struct quantize_layer *l)
{
    const struct quantize_channels c = quantize_channels_of(l);

    if (!c.values)
        return tool_ferry_error();
    for (int64_t i = 0; i < c.count; i++)
        measure_channel(l, &c, i);
    return TOOL_OK;
}

int quantize_list_layers(struct quantize *q)
{
    int status = TOOL_OK;

    q->layers = calloc((size_t)ferry_net_layer_count(q->net) + 1, sizeof(*q->layers));
    if (!q->layers)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; status == TOOL_OK && i < ferry_net_layer_count(q->net); i++) {
        const ferry_layer *layer = ferry_net_layer_at(q->net, i);
        struct quantize_layer *l = &q->layers[q->n_layers];

        if (!has_weights(layer))
            continue;
        l->layer = layer;
        l->input = quantize_find(q, ferry_layer_bottom_at(layer, 0));
        status = measure(l);
        q->n_layers++;
    }
    return status;
}

double quantize_of_weights(const struct quantize_layer *l)
{
    return range_decibels(l->weight_power, l->weight_noise);
}

double quantize_of_input(const struct quantize *q, const struct quantize_layer *l)
{
    return l->input < 0
               ? INFINITY
               : range_decibels(q->blobs[l->input].range.power, q->blobs[l->input].range.noise);
}

/* The ratio of both factors of a product: their relative errors add up. */
double quantize_of_both(const struct quantize *q, const struct quantize_layer *l)
{
    double noise = pow(10, -quantize_of_weights(l) / 10) + pow(10, -quantize_of_input(q, l) / 10);

    return range_decibels(1, noise);
}

double quantize_multiplications(const struct quantize_layer *l)
{
    const struct quantize_channels c = quantize_channels_of(l);

    return fmax(1,
                (double)c.each * (double)ferry_blob_element_count(ferry_layer_top_at(l->layer, 0)));
}
