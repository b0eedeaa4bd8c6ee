/* SPDX-License-Identifier: BSD-2-Clause */
/* An ONNX file, mapped and read as a tree, and the files beside it that hold tensors. */
#ifndef FERRY_NET_IMPORT_FILE_H
#define FERRY_NET_IMPORT_FILE_H

#include "net/onnx/schema.h"
#include "net/proto/file.h"
#include "net/proto/tree.h"

#include <stdbool.h>

/* The maximum number of files of external data of a model. */
#define FERRY__IMPORT_FILES 64

struct ferry__import_file {
    const char *path;
    struct ferry__proto_file source;
    ferry_proto *model; /* the ModelProto; the bytes of its tensors stay in the mapped file */
    struct ferry__proto_file beside[FERRY__IMPORT_FILES];
    int n_beside;
};

/*
 * Maps and parses the model at `path`, which outlives the file. FERRY_EIO, FERRY_EFORMAT with the
 * byte, FERRY_ENOMEM; there is nothing to close then.
 */
int ferry__import_file_open(const char *path, struct ferry__import_file *out);

void ferry__import_file_close(struct ferry__import_file *file);

/*
 * Returns the mapped file `location`, a relative path without ".." from the folder of the model.
 * The file is mapped at the first call. FERRY_EFORMAT for another path, FERRY_EIO, FERRY_ENOMEM.
 */
int ferry__import_file_beside(struct ferry__import_file *file, const char *location,
                              const struct ferry__proto_file **out);

#endif
