/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "oom.h"
#include "scenarios.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every scenario, from every place of its data, with every kind of call failing in it: the first of
 * them, then the second, and so on until the scenario makes fewer. After each failure everything is
 * unchanged, the same call then succeeds, and nothing is left.
 */

/* A kind of call that can fail, on one of the devices or in the core. */
struct kind {
    const char *name;
    int dev; /* negative: malloc and related functions */
    uint32_t call;
    int code;
};

static const struct kind kinds[] = {
    { "malloc", -1, 0, FERRY_ENOMEM },
    { "alloc", 0, SIM_CALL_ALLOC, FERRY_ENOMEM },
    { "alloc", 1, SIM_CALL_ALLOC, FERRY_ENOMEM },
    { "host_alloc", 0, SIM_CALL_HOST_ALLOC, FERRY_ENOMEM },
    { "host_alloc", 1, SIM_CALL_HOST_ALLOC, FERRY_ENOMEM },
    { "memcpy", 0, SIM_CALL_MEMCPY, FERRY_EDEVICE },
    { "memcpy", 1, SIM_CALL_MEMCPY, FERRY_EDEVICE },
    { "memset", 0, SIM_CALL_MEMSET, FERRY_EDEVICE },
    { "memset", 1, SIM_CALL_MEMSET, FERRY_EDEVICE },
    { "op", 0, SIM_CALL_OP, FERRY_EDEVICE },
    { "op", 1, SIM_CALL_OP, FERRY_EDEVICE },
    { "event", 0, SIM_CALL_EVENT, FERRY_EDEVICE },
    { "event", 1, SIM_CALL_EVENT, FERRY_EDEVICE },
    { "wait", 0, SIM_CALL_WAIT, FERRY_EDEVICE },
    { "wait", 1, SIM_CALL_WAIT, FERRY_EDEVICE },
    { "queue", 0, SIM_CALL_QUEUE, FERRY_EDEVICE },
    { "queue", 1, SIM_CALL_QUEUE, FERRY_EDEVICE },
    { "import", 0, SIM_CALL_IMPORT, FERRY_EDEVICE },
    { "import", 1, SIM_CALL_IMPORT, FERRY_EDEVICE },
    { "map", 0, SIM_CALL_MAP, FERRY_EDEVICE },
    { "map", 1, SIM_CALL_MAP, FERRY_EDEVICE },
    { "unmap", 0, SIM_CALL_UNMAP, FERRY_EDEVICE },
    { "unmap", 1, SIM_CALL_UNMAP, FERRY_EDEVICE },
    { "any", 0, SIM_CALL_ANY, FERRY_EDEVICE },
    { "any", 1, SIM_CALL_ANY, FERRY_EDEVICE },
};

/* ---- a fault -------------------------------------------------------------------------------- */

static uint64_t calls_before;

static void arm(const struct kind *k, unsigned nth)
{
    if (k->dev < 0) {
        oom_arm(nth);
        return;
    }
    calls_before = wx_calls(k->dev, k->call);
    wx_fail_next(k->dev, k->call, nth, k->code);
}

/* Whether a call of the kind has failed. */
static bool disarm(const struct kind *k, unsigned nth)
{
    if (k->dev < 0)
        return oom_disarm();
    wx_fail_next(k->dev, k->call, 0, 0);
    return wx_calls(k->dev, k->call) - calls_before >= nth;
}

/* ---- how things are ------------------------------------------------------------------------- */

struct state {
    unsigned data, diff, other; /* which copies are valid */
    int rank;
    int64_t count, capacity;
    ferry_memory *memory;
    ferry_device *home;
};

static struct state state_of(const struct scene *s)
{
    struct state now = {
        .data = wx_valid(ferry_blob_data_memory(s->b)),
        .diff = wx_valid(ferry_blob_diff_memory(s->b)),
        .other = wx_valid(ferry_blob_data_memory(s->other)),
        .rank = ferry_blob_rank(s->b),
        .count = ferry_blob_element_count(s->b),
        .capacity = ferry_blob_capacity(s->b),
        .memory = ferry_blob_data_memory(s->b),
        .home = ferry_blob_home(s->b),
    };

    return now;
}

/*
 * Contents that are only read may have been copied further; else one copy was staged on the host,
 * or none.
 */
static bool same_valid(unsigned was, unsigned is, bool may_move)
{
    return may_move ? (was & is) == was : is == was || is == (was | WX_HOST);
}

static bool is_as_before(const struct scene *s, const struct state *was, bool may_move)
{
    struct state is = state_of(s);

    return same_valid(was->data, is.data, may_move) && same_valid(was->diff, is.diff, true) &&
           same_valid(was->other, is.other, true) && is.rank == was->rank &&
           is.count == was->count && is.capacity == was->capacity && is.memory == was->memory &&
           is.home == was->home && s->deleted == 0;
}

static bool are(const float *p, float first, float step)
{
    for (int i = 0; p && i < SC_COUNT; i++)
        if (p[i] != first + step * (float)i)
            return false;
    return p != NULL;
}

static bool has(const struct scene *s, enum effect effect)
{
    static const struct {
        float first, step;
    } values[] = {
        [SC_SAME] = { 1, 1 },      [SC_FILLED] = { SC_FILL, 0 }, [SC_SCALED] = { 2, 2 },
        [SC_UPDATED] = { -9, -9 }, [SC_COPIED] = { 101, 1 },     [SC_DIFF_COPIED] = { 1, 1 },
        [SC_ZEROS] = { 0, 0 },     [SC_ADOPTED] = { 7, 0 },
    };
    const float *data = ferry_blob_host_data(s->b);

    return effect == SC_WRITTEN ? data != NULL
                                : are(data, values[effect].first, values[effect].step);
}

/* ---- one run -------------------------------------------------------------------------------- */

static unsigned long long struck, runs;
static unsigned bad;

static void complain(const struct scenario *sc, enum whereabouts where, const struct kind *k,
                     unsigned nth, const char *what)
{
    bad++;
    CU_FAIL("a fault was not withstood");
    printf("     %s, the data at %d, %s %u of device %d fails: %s: %s\n", sc->name, (int)where,
           k->name, nth, k->dev, what, ferry_last_error());
}

/*
 * Checks after a failed call that nothing has changed and that the repeated call has the same
 * result.
 */
static const char *after_failure(struct scene *s, const struct scenario *sc, int err,
                                 const struct kind *k, const struct state *was)
{
    if (err != k->code && err != FERRY_ENOMEM)
        return "another code";
    if (!is_as_before(s, was, sc->may_move))
        return "not as before";
    if (!has(s, SC_SAME) || !are(ferry_blob_host_diff(s->b), 10, 10) ||
        !are(ferry_blob_host_data(s->other), 101, 1))
        return "other contents";
    if (s->event_made || s->queue_made || (s->blob_made && !sc->may_move))
        return "an output was set";
    ferry_blob_destroy(s->blob_made);
    s->blob_made = NULL;
    return sc->run(s) ? "fails again" : NULL;
}

static const char *after_success(struct scene *s, const struct scenario *sc)
{
    if (!has(s, sc->effect))
        return "wrong contents";
    if (ferry_blob_element_count(s->b) != SC_COUNT) /* it has grown, and its diff with it */
        return are(ferry_blob_host_diff(s->b), 0, 0) ? NULL : "wrong diff";
    return are(ferry_blob_host_diff(s->b), sc->effect == SC_DIFF_COPIED ? 201 : 10,
               sc->effect == SC_DIFF_COPIED ? 1 : 10)
               ? NULL
               : "wrong diff";
}

/* Whether there was an nth call of that kind. */
static bool run_once(const struct scenario *sc, enum whereabouts where, const struct kind *k,
                     unsigned nth)
{
    const char *what = NULL;
    struct scene s;
    struct state was;
    bool hit;
    int err;

    scene_set(&s, where);
    was = state_of(&s);
    arm(k, nth);
    err = sc->run(&s);
    hit = disarm(k, nth);
    runs++;
    struck += hit;
    if (err && !hit)
        what = "failed by itself";
    else if (err)
        what = after_failure(&s, sc, err, k, &was);
    if (!what)
        what = after_success(&s, sc);
    if (what)
        complain(sc, where, k, nth, what);
    scene_clear(&s);
    return hit;
}

/* All blocks are freed, except those that the pool caches; the end of the case checks that too. */
static uint64_t live(void)
{
    uint64_t bytes = 0;

    for (int i = 0; i < WX_DEVICES; i++)
        bytes += wx_since(i).allocs - wx_since(i).frees;
    return bytes;
}

static void walk(const struct scenario *sc)
{
    for (unsigned where = 0; where < SC_WHEREABOUTS; where++)
        for (unsigned i = 0; i < FERRY_TEST_COUNT(kinds) && bad < 20; i++) {
            unsigned nth = 1;

            while (nth < 100 && run_once(sc, (enum whereabouts)where, &kinds[i], nth))
                nth++;
            if (nth == 100 || live() != 0)
                complain(sc, (enum whereabouts)where, &kinds[i], nth,
                         nth == 100 ? "never succeeds" : "blocks were left");
            wx_mark();
        }
}

/* ---- the cases ------------------------------------------------------------------------------ */

static void every_call_of_every_scenario_may_fail(void)
{
    wx_begin();
    struck = runs = bad = 0;
    for (unsigned i = 0; i < nscenarios && bad < 20; i++)
        walk(&scenarios[i]);
    printf("     %u scenarios from %d places, %u kinds of calls: %llu failed in %llu runs\n",
           nscenarios, SC_WHEREABOUTS, (unsigned)FERRY_TEST_COUNT(kinds), struck, runs);
    CU_ASSERT(struck > 500);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_call_of_every_scenario_may_fail),
};

int main(int argc, char **argv)
{
    static const char *const direct[] = { "clock", "manual", NULL };
    static const char *const staged[] = { "clock", "manual", "peer", "off", NULL };
    static const char *const unified[] = { "clock", "manual", "unified", "on", NULL };
    static const char *const mixed[] = { "clock", "manual", "unified", "odd", NULL };
    static const char *const unmapped[] = {
        "clock", "manual", "unified", "on", "map", "off", NULL
    };
    static const struct wx_world worlds[] = {
        { "peer copies", direct, cases, FERRY_TEST_COUNT(cases) },
        { "through the host", staged, cases, FERRY_TEST_COUNT(cases) },
        { "unified", unified, cases, FERRY_TEST_COUNT(cases) },
        { "discrete and unified", mixed, cases, FERRY_TEST_COUNT(cases) },
        { "unified without maps", unmapped, cases, FERRY_TEST_COUNT(cases) },
    };

    return wx_main(argc, argv, "faults", worlds, FERRY_TEST_COUNT(worlds));
}
