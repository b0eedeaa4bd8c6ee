/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a file, mapped read-only.
 */
#ifndef FERRY_NET_PROTO_FILE_H
#define FERRY_NET_PROTO_FILE_H

#include <stddef.h>

struct ferry__proto_file {
    const char *path;
    const char *bytes;
    size_t size;
    void *mapping; /* NULL: the bytes are the caller's, or the file is empty */
};

/* Maps the regular file at `path` and sets the other members. FERRY_EIO; then nothing is mapped. */
int ferry__proto_file_map(struct ferry__proto_file *file);

void ferry__proto_file_unmap(struct ferry__proto_file *file);

#endif
