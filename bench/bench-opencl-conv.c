/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"
#include "conv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Convolutions on an OpenCL device compared with the CPU plugin, in GFLOP/s. There is a goal for
 * PoCL only, which runs on the same cores.
 */

static void run_shape(struct bench *b, const struct conv_shape *s, ferry_device *device,
                      enum bench_goal direction)
{
    struct conv c[2];
    double seconds[2];
    char figure[96];

    snprintf(figure, sizeof(figure), "opencl: %s : cpu", s->name);
    if (conv_device(s, device, &c[0]) != 0) {
        bench_skip(b, figure, "%s", ferry_last_error());
        return;
    }
    if (conv_device(s, b->device, &c[1]) != 0) {
        bench_skip(b, figure, "cpu: %s", ferry_last_error());
        c[0].destroy(c[0].state);
        return;
    }
    conv_measure(b, c, 2, seconds);
    bench_add(b, figure, "GFLOP/s", conv_gigaflops(s, seconds[0]), conv_gigaflops(s, seconds[1]),
              direction, 0.4);
    for (int i = 0; i < 2; i++)
        c[i].destroy(c[i].state);
}

void bench_opencl_conv(struct bench *b)
{
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "opencl" };
    const char *only = getenv("BENCH_ONLY");
    enum bench_goal direction;
    ferry_runtime *rt;
    ferry_device *device;

    if (ferry_runtime_open(&options, &rt) != 0 ||
        ferry_runtime_get_device(rt, NULL, &device) != 0) {
        bench_skip(b, "opencl: convolutions", "%s", ferry_last_error());
        return;
    }
    direction =
        ferry_device_get_properties(device)->host_processors ? BENCH_AT_LEAST : BENCH_NO_GOAL;
    for (size_t i = 0; i < CONV_SHAPES; i++)
        if (!only || strstr(conv_shapes[i].name, only))
            run_shape(b, &conv_shapes[i], device, direction);
    if (!only)
        conv_add_create(b, "opencl", device);
    if (!only || strstr("halves", only))
        conv_add_halves(b, "opencl", device);
    ferry_runtime_close(rt);
}
