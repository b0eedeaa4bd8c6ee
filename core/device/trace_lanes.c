/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/trace_lanes.h"

#include "core/base/fresh.h"
#include "core/device/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST      16 /* the maximum depth of nested slices of one thread */
#define MOST_READS   8  /* the maximum number of arrows to one slice */
#define MOST_COPIED  64 /* the number of latest copies that are remembered until a slice reads
                         * them */
#define MOST_WAITING 64 /* the number of slices without times after which the times are queried */

/* A copy or a slice, from its begin until its times are known. */
struct slice {
    struct slice *next;
    struct ferry__trace_slice host; /* the slice in the host's time */
    enum ferry__lane lane;          /* the lane in device time */
    ferry_queue *queue;             /* for an open slice; not used later */
    ferry_device *device;
    unsigned number;             /* the queue's number */
    void *section;               /* the section that measures it; NULL: none */
    uint64_t arrow;              /* the id of the arrow that begins in it; 0: none */
    uint64_t arrows[MOST_READS]; /* the ids of the arrows that end in it */
    unsigned n_arrows;
    char name[];
};

/* The end of a copy from which an arrow begins. */
struct arrow {
    const void *memory; /* NULL: a slice that reads it was found */
    uint64_t id, end;
};

static struct {
    pthread_mutex_t lock;
    struct slice *first, **last; /* slices whose times are not known yet */
    unsigned waiting;
    uint64_t arrows; /* the latest id */
    struct arrow copied[MOST_COPIED];
} lanes = { .lock = PTHREAD_MUTEX_INITIALIZER, .last = &lanes.first };

/* The open slices of a thread. */
static _Thread_local struct {
    struct slice *at[DEEPEST];
    unsigned depth; /* may be more than DEEPEST */
    unsigned number;
} open_slices;

/*
 * The child of a fork has no trace: the parent's slices, devices and lock are not used there. (The
 * memory of the slices is not freed.)
 */
static void forked_in_child(void)
{
    pthread_mutex_init(&lanes.lock, NULL);
    lanes.first = NULL;
    lanes.last = &lanes.first;
    lanes.waiting = 0;
    open_slices.depth = 0;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool registered; /* false: no slice was written so far */

static void register_child(void)
{
    pthread_atfork(NULL, NULL, forked_in_child);
    atomic_store(&registered, true);
}

static bool is_on(void)
{
    return atomic_load_explicit(&ferry__trace_in_file, memory_order_relaxed);
}

static uint64_t now_ns(void)
{
    return (uint64_t)(ferry__trace_clock() * 1e3 + 0.5);
}

/* ---- sections ---- */

/* Profiles the queue for the trace, once. (locked) */
static bool is_profiled(ferry_queue *q)
{
    if (!q->laned)
        q->laned = ferry_queue_profile(q, true) ? -1 : 1;
    return q->laned > 0;
}

void *ferry__lane_begin_section(ferry_queue *q)
{
    void *section;

    if (!is_on() || ferry__device_forked(q->device))
        return NULL;
    pthread_mutex_lock(&q->lock);
    section = is_profiled(q) ? ferry__profile_begin(q) : NULL;
    pthread_mutex_unlock(&q->lock);
    return section;
}

void ferry__lane_end_section(ferry_queue *q, void *section)
{
    pthread_mutex_lock(&q->lock);
    ferry__profile_end(q, section);
    pthread_mutex_unlock(&q->lock);
}

/* ---- arrows (locked) ---- */

static struct arrow *arrow_of(uint64_t id)
{
    struct arrow *a = &lanes.copied[id % MOST_COPIED];

    return id && a->id == id ? a : NULL;
}

static uint64_t find_arrow(const void *memory)
{
    for (unsigned i = 0; i < MOST_COPIED; i++)
        if (lanes.copied[i].memory == memory) {
            lanes.copied[i].memory = NULL;
            return lanes.copied[i].id;
        }
    return 0;
}

/* Discards the arrows from the memory's copies so far. */
static void drop_arrows(const void *memory)
{
    while (find_arrow(memory))
        ;
}

static uint64_t new_arrow(const void *memory, uint64_t end)
{
    uint64_t id = ++lanes.arrows;

    drop_arrows(memory);
    lanes.copied[id % MOST_COPIED] = (struct arrow){ memory, id, end };
    return id;
}

void ferry__lane_forget_memory(const void *memory)
{
    if (!is_on())
        return;
    pthread_mutex_lock(&lanes.lock);
    drop_arrows(memory);
    pthread_mutex_unlock(&lanes.lock);
}

/* ---- writing (locked) ---- */

static void write_arrows(const struct slice *s, const struct ferry__trace_slice *t)
{
    struct arrow *from = arrow_of(s->arrow);

    if (s->arrow)
        ferry__trace_write_arrow(t, false, s->arrow, t->begin);
    if (from)
        from->end = t->end;
    for (unsigned i = 0; i < s->n_arrows; i++)
        ferry__trace_write_arrow(t, true, s->arrows[i], t->begin);
}

/*
 * Moves the slice's begin after the copies within it: the queue is in order, so they precede the
 * work that reads them.
 */
static void begin_after_copies(const struct slice *s, struct ferry__trace_slice *t)
{
    for (unsigned i = 0; i < s->n_arrows; i++) {
        const struct arrow *a = arrow_of(s->arrows[i]);

        if (a && a->end > t->begin)
            t->begin = a->end < t->end ? a->end : t->end;
    }
}

/*
 * Writes a slice with the times at which the device executed it; false: these times are not known
 * yet.
 */
static bool write_done(const struct slice *s)
{
    struct ferry__trace_slice t = s->host;
    ferry_span_times times = { .empty = true };

    if (s->section && !ferry__profile_read(s->device, s->section, &times))
        return false;
    if (times.empty) {
        write_arrows(s, &s->host);
        return true;
    }
    t.device = s->device;
    t.number = s->number;
    t.lane = s->lane;
    t.begin = times.begin_ns;
    t.end = times.end_ns;
    begin_after_copies(s, &t);
    ferry__trace_write_slice(&t);
    write_arrows(s, &t);
    return true;
}

static void delete_slice(struct slice *s)
{
    if (s->section)
        ferry__profile_destroy(s->device, s->section);
    free(s);
}

/* Writes the slices whose times are known, and frees all other slices of the device `closing`. */
static void settle(const ferry_device *closing)
{
    struct slice **link = &lanes.first, *s;

    while ((s = *link)) {
        if (!write_done(s) && s->device != closing) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        lanes.waiting--;
        delete_slice(s);
    }
    lanes.last = link;
}

static void add(struct slice *s)
{
    *lanes.last = s;
    lanes.last = &s->next;
    if (++lanes.waiting % MOST_WAITING == 0)
        settle(NULL);
}

void ferry__lanes_flush(void)
{
    if (!is_on())
        return;
    pthread_mutex_lock(&lanes.lock);
    settle(NULL);
    pthread_mutex_unlock(&lanes.lock);
}

void ferry__lanes_close(const ferry_device *dev)
{
    if (!atomic_load(&registered))
        return;
    pthread_mutex_lock(&lanes.lock);
    settle(dev);
    pthread_mutex_unlock(&lanes.lock);
}

/* ---- copies ---- */

static struct slice *new_slice(ferry_queue *q, const char *kind, const char *name)
{
    size_t length = strlen(name) + 1;
    struct slice *s = ferry__fresh(sizeof *s + length);

    if (!s)
        return NULL;
    pthread_once(&once, register_child);
    memcpy(s->name, name, length);
    s->host.name = s->name;
    s->host.kind = kind;
    s->device = q->device;
    s->number = q->number;
    return s;
}

void ferry__lane_write_copy(const struct ferry__trace_copy *copy, ferry_queue *q, double start,
                            const void *memory, void *section, bool sent)
{
    struct slice *s = NULL;
    char name[128];

    snprintf(name, sizeof name, "%s on the device%s%s", copy->what, copy->name ? " of " : "",
             copy->name ? copy->name : "");
    if (sent && is_on())
        s = new_slice(q, "transfer", name);
    if (!s) {
        if (section)
            ferry__profile_destroy(q->device, section);
        return;
    }
    s->host.device = q->device;
    s->host.number = q->number;
    s->host.bytes = copy->bytes;
    s->host.begin = (uint64_t)(start * 1e3 + 0.5);
    s->host.end = now_ns();
    s->lane = FERRY__LANE_COPIES;
    s->section = section;
    pthread_mutex_lock(&lanes.lock);
    s->arrow = memory ? new_arrow(memory, s->host.end) : 0;
    add(s);
    pthread_mutex_unlock(&lanes.lock);
}

/* ---- slices of the program ---- */

bool ferry_trace_is_on(void)
{
    return is_on();
}

static unsigned thread_number(void)
{
    static atomic_uint threads;

    if (!open_slices.number)
        open_slices.number = atomic_fetch_add(&threads, 1) + 1;
    return open_slices.number;
}

void ferry_trace_push(ferry_queue *q, const char *kind, const char *name)
{
    struct slice *s = NULL;

    if (!is_on() || !q || !kind || !name)
        return;
    if (open_slices.depth < DEEPEST) {
        s = new_slice(q, kind, name);
        open_slices.at[open_slices.depth] = s;
    }
    open_slices.depth++;
    if (!s)
        return;
    s->queue = ferry__queue_retain(q);
    ferry__device_retain(q->device);
    s->lane = FERRY__LANE_WORK;
    s->host.number = thread_number();
    s->section = ferry__lane_begin(q);
    s->host.begin = now_ns();
}

void ferry_trace_reads(const ferry_memory *m)
{
    unsigned depth = open_slices.depth;
    struct slice *s = depth && depth <= DEEPEST ? open_slices.at[depth - 1] : NULL;
    uint64_t id;

    if (!s || !m || s->n_arrows == MOST_READS)
        return;
    pthread_mutex_lock(&lanes.lock);
    id = find_arrow(m);
    pthread_mutex_unlock(&lanes.lock);
    if (id)
        s->arrows[s->n_arrows++] = id;
}

void ferry_trace_pop(void)
{
    ferry_device *dev;
    struct slice *s;

    if (!open_slices.depth || --open_slices.depth >= DEEPEST)
        return;
    s = open_slices.at[open_slices.depth];
    if (!s)
        return;
    s->host.end = now_ns();
    ferry__lane_end(s->queue, s->section);
    ferry__queue_release(s->queue);
    dev = s->device;
    ferry__trace_write_slice(&s->host);
    pthread_mutex_lock(&lanes.lock);
    add(s);
    pthread_mutex_unlock(&lanes.lock);
    ferry__device_release(dev);
}
