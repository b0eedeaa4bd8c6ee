/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages are numbered from 0; pages 0 and 1 are meta pages, of which the one with the higher
 * transaction number is valid. The main database is a B+tree: branch pages of keys and page
 * numbers, leaf pages of keys and values, and runs of overflow pages for values that do not fit
 * into a leaf.
 */
#define _POSIX_C_SOURCE 200809L
#include "net/data/lmdb.h"

#include <ferry/status.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the format ------------------------------------------------------------------------------ */

#define MAGIC   UINT32_C(0xBEEFC0DE)
#define VERSION 1

enum { PAGE_HEADER = 16, NODE_HEADER = 8, META_BYTES = 152, LEAST_PAGE = 256, MOST_PAGE = 32768 };
/* offsets in a page */
enum { AT_PGNO = 0, AT_FLAGS = 10, AT_LOWER = 12, AT_UPPER = 14, AT_PAGES = 12 };
enum { IS_BRANCH = 1, IS_LEAF = 2, IS_OVERFLOW = 4, IS_META = 8, IS_LEAF2 = 32, IS_SUB = 64 };
enum { KINDS = IS_BRANCH | IS_LEAF | IS_OVERFLOW | IS_META | IS_LEAF2 | IS_SUB };
enum { AT_NODE_FLAGS = 4, AT_KEY_SIZE = 6, BIG_DATA = 1, SUB_DATABASE = 2, DUPLICATE_DATA = 4 };
enum { REVERSE_KEY = 2, DUPLICATES = 4, INTEGER_KEY = 8 }; /* flags of a database */
enum { AT_MAGIC = 16, AT_VERSION = 20, AT_PAGE_SIZE = 40, AT_MAIN = 88, AT_LAST = 136 };
enum { AT_TXN = 144, MAIN_FLAGS = 4, MAIN_DEPTH = 6, MAIN_ENTRIES = 32, MAIN_ROOT = 40 };

/* liblmdb's limit for the depth of a tree. */
#define MOST_LEVELS 32

/* The size of one read of consecutive leaves. */
#define MOST_AHEAD (256u * 1024)

static uint64_t read_le(const unsigned char *p, int bytes)
{
    uint64_t value = 0;

    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

static unsigned read16(const unsigned char *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

/* ---- the file -------------------------------------------------------------------------------- */

/*
 * A page on the path from the root to the record: branches are copies, the leaf is in the window.
 */
struct level {
    unsigned char *page; /* allocated, except for the leaf */
    int index, count;    /* the current node of the page, and the number of its nodes */
};

struct ferry__lmdb {
    int fd;
    char *name;
    size_t page_size;
    uint64_t pages; /* the number of pages in use, from the newest meta page */
    uint64_t root;
    bool reversed; /* keys are compared starting with their last byte */
    int depth;
    struct level levels[MOST_LEVELS];
    unsigned char *window; /* MOST_AHEAD bytes; `held` of them are the file's bytes from
                            * window_at on */
    uint64_t window_at;
    size_t held, ahead;
    unsigned char *key; /* page_size bytes */
    size_t key_size;
    bool begun; /* `key` is the key of the previous record */
    const unsigned char *value;
    unsigned char *large; /* the bytes of overflow pages */
    size_t value_size, room;
};

static int damaged(const struct ferry__lmdb *db, uint64_t page, const char *what)
{
    return ferry_error_set(FERRY_EFORMAT, "%.400s: LMDB: page %llu: %s", db->name,
                           (unsigned long long)page, what);
}

static int no_memory(const char *name)
{
    return ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for a database", name);
}

/* Reads up to `size` bytes; *out_got is less only at the end of the file. */
static int read_some(const struct ferry__lmdb *db, uint64_t at, void *to, size_t size,
                     size_t *out_got)
{
    size_t all = 0;

    while (all < size) {
        ssize_t got = pread(db->fd, (char *)to + all, size - all, (off_t)(at + all));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ferry_error_set(FERRY_EIO, "%.400s: LMDB: reading at byte %llu: %s", db->name,
                                   (unsigned long long)(at + all), strerror(errno));
        if (got == 0)
            break;
        all += (size_t)got;
    }
    *out_got = all;
    return FERRY_OK;
}

static int read_whole(const struct ferry__lmdb *db, uint64_t page, size_t offset, void *to,
                      size_t size)
{
    size_t got;
    int err = read_some(db, page * db->page_size + offset, to, size, &got);

    return err || got == size ? err : damaged(db, page, "the file is truncated inside the page");
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Checks that a page has the type that its parent requires. */
static int check_page(const struct ferry__lmdb *db, const unsigned char *p, uint64_t page,
                      unsigned kind)
{
    unsigned lower = read16(p + AT_LOWER), upper = read16(p + AT_UPPER);

    if (read_le(p + AT_PGNO, 8) != page)
        return damaged(db, page, "it has the number of another page");
    if ((read16(p + AT_FLAGS) & KINDS) != kind)
        return damaged(db, page,
                       kind == IS_LEAF ? "it is not a leaf"
                                       : (kind == IS_BRANCH ? "it is not a branch"
                                                            : "it is not an overflow page"));
    if (kind == IS_OVERFLOW)
        return FERRY_OK;
    if (lower <= PAGE_HEADER || lower % 2 || lower > upper || upper > db->page_size)
        return damaged(db, page, "its used space is invalid");
    return FERRY_OK;
}

static int check_number(const struct ferry__lmdb *db, uint64_t page)
{
    return page >= 2 && page < db->pages
               ? FERRY_OK
               : ferry_error_set(FERRY_EFORMAT,
                                 "%.400s: LMDB: page %llu does not exist; %llu are in use",
                                 db->name, (unsigned long long)page, (unsigned long long)db->pages);
}

/* Reads a leaf through the window: reads grow as long as leaves are consecutive. */
static int find_leaf(struct ferry__lmdb *db, uint64_t page, unsigned char **out)
{
    uint64_t at = page * db->page_size;
    int err;

    if (at < db->window_at || at + db->page_size > db->window_at + db->held) {
        uint64_t end = db->window_at + db->held;
        bool follows = at >= end && at - end <= 4 * db->page_size;

        db->ahead = follows && db->held ? 2 * db->ahead : db->page_size;
        if (db->ahead > MOST_AHEAD)
            db->ahead = MOST_AHEAD;
        db->held = 0;
        err = read_some(db, at, db->window, db->ahead, &db->held);
        if (err)
            return err;
        db->window_at = at;
        if (db->held < db->page_size)
            return damaged(db, page, "the file is truncated inside the page");
    }
    *out = db->window + (at - db->window_at);
    return FERRY_OK;
}

/* Reads the page of a level and moves the level to its first node. */
static int load(struct ferry__lmdb *db, int at, uint64_t page)
{
    struct level *level = &db->levels[at];
    bool leaf = at == db->depth - 1;
    int err = check_number(db, page);

    level->count = 0;
    if (err)
        return err;
    if (leaf) {
        err = find_leaf(db, page, &level->page);
    } else {
        if (!level->page)
            level->page = malloc(db->page_size);
        err =
            level->page ? read_whole(db, page, 0, level->page, db->page_size) : no_memory(db->name);
    }
    if (!err)
        err = check_page(db, level->page, page, leaf ? IS_LEAF : IS_BRANCH);
    if (err)
        return err;
    level->index = 0;
    level->count = (int)(read16(level->page + AT_LOWER) - PAGE_HEADER) / 2;
    return FERRY_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct node {
    const unsigned char *at, *key;
    size_t key_size, left; /* the size of the key, and the bytes of the page after it */
};

static int find_node(const struct ferry__lmdb *db, const struct level *level, struct node *out)
{
    const unsigned char *page = level->page;
    size_t offset = read16(page + PAGE_HEADER + 2 * (size_t)level->index);
    uint64_t number = read_le(page + AT_PGNO, 8);

    if (offset < read16(page + AT_LOWER) || offset + NODE_HEADER > db->page_size)
        return damaged(db, number, "a node is outside of the page");
    out->at = page + offset;
    out->key = out->at + NODE_HEADER;
    out->key_size = read16(out->at + AT_KEY_SIZE);
    if (out->key_size > db->page_size - offset - NODE_HEADER)
        return damaged(db, number, "a key ends outside of the page");
    out->left = db->page_size - offset - NODE_HEADER - out->key_size;
    return FERRY_OK;
}

/* Descends from a level, whose page is loaded, along first nodes. */
static int descend(struct ferry__lmdb *db, int from)
{
    int i, err = FERRY_OK;

    for (i = from; !err && i < db->depth - 1; i++) {
        struct node node;

        err = find_node(db, &db->levels[i], &node);
        if (!err)
            err = load(db, i + 1, read_le(node.at, 6));
    }
    return err;
}

/* Compares two keys. Negative, 0 or positive: a is before, equal to, or after b. */
static int compare(const struct ferry__lmdb *db, const struct node *a)
{
    const unsigned char *b = db->key;
    size_t n = a->key_size < db->key_size ? a->key_size : db->key_size, i;
    int order = 0;

    if (!db->reversed)
        order = memcmp(a->key, b, n);
    for (i = 1; db->reversed && !order && i <= n; i++)
        order = a->key[a->key_size - i] - b[db->key_size - i];
    return order ? order : (a->key_size > db->key_size) - (a->key_size < db->key_size);
}

/* Reads the key of the current node: it must be greater than the previous one. */
static int take_key(struct ferry__lmdb *db, struct node *out)
{
    const struct level *leaf = &db->levels[db->depth - 1];
    uint64_t number = read_le(leaf->page + AT_PGNO, 8);
    int err = find_node(db, leaf, out);

    if (err)
        return err;
    if (!out->key_size)
        return damaged(db, number, "a key is empty");
    if (db->begun && compare(db, out) <= 0)
        return damaged(db, number, "its keys are not in ascending order");
    memcpy(db->key, out->key, out->key_size);
    db->key_size = out->key_size;
    db->begun = true;
    return FERRY_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int grow(struct ferry__lmdb *db, size_t size)
{
    unsigned char *grown;

    if (size <= db->room)
        return FERRY_OK;
    grown = realloc(db->large, size);
    if (!grown)
        return no_memory(db->name);
    db->large = grown;
    db->room = size;
    return FERRY_OK;
}

/*
 * Reads a value on overflow pages, which repeat its length: allocates no more memory than the file
 * has bytes.
 */
static int take_large(struct ferry__lmdb *db, uint64_t page, size_t size)
{
    unsigned char header[PAGE_HEADER];
    uint64_t pages = ((uint64_t)size + PAGE_HEADER + db->page_size - 1) / db->page_size;
    int err = check_number(db, page);

    if (!err && pages > db->pages - page)
        err = damaged(db, page, "its value ends after the last page");
    if (!err)
        err = read_whole(db, page, 0, header, sizeof header);
    if (!err)
        err = check_page(db, header, page, IS_OVERFLOW);
    if (!err && read_le(header + AT_PAGES, 4) < pages)
        err = damaged(db, page, "its value has too few pages");
    if (!err)
        err = grow(db, size);
    if (!err)
        err = read_whole(db, page, PAGE_HEADER, db->large, size);
    if (!err)
        db->value = db->large;
    return err;
}

static int take_value(struct ferry__lmdb *db, const struct node *node)
{
    const struct level *leaf = &db->levels[db->depth - 1];
    uint64_t number = read_le(leaf->page + AT_PGNO, 8);
    size_t size = (size_t)read_le(node->at, 4);
    unsigned flags = read16(node->at + AT_NODE_FLAGS);
    const unsigned char *data = node->key + node->key_size;
    int err = FERRY_OK;

    if (flags & ~(unsigned)(BIG_DATA | SUB_DATABASE | DUPLICATE_DATA))
        return damaged(db, number, "a record has unknown flags");
    if (flags & ~(unsigned)BIG_DATA)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%.400s: LMDB: page %llu: a record is a named database", db->name,
                               (unsigned long long)number);
    if (flags & BIG_DATA ? node->left < 8 : node->left < size)
        return damaged(db, number, "a value ends outside of the page");
    if (flags & BIG_DATA)
        err = take_large(db, read_le(data, 8), size);
    else
        db->value = data;
    if (!err)
        db->value_size = size;
    return err;
}

/*
 * ---- stepping -----------------------------------------------------------------------------------
 */

/* Moves to the first record, without reading its value. */
static int go_first(struct ferry__lmdb *db, struct node *out)
{
    int err;

    db->begun = false;
    err = load(db, 0, db->root);
    if (!err)
        err = descend(db, 0);
    return err ? err : take_key(db, out);
}

/* Moves to the next record, without reading its value; *out_wrapped: it is the first again. */
static int go_next(struct ferry__lmdb *db, struct node *out, bool *out_wrapped)
{
    int i = db->depth - 1, err;

    *out_wrapped = false;
    while (i >= 0 && db->levels[i].index + 1 >= db->levels[i].count)
        i--;
    if (i < 0) {
        *out_wrapped = true;
        return go_first(db, out);
    }
    db->levels[i].index++;
    err = FERRY_OK;
    if (i < db->depth - 1) {
        struct node node;

        err = find_node(db, &db->levels[i], &node);
        if (!err)
            err = load(db, i + 1, read_le(node.at, 6));
        if (!err)
            err = descend(db, i + 1);
    }
    return err ? err : take_key(db, out);
}

int ferry__lmdb_next(struct ferry__lmdb *db)
{
    struct node node;
    bool wrapped;
    int err = go_next(db, &node, &wrapped);

    return err ? err : take_value(db, &node);
}

int ferry__lmdb_seek(struct ferry__lmdb *db, uint64_t steps)
{
    uint64_t left = steps, walked = 0;
    struct node node;
    bool wrapped;
    int err = go_first(db, &node);

    while (!err && left) {
        err = go_next(db, &node, &wrapped);
        walked++;
        left--;
        if (wrapped) /* the database has `walked` records */
            left %= walked;
        walked = wrapped ? 0 : walked;
    }
    return err ? err : take_value(db, &node);
}

void ferry__lmdb_key(const struct ferry__lmdb *db, const unsigned char **out, size_t *out_size)
{
    *out = db->key;
    *out_size = db->key_size;
}

void ferry__lmdb_value(const struct ferry__lmdb *db, const void **out, size_t *out_size)
{
    *out = db->value;
    *out_size = db->value_size;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Reads one of the two meta pages: META_BYTES from byte `at` on. */
static int read_meta(struct ferry__lmdb *db, uint64_t at, unsigned char *meta)
{
    size_t got;
    int err = read_some(db, at, meta, META_BYTES, &got);

    if (err)
        return err;
    memset(meta + got, 0, META_BYTES - got);
    if (!at && read_le(meta + AT_MAGIC, 4) != MAGIC && read_le(meta + 12, 4) == MAGIC)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%.400s: LMDB: a 32-bit machine has written it; mdb_dump there and "
                               "mdb_load here convert it",
                               db->name);
    if (!(read16(meta + AT_FLAGS) & IS_META) || read_le(meta + AT_MAGIC, 4) != MAGIC)
        return ferry_error_set(FERRY_EFORMAT,
                               "%.400s: it is not an LMDB database: no meta page at byte %llu",
                               db->name, (unsigned long long)at);
    if (got < META_BYTES)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: LMDB: it is truncated in its first pages",
                               db->name);
    if (read_le(meta + AT_VERSION, 4) != VERSION)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%.400s: LMDB: data version %llu, only 1 is supported", db->name,
                               (unsigned long long)read_le(meta + AT_VERSION, 4));
    return FERRY_OK;
}

static int check_length(const struct ferry__lmdb *db)
{
    struct stat about;

    if (fstat(db->fd, &about) != 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", db->name, strerror(errno));
    if (about.st_size < 0 || db->pages > (uint64_t)about.st_size / db->page_size)
        return ferry_error_set(FERRY_EFORMAT, "%.400s: it is truncated: %lld bytes, but %llu pages",
                               db->name, (long long)about.st_size, (unsigned long long)db->pages);
    return FERRY_OK;
}

/* Takes the main database's description from the newer meta page. */
static int take_meta(struct ferry__lmdb *db, const unsigned char *meta)
{
    const unsigned char *main_db = meta + AT_MAIN;
    unsigned flags = read16(main_db + MAIN_FLAGS);
    uint64_t last = read_le(meta + AT_LAST, 8);
    int err;

    db->pages = last + 1;
    err = last == UINT64_MAX ? damaged(db, last, "it cannot be the last page") : check_length(db);
    if (err)
        return err;
    db->depth = (int)read16(main_db + MAIN_DEPTH);
    db->root = read_le(main_db + MAIN_ROOT, 8);
    db->reversed = flags & (REVERSE_KEY | INTEGER_KEY); /* integers are little-endian */
    if (flags & DUPLICATES)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: LMDB: its keys may have duplicates",
                               db->name);
    if (db->root == UINT64_MAX || !read_le(main_db + MAIN_ENTRIES, 8))
        return ferry_error_set(FERRY_EFORMAT, "%.400s: it has no records", db->name);
    if (db->depth < 1 || db->depth > MOST_LEVELS)
        return damaged(db, db->root, "the tree has a wrong depth");
    return FERRY_OK;
}

static int read_metas(struct ferry__lmdb *db)
{
    unsigned char first[META_BYTES], second[META_BYTES];
    int err = read_meta(db, 0, first);

    if (err)
        return err;
    db->page_size = (size_t)read_le(first + AT_PAGE_SIZE, 4);
    if (db->page_size < LEAST_PAGE || db->page_size > MOST_PAGE ||
        (db->page_size & (db->page_size - 1)))
        return damaged(db, 0, "the page size is invalid");
    err = read_meta(db, db->page_size, second);
    if (err)
        return err;
    if (read_le(second + AT_PAGE_SIZE, 4) != db->page_size)
        return damaged(db, 1, "its page size differs");
    return take_meta(db, read_le(second + AT_TXN, 8) > read_le(first + AT_TXN, 8) ? second : first);
}

static int open_file(struct ferry__lmdb *db, const char *file)
{
    struct stat about;

    db->fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (db->fd < 0 || fstat(db->fd, &about) != 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", file, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return ferry_error_set(FERRY_EIO, "%.400s: is not a regular file", file);
    return FERRY_OK;
}

int ferry__lmdb_open(const char *file, const char *name, struct ferry__lmdb **out)
{
    struct ferry__lmdb *db = calloc(1, sizeof *db);
    struct node node;
    int err;

    if (!db)
        return no_memory(name);
    db->fd = -1;
    db->name = strdup(name);
    err = db->name ? open_file(db, file) : no_memory(name);
    if (!err)
        err = read_metas(db);
    if (!err) {
        db->key = malloc(db->page_size);
        db->window = malloc(MOST_AHEAD);
        err = db->key && db->window ? go_first(db, &node) : no_memory(name);
    }
    if (!err)
        err = take_value(db, &node);
    if (err)
        ferry__lmdb_close(db);
    else
        *out = db;
    return err;
}

void ferry__lmdb_close(struct ferry__lmdb *db)
{
    if (!db)
        return;
    for (int i = 0; i < db->depth - 1 && i < MOST_LEVELS; i++)
        free(db->levels[i].page);
    if (db->fd >= 0)
        close(db->fd);
    free(db->window);
    free(db->key);
    free(db->large);
    free(db->name);
    free(db);
}
