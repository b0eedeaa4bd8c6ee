/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * safetensors in several files, listed by an index that maps arrays to files:
 *
 *     {"metadata": {"total_size": 28}, "weight_map": {"a": "model-00001-of-00002.safetensors", …}}
 */
#define _POSIX_C_SOURCE 200809L
#include "json.h"
#include "reader.h"

#include <stdlib.h>
#include <string.h>

/* The maximum size of an index. */
#define MAX_INDEX (256u * 1024 * 1024)

/* A file that the index lists; it is opened for the first array in it. */
struct shard {
    const char *name;
    ferry_io *io;
    struct shard *next;
};

struct state {
    struct shard *shards;
};

struct index {
    struct ferry_io *io;
    struct ferry__json json;
    struct shard *last; /* the file of the last lookup, because arrays of one file are
                         * consecutive */
};

/* The private data of an array. */
struct source {
    const struct ferry_io *shard;
    const struct ferry__io_array *array;
};

/*
 * Detects an index: a text that begins with a JSON object and has the key. Other JSON files are not
 * recognized.
 */
static ferry_io_format probe(const struct ferry__io_file *file)
{
    static const char key[] = "\"weight_map\"";
    const unsigned char *at = file->bytes, *end = file->bytes + file->size;

    if (file->size > MAX_INDEX || *at != '{')
        return FERRY_IO_UNKNOWN;
    for (; (at = memchr(at, '"', (size_t)(end - at))) && (size_t)(end - at) >= sizeof(key); at++)
        if (memcmp(at, key, sizeof(key) - 1) == 0)
            return FERRY_IO_SAFETENSORS;
    return FERRY_IO_UNKNOWN;
}

static int fail(const struct index *x, const char *what)
{
    if (x->io->arena.no_memory)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", x->io->file.path);
    return ferry_error_set(FERRY_EFORMAT, "%s: index at byte %llu: %s", x->io->file.path,
                           (unsigned long long)(x->json.at - x->io->file.bytes),
                           x->json.wrong ? x->json.wrong : what);
}

/* ---- the files ------------------------------------------------------------------------------ */

/* Whether the name has no folder, so that the index cannot name files in other folders. */
static bool is_beside(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int open_beside(const struct index *x, const char *name, ferry_io **out)
{
    const char *slash = strrchr(x->io->file.real, '/');
    size_t folder = slash ? (size_t)(slash - x->io->file.real) + 1 : 0;
    char *path = malloc(folder + strlen(name) + 1);
    int err;

    if (!path)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", x->io->file.path);
    memcpy(path, x->io->file.real, folder);
    strcpy(path + folder, name);
    err = x->io->parts->open(path, out);
    free(path);
    if (!err && (*out)->format != FERRY_IO_SAFETENSORS) {
        x->io->parts->close(*out);
        return ferry_error_set(FERRY_EFORMAT, "%s: %.200s is not a safetensors file",
                               x->io->file.path, name);
    }
    return err;
}

static int find_shard(struct index *x, const char *name, struct shard **out)
{
    struct state *state = x->io->state;
    struct shard *shard = x->last;
    int err;

    if (shard && strcmp(shard->name, name) == 0) {
        *out = shard;
        return FERRY_OK;
    }
    for (shard = state->shards; shard && strcmp(shard->name, name) != 0;)
        shard = shard->next;
    if (!shard) {
        if (!is_beside(name))
            return ferry_error_set(FERRY_EFORMAT, "%s: %.200s: is not the name of a file beside it",
                                   x->io->file.path, name);
        shard = ferry__io_alloc(x->io, sizeof(*shard));
        if (!shard)
            return ferry_last_error_code();
        err = open_beside(x, name, &shard->io);
        if (err)
            return err;
        shard->name = name;
        shard->next = state->shards;
        state->shards = shard;
    }
    *out = x->last = shard;
    return FERRY_OK;
}

/* ---- the index ------------------------------------------------------------------------------ */

static int add_array(struct index *x, const char *name, struct shard *shard)
{
    struct ferry__io_name names = { .name = name };
    struct ferry__values values = { .encoding = FERRY__VALUES_OWN };
    const ferry_io_entry *entry = NULL;
    const struct ferry__io_array *inner;
    struct ferry__io_array *array;
    struct source *source = ferry__io_alloc(x->io, sizeof(*source));
    int err = source ? x->io->parts->find(shard->io, name, &entry) : ferry_last_error_code();

    if (err)
        return err;
    if (!entry)
        return ferry_error_set(FERRY_EFORMAT,
                               "%s: %.200s is not in %.200s, where the index lists it",
                               x->io->file.path, name, shard->name);
    inner = shard->io->table[entry->index];
    err = ferry__io_add(x->io, &names, entry->dtype, entry->rank, entry->shape, &array);
    if (err)
        return err;
    source->shard = shard->io;
    source->array = inner;
    array->own = source;
    values.dtype = inner->data.dtype;
    values.storage = inner->data.storage;
    values.size = inner->data.size;
    ferry__io_set_data(x->io, array, &values);
    array->entry.offset = entry->offset;
    return entry->unreadable ? ferry__io_mark(x->io, array, entry->storage, entry->unreadable)
                             : FERRY_OK;
}

static int take_map(struct index *x)
{
    struct shard *shard = NULL;
    bool first = true;
    char *name, *file;
    int err = FERRY_OK;

    if (!ferry__json_char(&x->json, '{'))
        return fail(x, "weight_map is not an object");
    while (!err && ferry__json_more(&x->json, '}', &first)) {
        if (!ferry__json_string(&x->json, &x->io->arena, &name) ||
            !ferry__json_char(&x->json, ':') || !ferry__json_string(&x->json, &x->io->arena, &file))
            return fail(x, "weight_map is not an object of strings");
        err = find_shard(x, file, &shard);
        if (!err)
            err = add_array(x, name, shard);
    }
    return err ? err : x->json.wrong ? fail(x, "") : FERRY_OK;
}

static int take_index(struct index *x)
{
    bool first = true, map = false;
    char *key;
    int err = FERRY_OK;

    if (!ferry__json_char(&x->json, '{'))
        return fail(x, "is not an object");
    while (!err && ferry__json_more(&x->json, '}', &first)) {
        if (!ferry__json_string(&x->json, &x->io->arena, &key) || !ferry__json_char(&x->json, ':'))
            return fail(x, "not a key");
        if (strcmp(key, "weight_map") != 0) {
            if (!ferry__json_skip(&x->json))
                return fail(x, "not a value");
            continue;
        }
        if (map)
            return fail(x, "weight_map comes twice");
        map = true;
        err = take_map(x);
    }
    if (err || x->json.wrong)
        return err ? err : fail(x, "");
    return map ? FERRY_OK : fail(x, "weight_map is missing");
}

static bool has_metadata(const struct ferry_io *io, const char *key)
{
    for (const struct ferry__io_metadata *m = io->metadata; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return true;
    return false;
}

/* Adds the metadata strings of the files, each once. */
static int take_metadata(struct index *x)
{
    const struct state *state = x->io->state;
    int err = FERRY_OK;

    for (const struct shard *shard = state->shards; shard; shard = shard->next)
        for (const struct ferry__io_metadata *m = shard->io->metadata; m && !err; m = m->next)
            if (!has_metadata(x->io, m->key))
                err = ferry__io_add_metadata(x->io, m->key, m->value);
    return err;
}

static int open_file(struct ferry_io *io)
{
    struct index x = { .io = io };
    int err;

    if (io->file.fd < 0)
        return ferry_error_set(
            FERRY_EUNSUPPORTED,
            "%s: format at byte 0: an index of safetensors is read from files, not from memory",
            io->file.path);
    io->state = calloc(1, sizeof(struct state));
    if (!io->state)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", io->file.path);
    x.json.start = x.json.at = io->file.bytes;
    x.json.end = io->file.bytes + io->file.size;
    err = take_index(&x);
    return err ? err : take_metadata(&x);
}

static void close_file(struct ferry_io *io)
{
    struct state *state = io->state;

    for (struct shard *shard = state ? state->shards : NULL; shard; shard = shard->next)
        io->parts->close(shard->io);
    free(state);
}

static int read_values(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                       int64_t start, int64_t count, void *out)
{
    const struct source *source = array->own;

    (void)io;
    (void)diff;
    return ferry__values_read(&source->shard->file, &source->array->data, array->entry.rank,
                              array->entry.shape, start, count, out);
}

const struct ferry__io_reader ferry__sharded_reader = {
    .unique = true,
    .probe = probe,
    .open = open_file,
    .read = read_values,
    .close = close_file,
};
