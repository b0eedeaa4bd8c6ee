/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by layers that read records: a thread prefetches batches (data_param.prefetch of them,
 * also for layers other than Data, as in Caffe), and a forward pass copies the next one into the
 * tops, which get its shapes. (Caffe: BasePrefetchingDataLayer.)
 */
#ifndef FERRY_NET_LAYERS_READER_H
#define FERRY_NET_LAYERS_READER_H

#include "net/data/prefetch.h"
#include "net/layers/layers.h"

/* The reader of a layer; a zeroed structure before setup. */
struct ferry__reader {
    struct ferry__prefetch *prefetch;
    uint64_t position;    /* the number of records that forward passes have used, of all ranks
                           * together */
    uint64_t key;         /* the seed of random choices */
    uint64_t rank, ranks; /* this reader reads every ranks-th record, starting with record `rank` */
};

/*
 * Called in a layer's setup: `read` fills a blob for each top. Reading begins with the first
 * forward pass.
 */
int ferry__reader_setup(ferry_layer *layer, struct ferry__reader *r, ferry__prefetch_fn *read);

/* Reads the whole list `path`, the `source` of the parameters `p`; the caller frees it. */
int ferry__source_read(const ferry_layer *layer, const ferry_proto *p, const char *path,
                       char **out);

/*
 * Entries of layer types whose state begins with the reader. forward fills the tops; after a
 * failure the next forward reads the batch that failed.
 */
int ferry__reader_forward(ferry_layer *layer);
uint64_t ferry__reader_position(ferry_layer *layer);

/*
 * Stops prefetching, so that the layer may seek. FERRY_EFORKED in a child process, where the
 * parent's thread does not exist.
 */
int ferry__reader_stop(ferry_layer *layer, struct ferry__reader *r);

/* Draws a new key; batches prefetched with the old one are dropped. */
int ferry__reader_seed(ferry_layer *layer, struct ferry__reader *r);

/* Call this first in a layer's destroy. */
void ferry__reader_end(struct ferry__reader *r);

#endif
