/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <ferry/op.h>
#include <ferry/op_plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Backward convolutions, and transposed ones, by cuDNN on its double: compared with the kernels,
 * which test-op-random compares with the oracle.
 */

#define IMAGES   2
#define CHANNELS 6
#define OUTPUTS  4
#define MOST     4096 /* elements of an operand */
#define ROOM     (1 << 20)

/*
 * The image that the window moves over, the output, and the weights; for a transposed one the first
 * two are swapped.
 */
static ferry_op_desc convolution(uint32_t pass, uint32_t turned, uint32_t group, int64_t stride)
{
    const int64_t side = 9, made = (side + 2 - 3) / stride + 1;
    const ferry_operand wide =
        ferry_operand_make(FERRY_F32, (int64_t[]){ IMAGES, CHANNELS, side, side }, 4, NULL);
    const ferry_operand narrow =
        ferry_operand_make(FERRY_F32, (int64_t[]){ IMAGES, OUTPUTS, made, made }, 4, NULL);
    const ferry_operand w =
        ferry_operand_make(FERRY_F32, (int64_t[]){ OUTPUTS, CHANNELS / group, 3, 3 }, 4, NULL);
    const ferry_operand *x = turned ? &narrow : &wide, *y = turned ? &wide : &narrow;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_CONVOLUTION);
    op.pass = pass;
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = pass == FERRY_PASS_FORWARD ? *x : *y;
    op.in[1] = pass == FERRY_PASS_BACKWARD_WEIGHTS ? *x : w;
    op.out[0] = pass == FERRY_PASS_FORWARD ? *y : pass == FERRY_PASS_BACKWARD_DATA ? *x : w;
    op.params.window = (ferry_op_window){ .axes = 2,
                                          .group = group,
                                          .kernel = { 3, 3 },
                                          .stride = { stride, stride },
                                          .dilation = { 1, 1 },
                                          .pad = { 1, 1 },
                                          .pad_end = { 1, 1 },
                                          .transposed = turned };
    return op;
}

/* With a bias of the output's channels. */
static ferry_op_desc with_bias(ferry_op_desc op)
{
    op.in[2] = ferry_operand_make(FERRY_F32, (int64_t[]){ op.out[0].shape[1] }, 1, NULL);
    op.n_in = 3;
    return op;
}

struct rig {
    void *dev, *in[3], *out, *room;
    const ferry_op_table *table;
};

static void fill(float *at, unsigned seed)
{
    for (int i = 0; i < MOST; i++) {
        seed = seed * 1664525u + 1013904223u;
        at[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
    }
}

static void open_rig(struct rig *r)
{
    static float numbers[MOST];
    const void *table = NULL;

    r->dev = cuda_open(0);
    for (unsigned i = 0; i < 3; i++) {
        fill(numbers, i + 1);
        r->in[i] = cuda_block(r->dev, sizeof(numbers));
        cuda_put(r->dev, r->in[i], numbers, sizeof(numbers));
    }
    r->out = cuda_block(r->dev, sizeof(numbers));
    r->room = cuda_block(r->dev, ROOM);
    CU_ASSERT_EQUAL_FATAL(cuda->extension(r->dev, FERRY_OP_EXTENSION, &table), 0);
    r->table = table;
}

static void close_rig(struct rig *r)
{
    for (int i = 0; i < 3; i++)
        cuda_free_block(r->dev, r->in[i]);
    cuda_free_block(r->dev, r->out);
    cuda_free_block(r->dev, r->room);
    cuda_close(r->dev);
    CU_ASSERT_EQUAL(control->live_handles(), 0); /* including descriptors */
}

static int create(struct rig *r, const ferry_op_desc *op, void **out)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };

    CU_ASSERT_EQUAL(r->table->query(r->dev, op, &answer), 0);
    CU_ASSERT_FATAL(answer.workspace_bytes <= ROOM);
    return r->table->create(r->dev, op, out);
}

static int run(struct rig *r, void *prepared)
{
    const ferry_cref in[] = { driver_cref(r->in[0], 0), driver_cref(r->in[1], 0),
                              driver_cref(r->in[2], 0) };
    const ferry_ref out = driver_ref(r->out, 0);
    const ferry_op_run_args args = {
        .struct_size = sizeof(args), .in = in, .out = &out, .workspace = driver_ref(r->room, 0)
    };

    return r->table->run(r->dev, NULL, prepared, &args);
}

/* Computes the operation on the same data in each call; returns the number of elements. */
static int64_t result_of(struct rig *r, const ferry_op_desc *op, float *out)
{
    static float there[MOST];
    void *prepared = NULL;

    fill(there, 9);
    cuda_put(r->dev, r->out, there, sizeof(there));
    CU_ASSERT_EQUAL_FATAL(create(r, op, &prepared), 0);
    CU_ASSERT_EQUAL(run(r, prepared), 0);
    cuda_get(r->dev, r->out, out, sizeof(there));
    r->table->destroy(r->dev, prepared);
    return op->out[0].shape[0] * op->out[0].shape[1] * op->out[0].shape[2] * op->out[0].shape[3];
}

static float by_dnn[MOST], by_kernels[MOST];

static double difference(int64_t n)
{
    double most = 0;

    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)by_dnn[i] - (double)by_kernels[i]));
    return most;
}

/*
 * The function of cuDNN for the operation; for a transposed convolution, forward and backward are
 * exchanged.
 */
static const char *call_for(const ferry_op_desc *op)
{
    if (op->pass == FERRY_PASS_BACKWARD_WEIGHTS)
        return "cudnnConvolutionBackwardFilter";
    return (op->pass == FERRY_PASS_BACKWARD_DATA) != op->params.window.transposed
               ? "cudnnConvolutionBackwardData"
               : "cudnnConvolutionForward";
}

/* Both devices are open, one without cuDNN; `calls`: the number of calls to cuDNN. */
static void compare(struct rig *r, struct rig *without, const ferry_op_desc *op, unsigned calls)
{
    unsigned before = control->calls(call_for(op));
    int64_t n = result_of(r, op, by_dnn);

    CU_ASSERT_EQUAL(control->calls(call_for(op)) - before, calls);
    (void)result_of(without, op, by_kernels);
    CU_ASSERT_EQUAL(control->calls(call_for(op)) - before, calls);
    CU_ASSERT(difference(n) < 1e-5);
    CU_ASSERT_EQUAL(memcmp(&by_dnn[n], &by_kernels[n], (size_t)(MOST - n) * sizeof(float)), 0);
}

static bool open_both(struct rig *r, struct rig *without, const char *use)
{
    if (!cuda_load(1, true))
        return false;
    driver_set("cudnn", "off");
    open_rig(without);
    driver_set("cudnn", use);
    open_rig(r);
    return true;
}

static void each_pass_is_one_cudnn_call_and_agrees_with_the_kernels(void)
{
    struct rig r, without;

    if (!open_both(&r, &without, "auto"))
        return;
    for (uint32_t pass = FERRY_PASS_FORWARD; pass <= FERRY_PASS_BACKWARD_WEIGHTS; pass++)
        for (uint32_t turned = 0; turned < 2; turned++)
            for (uint32_t group = 1; group <= 2; group++)
                for (int64_t stride = 1; stride <= 2; stride++) {
                    const ferry_op_desc op = convolution(pass, turned, group, stride);

                    compare(&r, &without, &op, 1);
                }
    close_rig(&r);
    close_rig(&without);
}

static void a_transposed_convolution_adds_its_bias(void)
{
    unsigned added;
    struct rig r, without;
    ferry_op_desc op = with_bias(convolution(FERRY_PASS_FORWARD, 1, 1, 2));

    if (!open_both(&r, &without, "auto"))
        return;
    added = control->calls("cudnnAddTensor");
    compare(&r, &without, &op, 1);
    CU_ASSERT_EQUAL(control->calls("cudnnAddTensor") - added, 1);
    close_rig(&r);
    close_rig(&without);
}

/* Kernels compute depthwise convolutions, unless option.cudnn is all. */
static void depthwise_is_computed_on_request(void)
{
    struct rig r, without;

    for (unsigned all = 0; all < 2; all++) {
        if (!open_both(&r, &without, all ? "all" : "auto"))
            return;
        for (uint32_t pass = FERRY_PASS_FORWARD; pass <= FERRY_PASS_BACKWARD_WEIGHTS; pass++) {
            ferry_op_desc op = convolution(pass, 0, 1, 1);
            const ferry_operand image =
                ferry_operand_make(FERRY_F32, (int64_t[]){ IMAGES, CHANNELS, 9, 9 }, 4, NULL);
            const ferry_operand w =
                ferry_operand_make(FERRY_F32, (int64_t[]){ CHANNELS, 1, 3, 3 }, 4, NULL);

            op.params.window.group = CHANNELS;
            op.in[0] = image;
            op.in[1] = pass == FERRY_PASS_BACKWARD_WEIGHTS ? image : w;
            op.out[0] = pass == FERRY_PASS_BACKWARD_WEIGHTS ? w : image;
            compare(&r, &without, &op, all);
        }
        close_rig(&r);
        close_rig(&without);
    }
}

/*
 * The double lists an inexact algorithm first, and then one without enough workspace: neither is
 * used.
 */
static void gradients_are_deterministic_and_in_full_f32_precision(void)
{
    static float again[MOST];
    struct rig r, without;

    if (!open_both(&r, &without, "auto"))
        return;
    for (uint32_t pass = FERRY_PASS_BACKWARD_DATA; pass <= FERRY_PASS_BACKWARD_WEIGHTS; pass++) {
        ferry_op_desc op = convolution(pass, 0, 1, 1);
        int64_t n = result_of(&r, &op, by_dnn);

        for (int i = 0; i < 8; i++) {
            (void)result_of(&r, &op, again);
            CU_ASSERT_EQUAL(memcmp(again, by_dnn, sizeof(again)), 0);
        }
        op.math = FERRY_MATH_TF32; /* the allowed arithmetic is used */
        (void)result_of(&r, &op, by_dnn);
        op.math = 0;
        (void)result_of(&without, &op, by_kernels);
        CU_ASSERT(difference(n) > 1e-5 && difference(n) < 1e-1);
    }
    close_rig(&r);
    close_rig(&without);
}

static void each_failed_call_can_be_retried(void)
{
    static const struct {
        const char *choice;
        uint32_t pass;
    } row[] = {
        { "cudnnGetConvolutionBackwardDataAlgorithm_v7", FERRY_PASS_BACKWARD_DATA },
        { "cudnnGetConvolutionBackwardFilterAlgorithm_v7", FERRY_PASS_BACKWARD_WEIGHTS },
    };
    struct rig r;

    if (!cuda_load(1, true))
        return;
    open_rig(&r);
    for (size_t i = 0; i < FERRY_TEST_COUNT(row); i++) {
        const ferry_op_desc op = convolution(row[i].pass, 0, 1, 1);
        void *prepared = NULL;

        control->fail(row[i].choice, 1, CUDA_MEMORY_ALLOCATION);
        CU_ASSERT(driver_failed(create(&r, &op, &prepared), FERRY_ENOMEM, "choice of an algo"));
        CU_ASSERT_EQUAL_FATAL(create(&r, &op, &prepared), 0);
        control->fail(call_for(&op), 1, CUDA_MEMORY_ALLOCATION);
        CU_ASSERT(driver_failed(run(&r, prepared), FERRY_ENOMEM, call_for(&op)));
        CU_ASSERT_EQUAL(run(&r, prepared), 0);
        r.table->destroy(r.dev, prepared);
    }
    close_rig(&r);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(each_pass_is_one_cudnn_call_and_agrees_with_the_kernels),
    FERRY_TEST(a_transposed_convolution_adds_its_bias),
    FERRY_TEST(depthwise_is_computed_on_request),
    FERRY_TEST(gradients_are_deterministic_and_in_full_f32_precision),
    FERRY_TEST(each_failed_call_can_be_retried),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "cuda, ways of cudnn (double)", cases,
                           FERRY_TEST_COUNT(cases));
}
