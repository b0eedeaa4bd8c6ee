/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The members of a zip file, from its directory at the end.
 */
#ifndef FERRY_IO_ZIP_H
#define FERRY_IO_ZIP_H

#include "file_map.h"

struct ferry__zip_member {
    const unsigned char *name; /* no NUL behind it */
    unsigned name_size;
    unsigned method; /* FERRY__ZIP_… */
    uint32_t crc;
    const unsigned char *bytes; /* as stored */
    uint64_t stored, size;
    const char *unreadable; /* encrypted, or of another method; NULL: it can be read */
};

enum { FERRY__ZIP_STORED = 0, FERRY__ZIP_DEFLATED = 8 };

struct ferry__zip {
    const struct ferry__io_file *file;
    const unsigned char *at, *end; /* of the directory */
    uint64_t left;                 /* members */
};

int ferry__zip_open(const struct ferry__io_file *file, struct ferry__zip *out);

/* 1, 0 behind the last member, FERRY_EFORMAT. */
int ferry__zip_next(struct ferry__zip *zip, struct ferry__zip_member *out);

/* FERRY_EUNSUPPORTED, with its name, for a member that is unreadable. */
int ferry__zip_refuse(const struct ferry__zip *zip, const struct ferry__zip_member *m);

#endif
