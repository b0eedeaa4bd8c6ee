/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes LevelDB databases, with the block and buffer sizes of Caffe's tools, and blocks compressed
 * by snappy.
 */
#include "dataset_store.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

#ifdef FERRY_NET_HAVE_LEVELDB
#include <leveldb/c.h>

#define BATCH_BYTES ((size_t)4 << 20)
#define BLOCK       ((size_t)64 << 10)

struct store {
    const char *folder;
    leveldb_options_t *options;
    leveldb_writeoptions_t *how;
    leveldb_writebatch_t *batch;
    leveldb_t *db;
    size_t pending; /* the size of the batch in bytes */
};

static int failed(const struct store *s, char *why)
{
    if (!why)
        return FERRY_OK;
    ferry_error_set(FERRY_EIO, "%.300s: LevelDB: %.600s", s->folder, why);
    leveldb_free(why);
    return FERRY_EIO;
}

static void close_store(void *store)
{
    struct store *s = store;

    if (s->db)
        leveldb_close(s->db);
    leveldb_writebatch_destroy(s->batch);
    leveldb_writeoptions_destroy(s->how);
    leveldb_options_destroy(s->options);
    free(s);
}

static int open_store(const char *fresh, const char *folder, void **out)
{
    struct store *s = calloc(1, sizeof *s);
    char *why = NULL;
    int err;

    if (!s)
        return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", folder);
    s->folder = folder;
    s->options = leveldb_options_create();
    s->how = leveldb_writeoptions_create();
    s->batch = leveldb_writebatch_create();
    leveldb_options_set_create_if_missing(s->options, 1);
    leveldb_options_set_error_if_exists(s->options, 1);
    leveldb_options_set_block_size(s->options, BLOCK);
    leveldb_options_set_compression(s->options, leveldb_snappy_compression);
    s->db = leveldb_open(s->options, fresh, &why);
    err = failed(s, why);
    if (err)
        close_store(s);
    else
        *out = s;
    return err;
}

static int flush(struct store *s)
{
    char *why = NULL;

    leveldb_write(s->db, s->how, s->batch, &why);
    leveldb_writebatch_clear(s->batch);
    s->pending = 0;
    return failed(s, why);
}

static int put(void *store, const char *key, const void *record, size_t size)
{
    struct store *s = store;

    leveldb_writebatch_put(s->batch, key, strlen(key), record, size);
    s->pending += size;
    return s->pending < BATCH_BYTES ? FERRY_OK : flush(s);
}

/* Forces the latest writes to the disk; they are in a log, and the last batch syncs it. */
static int sync_store(void *store)
{
    struct store *s = store;

    leveldb_writeoptions_set_sync(s->how, 1);
    return flush(s);
}

#else

static int open_store(const char *fresh, const char *folder, void **out)
{
    (void)fresh;
    (void)out;
    return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: ferry was built without libleveldb",
                           folder);
}

/* Never called, because there is no store. */
static int put(void *store, const char *key, const void *record, size_t size)
{
    (void)store;
    (void)record;
    (void)size;
    return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: ferry was built without libleveldb", key);
}

static int sync_store(void *store)
{
    return put(store, "", NULL, 0);
}

static void close_store(void *store)
{
    (void)store;
}

#endif

const struct dataset_backend dataset_leveldb = {
    .name = "leveldb", .open = open_store, .put = put, .sync = sync_store, .close = close_store
};
