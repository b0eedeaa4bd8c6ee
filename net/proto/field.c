/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/field.h"

#include "common/wire.h"
#include "net/proto/file.h"
#include "net/proto/tree.h"
#include "net/proto/wire.h"

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
