/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/data/leveldb/manifest.h"

#include "net/data/leveldb/bytes.h"
#include "net/data/leveldb/key.h"
#include "net/data/leveldb/log.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

enum { COMPARATOR = 1, LOG_NUMBER, NEXT_FILE, LAST_WRITE, COMPACT_POINTER, DELETED_FILE, NEW_FILE };
enum { OTHER_LOG = 9, MOST_LEVELS = 7 };

/* A record's change of a table; the last change of a table is valid. */
struct change {
    uint64_t level, number;
    size_t order;
    bool added;
    unsigned char *smallest; /* for an added table: its smallest key, as in the file */
    size_t size;
};

struct reading {
    struct ferry__leveldb_log log;
    struct change *changes;
    size_t count, room;
    struct ferry__leveldb_manifest *out;
};

/* ---- records --------------------------------------------------------------------------------- */

static int damaged(const struct reading *r, const char *why)
{
    return ferry__leveldb_damaged(&r->log.file, r->log.begin, why);
}

static int add_change(struct reading *r, struct change change, struct ferry__span smallest)
{
    struct change *grown;

    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 64;

        grown = realloc(r->changes, room * sizeof *grown);
        if (!grown)
            return ferry__leveldb_no_memory(r->log.file.folder);
        r->changes = grown;
        r->room = room;
    }
    change.order = r->count;
    change.size = smallest.left;
    if (change.added) {
        change.smallest = malloc(smallest.left);
        if (!change.smallest)
            return ferry__leveldb_no_memory(r->log.file.folder);
        memcpy(change.smallest, smallest.at, smallest.left);
    }
    r->changes[r->count++] = change;
    return FERRY_OK;
}

static int take_table(struct reading *r, struct ferry__span *s, bool added)
{
    struct change change = { .added = added };
    struct ferry__span smallest = { NULL, 0 }, largest;
    uint64_t size;

    if (!ferry__span_varint(s, MOST_LEVELS - 1, &change.level) ||
        !ferry__span_varint(s, UINT64_MAX, &change.number))
        return damaged(r, "a table's level or number is wrong");
    if (added && (!ferry__span_varint(s, UINT64_MAX, &size) || !ferry__span_string(s, &smallest) ||
                  !ferry__span_string(s, &largest) || smallest.left < 8))
        return damaged(r, "a table's keys are wrong");
    return add_change(r, change, smallest);
}

static int take_comparator(const struct reading *r, struct ferry__span *s)
{
    static const char bytewise[] = "leveldb.BytewiseComparator";
    struct ferry__span name;

    if (!ferry__span_string(s, &name))
        return damaged(r, "the name of the keys' order is truncated");
    if (name.left == sizeof bytewise - 1 && !memcmp(name.at, bytewise, name.left))
        return FERRY_OK;
    return ferry_error_set(FERRY_EUNSUPPORTED,
                           "%.400s: LevelDB: %s: its keys are in the order \"%.*s\", only %s is "
                           "supported",
                           r->log.file.folder, r->log.file.name,
                           (int)(name.left < 80 ? name.left : 80), (const char *)name.at, bytewise);
}

static int take_pointer(const struct reading *r, struct ferry__span *s)
{
    struct ferry__span key;
    uint64_t level;

    return ferry__span_varint(s, UINT32_MAX, &level) && ferry__span_string(s, &key)
               ? FERRY_OK
               : damaged(r, "a compaction's position is truncated");
}

static int take_number(const struct reading *r, struct ferry__span *s, uint64_t *out)
{
    return ferry__span_varint(s, UINT64_MAX, out) ? FERRY_OK : damaged(r, "a number is truncated");
}

static int take_field(struct reading *r, uint64_t tag, struct ferry__span *s)
{
    uint64_t unused;

    switch (tag) {
    case COMPARATOR:
        return take_comparator(r, s);
    case LOG_NUMBER:
        return take_number(r, s, &r->out->first_log);
    case OTHER_LOG:
        return take_number(r, s, &r->out->other_log);
    case NEXT_FILE:
    case LAST_WRITE:
        return take_number(r, s, &unused);
    case COMPACT_POINTER:
        return take_pointer(r, s);
    case DELETED_FILE:
    case NEW_FILE:
        return take_table(r, s, tag == NEW_FILE);
    default:
        return damaged(r, "a record has an unknown field");
    }
}

static int read_records(struct reading *r)
{
    bool end = false;
    int err = FERRY_OK;
    size_t n = 0;

    while (!err) {
        struct ferry__span s;
        uint64_t tag;

        err = ferry__leveldb_log_next(&r->log, &end);
        if (err || end)
            break;
        s = (struct ferry__span){ r->log.record, r->log.size };
        for (n++; !err && s.left;)
            err = ferry__span_varint(&s, UINT32_MAX, &tag) ? take_field(r, tag, &s)
                                                           : damaged(r, "a field is truncated");
    }
    return !err && !n ? ferry__leveldb_damaged(&r->log.file, 0, "it has no records") : err;
}

/*
 * ---- live tables --------------------------------------------------------------------------------
 */

static int by_table(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_key(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    struct ferry__leveldb_key k = { x->smallest, x->size - 8,
                                    ferry__le(x->smallest + x->size - 8, 8) };
    struct ferry__leveldb_key l = { y->smallest, y->size - 8,
                                    ferry__le(y->smallest + y->size - 8, 8) };
    int order = x->level == y->level ? ferry__leveldb_compare(&k, &l) : 0;

    return order ? order : by_table(a, b);
}

static void drop(struct change *change)
{
    free(change->smallest);
    change->smallest = NULL;
}

/* Keeps the changes that added a table which still exists. */
static void keep_live(struct reading *r)
{
    size_t i, n = 0;

    if (r->count)
        qsort(r->changes, r->count, sizeof *r->changes, by_table);
    for (i = 0; i < r->count; i++) {
        struct change *c = &r->changes[i];
        bool latest = i + 1 == r->count || c[1].level != c->level || c[1].number != c->number;

        if (latest && c->added)
            r->changes[n++] = *c;
        else
            drop(c);
    }
    r->count = n;
    if (n)
        qsort(r->changes, n, sizeof *r->changes, by_key);
}

static int list_tables(struct reading *r)
{
    struct ferry__leveldb_tables *t = &r->out->tables;
    size_t i;

    t->numbers = calloc(r->count + 1, sizeof *t->numbers);
    t->begins = calloc(r->count + 2, sizeof *t->begins);
    if (!t->numbers || !t->begins)
        return ferry__leveldb_no_memory(r->log.file.folder);
    for (i = 0; i < r->count; i++) {
        if (!i || !r->changes[i].level || r->changes[i].level != r->changes[i - 1].level)
            t->begins[t->sources++] = i;
        t->numbers[i] = r->changes[i].number;
    }
    t->begins[t->sources] = r->count;
    return FERRY_OK;
}

/* ---- CURRENT --------------------------------------------------------------------------------- */

/* Reads the only line of the file: the name of the manifest. */
static int read_current(const char *folder, char name[32])
{
    struct ferry__leveldb_file file;
    int err = ferry__leveldb_file_open(folder, "CURRENT", &file);
    size_t size;

    if (err)
        return err;
    size = (size_t)(file.size < 31 ? file.size : 31);
    err = ferry__leveldb_file_read(&file, 0, name, size);
    name[size] = 0;
    ferry__leveldb_file_close(&file);
    if (!err && (strncmp(name, "MANIFEST-", 9) != 0 || name[size - 1] != '\n' ||
                 strlen(name) != size || strchr(name, '/')))
        err = ferry__leveldb_damaged(&file, 0, "it does not name a manifest");
    name[size ? size - 1 : 0] = 0;
    return err;
}

int ferry__leveldb_manifest_read(const char *folder, struct ferry__leveldb_manifest *out)
{
    struct reading r = { .out = out };
    char name[32];
    int err = read_current(folder, name);
    size_t i;

    memset(out, 0, sizeof *out);
    if (err)
        return err;
    err = ferry__leveldb_log_open(folder, name, &r.log);
    if (!err)
        err = read_records(&r);
    if (!err) {
        keep_live(&r);
        err = list_tables(&r);
    }
    ferry__leveldb_log_close(&r.log);
    for (i = 0; i < r.count; i++)
        drop(&r.changes[i]);
    free(r.changes);
    if (err)
        ferry__leveldb_manifest_free(out);
    return err;
}

void ferry__leveldb_manifest_free(struct ferry__leveldb_manifest *manifest)
{
    free(manifest->tables.numbers);
    free(manifest->tables.begins);
    memset(manifest, 0, sizeof *manifest);
}
