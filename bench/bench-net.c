/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"
#include "nets.h"

#include <ferry/net.h>
#include <ferry/op.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Whole nets, forward, in milliseconds: compared with the same net without fusion and planning, and
 * with the sum of its convolutions alone, computed by im2col and OpenBLAS's sgemm. Also the cost of
 * a net compared with the sum of its operations.
 */

#define THREADS 2
#define ROUNDS  7
#define TRIFLES 500

static ferry_net *open_net(struct bench *b, const struct net_text *n, bool bare)
{
    const char *const keep[] = { "*" };
    ferry_net_options o = { .struct_size = sizeof(o), .text = n->text };
    ferry_net *net = NULL;
    float *x;

    o.text_size = strlen(n->text);
    o.keep = keep;
    o.keep_count = bare;
    if (ferry_net_open(b->device, n->name, &o, &net))
        return NULL;
    x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    for (int64_t i = 0; x && i < ferry_blob_element_count(ferry_net_input_at(net, 0)); i++)
        x[i] = (float)(i % 255) / 255;
    if (x && !ferry_net_forward(net, NULL))
        return net;
    ferry_net_close(net);
    return NULL;
}

static double pass(ferry_net *net)
{
    double begin = bench_now();

    if (ferry_net_forward(net, NULL) || ferry_device_synchronize(ferry_net_device(net)))
        return 1e9;
    return bench_now() - begin;
}

/* All convolutions of all images, one after the other. */
static double composed(const struct net_text *n, const struct conv *c)
{
    double begin = bench_now();

    for (int image = 0; image < n->images; image++)
        for (int i = 0; i < n->convs; i++)
            c[i].run(c[i].state);
    return bench_now() - begin;
}

static void keep_least(double *least, double seconds)
{
    if (seconds < *least)
        *least = seconds;
}

/* The minimum of several passes, taken in turn: other load on the machine only increases times. */
static void measure(struct bench *b, const struct net_text *n, ferry_net *net, ferry_net *bare,
                    const struct conv *c)
{
    double seconds[3] = { 1e9, 1e9, 1e9 };
    char figure[96];

    for (int round = 0; round < (b->quick ? 1 : ROUNDS); round++) {
        double begin = bench_now();

        keep_least(&seconds[1], pass(bare));
        keep_least(&seconds[2], composed(n, c));
        do /* at least as long as the others take */
            keep_least(&seconds[0], pass(net));
        while (bench_now() - begin < 3 * seconds[2] && !b->quick);
    }
    snprintf(figure, sizeof(figure), "%s : without fusion and planning", n->name);
    bench_add(b, figure, "ms", 1e3 * seconds[0], 1e3 * seconds[1], BENCH_AT_MOST, 1);
    snprintf(figure, sizeof(figure), "%s : its convolutions on OpenBLAS", n->name);
    bench_add(b, figure, "ms", 1e3 * seconds[0], 1e3 * seconds[2], BENCH_AT_MOST, 1 / 1.3);
}

static void bench_one(struct bench *b, struct net_text *n)
{
    ferry_net *net = n->failed ? NULL : open_net(b, n, false);
    ferry_net *bare = net ? open_net(b, n, true) : NULL;
    struct conv c[NETS_MOST_CONVS];
    int made = 0;

    while (bare && made < n->convs && !conv_openblas(&n->conv[made], THREADS, &c[made]))
        made++;
    if (bare && made == n->convs)
        measure(b, n, net, bare, c);
    else
        bench_skip(b, n->name, "%s", bare ? "out of memory" : ferry_last_error());
    while (made-- > 0)
        c[made].destroy(c[made].state);
    ferry_net_close(net);
    ferry_net_close(bare);
    free(n->text);
}

/* ---- overhead of a net ----------------------------------------------------------------------- */

struct trifle {
    ferry_operation *operation;
    ferry_memory *x, *y;
    ferry_net *net;
};

static void run_net(void *arg, int64_t times)
{
    const struct trifle *t = arg;

    for (; times > 0; times--)
        ferry_net_forward(t->net, NULL);
}

/* Runs the operation alone, as many times as the net has layers. */
static void run_operations(void *arg, int64_t times)
{
    const struct trifle *t = arg;
    ferry_operation_location in = { t->x, 0 }, out = { t->y, 0 };
    ferry_operation_args args = { .struct_size = sizeof(args), .in = &in, .out = &out };

    for (times *= TRIFLES; times > 0; times--)
        ferry_operation_run(t->operation, NULL, &args);
}

static void bench_overhead(struct bench *b)
{
    struct trifle t = { NULL, NULL, NULL, NULL };
    struct net_text n = { .batch = 0 };
    ferry_op_desc op;

    net_of_trifles(&n, TRIFLES);
    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.params.unary.function = FERRY_UNARY_POWER;
    op.params.unary.a = op.params.unary.b = 1;
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 1, 1, 2, 2 }, 4, NULL);
    t.net = n.failed ? NULL : open_net(b, &n, true);
    if (t.net && !ferry_operation_create(b->device, &op, &t.operation) &&
        !ferry_memory_create(b->device, 16, &t.x) && !ferry_memory_create(b->device, 16, &t.y) &&
        ferry_memory_overwrite_host_data(t.x)) {
        double net = bench_time(b, run_net, &t), bare = bench_time(b, run_operations, &t);

        bench_add(b, "a layer of a net : its operation alone", "ns", 1e9 * net / TRIFLES,
                  1e9 * bare / TRIFLES, BENCH_NO_GOAL, 0);
        bench_add(b, "overhead of a layer of a net", "ns",
                  net > bare ? 1e9 * (net - bare) / TRIFLES : 0, 0, BENCH_AT_MOST, 1000);
    } else {
        bench_skip(b, "a layer of a net", "%s", ferry_last_error());
    }
    ferry_operation_destroy(t.operation);
    ferry_memory_release(t.x);
    ferry_memory_release(t.y);
    ferry_net_close(t.net);
    free(n.text);
}

void bench_net(struct bench *b)
{
    static void (*const nets[])(struct net_text *) = { net_lenet, net_squeezenet, net_mobilenet,
                                                       net_resnet50 };

    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        struct net_text n = { .batch = 0 };

        nets[i](&n);
        bench_one(b, &n);
    }
    bench_overhead(b);
}
