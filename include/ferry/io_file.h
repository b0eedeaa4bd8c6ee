/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file io_file.h
 * A file of any bytes that appears under its path only when it is complete. Part of libferryio.
 *
 * Threads: distinct files from distinct threads; one file from one thread at a time.
 */
#ifndef FERRY_IO_FILE_H
#define FERRY_IO_FILE_H

#include <ferry/status.h>

FERRY_BEGIN_DECLS

/** A file that is being written. Opaque. */
typedef struct ferry_io_file ferry_io_file;

/**
 * Creates a file without a name, or with a temporary name, in the folder of `path`. It takes over
 * the permissions of a file at `path`. FERRY_EINVAL if `path` is not a regular file, FERRY_EIO,
 * FERRY_ENOMEM; *out is then unchanged.
 */
FERRY_API int ferry_io_file_create(const char *path, ferry_io_file **out);

/** Appends bytes. FERRY_EIO; the file can then only be aborted. */
FERRY_API int ferry_io_file_write(ferry_io_file *f, const void *bytes, uint64_t size);

/**
 * Syncs the file, renames it to its path, and frees it, whatever the result. FERRY_EIO: a file that
 * was at the path is then unchanged.
 */
FERRY_API int ferry_io_file_commit(ferry_io_file *f);

/** Removes what was written and frees it. NULL is accepted. */
FERRY_API void ferry_io_file_abort(ferry_io_file *f);

FERRY_END_DECLS

#endif
