/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes NetParameter, SolverState, BlobProtoVector and BlobProto. The length of a message precedes
 * it, so a layer can be started only once all its blobs are known.
 */
#include "proto_write.h"
#include "wire.h"
#include "write_definition.h"
#include "writer.h"

#include <stdlib.h>
#include <string.h>

static int put_piece(ferry_io_writer *w, const struct ferry__proto_piece *piece)
{
    return ferry__io_out_write(&w->out, piece->bytes, piece->size);
}

static void layout(const struct ferry__out_array *array, struct ferry__proto_parts *out)
{
    struct ferry__proto_shape shape = { .dtype = array->entry.dtype,
                                        .rank = array->entry.rank,
                                        .shape = array->entry.shape,
                                        .count = array->entry.count,
                                        .diff = array->entry.has_diff != 0,
                                        .rows = array->storage == FERRY__STORED_I8_ROWS,
                                        .typed = true };

    ferry__proto_layout(&shape, out);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Splits "layer/12" into the length of "layer", and 12. −1 for a name of another form. */
static int64_t split(const char *name, size_t *layer_size)
{
    const char *slash = strrchr(name, '/');
    int64_t number = 0;

    if (!slash || !slash[1] || (slash[1] == '0' && slash[2]))
        return -1;
    for (const char *at = slash + 1; *at; at++) {
        if (*at < '0' || *at > '9' || number > INT32_MAX)
            return -1;
        number = number * 10 + (*at - '0');
    }
    *layer_size = (size_t)(slash - name);
    return number;
}

/* Checks that blob n of a layer follows blob n − 1 of the same layer. */
static const char *check_sequence(const ferry_io_writer *w, const char *name)
{
    size_t size = 0, former_size = 0;
    int64_t number = split(name, &size), former;

    if (number < 0)
        return "its name is not <layer>/<index>";
    if (number == 0)
        return NULL;
    former = w->last ? split(w->last->entry.name, &former_size) : -1;
    if (former != number - 1 || size != former_size || memcmp(name, w->last->entry.name, size) != 0)
        return "it does not follow the previous blob of the same layer";
    return NULL;
}

static const char *check_dtype(const ferry_io_entry *entry)
{
    return ferry__proto_can_hold(entry->dtype) ? NULL : "a BlobProto has no field for its dtype";
}

static bool can_store(enum ferry__storage storage)
{
    return storage == FERRY__STORED_I8_ROWS;
}

/* The name that the blobs of a SolverState or BlobProtoVector get when they are read. */
static const char *prefix_of(const ferry_io_writer *w)
{
    return w->format == FERRY_IO_SOLVERSTATE  ? "history/"
           : w->format == FERRY_IO_BLOBVECTOR ? "blobs/"
                                              : "";
}

static const char *can_hold(const ferry_io_writer *w, const ferry_io_entry *entry)
{
    const char *why = check_dtype(entry), *prefix = prefix_of(w);

    if (!why && strncmp(entry->name, prefix, strlen(prefix)) != 0)
        why = "its blobs are called history/<index>, or blobs/<index> in a vector";
    if (!why && *prefix && !w->last && strcmp(entry->name + strlen(prefix), "0") != 0)
        why = "the first blob has index 0";
    return why ? why : check_sequence(w, entry->name);
}

static const char *can_hold_blob(const ferry_io_writer *w, const ferry_io_entry *entry)
{
    (void)w;
    return check_dtype(entry);
}

/* ---- strings about the file ----------------------------------------------------------------- */

static const struct {
    ferry_io_format format;
    const char *key;
    uint32_t field;
    bool number;
} metadata_fields[] = {
    { FERRY_IO_CAFFEMODEL, "name", 1, false },
    { FERRY_IO_SOLVERSTATE, "iter", 1, true },
    { FERRY_IO_SOLVERSTATE, "learned_net", 2, false },
    { FERRY_IO_SOLVERSTATE, "current_step", 4, true },
};

#define METADATA_COUNT (sizeof(metadata_fields) / sizeof(metadata_fields[0]))

static int metadata_field(ferry_io_format format, const char *key)
{
    for (size_t i = 0; i < METADATA_COUNT; i++)
        if (metadata_fields[i].format == format && strcmp(metadata_fields[i].key, key) == 0)
            return (int)i;
    return -1;
}

static bool takes_metadata(const ferry_io_writer *w, const char *key, const char *value)
{
    int i = metadata_field(w->format, key);

    if (i < 0)
        return false;
    return !metadata_fields[i].number ||
           (*value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 10);
}

static int put_string(ferry_io_writer *w, uint32_t field, const char *text, size_t size)
{
    struct ferry__proto_piece piece = { .size = 0 };
    int err;

    ferry__proto_put_tag(&piece, field, FERRY__WIRE_BYTES);
    ferry__proto_put_varint(&piece, size);
    err = put_piece(w, &piece);
    return err ? err : ferry__io_out_write(&w->out, text, size);
}

static int put_metadata(ferry_io_writer *w)
{
    int err = FERRY_OK;

    for (const struct ferry__out_metadata *m = w->metadata; m && !err; m = m->next) {
        int i = metadata_field(w->format, m->key);
        struct ferry__proto_piece piece = { .size = 0 };

        if (!metadata_fields[i].number) {
            err = put_string(w, metadata_fields[i].field, m->value, strlen(m->value));
            continue;
        }
        ferry__proto_put_tag(&piece, metadata_fields[i].field, FERRY__WIRE_VARINT);
        ferry__proto_put_varint(&piece, strtoul(m->value, NULL, 10));
        err = put_piece(w, &piece);
    }
    return err;
}

/* ---- layers --------------------------------------------------------------------------------- */

static uint64_t field_size(uint32_t field, uint64_t size)
{
    return ferry__proto_varint_size((uint64_t)field << 3) + ferry__proto_varint_size(size) + size;
}

static uint64_t blob_size(const struct ferry__out_array *array)
{
    struct ferry__proto_parts parts;

    layout(array, &parts);
    return parts.total;
}

/* The size of the blobs, with tags and lengths, of the layer whose first blob this is. */
static uint64_t blobs_size(const struct ferry__out_array *array)
{
    uint64_t size = 0;
    size_t next_size;

    do {
        size += field_size(7, blob_size(array));
        array = array->next;
    } while (array && split(array->entry.name, &next_size) > 0);
    return size;
}

/* As blobs_size, including the layer's name and type. */
static uint64_t layer_size(const struct ferry__out_array *array, size_t name_size)
{
    size_t type_size = strlen(array->entry.layer_type);

    return field_size(1, name_size) + (type_size > 0 ? field_size(2, type_size) : 0) +
           blobs_size(array);
}

/*
 * Begins a layer of a definition. For a lent definition the source file determines the layer, since
 * the array may have been renamed.
 */
static int begin_defined(ferry_io_writer *w, const struct ferry__out_array *array, size_t name_size)
{
    const struct ferry__definition_name name = { array->entry.name, name_size };
    struct ferry__definition_name former = name;
    size_t next_size;

    if (w->definition.lender && *array->entry.layer_name)
        former = (struct ferry__definition_name){ array->entry.layer_name,
                                                  strlen(array->entry.layer_name) };
    for (const struct ferry__out_array *next = array->next;
         next && split(next->entry.name, &next_size) > 0; next = next->next)
        if (strcmp(next->entry.layer_name, array->entry.layer_name) != 0)
            return ferry_error_set(FERRY_EINVAL,
                                   "%s: %.200s: the definition has two layers for its blobs, "
                                   "\"%.100s\" and \"%.100s\"",
                                   w->out.shown, array->entry.name, array->entry.layer_name,
                                   next->entry.layer_name);
    return ferry__definition_put_layer(w, former, name, blobs_size(array));
}

static int begin_layer(ferry_io_writer *w, const struct ferry__out_array *array, size_t name_size)
{
    const char *type = array->entry.layer_type;
    struct ferry__proto_piece piece = { .size = 0 };
    int err;

    if (w->definition.bytes)
        return begin_defined(w, array, name_size);
    ferry__proto_put_tag(&piece, 100, FERRY__WIRE_BYTES);
    ferry__proto_put_varint(&piece, layer_size(array, name_size));
    err = put_piece(w, &piece);
    if (!err)
        err = put_string(w, 1, array->entry.name, name_size);
    if (!err && *type)
        err = put_string(w, 2, type, strlen(type));
    return err;
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static int begin_blob(ferry_io_writer *w, struct ferry__out_array *array)
{
    struct ferry__proto_parts parts;

    layout(array, &parts);
    return put_piece(w, &parts.before_data);
}

static int begin_diff(ferry_io_writer *w, struct ferry__out_array *array)
{
    struct ferry__proto_parts parts;

    layout(array, &parts);
    return put_piece(w, &parts.before_diff);
}

static int end_blob(ferry_io_writer *w, struct ferry__out_array *array)
{
    struct ferry__proto_parts parts;

    layout(array, &parts);
    return put_piece(w, &parts.after);
}

/*
 * The field number of the blobs. Numbers 1 to 15 have tags of one byte, so blobs_size holds for
 * each.
 */
static uint32_t blobs_field(const ferry_io_writer *w)
{
    if (w->format == FERRY_IO_CAFFEMODEL)
        return w->definition.bytes ? w->definition.blobs : 7;
    return w->format == FERRY_IO_SOLVERSTATE ? 3 : 1;
}

static int begin_array(ferry_io_writer *w, struct ferry__out_array *array)
{
    struct ferry__proto_piece piece = { .size = 0 };
    size_t name_size = 0;
    int err = FERRY_OK;

    if (split(array->entry.name, &name_size) == 0 && w->format == FERRY_IO_CAFFEMODEL)
        err = begin_layer(w, array, name_size);
    ferry__proto_put_tag(&piece, blobs_field(w), FERRY__WIRE_BYTES);
    ferry__proto_put_varint(&piece, blob_size(array));
    if (!err)
        err = put_piece(w, &piece);
    return err ? err : begin_blob(w, array);
}

/* Ends the file. An empty message would be an empty file, whose format cannot be recognized. */
static int finish(ferry_io_writer *w)
{
    if (w->definition.size > 0)
        return ferry__definition_put_rest(w);
    if (w->first || w->metadata)
        return FERRY_OK;
    return ferry_error_set(FERRY_EINVAL, "%s: a %s without an array would be an empty file",
                           w->out.shown, ferry_io_format_name(w->format));
}

const struct ferry__io_writer_ops ferry__caffe_writer = {
    .needs_plan = true,
    .can_store = can_store,
    .can_hold = can_hold,
    .takes_metadata = takes_metadata,
    .define = ferry__definition_set,
    .begin = put_metadata,
    .array = begin_array,
    .diff = begin_diff,
    .end = end_blob,
    .finish = finish,
};

const struct ferry__io_writer_ops ferry__blobproto_writer = {
    .single = true,
    .can_store = can_store,
    .can_hold = can_hold_blob,
    .array = begin_blob,
    .diff = begin_diff,
    .end = end_blob,
};
