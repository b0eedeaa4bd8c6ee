/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table: a file of records sorted by key. It has blocks of records, each with a checksum and
 * optionally compressed, an index of the blocks, and a footer with the location of the index.
 */
#ifndef FERRY_NET_DATA_LEVELDB_TABLE_H
#define FERRY_NET_DATA_LEVELDB_TABLE_H

#include "net/data/leveldb/bytes.h"
#include "net/data/leveldb/file.h"
#include "net/data/leveldb/key.h"

/* A block in memory, and the entry that was read last. */
struct ferry__leveldb_block {
    uint64_t begin;             /* the offset in the file, for messages */
    unsigned char *raw, *bytes; /* the stored bytes, and the decompressed bytes if the block is
                                 * compressed */
    size_t raw_room, bytes_room;
    struct ferry__span left; /* the entries not read yet */
    unsigned char *key;      /* the key of the entry, `key_size` bytes */
    size_t key_size, key_room;
    struct ferry__span value;
};

/* A zeroed structure is a closed table. The memory is reused for the next file. */
struct ferry__leveldb_table {
    struct ferry__leveldb_file file;
    struct ferry__leveldb_block index, data;
    struct ferry__leveldb_key key; /* the key of the current record */
};

/*
 * Opens the file and reads its index; the position is before the first record. On failure it is
 * closed.
 */
int ferry__leveldb_table_open(const char *folder, const char *name,
                              struct ferry__leveldb_table *table);

/* Closes the file, and frees the memory. A zeroed structure is accepted. */
void ferry__leveldb_table_close(struct ferry__leveldb_table *table);

/*
 * Moves to the next record: table->key and table->data.value, which are valid until the next call.
 * *out_end: there is none. FERRY_EFORMAT for damage; the caller checks the order of the keys.
 */
int ferry__leveldb_table_next(struct ferry__leveldb_table *table, bool *out_end);

#endif
