/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <ferry/op.h>
#include <ferry/op_plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Convolutions of the CUDA plugin by cuDNN, on its double, which is as inexact, nondeterministic
 * and memory-hungry as permitted. test-op-random tests the values for all shapes.
 */

#define IMAGES   2
#define CHANNELS 6
#define OUTPUTS  8
#define SIDE     9
#define X_COUNT  (IMAGES * CHANNELS * SIDE * SIDE)
#define Y_COUNT  (IMAGES * OUTPUTS * SIDE * SIDE)

struct rig {
    void *dev, *x, *w, *bias, *y, *room, *prepared;
    const ferry_op_table *table;
    ferry_op_desc op;
    ferry_op_answer answer;
    float host_x[X_COUNT], host_w[OUTPUTS * CHANNELS * 9], host_bias[OUTPUTS];
};

/* 3 × 3 with a pad of 1; `group` divides the channels. */
static ferry_op_desc convolution(uint32_t group, bool bias, bool relu)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_CONVOLUTION);
    op.n_in = bias ? 3 : 2;
    op.n_out = 1;
    op.in[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ IMAGES, CHANNELS, SIDE, SIDE }, 4, NULL);
    op.in[1] =
        ferry_operand_make(FERRY_F32, (int64_t[]){ OUTPUTS, CHANNELS / group, 3, 3 }, 4, NULL);
    op.in[2] = ferry_operand_make(FERRY_F32, (int64_t[]){ OUTPUTS }, 1, NULL);
    op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ IMAGES, OUTPUTS, SIDE, SIDE }, 4, NULL);
    op.constants = 6;
    op.params.window = (ferry_op_window){ .axes = 2,
                                          .group = group,
                                          .kernel = { 3, 3 },
                                          .stride = { 1, 1 },
                                          .dilation = { 1, 1 },
                                          .pad = { 1, 1 },
                                          .pad_end = { 1, 1 } };
    op.n_epilogue = relu;
    op.epilogue[0].step = FERRY_STEP_UNARY;
    op.epilogue[0].function = FERRY_UNARY_RELU;
    return op;
}

static double want(const struct rig *r, int image, int output, int row, int column)
{
    const ferry_op_window *v = &r->op.params.window;
    int channels = CHANNELS / (int)v->group, outputs = OUTPUTS / (int)v->group;
    double sum = r->op.n_in > 2 ? (double)r->host_bias[output] : 0;

    for (int c = 0; c < channels; c++)
        for (int k = 0; k < 9; k++) {
            int h = row + k / 3 - 1, l = column + k % 3 - 1;
            int from = output / outputs * channels + c;

            if (h >= 0 && h < SIDE && l >= 0 && l < SIDE)
                sum += (double)r->host_x[((image * CHANNELS + from) * SIDE + h) * SIDE + l] *
                       (double)r->host_w[(output * channels + c) * 9 + k];
        }
    return r->op.n_epilogue && sum < 0 ? 0 : sum;
}

static void fill(float *at, int n, unsigned seed)
{
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        at[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
    }
}

static void open_rig(struct rig *r)
{
    const void *table = NULL;

    r->dev = cuda_open(0);
    fill(r->host_x, X_COUNT, 1);
    fill(r->host_w, OUTPUTS * CHANNELS * 9, 2);
    fill(r->host_bias, OUTPUTS, 3);
    r->x = cuda_block(r->dev, sizeof(r->host_x));
    r->w = cuda_block(r->dev, sizeof(r->host_w));
    r->bias = cuda_block(r->dev, sizeof(r->host_bias));
    r->y = cuda_block(r->dev, Y_COUNT * sizeof(float));
    r->room = cuda_block(r->dev, 1 << 20);
    cuda_put(r->dev, r->x, r->host_x, sizeof(r->host_x));
    cuda_put(r->dev, r->w, r->host_w, sizeof(r->host_w));
    cuda_put(r->dev, r->bias, r->host_bias, sizeof(r->host_bias));
    CU_ASSERT_EQUAL_FATAL(cuda->extension(r->dev, FERRY_OP_EXTENSION, &table), 0);
    r->table = table;
    r->prepared = NULL;
}

static int prepare(struct rig *r, ferry_op_desc op)
{
    r->op = op;
    memset(&r->answer, 0, sizeof(r->answer));
    r->answer.struct_size = sizeof(r->answer);
    CU_ASSERT_EQUAL(r->table->query(r->dev, &op, &r->answer), 0);
    CU_ASSERT(r->answer.workspace_bytes <= 1 << 20);
    return r->table->create(r->dev, &op, &r->prepared);
}

static int run(const struct rig *r)
{
    const ferry_cref in[] = { driver_cref(r->x, 0), driver_cref(r->w, 0), driver_cref(r->bias, 0) };
    const ferry_ref out = driver_ref(r->y, 0);
    const ferry_op_run_args args = {
        .struct_size = sizeof(args), .in = in, .out = &out, .workspace = driver_ref(r->room, 64)
    };

    return r->table->run(r->dev, NULL, r->prepared, &args);
}

/* The largest error of a run's result. */
static double error_of(const struct rig *r)
{
    static float y[Y_COUNT];
    double most = 0;
    int i = 0;

    CU_ASSERT_EQUAL(run(r), 0);
    cuda_get(r->dev, r->y, y, sizeof(y));
    for (int image = 0; image < IMAGES; image++)
        for (int output = 0; output < OUTPUTS; output++)
            for (int row = 0; row < SIDE; row++)
                for (int column = 0; column < SIDE; column++, i++)
                    most = fmax(most, fabs((double)y[i] - want(r, image, output, row, column)));
    return most;
}

static void finish(struct rig *r)
{
    if (r->prepared)
        r->table->destroy(r->dev, r->prepared);
    r->prepared = NULL;
}

static void close_rig(struct rig *r)
{
    finish(r);
    cuda_free_block(r->dev, r->x);
    cuda_free_block(r->dev, r->w);
    cuda_free_block(r->dev, r->bias);
    cuda_free_block(r->dev, r->y);
    cuda_free_block(r->dev, r->room);
    cuda_close(r->dev);
    CU_ASSERT_EQUAL(control->live_handles(), 0); /* including descriptors */
}

/* ---- operations that cuDNN computes ---------------------------------------------------------- */

static unsigned convolutions(void)
{
    return control->calls("cudnnConvolutionForward");
}

/*
 * Its bias is a further call; ferry computes the following steps, including a ReLU, whose NaN cuDNN
 * would turn into a zero.
 */
static void a_convolution_is_one_cudnn_call_in_full_f32_precision(void)
{
    struct rig r;

    if (!cuda_load(1, true))
        return;
    open_rig(&r);
    for (uint32_t group = 1; group <= 2; group++)
        for (int bias = 0; bias < 2; bias++)
            for (int relu = 0; relu < 2; relu++) {
                unsigned calls = convolutions(), added = control->calls("cudnnAddTensor");

                CU_ASSERT_EQUAL_FATAL(prepare(&r, convolution(group, bias, relu)), 0);
                CU_ASSERT_EQUAL(r.answer.epilogue, 0);
                r.op.n_epilogue = 0;
                CU_ASSERT(error_of(&r) < 2e-6);
                CU_ASSERT_EQUAL(convolutions() - calls, 1);
                CU_ASSERT_EQUAL(control->calls("cudnnAddTensor") - added, (unsigned)bias);
                finish(&r);
            }
    close_rig(&r);
}

static void bits_are_the_same_every_time(void)
{
    static float first[Y_COUNT], again[Y_COUNT];
    struct rig r;

    if (!cuda_load(1, true))
        return;
    open_rig(&r);
    for (int turned = 0; turned < 2; turned++) {
        ferry_op_desc op = convolution(1, true, true);

        op.math = turned ? FERRY_MATH_WINOGRAD
                         : 0; /* the first one listed then is nondeterministic */
        CU_ASSERT_EQUAL_FATAL(prepare(&r, op), 0);
        CU_ASSERT_EQUAL(run(&r), 0);
        cuda_get(r.dev, r.y, first, sizeof(first));
        for (int i = 0; i < 8; i++) {
            CU_ASSERT_EQUAL(run(&r), 0);
            cuda_get(r.dev, r.y, again, sizeof(again));
            CU_ASSERT_EQUAL(memcmp(first, again, sizeof(first)), 0);
        }
        finish(&r);
    }
    close_rig(&r);
}

/* The arithmetic that an operation allows is used: the double lists it first. */
static void tf32_and_f16_arithmetic_is_used_on_request(void)
{
    struct rig r;
    ferry_op_desc op = convolution(1, false, false);
    double exact, loose;

    if (!cuda_load(1, true))
        return;
    open_rig(&r);
    CU_ASSERT_EQUAL_FATAL(prepare(&r, op), 0);
    exact = error_of(&r);
    finish(&r);
    op.math = FERRY_MATH_TF32;
    CU_ASSERT_EQUAL_FATAL(prepare(&r, op), 0);
    loose = error_of(&r);
    CU_ASSERT(exact < 2e-6);
    CU_ASSERT(loose > 1e-5 && loose < 1e-2);
    close_rig(&r);
}

/* ---- other operations ------------------------------------------------------------------------ */

static void kernels_compute_unsupported_convolutions(void)
{
    /* parts of one value, channels last, of equal depth */
    static const int64_t deep[] = { SIDE * SIDE * (CHANNELS + OUTPUTS), 1,
                                    SIDE * (CHANNELS + OUTPUTS), CHANNELS + OUTPUTS };
    ferry_op_desc apart = convolution(1, false, false), lopsided = apart, within = apart;
    struct rig r;
    unsigned calls;

    if (!cuda_load(1, true))
        return;
    open_rig(&r);
    calls = control->calls("cudnnCreateConvolutionDescriptor");
    apart.params.window.group = CHANNELS;
    apart.in[1] = ferry_operand_make(FERRY_F32, (int64_t[]){ CHANNELS, 1, 3, 3 }, 4, NULL);
    apart.out[0] =
        ferry_operand_make(FERRY_F32, (int64_t[]){ IMAGES, CHANNELS, SIDE, SIDE }, 4, NULL);
    lopsided.params.window.pad_end[1] = 0;
    lopsided.out[0] =
        ferry_operand_make(FERRY_F32, (int64_t[]){ IMAGES, OUTPUTS, SIDE, SIDE - 1 }, 4, NULL);
    memcpy(within.in[0].stride, deep, sizeof(deep));
    memcpy(within.out[0].stride, deep, sizeof(deep));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(prepare(&r, i == 0 ? apart : i == 1 ? lopsided : within), 0);
        finish(&r);
    }
    CU_ASSERT_EQUAL(control->calls("cudnnCreateConvolutionDescriptor"), calls);
    close_rig(&r);
}

static void without_cudnn_the_kernels_compute_all_convolutions(void)
{
    struct rig r;
    unsigned calls;

    if (!cuda_load(1, true))
        return;
    driver_set("cudnn", "off");
    open_rig(&r);
    calls = convolutions();
    CU_ASSERT_EQUAL_FATAL(prepare(&r, convolution(1, true, false)), 0);
    CU_ASSERT(r.answer.packed_bytes > 0);
    CU_ASSERT_EQUAL(convolutions(), calls);
    close_rig(&r);
    driver_set("cudnn", "perhaps");
    CU_ASSERT(driver_failed(cuda->device_open(NULL, 0, &r.dev), FERRY_ECONF, "auto|off|all"));
}

/* ---- failures ------------------------------------------------------------------------------- */

/* Each call to cuDNN fails once: reported, nothing is left, and the next attempt succeeds. */
static void each_failed_call_can_be_retried(void)
{
    static const char *const calls[] = {
        "cudnnCreate",
        "cudnnSetStream",
        "cudnnCreateTensorDescriptor",
        "cudnnCreateFilterDescriptor",
        "cudnnCreateConvolutionDescriptor",
        "cudnnGetConvolutionForwardAlgorithm_v7",
    };
    struct rig r;

    if (!cuda_load(1, true))
        return;
    setenv("CUDA_DOUBLE_MEMORY", "67108864", 1); /* so that memory can be short */
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        open_rig(&r);
        control->fail(calls[i], 1, CUDA_MEMORY_ALLOCATION);
        CU_ASSERT_EQUAL(prepare(&r, convolution(1, true, false)), FERRY_ENOMEM);
        CU_ASSERT_EQUAL(prepare(&r, convolution(1, true, false)), 0);
        CU_ASSERT(error_of(&r) < 2e-6);
        control->fail("cudnnConvolutionForward", 1, CUDA_MEMORY_ALLOCATION);
        CU_ASSERT(driver_failed(run(&r), FERRY_ENOMEM, "cudnnConvolutionForward"));
        control->fail("cudnnAddTensor", 1, CUDA_MEMORY_ALLOCATION);
        CU_ASSERT(driver_failed(run(&r), FERRY_ENOMEM, "cudnnAddTensor"));
        CU_ASSERT(error_of(&r) < 2e-6);
        close_rig(&r);
    }
}

/*
 * A cuDNN that is installed but does not work counts as missing: parts of it are missing or have
 * another version, or it does not fit the driver. cuDNN reports this when it has work, at the
 * latest when the work runs.
 */
static void kernels_replace_failed_convolutions(void)
{
    static const struct {
        const char *call;
        int status;
    } row[] = {
        { "cudnnCreate", 1001 }, /* with enough memory */
        { "cudnnCreate", 1002 },
        { "cudnnCreate", 1008 },
        { "cudnnCreate", 3007 },
        { "cudnnGetConvolutionForwardAlgorithm_v7", 1008 },
        { "cudnnGetConvolutionForwardAlgorithm_v7", 3000 },
        { "cudnnConvolutionForward", 1002 },
        { "cudnnConvolutionForward", 1008 },
        { "cudnnConvolutionForward", 3000 },
        { "cudnnAddTensor", 3000 },
    };
    struct rig r;

    if (!cuda_load(1, true))
        return;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        unsigned calls;

        open_rig(&r);
        control->fail(row[i].call, 1, CUDA_DOUBLE_STATUS + row[i].status);
        CU_ASSERT_EQUAL(prepare(&r, convolution(1, true, false)), 0);
        if (r.prepared)
            CU_ASSERT(error_of(&r) < 2e-6);
        calls = convolutions();
        if (r.prepared)
            CU_ASSERT(error_of(&r) < 2e-6);
        CU_ASSERT_EQUAL(convolutions(), calls); /* it is not tried again */
        CU_ASSERT_PTR_NOT_NULL(strstr(driver_logged(), "kernels compute it"));
        close_rig(&r);
    }
}

/* A handle needs memory. */
static void cudnn_without_enough_memory_is_reported(void)
{
    struct rig r;

    if (!cuda_load(1, true))
        return;
    setenv("CUDA_DOUBLE_MEMORY", "67108864", 1);
    open_rig(&r);
    control->fail("cudnnCreate", 1, CUDA_DOUBLE_STATUS + 1001);
    CU_ASSERT(driver_failed(prepare(&r, convolution(1, false, false)), FERRY_ENOMEM, "are free"));
    CU_ASSERT_EQUAL(prepare(&r, convolution(1, false, false)), 0);
    close_rig(&r);
}

static void a_device_that_is_lost_in_cudnn_is_lost(void)
{
    struct rig r;

    if (!cuda_load(1, true))
        return;
    open_rig(&r);
    CU_ASSERT_EQUAL_FATAL(prepare(&r, convolution(1, false, false)), 0);
    control->fail_later("cudnnConvolutionForward", 1, CUDA_ILLEGAL_ADDRESS);
    CU_ASSERT_EQUAL(run(&r), 0);
    CU_ASSERT(driver_failed(cuda->synchronize(r.dev), FERRY_ELOST, "cudaErrorIllegalAddress"));
    CU_ASSERT(driver_failed(run(&r), FERRY_ELOST, "CUDNN_STATUS_EXECUTION_FAILED, after cudaErr"));
    finish(&r);
    (void)cuda->free(r.dev, NULL, r.x);
    (void)cuda->free(r.dev, NULL, r.w);
    (void)cuda->free(r.dev, NULL, r.bias);
    (void)cuda->free(r.dev, NULL, r.y);
    (void)cuda->free(r.dev, NULL, r.room);
    cuda->device_close(r.dev);
    CU_ASSERT_EQUAL(control->live_handles(), 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_convolution_is_one_cudnn_call_in_full_f32_precision),
    FERRY_TEST(bits_are_the_same_every_time),
    FERRY_TEST(tf32_and_f16_arithmetic_is_used_on_request),
    FERRY_TEST(kernels_compute_unsupported_convolutions),
    FERRY_TEST(without_cudnn_the_kernels_compute_all_convolutions),
    FERRY_TEST(each_failed_call_can_be_retried),
    FERRY_TEST(kernels_replace_failed_convolutions),
    FERRY_TEST(cudnn_without_enough_memory_is_reported),
    FERRY_TEST(a_device_that_is_lost_in_cudnn_is_lost),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "cuda, cudnn (double)", cases, FERRY_TEST_COUNT(cases));
}
