/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of an LMDB database (data version 1, 64 bit, little-endian), read in the order of its keys.
 *
 * The file is read, never mapped, so that a file which is shortened meanwhile is an error. Every number in it is
 * checked before it is used: page numbers against the file, offsets against the page, depth against the tree, and each
 * key has to follow the one before it, so that a tree with a cycle or a page that is used twice ends with an error.
 * Memory: a page for each level, 256 KiB of leaves, and the largest value.
 */
#ifndef FERRY_NET_DATA_LMDB_H
#define FERRY_NET_DATA_LMDB_H

#include <stddef.h>
#include <stdint.h>

struct ferry__lmdb;

/*
 * Opens the file and goes to its first record. `name` is for messages. FERRY_EIO, FERRY_ENOMEM; FERRY_EFORMAT for a
 * file that is not LMDB's, is damaged or cut off, or has no record; FERRY_EUNSUPPORTED for another data version, for
 * the layout of 32 bit, and for duplicate keys.
 */
int ferry__lmdb_open(const char *file, const char *name, struct ferry__lmdb **out);

/* NULL is accepted. */
void ferry__lmdb_close(struct ferry__lmdb *db);

/* The record that it is at; the key and the value are valid until it goes elsewhere. */
void ferry__lmdb_key(const struct ferry__lmdb *db, const unsigned char **out, size_t *out_size);
void ferry__lmdb_value(const struct ferry__lmdb *db, const void **out, size_t *out_size);

/* Goes to the next record; after the last one to the first. After an error ferry__lmdb_seek has to succeed first. */
int ferry__lmdb_next(struct ferry__lmdb *db);

/* Goes to the record that so many steps from the first one reach. */
int ferry__lmdb_seek(struct ferry__lmdb *db, uint64_t steps);

#endif
