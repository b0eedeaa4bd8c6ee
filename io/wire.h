/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of a message in a mapped file, with error messages that name them. */
#ifndef FERRY_IO_WIRE_H
#define FERRY_IO_WIRE_H

#include "common/wire.h"
#include "file_map.h"

#include <stdbool.h>

/* The names of a message and its fields in error messages; the last entry has number 0. */
struct ferry__wire_names {
    const char *message;
    struct {
        uint32_t number;
        const char *name;
    } fields[16];
};

struct ferry__wire {
    const struct ferry__io_file *file;
    const struct ferry__wire_names *names;
    const unsigned char *at, *end;
    bool quiet; /* the message's type is a guess, so that errors set no message */
};

/* Reads the next field: 1, or 0 at the end, or FERRY_EFORMAT. A group is skipped as a whole. */
int ferry__wire_next(struct ferry__wire *wire, struct ferry__field *out);

/* Starts a walk over a field's payload. FERRY_EFORMAT unless the field is FERRY__WIRE_BYTES. */
int ferry__wire_enter(const struct ferry__wire *wire, const struct ferry__field *field,
                      const struct ferry__wire_names *names, struct ferry__wire *out);

/* Reads the next varint of a packed field: 1, 0 at the end, FERRY_EFORMAT. */
int ferry__wire_varint(struct ferry__wire *wire, const struct ferry__field *field, uint64_t *out);

/* Checks that the field has that wire type. FERRY_EFORMAT, with a message. */
int ferry__wire_expect(const struct ferry__wire *wire, const struct ferry__field *field,
                       unsigned type);

/* Reports "path: Message.name (field N) at byte B: message"; returns `code`. */
int ferry__wire_error(const struct ferry__wire *wire, const struct ferry__field *field, int code,
                      const char *fmt, ...) FERRY_PRINTF(4, 5);

/* The offset of a position in the file. */
uint64_t ferry__wire_offset(const struct ferry__wire *wire, const unsigned char *at);

#endif
