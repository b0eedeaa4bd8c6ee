/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data (data_param, transform_param): batch_size records of the database `source` in each forward
 * pass, in the order of their keys; after the last record reading restarts at the first. A record
 * is a Datum: values as bytes or floats, channels × height × width, or a PNG or JPEG (`encoded`) in
 * its own number of channels, in three with force_color or force_encoded_color, in one with
 * force_gray; its label is written to top 1, if there is one. The format is detected from the
 * source's contents, not from `backend`: LMDB or LevelDB. rand_skip skips a random number of
 * records below its value, by the net's seed. A thread prefetches `prefetch` batches; with 0 there
 * is no thread. A batch has the shape of its first record. (Caffe: DataLayer, db_lmdb, db_leveldb.)
 */
#include "net/layers/pictures.h"

#include "net/data/database.h"
#include "net/data/datum.h"

#include <ferry/status.h>

#include <stdlib.h>

struct data {
    struct ferry__pictures pictures;
    struct ferry__database *database;
    uint64_t skip; /* the first record to read */
    int channels;  /* for encoded records; 0: as in the record */
};

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "data_param", 0);
}

static int load(ferry_layer *layer, ferry_blob **out_picture, int32_t *out_label)
{
    struct data *s = ferry_layer_state(layer);
    struct ferry__pictures *p = &s->pictures;
    struct ferry__datum datum;
    const void *record;
    size_t size;
    int err;

    ferry__database_record(s->database, &record, &size);
    ferry__database_name(s->database, p->record, sizeof p->record);
    err = ferry__datum_read(record, size, p->record, &datum);
    if (err)
        return err;
    *out_label = datum.label;
    return ferry__datum_picture(&datum, p->record, s->channels, p->bytes, p->floats, out_picture);
}

static int step(ferry_layer *layer)
{
    struct data *s = ferry_layer_state(layer);

    return ferry__database_step(s->database);
}

static int seek(ferry_layer *layer, uint64_t record)
{
    struct data *s = ferry_layer_state(layer);

    return ferry__database_seek(s->database, s->skip + record);
}

static int open_source(ferry_layer *layer, struct data *s)
{
    char *path = NULL;
    int err = ferry__file_of(layer, parameters(layer), "source", &path);

    if (!err)
        err = ferry__database_open(path, &s->database);
    free(path);
    return err;
}

static int read_channels(const ferry_layer *layer, struct data *s)
{
    const ferry_proto *t = ferry_proto_message(ferry_layer_message(layer), "transform_param", 0);
    bool gray = ferry_proto_boolean(t, "force_gray", 0);
    bool color = ferry_proto_boolean(t, "force_color", 0) ||
                 ferry_proto_boolean(parameters(layer), "force_encoded_color", 0);

    if (gray && color)
        return ferry_proto_error(t, "force_gray", 0, FERRY_EFORMAT,
                                 "layer \"%s\": force_color and force_gray; only one of them may "
                                 "be set",
                                 ferry_layer_name(layer));
    s->channels = color ? 3 : gray ? 1 : 0;
    return 0;
}

static int setup(ferry_layer *layer)
{
    struct data *s = ferry_layer_state(layer);
    int64_t most = ferry_proto_integer(parameters(layer), "rand_skip", 0);
    int err;

    s->pictures.load = load;
    s->pictures.step = step;
    s->pictures.seek = seek;
    err = read_channels(layer, s);
    if (!err)
        err = ferry__pictures_setup(layer, parameters(layer));
    if (!err)
        err = open_source(layer, s);
    s->skip = most > 0 ? ferry_layer_random(layer, (uint64_t)most) : 0;
    return err || !s->skip ? err : seek(layer, 0);
}

static void destroy(ferry_layer *layer)
{
    struct data *s = ferry_layer_state(layer);

    ferry__pictures_end(layer);
    ferry__database_close(s->database);
}

static const char *const messages[] = { "data_param", "transform_param", NULL };

const ferry_layer_type ferry__data_layer = {
    .struct_size = sizeof ferry__data_layer,
    .name = "Data",
    .state_size = sizeof(struct data),
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .flags = FERRY_LAYER_RESHAPES,
    .messages = messages,
    .setup = setup,
    .reshape = ferry__pictures_reshape,
    .forward = ferry__reader_forward,
    .destroy = destroy,
    .position = ferry__reader_position,
    .seek = ferry__pictures_seek,
    .seed = ferry__pictures_seed,
};
