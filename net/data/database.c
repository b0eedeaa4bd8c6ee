/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detects the database at a path. No lock is taken: a training set is not written while it is read,
 * and two nets of one process may read the same database.
 */
#define _POSIX_C_SOURCE 200809L
#include "net/data/database.h"

#include "net/data/leveldb/leveldb.h"
#include "net/data/lmdb.h"

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

/*
 * ---- detecting the format
 * ------------------------------------------------------------------------
 */

static int file_in(const char *folder, const char *name, char *out, size_t size)
{
    int length = snprintf(out, size, "%s/%s", folder, name);

    if (length < 0 || (size_t)length >= size)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", folder, strerror(ENAMETOOLONG));
    return FERRY_OK;
}

/*
 * Finds the file of an LMDB database, or detects a folder of LevelDB; reports a path that is
 * neither.
 */
static int find_file(const char *path, char *file, size_t size, bool *out_leveldb)
{
    struct stat about;
    int err;

    *out_leveldb = false;
    if (stat(path, &about) != 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", path, strerror(errno));
    if (!S_ISDIR(about.st_mode)) {
        if (strlen(path) >= size)
            return ferry_error_set(FERRY_EIO, "%.400s: %s", path, strerror(ENAMETOOLONG));
        strcpy(file, path);
        return FERRY_OK;
    }
    err = file_in(path, "CURRENT", file, size);
    *out_leveldb = !err && access(file, F_OK) == 0;
    if (err || *out_leveldb)
        return err;
    err = file_in(path, "data.mdb", file, size);
    if (!err && access(file, F_OK) != 0)
        return ferry_error_set(FERRY_EFORMAT,
                               "%.400s: a folder without data.mdb (LMDB) or CURRENT (LevelDB) is "
                               "not a database",
                               path);
    return err;
}

/* An open database; one of the two pointers is set. */
struct ferry__database {
    char *path;
    struct ferry__lmdb *lmdb;
    struct ferry__leveldb *leveldb;
};

int ferry__database_open(const char *path, struct ferry__database **out)
{
    struct ferry__database *db;
    char file[4096];
    bool leveldb;
    int err = find_file(path, file, sizeof file, &leveldb);

    if (err)
        return err;
    db = calloc(1, sizeof *db);
    if (db)
        db->path = strdup(path);
    if (!db || !db->path)
        err = ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for a database", path);
    else if (leveldb)
        err = ferry__leveldb_open(path, &db->leveldb);
    else
        err = ferry__lmdb_open(file, path, &db->lmdb);
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
    ferry__lmdb_close(db->lmdb);
    ferry__leveldb_close(db->leveldb);
    free(db->path);
    free(db);
}

/* ---- records --------------------------------------------------------------------------------- */

void ferry__database_record(const struct ferry__database *db, const void **out, size_t *out_size)
{
    if (db->leveldb)
        ferry__leveldb_value(db->leveldb, out, out_size);
    else
        ferry__lmdb_value(db->lmdb, out, out_size);
}

void ferry__database_name(const struct ferry__database *db, char *buf, size_t size)
{
    const unsigned char *key;
    size_t key_size, at, i;
    int length = snprintf(buf, size, "%.400s: record ", db->path);

    if (length < 0 || (size_t)length >= size)
        return;
    if (db->leveldb)
        ferry__leveldb_key(db->leveldb, &key, &key_size);
    else
        ferry__lmdb_key(db->lmdb, &key, &key_size);
    for (at = (size_t)length, i = 0; i < key_size && at + 1 < size; i++)
        buf[at++] = isprint(key[i]) ? (char)key[i] : '?';
    buf[at] = 0;
}

int ferry__database_step(struct ferry__database *db)
{
    return db->leveldb ? ferry__leveldb_next(db->leveldb) : ferry__lmdb_next(db->lmdb);
}

int ferry__database_seek(struct ferry__database *db, uint64_t steps)
{
    return db->leveldb ? ferry__leveldb_seek(db->leveldb, steps)
                       : ferry__lmdb_seek(db->lmdb, steps);
}
