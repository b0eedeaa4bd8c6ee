/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a part of a binary file. */
#ifndef FERRY_NET_PROTO_FIELD_H
#define FERRY_NET_PROTO_FIELD_H

#include "net/proto/schema.h"

#include <ferry/proto.h>

/*
 * Reads field `field`, a message, of a file in protobuf's binary form. Other fields are skipped
 * without reading them. *out is NULL if the file does not have the field; the caller closes it.
 * FERRY_EIO, FERRY_EFORMAT, FERRY_ENOMEM.
 */
int ferry__proto_read_field(const char *path, const struct ferry__proto_field *field,
                            ferry_proto **out);

/*
 * Reads the layers of a caffemodel as a NetParameter, without their weights, if one of them has the
 * field `name`. *out is NULL otherwise, and after an error; the caller closes it. FERRY_EIO,
 * FERRY_EFORMAT, FERRY_ENOMEM.
 */
int ferry__proto_read_layers(const char *path, const char *name, ferry_proto **out);

#endif
