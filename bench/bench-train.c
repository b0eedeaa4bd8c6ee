/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"
#include "train.h"

#include <ferry/op.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The operations of a training iteration of LeNet at batch size 64, forward and backward, one by
 * one and together, compared with im2col and OpenBLAS's sgemm.
 */

#define N 64

enum tensor {
    X,
    W1,
    B1,
    C1,
    P1,
    M1,
    W2,
    B2,
    C2,
    P2,
    M2,
    W3,
    B3,
    H,
    W4,
    B4,
    Y,
    DW1,
    DB1,
    DC1,
    DP1,
    DW2,
    DB2,
    DC2,
    DP2,
    DW3,
    DB3,
    DH,
    DW4,
    DB4,
    DY,
    TENSORS
};

static const struct {
    int rank;
    int64_t shape[4];
} tensors[TENSORS] = {
    [X] = { 4, { N, 1, 28, 28 } },
    [W1] = { 4, { 20, 1, 5, 5 } },
    [B1] = { 1, { 20 } },
    [C1] = { 4, { N, 20, 24, 24 } },
    [P1] = { 4, { N, 20, 12, 12 } },
    [M1] = { 4, { N, 20, 12, 12 } },
    [W2] = { 4, { 50, 20, 5, 5 } },
    [B2] = { 1, { 50 } },
    [C2] = { 4, { N, 50, 8, 8 } },
    [P2] = { 4, { N, 50, 4, 4 } },
    [M2] = { 4, { N, 50, 4, 4 } },
    [W3] = { 2, { 500, 800 } },
    [B3] = { 1, { 500 } },
    [H] = { 2, { N, 500 } },
    [W4] = { 2, { 10, 500 } },
    [B4] = { 1, { 10 } },
    [Y] = { 2, { N, 10 } },
    [DW1] = { 4, { 20, 1, 5, 5 } },
    [DB1] = { 1, { 20 } },
    [DC1] = { 4, { N, 20, 24, 24 } },
    [DP1] = { 4, { N, 20, 12, 12 } },
    [DW2] = { 4, { 50, 20, 5, 5 } },
    [DB2] = { 1, { 50 } },
    [DC2] = { 4, { N, 50, 8, 8 } },
    [DP2] = { 4, { N, 50, 4, 4 } },
    [DW3] = { 2, { 500, 800 } },
    [DB3] = { 1, { 500 } },
    [DH] = { 2, { N, 500 } },
    [DW4] = { 2, { 10, 500 } },
    [DB4] = { 1, { 10 } },
    [DY] = { 2, { N, 10 } },
};

#define FORWARD FERRY_PASS_FORWARD
#define DATA    FERRY_PASS_BACKWARD_DATA
#define WEIGHTS FERRY_PASS_BACKWARD_WEIGHTS
#define BIAS    FERRY_PASS_BACKWARD_BIAS
#define NONE    TENSORS

/* In the order of an iteration; `kernel` is that of a convolution or of a pool. */
static const struct {
    const char *name;
    uint32_t kind, pass;
    enum tensor in[3], out[2];
    int kernel;
} steps[] = {
    { "conv1", FERRY_OP_CONVOLUTION, FORWARD, { X, W1, B1 }, { C1, NONE }, 5 },
    { "pool1", FERRY_OP_POOL, FORWARD, { C1, NONE, NONE }, { P1, M1 }, 2 },
    { "conv2", FERRY_OP_CONVOLUTION, FORWARD, { P1, W2, B2 }, { C2, NONE }, 5 },
    { "pool2", FERRY_OP_POOL, FORWARD, { C2, NONE, NONE }, { P2, M2 }, 2 },
    { "ip1", FERRY_OP_INNER_PRODUCT, FORWARD, { P2, W3, B3 }, { H, NONE }, 0 },
    { "relu1", FERRY_OP_UNARY, FORWARD, { H, NONE, NONE }, { H, NONE }, 0 },
    { "ip2", FERRY_OP_INNER_PRODUCT, FORWARD, { H, W4, B4 }, { Y, NONE }, 0 },
    { "ip2 weights", FERRY_OP_INNER_PRODUCT, WEIGHTS, { DY, H, NONE }, { DW4, NONE }, 0 },
    { "ip2 bias", FERRY_OP_INNER_PRODUCT, BIAS, { DY, NONE, NONE }, { DB4, NONE }, 0 },
    { "ip2 data", FERRY_OP_INNER_PRODUCT, DATA, { DY, W4, NONE }, { DH, NONE }, 0 },
    { "relu1 data", FERRY_OP_UNARY, DATA, { DH, H, NONE }, { DH, NONE }, 0 },
    { "ip1 weights", FERRY_OP_INNER_PRODUCT, WEIGHTS, { DH, P2, NONE }, { DW3, NONE }, 0 },
    { "ip1 bias", FERRY_OP_INNER_PRODUCT, BIAS, { DH, NONE, NONE }, { DB3, NONE }, 0 },
    { "ip1 data", FERRY_OP_INNER_PRODUCT, DATA, { DH, W3, NONE }, { DP2, NONE }, 0 },
    { "pool2 data", FERRY_OP_POOL, DATA, { DP2, M2, NONE }, { DC2, NONE }, 2 },
    { "conv2 weights", FERRY_OP_CONVOLUTION, WEIGHTS, { DC2, P1, NONE }, { DW2, NONE }, 5 },
    { "conv2 bias", FERRY_OP_CONVOLUTION, BIAS, { DC2, NONE, NONE }, { DB2, NONE }, 5 },
    { "conv2 data", FERRY_OP_CONVOLUTION, DATA, { DC2, W2, NONE }, { DP1, NONE }, 5 },
    { "pool1 data", FERRY_OP_POOL, DATA, { DP1, M1, NONE }, { DC1, NONE }, 2 },
    { "conv1 weights", FERRY_OP_CONVOLUTION, WEIGHTS, { DC1, X, NONE }, { DW1, NONE }, 5 },
    { "conv1 bias", FERRY_OP_CONVOLUTION, BIAS, { DC1, NONE, NONE }, { DB1, NONE }, 5 },
};
#define STEPS ((int)(sizeof(steps) / sizeof(steps[0])))

/* All data twice: in ferry's memories, and as plain floats. */
struct lenet {
    ferry_memory *memory[TENSORS];
    float *floats[TENSORS], *columns;
    ferry_operation *operation[STEPS];
    int first, end; /* the range of steps to run */
};

static int64_t count_of(enum tensor t)
{
    int64_t count = 1;

    for (int i = 0; i < tensors[t].rank; i++)
        count *= tensors[t].shape[i];
    return count;
}

static ferry_operand operand_of(enum tensor t)
{
    return ferry_operand_make(FERRY_F32, tensors[t].shape, tensors[t].rank, NULL);
}

/* ---- ferry ----------------------------------------------------------------------------------- */

static void run_step(struct lenet *l, int i)
{
    ferry_operation_location in[3], out[2];
    const ferry_operation_args args = { .struct_size = sizeof(args), .in = in, .out = out };

    for (int k = 0; k < 3 && steps[i].in[k] != NONE; k++)
        in[k] = (ferry_operation_location){ l->memory[steps[i].in[k]], 0 };
    for (int k = 0; k < 2 && steps[i].out[k] != NONE; k++)
        out[k] = (ferry_operation_location){ l->memory[steps[i].out[k]], 0 };
    if (ferry_operation_run(l->operation[i], NULL, &args))
        fprintf(stderr, "bench: %s: %s\n", steps[i].name, ferry_last_error());
}

static void run_ferry(void *arg, int64_t times)
{
    struct lenet *l = arg;

    for (; times > 0; times--)
        for (int i = l->first; i < l->end; i++)
            run_step(l, i);
}

static int make_step(struct bench *b, int i, ferry_operation **out)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, steps[i].kind);
    op.pass = steps[i].pass;
    for (; op.n_in < 3 && steps[i].in[op.n_in] != NONE; op.n_in++)
        op.in[op.n_in] = operand_of(steps[i].in[op.n_in]);
    for (; op.n_out < 2 && steps[i].out[op.n_out] != NONE; op.n_out++)
        op.out[op.n_out] = operand_of(steps[i].out[op.n_out]);
    for (int k = 0; k < 2 && steps[i].kernel; k++) {
        op.params.window.kernel[k] = steps[i].kernel;
        op.params.window.stride[k] = steps[i].kernel == 2 ? 2 : 1;
    }
    return ferry_operation_create(b->device, &op, out);
}

/* ---- the reference --------------------------------------------------------------------------- */

static void reference_conv(const struct lenet *l, int i)
{
    static const struct train_conv convs[2] = { { N, 1, 28, 20, 5, 0 }, { N, 20, 12, 50, 5, 0 } };
    const struct train_conv *c = &convs[steps[i].name[4] == '2'];
    float *const *t = l->floats, *out = t[steps[i].out[0]], *first = t[steps[i].in[0]];
    const float *second = steps[i].in[1] == NONE ? NULL : t[steps[i].in[1]];

    if (steps[i].pass == FORWARD)
        train_conv_forward(c, first, second, t[steps[i].in[2]], l->columns, out);
    else if (steps[i].pass == DATA)
        train_conv_data(c, first, second, l->columns, out);
    else if (steps[i].pass == WEIGHTS)
        train_conv_weights(c, first, second, l->columns, out);
    else
        train_conv_bias(c, first, out);
}

static void reference_product(const struct lenet *l, int i)
{
    bool second = steps[i].name[2] == '2';
    int64_t n = second ? 10 : 500, k = second ? 500 : 800;
    float *const *t = l->floats, *out = t[steps[i].out[0]], *a = t[steps[i].in[0]];
    const float *b = steps[i].in[1] == NONE ? NULL : t[steps[i].in[1]];

    if (steps[i].pass == FORWARD)
        train_product(N, n, k, a, b, t[steps[i].in[2]], out);
    else if (steps[i].pass == DATA)
        train_product_data(N, n, k, a, b, out);
    else if (steps[i].pass == WEIGHTS)
        train_product_weights(N, n, k, a, b, out);
    else
        train_product_bias(N, n, a, out);
}

static void reference_step(const struct lenet *l, int i)
{
    float *const *t = l->floats, *in = t[steps[i].in[0]], *out = t[steps[i].out[0]];
    bool second = steps[i].name[4] == '2', is_forward = steps[i].pass == FORWARD;
    int64_t planes = N * (second ? 50 : 20), size = second ? 8 : 24;

    if (steps[i].kind == FERRY_OP_CONVOLUTION)
        reference_conv(l, i);
    else if (steps[i].kind == FERRY_OP_INNER_PRODUCT)
        reference_product(l, i);
    else if (steps[i].kind == FERRY_OP_POOL && is_forward)
        train_pool(planes, size, in, out, t[steps[i].out[1]]);
    else if (steps[i].kind == FERRY_OP_POOL)
        train_pool_data(planes, size, in, t[steps[i].in[1]], out);
    else if (is_forward)
        train_relu(count_of(H), in, out);
    else
        train_relu_data(count_of(H), in, t[steps[i].in[1]], out);
}

static void run_reference(void *arg, int64_t times)
{
    const struct lenet *l = arg;

    for (; times > 0; times--)
        for (int i = l->first; i < l->end; i++)
            reference_step(l, i);
}

/* ---- both together --------------------------------------------------------------------------- */

static void end(struct lenet *l)
{
    for (int i = 0; i < STEPS; i++)
        ferry_operation_destroy(l->operation[i]);
    for (int t = 0; t < TENSORS; t++) {
        ferry_memory_release(l->memory[t]);
        free(l->floats[t]);
    }
    free(l->columns);
}

static int begin(struct bench *b, struct lenet *l)
{
    int err = 0;

    memset(l, 0, sizeof(*l));
    l->columns = malloc(500 * 64 * sizeof(float));
    for (int t = 0; t < TENSORS && !err; t++) {
        size_t bytes = (size_t)count_of((enum tensor)t) * sizeof(float);
        float *host;

        err = ferry_memory_create(b->device, bytes, &l->memory[t]);
        l->floats[t] = malloc(bytes);
        host = err ? NULL : ferry_memory_overwrite_host_data(l->memory[t]);
        if (!host || !l->floats[t])
            return FERRY_ENOMEM;
        for (int64_t i = 0; i < count_of((enum tensor)t);
             i++) /* so that accumulated gradients stay small */
            host[i] = l->floats[t][i] = (float)(i % 17 - 8) * (t < DW1 ? 0.01f : 1e-6f);
    }
    for (int i = 0; i < STEPS && !err; i++)
        err = make_step(b, i, &l->operation[i]);
    return err ? err : l->columns ? 0 : FERRY_ENOMEM;
}

static void add_figure(struct bench *b, struct lenet *l, const char *name, int first, int last)
{
    char text[96];
    struct bench_figure f = { .figure = text,
                              .value = run_ferry,
                              .reference = run_reference,
                              .arg = l,
                              .direction = last - first > 1 ? BENCH_AT_MOST : BENCH_NO_GOAL,
                              .goal = 0.6 };

    snprintf(text, sizeof(text), "lenet x%d, %s : composed", N, name);
    l->first = first;
    l->end = last;
    bench_measure(b, &f);
}

void bench_train(struct bench *b)
{
    const char *only = getenv("BENCH_ONLY");
    struct lenet l;

    if (begin(b, &l) == 0) {
        if (!only)
            add_figure(b, &l, "forward and backward", 0, STEPS);
        for (int i = 0; i < STEPS; i++)
            if (!only || strcmp(steps[i].name, only) == 0)
                add_figure(b, &l, steps[i].name, i, i + 1);
    } else {
        bench_skip(b, "lenet, training", "%s", ferry_last_error());
    }
    end(&l);
}
