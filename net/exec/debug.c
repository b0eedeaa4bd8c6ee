/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs the lines of debug_info as Caffe does: the mean absolute values of each layer's tops and
 * parameters, and of the diffs of its bottoms. (Caffe: Net::ForwardDebugInfo, BackwardDebugInfo.)
 */

#include "net/exec/exec.h"

#include <ferry/status.h>

#include <math.h>
#include <stdio.h>

typedef int measure(const ferry_blob *b, double *out);

/* The mean of absolute values; 0 for a blob without elements. */
static int mean_of(const ferry_blob *b, measure *asum, double *out)
{
    double sum = 0;
    int64_t count = ferry_blob_element_count(b);
    int err = count > 0 ? asum(b, &sum) : 0;

    *out = count > 0 ? sum / (double)count : 0;
    return err;
}

static int log_mean(const ferry_layer *layer, const char *pass, const char *what, const char *name,
                    const ferry_blob *b, bool diff)
{
    double mean;
    int err = mean_of(b, diff ? ferry_blob_asum_diff : ferry_blob_asum_data, &mean);

    if (!err)
        ferry_log_write(FERRY_LOG_INFO, "    [%s] Layer %s, %s blob %s %s: %g", pass, layer->name,
                        what, name, diff ? "diff" : "data", mean);
    return err;
}

static int log_forward(const ferry_layer *layer)
{
    char number[16];
    int i, err = 0;

    for (i = 0; !err && i < layer->n_tops; i++)
        err = log_mean(layer, "Forward", "top", layer->net->blobs[layer->tops[i]].name,
                       ferry_layer_top_at(layer, i), false);
    for (i = 0; !err && i < layer->n_params; i++) {
        const struct ferry__net_param *p = &layer->params[i];

        snprintf(number, sizeof number, "%d", i);
        err = log_mean(layer, "Forward", "param", p->name[0] ? p->name : number, p->blob, false);
    }
    return err;
}

static int log_backward(const ferry_layer *layer)
{
    char number[16];
    int i, err = 0;

    for (i = 0; !err && i < layer->n_bottoms; i++)
        if (layer->propagate[i])
            err = log_mean(layer, "Backward", "bottom", layer->net->blobs[layer->bottoms[i]].name,
                           ferry_layer_bottom_at(layer, i), true);
    for (i = 0; !err && i < layer->n_params; i++)
        if (ferry_layer_param_propagates(layer, i)) {
            snprintf(number, sizeof number, "%d", i);
            err = log_mean(layer, "Backward", "param", number, layer->params[i].blob, true);
        }
    return err;
}

int ferry__debug_forward(const ferry_net *net, int first, int last)
{
    int i, err = 0;

    for (i = first; !err && i <= last; i++)
        err = ferry__layer_failed(&net->layers[i], log_forward(&net->layers[i]));
    return err;
}

int ferry__debug_backward(const ferry_net *net, int last, int first)
{
    int i, err = 0;

    for (i = last; !err && i >= first; i--)
        if (net->layers[i].needs_backward)
            err = ferry__layer_failed(&net->layers[i], log_backward(&net->layers[i]));
    return err;
}

int ferry__debug_params(const ferry_net *net)
{
    static measure *const measures[4] = { ferry_blob_asum_data, ferry_blob_asum_diff,
                                          ferry_blob_sumsq_data, ferry_blob_sumsq_diff };
    double sums[4] = { 0 }, one;
    int i, k, m, err = 0;

    for (i = 0; i < net->n_layers; i++)
        for (k = 0; k < net->layers[i].n_params; k++)
            for (m = 0; !err && m < 4 && net->layers[i].params[k].owner == i; m++) {
                err = measures[m](net->layers[i].params[k].blob, &one);
                sums[m] += err ? 0 : one;
            }
    if (!err)
        ferry_log_write(FERRY_LOG_INFO,
                        "    [Backward] All net params (data, diff): L1 norm = (%g, %g); L2 norm = "
                        "(%g, %g)",
                        sums[0], sums[1], sqrt(sums[2]), sqrt(sums[3]));
    return err;
}

int ferry_net_set_debug(ferry_net *net, bool on)
{
    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_set_debug: NULL net");
    if (on && !net->keep_all)
        return ferry_error_set(
            FERRY_EINVAL, "ferry_net_set_debug: net \"%s\" was opened without all of its blobs",
            net->name);
    net->debug = on;
    return 0;
}
