/* SPDX-License-Identifier: BSD-2-Clause */
#include "conv.h"

#include <ferry/op.h>

#include <stdio.h>
#include <stdlib.h>

struct prepared {
    ferry_operation *operation;
    ferry_queue *queue;
    ferry_op_place in[3], out[1];
};

static void run(void *state)
{
    struct prepared *p = state;
    const ferry_op_args args = { .struct_size = sizeof(args), .in = p->in, .out = p->out };

    (void)ferry_op_run(p->operation, p->queue, &args);
}

static void wait(void *state)
{
    struct prepared *p = state;

    (void)ferry_queue_synchronize(p->queue);
}

static void destroy(void *state)
{
    struct prepared *p = state;

    ferry_op_destroy(p->operation);
    for (int i = 0; i < 3; i++)
        ferry_memory_release(p->in[i].memory);
    ferry_memory_release(p->out[0].memory);
    free(p);
}

static int make_memory(ferry_device *device, const ferry_operand *o, ferry_memory **out)
{
    size_t count = (size_t)ferry_operand_extent(o);
    int err = ferry_memory_create(device, count * sizeof(float), out);
    float *p = err ? NULL : ferry_memory_overwrite_host_data(*out);

    for (size_t i = 0; p && i < count; i++)
        p[i] = (float)(i % 17) * 0.01f;
    return p ? 0 : -1;
}

int conv_device(const struct conv_shape *s, ferry_device *device, struct conv *out)
{
    struct prepared *p = calloc(1, sizeof(*p));
    ferry_op_plan plan = { .struct_size = sizeof(plan) };
    ferry_op op;
    int err;

    if (!p)
        return -1;
    conv_describe(s, &op);
    err = ferry_op_query(device, &op, &plan) || plan.tier != FERRY_TIER_OWN ||
          ferry_op_create(device, &op, &p->operation);
    for (int i = 0; i < 3 && !err; i++)
        err = make_memory(device, &op.in[i], &p->in[i].memory);
    if (!err)
        err = make_memory(device, &op.out[0], &p->out[0].memory);
    if (err) {
        destroy(p);
        return -1;
    }
    p->queue = ferry_device_queue(device);
    *out = (struct conv){ run, destroy, p, wait, 0 };
    return 0;
}

static double create_time(const struct conv_shape *s, ferry_device *device)
{
    double best = -1;
    ferry_op op;

    conv_describe(s, &op);
    for (int i = 0; i < 9; i++) {
        ferry_operation *operation;
        double begin = bench_now(), took;

        if (ferry_op_create(device, &op, &operation) != 0)
            return -1;
        took = bench_now() - begin;
        best = i == 0 || took < best ? took : best; /* the first may load a program */
        ferry_op_destroy(operation);
    }
    return best;
}

void conv_add_create(struct bench *b, const char *name, ferry_device *device)
{
    double worst = 0;
    char figure[96];

    snprintf(figure, sizeof(figure), "%s: create, the slowest convolution", name);
    for (int i = 0; i < CONV_SHAPES; i++) {
        double took = create_time(&conv_shapes[i], device);

        if (took < 0) {
            bench_skip(b, figure, "%s", ferry_last_error());
            return;
        }
        worst = took > worst ? took : worst;
    }
    bench_add(b, figure, "us", worst * 1e6, 0, BENCH_AT_MOST, 1000);
}
