/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PyTorch's archive while it is opened, and the tensors that are added from it.
 */
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
    struct ferry__names names; /* of the members */
    struct ferry__torch_storage *members;
    const char *prefix; /* "archive/", of the pickle's name */
    struct ferry__torch_storage pickle;
    bool swap;
    uint64_t visits;            /* of values, left */
    struct ferry__names arrays; /* those that were added */
};

/* What a tensor remembers: its strides. Those of PLAIN values are not looked at. */
struct ferry__torch_strided {
    const unsigned char *bytes; /* of element 0, 0, … */
    int64_t stride[FERRY_MAX_AXES];
};

/* The member PREFIX FOLDER KEY; NULL if there is none. */
const struct ferry__torch_storage *ferry__torch_member(const struct ferry__torch *a,
                                                       const char *folder, const char *key);

/* FERRY_EFORMAT: "path: name: what". */
int ferry__torch_malformed(const struct ferry__torch *a, const char *name, const char *what);

#endif
