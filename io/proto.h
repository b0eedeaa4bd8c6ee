/* SPDX-License-Identifier: BSD-2-Clause */
/* One BlobProto, located in a message without copying. */
#ifndef FERRY_IO_PROTO_H
#define FERRY_IO_PROTO_H

#include "values.h"
#include "wire.h"

/* ferry's own field of a BlobProto: values as rows of integers (rows.h). */
#define FERRY__ROWS_FIELD 7000

extern const struct ferry__wire_names ferry__blob_proto_names;

struct ferry__blob_proto {
    bool legacy; /* the shape is num, channels, height, width; otherwise it is a BlobShape */
    int rank;
    int64_t shape[FERRY_MAX_AXES];
    int64_t count;
    struct ferry__values data, diff; /* FERRY__VALUES_NONE: absent, or count 0 */
};

/*
 * Reads only the shape. FERRY_EFORMAT, FERRY_EOVERFLOW, FERRY_EUNSUPPORTED (too many axes). `wire`
 * covers the message.
 */
int ferry__blob_proto_shape(const struct ferry__wire *wire, struct ferry__blob_proto *out);

/*
 * Reads the shape and locates the values. FERRY_ESHAPE if the number of values is not the element
 * count.
 */
int ferry__blob_proto_parse(const struct ferry__wire *wire, struct ferry__blob_proto *out);

#endif
