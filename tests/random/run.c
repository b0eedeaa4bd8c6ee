/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Messages of the steps, and the final checks. */

struct run run;

/* ---- messages ------------------------------------------------------------------------------- */

void tell(const char *fmt, ...)
{
    va_list args;

    if (!run.verbose || run.threaded)
        return;
    printf("     %4u  ", run.step);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

void wrong(const char *fmt, ...)
{
    char line[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (!atomic_exchange(&run.failed, true))
        printf("     step %u: %s\n", run.step, line);
    fflush(stdout);
}

void run_begin(uint64_t seed)
{
    memset(run.obj, 0, sizeof(run.obj));
    run.seed = seed;
    run.failed = run.threaded = run.lost = false;
    run.late_at = 0;
    adoptions_init();
}

/* An eviction may drop elements beyond the reach of all blobs. */
void run_note_idle(void)
{
    for (int i = 0; i < OBJECTS; i++)
        for (unsigned k = 0; k < 2; k++)
            if (run.obj[i].blob && run.obj[i].half[k].store && run.obj[i].half[k].store->idle)
                store_written(run.obj[i].half[k].store, run.obj);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Reads each half on the host, and waits for all kernels. */
static void check_all(void)
{
    struct dice d = dice_for(run.seed, UINT64_MAX);

    tell("the end");
    for (int i = 0; i < OBJECTS; i++)
        for (unsigned k = 0; k < 2; k++) {
            struct obj *o = &run.obj[i];

            if (run.failed || !o->blob || !o->half[k].store)
                continue;
            if (o->half[k].store->state == SHAKY)
                resolve(o, k);
            if (!run.failed)
                (void)read_host(o, k, &d);
        }
    if (!run.failed)
        kernels_check();
}

static void lift_budgets(void)
{
    for (unsigned p = 1; p < run.places; p++)
        (void)ferry_device_set_budget(run.place[p].dev, 0);
}

/* Destroys everything, and checks that the library has freed it. */
void run_finish(void)
{
    lift_budgets();
    check_all();
    for (int i = 0; i < OBJECTS && !run.failed; i++)
        if (run.obj[i].blob)
            destroy_obj(&run.obj[i]);
    if (!run.failed)
        world_run_all();
    if (!run.failed)
        adoptions_check();
}
