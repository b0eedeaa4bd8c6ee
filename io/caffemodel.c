/* SPDX-License-Identifier: BSD-2-Clause */
/* Caffe's files: NetParameter, SolverState, BlobProtoVector and a single BlobProto. */
#include "caffe_proof.h"
#include "layer_types.h"
#include "proto.h"
#include "reader.h"

#include <stdio.h>
#include <string.h>

static const struct ferry__wire_names net_names = {
    "NetParameter",
    { { 1, "name" }, { 2, "layers" }, { 100, "layer" }, { 0, NULL } },
};
static const struct ferry__wire_names v2_names = {
    "LayerParameter",
    { { 1, "name" }, { 2, "type" }, { 7, "blobs" }, { 0, NULL } },
};
static const struct ferry__wire_names v1_names = {
    "V1LayerParameter",
    { { 1, "layer" }, { 4, "name" }, { 5, "type" }, { 6, "blobs" }, { 0, NULL } },
};
static const struct ferry__wire_names v0_names = {
    "V0LayerParameter",
    { { 1, "name" }, { 2, "type" }, { 50, "blobs" }, { 0, NULL } },
};
static const struct ferry__wire_names state_names = {
    "SolverState",
    { { 1, "iter" }, { 2, "learned_net" }, { 3, "history" }, { 4, "current_step" }, { 0, NULL } },
};
static const struct ferry__wire_names vector_names = {
    "BlobProtoVector",
    { { 1, "blobs" }, { 0, NULL } },
};
static const struct ferry__wire_names unknown_names = { "message", { { 0, NULL } } };

/*
 * ---- detecting the message type -----------------------------------------------------------------
 */

/*
 * The wire types, 0 to 7, that each of the fields 1 to 15 occurred with, and whether a field of
 * number 100 or more occurred.
 */
struct seen {
    unsigned char types[16];
    bool layer, others;
    bool nothing;
    struct ferry__field first;
};

#define HAS(seen, number, type) ((seen)->types[number] >> (type)&1u)

static bool first_is_blob(const struct ferry__wire *whole, const struct seen *seen);

static struct seen survey(const struct ferry__wire *whole)
{
    struct ferry__wire wire = *whole;
    struct seen seen = { .nothing = true };
    struct ferry__field field;
    int got;

    /* a truncated field counts too; its error is reported when the file is read */
    while ((got = ferry__wire_next(&wire, &field)) != 0) {
        if (field.number == 0)
            break;
        if (seen.nothing)
            seen.first = field;
        seen.nothing = false;
        if (field.number < 16)
            seen.types[field.number] |= (unsigned char)(1u << field.type);
        if (field.number == 100 && field.type == FERRY__WIRE_BYTES)
            seen.layer = true;
        else if (field.number >= 16)
            seen.others = true;
        if (got < 0)
            break;
    }
    return seen;
}

/* Whether all fields are those of a SolverState, with their wire types. */
static bool is_state(const struct seen *seen)
{
    static const unsigned char types[] = { FERRY__WIRE_VARINT, FERRY__WIRE_BYTES, FERRY__WIRE_BYTES,
                                           FERRY__WIRE_VARINT };

    for (unsigned number = 1; number < 16; number++)
        if (seen->types[number] & ~(number <= 4 ? 1u << types[number - 1] : 0u))
            return false;
    return !seen->others;
}

static ferry_io_format format_of(const struct ferry__wire *whole, const struct seen *seen)
{
    const unsigned bytes = FERRY__WIRE_BYTES, varint = FERRY__WIRE_VARINT;

    if (seen->layer && !HAS(seen, 1, varint))
        return FERRY_IO_CAFFEMODEL;
    if (HAS(seen, 1, varint) && (HAS(seen, 2, bytes) || HAS(seen, 3, bytes)))
        return is_state(seen) ? FERRY_IO_SOLVERSTATE : FERRY_IO_UNKNOWN;
    if (HAS(seen, 1, bytes) && !HAS(seen, 2, bytes) && first_is_blob(whole, seen))
        return FERRY_IO_BLOBVECTOR;
    if (HAS(seen, 1, bytes) || HAS(seen, 2, bytes))
        return FERRY_IO_CAFFEMODEL;
    if (HAS(seen, 3, bytes)) /* a history without an iteration count */
        return is_state(seen) ? FERRY_IO_SOLVERSTATE : FERRY_IO_UNKNOWN;
    for (unsigned number = 1; number <= 4; number++)
        if (HAS(seen, number, varint))
            return FERRY_IO_BLOBPROTO;
    for (unsigned number = 5; number <= 9; number++)
        if (HAS(seen, number, bytes))
            return FERRY_IO_BLOBPROTO;
    if (HAS(seen, 5, FERRY__WIRE_32) || HAS(seen, 8, FERRY__WIRE_64) || HAS(seen, 11, bytes) ||
        HAS(seen, 12, bytes))
        return FERRY_IO_BLOBPROTO;
    return FERRY_IO_UNKNOWN;
}

/*
 * Whether field 1 is the first blob of a vector, or the name of a net: a name is not a valid
 * BlobProto.
 */
static bool first_is_blob(const struct ferry__wire *whole, const struct seen *seen)
{
    struct ferry__wire inner;
    struct seen inside;

    if (seen->first.number != 1 || seen->first.size == 0 ||
        ferry__wire_enter(whole, &seen->first, &unknown_names, &inner) != FERRY_OK)
        return false;
    inside = survey(&inner);
    return format_of(&inner, &inside) == FERRY_IO_BLOBPROTO;
}

static struct ferry__wire whole_file(const struct ferry__io_file *file,
                                     const struct ferry__wire_names *names)
{
    struct ferry__wire wire = { file, names, file->bytes, file->bytes + file->size, false };

    return wire;
}

static ferry_io_format probe(const struct ferry__io_file *file)
{
    struct ferry__wire wire = whole_file(file, &unknown_names);
    ferry_io_format format;
    struct seen seen;

    wire.quiet = true;
    seen = survey(&wire);
    format = seen.nothing ? FERRY_IO_UNKNOWN : format_of(&wire, &seen);
    return ferry__caffe_is_sure(&wire, format) ? format : FERRY_IO_UNKNOWN;
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static int add_blob(struct ferry_io *io, const struct ferry__wire *wire,
                    const struct ferry__field *field, const struct ferry__io_name *name)
{
    struct ferry__blob_proto proto;
    struct ferry__io_array *array;
    struct ferry__wire message;
    int err = ferry__wire_enter(wire, field, &ferry__blob_proto_names, &message);

    if (!err)
        err = ferry__blob_proto_parse(&message, &proto);
    if (!err)
        err = ferry__io_add(io, name, proto.data.dtype, proto.rank, proto.shape, &array);
    if (err)
        return err;
    ferry__io_set_data(io, array, &proto.data);
    if (proto.data.encoding == FERRY__VALUES_NONE)
        array->entry.offset = ferry__wire_offset(&message, message.at);
    array->diff = proto.diff;
    array->entry.has_diff = proto.diff.encoding != FERRY__VALUES_NONE;
    if (array->entry.has_diff)
        array->entry.diff_dtype = proto.diff.dtype;
    return FERRY_OK;
}

/* Adds every field of that number as a blob, all under one name. */
static int add_blobs(struct ferry_io *io, const struct ferry__wire *message, uint32_t number,
                     struct ferry__io_name *name)
{
    struct ferry__wire wire = *message;
    struct ferry__field field;
    int got = 0;

    while (!got && (got = ferry__wire_next(&wire, &field)) > 0) {
        got = FERRY_OK;
        if (field.number == number) {
            got = add_blob(io, &wire, &field, name);
            name->number++;
        }
    }
    return got;
}

/* ---- layers --------------------------------------------------------------------------------- */

static int take_string(struct ferry_io *io, const struct ferry__wire *wire,
                       const struct ferry__field *field, const char **out)
{
    int err = ferry__wire_expect(wire, field, FERRY__WIRE_BYTES);
    char *text;

    if (err)
        return err;
    for (uint64_t i = 0; i < field->size; i++)
        if (field->bytes[i] == '\0')
            return ferry__wire_error(wire, field, FERRY_EFORMAT, "contains a NUL byte");
    text = ferry__io_string(io, field->bytes, (size_t)field->size);
    if (!text)
        return ferry_last_error_code();
    *out = text;
    return FERRY_OK;
}

/* The fields of a layer that may be anywhere in its message. */
struct layer {
    struct ferry__io_name name;
    struct ferry__field v0; /* the layer of the V0 form inside it; number 0: it has no V0 form */
    int64_t others;         /* fields other than name, type and blobs */
};

static bool is_named(const struct ferry__wire *wire, uint32_t number)
{
    for (size_t i = 0; wire->names->fields[i].number; i++)
        if (wire->names->fields[i].number == number)
            return true;
    return false;
}

/*
 * Takes the name and the type, which have the same field numbers in a LayerParameter and in a
 * V0LayerParameter.
 */
static int take_name_and_type(struct ferry_io *io, const struct ferry__wire *wire,
                              const struct ferry__field *field, struct layer *layer)
{
    if (field->number == 1)
        return take_string(io, wire, field, &layer->name.layer);
    if (field->number == 2)
        return take_string(io, wire, field, &layer->name.layer_type);
    return FERRY_OK;
}

static int take_v1(struct ferry_io *io, const struct ferry__wire *wire,
                   const struct ferry__field *field, struct layer *layer)
{
    switch (field->number) {
    case 1:
        layer->v0 = *field;
        return ferry__wire_expect(wire, field, FERRY__WIRE_BYTES);
    case 4:
        return take_string(io, wire, field, &layer->name.layer);
    case 5:
        layer->name.layer_type = ferry__layer_type_v1(field->value);
        return ferry__wire_expect(wire, field, FERRY__WIRE_VARINT);
    default:
        return FERRY_OK;
    }
}

typedef int (*take_fn)(struct ferry_io *io, const struct ferry__wire *wire,
                       const struct ferry__field *field, struct layer *layer);

static int walk_layer(struct ferry_io *io, const struct ferry__wire *message, take_fn take,
                      struct layer *layer)
{
    struct ferry__wire wire = *message;
    struct ferry__field field;
    int got = 0;

    while (!got && (got = ferry__wire_next(&wire, &field)) > 0) {
        layer->others += !is_named(&wire, field.number);
        got = take(io, &wire, &field, layer);
    }
    return got;
}

static int add_v0(struct ferry_io *io, const struct ferry__wire *wire, struct layer *layer)
{
    struct ferry__wire message;
    int err = ferry__wire_enter(wire, &layer->v0, &v0_names, &message);

    if (!err)
        err = walk_layer(io, &message, take_name_and_type, layer);
    if (err)
        return err;
    if (layer->name.layer_type)
        layer->name.layer_type = ferry__layer_type_v0(layer->name.layer_type);
    return add_blobs(io, &message, 50, &layer->name);
}

/* The parts of a net other than its blobs. */
struct definition {
    int64_t bare_layers, fields;
};

static int add_layer(struct ferry_io *io, const struct ferry__wire *wire,
                     const struct ferry__field *field, bool v1, struct definition *definition)
{
    struct layer layer = { .name = { .layer = "" } };
    struct ferry__wire message;
    int err = ferry__wire_enter(wire, field, v1 ? &v1_names : &v2_names, &message);

    if (!err)
        err = walk_layer(io, &message, v1 ? take_v1 : take_name_and_type, &layer);
    if (!err)
        err = add_blobs(io, &message, v1 ? 6 : 7, &layer.name);
    if (!err && layer.v0.number)
        err = add_v0(io, &message, &layer);
    definition->fields += layer.others;
    definition->bare_layers += layer.name.number == 0;
    return err;
}

/* ---- strings about the file ----------------------------------------------------------------- */

static int add_string(struct ferry_io *io, const struct ferry__wire *wire,
                      const struct ferry__field *field, const char *key)
{
    const char *value;
    int err = take_string(io, wire, field, &value);

    return err ? err : ferry__io_add_metadata(io, key, value);
}

static int add_number(struct ferry_io *io, const struct ferry__wire *wire,
                      const struct ferry__field *field, const char *key)
{
    char digits[24];
    const char *value;
    int err = ferry__wire_expect(wire, field, FERRY__WIRE_VARINT);

    if (err)
        return err;
    snprintf(digits, sizeof(digits), "%lld", (long long)field->value);
    value = ferry__io_string(io, digits, strlen(digits));
    return value ? ferry__io_add_metadata(io, key, value) : ferry_last_error_code();
}

static int add_state_metadata(struct ferry_io *io)
{
    struct ferry__wire wire = whole_file(&io->file, &state_names);
    struct ferry__field field;
    int got = 0;

    while (!got && (got = ferry__wire_next(&wire, &field)) > 0) {
        if (field.number == 1 || field.number == 4)
            got = add_number(io, &wire, &field, field.number == 1 ? "iter" : "current_step");
        else
            got = field.number == 2 ? add_string(io, &wire, &field, "learned_net") : FERRY_OK;
    }
    return got;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int add_definition(struct ferry_io *io, const struct definition *definition)
{
    char text[96];
    const char *value;

    if (definition->bare_layers == 0 && definition->fields == 0)
        return FERRY_OK;
    snprintf(text, sizeof(text), "%lld layers without blobs and %lld fields that are not blobs",
             (long long)definition->bare_layers, (long long)definition->fields);
    value = ferry__io_string(io, text, strlen(text));
    return value ? ferry__io_add_metadata(io, "definition", value) : ferry_last_error_code();
}

static int open_net(struct ferry_io *io)
{
    struct ferry__wire wire = whole_file(&io->file, &net_names);
    struct definition definition = { 0, 0 };
    struct ferry__field field;
    int got = 0;

    while (!got && (got = ferry__wire_next(&wire, &field)) > 0) {
        got = FERRY_OK;
        if (field.number == 1)
            got = add_string(io, &wire, &field, "name");
        else if (field.number == 2 || field.number == 100)
            got = add_layer(io, &wire, &field, field.number == 2, &definition);
        else
            definition.fields++;
    }
    return got ? got : add_definition(io, &definition);
}

static int open_blob(struct ferry_io *io)
{
    struct ferry__io_name name = { .name = io->file.stem };
    struct ferry__wire wire = whole_file(&io->file, &ferry__blob_proto_names);
    struct ferry__field all = { .number = 1,
                                .type = FERRY__WIRE_BYTES,
                                .bytes = io->file.bytes,
                                .size = io->file.size,
                                .tag = io->file.bytes };

    return add_blob(io, &wire, &all, &name);
}

static int open_file(struct ferry_io *io)
{
    struct ferry__io_name history = { .layer = "history" }, blobs = { .layer = "blobs" };
    struct ferry__wire wire;
    int err;

    switch (io->format) {
    case FERRY_IO_SOLVERSTATE:
        wire = whole_file(&io->file, &state_names);
        err = add_state_metadata(io);
        return err ? err : add_blobs(io, &wire, 3, &history);
    case FERRY_IO_BLOBVECTOR:
        wire = whole_file(&io->file, &vector_names);
        return add_blobs(io, &wire, 1, &blobs);
    case FERRY_IO_BLOBPROTO:
        return open_blob(io);
    default:
        return open_net(io);
    }
}

const struct ferry__io_reader ferry__caffemodel_reader = {
    .probe = probe,
    .open = open_file,
};
