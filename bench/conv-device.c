/* SPDX-License-Identifier: BSD-2-Clause */
#include "conv.h"

#include <ferry/op.h>

#include <stdio.h>
#include <stdlib.h>

struct prepared {
    ferry_operation *operation;
    ferry_queue *queue;
    ferry_operation_location in[3], out[1];
};

static void run(void *state)
{
    struct prepared *p = state;
    const ferry_operation_args args = { .struct_size = sizeof(args), .in = p->in, .out = p->out };

    (void)ferry_operation_run(p->operation, p->queue, &args);
}

static void wait(void *state)
{
    struct prepared *p = state;

    (void)ferry_queue_synchronize(p->queue);
}

static void destroy(void *state)
{
    struct prepared *p = state;

    ferry_operation_destroy(p->operation);
    for (int i = 0; i < 3; i++)
        ferry_memory_release(p->in[i].memory);
    ferry_memory_release(p->out[0].memory);
    free(p);
}

/* Small normal numbers, also in F16 and BF16. */
static int make_memory(ferry_device *device, const ferry_operand *o, ferry_memory **out)
{
    size_t bytes = (size_t)ferry_operand_extent(o);
    int err = ferry_memory_create(device, bytes, out);
    void *data = err ? NULL : ferry_memory_overwrite_host_data(*out);
    float *f = data;
    uint16_t *half = data;

    if (o->dtype == FERRY_F32)
        for (size_t i = 0; f && i < bytes / sizeof(*f); i++)
            f[i] = (float)(i % 17) * 0.01f;
    else
        for (size_t i = 0; half && i < bytes / sizeof(*half); i++)
            half[i] = (uint16_t)(0x2c00 + i % 17);
    return data ? 0 : -1;
}

static int prepare(const struct conv_shape *s, ferry_device *device, ferry_dtype dtype,
                   ferry_operation_tier worst, struct conv *out)
{
    struct prepared *p = calloc(1, sizeof(*p));
    ferry_operation_plan plan = { .struct_size = sizeof(plan) };
    ferry_op_desc op;
    int err;

    if (!p)
        return -1;
    conv_describe(s, &op);
    for (int i = 0; i < 3; i++)
        op.in[i].dtype = dtype;
    op.out[0].dtype = dtype;
    err = ferry_operation_query(device, &op, &plan) || plan.tier > worst ||
          ferry_operation_create(device, &op, &p->operation);
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

int conv_device(const struct conv_shape *s, ferry_device *device, struct conv *out)
{
    return prepare(s, device, FERRY_F32, FERRY_TIER_OWN, out);
}

void conv_add_halves(struct bench *b, const char *name, ferry_device *device)
{
    static const ferry_dtype dtypes[] = { FERRY_F32, FERRY_F16, FERRY_BF16 };
    const struct conv_shape *s = &conv_shapes[2];
    struct conv c[3];
    double seconds[3];
    char figure[96];
    int made = 0;

    while (made < 3 && prepare(s, device, dtypes[made], FERRY_TIER_COMPOSED, &c[made]) == 0)
        made++;
    if (made == 3)
        conv_measure(b, c, 3, seconds);
    for (int i = 1; i < 3; i++) {
        snprintf(figure, sizeof(figure), "%s: %s in %s : in F32", name, s->name,
                 i == 1 ? "F16" : "BF16");
        if (made == 3)
            bench_add(b, figure, "GFLOP/s", conv_gigaflops(s, seconds[i]),
                      conv_gigaflops(s, seconds[0]), BENCH_NO_GOAL, 0);
        else
            bench_skip(b, figure, "%s", ferry_last_error());
    }
    while (made-- > 0)
        c[made].destroy(c[made].state);
}

static double create_time(const struct conv_shape *s, ferry_device *device)
{
    double best = -1;
    ferry_op_desc op;

    conv_describe(s, &op);
    for (int i = 0; i < 9; i++) {
        ferry_operation *operation;
        double begin = bench_now(), took;

        if (ferry_operation_create(device, &op, &operation) != 0)
            return -1;
        took = bench_now() - begin;
        best = i == 0 || took < best ? took : best; /* the first run may load a program */
        ferry_operation_destroy(operation);
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
