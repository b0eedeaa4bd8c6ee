/* SPDX-License-Identifier: BSD-2-Clause */
/* A .npy file: one array without a name. */
#include "npy.h"
#include "reader.h"

static ferry_io_format probe(const struct ferry__io_file *file)
{
    return ferry__npy_magic(file->bytes, file->size) ? FERRY_IO_NPY : FERRY_IO_UNKNOWN;
}

static int check_size(const struct ferry_io *io, const struct ferry__npy *npy)
{
    uint64_t there = io->file.size - npy->header_size;

    if (ferry__npy_fits(npy, there))
        return FERRY_OK;
    return ferry_error_set(FERRY_EFORMAT,
                           "%s: values at byte %llu: %llu bytes where the shape "
                           "has %llu",
                           io->file.path, (unsigned long long)npy->header_size,
                           (unsigned long long)there,
                           (unsigned long long)((uint64_t)npy->count * npy->element));
}

static int open_file(struct ferry_io *io)
{
    struct ferry__npy_source source = { io->file.path, "", io->file.bytes, io->file.size, 0 };
    struct ferry__io_name name = { .name = io->file.stem };
    struct ferry__values values = { .encoding = FERRY__VALUES_PLAIN };
    struct ferry__io_array *array;
    struct ferry__npy npy;
    int err = ferry__npy_parse(&source, &npy);

    if (!err)
        err = check_size(io, &npy);
    if (!err)
        err = ferry__io_add(io, &name, npy.dtype, npy.rank, npy.shape, &array);
    if (err)
        return err;
    values.bytes = io->file.bytes + npy.header_size;
    values.size = io->file.size - npy.header_size;
    values.dtype = npy.dtype;
    values.storage = npy.storage;
    values.swap = npy.swap;
    values.fortran = npy.fortran && npy.rank > 1;
    ferry__io_set_data(io, array, &values);
    return npy.storage == FERRY__STORED_OTHERWISE
               ? ferry__io_mark(io, array, npy.descr, ferry__npy_unreadable(&npy))
               : FERRY_OK;
}

const struct ferry__io_reader ferry__npy_reader = {
    .adoptable = true,
    .probe = probe,
    .open = open_file,
};
