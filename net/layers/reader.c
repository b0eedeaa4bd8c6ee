/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layers/reader.h"

#include "net/data/list.h"

#include <ferry/status.h>

#include <string.h>

/* The maximum number of prefetched batches; more would exhaust the memory. */
#define MOST 1024

int ferry__reader_setup(ferry_layer *layer, struct ferry__reader *r, ferry__prefetch_fn *read)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "data_param", 0);
    int64_t depth = ferry_proto_integer(p, "prefetch", 0);

    if (depth > MOST)
        return ferry_proto_error(p, "prefetch", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a prefetch of %lld batches, the limit is %d",
                                 ferry_layer_name(layer), (long long)depth, MOST);
    r->rank = (uint64_t)ferry_layer_rank(layer);
    r->ranks = (uint64_t)ferry_layer_rank_count(layer);
    r->key = ferry_layer_random(layer, UINT64_MAX);
    return ferry__prefetch_open(ferry_layer_device(layer), depth, ferry_layer_top_count(layer),
                                read, layer, &r->prefetch);
}

int ferry__source_read(const ferry_layer *layer, const ferry_proto *p, const char *path, char **out)
{
    int err = ferry__list_read(path, out);
    char why[768];

    if (!err)
        return 0;
    strncpy(why, ferry_last_error(), sizeof why - 1);
    why[sizeof why - 1] = 0;
    return ferry_proto_error(p, "source", 0, err, "layer \"%s\": %s", ferry_layer_name(layer), why);
}

static int hand_over(ferry_layer *layer, int top, const ferry_blob *from)
{
    ferry_blob *to = ferry_layer_top_at(layer, top);
    int err = ferry_blob_reshape_like(to, from);
    size_t size = (size_t)ferry_blob_element_count(from) * sizeof(float);
    const float *values = err ? NULL : ferry_blob_host_data(from);
    float *room = values ? ferry_blob_overwrite_host_data(to) : NULL;

    if (err)
        return err;
    if (!room && size)
        return ferry_last_error_code();
    if (size)
        memcpy(room, values, size);
    return 0;
}

int ferry__reader_forward(ferry_layer *layer)
{
    struct ferry__reader *r = ferry_layer_state(layer);
    const struct ferry__batch *batch;
    int i, err = ferry__prefetch_next(r->prefetch, &batch);

    if (!err)
        r->position = batch->position;
    for (i = 0; !err && i < ferry_layer_top_count(layer); i++)
        err = hand_over(layer, i, batch->blobs[i]);
    return err;
}

uint64_t ferry__reader_position(ferry_layer *layer)
{
    const struct ferry__reader *r = ferry_layer_state(layer);

    return r->position;
}

int ferry__reader_stop(ferry_layer *layer, struct ferry__reader *r)
{
    ferry__prefetch_stop(r->prefetch);
    return ferry__prefetch_reads(r->prefetch)
               ? ferry_layer_error(layer, FERRY_EFORKED,
                                   "the prefetch thread belongs to the parent process")
               : 0;
}

int ferry__reader_seed(ferry_layer *layer, struct ferry__reader *r)
{
    int err = ferry__reader_stop(layer, r);

    if (!err)
        r->key = ferry_layer_random(layer, UINT64_MAX);
    return err;
}

void ferry__reader_end(struct ferry__reader *r)
{
    ferry__prefetch_close(r->prefetch);
    r->prefetch = NULL;
}
