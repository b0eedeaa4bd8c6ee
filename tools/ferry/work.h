/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_WORK_H
#define FERRY_TOOL_WORK_H

#include "net.h"

/* `ferry time --work`: how a pass is divided among the threads of the cpu plugin. */

/* Of the pass whose slowest threads had the least time, without most interruptions. */
struct work {
    unsigned threads;
    double loops, tasks;  /* loops that the threads share, and the tasks of these */
    double ms;            /* the processor's time of the pass on one thread */
    double ms_in_loops;   /* that of the tasks */
    double ms_of_slowest; /* that of the thread with the most work of each loop */
};

/*
 * Runs one pass and then `passes` ≥ 1 passes on this thread alone, divided as for the device's
 * threads. Returns an exit status; a failure is reported.
 */
int work_count(const struct tool_command *self, ferry_net *net, int64_t passes, struct work *out);

/* The speed-up over one thread if threads cost nothing else: no barriers, no waits for memory. */
double work_speed_up(const struct work *w);

#endif
