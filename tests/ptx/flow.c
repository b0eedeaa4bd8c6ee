/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions that change the set of running lanes (branches, exits, barriers), and fences. They
 * evaluate their guards themselves, because a lane that does not branch continues.
 */
#include "tests/ptx/run.h"

/* The active lanes whose guard holds. */
static uint32_t guarded(const struct warp *w, const struct instruction *i)
{
    const uint32_t *p = (const uint32_t *)(const void *)(w->registers + i->guard);
    uint32_t bits = 0;

    if (!i->guard)
        return w->active;
    for (unsigned l = 0; l < LANES; l++)
        bits |= (p[l] != 0) != i->guard_negated ? 1u << l : 0;
    return bits & w->active;
}

/* Sets the instruction at which lanes continue. */
static void send(struct warp *w, uint32_t lanes, uint32_t pc)
{
    for (unsigned l = 0; l < LANES; l++)
        if (lanes >> l & 1)
            w->where[l] = pc;
}

void warp_yield(struct warp *w)
{
    send(w, w->active, w->pc);
    w->active = 0;
}

void run_branch(struct warp *w, const struct instruction *i)
{
    uint32_t taken = guarded(w, i);

    if (taken == w->active) {
        w->pc = (uint32_t)i->offset;
    } else if (taken) {
        warp_yield(w);
        send(w, taken, (uint32_t)i->offset);
    }
}

/* Slot 0 is an index into a list of `count` targets, from `offset` on. */
void run_branch_indexed(struct warp *w, const struct instruction *i)
{
    const uint32_t *index = SLOT(w, i, 0, const uint32_t);
    const uint32_t *targets = w->block->run->kernel->targets + i->offset;
    uint32_t taken = guarded(w, i);

    warp_yield(w);
    for (unsigned l = 0; l < LANES; l++) {
        if (!(taken >> l & 1))
            continue;
        if (index[l] >= i->count) {
            run_fail(w->block, i, "thread %u of block %u branches to target %u of %u", w->first + l,
                     w->block->index, index[l], i->count);
            return;
        }
        w->where[l] = targets[index[l]];
    }
}

void run_exit(struct warp *w, const struct instruction *i)
{
    uint32_t ended = guarded(w, i);

    warp_yield(w);
    w->live &= ~ended;
}

void run_trap(struct warp *w, const struct instruction *i)
{
    uint32_t trapped = guarded(w, i);

    if (trapped)
        run_fail(w->block, i, "thread %u of block %u traps",
                 w->first + (uint32_t)__builtin_ctz(trapped), w->block->index);
}

/* Parks the lanes after the barrier, which is the instruction `pc` - 1. */
void run_barrier(struct warp *w, const struct instruction *i)
{
    uint32_t arrived = guarded(w, i);

    warp_yield(w);
    w->parked |= arrived;
}

/*
 * Makes lanes wait until all lanes of the mask in slot 0 have arrived, except those that have
 * ended.
 */
void run_warp_barrier(struct warp *w, const struct instruction *i)
{
    const uint32_t *mask = SLOT(w, i, 0, const uint32_t);
    uint32_t arrived = guarded(w, i), wanted = 0;

    for (unsigned l = 0; l < LANES; l++)
        wanted |= arrived >> l & 1 ? mask[l] : 0;
    wanted &= w->live;
    if ((wanted & ~arrived) == 0)
        return;
    if (w->has_met) {
        run_fail(w->block, i,
                 "lanes 0x%x of warp %u of block %u wait for lanes 0x%x, which do not come",
                 arrived, w->first / LANES, w->block->index, wanted & ~arrived);
        return;
    }
    warp_yield(w); /* lanes whose guard does not hold go on */
    send(w, arrived, w->pc - 1);
    w->meeting |= arrived;
}

/* bar.warp.sync orders the earlier accesses of the warp's lanes. */
void run_warp_sync(struct warp *w, const struct instruction *i)
{
    (void)i;
    w->sync_time = ++w->block->time;
}

void run_fence(struct warp *w, const struct instruction *i)
{
    (void)i;
    for (unsigned l = 0; l < LANES; l++)
        if (w->mask[l])
            check_fence(w->block, w->first + l);
}

void run_nothing(struct warp *w, const struct instruction *i)
{
    (void)w, (void)i;
}
