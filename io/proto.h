/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One BlobProto, found in a message but not copied out of it.
 */
#ifndef FERRY_IO_PROTO_H
#define FERRY_IO_PROTO_H

#include "values.h"
#include "wire.h"

extern const struct ferry__wire_names ferry__blob_proto_names;

struct ferry__blob_proto {
    bool legacy; /* num, channels, height, width; otherwise shape */
    int rank;
    int64_t shape[FERRY_MAX_AXES];
    int64_t count;
    struct ferry__values data, diff; /* FERRY__VALUES_NONE: absent, or count 0 */
};

/*
 * Reads the shape alone: FERRY_EFORMAT, FERRY_EOVERFLOW, FERRY_EUNSUPPORTED (too many axes). `wire`
 * covers the message.
 */
int ferry__blob_proto_shape(const struct ferry__wire *wire, struct ferry__blob_proto *out);

/* The shape, and where the values are; FERRY_ESHAPE where their number is not the count. */
int ferry__blob_proto_parse(const struct ferry__wire *wire, struct ferry__blob_proto *out);

#endif
