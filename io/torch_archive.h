/* SPDX-License-Identifier: BSD-2-Clause */
/* PyTorch's archive while it is being opened, and the tensors added from it. */
#ifndef FERRY_IO_TORCH_ARCHIVE_H
#define FERRY_IO_TORCH_ARCHIVE_H

#include "pickle.h"

/* A member of the archive. */
struct ferry__torch_storage {
    const unsigned char *bytes;
    uint64_t size;
    bool deflated;
};

struct ferry__torch {
    struct ferry_io *io;
    struct ferry__names names; /* the members by name */
    struct ferry__torch_storage *members;
    const char *prefix; /* "archive/", the prefix of the pickle's name */
    struct ferry__torch_storage pickle;
    bool swap;
    uint64_t visits;            /* the number of values that the walk may still visit */
    struct ferry__names arrays; /* the added arrays */
};

/* The private data of a tensor: its strides. PLAIN values do not use them. */
struct ferry__torch_strided {
    const unsigned char *bytes; /* the address of element 0, 0, … */
    int64_t stride[FERRY_MAX_AXES];
};

/* The member PREFIX FOLDER KEY; NULL if there is none. */
const struct ferry__torch_storage *ferry__torch_member(const struct ferry__torch *a,
                                                       const char *folder, const char *key);

/* Reports FERRY_EFORMAT: "path: name: what". */
int ferry__torch_malformed(const struct ferry__torch *a, const char *name, const char *what);

#endif
