/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "tests/random/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Every short sequence of operations on two blobs, in worlds of devices of different kinds,
 * compared with the oracle of the random programs: adoption, sharing, slices, moves, evictions,
 * queued work that fails, and lost devices. test-coherence checks more (it counts copies and
 * blocks) of fewer operations. All sequences of two operations run, and a fraction of those of
 * three; `test-walk --more` runs every second one.
 */

#define COUNT 8

/* ---- operations ----------------------------------------------------------------------------- */

/* The random numbers of a step; the file of the step documents them. */
struct op {
    const char *name;
    void (*step)(struct dice *d);
    unsigned char script[8];
    unsigned place; /* there must be a device of that number */
};

static void evict(struct dice *d)
{
    unsigned p = 1 + roll(d, 3);

    for (int i = 0; i < OBJECTS; i++)
        if (run.obj[i].blob && run.obj[i].half[DATA].store) {
            (void)ferry_memory_allow_eviction(memory_of(&run.obj[i], DATA));
            run.obj[i].half[DATA].store->idle = true;
        }
    if (!run.place[p].lost && (ferry_device_set_budget(run.place[p].dev, 1) ||
                               ferry_device_set_budget(run.place[p].dev, 0)))
        wrong("set_budget: %s", ferry_last_error());
}

static void pass_time(struct dice *d)
{
    (void)d;
    world_run_all();
}

#define AT(p)                                                            \
    { "read at " #p, step_access, { 0, 0, 0, p, 1, 1, 1 }, p },          \
        { "mutable at " #p, step_access, { 0, 0, 1, p, 1, 1, 1 }, p },   \
        { "overwrite at " #p, step_access, { 0, 0, 2, p, 1, 1, 1 }, p }, \
        { "prefetch to " #p, step_prefetch, { 0, 0, p, 1 }, p },         \
        { "adopt at " #p, step_adopt, { 0, 0, p, 1, 1, 1, 0 }, p },      \
    {                                                                    \
        "adopt read-only at " #p, step_adopt, { 0, 0, p, 1, 1, 0, 0 }, p \
    }
#define DEVICE(p)                                                                   \
    AT(p), { "move to " #p, step_move, { 0, p - 1 }, p },                           \
        { "mutable on own queue at " #p, step_access, { 0, 0, 1, p, 1, 1, 0 }, p }, \
    {                                                                               \
        "evict from " #p, evict, { p - 1 }, p                                       \
    }

static const struct op ops[] = {
    AT(0),
    DEVICE(1),
    DEVICE(2),
    AT(3),
    { "fill", step_fill, { 0, 0 }, 0 },
    { "scale", step_scale, { 0, 0, 1 }, 0 },
    { "update", step_update, { 0 }, 0 },
    { "asum", step_sum, { 0, 0, 0 }, 0 },
    { "copy from the other", step_copy, { 0, 1, 0, 1 }, 0 },
    { "copy to the other", step_copy, { 1, 0, 0, 1 }, 0 },
    { "the other shares", step_share, { 1, 0, 0 }, 0 },
    { "share the other's", step_share, { 0, 0, 1 }, 0 },
    { "slice", step_slice, { 0, 1, 2, 3 }, 0 },
    { "overwrite the slice on its device", step_device, { 2, 0, 2 }, 0 },
    { "mutable slice on the host", step_host, { 2, 0, 1 }, 0 },
    { "shrink", step_reshape, { 0, 20, 2, 1, 1 }, 0 },
    { "grow back", step_reshape, { 0, 20, 2, 1, 0 }, 0 },
    { "invalidate", step_invalidate, { 0, 0 }, 0 },
    { "time passes", pass_time, { 0 }, 0 },
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

static void do_op(const struct op *op, unsigned *values)
{
    struct dice d = { .state = *values, .script = op->script, .length = sizeof(op->script) };

    op->step(&d);
    run_note_idle();
    *values = (unsigned)d.state + 1;
}

/* ---- a sequence ----------------------------------------------------------------------------- */

#define LONGEST_WALK 5

struct sequence {
    const struct op *op[LONGEST_WALK];
    unsigned length;
    /*
     * the next work before operation `fault_at` (LONGEST_WALK: none) is made to fail, or a device
     * is lost there
     */
    unsigned fault_at, fault_place;
    uint32_t late; /* 0: a loss */
};

static void add_blob(unsigned i, unsigned home)
{
    struct obj *o = &run.obj[i];
    const int64_t count = COUNT;

    o->dtype = FERRY_F32;
    set_shape(o, 1, &count);
    if (ferry_blob_create(run.place[home].dev, o->dtype, &count, 1, &o->blob)) {
        wrong("create: %s", ferry_last_error());
        return;
    }
    half_set(&o->half[DATA], store_create(COUNT), 0, -1);
}

/* Losses: each slot twice, once with all work done and once immediately. */
static void strike(const struct sequence *s)
{
    const unsigned char which[] = { (unsigned char)((s->fault_place - 1) / 2),
                                    (unsigned char)((s->fault_place - 1) % 2) };
    struct dice d = { .script = which, .length = 2 };

    if (s->late) {
        run.late_at = s->fault_place;
        run.late = s->late;
    } else {
        run.step = LONGEST; /* the device may be lost now */
        step_lose(&d);
    }
}

static bool walk(const struct sequence *s)
{
    unsigned values = 1;

    run_begin(0);
    add_blob(0, 1);
    add_blob(1, 2);
    for (unsigned i = 0; i < s->length && !run.failed; i++) {
        if (i == s->fault_at)
            strike(s);
        run.step = i;
        if (!run.failed)
            do_op(s->op[i], &values);
    }
    run.late_at = 0;
    if (!run.failed)
        run_finish();
    return !run.failed;
}

static void print(const struct sequence *s)
{
    printf("    ");
    for (unsigned i = 0; i < s->length; i++) {
        if (i == s->fault_at)
            printf(s->late ? " [%u: kind %u fails later]" : " [loss %u]", s->fault_place, s->late);
        printf(" %s%s", s->op[i]->name, i + 1 < s->length ? ";" : "\n");
    }
}

/* ---- all sequences -------------------------------------------------------------------------- */

static const struct world walked[] = {
    { "two unified and cpu", { "clock", "manual", "unified", "on" }, 2, true, 0 },
    { "discrete, unified and cpu", { "clock", "manual", "unified", "odd" }, 2, true, 0 },
    { "unified without maps", { "clock", "manual", "unified", "on", "map", "off" }, 2, true, 0 },
};
static const struct world failing[] = {
    { "late, discrete", { "clock", "manual" }, 2, true, WORLD_LATE },
    { "late, unified", { "clock", "manual", "unified", "odd" }, 2, true, WORLD_LATE },
};
static const struct world losing[] = {
    { "lost, discrete", { "clock", "manual" }, 2, true, WORLD_LOSES },
    { "lost, unified", { "clock", "manual", "unified", "odd" }, 2, true, WORLD_LOSES },
};

static unsigned longest, stride;
static unsigned long long walks;

/* The sequence of number `index`, with OPS digits; false after the last. */
static bool nth_sequence(unsigned long long index, unsigned length, struct sequence *s)
{
    s->length = length;
    for (unsigned i = length; i-- > 0; index /= OPS)
        s->op[i] = &ops[index % OPS];
    return index == 0;
}

static bool is_possible(const struct sequence *s)
{
    for (unsigned i = 0; i < s->length; i++)
        if (s->op[i]->place >= run.places)
            return false;
    return true;
}

static bool walk_or_print(const struct sequence *s)
{
    walks++;
    if (walk(s))
        return true;
    print(s);
    return false;
}

static bool walk_all(const struct world *w)
{
    struct sequence s = { .fault_at = LONGEST_WALK };

    (void)w;
    for (unsigned length = 1; length <= longest; length++)
        for (unsigned long long i = 0; nth_sequence(i, length, &s); i += length < 3 ? 1 : stride)
            if (is_possible(&s) && !walk_or_print(&s))
                return false;
    return true;
}

/* Runs one operation, then one whose work fails, and one more. */
static bool walk_late(const struct world *w)
{
    static const uint32_t kinds[] = { SIM_CALL_MEMCPY, SIM_CALL_OP, SIM_CALL_MEMSET };
    struct sequence s = { .fault_at = 1 };

    (void)w;
    for (unsigned long long i = 0; nth_sequence(i, 3, &s); i += stride)
        for (unsigned k = 0; k < 6; k++) {
            s.late = kinds[k / 2];
            s.fault_place = 1 + k % 2;
            if (is_possible(&s) && !walk_or_print(&s))
                return false;
        }
    return true;
}

/* Uses one process for each sequence, because a lost device cannot be reopened. */
static bool walk_lost_apart(const struct world *w, const struct sequence *s)
{
    int status = 1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        bool ok = world_open(w) && (!is_possible(s) || walk_or_print(s));

        if (ok)
            world_close();
        fflush(stdout);
        _exit(!ok || run.failed);
    }
    walks++;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/*
 * Runs one operation, the loss of either device, with all work done or not, and one more operation.
 */
static bool walk_lost(const struct world *w)
{
    struct sequence s = { .fault_at = 1 };

    for (unsigned long long i = 0; nth_sequence(i, 2, &s); i += stride)
        for (unsigned k = 0; k < 4; k++) {
            s.fault_place = 1 + k;
            if (!walk_lost_apart(w, &s)) {
                print(&s);
                return false;
            }
        }
    return true;
}

/* ---- worlds --------------------------------------------------------------------------------- */

static unsigned passed, failed;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs in a process of its own; `open`: the world stays open for all sequences. */
static void run_world(const struct world *w, bool (*all)(const struct world *), bool open)
{
    double start = now();
    int status = 1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        bool ok = !open || world_open(w);

        run.world = w;
        ok = ok && all(w);
        if (ok && open)
            world_close();
        printf("     %llu sequences in %.1f s\n", walks, now() - start);
        fflush(stdout);
        _exit(!ok || run.failed);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        failed++;
    else
        passed++;
    if (child > 0 && WIFSIGNALED(status))
        printf("     %s\n", strsignal(WTERMSIG(status)));
    printf("%s %s\n", status == 0 ? "pass" : "FAIL", w->name);
}

#define EACH(table) \
    for (const struct world *w = table; w < table + sizeof(table) / sizeof(table[0]); w++)

int main(int argc, char **argv)
{
    const char *built = getenv("FERRY_TEST_PLUGINS");
    bool quick = getenv("FERRY_TEST_QUICK") || getenv("FERRY_TEST_VALGRIND");

    if (built && (!strstr(built, "sim") || !strstr(built, "cpu"))) {
        puts("ferry-test: walk: 0 passed, 0 failed, 1 skipped");
        return 77;
    }
    longest = 3;
    stride = argc > 1 && strcmp(argv[1], "--more") == 0 ? 2 : quick ? 61 : 29;
    EACH(walked)
    run_world(w, walk_all, true);
    EACH(failing)
    run_world(w, walk_late, true);
    EACH(losing)
    run_world(w, walk_lost, false);
    printf("ferry-test: walk: %u passed, %u failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
