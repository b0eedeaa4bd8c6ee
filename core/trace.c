/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "trace.h"

bool ferry__trace_on(void)
{
    return false;
}
double ferry__trace_now(void)
{
    return 0;
}
void ferry__trace_copy(const char *what, const char *name, uint64_t bytes,
                       enum ferry__reason reason, const ferry_queue *q, double start)
{
    (void)what;
    (void)name;
    (void)bytes;
    (void)reason;
    (void)q;
    (void)start;
}
void ferry__trace_event(const char *what, const char *name, uint64_t bytes, const ferry_device *dev,
                        double start)
{
    (void)what;
    (void)name;
    (void)bytes;
    (void)dev;
    (void)start;
}
