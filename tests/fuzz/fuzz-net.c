/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fuzz.h"

#include <ferry/ferry.h>
#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char fuzz_name[] = "net";

/* A device that every build has; nothing is computed on it. */
static ferry_device *device(void)
{
    static ferry_runtime *rt;
    static ferry_device *dev;

    if (dev)
        return dev;
    fuzz_quiet();
    if (ferry_runtime_open(NULL, &rt) ||
        (ferry_runtime_get_device(rt, "sim", &dev) && ferry_runtime_get_device(rt, NULL, &dev))) {
        fprintf(stderr, "%s\n", ferry_last_error());
        exit(77);
    }
    return dev;
}

/*
 * Whether the text is cheap to run: long numbers make blobs that exceed any machine's memory, and
 * layers must not write files.
 */
static bool is_sensible(const uint8_t *bytes, size_t size)
{
    int digits = 0;

    for (size_t i = 0; i < size; i++) {
        digits = bytes[i] >= '0' && bytes[i] <= '9' ? digits + 1 : 0;
        if (digits > 4)
            return false;
    }
    return !memmem(bytes, size, "HDF5", 4);
}

/*
 * Opens any bytes as a net, a text or a caffemodel: the result is an error with a message, or a net
 * that reports its shapes.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    ferry_device *dev = device();
    ferry_net *net = NULL;
    char path[64];
    int fd, err;

    if (!is_sensible(bytes, size))
        return 0;
    fd = memfd_create("net", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    err = ferry_net_open(dev, path, NULL, &net);
    if ((err == 0) != (net != NULL) || (err && !*ferry_last_error()))
        abort();
    for (int i = 0; i < ferry_net_blob_count(net); i++) {
        char shape[200];
        ferry_blob *b = ferry_net_blob_at(net, i);

        if (b)
            ferry_blob_shape_string(b, shape, sizeof shape);
    }
    fuzz_use(ferry_net_output_count(net) > 0);
    ferry_net_close(net);
    close(fd);
    return 0;
}
