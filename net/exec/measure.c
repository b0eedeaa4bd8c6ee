/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures layers one at a time: all work completes before and after each item of a program. */
#define _POSIX_C_SOURCE 200809L
#include "net/exec/exec.h"
#include "net/exec/measure.h"

#include <ferry/status.h>

#include <string.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int ferry_net_set_measuring(ferry_net *net, int on)
{
    int i;

    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_set_measuring: NULL net");
    net->measured = on != 0;
    memset(net->passes, 0, sizeof net->passes);
    for (i = 0; i < net->n_layers; i++)
        memset(net->layers[i].spent, 0, sizeof net->layers[i].spent);
    return 0;
}

/* Bytes copied to, from and between the devices of the net. */
static uint64_t moved(const ferry_net *net, const ferry_layer *layer)
{
    const ferry_device *devices[2] = { net->device, layer->device };
    uint64_t sum = 0;
    int i;

    for (i = 0; i < 1 + (devices[1] != devices[0]); i++) {
        ferry_device_stats stats = { .struct_size = sizeof stats };

        if (!ferry_device_get_stats(devices[i], &stats))
            sum += stats.bytes_h2d + stats.bytes_d2h + stats.bytes_d2d;
    }
    return sum;
}

static int wait(const ferry_net *net, struct ferry__segment *s, ferry_layer *layer)
{
    int err = ferry__segment_end(s, 0);

    if (!err)
        err = ferry_device_synchronize(net->device);
    if (!err && layer->device != net->device)
        err = ferry_device_synchronize(layer->device);
    return err;
}

static double count_of(const ferry_operand *o)
{
    double count = 1;
    uint32_t i;

    for (i = 0; i < o->rank; i++)
        count *= (double)o->shape[i];
    return count;
}

/*
 * Multiplications and additions of a convolution or an inner product: two for each weight per
 * output (per input, if transposed); for forward, backward to the data and to the weights. Other
 * operations count 0.
 */
static double flops_of(const struct ferry__item *item)
{
    const ferry_op_desc *op = &item->op;
    bool transposed = op->kind == FERRY_OP_CONVOLUTION && op->params.window.transposed;
    const ferry_operand *x = &op->in[0], *w = &op->in[1], *y = &op->out[0];

    if (item->call || op->pass == FERRY_PASS_BACKWARD_BIAS ||
        (op->kind != FERRY_OP_CONVOLUTION && op->kind != FERRY_OP_INNER_PRODUCT))
        return 0;
    if (op->pass == FERRY_PASS_BACKWARD_DATA) {
        x = &op->out[0];
        y = &op->in[0];
    } else if (op->pass == FERRY_PASS_BACKWARD_WEIGHTS) {
        x = &op->in[1];
        w = &op->out[0];
        y = &op->in[0];
    }
    if (!w->rank || !w->shape[0])
        return 0;
    return 2 * count_of(transposed ? x : y) * count_of(w) / (double)w->shape[0];
}

int ferry__measure_item(struct ferry__segment *s, const struct ferry__program *p,
                        const struct ferry__item *item)
{
    ferry_layer *layer = item->layer;
    struct ferry__net_spent *spent = &layer->spent[item->back];
    int err = wait(p->net, s, layer);
    uint64_t before = moved(p->net, layer);
    double begin = now_ms();

    if (!err)
        err = ferry__item_run(s, p, item);
    if (!err)
        err = wait(p->net, s, layer);
    if (err)
        return err;
    spent->ms += now_ms() - begin;
    spent->moved += moved(p->net, layer) - before;
    spent->flops += flops_of(item);
    return 0;
}

void ferry__measure_get(const ferry_layer *layer, ferry_net_layer_info *out)
{
    const struct ferry__net_spent *forward = &layer->spent[0], *backward = &layer->spent[1];
    double passes = layer->net->passes[0] ? (double)layer->net->passes[0] : 1;

    out->ms = forward->ms / passes;
    out->flops = forward->flops / passes;
    out->bytes_moved = (uint64_t)((double)forward->moved / passes);
    passes = layer->net->passes[1] ? (double)layer->net->passes[1] : 1;
    out->backward_ms = backward->ms / passes;
    out->backward_flops = backward->flops / passes;
    out->backward_bytes_moved = (uint64_t)((double)backward->moved / passes);
}
