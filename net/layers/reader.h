/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What layers that read records share: batches are read ahead by a thread (data_param.prefetch of them, also
 * of layers that are not Data, as in Caffe), and a forward copies the next one into the tops, which get its
 * shapes. (Caffe: BasePrefetchingDataLayer.)
 */
#ifndef FERRY_NET_LAYERS_READER_H
#define FERRY_NET_LAYERS_READER_H

#include "net/data/prefetch.h"
#include "net/layers/layers.h"

/* Zero before setup. */
struct ferry__reader {
    struct ferry__prefetch *prefetch;
    uint64_t position; /* records that forwards have used, of all ranks together */
    uint64_t key;      /* of what is left to chance */
    uint64_t rank, ranks; /* it reads every ranks-th record, from that one on */
};

/* In a layer's setup: `read` will fill a blob for each top. Reading begins with the first forward. */
int ferry__reader_setup(ferry_layer *layer, struct ferry__reader *r, ferry__prefetch_fn *read);

/* All of the list `path`, which the parameters `p` name as their `source`; to be freed. */
int ferry__source_read(const ferry_layer *layer, const ferry_proto *p, const char *path,
                       char **out);

/*
 * Entries of layer types whose state begins with the reader. forward fills the tops; after a
 * failure the next forward reads the batch that failed.
 */
int ferry__reader_forward(ferry_layer *layer);
uint64_t ferry__reader_position(ferry_layer *layer);

/* Stops reading ahead, so that the layer may go elsewhere. FERRY_EFORKED where that is the parent's to do. */
int ferry__reader_stop(ferry_layer *layer, struct ferry__reader *r);

/* Draws the key anew; what is read ahead by the former one is stopped first. */
int ferry__reader_seed(ferry_layer *layer, struct ferry__reader *r);

/* The first thing in a layer's destroy. */
void ferry__reader_end(struct ferry__reader *r);

#endif
