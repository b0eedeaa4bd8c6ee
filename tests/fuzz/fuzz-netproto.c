/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz.h"

#include "net/proto/tree.h"
#include "net/proto/wire.h"

#include <stdlib.h>
#include <string.h>

const char fuzz_name[] = "netproto";

struct written {
    const uint8_t *file;
    uint8_t *bytes;
    size_t size, capacity;
};

static int write_bytes(void *arg, const void *bytes, size_t size)
{
    struct written *w = arg;

    if (size > w->capacity - w->size)
        abort(); /* ferry__proto_wire_size returned less */
    if (size > 0)
        memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
    return FERRY_OK;
}

static int write_left(void *arg, const ferry_proto *p)
{
    struct written *w = arg;

    return write_bytes(w, w->file + p->left_at, (size_t)p->left_size);
}

static struct written written(const ferry_proto *p, const uint8_t *file)
{
    struct written w = { .file = file, .capacity = (size_t)ferry__proto_wire_size(p) };
    struct ferry__proto_sink sink = { write_bytes, write_left, NULL, &w };

    w.bytes = malloc(w.capacity + 1);
    if (!w.bytes || ferry__proto_to_wire(p, &sink) || w.size != w.capacity)
        abort();
    return w;
}

static ferry_proto *read_bytes(const uint8_t *bytes, size_t size)
{
    ferry_proto *p;

    if (ferry__proto_create(&ferry__proto_NetParameter, "input", &p))
        abort();
    if (ferry__proto_from_wire(p, bytes, size) == FERRY_OK)
        return p;
    ferry_proto_close(p);
    return NULL;
}

/*
 * Reads any bytes as a caffemodel: its written form reads as the same message, and can be upgraded.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    ferry_proto *p = read_bytes(bytes, size), *again;
    struct written first, second;
    bool whole;

    fuzz_use(ferry__proto_is_wire(&ferry__proto_NetParameter, bytes, size, &whole));
    if (!p)
        return 0;
    first = written(p, bytes);
    again = read_bytes(first.bytes, first.size);
    if (!again)
        abort();
    second = written(again, first.bytes);
    if (first.size != second.size || memcmp(first.bytes, second.bytes, first.size) != 0)
        abort();
    ferry_proto_close(again);
    free(second.bytes);
    free(first.bytes);
    fuzz_use(ferry_proto_upgrade(p) == FERRY_OK && ferry_proto_print(p, NULL, 0, &size) == 0);
    ferry_proto_close(p);
    return 0;
}
