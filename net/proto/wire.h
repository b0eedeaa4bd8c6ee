/* SPDX-License-Identifier: BSD-2-Clause */
/* protobuf's binary form of a tree: reading and writing. */
#ifndef FERRY_NET_PROTO_WIRE_H
#define FERRY_NET_PROTO_WIRE_H

#include "net/proto/tree.h"

/*
 * Fills an empty root from a whole file. Each BlobProto in it is left in the file (`left_at`: its
 * offset). Fields of unknown numbers are noted. FERRY_EFORMAT, FERRY_ENOMEM.
 */
int ferry__proto_from_wire(ferry_proto *root, const void *bytes, size_t size);

/*
 * Whether the bytes begin with a known field of that message type. Then *out_whole says whether the
 * field ends within the bytes.
 */
bool ferry__proto_is_wire(const struct ferry__proto_message *type, const void *bytes, size_t size,
                          bool *out_whole);

/* The destination of a message's binary form. */
struct ferry__proto_sink {
    /* Consumes the next bytes. Returns 0 or an error, which stops the writing. */
    int (*write)(void *arg, const void *bytes, size_t size);
    /*
     * Writes the left_size bytes of a message that was left in its file. NULL: FERRY_EUNSUPPORTED.
     */
    int (*left)(void *arg, const ferry_proto *p);
    /* Called for each field that has no number and is not written. May be NULL. */
    void (*skipped)(void *arg, const ferry_proto *p, const char *field);
    void *arg;
};

/* The size of the binary form. */
uint64_t ferry__proto_wire_size(const ferry_proto *p);

/* Writes a message with its fields in the order of their numbers. */
int ferry__proto_to_wire(const ferry_proto *p, const struct ferry__proto_sink *sink);

/*
 * The present field with the next number after `after`; NULL after the last one. Fields without a
 * number are skipped.
 */
const struct ferry__proto_slot *ferry__proto_next_slot(const ferry_proto *p, uint32_t after);

#endif
