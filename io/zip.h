/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The members of a zip file, from its directory at the end.
 */
#ifndef FERRY_IO_ZIP_H
#define FERRY_IO_ZIP_H

#include "file_map.h"

struct ferry__zip_member {
    const unsigned char *name; /* the name, not terminated by a NUL */
    unsigned name_size;
    unsigned method; /* FERRY__ZIP_… */
    uint32_t crc;
    const unsigned char *bytes; /* the stored bytes */
    uint64_t stored, size;
    const char *unreadable; /* the reason: the member is encrypted, or its method unknown; NULL: it
                             * is readable */
};

/* In fields of 16 and 32 bits this value means: the value is in the ZIP64 record. */
#define FERRY__ZIP_FULL16 0xffffu
#define FERRY__ZIP_FULL32 0xffffffffu

enum { FERRY__ZIP_STORED = 0, FERRY__ZIP_DEFLATED = 8 };

struct ferry__zip {
    const struct ferry__io_file *file;
    const unsigned char *at, *end; /* the rest of the directory */
    uint64_t left;                 /* the number of members left */
};

int ferry__zip_open(const struct ferry__io_file *file, struct ferry__zip *out);

/* Reads the next member: 1, 0 after the last member, FERRY_EFORMAT. */
int ferry__zip_next(struct ferry__zip *zip, struct ferry__zip_member *out);

/* FERRY_EUNSUPPORTED, with its name, for an unreadable member. */
int ferry__zip_refuse(const struct ferry__zip *zip, const struct ferry__zip_member *m);

#endif
