/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Convolutions with kernels of one pixel, which are products of matrices, with each instruction
 * set: sums of one block and of several, tiles that one call of the micro-kernel computes together,
 * and panels that several tasks share.
 */

struct image {
    int64_t images, channels, outputs, lines, line;
};

static const struct image all[] = {
    { 1, 300, 40, 13, 17 },  /* one block of k; tiles are joined */
    { 1, 512, 64, 14, 14 },  /* the same with gathered rows */
    { 2, 512, 33, 14, 14 },  /* gathered rows that are too many for one block */
    { 1, 2049, 40, 5, 5 },   /* too long for one block */
    { 1, 2048, 72, 5, 5 },   /* the longest one block */
    { 1, 200, 700, 14, 14 }, /* two blocks of panels */
    { 2, 250, 650, 9, 15 },  /* the same; rows that do not divide evenly */
    { 1, 64, 130, 28, 20 },  /* short sums */
};

#define IMAGES (sizeof(all) / sizeof(all[0]))

static void convolution(struct rig *r, const struct image *m, enum rig_bias bias)
{
    const struct rig_shape shape = { m->images, m->channels, m->outputs, { m->lines, m->line, 0 } };
    ferry_op_window *w = &r->op.params.window;

    rig_begin(r, FERRY_OP_CONVOLUTION);
    w->axes = 2;
    w->group = 1;
    for (int a = 0; a < 2; a++)
        w->kernel[a] = w->stride[a] = w->dilation[a] = 1;
    rig_convolution(r, FERRY_F32, &shape, RIG_LAST, RIG_PLAIN, RIG_LAST, bias);
    r->op.constants = 2u;
}

/* A step whose operand has the layout of y. */
static void add_of_last(struct rig *r)
{
    const ferry_operand *y = &r->op.out[0];

    r->op.epilogue[r->op.n_epilogue++] =
        (ferry_op_step){ .step = FERRY_STEP_ADD, .operand = r->op.n_in };
    rig_in(r, FERRY_F32, RIG_LAST, y->rank, y->shape);
}

static void steps_agree_with_the_oracle(void)
{
    for (size_t i = 0; i < IMAGES; i++)
        for (int steps = 0; steps < 3; steps++) {
            struct rig r;

            convolution(&r, &all[i], RIG_PLAIN_BIAS);
            if (steps >= 1)
                add_of_last(&r);
            if (steps >= 1)
                rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
            if (steps >= 2)
                rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_SIGMOID, 0, 0);
            rig_run(&r, NULL);
        }
}

/* Fused multiplications and additions, in the order of channels, from the bias on. */
static float chain(const struct rig *r, const struct image *m, int64_t image, int64_t output,
                   int64_t pixel)
{
    const int64_t pixels = m->lines * m->line;
    const double *x = r->in[0] + image * m->channels * pixels + pixel;
    const double *w = r->in[1] + output * m->channels;
    float sum = (float)r->in[2][output];

    for (int64_t k = 0; k < m->channels; k++)
        sum = fmaf((float)x[k * pixels], (float)w[k], sum);
    return sum;
}

static void each_element_is_a_chain_in_the_order_of_channels(void)
{
    if (strcmp(rig_set(), "avx512") != 0 && strcmp(rig_set(), "avx2") != 0)
        return; /* the other sets need not fuse them */
    for (size_t i = 0; i < IMAGES; i++) {
        const struct image *m = &all[i];
        const int64_t pixels = m->lines * m->line;
        double *out[FERRY_OP_OUTPUTS] = { NULL };
        int64_t wrong = 0;
        struct rig r;

        convolution(&r, m, RIG_PLAIN_BIAS);
        CU_ASSERT_EQUAL(rig_run_plugin(&r, out), 0);
        for (int64_t e = 0; out[0] && e < m->images * m->outputs * pixels; e += 1 + rig_random(9))
            wrong += (float)out[0][e] != chain(&r, m, e / pixels / m->outputs,
                                               e / pixels % m->outputs, e % pixels);
        CU_ASSERT_EQUAL(wrong, 0);
        free(out[0]);
        rig_end(&r);
    }
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    for (size_t i = 0; i < IMAGES; i++) {
        struct rig r;

        convolution(&r, &all[i], RIG_PLAIN_BIAS);
        add_of_last(&r);
        rig_check_threads(&r);
        rig_end(&r);
    }
}

/* BF16 in pairs: an odd number of channels. */
static void pairs_of_odd_channels_agree_with_the_oracle(void)
{
    static const struct image odd[] = { { 1, 301, 40, 8, 9 },
                                        { 1, 301, 40, 24, 24 },
                                        { 1, 2051, 40, 5, 4 } };

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct rig r;

        convolution(&r, &odd[i], RIG_PLAIN_BIAS);
        r.op.math = FERRY_MATH_BF16;
        r.tolerance = 1e-2;
        rig_run(&r, NULL);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(steps_agree_with_the_oracle),
    FERRY_TEST(each_element_is_a_chain_in_the_order_of_channels),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
    FERRY_TEST(pairs_of_odd_channels_agree_with_the_oracle),
};

int main(int argc, char **argv)
{
    return rig_main(argc, argv, "cpu-products", cases, FERRY_TEST_COUNT(cases));
}
