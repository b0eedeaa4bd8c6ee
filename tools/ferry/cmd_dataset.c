/* SPDX-License-Identifier: BSD-2-Clause */
#include "dataset.h"
#include "files.h"
#include "net.h"

#include <ferry/image.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry dataset`: writes pictures and their labels into a database for Data layers. */

#define KEY_SIZE 500 /* LMDB limits keys to 511 bytes */

struct making {
    struct dataset_source source;
    struct dataset_writer *writer;
    bool encoded, gray, shuffle, json;
    const char *root, *resize, *seed_text, *max_bytes, *backend_name, *mean_path;
    const struct dataset_backend *backend;
    struct dataset_mean mean;
    int64_t height, width; /* 0: pictures keep their sizes */
    uint64_t seed;
    ferry_blob *picture, *resized;
    unsigned char *bytes; /* a resized picture, or the bytes of a picture's file */
    size_t room;
    int64_t *order;
    int64_t first[3]; /* the shape of the first record, and whether other shapes follow */
    bool several;
    struct progress progress;
};

/* ---- arguments ------------------------------------------------------------------------------- */

static int parse_size(const struct tool_command *self, struct making *m)
{
    long long h, w;
    char more;

    if (!m->resize)
        return TOOL_OK;
    if (sscanf(m->resize, "%lldx%lld%c", &h, &w, &more) != 2 || h < 1 || w < 1 || h > 65535 ||
        w > 65535)
        return tool_error(TOOL_USAGE, "%s: --resize %s: expected HEIGHTxWIDTH, each at most 65535",
                          self->name, m->resize);
    m->height = h;
    m->width = w;
    return TOOL_OK;
}

static int parse_seed(const struct tool_command *self, struct making *m)
{
    char *end;

    m->seed = m->seed_text ? strtoull(m->seed_text, &end, 10) : 1;
    if (m->seed_text && (end == m->seed_text || *end || m->seed_text[0] == '-'))
        return tool_error(TOOL_USAGE, "%s: --seed %s: expected a whole number", self->name,
                          m->seed_text);
    if (m->seed_text && !m->shuffle)
        return tool_error(TOOL_USAGE, "%s: --seed requires --shuffle", self->name);
    return TOOL_OK;
}

static int parse_backend(const struct tool_command *self, struct making *m)
{
    m->backend = dataset_backend_find(m->backend_name ? m->backend_name : "lmdb");
    return m->backend ? TOOL_OK
                      : tool_error(TOOL_USAGE, "%s: --backend %s: expected lmdb or leveldb",
                                   self->name, m->backend_name);
}

/* ---- the order ------------------------------------------------------------------------------- */

/* The next number of SplitMix64 (Steele, Lea, Flood). */
static uint64_t next_number(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/*
 * Draws numbers until one is below the last whole multiple of `below`; without this, small numbers
 * would be more likely.
 */
static int64_t random_below(uint64_t *state, uint64_t below)
{
    uint64_t rest = (UINT64_MAX % below + 1) % below, x;

    do
        x = next_number(state);
    while (x > UINT64_MAX - rest);
    return (int64_t)(x % below);
}

static int make_order(struct making *m)
{
    int64_t i, k;

    m->order = calloc((size_t)m->source.count, sizeof *m->order);
    if (!m->order)
        return ferry_error_set(FERRY_ENOMEM, "out of memory for the order of the pictures");
    for (i = 0; i < m->source.count; i++) {
        k = m->shuffle ? random_below(&m->seed, (uint64_t)i + 1) : i;
        m->order[i] = m->order[k];
        m->order[k] = i;
    }
    return 0;
}

/* ---- a record -------------------------------------------------------------------------------- */

static int make_room(struct making *m, size_t size)
{
    unsigned char *grown = m->room < size ? realloc(m->bytes, size) : m->bytes;

    if (!grown && size)
        return ferry_error_set(FERRY_ENOMEM, "out of memory for a picture of %zu bytes", size);
    m->bytes = grown;
    m->room = m->room < size ? size : m->room;
    return 0;
}

/* Resizes a picture, and rounds the values that ferry_image_transform computes. */
static int resize(struct making *m)
{
    ferry_image_transform_options how = { .struct_size = sizeof how,
                                          .height = m->height,
                                          .width = m->width };
    int err = ferry_image_transform(m->picture, &how, m->resized, -1);
    const float *values = err ? NULL : ferry_blob_host_data(m->resized);
    int64_t i, count = ferry_blob_element_count(m->resized);

    if (!values)
        return err ? err : ferry_last_error_code();
    err = make_room(m, (size_t)count);
    for (i = 0; !err && i < count; i++)
        m->bytes[i] = (unsigned char)values[i];
    return err;
}

static int raw_datum(struct making *m, struct dataset_datum *out)
{
    int err = m->height ? resize(m) : 0;

    if (err)
        return err;
    out->channels = ferry_blob_dim(m->picture, 0);
    out->height = m->height ? m->height : ferry_blob_dim(m->picture, 1);
    out->width = m->width ? m->width : ferry_blob_dim(m->picture, 2);
    out->bytes = m->height ? m->bytes : ferry_blob_host_data(m->picture);
    out->size = (size_t)(out->channels * out->height * out->width);
    return out->bytes ? 0 : ferry_last_error_code();
}

/*
 * Stores a picture's file unchanged. The picture was decoded before, which has shown that it is
 * valid.
 */
static int file_datum(struct making *m, int64_t i, struct dataset_datum *out)
{
    char *path = dataset_path(&m->source, i);
    FILE *f = path ? fopen(path, "rb") : NULL;
    size_t got = 1, size = 0;
    int err = f ? 0 : ferry_error_set(FERRY_EIO, "cannot be read again");

    while (!err && got) {
        err = make_room(m, size + 65536);
        got = err ? 0 : fread(m->bytes + size, 1, 65536, f);
        size += got;
    }
    if (f && ferror(f))
        err = ferry_error_set(FERRY_EIO, "cannot be read");
    if (f)
        fclose(f);
    free(path);
    out->bytes = m->bytes;
    out->size = size;
    return err;
}

static int encoded_datum(struct dataset_datum *d, unsigned char **out_png)
{
    int err;

    if (d->channels != 1 && d->channels != 3)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%lld channels: PNG needs 1 or 3",
                               (long long)d->channels);
    err = dataset_png(d, out_png, &d->size);
    d->bytes = *out_png;
    return err;
}

static void note_shape(struct making *m, const struct dataset_datum *d)
{
    int64_t shape[3] = { d->channels, d->height, d->width };

    if (!m->first[0])
        memcpy(m->first, shape, sizeof shape);
    m->several = m->several || memcmp(m->first, shape, sizeof shape) != 0;
}

static int add(struct making *m, const char *key, int64_t i)
{
    struct dataset_datum d = { .label = m->source.items[i].label, .encoded = m->encoded };
    unsigned char *png = NULL;
    int err = dataset_picture(&m->source, i, m->gray ? 1 : 3, m->picture);

    if (!err)
        err = raw_datum(m, &d);
    if (!err)
        note_shape(m, &d);
    if (!err && m->mean_path)
        err = dataset_mean_add(&m->mean, &d);
    if (!err && m->encoded)
        err = m->source.pixels || m->height || m->gray ? encoded_datum(&d, &png)
                                                       : file_datum(m, i, &d);
    if (!err)
        err = dataset_put(m->writer, key, &d);
    free(png);
    return err;
}

/* ---- all records ----------------------------------------------------------------------------- */

static int add_all(struct making *m)
{
    int64_t at;
    int err = 0;

    progress_begin(&m->progress, "writing", "records", (uint64_t)m->source.count);
    for (at = 0; !err && at < m->source.count; at++) {
        const char *path = m->source.items[m->order[at]].path;
        char key[KEY_SIZE], why[512];

        snprintf(key, sizeof key, path ? "%08lld_%s" : "%08lld", (long long)at, path);
        err = is_interrupted() ? FERRY_EBUSY : add(m, key, m->order[at]);
        if (err && err != FERRY_EBUSY) {
            snprintf(why, sizeof why, "%s", ferry_last_error());
            err = ferry_error_set(err, "%.200s: picture %lld: %s", m->source.file,
                                  (long long)m->order[at], why);
        }
        progress_step(&m->progress, 1);
    }
    progress_end(&m->progress);
    return err;
}

static int tell(const struct making *m, const char *folder)
{
    if (m->json)
        return tool_json_print(
            json_pack("{s:o, s:I, s:o, s:b, s:b}", "database", tool_json_string(folder), "records",
                      (json_int_t)m->source.count, "shape",
                      m->several ? json_null()
                                 : json_pack("[I,I,I]", (json_int_t)m->first[0],
                                             (json_int_t)m->first[1], (json_int_t)m->first[2]),
                      "encoded", m->encoded, "shuffled", m->shuffle));
    tool_print(folder);
    if (m->several)
        tool_printf(": %lld records of different shapes\n", (long long)m->source.count);
    else
        tool_printf(": %lld records of %lld x %lld x %lld\n", (long long)m->source.count,
                    (long long)m->first[0], (long long)m->first[1], (long long)m->first[2]);
    return TOOL_OK;
}

static int make(struct making *m, const char *folder)
{
    int err = make_order(m);

    if (!err)
        err = dataset_create(folder, m->backend, &m->writer);
    if (err)
        return tool_ferry_error();
    catch_interrupts();
    err = add_all(m);
    if (!err && m->mean_path)
        err = dataset_mean_write(&m->mean, m->mean_path);
    if (err)
        dataset_abort(m->writer);
    else
        err = dataset_commit(m->writer);
    die_if_interrupted();
    return err ? tool_ferry_error() : tell(m, folder);
}

/* Makes the database on the host, which decodes and resizes the pictures. */
static int make_on_host(struct making *m, const char *folder)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    int status;

    if (ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
        ferry_blob_create(dev, FERRY_U8, NULL, FERRY_UNSHAPED, &m->picture) ||
        ferry_blob_create(dev, FERRY_F32, NULL, FERRY_UNSHAPED, &m->resized))
        status = tool_ferry_error();
    else
        status = make(m, folder);
    ferry_blob_destroy(m->picture);
    ferry_blob_destroy(m->resized);
    ferry_runtime_close(rt);
    return status;
}

int cmd_dataset(const struct tool_command *self, int argc, char **argv)
{
    struct making m = { .json = false };
    const struct tool_option options[] = {
        { "--root", NULL, NULL, &m.root },       { "--encoded", NULL, &m.encoded, NULL },
        { "--resize", NULL, NULL, &m.resize },   { "--gray", NULL, &m.gray, NULL },
        { "--shuffle", NULL, &m.shuffle, NULL }, { "--seed", NULL, NULL, &m.seed_text },
        { "--json", NULL, &m.json, NULL },       { "--max-bytes", NULL, NULL, &m.max_bytes },
        { "--backend", NULL, NULL, &m.backend_name }, { "--mean", NULL, NULL, &m.mean_path },
        { NULL, NULL, NULL, NULL },
    };
    int n = tool_parse(self, argc, argv, options, 3), status;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 2)
        return tool_error(TOOL_USAGE, "dataset: missing arguments; usage: ferry %s %s", self->name,
                          self->arguments);
    status = parse_size(self, &m);
    if (status == TOOL_OK)
        status = parse_seed(self, &m);
    if (status == TOOL_OK)
        status = parse_backend(self, &m);
    if (status == TOOL_OK)
        status = net_max_bytes(self, m.max_bytes);
    if (status != TOOL_OK)
        return status;
    status = dataset_open(&m.source, argv[0], n > 2 ? argv[1] : NULL, m.root)
                 ? tool_ferry_error()
                 : make_on_host(&m, argv[n - 1]);
    dataset_close(&m.source);
    free(m.bytes);
    free(m.order);
    free(m.mean.sums);
    return status;
}
