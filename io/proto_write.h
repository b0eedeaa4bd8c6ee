/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands around the values of a BlobProto, so that they can be written from where they are.
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
    bool
        typed; /* an empty array keeps its dtype: in a file, which may hold F64; Caffe's does not */
};

/* The longest piece: a shape of 32 axes, 10 bytes each, with its tags and lengths. */
struct ferry__proto_piece {
    unsigned char bytes[FERRY_MAX_AXES * 10 + 40];
    size_t size;
};

/*
 * before_data, the data, before_diff, the diff, after: fields in ascending order, as protobuf
 * writes them. Without values the two before them are empty.
 */
struct ferry__proto_parts {
    struct ferry__proto_piece before_data, before_diff, after;
    uint64_t total; /* of all five */
};

/* Whether a BlobProto, with NVCaffe's extension, has a field for it. */
bool ferry__proto_can_hold(ferry_dtype dtype);

/* The dtype is one that it can hold. */
void ferry__proto_layout(const struct ferry__proto_shape *shape, struct ferry__proto_parts *out);

/* Appends to a piece. */
void ferry__proto_put_varint(struct ferry__proto_piece *piece, uint64_t value);
void ferry__proto_put_tag(struct ferry__proto_piece *piece, uint32_t number, unsigned type);

/* Bytes that a varint takes. */
size_t ferry__proto_varint_size(uint64_t value);

#endif
