/* SPDX-License-Identifier: BSD-2-Clause */
/* The HDF5 reader of a build without libhdf5: it recognizes HDF5 files, and refuses them. */
#include "reader.h"

#include <string.h>

static ferry_io_format probe(const struct ferry__io_file *file)
{
    return file->size >= 8 && memcmp(file->bytes, "\x89HDF\r\n\x1a\n", 8) == 0 ? FERRY_IO_HDF5
                                                                               : FERRY_IO_UNKNOWN;
}

static int open_file(struct ferry_io *io)
{
    return ferry_error_set(FERRY_EUNSUPPORTED,
                           "%s: format at byte 0: HDF5, and this libferryio was built without it",
                           io->file.path);
}

const struct ferry__io_reader ferry__hdf5_reader = {
    .probe = probe,
    .open = open_file,
};
