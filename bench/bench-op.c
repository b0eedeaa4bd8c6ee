/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"
#include "conv.h"

#include <stdlib.h>

/* The overhead of an operation without its kernel: creation and running. */

void bench_op(struct bench *b)
{
    static const struct conv_shape least = { "1x1 1-1 @1", 1, 1, 1, 1, 1, 0, 1 };
    const char *why = "";
    struct conv c[2];
    double seconds[2];

    if (getenv("BENCH_SET")) /* a child process of the preceding suite */
        return;
    conv_add_create(b, "cpu", b->device);
    conv_add_halves(b, "cpu", b->device);
    if (conv_device(&least, b->device, &c[0]) != 0) {
        bench_skip(b, "cpu: run", "%s", ferry_last_error());
        return;
    }
    if (conv_ferry(&least, NULL, 1, &c[1], &why) != 0) {
        bench_skip(b, "cpu: run", "%s", why);
        c[0].destroy(c[0].state);
        return;
    }
    conv_measure(b, c, 2, seconds);
    bench_add(b, "cpu: run of a convolution of one element : its kernel", "ns", seconds[0] * 1e9,
              seconds[1] * 1e9, BENCH_NO_GOAL, 0);
    bench_add(b, "  overhead of a run", "ns",
              seconds[0] > seconds[1] ? (seconds[0] - seconds[1]) * 1e9 : 0, 0, BENCH_AT_MOST, 500);
    for (int i = 0; i < 2; i++)
        c[i].destroy(c[i].state);
}
