/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of the logs: the latest writes, which no table has yet. Caffe's tools leave up to 256 MiB of them. Their
 * keys are in memory, sorted; a value is read when it is asked for, with the batch in which it was written.
 */
#ifndef FERRY_NET_DATA_LEVELDB_RECENT_H
#define FERRY_NET_DATA_LEVELDB_RECENT_H

#include "net/data/leveldb/bytes.h"
#include "net/data/leveldb/key.h"
#include "net/data/leveldb/log.h"
#include "net/data/leveldb/manifest.h"

struct ferry__leveldb_write {
    struct ferry__leveldb_key key;
    size_t key_at; /* in `keys` */
    size_t log;
    uint64_t batch; /* where its batch begins in the log */
    size_t value_at, value_size;
};

struct ferry__leveldb_recent {
    struct ferry__leveldb_log *logs;
    uint64_t *numbers;
    size_t log_count, log_room;
    struct ferry__leveldb_write *writes; /* in the order of their keys */
    size_t count, room;
    unsigned char *keys;
    size_t keys_size, keys_room;
};

/* Finds the logs that count, and reads the keys of their records. On failure there is nothing to free. */
int ferry__leveldb_recent_read(const char *folder, const struct ferry__leveldb_manifest *manifest,
                               struct ferry__leveldb_recent *recent);

/* Accepts one that is zero. */
void ferry__leveldb_recent_free(struct ferry__leveldb_recent *recent);

/* The value of write `i`, valid until the next call. */
int ferry__leveldb_recent_value(struct ferry__leveldb_recent *recent, size_t i,
                                struct ferry__span *out);

#endif
