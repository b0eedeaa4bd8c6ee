/* SPDX-License-Identifier: BSD-2-Clause */
#define _DEFAULT_SOURCE
#include "op/origin.h"

#include <ferry/status.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* An origin is the owner of its memory's host copy, `bytes`. */
struct ferry__origin {
    struct ferry__origin *next; /* in its list; protected by the shared lock */
    const ferry_memory *memory; /* NULL: forgotten */
    void *bytes;
    size_t size;
    ferry__origin_fill fill;
    void (*end)(void *arg);
    void *arg;
    pthread_mutex_t lock; /* protects the following members */
    unsigned readers;
    bool filled, kept;
};

/* The origins by the address of their memory. */
#define LISTS 256

static struct {
    pthread_rwlock_t lock;
    struct ferry__origin *list[LISTS];
} shared = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static struct ferry__origin **list_of(const ferry_memory *memory)
{
    uint64_t n = (uint64_t)(uintptr_t)memory * UINT64_C(0x9e3779b97f4a7c15);

    return &shared.list[n >> 56];
}

static struct ferry__origin *find(const ferry_memory *memory)
{
    struct ferry__origin *s;

    pthread_rwlock_rdlock(&shared.lock);
    for (s = *list_of(memory); s && s->memory != memory; s = s->next)
        ;
    pthread_rwlock_unlock(&shared.lock);
    return s;
}

static void insert(struct ferry__origin *s)
{
    struct ferry__origin **list = list_of(s->memory);

    pthread_rwlock_wrlock(&shared.lock);
    s->next = *list;
    *list = s;
    pthread_rwlock_unlock(&shared.lock);
}

static void forget(struct ferry__origin *s)
{
    struct ferry__origin **at;

    pthread_rwlock_wrlock(&shared.lock);
    for (at = list_of(s->memory); *at != s; at = &(*at)->next)
        ;
    *at = s->next;
    s->memory = NULL;
    pthread_rwlock_unlock(&shared.lock);
}

/* The deleter of the host copy. */
static void destroy(void *arg)
{
    struct ferry__origin *s = arg;

    if (s->memory) {
        forget(s);
        if (s->end)
            s->end(s->arg);
    }
    munmap(s->bytes, s->size);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void *map_pages(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* The size of large pages, on most systems. */
#define LARGE ((size_t)2 * 1024 * 1024)

/*
 * Maps pages that have no storage until they are written; large ones where the system has them,
 * since the faults of small ones take longer than the contents. They are asked for where they are
 * in this mapping as a whole: a neighbour's page that covered a part of it would stay when the
 * neighbour gives its pages back.
 */
static int map(struct ferry__origin *s)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (s->size + page - 1) / page * page;
    char *all = map_pages(s->size < LARGE ? size : size + LARGE);
    size_t before;

    if (all == MAP_FAILED)
        return FERRY_ENOMEM;
    s->bytes = all;
    if (s->size < LARGE)
        return 0;
    before = (LARGE - (uintptr_t)all % LARGE) % LARGE;
    s->bytes = all + before;
    if (before)
        (void)munmap(all, before);
    if (before < LARGE)
        (void)munmap(all + before + size, LARGE - before);
    (void)madvise(s->bytes, s->size / LARGE * LARGE, MADV_HUGEPAGE);
    return 0;
}

int ferry__origin_create(ferry_memory *memory, ferry__origin_fill fill, void (*end)(void *arg),
                         void *arg)
{
    size_t size = ferry_memory_used(memory);
    struct ferry__origin *s = malloc(sizeof *s);
    int err;

    if (s)
        *s = (struct ferry__origin){ .size = size, .fill = fill, .end = end, .arg = arg };
    if (!s || map(s)) {
        free(s);
        return ferry_error_set(FERRY_ENOMEM, "no memory for a constant of %zu bytes", size);
    }
    pthread_mutex_init(&s->lock, NULL);
    err = ferry_memory_adopt(memory, NULL, (ferry_ref){ s->bytes, 0 }, size, 0, destroy, s);
    if (err) {
        destroy(s);
        return err;
    }
    s->memory = memory;
    insert(s);
    return 0;
}

void ferry__origin_forget(const ferry_memory *memory)
{
    struct ferry__origin *s = find(memory);

    if (s)
        forget(s);
}

/* Computes the bytes unless they are there. (locked) */
static int fill(struct ferry__origin *s)
{
    int err = s->filled ? 0 : s->fill(s->arg, s->bytes);

    s->filled = !err;
    return err;
}

int ferry__origin_begin(const ferry_memory *memory, struct ferry__origin **out)
{
    struct ferry__origin *s = find(memory);
    int err = 0;

    *out = NULL;
    if (!s)
        return 0;
    pthread_mutex_lock(&s->lock);
    err = fill(s);
    s->readers += !err;
    pthread_mutex_unlock(&s->lock);
    if (!err)
        *out = s;
    return err;
}

void ferry__origin_end(struct ferry__origin *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    if (!--s->readers && !s->kept) {
        s->filled = false; /* a system that refuses keeps the pages, which are filled again */
        (void)madvise(s->bytes, s->size, MADV_DONTNEED);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Ends `arg`, since nothing will call `fill` any more. (locked) */
static void keep(struct ferry__origin *s)
{
    s->filled = s->kept = true;
    if (s->end)
        s->end(s->arg);
    s->end = NULL;
}

int ferry__origin_keep(const ferry_memory *memory)
{
    struct ferry__origin *s = find(memory);
    int err;

    if (!s)
        return 0;
    pthread_mutex_lock(&s->lock);
    err = fill(s);
    if (!err)
        keep(s);
    pthread_mutex_unlock(&s->lock);
    return err;
}

bool ferry__origin_is_kept(const ferry_memory *memory)
{
    struct ferry__origin *s = find(memory);
    bool kept = false;

    if (s) {
        pthread_mutex_lock(&s->lock);
        kept = s->kept;
        pthread_mutex_unlock(&s->lock);
    }
    return kept;
}

void ferry__origin_replace(const ferry_memory *memory)
{
    struct ferry__origin *s = find(memory);

    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    keep(s);
    pthread_mutex_unlock(&s->lock);
}
