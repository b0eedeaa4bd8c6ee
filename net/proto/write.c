/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a tree in either form, piece by piece; blobs that were left in a binary file are copied
 * from it.
 */
#include "net/proto/file.h"
#include "net/proto/wire.h"

#include <stdlib.h>

ferry_proto_form ferry_proto_get_form(const ferry_proto *p)
{
    return p && p->document ? p->document->form : FERRY_PROTO_TEXT;
}

struct writing {
    struct ferry__proto_file source;
    bool mapped;
    ferry_proto_write_fn write;
    void *arg;
};

static int write_piece(void *arg, const void *bytes, size_t size)
{
    struct writing *w = arg;

    return size > 0 ? w->write(w->arg, bytes, size) : FERRY_OK;
}

/*
 * Maps the tree's file when the first blob is written; a different size means that the file has
 * changed.
 */
static int map_source(struct writing *w, const ferry_proto *p)
{
    int err;

    if (w->mapped)
        return FERRY_OK;
    if (p->document->mapped_size == 0)
        return ferry_proto_error(p, NULL, 0, FERRY_EUNSUPPORTED,
                                 "the values of a %s were not read from a file",
                                 ferry_proto_type(p));
    w->source.path = p->document->file;
    err = ferry__proto_file_map(&w->source);
    if (err)
        return err;
    w->mapped = true;
    if (w->source.size == p->document->mapped_size)
        return FERRY_OK;
    return ferry_error_set(FERRY_EIO, "%.400s: the file has changed since it was opened",
                           w->source.path);
}

static int write_left(void *arg, const ferry_proto *p)
{
    struct writing *w = arg;
    int err = map_source(w, p);

    return err ? err : write_piece(w, w->source.bytes + p->left_at, (size_t)p->left_size);
}

static int write_text(const ferry_proto *p, ferry_proto_write_fn write, void *arg)
{
    size_t size = 0;
    char *text;
    int err = ferry_proto_print(p, NULL, 0, &size);

    if (err)
        return err;
    text = malloc(size + 1);
    if (!text)
        return ferry_error_set(FERRY_ENOMEM, "ferry_proto_write: %zu bytes", size);
    err = ferry_proto_print(p, text, size + 1, &size);
    if (!err && size > 0)
        err = write(arg, text, size);
    free(text);
    return err;
}

int ferry_proto_write(const ferry_proto *p, ferry_proto_form form, ferry_proto_write_fn write,
                      void *arg)
{
    struct writing w = { .write = write, .arg = arg };
    struct ferry__proto_sink sink = { .write = write_piece, .left = write_left, .arg = &w };
    int err;

    if (!p || !write)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_write: %s is NULL", p ? "write" : "p");
    if (form == FERRY_PROTO_TEXT)
        return write_text(p, write, arg);
    if (form != FERRY_PROTO_BINARY)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_write: %d is not a form", (int)form);
    err = ferry__proto_to_wire(p, &sink);
    ferry__proto_file_unmap(&w.source);
    return err;
}
