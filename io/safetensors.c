/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * safetensors: eight bytes of length, a header in JSON, and the values without gaps.
 *
 *     {"__metadata__": {"format": "pt"},
 *      "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 */
#include "json.h"
#include "reader.h"
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

struct tensor {
    char *name;
    const unsigned char *place; /* the array's position in the header, for messages */
    ferry_dtype dtype;
    enum ferry__storage storage;
    const char *word; /* the file's name of the dtype */
    int rank;
    int64_t *shape;
    uint64_t begin, end;
    struct tensor *next;
};

struct header {
    struct ferry_io *io;
    struct ferry__json json;
    struct tensor *tensors;
    size_t count;
};

static uint64_t header_length(const struct ferry__io_file *file)
{
    uint64_t length = 0;

    for (int i = 7; i >= 0; i--)
        length = length << 8 | file->bytes[i];
    return length;
}

/*
 * Detects the format. A file with a header that is too long or truncated counts too: open reports
 * the error.
 */
static ferry_io_format probe(const struct ferry__io_file *file)
{
    if (file->size < 9 || file->bytes[8] != '{' || header_length(file) >> 40)
        return FERRY_IO_UNKNOWN;
    return FERRY_IO_SAFETENSORS;
}

/* ---- the header ----------------------------------------------------------------------------- */

static int fail_at(const struct header *h, const unsigned char *place, const char *field, int code,
                   const char *what)
{
    return ferry_error_set(code, "%s: %.200s at byte %llu: %s", h->io->file.path, field,
                           (unsigned long long)(place - h->io->file.bytes), what);
}

static int fail_json(const struct header *h, const char *field)
{
    if (h->io->arena.no_memory)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", h->io->file.path);
    return fail_at(h, h->json.at, field, FERRY_EFORMAT,
                   h->json.wrong ? h->json.wrong : "not a value");
}

static int wanted(const struct header *h, const char *field, const char *what)
{
    return fail_at(h, h->json.at, field, FERRY_EFORMAT, what);
}

/*
 * Takes any dtype name: new versions of the format add dtypes, and an array of an unknown dtype
 * does not make the others unreadable.
 */
static int take_dtype(struct header *h, struct tensor *t)
{
    char *name;

    if (!ferry__json_string(&h->json, &h->io->arena, &name))
        return fail_json(h, t->name);
    t->word = name;
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++)
        if (strcmp(ferry_dtype_name((ferry_dtype)i), name) == 0) {
            t->dtype = (ferry_dtype)i;
            return FERRY_OK;
        }
    t->storage = ferry__storage_named(name);
    if (t->storage == FERRY__STORED_AS_DTYPE)
        t->storage = FERRY__STORED_OTHERWISE;
    t->dtype = ferry__storage_dtype(t->storage);
    return FERRY_OK;
}

static int take_shape(struct header *h, struct tensor *t)
{
    int64_t shape[FERRY_MAX_AXES];
    bool first = true;
    uint64_t dim;

    if (!ferry__json_char(&h->json, '['))
        return wanted(h, t->name, "shape is not an array");
    t->rank = 0;
    while (ferry__json_more(&h->json, ']', &first)) {
        if (!ferry__json_uint64(&h->json, &dim))
            return fail_json(h, t->name);
        if (dim > INT64_MAX)
            return fail_at(h, h->json.at, t->name, FERRY_EOVERFLOW, "a dim beyond 63 bits");
        if (t->rank == FERRY_MAX_AXES)
            return fail_at(h, h->json.at, t->name, FERRY_EUNSUPPORTED, "more than 32 axes");
        shape[t->rank++] = (int64_t)dim;
    }
    if (h->json.wrong)
        return fail_json(h, t->name);
    t->shape = ferry__io_alloc(h->io, (size_t)t->rank * sizeof(*shape));
    if (!t->shape)
        return ferry_last_error_code();
    memcpy(t->shape, shape, (size_t)t->rank * sizeof(*shape));
    return FERRY_OK;
}

static int take_offsets(struct header *h, struct tensor *t)
{
    if (!ferry__json_char(&h->json, '['))
        return wanted(h, t->name, "data_offsets is not an array");
    if (!ferry__json_uint64(&h->json, &t->begin))
        return fail_json(h, t->name);
    if (!ferry__json_char(&h->json, ','))
        return wanted(h, t->name, "data_offsets is not a pair");
    if (!ferry__json_uint64(&h->json, &t->end))
        return fail_json(h, t->name);
    if (!ferry__json_char(&h->json, ']'))
        return wanted(h, t->name, "data_offsets is not a pair");
    return FERRY_OK;
}

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

static int take_member(struct header *h, struct tensor *t, unsigned *has)
{
    const unsigned char *place = h->json.at;
    unsigned bit;
    char *key;

    if (!ferry__json_string(&h->json, &h->io->arena, &key))
        return fail_json(h, t->name);
    if (!ferry__json_char(&h->json, ':'))
        return wanted(h, t->name, "a colon is missing after a key");
    bit = strcmp(key, "dtype") == 0          ? HAS_DTYPE
          : strcmp(key, "shape") == 0        ? HAS_SHAPE
          : strcmp(key, "data_offsets") == 0 ? HAS_OFFSETS
                                             : 0;
    if (*has & bit)
        return fail_at(h, place, t->name, FERRY_EFORMAT, "the same key twice");
    *has |= bit;
    if (bit == HAS_DTYPE)
        return take_dtype(h, t);
    if (bit == HAS_SHAPE)
        return take_shape(h, t);
    if (bit == HAS_OFFSETS)
        return take_offsets(h, t);
    return ferry__json_skip(&h->json) ? FERRY_OK : fail_json(h, t->name);
}

static int take_tensor(struct header *h, char *name, const unsigned char *place)
{
    struct tensor *t = ferry__io_alloc(h->io, sizeof(*t));
    bool first = true;
    unsigned has = 0;
    int err = FERRY_OK;

    if (!t)
        return ferry_last_error_code();
    t->name = name;
    t->place = place;
    if (!ferry__json_char(&h->json, '{'))
        return wanted(h, name, "not an object");
    while (!err && ferry__json_more(&h->json, '}', &first))
        err = take_member(h, t, &has);
    if (err)
        return err;
    if (h->json.wrong)
        return fail_json(h, name);
    if (has != HAS_ALL)
        return fail_at(h, place, name, FERRY_EFORMAT,
                       !(has & HAS_DTYPE)   ? "dtype is missing"
                       : !(has & HAS_SHAPE) ? "shape is missing"
                                            : "data_offsets is missing");
    t->next = h->tensors;
    h->tensors = t;
    h->count++;
    return FERRY_OK;
}

static int take_metadata(struct header *h)
{
    bool first = true;
    char *key, *value;
    int err;

    if (!ferry__json_char(&h->json, '{'))
        return wanted(h, "__metadata__", "not an object");
    while (ferry__json_more(&h->json, '}', &first)) {
        if (!ferry__json_string(&h->json, &h->io->arena, &key))
            return fail_json(h, "__metadata__");
        if (!ferry__json_char(&h->json, ':'))
            return wanted(h, "__metadata__", "a colon is missing after a key");
        if (!ferry__json_string(&h->json, &h->io->arena, &value))
            return fail_json(h, "__metadata__");
        err = ferry__io_add_metadata(h->io, key, value);
        if (err)
            return err;
    }
    return h->json.wrong ? fail_json(h, "__metadata__") : FERRY_OK;
}

static int take_header(struct header *h)
{
    bool first = true, metadata = false;
    int err = FERRY_OK;

    if (!ferry__json_char(&h->json, '{'))
        return wanted(h, "header", "not an object");
    while (!err && ferry__json_more(&h->json, '}', &first)) {
        const unsigned char *place = h->json.at;
        char *name;

        if (!ferry__json_string(&h->json, &h->io->arena, &name))
            return fail_json(h, "header");
        if (!ferry__json_char(&h->json, ':'))
            return wanted(h, "header", "a colon is missing after a name");
        if (strcmp(name, "__metadata__") != 0)
            err = take_tensor(h, name, place);
        else if (metadata)
            return fail_at(h, place, name, FERRY_EFORMAT, "comes twice");
        else
            err = take_metadata(h);
        metadata = metadata || strcmp(name, "__metadata__") == 0;
    }
    if (err)
        return err;
    if (h->json.wrong)
        return fail_json(h, "header");
    ferry__json_char(&h->json, '\0'); /* skips the padding */
    return h->json.at == h->json.end ? FERRY_OK : wanted(h, "header", "more than one object");
}

/* ---- the values ----------------------------------------------------------------------------- */

static int by_offset(const void *left, const void *right)
{
    const struct tensor *a = *(struct tensor *const *)left, *b = *(struct tensor *const *)right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

/* Checks that each array begins at the end of the previous one and has the size of its shape. */
static int check_tensor(const struct header *h, const struct tensor *t, uint64_t begin,
                        uint64_t total)
{
    uint64_t size = ferry__storage_size(t->storage, t->dtype);
    int64_t count = ferry__io_count(t->rank, t->shape, (size_t)size);
    bool known = t->storage != FERRY__STORED_OTHERWISE;

    if (count < 0)
        return fail_at(h, t->place, t->name, FERRY_EOVERFLOW,
                       "the dims multiply to more than 2^63 bytes");
    if (t->end < t->begin || t->end > total)
        return ferry_error_set(
            FERRY_EFORMAT,
            "%s: %.200s: data_offsets at byte %llu: %llu to %llu "
            "of %llu bytes",
            h->io->file.path, t->name, (unsigned long long)(t->place - h->io->file.bytes),
            (unsigned long long)t->begin, (unsigned long long)t->end, (unsigned long long)total);
    if (t->begin != begin)
        return fail_at(h, t->place, t->name, FERRY_EFORMAT,
                       "data_offsets leave a hole or overlap another array");
    if (known && t->end - t->begin != (uint64_t)count * size)
        return fail_at(h, t->place, t->name, FERRY_EFORMAT,
                       "data_offsets differ from the size of dtype and shape");
    return FERRY_OK;
}

static int add_tensor(const struct header *h, const struct tensor *t)
{
    struct ferry__io_name name = { .name = t->name };
    struct ferry__values values = { .encoding = FERRY__VALUES_PLAIN,
                                    .bytes = h->json.end + t->begin,
                                    .size = t->end - t->begin,
                                    .dtype = t->dtype,
                                    .storage = t->storage,
                                    .swap = ferry__big_endian() };
    struct ferry__io_array *array;
    int err = ferry__io_add(h->io, &name, t->dtype, t->rank, t->shape, &array);

    if (err)
        return err;
    ferry__io_set_data(h->io, array, &values);
    return t->storage == FERRY__STORED_OTHERWISE
               ? ferry__io_mark(h->io, array, t->word, "ferry has no such dtype")
               : FERRY_OK;
}

static int add_tensors(struct header *h)
{
    uint64_t total = h->io->file.size - (uint64_t)(h->json.end - h->io->file.bytes), end = 0;
    struct tensor **sorted = ferry__io_alloc(h->io, h->count * sizeof(*sorted));
    size_t n = 0;
    int err = FERRY_OK;

    if (!sorted)
        return ferry_last_error_code();
    for (struct tensor *t = h->tensors; t; t = t->next)
        sorted[n++] = t;
    qsort(sorted, n, sizeof(*sorted), by_offset);
    for (size_t i = 0; i < n && !err; i++) {
        err = check_tensor(h, sorted[i], end, total);
        if (!err)
            err = add_tensor(h, sorted[i]);
        end = sorted[i]->end;
    }
    if (!err && end != total)
        err = ferry_error_set(
            FERRY_EFORMAT, "%s: values at byte %llu: %llu bytes belong to no array",
            h->io->file.path, (unsigned long long)(h->io->file.size - (total - end)),
            (unsigned long long)(total - end));
    return err;
}

static int open_file(struct ferry_io *io)
{
    uint64_t length = header_length(&io->file);
    struct header h = { .io = io };
    int err;

    if (length > FERRY__SAFETENSORS_HEADER)
        return ferry_error_set(FERRY_EFORMAT,
                               "%s: header length at byte 0: %llu is above the "
                               "format's limit of %u",
                               io->file.path, (unsigned long long)length,
                               FERRY__SAFETENSORS_HEADER);
    if (length > io->file.size - 8)
        return ferry_error_set(FERRY_EFORMAT,
                               "%s: header length at byte 0: %llu bytes run past "
                               "the end, byte %llu",
                               io->file.path, (unsigned long long)length,
                               (unsigned long long)io->file.size);
    h.json.start = h.json.at = io->file.bytes + 8;
    h.json.end = h.json.start + length;
    err = take_header(&h);
    return err ? err : add_tensors(&h);
}

const struct ferry__io_reader ferry__safetensors_reader = {
    .adoptable = true,
    .unique = true,
    .probe = probe,
    .open = open_file,
};
