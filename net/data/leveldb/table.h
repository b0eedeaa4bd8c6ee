/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table: a file of records in the order of their keys. Blocks of records, each with a checksum and perhaps compressed,
 * an index of the blocks, and a footer that finds the index.
 */
#ifndef FERRY_NET_DATA_LEVELDB_TABLE_H
#define FERRY_NET_DATA_LEVELDB_TABLE_H

#include "net/data/leveldb/bytes.h"
#include "net/data/leveldb/file.h"
#include "net/data/leveldb/key.h"

/* A block in memory, and the entry of it that was read last. */
struct ferry__leveldb_block {
    uint64_t begin;             /* in the file, for messages */
    unsigned char *raw, *bytes; /* as the file has it; expanded, if it was compressed */
    size_t raw_room, bytes_room;
    struct ferry__span left; /* the entries that were not read */
    unsigned char *key;      /* of the entry, `key_size` bytes */
    size_t key_size, key_room;
    struct ferry__span value;
};

/* Zero before it is opened for the first time; its memory is kept from one file to the next. */
struct ferry__leveldb_table {
    struct ferry__leveldb_file file;
    struct ferry__leveldb_block index, data;
    struct ferry__leveldb_key key; /* of the record that it is at */
};

/* Opens the file and reads its index; it is before the first record. On failure it is closed. */
int ferry__leveldb_table_open(const char *folder, const char *name,
                              struct ferry__leveldb_table *table);

/* Closes the file, and frees the memory. Accepts one that is zero. */
void ferry__leveldb_table_close(struct ferry__leveldb_table *table);

/*
 * Goes to the next record: table->key and table->data.value, which are valid until the next call. *out_end: there is none.
 * FERRY_EFORMAT for what is damaged; the order of the keys is for the caller to check.
 */
int ferry__leveldb_table_next(struct ferry__leveldb_table *table, bool *out_end);

#endif
