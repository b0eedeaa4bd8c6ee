/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Macros for the tables of schema_*.c: one value with a default of 0, or with another one; a
 * string; repeated; packed; a message, repeated or not; an enum.
 */
#ifndef FERRY_NET_PROTO_SCHEMA_TABLES_H
#define FERRY_NET_PROTO_SCHEMA_TABLES_H

#include "net/proto/schema.h"

#define FIELD(number, kind, label, name, value, text, message, choices, fork)                   \
    {                                                                                           \
        name, number, FERRY__PROTO_##kind, FERRY__PROTO_##label, value, text, message, choices, \
            fork                                                                                \
    }

#define ONE(number, kind, name)      FIELD(number, kind, ONE, name, 0, NULL, NULL, NULL, NULL)
#define REQUIRED(number, kind, name) FIELD(number, kind, REQUIRED, name, 0, NULL, NULL, NULL, NULL)
#define WITH(number, kind, name, value) \
    FIELD(number, kind, ONE, name, value, NULL, NULL, NULL, NULL)
#define TEXT(number, name, text)   FIELD(number, STRING, ONE, name, 0, text, NULL, NULL, NULL)
#define MANY(number, kind, name)   FIELD(number, kind, MANY, name, 0, NULL, NULL, NULL, NULL)
#define PACKED(number, kind, name) FIELD(number, kind, PACKED, name, 0, NULL, NULL, NULL, NULL)
#define MESSAGE(number, type, name) \
    FIELD(number, MESSAGE, ONE, name, 0, NULL, &ferry__proto_##type, NULL, NULL)
#define MESSAGES(number, type, name) \
    FIELD(number, MESSAGE, MANY, name, 0, NULL, &ferry__proto_##type, NULL, NULL)
#define CHOICE(number, choices, name, value) \
    FIELD(number, ENUM, ONE, name, value, NULL, NULL, &choices##_enum, NULL)
#define CHOICES(number, choices, name) \
    FIELD(number, ENUM, MANY, name, 0, NULL, NULL, &choices##_enum, NULL)

/* As the macros above, for a fork's field in a message of Caffe. */
#define FORK(number, kind, name, value, fork) \
    FIELD(number, kind, ONE, name, value, NULL, NULL, NULL, fork)
#define FORK_MESSAGE(number, type, name, fork) \
    FIELD(number, MESSAGE, ONE, name, 0, NULL, &ferry__proto_##type, NULL, fork)

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* End a table of names, and a table of fields. */
#define ENUM(choices, name)                                                         \
    static const struct ferry__proto_enum choices##_enum = { name, choices##_names, \
                                                             COUNT(choices##_names) }
#define DEFINE(name, fields) \
    const struct ferry__proto_message ferry__proto_##name = { #name, fields, COUNT(fields) }

#endif
