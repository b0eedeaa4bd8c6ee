/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A database whose records are read one after the other: LMDB or LevelDB.
 */
#ifndef FERRY_NET_DATA_DATABASE_H
#define FERRY_NET_DATA_DATABASE_H

#include <stddef.h>
#include <stdint.h>

struct ferry__database;

/*
 * Opens a folder or file, whose content decides which database it is; nothing is written into it. The database is at its
 * first record then. FERRY_EIO; FERRY_EFORMAT for a path that is not a database, is damaged or cut off, or has no record;
 * FERRY_EUNSUPPORTED for what lmdb.h and leveldb/leveldb.h do not read.
 */
int ferry__database_open(const char *path, struct ferry__database **out);

/* NULL is accepted. */
void ferry__database_close(struct ferry__database *db);

/* The record at which it is; lives until the next step or seek. */
void ferry__database_record(const struct ferry__database *db, const void **out, size_t *out_size);

/* "PATH: record KEY" of it. */
void ferry__database_name(const struct ferry__database *db, char *buf, size_t size);

/* Goes on to the next record, behind the last one to the first. */
int ferry__database_step(struct ferry__database *db);

/* Goes to the record that is reached by so many steps from the first one. */
int ferry__database_seek(struct ferry__database *db, uint64_t steps);

#endif
