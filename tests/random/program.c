/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <string.h>

/* A random program: the steps and their frequencies. */

static const struct {
    void (*run)(struct dice *d);
    unsigned weight;
    unsigned flag; /* only in worlds with one of these flags; 0: in all */
} steps[] = {
    { step_host, 60, 0 },
    { step_device, 60, 0 },
    { step_access, 80, 0 },
    { step_prefetch, 40, 0 },
    { step_record, 12, 0 },
    { step_allow_eviction, 12, 0 },
    { step_allow_eviction, 120, WORLD_BUDGETS },
    { step_invalidate, 6, 0 },
    { step_create, 30, 0 },
    { step_destroy, 12, 0 },
    { step_reshape, 24, 0 },
    { step_share, 12, 0 },
    { step_slice, 12, 0 },
    { step_move, 16, 0 },
    { step_nonsense, 4, 0 },
    { step_fill, 24, 0 },
    { step_scale, 30, 0 },
    { step_update, 16, 0 },
    { step_sum, 16, 0 },
    { step_element, 10, 0 },
    { step_copy, 40, 0 },
    { step_adopt, 20, 0 },
    { step_clock, 60, 0 },
    { step_check_kernels, 4, 0 },
    { step_queue, 2, 0 },
    { step_budget, 30, WORLD_BUDGETS },
    { step_resolve, 40, WORLD_LATE | WORLD_LOSES },
    { step_lose, 1, WORLD_LOSES },
    { step_readers, 1, WORLD_LOSES | WORLD_BUDGETS },
    { step_readers, 20, WORLD_THREADS },
    { step_workers, 30, WORLD_THREADS },
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

static bool is_in(unsigned i)
{
    return !steps[i].flag || world_has(steps[i].flag);
}

static void one_step(void)
{
    struct dice d = dice_for(run.seed, run.step);
    unsigned total = 0, which, i = 0;

    for (unsigned k = 0; k < STEPS; k++)
        total += is_in(k) ? steps[k].weight : 0;
    which = roll(&d, total);
    while (!is_in(i) || which >= steps[i].weight) {
        which -= is_in(i) ? steps[i].weight : 0;
        i++;
    }
    steps[i].run(&d);
    run_note_idle();
}

void program_run(const struct program *p)
{
    run_begin(p->seed);
    if (!world_open(p->world)) {
        run.skip = true;
        return;
    }
    for (run.step = 0; run.step < p->steps && !run.failed; run.step++) {
        *run.progress = run.step;
        if (p->kept[run.step])
            one_step();
    }
    if (!run.failed)
        run_finish();
    if (!run.failed)
        world_close();
}
