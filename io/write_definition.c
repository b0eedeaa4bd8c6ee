/* SPDX-License-Identifier: BSD-2-Clause */
#include "write_definition.h"

#include "proto_write.h"
#include "wire.h"

#include <string.h>

#define LAYER     100
#define NAME      1
#define BLOBS     7
#define V1_LAYERS 2

static const struct ferry__wire_names net_names = {
    "NetParameter",
    { { 1, "name" }, { 2, "layers" }, { 100, "layer" }, { 0, NULL } },
};
static const struct ferry__wire_names layer_names = {
    "LayerParameter",
    { { 1, "name" }, { 2, "type" }, { 7, "blobs" }, { 0, NULL } },
};

/* What is left of the definition; `file` stands for it in messages. */
static struct ferry__wire rest_of(const ferry_io_writer *w, struct ferry__io_file *file)
{
    *file = (struct ferry__io_file){ .path = w->out.shown, .fd = -1 };
    file->bytes = w->definition.bytes;
    file->size = w->definition.size;
    return (struct ferry__wire){ file, &net_names, w->definition.at,
                                 w->definition.bytes + w->definition.size, false };
}

/* A layer's name, or "" in the place of one that is missing. */
static int read_name(const struct ferry__wire *net, const struct ferry__field *layer,
                     struct ferry__field *out)
{
    struct ferry__field field;
    struct ferry__wire wire;
    int got = ferry__wire_enter(net, layer, &layer_names, &wire);

    memset(out, 0, sizeof(*out));
    while (!got && (got = ferry__wire_next(&wire, &field)) > 0) {
        got = FERRY_OK;
        if (field.number == BLOBS)
            return ferry__wire_error(&wire, &field, FERRY_EFORMAT,
                                     "a definition has no blobs of its own");
        if (field.number == NAME) {
            got = ferry__wire_expect(&wire, &field, FERRY__WIRE_BYTES);
            *out = field;
        }
    }
    return got;
}

static int check(const ferry_io_writer *w)
{
    struct ferry__io_file file;
    struct ferry__wire wire = rest_of(w, &file);
    struct ferry__field field, name;
    int got = FERRY_OK;

    while (!got && (got = ferry__wire_next(&wire, &field)) > 0) {
        if (field.number == V1_LAYERS)
            return ferry__wire_error(&wire, &field, FERRY_EFORMAT,
                                     "a definition is of today's form");
        got = field.number == LAYER ? read_name(&wire, &field, &name) : FERRY_OK;
    }
    return got;
}

int ferry__definition_set(ferry_io_writer *w, const void *bytes, size_t size)
{
    unsigned char *copy = ferry__io_arena_alloc(&w->arena, size + 1);
    int err;

    if (!copy)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    if (size > 0)
        memcpy(copy, bytes, size);
    w->definition.bytes = w->definition.at = copy;
    w->definition.size = size;
    err = check(w);
    if (err)
        memset(&w->definition, 0, sizeof(w->definition));
    return err;
}

/* The next layer of that name, from `at` on: 1, 0 if there is none. The bytes have been checked. */
static int find(const ferry_io_writer *w, const char *name, size_t name_size,
                struct ferry__field *out)
{
    struct ferry__io_file file;
    struct ferry__wire wire = rest_of(w, &file);
    struct ferry__field has;

    while (ferry__wire_next(&wire, out) > 0)
        if (out->number == LAYER && read_name(&wire, out, &has) == FERRY_OK &&
            has.size == name_size && (!name_size || !memcmp(has.bytes, name, name_size)))
            return 1;
    return 0;
}

static int put_until(ferry_io_writer *w, const unsigned char *end)
{
    int err = ferry__io_out_write(&w->out, w->definition.at, (size_t)(end - w->definition.at));

    w->definition.at = end;
    return err;
}

int ferry__definition_put_layer(ferry_io_writer *w, const char *name, size_t name_size,
                                uint64_t blobs_size)
{
    struct ferry__proto_piece piece = { .size = 0 };
    struct ferry__field layer;
    int err;

    if (!find(w, name, name_size, &layer))
        return ferry_error_set(
            FERRY_EINVAL, "%s: the definition has no layer \"%.*s\" behind the layer before it",
            w->out.shown, (int)name_size, name);
    err = put_until(w, layer.tag);
    ferry__proto_put_tag(&piece, LAYER, FERRY__WIRE_BYTES);
    ferry__proto_put_varint(&piece, layer.size + blobs_size);
    if (!err)
        err = ferry__io_out_write(&w->out, piece.bytes, piece.size);
    w->definition.at = layer.bytes;
    return err ? err : put_until(w, layer.bytes + layer.size);
}

int ferry__definition_put_rest(ferry_io_writer *w)
{
    return w->definition.bytes ? put_until(w, w->definition.bytes + w->definition.size) : FERRY_OK;
}
