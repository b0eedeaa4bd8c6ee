/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_SHARDS_H
#define FERRY_TOOL_SHARDS_H

#include <ferry/io.h>

/*
 * safetensors in several files: BASE-00001-of-00003.safetensors, …, and the index that lists which
 * array is in which, BASE.safetensors.index.json. Used as a ferry_io_writer is.
 */
struct shards;

/* "5GB", "500MB", "1GiB" or a number of bytes; 0 for what is none. */
uint64_t shards_size(const char *text);

/* `path`: the index's, or what one file would be called. Each file is of `size` bytes of values at most,
 * unless it has one array alone. A ferry error. */
int shards_create(const char *path, uint64_t size, struct shards **out);

/* Both before the first value. The entry's strings and dims live until commit or abort. */
int shards_set_metadata(struct shards *s, const char *key, const char *value);
int shards_declare(struct shards *s, const ferry_io_entry *entry);

/* None can be kept: all are told. Behind the last declare. */
int shards_copy_attributes(struct shards *s, ferry_io *from, ferry_io_attribute_dropped_fn left,
                           void *arg);

/* As ferry_io_writer_write_values: a piece ends with its array at the latest. */
int shards_write(struct shards *s, const void *values, size_t size);

/*
 * Completes all files, and then the index; frees `s`, whatever the result. Where one fails, those that were
 * there before it are removed, and there is no index: none ever lists files of two sets.
 */
int shards_commit(struct shards *s);

void shards_abort(struct shards *s);

#endif
