/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fuzz.h"

#include "net/import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

const char fuzz_name[] = "onnx";

/*
 * Reads any bytes as an ONNX model: the result is an error with a message, or a net that can be
 * printed.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct ferry__onnx_model *model = NULL;
    ferry_proto *net = NULL;
    char path[64];
    int fd = memfd_create("model", MFD_CLOEXEC), err;

    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    err = ferry__import_open(path, &model, &net);
    if ((err == 0) != (model != NULL) || (err == 0) != (net != NULL) ||
        (err && !*ferry_last_error()))
        abort();
    fuzz_use(net && ferry_proto_print(net, NULL, 0, &size) == 0);
    ferry_proto_close(net);
    ferry__import_close(model);
    close(fd);
    return 0;
}
