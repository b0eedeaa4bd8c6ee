/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by layers that read pictures: each record's picture goes through transform_param (scale,
 * mirror, crop_size, mean_file or mean_value) into an item of top 0, its label into top 1, if there
 * is one. The first picture of a batch determines the shape of the tops; the others must have the
 * same size. In TRAIN crops are at random positions, in TEST in the centre; `mirror` flips pictures
 * at random in both phases. (Caffe: BasePrefetchingDataLayer, DataTransformer.)
 */
#ifndef FERRY_NET_LAYERS_PICTURES_H
#define FERRY_NET_LAYERS_PICTURES_H

#include "net/layers/reader.h"

#include <ferry/image.h>

/*
 * The first member of a layer's state; all zeros except the functions. The prefetch thread uses the
 * functions and the current picture; forward uses the reader.
 */
struct ferry__pictures {
    struct ferry__reader reader;
    int64_t batch;
    ferry_image_transform_options how; /* the layer may set the size after resizing; the rest is
                                        * read from the parameters */
    bool mirror;
    ferry_blob *mean, *bytes, *floats; /* bytes, floats: the current picture as U8 or F32 */
    uint64_t next;                     /* the number of the next record */
    bool must_seek;                    /* reading failed, so the position does not match `next` */
    char record[640];                  /* the record's name in messages, set by load */
    /* Reads the record at the current position. */
    int (*load)(ferry_layer *layer, ferry_blob **out_picture, int32_t *out_label);
    /* Moves to the next record, or from the last one to the first. */
    int (*step)(ferry_layer *layer);
    /* Moves to a record, counted from the first one of setup. */
    int (*seek)(ferry_layer *layer, uint64_t record);
};

/* Reads batch_size of the message `p`, and transform_param. */
int ferry__pictures_setup(ferry_layer *layer, const ferry_proto *p);

/*
 * Reads mean_file or mean_value of transform_param into a new F32 blob: the array in the file, or
 * the values along one axis. *out is unchanged if neither is set; after a failure the caller
 * destroys *out if it was created.
 */
int ferry__mean_read(ferry_layer *layer, ferry_blob **out);

/*
 * Shapes the tops for the record at the current position; once batches have been read, for the
 * latest batch.
 */
int ferry__pictures_reshape(ferry_layer *layer);

/* The entry ferry_layer_type.seek. */
int ferry__pictures_seek(ferry_layer *layer, uint64_t position);
int ferry__pictures_seed(ferry_layer *layer);

/* Call this first in destroy. */
void ferry__pictures_end(ferry_layer *layer);

#endif
