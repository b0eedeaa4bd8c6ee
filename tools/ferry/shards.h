/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_SHARDS_H
#define FERRY_TOOL_SHARDS_H

#include <ferry/io.h>

/*
 * Writes safetensors as several files: BASE-00001-of-00003.safetensors, …, and the index
 * BASE.safetensors.index.json, which maps each array to its file. Used like a ferry_io_writer.
 */
struct shards;

/* Parses "5GB", "500MB", "1GiB" or a number of bytes; 0 for any other text. */
uint64_t shards_size(const char *text);

/* Creates the files. `path` is that of the index, or that of a single file. Each file has at most
 * `size` bytes of values, unless it has a single larger array. Returns a ferry error. */
int shards_create(const char *path, uint64_t size, struct shards **out);

/*
 * Declare metadata and arrays; all calls precede the first value. The entry's strings and dims must
 * live until commit or abort.
 */
int shards_set_metadata(struct shards *s, const char *key, const char *value);
int shards_declare(struct shards *s, const ferry_io_entry *entry);

/*
 * Reports each attribute to `left`, since safetensors cannot hold attributes. Called after the last
 * declare.
 */
int shards_copy_attributes(struct shards *s, ferry_io *from, ferry_io_attribute_dropped_fn left,
                           void *arg);

/*
 * Writes values, as ferry_io_writer_write_values does: a piece must not extend past the end of its
 * array.
 */
int shards_write(struct shards *s, const void *values, size_t size);

/*
 * Completes all files, and then the index; frees `s` in any case. If it fails, files of an earlier
 * set are removed and no index is left, so that an index never lists files of two sets.
 */
int shards_commit(struct shards *s);

void shards_abort(struct shards *s);

#endif
