/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of a LevelDB database in the order of their keys. Nothing is written into its folder,
 * and no lock is taken.
 */
#ifndef FERRY_NET_DATA_LEVELDB_LEVELDB_H
#define FERRY_NET_DATA_LEVELDB_LEVELDB_H

#include <stddef.h>
#include <stdint.h>

struct ferry__leveldb;

/*
 * Opens the database in a folder and moves to its first record. FERRY_EIO, FERRY_ENOMEM;
 * FERRY_EFORMAT for a database that is damaged, lacks a file, or has no records; FERRY_EUNSUPPORTED
 * for blocks compressed with zstd, and for keys in an order defined by the program.
 */
int ferry__leveldb_open(const char *folder, struct ferry__leveldb **out);

/* NULL is accepted. */
void ferry__leveldb_close(struct ferry__leveldb *db);

/* The current record; the key and the value are valid until the next move. */
void ferry__leveldb_key(const struct ferry__leveldb *db, const unsigned char **out,
                        size_t *out_size);
void ferry__leveldb_value(const struct ferry__leveldb *db, const void **out, size_t *out_size);

/*
 * Moves to the next record, or from the last to the first. After an error only ferry__leveldb_seek
 * may be called until it succeeds.
 */
int ferry__leveldb_next(struct ferry__leveldb *db);

/* Moves to the record that is `steps` steps after the first. */
int ferry__leveldb_seek(struct ferry__leveldb *db, uint64_t steps);

#endif
