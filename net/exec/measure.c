/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures layers one at a time: all work completes before and after each item of a program. */
#define _POSIX_C_SOURCE 200809L
#include "net/exec/exec.h"
#include "net/exec/measure.h"

#include <ferry/op_types.h>
#include <ferry/profile.h>
#include <ferry/status.h>

#include <string.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Ends the profiling of the queues of layers 0 … n − 1. */
static void unprofile(const ferry_net *net, int n)
{
    while (n-- > 0)
        (void)ferry_queue_profile(ferry_layer_queue(&net->layers[n]), false);
}

/* Profiles the queue of each layer; a queue that several layers use is profiled for each. */
static int profile(const ferry_net *net)
{
    int i, err = 0;

    for (i = 0; !err && i < net->n_layers; i++)
        err = ferry_queue_profile(ferry_layer_queue(&net->layers[i]), true);
    if (err)
        unprofile(net, i - 1);
    return err;
}

void ferry__measure_end(ferry_net *net)
{
    if (net->on_device)
        unprofile(net, net->n_layers);
    net->on_device = false;
}

int ferry_net_set_measuring(ferry_net *net, ferry_net_measuring what)
{
    int i, err = 0;

    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_set_measuring: NULL net");
    if ((unsigned)what > FERRY_NET_MEASURE_DEVICE)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_set_measuring: no such value: %d",
                               (int)what);
    if (what == FERRY_NET_MEASURE_DEVICE && !net->on_device) {
        err = profile(net);
        if (err)
            return err;
        net->on_device = true;
    } else if (what != FERRY_NET_MEASURE_DEVICE) {
        ferry__measure_end(net);
    }
    net->measured = what != FERRY_NET_MEASURE_OFF;
    memset(net->passes, 0, sizeof net->passes);
    for (i = 0; i < net->n_layers; i++)
        memset(net->layers[i].spent, 0, sizeof net->layers[i].spent);
    return 0;
}

/* The number of bytes copied to, from and between the devices of the net. */
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

static int wait(const ferry_net *net, struct ferry__submission *s, ferry_layer *layer)
{
    int err = ferry__submission_end(s, 0);

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
 * The number of multiplications and additions of a convolution or an inner product: two for each
 * weight per output (per input, if transposed). Counted for forward, and for backward to the data
 * and to the weights. Other operations count 0.
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

/* The number of elements that an operand holds: an axis of stride 0 repeats the same ones. */
static double held_by(const ferry_operand *o)
{
    double count = 1;
    uint32_t i;

    for (i = 0; i < o->rank; i++)
        count *= o->stride[i] || !o->shape[i] ? (double)o->shape[i] : 1;
    return count;
}

/* The number of bytes of an operation's operands; a call of the layer's own function counts 0. */
static double bytes_of(const struct ferry__item *item)
{
    const ferry_op_desc *op = &item->op;
    double bytes = 0;
    uint32_t i;

    for (i = 0; !item->call && i < op->n_in; i++)
        bytes += held_by(&op->in[i]) * (double)ferry_dtype_size(op->in[i].dtype);
    for (i = 0; !item->call && i < op->n_out; i++)
        bytes += held_by(&op->out[i]) * (double)ferry_dtype_size(op->out[i].dtype);
    return bytes;
}

/* Adds the span's time. The span's work is done, but some drivers notice this later. */
static int add_time(ferry_span *span, double *ms)
{
    ferry_span_times times = { .struct_size = sizeof times };
    const struct timespec pause = { 0, 100000 };
    int answer = ferry_span_read(span, &times);

    for (int i = 0; answer == 0 && i < 10000; i++) {
        nanosleep(&pause, NULL);
        answer = ferry_span_read(span, &times);
    }
    if (answer == 0)
        return ferry_error_set(FERRY_EDEVICE, "net: the times of finished work do not arrive");
    *ms += (double)times.duration_ns * 1e-6;
    return answer < 0 ? answer : 0;
}

/* Runs the item and adds the time of its work on the device's clock. */
static int run_in_span(struct ferry__submission *s, const struct ferry__program *p,
                       const struct ferry__item *item, double *ms)
{
    ferry_span *span;
    int ended, err = ferry_span_begin(ferry_layer_queue(item->layer), &span);

    if (err)
        return err;
    err = ferry__item_run(s, p, item);
    if (!err)
        err = ferry__submission_end(s, 0);
    ended = ferry_span_end(span);
    err = err ? err : ended;
    if (!err)
        err = wait(p->net, s, item->layer);
    if (!err)
        err = add_time(span, ms);
    ferry_span_destroy(span);
    return err;
}

/* The part of an item's images that one run of the submission computes, of its operation's. */
static double share_of(const struct ferry__submission *s)
{
    const struct ferry__chains *c = s->chains;

    if (!c)
        return 1;
    return (double)c->images / (double)ferry__chains_most(c) * (double)(c->to - c->from) *
           c->count / (double)c->pieces;
}

int ferry__measure_item(struct ferry__submission *s, const struct ferry__program *p,
                        const struct ferry__item *item)
{
    ferry_layer *layer = item->layer;
    struct ferry__net_spent *spent = &layer->spent[item->back];
    int err = wait(p->net, s, layer);
    uint64_t before = moved(p->net, layer);
    double begin = now_ms();

    if (!err)
        err = p->net->on_device ? run_in_span(s, p, item, &spent->device_ms)
                                : ferry__item_run(s, p, item);
    if (!err)
        err = wait(p->net, s, layer);
    if (err)
        return err;
    spent->ms += now_ms() - begin;
    spent->moved += moved(p->net, layer) - before;
    spent->flops += flops_of(item) * share_of(s);
    spent->accessed += bytes_of(item) * share_of(s);
    return 0;
}

void ferry__measure_get(const ferry_layer *layer, ferry_net_layer_info *out)
{
    const struct ferry__net_spent *forward = &layer->spent[0], *backward = &layer->spent[1];
    double passes = layer->net->passes[0] ? (double)layer->net->passes[0] : 1;

    out->ms = forward->ms / passes;
    out->device_ms = forward->device_ms / passes;
    out->flops = forward->flops / passes;
    out->bytes_accessed = forward->accessed / passes;
    out->bytes_moved = (uint64_t)((double)forward->moved / passes);
    passes = layer->net->passes[1] ? (double)layer->net->passes[1] : 1;
    out->backward_ms = backward->ms / passes;
    out->backward_device_ms = backward->device_ms / passes;
    out->backward_flops = backward->flops / passes;
    out->backward_bytes_accessed = backward->accessed / passes;
    out->backward_bytes_moved = (uint64_t)((double)backward->moved / passes);
}
