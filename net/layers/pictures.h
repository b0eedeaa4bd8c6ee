/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What layers that read pictures share: a record after the other, its picture through transform_param
 * (scale, mirror, crop_size, mean_file or mean_value) into an item of top 0, its label into top 1, if there
 * is one. The first picture of a batch gives the tops their shape; the others must have it. In TRAIN a crop
 * is anywhere, in TEST in the middle; `mirror` turns every other picture, by chance, in both. (Caffe:
 * BasePrefetchingDataLayer, DataTransformer.)
 */
#ifndef FERRY_NET_LAYERS_PICTURES_H
#define FERRY_NET_LAYERS_PICTURES_H

#include "net/layers/reader.h"

#include <ferry/image.h>

/*
 * Zero, but for the functions; the first thing in a layer's state. What reads has the thread's functions and
 * the picture at hand; forward has the reader.
 */
struct ferry__pictures {
    struct ferry__reader reader;
    int64_t batch;
    ferry_image_transform_options how; /* the size that pictures get may be set; the rest is read */
    bool mirror;
    ferry_blob *mean, *bytes, *floats; /* the latter two for the picture at hand, U8 and F32 */
    uint64_t next;                     /* the number of the record that is read next */
    bool astray;                       /* reading failed: it does not stand there */
    char record[640];                  /* its name in messages, by load */
    /* Reads the record that stands next. */
    int (*load)(ferry_layer *layer, ferry_blob **out_picture, int32_t *out_label);
    /* Goes on to the one behind it, or to the first. */
    int (*step)(ferry_layer *layer);
    /* Goes to that one, counted from the one with which setup began. */
    int (*seek)(ferry_layer *layer, uint64_t record);
};

/* Reads batch_size of `p`, and transform_param. */
int ferry__pictures_setup(ferry_layer *layer, const ferry_proto *p);

/*
 * Reads mean_file or mean_value of transform_param into a new F32 blob: the array that the file has, or the values along one
 * axis. *out stays as it is where there is neither; after a failure the caller destroys what it may have become.
 */
int ferry__mean_read(ferry_layer *layer, ferry_blob **out);

/* Shapes the tops as the record that stands next has it; once batches are read, as they are. */
int ferry__pictures_reshape(ferry_layer *layer);

/* ferry_layer_type.seek. */
int ferry__pictures_seek(ferry_layer *layer, uint64_t position);
int ferry__pictures_seed(ferry_layer *layer);

/* The first thing in destroy. */
void ferry__pictures_end(ferry_layer *layer);

#endif
