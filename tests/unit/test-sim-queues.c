/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

/*
 * The simulated device with many queues: which command runs next, and the cost of finding it.
 */

/* ---- order ---- */

enum { QUEUES = 61, COMMANDS = 5 * QUEUES };

static void queues_create(void *dev, void **queues, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        CU_ASSERT_FATAL(sim->queue_create(dev, 0, &queues[i]) == 0);
}

static void queues_destroy(void *dev, void **queues, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        CU_ASSERT_EQUAL(sim->queue_destroy(dev, queues[i]), 0);
}

static void get(void *dev, void *queue, const void *block, unsigned char *to)
{
    CU_ASSERT_EQUAL(
        sim->memcpy(dev, queue, FERRY_MEMCPY_D2H, driver_ref(to, 0), driver_cref(block, 0), 1), 0);
}

static void many_queues_are_stepped_in_submission_order(void)
{
    unsigned char seen[COMMANDS + 1] = { 0 };
    void *queues[QUEUES], *dev, *block;

    if (!sim_load())
        return;
    driver_set("clock", "manual");
    dev = sim_open(0);
    block = sim_block(dev, 1, 0); /* its byte is not 0 */
    queues_create(dev, queues, QUEUES);
    for (unsigned i = 0; i < COMMANDS; i++)
        get(dev, queues[i * i % QUEUES], block, &seen[i]);
    for (unsigned i = 0; i < COMMANDS; i++) {
        CU_ASSERT_EQUAL(seen[i], 0);
        CU_ASSERT_EQUAL(control->step(dev, 1), 1);
        CU_ASSERT_NOT_EQUAL(seen[i], 0);
    }
    CU_ASSERT_EQUAL(control->step(dev, 1), 0);
    queues_destroy(dev, queues, QUEUES);
    sim_free_block(dev, block);
    sim_close(dev);
}

/* All queues wait for one event; work that is submitted to them meanwhile runs after the wait. */
static void queues_that_wait_for_one_event_continue_in_submission_order(void)
{
    unsigned char seen[QUEUES] = { 0 };
    void *queues[QUEUES], *dev, *block, *event;

    if (!sim_load())
        return;
    driver_set("clock", "manual");
    dev = sim_open(0);
    block = sim_block(dev, 1, 0);
    queues_create(dev, queues, QUEUES);
    CU_ASSERT_FATAL(sim->event_record(dev, NULL, &event) == 0);
    for (unsigned i = 0; i < QUEUES; i++) {
        CU_ASSERT_EQUAL(sim->queue_wait(dev, queues[i * 7 % QUEUES], event), 0);
        get(dev, queues[i * 7 % QUEUES], block, &seen[i]);
    }
    CU_ASSERT_EQUAL(control->step_queue(dev, queues[3], 9), 0);
    CU_ASSERT_EQUAL(sim->queue_destroy(dev, queues[3]), 0); /* runs the command, and the commands
                                                             * that it waits for */
    CU_ASSERT_EQUAL(control->pending(dev), 2 * (QUEUES - 1));
    for (unsigned i = 0; i < QUEUES; i++)
        if (i * 7 % QUEUES != 3) {
            CU_ASSERT_EQUAL(seen[i], 0);
            CU_ASSERT_EQUAL(control->step(dev, 2), 2);
            CU_ASSERT_NOT_EQUAL(seen[i], 0);
        } else {
            CU_ASSERT_NOT_EQUAL(seen[i], 0);
        }
    queues_destroy(dev, queues, 3);
    queues_destroy(dev, queues + 4, QUEUES - 4);
    CU_ASSERT_EQUAL(sim->event_destroy(dev, event), 0);
    sim_free_block(dev, block);
    sim_close(dev);
}

/* ---- cost ---- */

enum { FEW = 128, MANY = 16 * FEW };

/* Which call runs the work of the queues. */
enum way { LAST_QUEUE, ALL_QUEUES, STEPS };

struct writes {
    void *dev, *block;
    void *queues[MANY], *events[MANY];
    enum way way;
};

/*
 * Nanoseconds of processor time, without the time of other processes. If that time has a limit,
 * Linux counts it in ticks of several milliseconds.
 */
static int64_t spent(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * A write on each queue; each waits for the one on the queue before it, unless steps will run them.
 */
static int write_through(struct writes *w, unsigned n)
{
    static const unsigned char byte = 1;
    int err = 0;

    for (unsigned i = 0; i < n; i++) {
        if (i > 0 && w->way != STEPS)
            err |= sim->queue_wait(w->dev, w->queues[i], w->events[i - 1]);
        err |= sim->memcpy(w->dev, w->queues[i], FERRY_MEMCPY_H2D, driver_ref(w->block, i),
                           driver_cref(&byte, 0), 1);
        err |= sim->event_record(w->dev, w->queues[i], &w->events[i]);
    }
    if (w->way == STEPS)
        CU_ASSERT_EQUAL(control->run_all(w->dev), 2 * (uint64_t)n);
    if (w->way == LAST_QUEUE)
        err |= sim->queue_synchronize(w->dev, w->queues[n - 1]);
    if (w->way == ALL_QUEUES)
        err |= sim->synchronize(w->dev);
    for (unsigned i = 0; i < n; i++)
        err |= sim->event_destroy(w->dev, w->events[i]);
    return err;
}

/*
 * The time that this takes with n queues, including creating and destroying them; the best of
 * several runs.
 */
static int64_t cost(struct writes *w, unsigned n)
{
    int64_t best = INT64_MAX;

    for (int i = 0; i < 5; i++) {
        int64_t start = spent();

        queues_create(w->dev, w->queues, n);
        CU_ASSERT_EQUAL(write_through(w, n), 0);
        queues_destroy(w->dev, w->queues, n);
        start = spent() - start;
        best = start < best ? start : best;
    }
    return best;
}

/* Sixteen times as many queues may take at most 100 times as long: quadratic time would be 256. */
static void check_growth(const char *clock, enum way way)
{
    static const char *const names[] = { "the last queue", "all queues", "steps" };
    struct writes *w;
    struct rlimit limit;
    int64_t few, many;

    if (getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        ferry_test_skip("the processor time is limited, so that its clock is too coarse");
        return;
    }
    w = calloc(1, sizeof(*w));
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    if (!sim_load()) {
        free(w);
        return;
    }
    driver_set("clock", clock);
    w->dev = sim_open(0);
    w->block = sim_block(w->dev, MANY, 0);
    w->way = way;
    few = cost(w, FEW);
    many = cost(w, MANY);
    CU_ASSERT(many <= 100 * few);
    printf("     %s clock, %s: %d queues %.2f ms, %d queues %.2f ms\n", clock, names[way], FEW,
           (double)few / 1e6, MANY, (double)many / 1e6);
    sim_free_block(w->dev, w->block);
    sim_close(w->dev);
    free(w);
}

static void the_time_of_a_chain_of_writes_per_queue_does_not_grow(void)
{
    check_growth("manual", LAST_QUEUE);
    check_growth("manual", ALL_QUEUES);
}

static void the_time_of_steps_per_queue_does_not_grow(void)
{
    check_growth("manual", STEPS);
}

static void the_time_of_the_real_clock_per_queue_does_not_grow(void)
{
    check_growth("real", LAST_QUEUE);
    check_growth("real", ALL_QUEUES);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(many_queues_are_stepped_in_submission_order),
    FERRY_TEST(queues_that_wait_for_one_event_continue_in_submission_order),
    FERRY_TEST(the_time_of_a_chain_of_writes_per_queue_does_not_grow),
    FERRY_TEST(the_time_of_steps_per_queue_does_not_grow),
    FERRY_TEST(the_time_of_the_real_clock_per_queue_does_not_grow),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "sim-queues", cases, FERRY_TEST_COUNT(cases));
}
