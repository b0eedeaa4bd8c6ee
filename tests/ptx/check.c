/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The check of races. Each cell records its last store and its last loads, with thread and time.
 * Two accesses by different threads, one of them a store, must be ordered: within a block by a
 * barrier between them; across blocks by a fence and an atomic operation of the first block, and an
 * atomic operation on the same address and a fence of the second. Times count the barriers and
 * fences of a block: an access at time t is before a fence or barrier at t + 1.
 */
#include "tests/ptx/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An atomic operation of a block, and the releases that it saw. */
struct acquire {
    struct acquire *next;
    uint64_t address;
    const struct release *seen;
    uint32_t thread, phase_end; /* phase_end 0: no barrier since */
    bool is_fenced, is_open;    /* a fence followed; and a barrier that fence */
};

struct sync {
    struct acquire *acquires;
    uint32_t last_fence[PTX_MOST_THREADS];
    uint32_t committed[PTX_MOST_THREADS]; /* stores before this time are published: a fence and a
                                           * barrier followed them */
};

/* ---- the state of a block and a launch ---- */

static size_t cells_of(const struct run *r, enum ptx_space space, size_t size)
{
    return r->kernel->grain[space] ? size / r->kernel->grain[space] + 2 : 0;
}

static bool without_memory(struct run *r)
{
    r->has_failed = true;
    snprintf(r->launch->report, sizeof(r->launch->report),
             "kernel %s: no host memory to check races", r->kernel->name);
    return false;
}

bool check_begin(struct block *b)
{
    struct run *r = b->run;
    size_t count = cells_of(r, SHARED, r->kernel->shared_bytes);

    if (!r->launch->options.checks)
        return true;
    if (count && !b->shared_cells)
        b->shared_cells = calloc(count, sizeof(*b->shared_cells));
    else if (count)
        memset(b->shared_cells, 0, count * sizeof(*b->shared_cells));
    b->sync = calloc(1, sizeof(*b->sync));
    return (b->sync && (!count || b->shared_cells)) || without_memory(r);
}

void check_end(struct block *b)
{
    struct acquire *a = b->sync ? b->sync->acquires : NULL;

    while (a) {
        struct acquire *next = a->next;

        free(a);
        a = next;
    }
    free(b->sync);
    b->sync = NULL;
}

void check_free(struct run *r)
{
    for (unsigned k = 0; k < r->resident_count; k++) {
        check_end(&r->resident[k]);
        free(r->resident[k].shared_cells);
    }
    for (unsigned k = 0; k < PTX_MOST_WINDOWS; k++)
        free(r->cells[k]);
    while (r->releases) {
        struct release *next = r->releases->next;

        free(r->releases->times);
        free(r->releases);
        r->releases = next;
    }
}

/* ---- barriers, fences, atomic operations ---- */

void check_barrier(struct block *b)
{
    struct sync *s = b->sync;
    uint32_t before = b->phase_start;
    bool any = false;

    b->phase_start = ++b->time;
    if (!s)
        return;
    for (uint32_t t = 0; t < b->run->threads; t++)
        any |= s->last_fence[t] > before;
    for (uint32_t t = 0; any && t < b->run->threads; t++) {
        uint32_t own = s->last_fence[t] > before ? s->last_fence[t] : before;

        s->committed[t] = own;
    }
    for (struct acquire *a = s->acquires; a; a = a->next) {
        a->is_open |= a->is_fenced;
        a->phase_end = a->phase_end ? a->phase_end : b->phase_start;
    }
}

void check_fence(struct block *b, uint32_t thread)
{
    struct sync *s = b->sync;

    if (!s)
        return;
    s->last_fence[thread] = ++b->time;
    for (struct acquire *a = s->acquires; a; a = a->next)
        a->is_fenced |= a->thread == thread || a->phase_end;
}

/* Records the stores of this block that the thread's atomic operation makes visible. */
static void release(struct block *b, uint32_t thread, uint64_t address)
{
    const struct sync *s = b->sync;
    bool fenced = s->last_fence[thread] > b->phase_start, any = false;
    struct release *new = calloc(1, sizeof(*new));
    uint32_t *times = calloc(b->run->threads, sizeof(*times));

    for (uint32_t t = 0; times && t < b->run->threads; t++) {
        times[t] = s->committed[t];
        if (fenced)
            times[t] = t == thread ? s->last_fence[t] : b->phase_start;
        any |= times[t] != 0;
    }
    if (!new || !times || !any) {
        free(new);
        free(times);
        return;
    }
    *new = (struct release){ b->run->releases, address, b->index, times };
    b->run->releases = new;
}

void check_atomic(struct block *b, uint32_t thread, uint64_t address)
{
    struct acquire *a;

    if (!b->sync)
        return;
    a = calloc(1, sizeof(*a));
    if (!a)
        return;
    *a = (struct acquire){
        .next = b->sync->acquires, .address = address, .seen = b->run->releases, .thread = thread
    };
    b->sync->acquires = a;
    release(b, thread, address);
}

/* ---- order ---- */

/* Whether a fence after the atomic operation precedes the thread's current access. */
static bool has_acquired(const struct block *b, const struct acquire *a, uint32_t thread)
{
    uint32_t fence = b->sync->last_fence[thread];

    if (a->is_open)
        return true;
    return a->is_fenced && fence && (a->thread == thread || (a->phase_end && fence > a->phase_end));
}

static bool is_released(const struct acquire *a, const struct access *before)
{
    for (const struct release *r = a->seen; r; r = r->next)
        if (r->address == a->address && r->block == before->block - 1 &&
            before->time < r->times[before->thread])
            return true;
    return false;
}

/* Whether an earlier access is ordered before one of this thread. */
static bool is_ordered(const struct warp *w, uint32_t thread, const struct access *before)
{
    const struct block *b = w->block;

    if (before->block == b->index + 1) {
        bool same_warp = before->thread / LANES == thread / LANES;

        return before->thread == thread || before->time < b->phase_start ||
               (same_warp && before->time < w->sync_time);
    }
    for (const struct acquire *a = b->sync->acquires; a; a = a->next)
        if (has_acquired(b, a, thread) && is_released(a, before))
            return true;
    return false;
}

/* ---- accesses ---- */

struct attempt {
    struct warp *w;
    const struct instruction *i;
    uint32_t thread, size;
    size_t offset;
    enum kind kind;
    bool is_shared;
};

static bool report(const struct attempt *t, const struct access *before, const char *did)
{
    const struct block *b = t->w->block;
    const struct ptx_kernel *kernel = b->run->kernel;
    bool same = before->block == b->index + 1;
    char place[160];

    run_place(kernel, &kernel->code[before->instruction], place);
    run_fail(b, t->i,
             "race: thread %u of block %u %s %u bytes at %zu of %s; thread %u of block %u %s there "
             "at %s, "
             "and no %s is between",
             t->thread, b->index, t->kind & WRITE ? "stores" : "loads", t->size, t->offset,
             t->is_shared ? "shared memory" : "an allocation", before->thread, before->block - 1,
             did, place, same ? "barrier" : "fence with an atomic operation");
    return false;
}

static bool check_store(const struct attempt *t, const struct cell *c)
{
    struct access second = c->read;

    if (!c->read.block)
        return true;
    if (c->is_read_by_blocks && c->read.block == t->w->block->index + 1)
        second.block++; /* only known to be another block */
    if (!is_ordered(t->w, t->thread, &second))
        return report(t, &c->read, "loaded");
    second.thread = (uint16_t)(c->second_reader - 1);
    if (c->second_reader && !is_ordered(t->w, t->thread, &second))
        return report(t, &second, "loaded");
    return true;
}

static void note_load(struct cell *c, const struct block *b, const struct access *now)
{
    bool same_block = c->read.block == now->block;

    if (c->read.block && !same_block)
        c->is_read_by_blocks = true;
    if (same_block && c->read.time >= b->phase_start && c->read.thread != now->thread) {
        c->second_reader = (uint16_t)(now->thread + 1);
        c->read.time = now->time;
        return;
    }
    c->second_reader = 0;
    c->read = *now;
}

static bool check_cell(const struct attempt *t, struct cell *c)
{
    const struct block *b = t->w->block;
    struct access now = { b->index + 1, b->time, (uint16_t)t->thread, (t->kind & ATOMIC) != 0,
                          (uint32_t)(t->i - b->run->kernel->code) };
    unsigned checks = b->run->launch->options.checks;

    if (checks & PTX_CHECK_UNKNOWN && t->is_shared && t->kind & READ && !c->write.block) {
        run_fail(b, t->i,
                 "thread %u of block %u loads %u bytes at %zu of shared memory that no thread has "
                 "stored",
                 t->thread, b->index, t->size, t->offset);
        return false;
    }
    if (checks & PTX_CHECK_RACES) {
        bool both_atomic = c->write.atomic && now.atomic;

        if (c->write.block && !both_atomic && !is_ordered(t->w, t->thread, &c->write))
            return report(t, &c->write, c->write.atomic ? "had an atomic operation" : "stored");
        if (t->kind & WRITE && !check_store(t, c))
            return false;
    }
    if (t->kind & WRITE)
        *c = (struct cell){ .write = now };
    else
        note_load(c, b, &now);
    return true;
}

/* The cells of a window, made at its first access. */
static struct cell *window_cells(struct run *r, const struct ptx_window *window)
{
    size_t k = (size_t)(window - r->launch->windows);

    if (!r->cells[k])
        r->cells[k] = calloc(cells_of(r, GLOBAL, window->size), sizeof(struct cell));
    return r->cells[k];
}

bool check_access(struct warp *w, const struct instruction *i, unsigned lane,
                  struct ptx_window *window, size_t offset, uint32_t size, enum kind kind)
{
    struct run *r = w->block->run;
    struct attempt t = { w, i, w->first + lane, size, offset, kind, window == NULL };
    size_t grain = r->kernel->grain[window ? GLOBAL : SHARED];
    struct cell *cells = window ? window_cells(r, window) : w->block->shared_cells;

    if (!cells)
        return without_memory(r);
    for (size_t k = offset / grain; k <= (offset + size - 1) / grain; k++)
        if (!check_cell(&t, &cells[k]))
            return false;
    return true;
}
