/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/data/leveldb/table.h"

#include "net/data/leveldb/crc32c.h"
#include "net/data/leveldb/snappy.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

enum { FOOTER = 48, AT_MAGIC = 40 }; /* two handles of up to 20 bytes, and the magic number */
enum { TRAILER = 5 };                /* after a block: the compression, and a checksum */
enum { PLAIN = 0, SNAPPY = 1, ZSTD = 2 };

#define MAGIC UINT64_C(0xdb4775248b80fb57)

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The location of a block, as stored in an index or in the footer. */
static bool take_handle(struct ferry__span *s, uint64_t *out_at, uint64_t *out_size)
{
    return ferry__span_varint(s, UINT64_MAX, out_at) && ferry__span_varint(s, UINT64_MAX, out_size);
}

/* Expands the block, if it is compressed. */
static int expand(const struct ferry__leveldb_file *file, struct ferry__leveldb_block *b,
                  size_t size, struct ferry__span *out)
{
    size_t length;
    int err;

    *out = (struct ferry__span){ b->raw, size };
    if (b->raw[size] == PLAIN)
        return FERRY_OK;
    if (b->raw[size] == ZSTD)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%.400s: LevelDB: %s: byte %llu: compressed with zstd, only snappy "
                               "is supported",
                               file->folder, file->name, (unsigned long long)b->begin);
    if (b->raw[size] != SNAPPY)
        return ferry__leveldb_damaged(file, b->begin, "a block has an unknown compression");
    if (!ferry__snappy_length(b->raw, size, &length))
        return ferry__leveldb_damaged(file, b->begin, "a block's length is wrong");
    err = ferry__leveldb_room(file->folder, &b->bytes, &b->bytes_room, length + 1);
    if (err)
        return err;
    *out = (struct ferry__span){ b->bytes, length };
    return ferry__snappy_expand(b->raw, size, b->bytes, length)
               ? FERRY_OK
               : ferry__leveldb_damaged(file, b->begin, "a compressed block is damaged");
}

/*
 * Finds the entries of a block: the entries come first, then the offsets of restarts with 4 bytes
 * each, then the number of restarts.
 */
static int find_entries(const struct ferry__leveldb_file *file, struct ferry__leveldb_block *b,
                        struct ferry__span all)
{
    uint64_t restarts;

    if (all.left < 4)
        return ferry__leveldb_damaged(file, b->begin, "a block is too short");
    restarts = ferry__le(all.at + all.left - 4, 4);
    if (restarts > (all.left - 4) / 4)
        return ferry__leveldb_damaged(file, b->begin, "a block has too many restarts");
    b->left = (struct ferry__span){ all.at, all.left - 4 - 4 * (size_t)restarts };
    b->key_size = 0;
    return FERRY_OK;
}

/* Reads the block at `handle` and moves before its first entry. */
static int read_block(const struct ferry__leveldb_file *file, struct ferry__span handle,
                      uint64_t handle_at, struct ferry__leveldb_block *b)
{
    uint64_t at, size, most = file->size - FOOTER;
    struct ferry__span all;
    uint32_t crc;
    int err;

    if (!take_handle(&handle, &at, &size))
        return ferry__leveldb_damaged(file, handle_at, "the location of a block is truncated");
    if (size > most || at > most - size || most - size - at < TRAILER)
        return ferry__leveldb_damaged(file, handle_at, "a block is outside of the file");
    b->begin = at;
    err = ferry__leveldb_room(file->folder, &b->raw, &b->raw_room, (size_t)size + TRAILER);
    if (!err)
        err = ferry__leveldb_file_read(file, at, b->raw, (size_t)size + TRAILER);
    if (err)
        return err;
    crc = ferry__crc32c(0, b->raw, (size_t)size + 1);
    if (ferry__crc32c_mask(crc) != ferry__le(b->raw + size + 1, 4))
        return ferry__leveldb_damaged(file, at, "a block's checksum is wrong");
    err = expand(file, b, (size_t)size, &all);
    return err ? err : find_entries(file, b, all);
}

/* Keeps `shared` bytes of the previous key and appends the others. */
static int join_key(const struct ferry__leveldb_file *file, struct ferry__leveldb_block *b,
                    size_t shared, struct ferry__span more)
{
    size_t size = shared + more.left;
    unsigned char *grown;

    if (size > b->key_room) {
        grown = realloc(b->key, 2 * size);
        if (!grown)
            return ferry__leveldb_no_memory(file->folder);
        b->key = grown;
        b->key_room = 2 * size;
    }
    if (more.left)
        memcpy(b->key + shared, more.at, more.left);
    b->key_size = size;
    return FERRY_OK;
}

/* Reads the next entry of a block; there has to be one. */
static int next_entry(const struct ferry__leveldb_file *file, struct ferry__leveldb_block *b)
{
    struct ferry__span more;
    uint64_t shared, fresh, size;

    if (!ferry__span_varint(&b->left, b->key_size, &shared) ||
        !ferry__span_varint(&b->left, UINT64_MAX, &fresh) ||
        !ferry__span_varint(&b->left, UINT64_MAX, &size) ||
        !ferry__span_take(&b->left, fresh, &more.at) ||
        !ferry__span_take(&b->left, size, &b->value.at))
        return ferry__leveldb_damaged(file, b->begin, "a record ends outside of its block");
    more.left = (size_t)fresh;
    b->value.left = (size_t)size;
    return join_key(file, b, (size_t)shared, more);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int read_index(struct ferry__leveldb_table *table)
{
    const struct ferry__leveldb_file *file = &table->file;
    unsigned char footer[FOOTER];
    struct ferry__span handles = { footer, AT_MAGIC };
    uint64_t at, size;
    int err;

    if (file->size < FOOTER)
        return ferry__leveldb_damaged(file, 0, "it is too short for a table");
    err = ferry__leveldb_file_read(file, file->size - FOOTER, footer, FOOTER);
    if (err)
        return err;
    if (ferry__le(footer + AT_MAGIC, 8) != MAGIC)
        return ferry__leveldb_damaged(file, file->size - FOOTER, "it does not end like a table");
    if (!take_handle(&handles, &at, &size)) /* the location of the filters, which are not used */
        return ferry__leveldb_damaged(file, file->size - FOOTER,
                                      "the location of a block is truncated");
    return read_block(file, handles, file->size - FOOTER, &table->index);
}

int ferry__leveldb_table_open(const char *folder, const char *name,
                              struct ferry__leveldb_table *table)
{
    int err;

    if (table->file.folder)
        ferry__leveldb_file_close(&table->file);
    table->data.left.left = 0;
    table->key.at = NULL;
    err = ferry__leveldb_file_open(folder, name, &table->file);
    if (!err)
        err = read_index(table);
    if (err)
        ferry__leveldb_file_close(&table->file);
    return err;
}

static void free_block(struct ferry__leveldb_block *b)
{
    free(b->raw);
    free(b->bytes);
    free(b->key);
}

void ferry__leveldb_table_close(struct ferry__leveldb_table *table)
{
    if (table->file.folder)
        ferry__leveldb_file_close(&table->file);
    free_block(&table->index);
    free_block(&table->data);
    memset(table, 0, sizeof *table);
}

/* Splits the entry's key. */
static int take_key(struct ferry__leveldb_table *table)
{
    const struct ferry__leveldb_block *b = &table->data;
    struct ferry__leveldb_key *key = &table->key;

    if (b->key_size < 8)
        return ferry__leveldb_damaged(&table->file, b->begin, "a key is too short");
    key->at = b->key;
    key->size = b->key_size - 8;
    key->write = ferry__le(b->key + key->size, 8);
    if ((key->write & 255) > FERRY__LEVELDB_VALUE)
        return ferry__leveldb_damaged(&table->file, b->begin, "a record is of an unknown kind");
    return FERRY_OK;
}

int ferry__leveldb_table_next(struct ferry__leveldb_table *table, bool *out_end)
{
    int err;

    while (!table->data.left.left) {
        *out_end = !table->index.left.left;
        if (*out_end)
            return FERRY_OK;
        err = next_entry(&table->file, &table->index);
        if (!err)
            err = read_block(&table->file, table->index.value, table->index.begin, &table->data);
        if (err)
            return err;
    }
    *out_end = false;
    err = next_entry(&table->file, &table->data);
    return err ? err : take_key(table);
}
