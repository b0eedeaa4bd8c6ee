/* SPDX-License-Identifier: BSD-2-Clause */
/* A database of records that are read in order: LMDB or LevelDB. */
#ifndef FERRY_NET_DATA_DATABASE_H
#define FERRY_NET_DATA_DATABASE_H

#include <stddef.h>
#include <stdint.h>

struct ferry__database;

/*
 * Opens a folder or a file for reading, detected by its contents; nothing is written. The position
 * is the first record. FERRY_EIO; FERRY_EFORMAT for a path that is not a database, is damaged or
 * truncated, or has no records; FERRY_EUNSUPPORTED for variants that lmdb.h and leveldb/leveldb.h
 * do not read.
 */
int ferry__database_open(const char *path, struct ferry__database **out);

/* NULL is accepted. */
void ferry__database_close(struct ferry__database *db);

/* The current record; valid until the next step or seek. */
void ferry__database_record(const struct ferry__database *db, const void **out, size_t *out_size);

/* Prints the name of the current record, "PATH: record KEY". */
void ferry__database_name(const struct ferry__database *db, char *buf, size_t size);

/* Moves to the next record, or from the last to the first. */
int ferry__database_step(struct ferry__database *db);

/* Moves to the record that is `steps` steps after the first. */
int ferry__database_seek(struct ferry__database *db, uint64_t steps);

#endif
