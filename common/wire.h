/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protobuf's wire format, read without copying. Nothing in a message is trusted: a field is
 * accepted only if it ends inside its message.
 */
#ifndef FERRY_COMMON_WIRE_H
#define FERRY_COMMON_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum {
    FERRY__WIRE_VARINT = 0,
    FERRY__WIRE_64 = 1,
    FERRY__WIRE_BYTES = 2,
    FERRY__WIRE_GROUP = 3,
    FERRY__WIRE_GROUP_END = 4,
    FERRY__WIRE_32 = 5
};

/* The nesting limit of protobuf's own readers. */
#define FERRY__WIRE_MAX_GROUPS 100

/* A field in its binary form. */
struct ferry__field {
    uint32_t number;            /* 0: not read yet */
    unsigned type;              /* FERRY__WIRE_... */
    uint64_t value;             /* for FERRY__WIRE_VARINT */
    const unsigned char *bytes; /* the payload of other wire types */
    uint64_t size;
    const unsigned char *tag; /* the beginning of the field */
};

/*
 * Each function below reads from *at and moves *at to the end of the part that it has read, never
 * beyond `end`. It returns NULL, or a description of the fault.
 */

/* An integer of variable length. On a fault *at does not move. */
static inline const char *ferry__take_varint(const unsigned char **at, const unsigned char *end,
                                             uint64_t *out)
{
    const unsigned char *p = *at;
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p == end)
            return "a varint runs past the end";
        if (shift == 63 && *p > 1)
            return "a varint has more than 64 bits";
        value |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) {
            *at = p;
            *out = value;
            return NULL;
        }
    }
    return "a varint has more than 10 bytes";
}

/* The number and the wire type of a field; the other members become 0. */
static inline const char *ferry__take_tag(const unsigned char **at, const unsigned char *end,
                                          struct ferry__field *out)
{
    const char *fault;
    uint64_t tag;

    *out = (struct ferry__field){ .tag = *at };
    fault = ferry__take_varint(at, end, &tag);
    if (fault)
        return fault;
    if (tag > UINT32_MAX || tag >> 3 == 0)
        return "the field number is invalid";
    out->number = (uint32_t)(tag >> 3);
    out->type = (unsigned)(tag & 7);
    return NULL;
}

/* The payload of a field that is not a group. If it runs past the end, `value` is its size. */
static inline const char *ferry__take_payload(const unsigned char **at, const unsigned char *end,
                                              struct ferry__field *out)
{
    const char *fault = NULL;
    uint64_t size = out->type == FERRY__WIRE_64 ? 8 : 4;

    if (out->type == FERRY__WIRE_VARINT)
        return ferry__take_varint(at, end, &out->value);
    if (out->type == FERRY__WIRE_BYTES)
        fault = ferry__take_varint(at, end, &size);
    else if (out->type != FERRY__WIRE_64 && out->type != FERRY__WIRE_32)
        fault = out->type == FERRY__WIRE_GROUP_END ? "it closes a group that is not open"
                                                   : "there is no such wire type";
    if (fault)
        return fault;
    if (size > (uint64_t)(end - *at)) {
        out->value = size;
        return "the value runs past the end";
    }
    out->bytes = *at;
    out->size = size;
    *at += size;
    return NULL;
}

/* The rest of a group, which has no length; groups nest. It becomes the payload of `group`. */
static inline const char *ferry__take_group(const unsigned char **at, const unsigned char *end,
                                            struct ferry__field *group)
{
    uint32_t open[FERRY__WIRE_MAX_GROUPS] = { group->number };
    const unsigned char *begin = *at;
    const char *fault = NULL;
    int depth = 1;

    while (depth > 0 && !fault) {
        struct ferry__field field;

        fault = *at == end ? "the group is not closed" : ferry__take_tag(at, end, &field);
        if (fault)
            break;
        if (field.type == FERRY__WIRE_GROUP_END)
            fault = field.number == open[--depth] ? NULL : "it closes a group that is not open";
        else if (field.type != FERRY__WIRE_GROUP)
            fault = ferry__take_payload(at, end, &field);
        else if (depth == FERRY__WIRE_MAX_GROUPS)
            fault = "groups nest deeper than 100";
        else
            open[depth++] = field.number;
    }
    group->bytes = begin;
    group->size = fault ? 0 : (uint64_t)(*at - begin);
    return fault;
}

/* A whole field; a group, which Caffe does not use, counts as one. After a fault of the tag the
 * number is 0. */
static inline const char *ferry__take_field(const unsigned char **at, const unsigned char *end,
                                            struct ferry__field *out)
{
    const char *fault = ferry__take_tag(at, end, out);

    if (fault)
        return fault;
    return out->type == FERRY__WIRE_GROUP ? ferry__take_group(at, end, out)
                                          : ferry__take_payload(at, end, out);
}

#endif
