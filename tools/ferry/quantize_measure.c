/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize.h"

#include <ferry/net_ranges.h>

#include <stdlib.h>
#include <string.h>

/* Passes over the inputs that measure extremes, histograms, and errors of each blob. */

static int run(const struct quantize *q, ferry_net *net, int64_t at, int64_t n)
{
    int status = feed_put(&q->feed, net, at, n);

    if (status == TOOL_OK && ferry_net_forward(net, NULL))
        status = tool_ferry_error();
    return status;
}

int quantize_each(struct quantize *q, const char *what, quantize_fn each, void *arg)
{
    struct progress progress = { .quiet = q->quiet };
    int64_t step = q->feed.per * q->feed.stride;
    int status = TOOL_OK;

    progress_begin(&progress, what, "inputs", (uint64_t)q->feed.items);
    for (int64_t at = 0; status == TOOL_OK && at < q->feed.items; at += step) {
        int64_t left = q->feed.items - at, n = left < q->feed.per ? left : q->feed.per;

        status = run(q, q->net, at, n);
        if (status == TOOL_OK && q->quantized)
            status = run(q, q->quantized, at, n);
        if (status == TOOL_OK && q->reference)
            status = run(q, q->reference, at, n);
        if (status == TOOL_OK)
            status = each(q, arg);
        progress_step(&progress, (uint64_t)n);
    }
    progress_end(&progress);
    return status;
}

/* ---- blobs ----------------------------------------------------------------------------------- */

int quantize_list_blobs(struct quantize *q)
{
    q->n_blobs = ferry_net_blob_count(q->net);
    q->blobs = calloc((size_t)q->n_blobs + 1, sizeof(*q->blobs));
    if (!q->blobs)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; i < q->n_blobs; i++) {
        struct quantize_blob *b = &q->blobs[i];

        b->blob = ferry_net_blob_at(q->net, i);
        b->same = -1;
        for (int k = 0; k < i && b->blob && b->same < 0; k++)
            if (q->blobs[k].blob && q->blobs[k].same < 0 &&
                ferry_blob_data_memory(q->blobs[k].blob) == ferry_blob_data_memory(b->blob))
                b->same = k;
    }
    return TOOL_OK;
}

int quantize_find(const struct quantize *q, const ferry_blob *b)
{
    for (int i = 0; i < q->n_blobs; i++)
        if (q->blobs[i].blob == b)
            return q->blobs[i].same < 0 ? i : q->blobs[i].same;
    return -1;
}

/* Processes a blob's contents. */
typedef void (*blob_fn)(struct quantize *q, struct quantize_range *r, const float *values,
                        int64_t n);

static int each_blob(struct quantize *q, blob_fn fn)
{
    for (int i = 0; i < q->n_blobs; i++) {
        const struct quantize_blob *b = &q->blobs[i];
        const float *values;

        if (!b->blob || b->same >= 0 || ferry_blob_dtype(b->blob) != FERRY_F32 ||
            ferry_blob_element_count(b->blob) == 0)
            continue;
        values = ferry_blob_host_data(b->blob);
        if (!values)
            return tool_ferry_error();
        fn(q, &q->blobs[i].range, values, ferry_blob_element_count(b->blob));
    }
    return TOOL_OK;
}

static void note_blob(struct quantize *q, struct quantize_range *r, const float *values, int64_t n)
{
    (void)q;
    range_note(r, values, n);
}

static void count_blob(struct quantize *q, struct quantize_range *r, const float *values, int64_t n)
{
    if (r->bins)
        range_count(r, q->method, values, n);
}

static void measure_blob(struct quantize *q, struct quantize_range *r, const float *values,
                         int64_t n)
{
    (void)q;
    range_measure(r, values, n);
}

static int note(struct quantize *q, void *arg)
{
    int status = q->blobs ? TOOL_OK : quantize_list_blobs(q);

    (void)arg;
    return status == TOOL_OK ? each_blob(q, note_blob) : status;
}

static int count(struct quantize *q, void *arg)
{
    (void)arg;
    return each_blob(q, count_blob);
}

static int measure(struct quantize *q, void *arg)
{
    (void)arg;
    return each_blob(q, measure_blob);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static int fill_bins(struct quantize *q)
{
    int status = TOOL_OK;

    for (int i = 0; status == TOOL_OK && i < q->n_blobs; i++)
        if (q->blobs[i].range.finite)
            status = range_begin_bins(&q->blobs[i].range, q->method);
    return status == TOOL_OK ? quantize_each(q, "counting", count, NULL) : status;
}

static int choose(struct quantize *q)
{
    for (int i = 0; i < q->n_blobs; i++) {
        struct quantize_range *r = &q->blobs[i].range;

        if (!r->finite)
            continue;
        range_choose(r, q->method, q->percentile);
        if (r->odd)
            ferry_log_write(FERRY_LOG_WARN, "ferry: blob \"%s\": %llu values are not finite",
                            ferry_blob_name(q->blobs[i].blob), (unsigned long long)r->odd);
        if (ferry_net_set_range(q->net, ferry_blob_name(q->blobs[i].blob), r->least, r->most))
            return tool_ferry_error();
    }
    return TOOL_OK;
}

int quantize_measure(struct quantize *q)
{
    int status = quantize_each(q, "calibrating", note, NULL);

    if (status == TOOL_OK && q->method != QUANTIZE_MINMAX)
        status = fill_bins(q);
    return status == TOOL_OK ? choose(q) : status;
}

int quantize_measure_noise(struct quantize *q)
{
    return quantize_each(q, "measuring", measure, NULL);
}

void quantize_measure_end(struct quantize *q)
{
    for (int i = 0; i < q->n_blobs; i++)
        free(q->blobs[i].range.bins);
    free(q->blobs);
}
