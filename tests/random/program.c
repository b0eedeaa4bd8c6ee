/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A program: which step comes how often, and what is looked at in the end. */

struct run run;

/* ---- telling -------------------------------------------------------------------------------- */

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

/* ---- elements ------------------------------------------------------------------------------- */

int64_t element_size(const struct obj *o)
{
    return (int64_t)ferry_dtype_size(o->dtype);
}

/* Small integers, in the two types of 16 bits as well, by the upper half of a binary32. */
static float wide(uint16_t bits, ferry_dtype dtype)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;

    if (dtype == FERRY_F16) {
        unsigned exponent = bits >> 10 & 31;

        word = (uint32_t)(bits & 0x8000) << 16 | (uint32_t)(bits & 0x3ff) << 13;
        if (exponent)
            word |= (exponent + 112) << 23;
    }
    memcpy(&value, &word, sizeof(value));
    return value;
}

static uint16_t narrow(float value, ferry_dtype dtype)
{
    uint32_t word;

    memcpy(&word, &value, sizeof(word));
    if (dtype == FERRY_BF16)
        return (uint16_t)(word >> 16);
    if (value == 0)
        return (uint16_t)(word >> 16 & 0x8000);
    return (uint16_t)((word >> 16 & 0x8000) | ((word >> 23 & 255) - 112) << 10 |
                      (word >> 13 & 0x3ff));
}

#define GET(type)                                      \
    do {                                               \
        type v;                                        \
        memcpy(&v, (const type *)base + i, sizeof(v)); \
        return (double)v;                              \
    } while (0)

double element_get(ferry_dtype dtype, const void *base, int64_t i)
{
    switch (dtype) {
    case FERRY_F64:
        GET(double);
    case FERRY_I8:
        GET(int8_t);
    case FERRY_U8:
        GET(uint8_t);
    case FERRY_I32:
        GET(int32_t);
    case FERRY_I64:
        GET(int64_t);
    case FERRY_F16:
    case FERRY_BF16:
        return (double)wide(((const uint16_t *)base)[i], dtype);
    default:
        GET(float);
    }
}

#define SET(type)                                \
    do {                                         \
        type v = (type)value;                    \
        memcpy((type *)base + i, &v, sizeof(v)); \
        return;                                  \
    } while (0)

void element_set(ferry_dtype dtype, void *base, int64_t i, double value)
{
    switch (dtype) {
    case FERRY_F64:
        SET(double);
    case FERRY_I8:
        SET(int8_t);
    case FERRY_U8:
        SET(uint8_t);
    case FERRY_I32:
        SET(int32_t);
    case FERRY_I64:
        SET(int64_t);
    case FERRY_F16:
    case FERRY_BF16:
        ((uint16_t *)base)[i] = narrow((float)value, dtype);
        return;
    default:
        SET(float);
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

static const struct {
    void (*run)(struct dice *d);
    unsigned weight;
    unsigned flag; /* only in worlds with one of them; 0: in all */
} steps[] = {
    { step_host, 60, 0 },
    { step_device, 60, 0 },
    { step_access, 80, 0 },
    { step_prefetch, 40, 0 },
    { step_record, 12, 0 },
    { step_wont_use, 12, 0 },
    { step_wont_use, 120, WORLD_BUDGETS },
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
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Each half is read on the host, and all kernels are waited for. */
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

/* Lets go of everything, and looks whether the library has. */
static void finish(void)
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
    if (!run.failed)
        world_close();
}

void program_run(const struct program *p)
{
    memset(run.obj, 0, sizeof(run.obj));
    run.seed = p->seed;
    run.failed = run.threaded = run.lost = false;
    adoptions_init();
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
        finish();
}
