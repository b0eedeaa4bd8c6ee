/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the real clock. */
#define _GNU_SOURCE
#include "sim.h"

#include <time.h>

int64_t sim_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
