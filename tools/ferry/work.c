/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "work.h"

#include <string.h>
#include <time.h>

/* The indices of the numbers of "cpu_count_work" (doc/backends.md). */
enum { THREADS, LOOPS, TASKS, IN_LOOPS, OF_SLOWEST, COUNTS };

static uint64_t processor_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The time of one reading of the clock, in ns. */
static double clock_ns(void)
{
    enum { READINGS = 1000 };
    uint64_t begin = processor_ns(), end = begin;

    for (int i = 0; i < READINGS; i++)
        end = processor_ns();
    return (double)(end - begin) / READINGS;
}

/*
 * Subtracts the clock's own time: each task has two readings, one of which is part of the task's
 * time.
 */
static void subtract_clock(struct work *w)
{
    double one = w->tasks * clock_ns() * 1e-6;
    double kept = w->ms_in_loops > one ? 1 - one / w->ms_in_loops : 0;

    w->ms = w->ms > 2 * one ? w->ms - 2 * one : 0;
    w->ms_in_loops *= kept;
    w->ms_of_slowest *= kept;
    if (w->ms < w->ms_in_loops)
        w->ms = w->ms_in_loops;
}

static int pass(ferry_net *net)
{
    return ferry_net_forward(net, NULL) || ferry_device_synchronize(ferry_net_device(net));
}

/* Counts one pass. The last count is the processor's time of the whole pass. */
static int count_pass(ferry_net *net, void (*count)(uint64_t *counts), uint64_t counts[COUNTS + 1])
{
    uint64_t begin;
    int err;

    memset(counts, 0, (COUNTS + 1) * sizeof *counts);
    count(counts);
    begin = processor_ns();
    err = pass(net);
    counts[COUNTS] = processor_ns() - begin;
    count(NULL);
    return err;
}

int work_count(const struct tool_command *self, ferry_net *net, int64_t passes, struct work *out)
{
    void (*count)(uint64_t *counts) = NULL;
    uint64_t counts[COUNTS + 1], best[COUNTS + 1] = { 0 };
    int err = ferry_device_native(ferry_net_device(net), "cpu_count_work", &count, sizeof count);

    if (err == FERRY_EUNSUPPORTED)
        return tool_error(TOOL_FAILURE, "%s: --work is for the cpu plugin; the device is %s",
                          self->name, ferry_device_name(ferry_net_device(net)));
    if (err)
        return tool_ferry_error();
    err = count_pass(net, count, counts);
    for (int64_t i = 0; !err && i < passes; i++) {
        err = count_pass(net, count, counts);
        if (i == 0 || counts[OF_SLOWEST] < best[OF_SLOWEST])
            memcpy(best, counts, sizeof best);
    }
    if (err)
        return tool_ferry_error();
    *out = (struct work){ .threads = (unsigned)best[THREADS],
                          .loops = (double)best[LOOPS],
                          .tasks = (double)best[TASKS],
                          .ms = (double)best[COUNTS] * 1e-6,
                          .ms_in_loops = (double)best[IN_LOOPS] * 1e-6,
                          .ms_of_slowest = (double)best[OF_SLOWEST] * 1e-6 };
    subtract_clock(out);
    return TOOL_OK;
}

double work_speed_up(const struct work *w)
{
    double left = w->ms - w->ms_in_loops + w->ms_of_slowest;

    return left > 0 ? w->ms / left : 1;
}
