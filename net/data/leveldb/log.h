/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of records, as LevelDB's logs and its manifest are: blocks of 32 KiB, and records in one or several parts, each
 * with a checksum. A record that ends behind the file's last byte was never written whole, because its writer was
 * interrupted, and does not count; LevelDB does the same.
 */
#ifndef FERRY_NET_DATA_LEVELDB_LOG_H
#define FERRY_NET_DATA_LEVELDB_LOG_H

#include "net/data/leveldb/file.h"

#include <stdbool.h>

struct ferry__leveldb_log {
    struct ferry__leveldb_file file;
    uint64_t at;           /* the next record's first part, or the space before it */
    unsigned char *record; /* the latest record */
    size_t size, room;
    uint64_t begin; /* where that record begins */
};

int ferry__leveldb_log_open(const char *folder, const char *name, struct ferry__leveldb_log *log);

/* Accepts one that is zero, or whose opening failed. */
void ferry__leveldb_log_close(struct ferry__leveldb_log *log);

/* Reads the next record into log->record; *out_end: there is none. The record is valid until the next call. */
int ferry__leveldb_log_next(struct ferry__leveldb_log *log, bool *out_end);

#endif
