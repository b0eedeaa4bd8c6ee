/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

/*
 * The CPU plugin's convolutions, inner products and products of matrices, with each instruction
 * set.
 */

static int rounds(void)
{
    const char *text = getenv("FERRY_TEST_ROUNDS");
    int n = text ? atoi(text) : getenv("FERRY_TEST_QUICK") ? 24 : 60;

    return ferry_test_is_slow() ? n / 4 + 1 : n;
}

static int layout(void)
{
    return (int)rig_random(RIG_LAYOUTS);
}

static void any_steps(struct rig *r)
{
    static const uint32_t functions[] = { FERRY_UNARY_RELU, FERRY_UNARY_CLIP, FERRY_UNARY_ELU,
                                          FERRY_UNARY_SIGMOID, FERRY_UNARY_SWISH };
    int64_t steps = rig_random(2) ? 0 : rig_random(5);

    while (steps-- > 0 && r->op.n_in < FERRY_OP_INPUTS) {
        uint32_t step = (uint32_t)rig_random(5);

        rig_step(r, step, functions[rig_random(5)], rig_random(2) ? 0 : 0.25, 0.75);
    }
}

static int make_any_window(ferry_op_window *w, struct rig_shape *s)
{
    static const int64_t channels[] = { 1, 2, 3, 5, 8, 16, 17, 32, 33, 48, 65 };
    static const uint32_t groups[] = { 1, 1, 1, 4, 2, 3 };

    w->axes = (uint32_t)(1 + rig_random(3));
    w->group = groups[rig_random(6)];
    w->transposed = rig_random(5) == 0;
    *s = (struct rig_shape){ 1 + rig_random(3),
                             channels[rig_random(11)] * w->group,
                             channels[rig_random(11)] * w->group,
                             { 0 } };
    if (rig_random(5) == 0) { /* depthwise */
        s->channels = channels[rig_random(11)];
        w->group = (uint32_t)s->channels;
        s->outputs = s->channels * (rig_random(3) == 0 ? 2 : 1);
    }
    for (uint32_t a = 0; a < w->axes; a++) {
        w->kernel[a] = 1 + rig_random(w->axes == 3 ? 3 : 5);
        w->stride[a] = 1 + rig_random(3);
        w->dilation[a] = 1 + (rig_random(4) == 0);
        w->pad[a] = rig_random(w->kernel[a] + 1);
        w->pad_end[a] = rig_random(2) ? w->pad[a] : rig_random(3);
        s->in[a] = 1 + rig_random(w->axes == 3 ? 6 : w->axes == 2 ? 18 : 50);
        if (rig_axis_after(w, a, s->in[a]) < 1)
            return 0;
    }
    return 1;
}

static void convolutions_of_any_shape_agree_with_the_oracle(void)
{
    for (int i = 0; i < 5 * rounds(); i++) {
        struct rig_shape s;
        struct rig r;

        do
            rig_begin(&r, FERRY_OP_CONVOLUTION);
        while (!make_any_window(&r.op.params.window, &s));
        rig_convolution(&r, rig_random(8) ? FERRY_F32 : FERRY_F64, &s, layout(), layout(), layout(),
                        (enum rig_bias)rig_random(RIG_BIASES));
        any_steps(&r);
        if (rig_random(4) == 0)
            r.op.constants = 0;
        rig_run(&r, NULL);
    }
}

/* A convolution of the lists below, with two axes and a square image. */
struct square {
    int64_t images, channels, outputs, in, kernel, stride, dilation, pad;
    uint32_t group, transposed;
};

static void run_square(const struct square *q, int x_layout, int y_layout)
{
    struct rig_shape s = { q->images, q->channels, q->outputs, { q->in, q->in } };
    ferry_op_window *w;
    struct rig r;

    rig_begin(&r, FERRY_OP_CONVOLUTION);
    w = &r.op.params.window;
    w->axes = 2;
    w->group = q->group;
    w->transposed = q->transposed;
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = q->kernel;
        w->stride[a] = q->stride;
        w->dilation[a] = q->dilation;
        w->pad[a] = w->pad_end[a] = q->pad;
    }
    rig_convolution(&r, FERRY_F32, &s, x_layout, RIG_PLAIN, y_layout, RIG_PLAIN_BIAS);
    rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
    rig_run(&r, NULL);
}

static void convolutions_at_their_boundaries_agree_with_the_oracle(void)
{
    static const struct square squares[] = {
        { 1, 3, 5, 2, 7, 1, 1, 3, 1, 0 },     /* a kernel larger than the image */
        { 1, 4, 4, 9, 2, 5, 1, 0, 1, 0 },     /* pixels between the windows */
        { 2, 17, 33, 1, 1, 1, 1, 0, 1, 0 },   /* one pixel */
        { 1, 1, 1, 1, 1, 1, 1, 0, 1, 0 },     /* size 1 in every dimension */
        { 2, 33, 33, 7, 3, 1, 1, 1, 33, 0 },  /* one channel per group */
        { 1, 64, 64, 9, 3, 2, 1, 1, 64, 0 },  /* the same, with strides */
        { 1, 48, 96, 5, 3, 1, 2, 2, 48, 0 },  /* two outputs per channel, dilated */
        { 0, 8, 8, 5, 3, 1, 1, 1, 1, 0 },     /* no images */
        { 1, 3, 64, 30, 7, 2, 1, 3, 1, 0 },   /* a first layer */
        { 1, 512, 40, 5, 3, 1, 1, 1, 1, 0 },  /* a sum of several blocks */
        { 1, 300, 70, 13, 1, 1, 1, 0, 1, 0 }, /* the same, kernel 1 × 1 */
        { 1, 1100, 33, 4, 1, 2, 1, 0, 1, 0 },  { 1, 16, 8, 6, 4, 2, 1, 1, 1, 1 },
        { 1, 16, 16, 6, 4, 2, 1, 1, 16, 1 },   { 2, 40, 24, 5, 3, 3, 2, 0, 2, 1 },
        { 1, 6, 6, 5, 3, 1, 1, 4, 1, 0 },      /* windows over padding only */
        { 2, 40, 33, 10, 3, 1, 12, 12, 1, 0 }, /* outer taps over padding only */
        { 1, 20, 20, 10, 3, 1, 9, 11, 1, 0 },  /* some outer taps over padding only */
        { 1, 32, 32, 1, 5, 1, 1, 2, 32, 0 },   /* only one tap outside the padding */
    };

    static const int y_layouts[] = { RIG_LAST, RIG_PLAIN, RIG_LAST_SLICE };
    int pair = 0, step = ferry_test_is_slow() ? 12 : getenv("FERRY_TEST_QUICK") ? 4 : 1;

    for (size_t i = 0; i < sizeof(squares) / sizeof(squares[0]); i++)
        for (int x_layout = 0; x_layout < RIG_LAYOUTS; x_layout++)
            for (int y = 0; y < 3; y++)
                if (pair++ % step == 0)
                    run_square(&squares[i], x_layout, y_layouts[y]);
}

/*
 * One transposed convolution with few channels per group, as used by nets to enlarge their outputs.
 */
static void enlarge(int64_t round, int64_t lines, int64_t pixels)
{
    static const int64_t kernels[][2] = { { 4, 2 }, { 8, 4 },  { 16, 8 }, { 32, 16 },
                                          { 3, 2 }, { 2, 2 },  { 5, 3 },  { 2, 3 },
                                          { 7, 2 }, { 11, 5 }, { 1, 4 },  { 9, 7 } };
    const int64_t *k = kernels[round % 12];
    int64_t each = round % 5 ? 1 : 1 + rig_random(k[0] > 8 ? 3 : 30);
    uint32_t group = (uint32_t)(round % 3 ? 1 : 1 + rig_random(5));
    struct rig_shape s = {
        1 + round % 2, each * group, (1 + rig_random(3)) * group, { lines, pixels }
    };
    struct rig r;
    ferry_op_window *w;

    rig_begin(&r, FERRY_OP_CONVOLUTION);
    w = &r.op.params.window;
    *w = (ferry_op_window){ .axes = 2, .group = group, .transposed = 1 };
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = k[0];
        w->stride[a] = a ? k[1] : 1 + rig_random(k[1]);
        w->dilation[a] = 1;
        w->pad[a] = rig_random(k[0] / 2 + 1);
        w->pad_end[a] = rig_random(k[0] / 2 + 1);
        if (rig_axis_after(w, (uint32_t)a, s.in[a]) < 1)
            w->pad[a] = w->pad_end[a] = 0;
    }
    rig_convolution(&r, FERRY_F32, &s, layout(), layout(), round % 4 ? RIG_PLAIN : layout(),
                    (enum rig_bias)rig_random(RIG_BIASES));
    any_steps(&r);
    if (rig_random(3) == 0)
        r.op.constants = 0;
    rig_run(&r, NULL);
}

static void transposed_convolutions_of_few_channels_agree_with_the_oracle(void)
{
    for (int64_t i = 0; i < (getenv("FERRY_TEST_QUICK") ? rounds() / 2 : rounds()); i++)
        enlarge(i, 1 + rig_random(4), 1 + i % 20);
    enlarge(1, 92, 93); /* enough for several threads */
    enlarge(2, 24, 25);
}

/* Lines of three taps, and blocks of seven pixels with taps farther apart. */
static void depthwise_convolutions_agree_at_every_stride_and_dilation(void)
{
    for (int64_t step = 0; step < 16; step++) {
        struct square q = { 1, 33, 33, 30, 3, 1 + step / 4, 1 + step % 4, 1 + step % 4, 33, 0 };

        run_square(&q, RIG_LAST, RIG_LAST);
        run_square(&q, RIG_PLAIN, RIG_PLAIN);
    }
}

/* Groups that share a vector of outputs, and groups whose taps are read in place. */
static void grouped_convolutions_of_few_channels_agree(void)
{
    static const struct square few[] = {
        { 2, 32, 32, 9, 3, 1, 1, 1, 8, 0 },  { 1, 24, 24, 13, 3, 2, 1, 1, 6, 0 },
        { 1, 60, 30, 7, 1, 1, 1, 0, 15, 0 }, { 1, 32, 32, 15, 3, 1, 2, 2, 2, 0 },
        { 1, 48, 48, 8, 5, 2, 1, 2, 6, 0 },  { 1, 128, 64, 7, 3, 1, 1, 1, 4, 0 },
        { 2, 14, 28, 11, 3, 1, 1, 0, 7, 0 }, { 1, 40, 40, 8, 3, 1, 1, 1, 10, 1 },
        { 1, 34, 34, 18, 3, 1, 3, 3, 2, 0 },
    };

    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++)
        for (int y_layout = RIG_PLAIN; y_layout <= RIG_LAST_SLICE; y_layout++) {
            run_square(&few[i], RIG_LAST, y_layout);
            run_square(&few[i], RIG_LAST_SLICE, y_layout);
            run_square(&few[i], RIG_PLAIN, y_layout);
        }
}

/* Groups of 4 or 8 channels with stride 1, whose pixels fill vectors; `i` chooses among shapes. */
static void group_of_few(int64_t i, int64_t lines, int64_t pixels)
{
    uint32_t group = (uint32_t)(4 + i % 5);
    int64_t width = i % 2 ? 4 : 8;
    struct rig_shape s = { 1 + i % 2, width * group, width * group, { lines, pixels } };
    ferry_op_window *w;
    struct rig r;

    rig_begin(&r, FERRY_OP_CONVOLUTION);
    w = &r.op.params.window;
    *w = (ferry_op_window){ .axes = 2, .group = group };
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = i % 4 ? 3 : 2 + rig_random(4);
        w->stride[a] = 1;
        w->dilation[a] = 1 + (uint32_t)(i % 7 == 3);
        w->pad[a] = i % 4 ? 1 : rig_random(w->kernel[a]);
        w->pad_end[a] = i % 4 ? 1 : rig_random(w->kernel[a]);
        if (rig_axis_after(w, (uint32_t)a, s.in[a]) < 1)
            w->pad[a] = w->pad_end[a] = w->kernel[a] * w->dilation[a];
    }
    rig_convolution(&r, FERRY_F32, &s, i % 3 ? RIG_LAST : RIG_LAST_SLICE, RIG_PLAIN,
                    i % 5 ? RIG_LAST : RIG_LAST_SLICE, (enum rig_bias)(i % RIG_BIASES));
    if (i % 3 == 0)
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_CLIP, -0.5, 0.75);
    else if (i % 3 == 1)
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, i % 2 ? 0 : 0.25, 0);
    if (i % 4 == 0)
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_HARD_SWISH, 1.0 / 6, 0.5);
    if (i % 6 == 5)
        r.op.constants = 0;
    rig_run(&r, NULL);
}

static void grouped_convolutions_with_whole_vectors_of_pixels_agree(void)
{
    int64_t step = ferry_test_is_shortest() ? 3 : 1;

    for (int64_t pixels = 1; pixels < 70; pixels++)
        group_of_few(pixels, 1 + pixels * 7 % 12, pixels);
    for (int64_t i = 0; i < 12; i += step) /* several bands of lines, and several threads */
        group_of_few(i, 90 + i, 30 + i);
}

/* The number of threads changes no bit. */
static void grouped_convolutions_agree_for_every_number_of_threads(void)
{
    for (int64_t width = 4; width <= 8; width += 4) {
        struct rig_shape s = { 2, 9 * width, 9 * width, { 61, 23 } };
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window = (ferry_op_window){ .axes = 2,
                                                .group = 9,
                                                .kernel = { 3, 3 },
                                                .stride = { 1, 1 },
                                                .dilation = { 1, 1 },
                                                .pad = { 1, 1 },
                                                .pad_end = { 1, 1 } };
        rig_convolution(&r, FERRY_F32, &s, RIG_LAST, RIG_PLAIN, RIG_LAST, RIG_PLAIN_BIAS);
        rig_check_threads(&r);
        rig_end(&r);
    }
}

static void group_a_channel(int64_t lines, int64_t pixels, int64_t step, int64_t pad,
                            int64_t pad_end)
{
    struct rig_shape s = { 2, 19, 19, { lines, pixels } };
    ferry_op_window *w;
    struct rig r;

    rig_begin(&r, FERRY_OP_CONVOLUTION);
    w = &r.op.params.window;
    *w = (ferry_op_window){ .axes = 2, .group = 19 };
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = 3;
        w->stride[a] = step;
        w->dilation[a] = 1;
        w->pad[a] = pad;
        w->pad_end[a] = pad_end;
    }
    rig_convolution(&r, FERRY_F32, &s, RIG_LAST, RIG_PLAIN, RIG_LAST_SLICE,
                    lines % 2 ? RIG_PLAIN_BIAS : RIG_NO_BIAS);
    if (pixels % 3 == 0)
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_CLIP, -0.5, 0.75);
    else if (pixels % 3 == 1)
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, pixels % 2 ? 0 : 0.25, 0);
    if (lines % 3 == 0)
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_HARD_SWISH, 1.0 / 6, 0.5);
    rig_run(&r, NULL);
}

/* All functions can be fused into a depthwise convolution. */
static void depthwise_convolutions_agree_with_fused_functions(void)
{
    for (uint32_t function = 0; function < FERRY_UNARY_COUNT; function++)
        for (int64_t step = 0; step < 6; step++) {
            struct rig_shape s = { 2, 19, 19, { 9, 11 } };
            ferry_op_answer answer = { 0 };
            struct rig r;

            rig_begin(&r, FERRY_OP_CONVOLUTION);
            r.op.params.window = (ferry_op_window){ .axes = 2,
                                                    .group = 19,
                                                    .kernel = { 3 + step / 3 * 2, 3 },
                                                    .stride = { 1, 1 + step % 2 },
                                                    .dilation = { 1, 1 },
                                                    .pad = { 1, 1 },
                                                    .pad_end = { 1, 1 } };
            rig_convolution(&r, FERRY_F32, &s, step % 4 ? RIG_LAST : layout(), RIG_PLAIN,
                            step % 3 ? RIG_LAST : layout(), RIG_PLAIN_BIAS);
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_CLIP, 0.5, 1.5);
            rig_step(&r, FERRY_STEP_UNARY, function, 0.25, 0.75);
            r.op.epilogue[1].c = function == FERRY_UNARY_ROUND ? 1 : 0; /* which is at least b */
            rig_run(&r, &answer);
            CU_ASSERT_EQUAL(answer.epilogue, 2);
        }
}

/* Lines with padding at their ends, computed one or two at a time, with fused steps. */
static void depthwise_convolutions_agree_for_every_width_and_padding(void)
{
    for (int64_t pixels = 1; pixels < 20; pixels++)
        for (int64_t pad = 0; pad < 9; pad++)
            for (int64_t step = 1; step < 3; step++)
                group_a_channel(3 + pixels % 4, pixels, step, pad / 3, pad % 3);
}

/*
 * The sums are so short that the pixels next to the padding are computed as separate tiles. The end
 * of a task may be within a line.
 */
static void first_layer_convolutions_agree_for_every_width(void)
{
    for (int64_t i = 0; i < 32; i++) {
        struct square q = { 1, 3, 33, 12 + i, 3, 1 + i % 2, 1, 1 + i % 3 / 2, 1, 0 };

        run_square(&q, RIG_LAST, i % 4 ? RIG_LAST : RIG_LAST_SLICE);
    }
}

/* Sums so short that tiles of a line are processed in one call, with steps; y contiguous or not. */
static void convolutions_with_short_sums_and_many_tiles_agree(void)
{
    for (int64_t i = 0; i < 12; i++) {
        struct rig_shape s = { 2, i % 2 ? 3 : 20, 16 * (1 + i % 4), { 3, 41 + 3 * i } };
        ferry_op_window *w;
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        w = &r.op.params.window;
        *w = (ferry_op_window){ .axes = 2, .group = 1 };
        for (int a = 0; a < 2; a++) {
            w->kernel[a] = i % 2 ? 3 : 1;
            w->stride[a] = w->dilation[a] = 1;
            w->pad[a] = w->pad_end[a] = i % 2;
        }
        rig_convolution(&r, FERRY_F32, &s, RIG_LAST, RIG_PLAIN, i % 3 ? RIG_LAST : RIG_LAST_SLICE,
                        RIG_PLAIN_BIAS);
        if (i % 3 == 0) {
            r.op.epilogue[r.op.n_epilogue++] =
                (ferry_op_step){ .step = FERRY_STEP_ADD, .operand = r.op.n_in, .a = 1 };
            rig_in(&r, FERRY_F32, RIG_LAST, 4, r.op.out[0].shape);
        } else {
            rig_step(&r, i % 3 == 1 ? FERRY_STEP_PRELU : FERRY_STEP_UNARY, FERRY_UNARY_CLIP, -0.5,
                     0.75);
        }
        rig_run(&r, NULL);
    }
}

/* Functions that the micro-kernels do not compute, after a bias and a sum, for any last panel. */
static void functions_after_the_store_agree_with_the_oracle(void)
{
    static const uint32_t functions[] = { FERRY_UNARY_SWISH, FERRY_UNARY_HARD_SWISH,
                                          FERRY_UNARY_TANH, FERRY_UNARY_MISH, FERRY_UNARY_ELU };

    for (int64_t i = 0; i < 20; i++) {
        struct rig_shape s = { 2, i % 3 ? 20 : 300, 16 + 7 * (i % 5), { 3, 41 } };
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window = (ferry_op_window){
            .axes = 2, .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 }, .group = 1
        };
        rig_convolution(&r, FERRY_F32, &s, RIG_LAST, RIG_PLAIN, RIG_LAST, RIG_PLAIN_BIAS);
        if (i % 2) {
            r.op.epilogue[r.op.n_epilogue++] =
                (ferry_op_step){ .step = FERRY_STEP_ADD, .operand = r.op.n_in, .a = 1 };
            rig_in(&r, FERRY_F32, RIG_LAST, 4, r.op.out[0].shape);
        }
        rig_step(&r, FERRY_STEP_UNARY, functions[i % 4 + i / 19], 0.25, 0.5);
        if (i % 4 == 3)
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_HARD_SIGMOID, 0.5, 0.25);
        rig_run(&r, NULL);
    }
}

static void inner_products_of_any_shape_agree_with_the_oracle(void)
{
    static const int64_t sizes[] = { 1, 2, 3, 8, 15, 16, 17, 33, 64, 100, 257, 800 };

    for (int i = 0; i < 3 * rounds(); i++) {
        uint32_t dtype = rig_random(6) ? FERRY_F32 : FERRY_F64,
                 rank = (uint32_t)(1 + rig_random(4));
        int64_t x[5] = { 1 + rig_random(30) }, w[2] = { sizes[rig_random(11)], 1 };
        int64_t y[2] = { x[0], w[0] };
        struct rig r;

        for (uint32_t a = 1; a < rank; a++)
            w[1] *= x[a] = rank == 2 ? sizes[rig_random(12)] : 1 + rig_random(9);
        rig_begin(&r, FERRY_OP_INNER_PRODUCT);
        rig_in(&r, dtype, layout(), rank, x);
        rig_in(&r, dtype, layout(), 2, w);
        if (rig_random(2))
            rig_in(&r, dtype, layout(), 1, w);
        rig_out(&r, dtype, layout(), 2, y);
        r.op.constants = rig_random(3) ? 2u : 0;
        any_steps(&r);
        rig_run(&r, NULL);
    }
}

static void batched_products_of_any_shape_agree_with_the_oracle(void)
{
    static const int64_t sizes[] = { 1, 2, 7, 14, 15, 31, 32, 33, 70, 130, 400 };

    for (int i = 0; i < 3 * rounds(); i++) {
        uint32_t dtype = rig_random(6) ? FERRY_F32 : FERRY_F64;
        int64_t batch = 1 + rig_random(4), m = sizes[rig_random(10)], n = sizes[rig_random(10)];
        int64_t k = sizes[rig_random(11)];
        const int64_t a[3] = { rig_random(2) ? 1 : batch, m, k };
        const int64_t b[3] = { rig_random(2) ? 1 : batch, k, n };
        const int64_t c[3] = { rig_random(2) ? 1 : batch, m, n }, y[3] = { batch, m, n };
        struct rig r;
        int y_layout = layout();

        rig_begin(&r, FERRY_OP_BATCHED_GEMM);
        r.op.params.gemm.alpha = rig_random(2) ? 1 : 0.5;
        r.op.params.gemm.beta = rig_random(2) ? 1 : -0.25;
        rig_in(&r, dtype, layout(), 3, a);
        rig_in(&r, dtype, layout(), 3, b);
        if (rig_random(2))
            rig_in(&r, dtype, y_layout, 3, c);
        rig_out(&r, dtype, y_layout, 3, y);
        r.in_place = r.op.n_in == 3 && c[0] == batch && rig_random(2) ? 3 : 0;
        r.op.constants = rig_random(2) ? 2u : 0;
        rig_run(&r, NULL);
    }
}

/* ---- guarantees to threads and callers ------------------------------------------------------- */

static void fill_square(struct rig *r, const struct square *q, int x_layout)
{
    struct rig_shape s = { q->images, q->channels, q->outputs, { q->in, q->in } };
    ferry_op_window *w = &r->op.params.window;

    rig_begin(r, FERRY_OP_CONVOLUTION);
    *w = (ferry_op_window){ .axes = 2, .group = q->group };
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = q->kernel;
        w->stride[a] = q->stride;
        w->dilation[a] = 1;
        w->pad[a] = w->pad_end[a] = q->pad;
    }
    rig_convolution(r, FERRY_F32, &s, x_layout, RIG_PLAIN, RIG_LAST, RIG_PLAIN_BIAS);
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    static const struct square squares[] = { { 1, 64, 96, 28, 3, 1, 1, 1, 1, 0 },
                                             { 1, 512, 200, 7, 3, 1, 1, 1, 1, 0 },
                                             { 2, 300, 70, 20, 1, 1, 1, 0, 1, 0 },
                                             { 1, 128, 128, 40, 3, 1, 1, 1, 128, 0 } };

    for (size_t i = 0; i < sizeof(squares) / sizeof(squares[0]); i++) {
        struct rig r;

        fill_square(&r, &squares[i], RIG_LAST);
        rig_check_threads(&r);
        rig_end(&r);
    }
}

/* Worker threads use the rounding mode of the caller, not that in which they were started. */
static void every_thread_uses_the_rounding_mode_of_the_caller(void)
{
    static const int modes[] = { FE_UPWARD, FE_TONEAREST, FE_TOWARDZERO };
    const struct square square = { 1, 64, 64, 40, 3, 1, 1, 1, 1, 0 };
    double *want[3][1], *got[1];
    int64_t count;
    struct rig r;

    fill_square(&r, &square, RIG_LAST);
    count = rig_count(&r.op.out[0]);
    for (int threads = 0; threads < 2; threads++) {
        rig_reopen(threads ? "3" : "1");
        for (int i = 0; i < 3; i++) {
            fesetround(modes[i]);
            CU_ASSERT_EQUAL(rig_run_plugin(&r, threads ? got : want[i]), 0);
            CU_ASSERT_EQUAL(fegetround(), modes[i]);
            fesetround(FE_TONEAREST);
            if (!threads)
                continue;
            CU_ASSERT_EQUAL(memcmp(got[0], want[i][0], (size_t)count * sizeof(double)), 0);
            free(got[0]);
        }
    }
    CU_ASSERT_NOT_EQUAL(memcmp(want[0][0], want[1][0], (size_t)count * sizeof(double)), 0);
    for (int i = 0; i < 3; i++)
        free(want[i][0]);
    rig_end(&r);
}

/* Weights that were packed for one batch are valid for another batch and image size. */
static void equal_keys_mean_equal_packed_weights(void)
{
    const struct square squares[] = {
        { 1, 40, 50, 9, 3, 1, 1, 1, 1, 0 }, { 5, 40, 50, 21, 3, 2, 1, 0, 1, 0 },
        { 1, 40, 51, 9, 3, 1, 1, 1, 1, 0 }, { 1, 40, 50, 9, 3, 1, 1, 1, 2, 0 },
        { 1, 40, 50, 1, 3, 1, 1, 1, 1, 0 }, { 1, 24, 24, 9, 3, 1, 1, 1, 12, 0 },
        { 1, 24, 24, 9, 3, 1, 1, 1, 12, 0 }
    };
    ferry_op_answer answer[7];

    for (int i = 0; i < 7; i++) {
        struct rig r;

        fill_square(&r, &squares[i], i == 6 ? RIG_PLAIN : RIG_LAST);
        rig_run(&r, &answer[i]);
        CU_ASSERT(answer[i].packed_key != 0 && answer[i].packed_bytes > 0);
        CU_ASSERT_EQUAL(answer[i].packed_inputs, 2);
    }
    CU_ASSERT_EQUAL(answer[0].packed_key, answer[1].packed_key);
    CU_ASSERT_EQUAL(answer[0].packed_bytes, answer[1].packed_bytes);
    CU_ASSERT_NOT_EQUAL(answer[0].packed_key, answer[2].packed_key);
    CU_ASSERT_NOT_EQUAL(answer[0].packed_key, answer[3].packed_key);
    /* taps that see only padding are left out; groups share a vector where channels are last */
    CU_ASSERT_NOT_EQUAL(answer[0].packed_key, answer[4].packed_key);
    CU_ASSERT_NOT_EQUAL(answer[5].packed_key, answer[6].packed_key);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(convolutions_of_any_shape_agree_with_the_oracle),
    FERRY_TEST(convolutions_at_their_boundaries_agree_with_the_oracle),
    FERRY_TEST(transposed_convolutions_of_few_channels_agree_with_the_oracle),
    FERRY_TEST(depthwise_convolutions_agree_at_every_stride_and_dilation),
    FERRY_TEST(depthwise_convolutions_agree_for_every_width_and_padding),
    FERRY_TEST(depthwise_convolutions_agree_with_fused_functions),
    FERRY_TEST(grouped_convolutions_of_few_channels_agree),
    FERRY_TEST(grouped_convolutions_with_whole_vectors_of_pixels_agree),
    FERRY_TEST(grouped_convolutions_agree_for_every_number_of_threads),
    FERRY_TEST(first_layer_convolutions_agree_for_every_width),
    FERRY_TEST(convolutions_with_short_sums_and_many_tiles_agree),
    FERRY_TEST(functions_after_the_store_agree_with_the_oracle),
    FERRY_TEST(inner_products_of_any_shape_agree_with_the_oracle),
    FERRY_TEST(batched_products_of_any_shape_agree_with_the_oracle),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
    FERRY_TEST(every_thread_uses_the_rounding_mode_of_the_caller),
    FERRY_TEST(equal_keys_mean_equal_packed_weights),
};

int main(int argc, char **argv)
{
    return rig_main(argc, argv, "cpu-ops-matrix", cases, FERRY_TEST_COUNT(cases));
}
