/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filter: the entries of each bottom except the last for which the last bottom, the selector, is
 * not 0. The tops have as many entries as were selected. (Caffe: FilterLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

#include <string.h>

static const ferry_blob *selector(const ferry_layer *layer)
{
    return ferry_layer_bottom_at(layer, ferry_layer_bottom_count(layer) - 1);
}

/* Gives top i the shape of its bottom with `n` items. */
static int shape_top(ferry_layer *layer, int i, int64_t entries)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, i);
    int64_t shape[FERRY_MAX_AXES];
    int rank = ferry_blob_rank(bottom);

    memcpy(shape, ferry_blob_shape(bottom), (size_t)rank * sizeof *shape);
    shape[0] = entries;
    return ferry_blob_reshape(ferry_layer_top_at(layer, i), shape, rank, NULL);
}

static int reshape(ferry_layer *layer)
{
    int64_t entries = ferry_blob_element_count(selector(layer));
    int i, n = ferry_layer_top_count(layer), err = 0;

    if (n != ferry_layer_bottom_count(layer) - 1)
        return ferry_layer_error(layer, FERRY_EFORMAT,
                                 "it has %d bottoms and %d tops; it must have one top less than "
                                 "bottoms",
                                 ferry_layer_bottom_count(layer), n);
    for (i = 0; !err && i < n; i++) {
        const ferry_blob *bottom = ferry_layer_bottom_at(layer, i);

        if (ferry_blob_rank(bottom) < 1 || ferry_blob_dim(bottom, 0) != entries)
            return ferry__bottoms_differ(layer, i, n,
                                         "differ in the number of entries, and the selector has "
                                         "one value for each");
        err = shape_top(layer, i, entries);
    }
    return err;
}

static int copy_chosen(ferry_layer *layer, int i, const float *chosen, int64_t entries)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, i);
    int64_t wide = ferry_blob_element_count_range(bottom, 1, ferry_blob_rank(bottom)), k;
    const float *from = ferry_blob_host_data(bottom);
    float *to = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, i));

    if (!from || !to)
        return ferry_last_error_code();
    for (k = 0; k < entries; k++)
        if (chosen[k] != 0) {
            memcpy(to, &from[k * wide], (size_t)wide * sizeof *to);
            to += wide;
        }
    return 0;
}

static int forward(ferry_layer *layer)
{
    int64_t entries = ferry_blob_element_count(selector(layer)), k, count = 0;
    const float *chosen = ferry_blob_host_data(selector(layer));
    int i, err = 0;

    if (!chosen)
        return ferry_last_error_code();
    for (k = 0; k < entries; k++)
        count += chosen[k] != 0;
    for (i = 0; !err && i < ferry_layer_top_count(layer); i++) {
        err = shape_top(layer, i, count);
        if (!err)
            err = copy_chosen(layer, i, chosen, entries);
    }
    return err;
}

/* Writes the gradient: selected items get the top's gradient, the others 0. */
static int spread_chosen(ferry_layer *layer, int i, const float *chosen, int64_t entries)
{
    ferry_blob *bottom = ferry_layer_bottom_at(layer, i);
    int64_t wide = ferry_blob_element_count_range(bottom, 1, ferry_blob_rank(bottom)), k;
    const float *from = ferry_blob_host_diff(ferry_layer_top_at(layer, i));
    float *to = ferry_blob_overwrite_host_diff(bottom);

    if (!from || !to)
        return ferry_last_error_code();
    memset(to, 0, (size_t)ferry_blob_element_count(bottom) * sizeof *to);
    for (k = 0; k < entries; k++)
        if (chosen[k] != 0) {
            memcpy(&to[k * wide], from, (size_t)wide * sizeof *to);
            from += wide;
        }
    return 0;
}

static int backward(ferry_layer *layer)
{
    const float *chosen = ferry_blob_host_data(selector(layer));
    int i, err = 0;

    if (!chosen)
        return ferry_last_error_code();
    for (i = 0; !err && i < ferry_layer_top_count(layer); i++)
        if (ferry_layer_propagates(layer, i))
            err = spread_chosen(layer, i, chosen, ferry_blob_element_count(selector(layer)));
    return err;
}

static const char *refuses(const ferry_layer *layer, int index)
{
    return index == ferry_layer_bottom_count(layer) - 1
               ? "Layer cannot backpropagate to filter index inputs"
               : NULL;
}

const ferry_layer_type ferry__filter_layer = {
    .struct_size = sizeof ferry__filter_layer,
    .name = "Filter",
    .min_bottoms = 2,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .flags = FERRY_LAYER_RESHAPES,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
    .refuses = refuses,
};
