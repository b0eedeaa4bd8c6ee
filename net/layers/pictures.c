/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layers/pictures.h"

#include "net/data/chance.h"

#include <ferry/io.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* ---- transform_param ------------------------------------------------------------------------- */

static int read_mean(ferry_layer *layer, const char *path, ferry_blob *mean)
{
    const ferry_io_entry *entry;
    ferry_io *io;
    int err = ferry_io_open(path, &io);

    if (err)
        return err;
    if (ferry_io_entry_count(io) != 1)
        err = ferry_layer_error(layer, FERRY_EFORMAT, "mean_file \"%.400s\" has %lld arrays, not 1",
                                path, (long long)ferry_io_entry_count(io));
    if (!err)
        err = ferry_io_entry_at(io, 0, &entry);
    if (!err)
        err = ferry_io_read(io, entry, mean);
    ferry_io_close(io);
    return err;
}

static int read_mean_file(ferry_layer *layer, const ferry_proto *p, ferry_blob *mean)
{
    char *path = NULL;
    int err = ferry__file_of(layer, p, "mean_file", &path);

    if (!err)
        err = read_mean(layer, path, mean);
    free(path);
    return err;
}

static int read_mean_values(const ferry_proto *p, ferry_blob *mean)
{
    int64_t n = ferry_proto_value_count(p, "mean_value"), i;
    int err = ferry_blob_reshape(mean, &n, 1, NULL);
    float *values = err ? NULL : ferry_blob_overwrite_host_data(mean);

    if (!values)
        return err ? err : ferry_last_error_code();
    for (i = 0; i < n; i++)
        values[i] = (float)ferry_proto_real(p, "mean_value", i);
    return 0;
}

int ferry__mean_read(ferry_layer *layer, ferry_blob **out)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "transform_param", 0);
    bool file = ferry_proto_value_count(p, "mean_file") > 0,
         values = ferry_proto_value_count(p, "mean_value") > 0;
    int err;

    if (!file && !values)
        return 0;
    if (file && values)
        return ferry_proto_error(p, "mean_value", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a mean_file and a mean_value; only one of them may "
                                 "be set",
                                 ferry_layer_name(layer));
    err = ferry_blob_create(ferry_layer_device(layer), FERRY_F32, NULL, FERRY_UNSHAPED, out);
    if (!err)
        err = file ? read_mean_file(layer, p, *out) : read_mean_values(p, *out);
    return err;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Appends the record to the error message. */
static int record_failed(ferry_layer *layer, int err)
{
    const struct ferry__pictures *s = ferry_layer_state(layer);
    char why[512];

    if (!err)
        return 0;
    strncpy(why, ferry_last_error(), sizeof why - 1);
    why[sizeof why - 1] = 0;
    return ferry_layer_error(layer, err, "%.500s: %s", s->record, why);
}

/* The number of rows, or columns, of a picture after resizing. */
static int64_t resized(int64_t asked, const ferry_blob *picture, int axis)
{
    return asked ? asked : ferry_blob_dim(picture, axis);
}

/* The shape of a batch that begins with this picture. `labels` may be NULL. */
static int shape(ferry_layer *layer, const ferry_blob *picture, ferry_blob *data,
                 ferry_blob *labels)
{
    const struct ferry__pictures *s = ferry_layer_state(layer);
    int64_t crop = s->how.crop_height;
    int64_t h = resized(s->how.height, picture, 1), w = resized(s->how.width, picture, 2);
    int err;

    if (crop > h || crop > w)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "%.500s: a crop_size of %lld for a picture of %lld x %lld",
                                 s->record, (long long)crop, (long long)h, (long long)w);
    err = ferry_blob_reshape4(data, s->batch, ferry_blob_dim(picture, 0), crop ? crop : h,
                              crop ? crop : w);
    return err || !labels ? err : ferry_blob_reshape(labels, &s->batch, 1, NULL);
}

static int put(ferry_layer *layer, const ferry_blob *picture, ferry_blob *data, int64_t item)
{
    const struct ferry__pictures *s = ferry_layer_state(layer);
    struct ferry__chance chance = ferry__chance(s->reader.key, FERRY__CHANCE_PICTURE, s->next);
    ferry_image_transform_options how = s->how;
    int64_t crop = how.crop_height, at[2];
    int64_t h = resized(how.height, picture, 1), w = resized(how.width, picture, 2);

    if (crop && crop <= h && crop <= w && ferry_layer_phase(layer) == FERRY_PHASE_TRAIN) {
        at[0] = (int64_t)ferry__chance_next(&chance, (uint64_t)(h - crop + 1));
        at[1] = (int64_t)ferry__chance_next(&chance, (uint64_t)(w - crop + 1));
        how.crop_at = at;
    }
    how.mirror = s->mirror && ferry__chance_next(&chance, 2);
    return record_failed(layer, ferry_image_transform(picture, &how, data, item));
}

static int put_label(ferry_blob *blob, int64_t item, int32_t label)
{
    float *labels = blob ? ferry_blob_mutable_host_data(blob) : NULL;

    if (labels)
        labels[item] = (float)label;
    return labels || !blob ? 0 : ferry_last_error_code();
}

/* Moves to the next record of this rank. */
static int next_record(ferry_layer *layer)
{
    struct ferry__pictures *s = ferry_layer_state(layer);
    uint64_t k;
    int err = 0;

    for (k = 0; !err && k < s->reader.ranks; k++)
        err = s->step(layer);
    s->next += err ? 0 : s->reader.ranks;
    return err;
}

static int read_items(ferry_layer *layer, struct ferry__batch *batch)
{
    struct ferry__pictures *s = ferry_layer_state(layer);
    ferry_blob *data = batch->blobs[0];
    ferry_blob *labels = ferry_layer_top_count(layer) > 1 ? batch->blobs[1] : NULL;
    int64_t item;
    int err = 0;

    for (item = 0; !err && item < s->batch && !ferry__prefetch_ends(s->reader.prefetch); item++) {
        ferry_blob *picture;
        int32_t label;

        err = s->load(layer, &picture, &label);
        if (!err && item == 0)
            err = shape(layer, picture, data, labels);
        if (!err)
            err = put(layer, picture, data, item);
        if (!err)
            err = put_label(labels, item, label);
        if (!err)
            err = next_record(layer);
    }
    return err;
}

static int read_batch(void *arg, struct ferry__batch *batch)
{
    ferry_layer *layer = arg;
    struct ferry__pictures *s = ferry_layer_state(layer);
    uint64_t first = s->next;
    int err = s->must_seek ? s->seek(layer, first) : 0;

    if (!err)
        err = read_items(layer, batch);
    batch->position = s->next - s->reader.rank;
    s->must_seek = err != 0;
    if (err)
        s->next = first;
    return err;
}

/* ---- setup ----------------------------------------------------------------------------------- */

int ferry__pictures_setup(ferry_layer *layer, const ferry_proto *p)
{
    struct ferry__pictures *s = ferry_layer_state(layer);
    const ferry_proto *t = ferry_proto_message(ferry_layer_message(layer), "transform_param", 0);
    ferry_device *dev = ferry_layer_device(layer);
    int err;

    s->batch = ferry_proto_integer(p, "batch_size", 0);
    if (s->batch < 1)
        return ferry_proto_error(p, "batch_size", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a batch_size of %lld", ferry_layer_name(layer),
                                 (long long)s->batch);
    s->how.struct_size = sizeof s->how;
    s->how.scale = ferry_proto_real(t, "scale", 0);
    if (s->how.scale == 0)
        return ferry_proto_error(t, "scale", 0, FERRY_EFORMAT, "layer \"%s\": the scale is 0",
                                 ferry_layer_name(layer));
    s->how.crop_height = s->how.crop_width = ferry_proto_integer(t, "crop_size", 0);
    s->mirror = ferry_proto_boolean(t, "mirror", 0) != 0;
    err = ferry__mean_read(layer, &s->mean);
    s->how.mean = s->mean;
    if (!err)
        err = ferry__reader_setup(layer, &s->reader, read_batch);
    s->next = s->reader.rank;
    s->must_seek = s->next > 0; /* the first read seeks */
    if (!err)
        err = ferry_blob_create(dev, FERRY_U8, NULL, FERRY_UNSHAPED, &s->bytes);
    return err ? err : ferry_blob_create(dev, FERRY_F32, NULL, FERRY_UNSHAPED, &s->floats);
}

void ferry__pictures_end(ferry_layer *layer)
{
    struct ferry__pictures *s = ferry_layer_state(layer);

    ferry__reader_end(&s->reader);
    ferry_blob_destroy(s->mean);
    ferry_blob_destroy(s->bytes);
    ferry_blob_destroy(s->floats);
}

/* ---- passes ---------------------------------------------------------------------------------- */

int ferry__pictures_reshape(ferry_layer *layer)
{
    const struct ferry__pictures *s = ferry_layer_state(layer);
    ferry_blob *picture;
    int32_t label;
    int err;

    if (ferry__prefetch_reads(s->reader.prefetch))
        return 0;
    err = s->load(layer, &picture, &label);
    return err ? err
               : shape(layer, picture, ferry_layer_top_at(layer, 0), ferry_layer_top_at(layer, 1));
}

int ferry__pictures_seek(ferry_layer *layer, uint64_t position)
{
    struct ferry__pictures *s = ferry_layer_state(layer);
    int err = ferry__reader_stop(layer, &s->reader);

    if (err)
        return err;
    err = s->seek(layer, position + s->reader.rank);
    s->must_seek = err != 0;
    s->next = position + s->reader.rank;
    if (!err)
        s->reader.position = position;
    return err;
}

int ferry__pictures_seed(ferry_layer *layer)
{
    struct ferry__pictures *s = ferry_layer_state(layer);

    return ferry__reader_seed(layer, &s->reader);
}
