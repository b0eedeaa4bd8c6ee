/* SPDX-License-Identifier: BSD-2-Clause */
#include "conv.h"

#include <ferry/op.h>

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
    *out = (struct conv){ run, destroy, p, wait };
    return 0;
}
