/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of an LMDB database (data version 1, 64 bit, little-endian), read in the order of its
 * keys.
 *
 * The file is read, not mapped, so that truncating it while it is open causes an error instead of a
 * signal. Every number is checked before it is used: page numbers against the file, offsets against
 * the page, depth against the tree; and each key has to be greater than the previous one, so that a
 * tree with a cycle or with a page that is used twice ends with an error. Memory: a page for each
 * level, 256 KiB of leaves, and the largest value.
 */
#ifndef FERRY_NET_DATA_LMDB_H
#define FERRY_NET_DATA_LMDB_H

#include <stddef.h>
#include <stdint.h>

struct ferry__lmdb;

/*
 * Opens the file and moves to its first record. `name` is for messages. FERRY_EIO, FERRY_ENOMEM;
 * FERRY_EFORMAT for a file that is not an LMDB database, is damaged or truncated, or has no
 * records; FERRY_EUNSUPPORTED for another data version, for the 32-bit layout, and for duplicate
 * keys.
 */
int ferry__lmdb_open(const char *file, const char *name, struct ferry__lmdb **out);

/* NULL is accepted. */
void ferry__lmdb_close(struct ferry__lmdb *db);

/* The current record; the key and the value are valid until the next move. */
void ferry__lmdb_key(const struct ferry__lmdb *db, const unsigned char **out, size_t *out_size);
void ferry__lmdb_value(const struct ferry__lmdb *db, const void **out, size_t *out_size);

/*
 * Moves to the next record, or from the last to the first. After an error only ferry__lmdb_seek may
 * be called until it succeeds.
 */
int ferry__lmdb_next(struct ferry__lmdb *db);

/* Moves to the record that is `steps` steps after the first. */
int ferry__lmdb_seek(struct ferry__lmdb *db, uint64_t steps);

#endif
