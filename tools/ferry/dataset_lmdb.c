/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes LMDB databases. The map grows before it is full, because a transaction that fills the map
 * is lost.
 */
#include "dataset_store.h"

#include <ferry/status.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef FERRY_NET_HAVE_LMDB
#include <lmdb.h>

#define FIRST_MAP   ((size_t)64 << 20)
#define TRANSACTION 1000 /* the number of records of a transaction */

struct store {
    const char *folder;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    size_t map, used; /* in bytes; used: an upper bound of the bytes in use */
    int pending;      /* the number of records in the transaction */
};

static int failed(const struct store *s, int code)
{
    return ferry_error_set(code == ENOMEM ? FERRY_ENOMEM : FERRY_EIO, "%.400s: LMDB: %s", s->folder,
                           mdb_strerror(code));
}

static int begin(struct store *s)
{
    int code = mdb_txn_begin(s->env, NULL, 0, &s->txn);

    if (!code)
        code = mdb_dbi_open(s->txn, NULL, 0, &s->dbi);
    return code ? failed(s, code) : 0;
}

static void close_store(void *store)
{
    struct store *s = store;

    if (s->txn)
        mdb_txn_abort(s->txn);
    if (s->env)
        mdb_env_close(s->env);
    free(s);
}

static int open_store(const char *fresh, const char *folder, void **out)
{
    struct store *s = calloc(1, sizeof *s);
    int code, err;

    if (!s)
        return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", folder);
    s->folder = folder;
    s->map = FIRST_MAP;
    code = mdb_env_create(&s->env);
    if (!code)
        code = mdb_env_set_mapsize(s->env, s->map);
    if (!code)
        code = mdb_env_open(s->env, fresh, MDB_NOSYNC | MDB_NOLOCK, 0666);
    err = code ? failed(s, code) : begin(s);
    if (err)
        close_store(s);
    else
        *out = s;
    return err;
}

static int end_transaction(struct store *s)
{
    int code = mdb_txn_commit(s->txn);

    s->txn = NULL;
    s->pending = 0;
    return code ? failed(s, code) : 0;
}

/*
 * Makes room in the map. A record takes pages of its own, or part of one; two more pages cover the
 * tree above it.
 */
static int make_room(struct store *s, size_t size)
{
    size_t wanted = s->used + size + 2 * 4096;
    int code = 0, err;

    if (wanted <= s->map / 2 && s->pending < TRANSACTION) {
        s->used = wanted;
        return 0;
    }
    err = end_transaction(s);
    if (err)
        return err;
    if (wanted > s->map / 2) {
        while (wanted > s->map / 2 && s->map <= SIZE_MAX / 2)
            s->map *= 2;
        code = mdb_env_set_mapsize(s->env, s->map);
    }
    s->used = wanted;
    return code ? failed(s, code) : begin(s);
}

static int put(void *store, const char *key, const void *record, size_t size)
{
    struct store *s = store;
    MDB_val k = { strlen(key), (void *)(uintptr_t)key };
    MDB_val v = { size, (void *)(uintptr_t)record };
    int code, err = make_room(s, k.mv_size + v.mv_size);

    if (err)
        return err;
    code = mdb_put(s->txn, s->dbi, &k, &v, MDB_APPEND);
    s->pending++;
    return code ? failed(s, code) : 0;
}

static int sync_store(void *store)
{
    struct store *s = store;
    int code, err = end_transaction(s);

    if (err)
        return err;
    code = mdb_env_sync(s->env, 1);
    return code ? failed(s, code) : 0;
}

#else

static int open_store(const char *fresh, const char *folder, void **out)
{
    (void)fresh;
    (void)out;
    return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: ferry was built without liblmdb", folder);
}

/* Never called, because there is no store. */
static int put(void *store, const char *key, const void *record, size_t size)
{
    (void)store;
    (void)record;
    (void)size;
    return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: ferry was built without liblmdb", key);
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

const struct dataset_backend dataset_lmdb = {
    .name = "lmdb", .open = open_store, .put = put, .sync = sync_store, .close = close_store
};
