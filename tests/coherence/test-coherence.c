/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The library against the model: every sequence of operations up to FERRY_TEST_LENGTH (4), every
 * state that can be reached by any sequence at all, and each call that can fail, failed at each of
 * those states. Says how much it walked.
 */

#define ENOUGH 10 /* failures to print */

static bool peer; /* of the running world */
static bool settle;
static unsigned bad;

static void begin(bool settled)
{
    settle = settled;
    bad = 0;
    peer = !strcmp(wx_running()->options[3], "on");
    CU_ASSERT_FATAL(rig_open(peer));
}

static void end(void)
{
    CU_ASSERT_EQUAL(bad, 0);
}

/* ---- sequences ------------------------------------------------------------------------------ */

static bool walk(const unsigned *ops, unsigned length)
{
    bool ok = rig_begin(settle);

    for (unsigned i = 0; ok && i < length; i++)
        ok = rig_step(ops[i]);
    return rig_end(ok && rig_check_contents());
}

/* The sequence after this one, of the same length, like a number with MODEL_OPS digits. */
static bool advance(unsigned *ops, unsigned length)
{
    while (length && ++ops[length - 1] == MODEL_OPS)
        ops[--length] = 0;
    return length != 0;
}

static unsigned longest(void)
{
    const char *text = getenv("FERRY_TEST_LENGTH");
    bool quick = ferry_test_is_slow() || getenv("FERRY_TEST_QUICK");
    unsigned length = text ? (unsigned)strtoul(text, NULL, 10) : quick ? 3 : 4;

    return length > 8 ? 8 : length;
}

static void walk_all(void)
{
    unsigned long long walked = 0;

    for (unsigned length = 0; length <= longest(); length++) {
        unsigned ops[8] = { 0 };

        do {
            if (!walk(ops, length) && ++bad == ENOUGH)
                break;
            walked++;
        } while (advance(ops, length));
    }
    printf("     %llu sequences of up to %u of %d operations\n", walked, longest(), MODEL_OPS);
}

static void every_sequence_agrees_with_the_model(void)
{
    begin(true);
    walk_all();
    end();
}

static void every_sequence_agrees_while_work_is_pending(void)
{
    begin(false);
    walk_all();
    end();
}

static void a_model_that_is_wrong_is_found_out(void)
{
    begin(true);
    CU_ASSERT(rig_begin(settle));
    CU_ASSERT(rig_step(7)); /* overwrite(dev0) */
    rig_mislead();
    CU_ASSERT_FALSE(rig_step(2)); /* read(dev1) */
    rig_end(false);
    end();
}

/* ---- states --------------------------------------------------------------------------------- */

/* How to get to a state. */
struct path {
    bool known;
    unsigned length, ops[RIG_STEPS];
};

static struct path paths[MODEL_STATES];
static unsigned found[MODEL_STATES], nfound;

static void note_state(const struct path *to, unsigned op, const struct model *m)
{
    unsigned state = model_state(m);
    struct path *p = &paths[state];

    if (p->known)
        return;
    if (to)
        *p = *to;
    if (to)
        p->ops[p->length++] = op;
    p->known = true;
    found[nfound++] = state;
}

/* Breadth first, so that the paths are the shortest. */
static void find_states(void)
{
    struct model start;

    memset(paths, 0, sizeof(paths));
    nfound = 0;
    model_init(&start, peer);
    note_state(NULL, 0, &start);
    for (unsigned i = 0; i < nfound; i++)
        for (unsigned op = 0; op < MODEL_OPS; op++) {
            const struct path *to = &paths[found[i]];
            struct model m = start;

            for (unsigned k = 0; k < to->length; k++)
                model_step(&m, &model_ops[to->ops[k]], 0);
            model_step(&m, &model_ops[op], 0);
            note_state(to, op, &m);
        }
}

static bool go_to(const struct path *p)
{
    bool ok = rig_begin(settle);

    for (unsigned i = 0; ok && i < p->length; i++)
        ok = rig_step(p->ops[i]);
    return ok;
}

/* Calls `act` for each state and operation until it has seen enough failures. */
static unsigned long long at_every_state(unsigned long long (*act)(const struct path *, unsigned))
{
    unsigned long long n = 0;
    unsigned stride = ferry_test_is_slow() ? 17 : 1;

    find_states();
    for (unsigned i = 0; i < nfound && bad < ENOUGH; i += stride)
        for (unsigned op = 0; op < MODEL_OPS && bad < ENOUGH; op++)
            n += act(&paths[found[i]], op);
    return n;
}

static unsigned long long one_more_step(const struct path *p, unsigned op)
{
    bool ok = go_to(p) && rig_step(op);

    bad += !rig_end(ok && rig_check_contents());
    return 1;
}

static void walk_states(void)
{
    unsigned long long n = at_every_state(one_more_step);

    printf("     %u states, at most %u operations away, %llu transitions\n", nfound,
           paths[found[nfound - 1]].length, n);
}

static void every_reachable_state_agrees_with_the_model(void)
{
    begin(true);
    walk_states();
    end();
}

static void every_reachable_state_agrees_while_work_is_pending(void)
{
    begin(false);
    walk_states();
    end();
}

/* ---- failures ------------------------------------------------------------------------------- */

static unsigned long long fail_each_call(const struct path *p, unsigned op)
{
    unsigned long long n = 0;

    for (int dev = 0; dev < 2; dev++) {
        enum rig_outcome outcome = RIG_WITHSTOOD;

        for (unsigned nth = 1; outcome == RIG_WITHSTOOD; nth++) {
            outcome = go_to(p) ? rig_step_failing(op, dev, nth) : RIG_WRONG;
            if (!rig_end(outcome != RIG_WRONG && rig_check_contents())) {
                bad++;
                break;
            }
            n += outcome == RIG_WITHSTOOD;
        }
    }
    return n;
}

static unsigned long long fail_each_copy_later(const struct path *p, unsigned op)
{
    unsigned long long n = 0;

    for (unsigned first = 0; first < MODEL_SLOTS; first++)
        for (int dev = 0; dev < 2; dev++) {
            enum rig_outcome outcome = go_to(p) ? rig_step_failing_later(op, dev, 1, first)
                                                : RIG_WRONG;

            bad += !rig_end(outcome == RIG_UNREACHED ||
                            (outcome == RIG_WITHSTOOD && rig_check_contents()));
            n += outcome == RIG_WITHSTOOD;
        }
    return n;
}

static void fail(unsigned long long (*act)(const struct path *, unsigned))
{
    unsigned long long n = at_every_state(act);

    printf("     %u states, %llu calls failed\n", nfound, n);
    CU_ASSERT(n > 0);
}

static void a_call_that_fails_changes_nothing(void)
{
    begin(true);
    fail(fail_each_call);
    end();
}

static void a_call_that_fails_changes_nothing_while_work_is_pending(void)
{
    begin(false);
    fail(fail_each_call);
    end();
}

static void a_copy_that_fails_later_never_passes_for_data(void)
{
    begin(true);
    fail(fail_each_copy_later);
    end();
}

static void a_copy_that_fails_among_pending_ones_never_passes_for_data(void)
{
    begin(false);
    fail(fail_each_copy_later);
    end();
}

/* ---- worlds --------------------------------------------------------------------------------- */

static void nothing_is_left_at_the_end(void)
{
    begin(true);
    CU_ASSERT(rig_close());
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_model_that_is_wrong_is_found_out),
    FERRY_TEST(every_reachable_state_agrees_with_the_model),
    FERRY_TEST(every_reachable_state_agrees_while_work_is_pending),
    FERRY_TEST(a_call_that_fails_changes_nothing),
    FERRY_TEST(a_call_that_fails_changes_nothing_while_work_is_pending),
    FERRY_TEST(a_copy_that_fails_later_never_passes_for_data),
    FERRY_TEST(a_copy_that_fails_among_pending_ones_never_passes_for_data),
    FERRY_TEST(every_sequence_agrees_with_the_model),
    FERRY_TEST(every_sequence_agrees_while_work_is_pending),
    FERRY_TEST(nothing_is_left_at_the_end),
};

int main(int argc, char **argv)
{
    static const char *const direct[] = { "clock", "manual", "peer", "on", NULL };
    static const char *const staged[] = { "clock", "manual", "peer", "off", NULL };
    static const struct wx_world worlds[] = {
        { "peer copies", direct, cases, FERRY_TEST_COUNT(cases) },
        { "through the host", staged, cases, FERRY_TEST_COUNT(cases) },
    };

    return wx_main(argc, argv, "coherence", worlds, FERRY_TEST_COUNT(worlds));
}
