/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include <ferry/io.h>

#include <string.h>
#include <strings.h>

static const struct {
    ferry_io_format format;
    const char *name; /* set in the first row of a format; all rows have suffixes */
} formats[] = {
    { FERRY_IO_BLOBPROTO, "binaryproto" },
    { FERRY_IO_BLOBPROTO, "blobproto" },
    { FERRY_IO_CAFFEMODEL, "caffemodel" },
    { FERRY_IO_SOLVERSTATE, "solverstate" },
    { FERRY_IO_BLOBVECTOR, "blobvector" },
    { FERRY_IO_NPY, "npy" },
    { FERRY_IO_NPZ, "npz" },
    { FERRY_IO_SAFETENSORS, "safetensors" },
    { FERRY_IO_PYTORCH, "pytorch" },
    { FERRY_IO_PYTORCH, "pt" },
    { FERRY_IO_PYTORCH, "pth" },
    { FERRY_IO_HDF5, "hdf5" },
    { FERRY_IO_HDF5, "h5" },
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

const char *ferry_io_format_name(ferry_io_format format)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].format == format)
            return formats[i].name;
    return "?";
}

ferry_io_format ferry_io_format_find(const char *name_or_path)
{
    const char *base, *suffix;

    if (!name_or_path)
        return FERRY_IO_UNKNOWN;
    base = strrchr(name_or_path, '/');
    base = base ? base + 1 : name_or_path;
    suffix = strrchr(base, '.');
    suffix = suffix ? suffix + 1 : base;
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcasecmp(formats[i].name, suffix) == 0)
            return formats[i].format;
    return FERRY_IO_UNKNOWN;
}
