/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize_adapt.h"

#include <stdlib.h>
#include <string.h>

/*
 * --adaptive-rounding: rounds the weights of the layers by the errors of their outputs. Each pass
 * over the inputs sums up as many layers as the memory permits.
 */

#define MOST_SUMS (INT64_C(64) << 20) /* elements of the sums of one pass */

struct adapter {
    struct quantize *q;
    struct adapt_layer *at; /* for each of q->layers */
    struct progress progress;
};

/* Chooses the layers of the next pass. *out is their number. */
static int begin_pass(struct adapter *a, int *out)
{
    int status = TOOL_OK;
    int64_t elements = 0;

    *out = 0;
    for (int i = 0; status == TOOL_OK && i < a->q->n_layers; i++) {
        struct adapt_layer *l = &a->at[i];
        int64_t size = l->groups * l->inputs * l->inputs;

        if (!l->adapts || l->done || (*out && elements + size > MOST_SUMS))
            continue;
        status = adapt_begin(l);
        elements += size;
        ++*out;
    }
    return status;
}

/* Called for each batch. */
static int add(struct quantize *q, void *arg)
{
    struct adapter *a = arg;
    int status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < q->n_layers; i++)
        if (a->at[i].sums)
            status = adapt_add(&a->at[i], q, q->layers[i].layer);
    return status;
}

/* Rounds the weights of a layer. */
static int round_layer(struct adapter *a, int index)
{
    struct adapt_layer *at = &a->at[index];
    struct quantize_layer *l = &a->q->layers[index];
    int64_t size = at->outputs * at->inputs;
    float *w = ferry_blob_mutable_host_data(ferry_layer_param_at(l->layer, 0));
    float *rounded = malloc((size_t)size * sizeof(*rounded));
    int status = TOOL_OK;

    if (!rounded)
        return tool_error(TOOL_FAILURE, "out of memory");
    if (!w)
        status = tool_ferry_error();
    for (int64_t g = 0; status == TOOL_OK && g < at->groups; g++) {
        struct adapt_weights to = { at->outputs, w + g * size, rounded, 0, 0, 0 };

        status = adapt_choose(&at->sums[g], &to);
        l->power += to.power;
        l->nearest_noise += to.nearest;
        l->adapted_noise += to.chosen;
        memcpy(w + g * size, rounded, (size_t)size * sizeof(*w));
    }
    free(rounded);
    l->is_adapted = at->done = true;
    return status;
}

static int run_pass(struct adapter *a)
{
    int status = quantize_each(a->q, "summing up", add, a);

    progress_begin(&a->progress, "rounding", "layers", (uint64_t)a->q->n_layers);
    for (int i = 0; status == TOOL_OK && i < a->q->n_layers; i++) {
        if (a->at[i].sums)
            status = round_layer(a, i);
        progress_step(&a->progress, 1);
    }
    progress_end(&a->progress);
    return status;
}

static void end_pass(struct adapter *a)
{
    for (int i = 0; i < a->q->n_layers; i++)
        adapt_end(&a->at[i]);
}

static int run_all(struct adapter *a)
{
    int count = 1, status = TOOL_OK;

    while (status == TOOL_OK && count) {
        status = begin_pass(a, &count);
        if (status == TOOL_OK && count)
            status = run_pass(a);
        end_pass(a);
    }
    return status;
}

int quantize_adapt(struct quantize *q)
{
    struct adapter a = { .q = q, .progress = { .quiet = q->quiet } };
    int status = quantize_begin_integers(q);

    a.at = calloc((size_t)q->n_layers + 1, sizeof(*a.at));
    if (status == TOOL_OK && !a.at)
        status = tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; status == TOOL_OK && i < q->n_layers; i++)
        if (quantize_is_rounded(q, q->layers[i].layer))
            adapt_describe(&a.at[i], q, q->layers[i].layer);
    if (status == TOOL_OK && q->report)
        status = quantize_open_reference(q);
    if (status == TOOL_OK)
        status = run_all(&a);
    free(a.at);
    return status;
}
