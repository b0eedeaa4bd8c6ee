/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/field.h"

#include "common/wire.h"
#include "net/proto/file.h"
#include "net/proto/tree.h"
#include "net/proto/wire.h"

#include <string.h>

/* Merges the values of a field that occurs several times, as protobuf does. */
static int merge(const struct ferry__proto_file *file, const struct ferry__proto_field *field,
                 const struct ferry__field *piece, ferry_proto **root)
{
    int err = *root ? FERRY_OK : ferry__proto_create(field->message, file->path, root);

    if (err)
        return err;
    (*root)->document->form = FERRY_PROTO_BINARY;
    return ferry__proto_from_wire(*root, piece->bytes, (size_t)piece->size);
}

static int walk(const struct ferry__proto_file *file, const struct ferry__proto_field *field,
                ferry_proto **root)
{
    const unsigned char *at = (const unsigned char *)file->bytes, *end = at + file->size;
    struct ferry__field piece;
    int err = FERRY_OK;

    while (!err && at < end) {
        const char *fault = ferry__take_field(&at, end, &piece);

        if (fault)
            return ferry_error_set(FERRY_EFORMAT, "%.400s: %s", file->path, fault);
        if (piece.number == field->number && piece.type == FERRY__WIRE_BYTES)
            err = merge(file, field, &piece, root);
    }
    return err;
}

int ferry__proto_read_field(const char *path, const struct ferry__proto_field *field,
                            ferry_proto **out)
{
    struct ferry__proto_file file = { .path = path };
    ferry_proto *root = NULL;
    int err = ferry__proto_file_map(&file);

    if (!err)
        err = walk(&file, field, &root);
    ferry__proto_file_unmap(&file);
    if (err) {
        ferry_proto_close(root);
        return err;
    }
    *out = root;
    return FERRY_OK;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static bool has_field(const struct ferry__field *layer, uint32_t number)
{
    const unsigned char *at = layer->bytes, *end = at + layer->size;
    struct ferry__field piece;

    while (at < end && !ferry__take_field(&at, end, &piece))
        if (piece.number == number && piece.type == FERRY__WIRE_BYTES)
            return true;
    return false;
}

static int add_layer(const struct ferry__proto_file *file, const struct ferry__field *piece,
                     ferry_proto **root)
{
    ferry_proto *layer = NULL;
    int err = *root ? FERRY_OK : ferry__proto_create(&ferry__proto_NetParameter, file->path, root);

    if (!err)
        err = ferry__proto_put_message(*root, "layer", &layer);
    if (err)
        return err;
    (*root)->document->form = FERRY_PROTO_BINARY;
    return ferry__proto_from_wire(layer, piece->bytes, (size_t)piece->size);
}

/* Walks over the layers: adds all of them to *root, or with NULL searches for field `number`. */
static int walk_layers(const struct ferry__proto_file *file, uint32_t number, bool *found,
                       ferry_proto **root)
{
    const uint32_t layers =
        ferry__proto_field_of(&ferry__proto_NetParameter, "layer", strlen("layer"))->number;
    const unsigned char *at = (const unsigned char *)file->bytes, *end = at + file->size;
    struct ferry__field piece;
    int err = FERRY_OK;

    while (!err && at < end && !(found && *found)) {
        const char *fault = ferry__take_field(&at, end, &piece);

        if (fault)
            return ferry_error_set(FERRY_EFORMAT, "%.400s: %s", file->path, fault);
        if (piece.number != layers || piece.type != FERRY__WIRE_BYTES)
            continue;
        if (root)
            err = add_layer(file, &piece, root);
        else
            *found = has_field(&piece, number);
    }
    return err;
}

int ferry__proto_read_layers(const char *path, const char *name, ferry_proto **out)
{
    const struct ferry__proto_field *field =
        ferry__proto_field_of(&ferry__proto_LayerParameter, name, strlen(name));
    struct ferry__proto_file file = { .path = path };
    ferry_proto *root = NULL;
    bool found = false;
    int err;

    *out = NULL;
    err = ferry__proto_file_map(&file);
    if (!err)
        err = walk_layers(&file, field->number, &found, NULL);
    if (!err && found)
        err = walk_layers(&file, 0, NULL, &root);
    ferry__proto_file_unmap(&file);
    if (err) {
        ferry_proto_close(root);
        return err;
    }
    *out = root;
    return FERRY_OK;
}
