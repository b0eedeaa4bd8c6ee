/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protobuf's binary form of a tree, both ways.
 */
#ifndef FERRY_NET_PROTO_WIRE_H
#define FERRY_NET_PROTO_WIRE_H

#include "net/proto/tree.h"

/*
 * Fills an empty root from a whole file. Each BlobProto in it is left where it is (`left_at`: from
 * the file's beginning). Fields of unknown numbers are noted. FERRY_EFORMAT, FERRY_ENOMEM.
 */
int ferry__proto_from_wire(ferry_proto *root, const void *bytes, size_t size);

/* Whether bytes begin as a message of that type does: with a known field, whole. */
bool ferry__proto_is_wire(const struct ferry__proto_message *type, const void *bytes, size_t size);

/* Where a message's binary form goes. */
struct ferry__proto_sink {
    /* Takes the next bytes. Returns 0 or an error, which ends the writing. */
    int (*write)(void *arg, const void *bytes, size_t size);
    /* Writes the left_size bytes of a message that was left elsewhere. NULL: FERRY_EUNSUPPORTED. */
    int (*left)(void *arg, const ferry_proto *p);
    /* Hears of each field that has no number and is not written. May be NULL. */
    void (*skipped)(void *arg, const ferry_proto *p, const char *field);
    void *arg;
};

/* How many bytes that will be. */
uint64_t ferry__proto_wire_size(const ferry_proto *p);

/* Writes a message, its fields in the order of their numbers. */
int ferry__proto_to_wire(const ferry_proto *p, const struct ferry__proto_sink *sink);

/*
 * The field given next after number `after`, by numbers; NULL behind the last one. Fields without
 * a number are none of them.
 */
const struct ferry__proto_slot *ferry__proto_next_slot(const ferry_proto *p, uint32_t after);

#endif
