/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A launch. Blocks run one after the other or two at a time. Between barriers, the warps of a block
 * run in the requested order. The lanes of a warp run together as long as they are at the same
 * instruction. If lanes are at several instructions, those at the lowest one run first, because
 * compilers place the point where lanes meet again after the branches.
 */
#include "tests/ptx/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL_LANES 0xffffffffu
/* Basic blocks of one warp; a launch with more does not end. */
#define MOST_STEPS ((uint64_t)1 << 34)

/* ---- faults ---- */

void run_place(const struct ptx_kernel *kernel, const struct instruction *i, char *out)
{
    const char *source = i->file < MOST_SOURCES ? kernel->module->sources[i->file] : NULL;
    const char *name = source ? strrchr(source, '/') : NULL;

    if (source && i->source_line)
        snprintf(out, 160, "%s:%u", name ? name + 1 : source, i->source_line);
    else
        snprintf(out, 160, "PTX line %u", i->line);
}

void run_fail(const struct block *b, const struct instruction *i, const char *format, ...)
{
    struct run *r = b->run;
    size_t room = sizeof(r->launch->report), n;
    char place[160];
    va_list args;

    if (r->has_failed)
        return;
    r->has_failed = true;
    run_place(r->kernel, i, place);
    n = (size_t)snprintf(r->launch->report, room, "kernel %s, %s: ", r->kernel->name, place);
    va_start(args, format);
    vsnprintf(r->launch->report + n, room - n, format, args);
    va_end(args);
}

uint32_t run_draw(struct run *r, uint32_t n)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->random >> 33) % n;
}

/* ---- a warp ---- */

static void set_active(struct warp *w, uint32_t lanes, uint32_t pc)
{
    w->active = lanes;
    w->pc = pc;
    w->all = lanes == ALL_LANES;
    for (unsigned l = 0; l < LANES; l++)
        w->mask[l] = lanes >> l & 1 ? ALL_LANES : 0;
}

/* The lanes of `ready` that are at the lowest instruction. */
static uint32_t lowest(const struct warp *w, uint32_t ready, uint32_t *out_pc)
{
    uint32_t pc = UINT32_MAX, lanes = 0;

    for (unsigned l = 0; l < LANES; l++) {
        if (!(ready >> l & 1) || w->where[l] > pc)
            continue;
        lanes = w->where[l] < pc ? 0 : lanes;
        pc = w->where[l];
        lanes |= 1u << l;
    }
    *out_pc = pc;
    return lanes;
}

/* Chooses the next lanes to run; false if all lanes have ended, or wait at a barrier. */
static bool choose(struct warp *w)
{
    uint32_t waiting = w->live & ~w->parked, ready = waiting & ~w->meeting, lanes, pc;
    bool single = w->block->run->launch->options.order == PTX_SINGLE;

    if (!waiting)
        return false;
    w->has_met = !ready;
    lanes = lowest(w, w->has_met ? waiting : ready, &pc);
    w->meeting &= ~lanes;
    if (single && !w->has_met) {
        unsigned k = 0;

        while (!(ready >> w->sequence[k] & 1))
            k++;
        lanes = 1u << w->sequence[k];
        pc = w->where[w->sequence[k]];
    }
    set_active(w, lanes, pc);
    w->is_split = !single && lanes != ready;
    return true;
}

static void run_guarded(struct warp *w, const struct instruction *i)
{
    const uint32_t *p = (const uint32_t *)(const void *)(w->registers + i->guard);
    uint32_t kept[LANES];
    bool all = w->all;

    memcpy(kept, w->mask, sizeof(kept));
    for (unsigned l = 0; l < LANES; l++)
        if ((p[l] != 0) == i->guard_negated)
            w->mask[l] = 0;
    w->all = false;
    i->run(w, i);
    memcpy(w->mask, kept, sizeof(kept));
    w->all = all;
}

/* Runs the active lanes to the next place where others may join them. */
static void run_lanes(struct warp *w)
{
    const struct instruction *code = w->block->run->kernel->code, *i;

    do {
        i = &code[w->pc++];
        if (i->guard && !i->yields)
            run_guarded(w, i);
        else
            i->run(w, i);
    } while (!i->yields && !code[w->pc].leads);
}

/*
 * Runs a warp until all lanes wait or have ended or, if warps are interleaved, to the next label.
 */
static void run_warp(struct warp *w, bool interleaves)
{
    struct run *r = w->block->run;

    while (!r->has_failed && (w->active || choose(w))) {
        run_lanes(w);
        if (++r->steps > MOST_STEPS)
            run_fail(w->block, &r->kernel->code[w->pc], "the launch does not end");
        if (w->active && (w->is_split || interleaves))
            warp_yield(w);
        if (interleaves)
            return;
    }
}

static bool can_run(const struct warp *w)
{
    return (w->live & ~w->parked) != 0;
}

/* ---- a block ---- */

static void order_bytes(struct run *r, uint8_t *sequence, unsigned n)
{
    const struct ptx_options *o = &r->launch->options;
    bool descends = o->order == PTX_DESCENDING || (o->order == PTX_SINGLE && !o->seed);
    bool shuffles = o->order == PTX_SHUFFLED || (o->order == PTX_SINGLE && o->seed);

    for (unsigned k = 0; k < n; k++)
        sequence[k] = (uint8_t)(descends ? n - 1 - k : k);
    for (unsigned k = n; shuffles && k > 1; k--) {
        unsigned other = run_draw(r, k);
        uint8_t one = sequence[k - 1];

        sequence[k - 1] = sequence[other];
        sequence[other] = one;
    }
}

/* The orders until the next barrier. */
static void order_threads(struct block *b)
{
    order_bytes(b->run, b->warp_sequence, b->warp_count);
    for (unsigned k = 0; k < b->warp_count; k++)
        order_bytes(b->run, b->warps[k].sequence, LANES);
}

static void fill(struct warp *w, uint32_t slot, uint32_t value)
{
    uint32_t *d = (uint32_t *)(void *)(w->registers + slot);

    for (unsigned l = 0; slot && l < LANES; l++)
        d[l] = value;
}

/* Special registers that differ from lane to lane. */
static void fill_lanes(struct warp *w)
{
    const struct ptx_kernel *kernel = w->block->run->kernel;
    const uint32_t *size = w->block->run->launch->block;
    uint32_t at[SPECIALS];

    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t thread = w->first + l, bit = 1u << l;

        at[TID_X] = thread % size[0];
        at[TID_Y] = thread / size[0] % size[1];
        at[TID_Z] = thread / size[0] / size[1];
        at[LANEID] = l;
        at[LANEMASK_EQ] = bit;
        at[LANEMASK_LT] = bit - 1;
        at[LANEMASK_LE] = (bit - 1) | bit;
        at[LANEMASK_GE] = ~(bit - 1);
        at[LANEMASK_GT] = ~((bit - 1) | bit);
        for (int s = 0; s < SPECIALS; s++)
            if (kernel->specials[s] && (s <= TID_Z || s == LANEID || s >= LANEMASK_EQ))
                ((uint32_t *)(void *)(w->registers + kernel->specials[s]))[l] = at[s];
    }
}

static void start_warp(struct block *b, struct warp *w)
{
    const struct run *r = b->run;
    const uint32_t *specials = r->kernel->specials, *grid = r->launch->grid;
    uint32_t threads = r->threads - w->first;

    w->live = threads >= LANES ? ALL_LANES : (1u << threads) - 1;
    w->parked = w->meeting = w->active = w->sync_time = 0;
    memset(w->where, 0, sizeof(w->where));
    fill_lanes(w);
    for (int axis = 0; axis < 3; axis++) {
        fill(w, specials[NTID_X + axis], r->launch->block[axis]);
        fill(w, specials[NCTAID_X + axis], grid[axis]);
    }
    fill(w, specials[CTAID_X], b->index % grid[0]);
    fill(w, specials[CTAID_Y], b->index / grid[0] % grid[1]);
    fill(w, specials[CTAID_Z], b->index / grid[0] / grid[1]);
    fill(w, specials[WARPID], w->first / LANES);
}

/*
 * Shared memory has no defined contents at first: here a pattern that no kernel expects.
 */
static bool start_block(struct block *b)
{
    struct run *r = b->run;
    uint32_t n = r->next_block++;

    b->is_resident = true;
    b->index = r->launch->options.blocks_descending ? r->blocks - 1 - n : n;
    b->time = b->phase_start = 1;
    memset(b->shared, 0xa5, r->kernel->shared_bytes);
    for (unsigned k = 0; k < b->warp_count; k++)
        start_warp(b, &b->warps[k]);
    order_threads(b);
    return check_begin(b);
}

/* Reports a lane that waits at a barrier other than the first one found, or that has ended. */
static void find_strays(struct block *b)
{
    const struct instruction *first = NULL, *code = b->run->kernel->code;
    uint32_t waiting = 0;

    for (uint32_t t = 0; t < b->run->threads; t++) {
        const struct warp *w = &b->warps[t / LANES];

        if (w->parked >> t % LANES & 1 && !first) {
            first = &code[w->where[t % LANES] - 1];
            waiting = t;
        }
    }
    for (uint32_t t = 0; first && t < b->run->threads; t++) {
        const struct warp *w = &b->warps[t / LANES];
        const struct instruction *at = &code[w->where[t % LANES] - 1];
        char place[160];

        run_place(b->run->kernel, at, place);
        if (!(w->live >> t % LANES & 1))
            run_fail(b, first,
                     "divergence: thread %u of block %u waits at a barrier that thread %u, which "
                     "has ended, does not reach",
                     waiting, b->index, t);
        else if (at != first)
            run_fail(b, first,
                     "divergence: thread %u of block %u waits at this barrier, and thread %u at "
                     "that of %s",
                     waiting, b->index, t, place);
    }
}

/* All warps wait or have ended: opens the barrier, or ends the block. */
static void finish_phase(struct block *b)
{
    uint32_t live = 0;

    for (unsigned k = 0; k < b->warp_count; k++)
        live |= b->warps[k].live;
    if (!live) {
        check_end(b);
        b->is_resident = false;
        return;
    }
    find_strays(b);
    for (unsigned k = 0; k < b->warp_count; k++)
        b->warps[k].parked = 0;
    check_barrier(b);
    order_threads(b);
}

/* Runs each warp once, to its barrier or to the next label. */
static void run_block(struct block *b, bool interleaves)
{
    bool any = false;

    for (unsigned k = 0; k < b->warp_count && !b->run->has_failed; k++) {
        run_warp(&b->warps[b->warp_sequence[k]], interleaves);
        any |= can_run(&b->warps[b->warp_sequence[k]]);
    }
    if (!any && !b->run->has_failed)
        finish_phase(b);
}

/* ---- the launch ---- */

static void fill_constants(const struct ptx_kernel *kernel, unsigned char *registers)
{
    for (size_t k = 0; k < kernel->constant_count; k++) {
        const struct constant *c = &kernel->constants[k];

        for (size_t l = 0; l < LANES; l++)
            memcpy(registers + c->slot + l * c->width, &c->value, c->width);
    }
}

static bool make_block(struct run *r, struct block *b)
{
    size_t room = (r->kernel->register_bytes + 63) / 64 * 64;

    b->run = r;
    b->warp_count = (r->threads + LANES - 1) / LANES;
    b->warps = calloc(b->warp_count, sizeof(*b->warps));
    b->shared = malloc(r->kernel->shared_bytes + 1);
    b->local = malloc(r->kernel->local_bytes * b->warp_count * LANES + 1);
    if (!b->warps || !b->shared || !b->local)
        return false;
    for (unsigned k = 0; k < b->warp_count; k++) {
        struct warp *w = &b->warps[k];

        w->block = b;
        w->first = k * LANES;
        w->registers = aligned_alloc(64, room);
        if (!w->registers)
            return false;
        memset(w->registers, 0, room);
        fill_constants(r->kernel, w->registers);
    }
    return true;
}

static void free_block(struct block *b)
{
    for (unsigned k = 0; b->warps && k < b->warp_count; k++)
        free(b->warps[k].registers);
    free(b->warps);
    free(b->shared);
    free(b->local);
}

static void run_blocks(struct run *r)
{
    bool interleaves = r->launch->options.order == PTX_INTERLEAVED || r->resident_count > 1;
    bool any = true;

    while (any && !r->has_failed) {
        any = false;
        for (unsigned k = 0; k < r->resident_count && !r->has_failed; k++) {
            struct block *b = &r->resident[k];

            if (!b->is_resident && (r->next_block >= r->blocks || !start_block(b)))
                continue;
            any = true;
            run_block(b, interleaves);
        }
    }
}

bool ptx_run(struct ptx_launch *launch)
{
    const uint32_t *g = launch->grid, *t = launch->block;
    struct run r = { .launch = launch,
                     .kernel = launch->kernel,
                     .threads = t[0] * t[1] * t[2],
                     .blocks = g[0] * g[1] * g[2],
                     .random = launch->options.seed };
    bool ok = true;

    launch->report[0] = '\0';
    launch->is_address = false;
    r.resident_count = launch->options.blocks_at_once > 1 ? MOST_RESIDENT : 1;
    for (unsigned k = 0; k < r.resident_count; k++)
        ok = make_block(&r, &r.resident[k]) && ok;
    if (ok)
        run_blocks(&r);
    check_free(&r);
    for (unsigned k = 0; k < r.resident_count; k++)
        free_block(&r.resident[k]);
    if (!ok)
        snprintf(launch->report, sizeof(launch->report), "kernel %s: no host memory to run it",
                 launch->kernel->name);
    return ok && !r.has_failed;
}
