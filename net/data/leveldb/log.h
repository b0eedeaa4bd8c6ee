/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of records, the format of LevelDB's logs and of its manifest: blocks of 32 KiB, and
 * records in one or several parts, each with a checksum. An incomplete last record, whose writer
 * was interrupted, is ignored, as in LevelDB.
 */
#ifndef FERRY_NET_DATA_LEVELDB_LOG_H
#define FERRY_NET_DATA_LEVELDB_LOG_H

#include "net/data/leveldb/file.h"

#include <stdbool.h>

struct ferry__leveldb_log {
    struct ferry__leveldb_file file;
    uint64_t at;           /* the offset of the next record's first part, or of unused space
                            * before it */
    unsigned char *record; /* the latest record */
    size_t size, room;
    uint64_t begin; /* the offset of that record */
};

int ferry__leveldb_log_open(const char *folder, const char *name, struct ferry__leveldb_log *log);

/* A zeroed structure, or one whose opening failed, is accepted. */
void ferry__leveldb_log_close(struct ferry__leveldb_log *log);

/*
 * Reads the next record into log->record; *out_end: there is none. The record is valid until the
 * next call.
 */
int ferry__leveldb_log_next(struct ferry__leveldb_log *log, bool *out_end);

#endif
