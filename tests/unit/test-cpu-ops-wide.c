/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <string.h>

/*
 * The CPU plugin's operations on images of many channels, and rows of them, with each instruction
 * set: the shapes for which it has loops of their own.
 */

static void image(struct rig *r, int layout, int64_t images, int64_t channels, int64_t height,
                  int64_t width)
{
    const int64_t shape[4] = { images, channels, height, width };

    rig_in(r, FERRY_F32, layout, 4, shape);
}

/* Steps are fused into a function of two values per channel if its rows are contiguous. */
static void functions_after_a_binary_function_agree_with_the_oracle(void)
{
    for (int64_t i = 0; i < 48; i++) {
        const int64_t shape[3] = { 2, 1 + 7 * i, i % 4 ? 5 : 90 }, part[3] = { 1, shape[1], 1 };
        ferry_op_answer answer = { 0 };
        struct rig r;

        rig_begin(&r, FERRY_OP_BINARY);
        r.op.params.binary.function = (uint32_t)(i % 3) ? FERRY_BINARY_SCALE : FERRY_BINARY_SUM;
        rig_in(&r, FERRY_F32, i % 2 ? RIG_LAST : RIG_PLAIN, 3, shape);
        rig_in(&r, FERRY_F32, RIG_PLAIN, 3, part);
        if (i % 3 == 2)
            rig_in(&r, FERRY_F32, RIG_PLAIN, 3, part);
        rig_out(&r, FERRY_F32, i % 5 == 4 ? RIG_APART : i % 2 ? RIG_LAST : RIG_PLAIN, 3, shape);
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, i % 2 ? 0.25 : 0, 0);
        if (i % 3 == 0)
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_TANH, 0, 0);
        rig_run(&r, &answer);
        CU_ASSERT_EQUAL(answer.epilogue, i % 5 == 4 ? 0 : 1 + (i % 3 == 0));
    }
}

/* Short rows of channels, whose values repeat for each pixel, in one input or several. */
static void channel_values_are_broadcast_over_pixels(void)
{
    static const int64_t channels[] = { 2, 3, 5, 16, 17, 24, 96, 240, 255, 256, 257 };

    for (int64_t i = 0; i < (ferry_test_is_slow() ? 11 : ferry_test_is_shortest() ? 24 : 66); i++) {
        const int64_t shape[3] = { 1 + i % 3, channels[i % 11], i % 7 ? 1 + 5 * i : 3000 };
        const int64_t part[3] = { i % 2 ? shape[0] : 1, shape[1], 1 }, one[3] = { 1, 1, 1 };
        int layout = i % 5 == 4 ? RIG_LAST_SLICE : RIG_LAST;
        ferry_op_answer answer = { 0 };
        struct rig r;

        rig_begin(&r, FERRY_OP_BINARY);
        r.op.params.binary.function = i % 4 == 3 ? FERRY_BINARY_QUOTIENT : FERRY_BINARY_SCALE;
        rig_in(&r, FERRY_F32, layout, 3, i % 4 == 1 ? part : shape);
        rig_in(&r, FERRY_F32, RIG_PLAIN, 3, i % 4 == 1 ? shape : part);
        for (int64_t k = 0; k < rig_count(&r.op.in[1]); k++)
            r.in[1][k] += r.in[1][k] < 0 ? -1 : 1; /* QUOTIENT divides by it */
        if (i % 4 == 2)
            rig_in(&r, FERRY_F32, RIG_PLAIN, 3, i % 3 ? part : one);
        rig_out(&r, FERRY_F32, layout, 3, shape);
        if (i % 3 == 0)
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
        rig_run(&r, &answer);
    }
}

/* Elements that are not contiguous, in rows of two and in long ones. */
static void functions_of_strided_elements_agree_with_the_oracle(void)
{
    static const uint32_t functions[] = { FERRY_UNARY_TANH, FERRY_UNARY_BNLL, FERRY_UNARY_POWER };

    for (int64_t i = 0; i < 24; i++) {
        const int64_t shape[3] = { 3, i % 2 ? 700 : 41, i % 3 ? 2 : 300 };
        struct rig r;

        rig_begin(&r, FERRY_OP_UNARY);
        r.op.params.unary.function = functions[i % 3];
        r.op.params.unary.a = (double)(1 + i % 2);
        r.op.params.unary.b = 0.5;
        rig_in(&r, FERRY_F32, i % 4 < 2 ? RIG_SLICE : RIG_TURNED, 3, shape);
        rig_out(&r, FERRY_F32, i % 4 % 2 ? RIG_PLAIN : RIG_APART, 3, shape);
        rig_run(&r, NULL);
    }
}

static void functions_of_long_rows_run_in_blocks(void)
{
    const int64_t shape[2] = { 3, 9001 };
    struct rig r;

    rig_begin(&r, FERRY_OP_BINARY);
    r.op.params.binary.function = FERRY_BINARY_PRODUCT;
    for (int i = 0; i < 2; i++)
        rig_in(&r, FERRY_F32, RIG_PLAIN, 2, shape);
    rig_out(&r, FERRY_F32, RIG_PLAIN, 2, shape);
    rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_SIGMOID, 0, 0);
    rig_run(&r, NULL);
}

static void softmax_of_rows_of_every_length_agrees_with_the_oracle(void)
{
    for (int64_t length = 1; length < 1600; length = length < 40 ? length + 1 : 2 * length) {
        const int64_t shape[3] = { 2, length % 2 ? 1 : length, length % 2 ? length : 41 };
        const int64_t along[3] = { 530 / length + 1, length, 3 };
        struct rig r;

        rig_begin(&r, FERRY_OP_SOFTMAX);
        r.op.params.softmax.axis = length % 3 ? 1 : 2;
        rig_in(&r, FERRY_F32, length % 4 ? RIG_PLAIN : RIG_LAST, 3, length % 3 ? along : shape);
        for (int64_t k = 0; k < rig_count(&r.op.in[0]); k++)
            r.in[0][k] *= 200; /* most of the exponentials are 0 */
        rig_out(&r, FERRY_F32, RIG_PLAIN, 3, length % 3 ? along : shape);
        rig_run(&r, NULL);
    }
}

static void softmax_of_pairs_agrees_with_the_oracle(void)
{
    for (int64_t lines = 1; lines < 6000; lines = lines < 40 ? lines + 1 : 3 * lines) {
        const int64_t shape[2] = { lines, 2 };
        struct rig r;

        rig_begin(&r, FERRY_OP_SOFTMAX);
        r.op.params.softmax.axis = 1;
        r.op.params.softmax.logarithm = lines % 5 == 4;
        rig_in(&r, FERRY_F32, lines % 7 ? RIG_PLAIN : RIG_SLICE, 2, shape);
        for (int64_t k = 0; k < rig_count(&r.op.in[0]); k++)
            r.in[0][k] *= k % 3 ? 3 : 120;
        rig_out(&r, FERRY_F32, lines % 3 ? RIG_PLAIN : RIG_SLICE, 2, shape);
        rig_run(&r, NULL);
    }
}

static void averages_of_whole_images_agree_with_the_oracle(void)
{
    static const int64_t channels[] = { 1, 3, 15, 16, 17, 40, 100, 700 };

    for (int64_t i = 0; i < 48; i++) {
        const int64_t c = channels[i % 8], height = 1 + 5 * (i % 5), width = 1 + 11 * (i % 3);
        const int64_t y[4] = { 1 + i % 3, c, 1, 1 };
        ferry_op_window *w;
        struct rig r;

        rig_begin(&r, FERRY_OP_POOL);
        w = &r.op.params.window;
        *w = (ferry_op_window){ .axes = 2,
                                .group = 1,
                                .kernel = { height, width },
                                .stride = { 1, 1 },
                                .dilation = { 1, 1 } };
        r.op.params.pool.method = FERRY_POOL_AVERAGE;
        r.op.params.pool.divisor = (uint32_t)(i % 2);
        image(&r, i % 7 ? RIG_LAST : RIG_LAST_SLICE, y[0], c, height, width);
        rig_out(&r, FERRY_F32, RIG_PLAIN, 4, y);
        rig_run(&r, NULL);
    }
}

static void sums_of_the_pixels_of_channels_agree_with_the_oracle(void)
{
    for (int64_t i = 0; i < 24; i++) {
        const int64_t c = 1 + 9 * i, y[4] = { 2, c, 1, 1 };
        struct rig r;

        rig_begin(&r, FERRY_OP_REDUCE);
        r.op.params.reduce.function = (uint32_t)(i % 4);
        r.op.params.reduce.axes = 12;
        r.op.params.reduce.scale = 0.25;
        image(&r, i % 3 ? RIG_LAST : RIG_PLAIN, 2, c, 3 + i % 5, 7);
        rig_out(&r, FERRY_F32, RIG_PLAIN, 4, y);
        rig_run(&r, NULL);
    }
}

static void few_planes_are_copied_to_channels_last(void)
{
    for (int64_t planes = 1; planes < 11; planes++)
        for (int64_t i = 0; i < 8; i++) {
            const int64_t shape[4] = { 1 + i % 2, planes, 5 + 9 * (i % 4), 23 + 40 * (i % 3) };
            struct rig r;

            rig_begin(&r, FERRY_OP_STRIDED_COPY);
            rig_in(&r, i % 5 ? FERRY_F32 : FERRY_I32, i % 7 == 6 ? RIG_SLICE : RIG_PLAIN, 4, shape);
            rig_out(&r, r.op.in[0].dtype, RIG_LAST, 4, shape);
            rig_run(&r, NULL);
        }
}

/* Depthwise kernels other than 3 × 3, with lines shorter and longer than a block of pixels. */
static void depthwise(int64_t i, int64_t channels, int64_t height, int64_t width, int layout)
{
    const int64_t kernel[2] = { 1 + i % 7, 5 + i % 3 * 2 }, stride = 1 + (i % 4 == 3);
    const int64_t dilation = 1 + (i % 5 == 4);
    int64_t x[2] = { height, width }, y[4] = { 1 + i % 2, channels };
    const int64_t weights[4] = { channels, 1, kernel[0], kernel[1] };
    ferry_op_window *w;
    struct rig r;

    rig_begin(&r, FERRY_OP_CONVOLUTION);
    w = &r.op.params.window;
    *w = (ferry_op_window){ .axes = 2, .group = (uint32_t)channels };
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = kernel[a];
        w->stride[a] = stride;
        w->dilation[a] = dilation;
        w->pad[a] = kernel[a] / 2 * dilation;
        w->pad_end[a] = i % 3 ? w->pad[a] : w->pad[a] + 1;
        y[2 + a] = (x[a] + w->pad[a] + w->pad_end[a] - dilation * (kernel[a] - 1) - 1) / stride + 1;
    }
    image(&r, layout, y[0], channels, height, width);
    rig_in(&r, FERRY_F32, RIG_PLAIN, 4, weights);
    if (i % 3)
        rig_in(&r, FERRY_F32, RIG_PLAIN, 1, &channels);
    rig_out(&r, FERRY_F32, layout, 4, y);
    r.op.constants = 2u;
    if (i % 4)
        rig_step(&r, FERRY_STEP_UNARY, i % 4 == 1 ? FERRY_UNARY_CLIP : FERRY_UNARY_HARD_SWISH,
                 i % 4 == 1 ? -0.5 : 1.0 / 6, 0.5);
    rig_run(&r, NULL);
}

static void depthwise_kernels_of_every_size_agree_with_the_oracle(void)
{
    static const int64_t channels[] = { 15, 16, 17, 31, 40, 33, 16, 72 };

    for (int64_t i = 0; i < 80; i++)
        depthwise(i, channels[i % 8], 1 + i % 11, 1 + 5 * i % 27,
                  i % 11 == 10 ? RIG_LAST_SLICE : RIG_LAST);
    depthwise(0, 16, 3, 300, RIG_LAST);
    depthwise(6, 16, 3, 200, RIG_LAST);
}

/* Bands and parts of the channels depend on the number of threads, results do not. */
static void threads_share_the_lines_of_a_depthwise_convolution(void)
{
    static const char *const threads[] = { "1", "3", "4" };

    for (int i = 0; i < 3; i++) {
        rig_reopen(threads[i]);
        for (int64_t k = 0; k < 4; k++)
            depthwise(k, 64 + 13 * k, 16, 15, RIG_LAST);
    }
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Row-major images of three channels that become channels last, a tile or several at a time. */
static void first_layers_of_row_major_images_agree_with_the_oracle(void)
{
    for (int64_t i = 0; i < 40; i++) {
        const struct rig_shape s = { 1 + i % 2, 3, 5 + 9 * (i % 6), { 4 + i % 5, 12 + 5 * i } };
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window = (ferry_op_window){ .axes = 2,
                                                .kernel = { 1 + i % 4, 1 + i % 5 },
                                                .stride = { 1 + i % 3, 1 + i % 5 / 2 },
                                                .dilation = { 1 + i % 4 / 3, 1 },
                                                .pad = { i % 3 / 2, i % 7 / 2 },
                                                .pad_end = { 2, i % 5 / 2 },
                                                .group = 1 };
        rig_convolution(&r, FERRY_F32, &s, i % 8 ? RIG_PLAIN : RIG_SLICE, RIG_PLAIN,
                        i % 4 ? RIG_LAST : RIG_LAST_SLICE, RIG_PLAIN_BIAS);
        rig_step(&r, FERRY_STEP_UNARY, i % 3 ? FERRY_UNARY_RELU : FERRY_UNARY_SWISH, 0.25, 1);
        rig_run(&r, NULL);
    }
}

/* The last vector of a panel lacks columns, with each step that a micro-kernel performs. */
static void convolutions_with_every_number_of_outputs_agree(void)
{
    for (int64_t i = 0; i < 80; i++) {
        const struct rig_shape s = { 1, i % 3 ? 20 : 300, 1 + i / 2, { 2, 11 } };
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window = (ferry_op_window){
            .axes = 2, .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .group = 1
        };
        rig_convolution(&r, FERRY_F32, &s, RIG_LAST, RIG_PLAIN, i % 5 ? RIG_LAST : RIG_LAST_SLICE,
                        i % 7 ? RIG_PLAIN_BIAS : RIG_NO_BIAS);
        if (i % 2) {
            r.op.epilogue[r.op.n_epilogue++] =
                (ferry_op_step){ .step = FERRY_STEP_ADD, .operand = r.op.n_in, .a = 1 };
            rig_in(&r, FERRY_F32, RIG_LAST, 4, r.op.out[0].shape);
        }
        if (i % 4 / 2)
            rig_step(&r, FERRY_STEP_PRELU, 0, 0, 0);
        else
            rig_step(&r, FERRY_STEP_UNARY, i % 8 ? FERRY_UNARY_RELU : FERRY_UNARY_CLIP, -0.5, 0.75);
        rig_run(&r, NULL);
    }
}

/*
 * Threads get parts of the rows; or of an odd number of panels, of rows in place, where the weights
 * have more than 2 MiB. The first shape has fewer weights than half a MiB, the second more.
 */
static void threads_share_rows_or_panels(void)
{
    static const struct rig_shape shapes[] = { { 1, 260, 400, { 7, 7 } },
                                               { 2, 520, 300, { 5, 6 } },
                                               { 1, 800, 690, { 5, 5 } } };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window = (ferry_op_window){
            .axes = 2, .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .group = 1
        };
        rig_convolution(&r, FERRY_F32, &shapes[i], RIG_LAST, RIG_PLAIN, RIG_LAST, RIG_PLAIN_BIAS);
        rig_check_threads(&r);
        rig_run(&r, NULL);
    }
}

/* An inner product of an image of 7 pixels, whose channels are in that layout, with a bias. */
static void inner_product(struct rig *r, int layout, int64_t rows, int64_t channels,
                          int64_t outputs, uint32_t constants)
{
    const int64_t x[3] = { rows, channels, 7 }, w[2] = { outputs, 7 * channels };
    const int64_t y[2] = { rows, outputs };

    rig_begin(r, FERRY_OP_INNER_PRODUCT);
    rig_in(r, FERRY_F32, layout, 3, x);
    rig_in(r, FERRY_F32, RIG_PLAIN, 2, w);
    rig_in(r, FERRY_F32, RIG_PLAIN, 1, w);
    rig_out(r, FERRY_F32, layout == RIG_SLICE ? RIG_SLICE : RIG_PLAIN, 2, y);
    r->op.constants = constants;
}

/* Weights that each run would pack are read in place for up to 16 rows. */
static void weights_are_read_in_place_for_few_rows(void)
{
    for (int64_t i = 0; i < 36; i++) {
        const int64_t rows = 1 + i % 18, channels = 143 + i % 5, outputs = 67 + i % 4;
        ferry_op_answer answer = { 0 };
        struct rig r;

        inner_product(&r, (int)(i % RIG_LAYOUTS), rows, channels, outputs, 0);
        if (i % 3 == 1)
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, i % 2 ? 0.25 : 0, 0);
        if (i % 3 == 2)
            rig_step(&r, FERRY_STEP_ADD, 0, 1, 0);
        rig_run(&r, &answer);
        CU_ASSERT_EQUAL(answer.packed_bytes, 0);
        CU_ASSERT_EQUAL(answer.workspace_bytes < (uint64_t)(outputs * 7 * channels) * sizeof(float),
                        rows <= 16);
    }
}

/* Large constants are not packed for up to four rows, smaller ones always are. */
static void large_constants_are_not_packed_for_few_rows(void)
{
    static const struct {
        int64_t rows, channels, outputs;
        bool packs;
    } at[] = { { 1, 150, 2001, false },
               { 4, 151, 2000, false },
               { 5, 150, 2000, true },
               { 4, 150, 190, true } };

    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        ferry_op_answer answer = { 0 };
        struct rig r;

        inner_product(&r, i % 2 ? RIG_LAST : RIG_PLAIN, at[i].rows, at[i].channels, at[i].outputs,
                      2);
        if (i == 1)
            rig_check_threads(&r);
        rig_run(&r, &answer);
        CU_ASSERT_EQUAL(answer.packed_bytes > 0, at[i].packs);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(functions_after_a_binary_function_agree_with_the_oracle),
    FERRY_TEST(channel_values_are_broadcast_over_pixels),
    FERRY_TEST(functions_of_strided_elements_agree_with_the_oracle),
    FERRY_TEST(functions_of_long_rows_run_in_blocks),
    FERRY_TEST(softmax_of_rows_of_every_length_agrees_with_the_oracle),
    FERRY_TEST(softmax_of_pairs_agrees_with_the_oracle),
    FERRY_TEST(averages_of_whole_images_agree_with_the_oracle),
    FERRY_TEST(sums_of_the_pixels_of_channels_agree_with_the_oracle),
    FERRY_TEST(few_planes_are_copied_to_channels_last),
    FERRY_TEST(depthwise_kernels_of_every_size_agree_with_the_oracle),
    FERRY_TEST(threads_share_the_lines_of_a_depthwise_convolution),
    FERRY_TEST(first_layers_of_row_major_images_agree_with_the_oracle),
    FERRY_TEST(convolutions_with_every_number_of_outputs_agree),
    FERRY_TEST(threads_share_rows_or_panels),
    FERRY_TEST(weights_are_read_in_place_for_few_rows),
    FERRY_TEST(large_constants_are_not_packed_for_few_rows),
};

int main(int argc, char **argv)
{
    return rig_main(argc, argv, "cpu-ops-wide", cases, FERRY_TEST_COUNT(cases));
}
