/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of the logs: the latest writes, which are not in a table yet. Caffe's tools leave up
 * to 256 MiB of them. Their keys are kept in memory, sorted; a value is read on request, with its
 * batch.
 */
#ifndef FERRY_NET_DATA_LEVELDB_RECENT_H
#define FERRY_NET_DATA_LEVELDB_RECENT_H

#include "net/data/leveldb/bytes.h"
#include "net/data/leveldb/key.h"
#include "net/data/leveldb/log.h"
#include "net/data/leveldb/manifest.h"

struct ferry__leveldb_write {
    struct ferry__leveldb_key key;
    size_t key_at; /* the offset of its key in `keys` */
    size_t log;
    uint64_t batch; /* the offset of its batch in the log */
    size_t value_at, value_size;
};

struct ferry__leveldb_recent {
    struct ferry__leveldb_log *logs;
    uint64_t *numbers;
    size_t log_count, log_room;
    struct ferry__leveldb_write *writes; /* sorted by key */
    size_t count, room;
    unsigned char *keys;
    size_t keys_size, keys_room;
};

/* Finds the live logs and reads the keys of their records. On failure there is nothing to free. */
int ferry__leveldb_recent_read(const char *folder, const struct ferry__leveldb_manifest *manifest,
                               struct ferry__leveldb_recent *recent);

/* A zeroed structure is accepted. */
void ferry__leveldb_recent_free(struct ferry__leveldb_recent *recent);

/* The value of write `i`, valid until the next call. */
int ferry__leveldb_recent_value(struct ferry__leveldb_recent *recent, size_t i,
                                struct ferry__span *out);

#endif
