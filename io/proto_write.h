/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes before, between and after the values of a BlobProto, so that the values can be written
 * without copying them.
 */
#ifndef FERRY_IO_PROTO_WRITE_H
#define FERRY_IO_PROTO_WRITE_H

#include <ferry/blob.h>

struct ferry__proto_shape {
    ferry_dtype dtype;
    int rank;
    const int64_t *shape;
    int64_t count;
    bool diff;
    bool rows;  /* F32 as rows of integers (rows.h); without a diff */
    bool typed; /* an empty array keeps its dtype; not set for a BlobProto that Caffe reads */
};

/*
 * One part of a message. The longest part is a shape of 32 axes of 10 bytes each, with tags and
 * lengths.
 */
struct ferry__proto_piece {
    unsigned char bytes[FERRY_MAX_AXES * 10 + 40];
    size_t size;
};

/*
 * The parts of the message around the values: before_data, the data, before_diff, the diff, after.
 * Fields are in ascending order, as protobuf writes them. Without values the part before them is
 * empty.
 */
struct ferry__proto_parts {
    struct ferry__proto_piece before_data, before_diff, after;
    uint64_t total; /* the size of the whole message */
};

/* Whether a BlobProto, with NVCaffe's extension, has a field for the dtype. */
bool ferry__proto_can_hold(ferry_dtype dtype);

/* Makes the parts; ferry__proto_can_hold(dtype) must be true. */
void ferry__proto_layout(const struct ferry__proto_shape *shape, struct ferry__proto_parts *out);

/* Appends to a part of the message. */
void ferry__proto_put_varint(struct ferry__proto_piece *piece, uint64_t value);
void ferry__proto_put_tag(struct ferry__proto_piece *piece, uint32_t number, unsigned type);

/* The encoded size of a varint. */
size_t ferry__proto_varint_size(uint64_t value);

#endif
