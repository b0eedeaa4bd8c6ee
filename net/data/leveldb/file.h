/* SPDX-License-Identifier: BSD-2-Clause */
/* An open file of a database, for reading. */
#ifndef FERRY_NET_DATA_LEVELDB_FILE_H
#define FERRY_NET_DATA_LEVELDB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ferry__leveldb_file {
    int fd;             /* −1: closed */
    const char *folder; /* the folder's path, borrowed */
    char name[32];      /* for example "000005.ldb" */
    uint64_t size;      /* its size when it was opened */
};

/*
 * Opens a file. FERRY_EIO for a missing file and for one that is not a regular file: opening a pipe
 * does not block.
 */
int ferry__leveldb_file_open(const char *folder, const char *name,
                             struct ferry__leveldb_file *file);

/* Whether the folder has a file of that name. */
bool ferry__leveldb_file_exists(const char *folder, const char *name);

/* Closes it if it is open. */
void ferry__leveldb_file_close(struct ferry__leveldb_file *file);

/* Reads `size` bytes from byte `at` on. FERRY_EFORMAT if the file ends before. */
int ferry__leveldb_file_read(const struct ferry__leveldb_file *file, uint64_t at, void *to,
                             size_t size);

/* Sets the error "FOLDER: LevelDB: NAME: byte AT: WHY" and returns FERRY_EFORMAT. */
int ferry__leveldb_damaged(const struct ferry__leveldb_file *file, uint64_t at, const char *why);

/*
 * Grows *bytes, which has *room bytes, to at least `size`; the contents are lost. FERRY_ENOMEM
 * names the folder.
 */
int ferry__leveldb_room(const char *folder, unsigned char **bytes, size_t *room, size_t size);

/* Sets the error of an allocation that failed. */
int ferry__leveldb_no_memory(const char *folder);

#endif
