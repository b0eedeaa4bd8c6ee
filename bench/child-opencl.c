/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <ferry/ferry.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Measurements of bench-opencl.c that need a process of their own; writes seconds to standard
 * output. copies: 64 MiB to a discrete device by ferry, and by clEnqueueWriteBuffer; back by ferry,
 * and by clEnqueueReadBuffer. first: the first update of a blob in this process, and the second.
 */

#define BYTES   ((size_t)64 << 20)
#define SAMPLES 21

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *samples)
{
    qsort(samples, SAMPLES, sizeof(*samples), compare);
    return samples[SAMPLES / 2];
}

struct copying {
    ferry_device *device;
    ferry_memory *m;
    cl_command_queue q;
    cl_mem mem;
    char *host;
};

static int write_by_ferry(struct copying *c)
{
    c->mem = ferry_memory_mutable_device_data(c->m).handle;
    return c->mem ? ferry_device_synchronize(c->device) : ferry_last_error_code();
}

static int write_bare(struct copying *c)
{
    return clEnqueueWriteBuffer(c->q, c->mem, CL_TRUE, 0, BYTES, c->host, 0, NULL, NULL);
}

static int read_by_ferry(struct copying *c)
{
    return ferry_memory_host_data(c->m) ? 0 : ferry_last_error_code();
}

static int read_bare(struct copying *c)
{
    return clEnqueueReadBuffer(c->q, c->mem, CL_TRUE, 0, BYTES, c->host, 0, NULL, NULL);
}

static int timed(int (*copy)(struct copying *c), struct copying *c, double *out)
{
    double begin = now();
    int err = copy(c);

    *out = now() - begin;
    return err;
}

/* Runs one after the other, alternating which is first. */
static int pair(int (*ferry)(struct copying *c), int (*bare)(struct copying *c), struct copying *c,
                bool bare_first, double *out_ferry, double *out_bare)
{
    int err = bare_first ? timed(bare, c, out_bare) : 0;

    if (!err)
        err = timed(ferry, c, out_ferry);
    if (!err && !bare_first)
        err = timed(bare, c, out_bare);
    return err;
}

/* On the same buffer and the same host memory; the first round warms up. */
static int copies(ferry_device *device)
{
    double t[4][SAMPLES + 1];
    struct copying c = { .device = device };
    int err = ferry_memory_create(device, BYTES, &c.m);

    if (!err)
        err = ferry_device_native(device, "cl_command_queue", &c.q, sizeof(c.q));
    for (int i = SAMPLES; i >= 0 && !err; i--) {
        c.host = ferry_memory_overwrite_host_data(c.m);
        if (c.host)
            memset(c.host, i, BYTES);
        err = pair(write_by_ferry, write_bare, &c, i % 2 && c.mem, &t[0][i], &t[1][i]);
        if (!err)
            err = pair(read_by_ferry, read_bare, &c, i % 2, &t[2][i], &t[3][i]);
    }
    ferry_memory_release(c.m);
    for (int k = 0; k < 4 && !err; k++)
        printf("%.9g\n", median(t[k]));
    return err;
}

static int first(ferry_device *device)
{
    const int64_t count = 1 << 20;
    ferry_blob *b;
    int err = ferry_blob_create(device, FERRY_F32, &count, 1, &b);

    if (!err)
        err = ferry_blob_fill_data(b, 1);
    if (!err)
        err = ferry_blob_fill_diff(b, 1);
    if (!ferry_blob_mutable_device_data(b).handle || !ferry_blob_mutable_device_diff(b).handle)
        err = ferry_last_error_code();
    for (int i = 0; i < 2 && !err; i++) {
        double begin = now();

        err = ferry_blob_update(b);
        if (!err)
            err = ferry_device_synchronize(device);
        printf("%.9g\n", now() - begin);
    }
    ferry_blob_destroy(b);
    return err;
}

int main(int argc, char **argv)
{
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "opencl" };
    ferry_runtime *rt = NULL;
    ferry_device *device = NULL;
    bool discrete = argc > 1 && strcmp(argv[1], "copies") == 0;
    int err = ferry_runtime_open(&options, &rt);

    if (!err && discrete)
        err = ferry_runtime_set_option(rt, "opencl", "zero_copy", "off");
    if (!err)
        err = ferry_runtime_get_device(rt, NULL, &device);
    if (!err)
        err = (discrete ? copies : first)(device);
    if (err)
        fprintf(stderr, "child-opencl: %s\n", ferry_last_error());
    ferry_runtime_close(rt);
    return err != 0;
}
