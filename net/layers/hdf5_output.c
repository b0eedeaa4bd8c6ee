/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5Output (hdf5_output_param): writes bottoms 0 and 1 to `file_name` as "data" and "label". Each
 * forward pass replaces the whole file, if the net's options allow it. (Caffe: HDF5OutputLayer,
 * which ends the program in the second forward pass.)
 */
#define _POSIX_C_SOURCE 200809L
#include "net/layers/layers.h"

#include <ferry/io.h>
#include <ferry/status.h>

#include <limits.h>

static const char *file_of(const ferry_layer *layer)
{
    return ferry_proto_string(
        ferry_proto_message(ferry_layer_message(layer), "hdf5_output_param", 0), "file_name", 0,
        NULL);
}

static int setup(ferry_layer *layer)
{
    char path[PATH_MAX];

    if (!file_of(layer)[0])
        return ferry_layer_error(layer, FERRY_EFORMAT, "file_name is missing");
    return ferry_layer_output_path(layer, file_of(layer), path, sizeof path);
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *data = ferry_layer_bottom_at(layer, 0),
                     *label = ferry_layer_bottom_at(layer, 1);

    if (ferry_blob_rank(data) < 1 || ferry_blob_rank(label) < 1 ||
        ferry_blob_dim(data, 0) != ferry_blob_dim(label, 0))
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottoms differ in the number of entries");
    return 0;
}

/*
 * Declares a dataset with four axes like Caffe's: missing axes are 1; a blob with more axes keeps
 * them.
 */
static int declare(ferry_io_writer *w, const char *name, const ferry_blob *b)
{
    int64_t shape[FERRY_MAX_AXES] = { 1, 1, 1, 1 };
    ferry_io_entry entry = { .struct_size = sizeof entry, .name = name, .shape = shape };
    int i, n = ferry_blob_rank(b);

    for (i = 0; i < n; i++)
        shape[i] = ferry_blob_dim(b, i);
    entry.dtype = ferry_blob_dtype(b);
    entry.rank = n > 4 ? n : 4;
    return ferry_io_writer_declare(w, &entry);
}

static int write_values(ferry_io_writer *w, const ferry_blob *b)
{
    const void *values = ferry_blob_element_count(b) ? ferry_blob_host_data(b) : NULL;

    if (!values)
        return ferry_blob_element_count(b) ? ferry_last_error_code() : 0;
    return ferry_io_writer_write_values(
        w, values, (size_t)ferry_blob_element_count(b) * ferry_dtype_size(ferry_blob_dtype(b)));
}

static int forward(ferry_layer *layer)
{
    const ferry_blob *data = ferry_layer_bottom_at(layer, 0),
                     *label = ferry_layer_bottom_at(layer, 1);
    char path[PATH_MAX];
    ferry_io_writer *w;
    int err = ferry_layer_output_path(layer, file_of(layer), path, sizeof path);

    if (!err)
        err = ferry_io_writer_create(path, FERRY_IO_HDF5, &w);
    if (err)
        return err;
    err = declare(w, "data", data);
    if (!err)
        err = declare(w, "label", label);
    if (!err)
        err = write_values(w, data);
    if (!err)
        err = write_values(w, label);
    if (err) {
        ferry_io_writer_abort(w);
        return err;
    }
    return ferry_io_writer_commit(w);
}

static const char *const messages[] = { "hdf5_output_param", NULL };

const ferry_layer_type ferry__hdf5_output_layer = {
    .struct_size = sizeof ferry__hdf5_output_layer,
    .name = "HDF5Output",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 0,
    .max_tops = 0,
    .flags = FERRY_LAYER_FORWARD_ONLY,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
};
