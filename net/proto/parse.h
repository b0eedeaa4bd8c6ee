/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses a text into a tree. */
#ifndef FERRY_NET_PROTO_PARSE_H
#define FERRY_NET_PROTO_PARSE_H

#include "net/proto/tree.h"

/* The nesting limit of messages; also protobuf's own limit for binary files. */
#define FERRY__PROTO_DEPTH 100

/* The limit of unknown fields of different names in one message. */
#define FERRY__PROTO_UNKNOWN 1000

/*
 * Fills an empty root. `text` has a NUL at `size`. FERRY_EFORMAT, FERRY_EUNSUPPORTED, FERRY_ENOMEM.
 */
int ferry__proto_parse(ferry_proto *root, const char *text, size_t size,
                       const ferry_proto_options *options);

/* FERRY_EFORMAT if a message lacks a required field of its type. */
int ferry__proto_check_required(const ferry_proto *p);

#endif
