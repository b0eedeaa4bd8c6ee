/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What liblmdb trusts is looked at first: that the file is LMDB's, and as long as it says. Its pages are
 * believed as liblmdb believes them. No lock is taken: a training set is not written while it is read, and
 * two nets of one process may read the same one.
 */
#define _POSIX_C_SOURCE 200809L
#include "net/data/database.h"

#include <ferry/status.h>

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef FERRY_NET_HAVE_LMDB
#include <lmdb.h>
#endif

/* ---- which database ------------------------------------------------------------------------------ */

static int file_in(const char *folder, const char *name, char *out, size_t size)
{
    int length = snprintf(out, size, "%s/%s", folder, name);

    if (length < 0 || (size_t)length >= size)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", folder, strerror(ENAMETOOLONG));
    return FERRY_OK;
}

/* LMDB's number stands behind the header of the first page: 16 bytes of it, or 12 where pointers have 4. */
static int check_magic(const char *path)
{
    static const uint32_t magic = 0xBEEFC0DEu;
    unsigned char head[20];
    FILE *f = fopen(path, "re");
    size_t got;

    if (!f)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", path, strerror(errno));
    got = fread(head, 1, sizeof head, f);
    fclose(f);
    if (got == sizeof head && (!memcmp(head + 16, &magic, 4) || !memcmp(head + 12, &magic, 4)))
        return FERRY_OK;
    return ferry_error_set(FERRY_EFORMAT, "%.400s: it is no LMDB database", path);
}

/* The file of an LMDB database, or why there is none. */
static int find_file(const char *path, struct stat *about, char *file, size_t size)
{
    int err;

    if (stat(path, about) != 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", path, strerror(errno));
    if (!S_ISDIR(about->st_mode)) {
        if (strlen(path) >= size)
            return ferry_error_set(FERRY_EIO, "%.400s: %s", path, strerror(ENAMETOOLONG));
        strcpy(file, path);
        return check_magic(file);
    }
    err = file_in(path, "CURRENT", file, size);
    if (!err && access(file, F_OK) == 0)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%.400s: it is LevelDB, and LMDB can be read: make it again with "
                               "convert_imageset --backend=lmdb, or copy its records, keys and "
                               "values as they are, into an LMDB database",
                               path);
    if (!err)
        err = file_in(path, "data.mdb", file, size);
    if (!err && access(file, F_OK) != 0)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: a folder without data.mdb is no database",
                               path);
    return err ? err : check_magic(file);
}

#ifdef FERRY_NET_HAVE_LMDB

struct ferry__database {
    char *path;
    MDB_env *env;
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
};

/* ---- opening ------------------------------------------------------------------------------------ */

static int failed(const struct ferry__database *db, int code)
{
    bool damaged = code == MDB_INVALID || code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND ||
                   code == MDB_VERSION_MISMATCH;

    return ferry_error_set(damaged          ? FERRY_EFORMAT
                           : code == ENOMEM ? FERRY_ENOMEM
                                            : FERRY_EIO,
                           "%.400s: LMDB: %s", db->path, mdb_strerror(code));
}

static int check_length(const struct ferry__database *db, const char *file)
{
    MDB_envinfo info;
    MDB_stat stats;
    struct stat about;
    int code = mdb_env_info(db->env, &info);

    if (!code)
        code = mdb_env_stat(db->env, &stats);
    if (code)
        return failed(db, code);
    if (stat(file, &about) != 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", file, strerror(errno));
    if (!stats.ms_psize || about.st_size < 0 ||
        info.me_last_pgno >= (uint64_t)about.st_size / stats.ms_psize)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: it is cut off: %lld bytes, and %llu pages",
                               file, (long long)about.st_size,
                               (unsigned long long)info.me_last_pgno + 1);
    return FERRY_OK;
}

static int begin(struct ferry__database *db)
{
    MDB_dbi dbi;
    int code = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &db->txn);

    if (!code)
        code = mdb_dbi_open(db->txn, NULL, 0, &dbi);
    if (!code)
        code = mdb_cursor_open(db->txn, dbi, &db->cursor);
    if (!code)
        code = mdb_cursor_get(db->cursor, &db->key, &db->value, MDB_FIRST);
    if (code == MDB_NOTFOUND)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: it has no records", db->path);
    return code ? failed(db, code) : FERRY_OK;
}

static int open_env(struct ferry__database *db, const char *path, const char *file, bool folder)
{
    unsigned flags = MDB_RDONLY | MDB_NOTLS | MDB_NOLOCK | (folder ? 0 : (unsigned)MDB_NOSUBDIR);
    int err, code = mdb_env_create(&db->env);

    if (!code)
        code = mdb_env_open(db->env, path, flags, 0444);
    if (code)
        return failed(db, code);
    err = check_length(db, file);
    return err ? err : begin(db);
}

int ferry__database_open(const char *path, struct ferry__database **out)
{
    struct ferry__database *db;
    struct stat about;
    char file[4096];
    int err = find_file(path, &about, file, sizeof file);

    if (err)
        return err;
    db = calloc(1, sizeof *db);
    if (db)
        db->path = strdup(path);
    if (!db || !db->path) {
        free(db);
        return ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for a database", path);
    }
    err = open_env(db, path, file, S_ISDIR(about.st_mode));
    if (err)
        ferry__database_close(db);
    else
        *out = db;
    return err;
}

void ferry__database_close(struct ferry__database *db)
{
    if (!db)
        return;
    if (db->cursor)
        mdb_cursor_close(db->cursor);
    if (db->txn)
        mdb_txn_abort(db->txn);
    if (db->env)
        mdb_env_close(db->env);
    free(db->path);
    free(db);
}

/* ---- records ------------------------------------------------------------------------------------ */

void ferry__database_record(const struct ferry__database *db, const void **out, size_t *out_size)
{
    *out = db->value.mv_data;
    *out_size = db->value.mv_size;
}

void ferry__database_name(const struct ferry__database *db, char *buf, size_t size)
{
    const unsigned char *key = db->key.mv_data;
    size_t at, i;
    int length = snprintf(buf, size, "%.400s: record ", db->path);

    if (length < 0 || (size_t)length >= size)
        return;
    for (at = (size_t)length, i = 0; i < db->key.mv_size && at + 1 < size; i++)
        buf[at++] = isprint(key[i]) ? (char)key[i] : '?';
    buf[at] = 0;
}

static int go(struct ferry__database *db, MDB_cursor_op where)
{
    MDB_val key, value;
    int code = mdb_cursor_get(db->cursor, &key, &value, where);

    if (code == MDB_NOTFOUND && where == MDB_NEXT)
        code = mdb_cursor_get(db->cursor, &key, &value, MDB_FIRST);
    if (code)
        return failed(db, code);
    db->key = key;
    db->value = value;
    return FERRY_OK;
}

int ferry__database_step(struct ferry__database *db)
{
    return go(db, MDB_NEXT);
}

int ferry__database_seek(struct ferry__database *db, uint64_t steps)
{
    MDB_stat stats;
    int code = mdb_stat(db->txn, mdb_cursor_dbi(db->cursor), &stats), err;

    if (code)
        return failed(db, code);
    err = go(db, MDB_FIRST);
    for (steps %= stats.ms_entries ? stats.ms_entries : 1; !err && steps; steps--)
        err = go(db, MDB_NEXT);
    return err;
}

#else

int ferry__database_open(const char *path, struct ferry__database **out)
{
    struct stat about;
    char file[4096];
    int err = find_file(path, &about, file, sizeof file);

    (void)out;
    return err ? err
               : ferry_error_set(FERRY_EUNSUPPORTED,
                                 "%.400s: it is LMDB; this ferry was built without liblmdb", path);
}

/* There is never an open one. */
void ferry__database_close(struct ferry__database *db)
{
    (void)db;
}

void ferry__database_record(const struct ferry__database *db, const void **out, size_t *out_size)
{
    (void)db;
    *out = NULL;
    *out_size = 0;
}

void ferry__database_name(const struct ferry__database *db, char *buf, size_t size)
{
    (void)db;
    snprintf(buf, size, "no database");
}

int ferry__database_step(struct ferry__database *db)
{
    (void)db;
    return ferry_error_set(FERRY_EUNSUPPORTED, "this ferry was built without liblmdb");
}

int ferry__database_seek(struct ferry__database *db, uint64_t steps)
{
    (void)steps;
    return ferry__database_step(db);
}

#endif
