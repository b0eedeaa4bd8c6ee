/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/io_file.h>

#include "out.h"

#include <stdlib.h>

struct ferry_io_file {
    struct ferry__io_out out;
};

int ferry_io_file_create(const char *path, ferry_io_file **out)
{
    ferry_io_file *f;
    int err;

    if (!path || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_file_create: NULL argument");
    f = malloc(sizeof(*f));
    if (!f)
        return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", path);
    err = ferry__io_out_open(path, 0, &f->out);
    if (err) {
        free(f);
        return err;
    }
    *out = f;
    return FERRY_OK;
}

int ferry_io_file_write(ferry_io_file *f, const void *bytes, uint64_t size)
{
    if (!f || (!bytes && size > 0))
        return ferry_error_set(FERRY_EINVAL, "ferry_io_file_write: NULL argument");
    return ferry__io_out_write(&f->out, bytes, size);
}

int ferry_io_file_commit(ferry_io_file *f)
{
    int err;

    if (!f)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_file_commit: NULL argument");
    err = ferry__io_out_commit(&f->out);
    free(f);
    return err;
}

void ferry_io_file_abort(ferry_io_file *f)
{
    if (!f)
        return;
    ferry__io_out_discard(&f->out);
    free(f);
}
