/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of a message. New values are in the memory of the message's document; removed values are
 * freed with the document.
 */
#ifndef FERRY_NET_PROTO_EDIT_H
#define FERRY_NET_PROTO_EDIT_H

#include <ferry/proto.h>

/* Message `index` of a field, for changes; NULL if there is none. */
ferry_proto *ferry__proto_mutable(ferry_proto *p, const char *name, int64_t index);

/*
 * Each of these functions appends a value to a repeated field and replaces the value of any other
 * field. The type of the message is known and has a field of that name. FERRY_ENOMEM.
 */
int ferry__proto_put_integer(ferry_proto *p, const char *name, int64_t value);
int ferry__proto_put_real(ferry_proto *p, const char *name, double value);
int ferry__proto_put_string(ferry_proto *p, const char *name, const char *value);
int ferry__proto_put_message(ferry_proto *p, const char *name, ferry_proto **out);

#endif
