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

static const struct rig_shape all[] = {
    { 1, 300, 40, { 13, 17 } },  /* one block of k; tiles are joined */
    { 1, 512, 64, { 14, 14 } },  /* the same with gathered rows */
    { 2, 512, 33, { 14, 14 } },  /* gathered rows that are too many for one block */
    { 1, 2049, 40, { 5, 5 } },   /* too long for one block */
    { 1, 2048, 72, { 5, 5 } },   /* the longest one block */
    { 1, 200, 700, { 14, 14 } }, /* two blocks of panels */
    { 2, 250, 650, { 9, 15 } },  /* the same; rows that do not divide evenly */
    { 1, 64, 130, { 28, 20 } },  /* short sums */
};

#define IMAGES (sizeof(all) / sizeof(all[0]))

static void convolution(struct rig *r, const struct rig_shape *s)
{
    rig_pointwise(r, s, RIG_LAST, RIG_LAST, RIG_PLAIN_BIAS);
}

static void steps_agree_with_the_oracle(void)
{
    for (size_t i = 0; i < IMAGES; i++)
        for (int steps = 0; steps < 3; steps++) {
            struct rig r;

            convolution(&r, &all[i]);
            if (steps >= 1)
                rig_step_last(&r, FERRY_STEP_ADD);
            if (steps >= 1)
                rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
            if (steps >= 2)
                rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_SIGMOID, 0, 0);
            rig_run(&r, NULL);
        }
}

/* Fused multiplications and additions, in the order of channels, from the bias on. */
static float chain(const struct rig *r, const struct rig_shape *s, int64_t image, int64_t output,
                   int64_t pixel)
{
    const int64_t pixels = s->in[0] * s->in[1];
    const double *x = r->in[0] + image * s->channels * pixels + pixel;
    const double *w = r->in[1] + output * s->channels;
    float sum = (float)r->in[2][output];

    for (int64_t k = 0; k < s->channels; k++)
        sum = fmaf((float)x[k * pixels], (float)w[k], sum);
    return sum;
}

static void each_element_is_a_chain_in_the_order_of_channels(void)
{
    if (strcmp(rig_set(), "avx512") != 0 && strcmp(rig_set(), "avx2") != 0)
        return; /* the other sets need not fuse them */
    for (size_t i = 0; i < IMAGES; i++) {
        const struct rig_shape *s = &all[i];
        const int64_t pixels = s->in[0] * s->in[1];
        double *out[FERRY_OP_OUTPUTS] = { NULL };
        int64_t wrong = 0;
        struct rig r;

        convolution(&r, s);
        CU_ASSERT_EQUAL(rig_run_plugin(&r, out), 0);
        for (int64_t e = 0; out[0] && e < s->images * s->outputs * pixels; e += 1 + rig_random(9))
            wrong += (float)out[0][e] != chain(&r, s, e / pixels / s->outputs,
                                               e / pixels % s->outputs, e % pixels);
        CU_ASSERT_EQUAL(wrong, 0);
        free(out[0]);
        rig_end(&r);
    }
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    for (size_t i = 0; i < IMAGES; i++) {
        struct rig r;

        convolution(&r, &all[i]);
        rig_step_last(&r, FERRY_STEP_ADD);
        rig_check_threads(&r);
        rig_end(&r);
    }
}

/* BF16 in pairs: an odd number of channels. */
static void pairs_of_odd_channels_agree_with_the_oracle(void)
{
    static const struct rig_shape odd[] = { { 1, 301, 40, { 8, 9 } },
                                        { 1, 301, 40, { 24, 24 } },
                                        { 1, 2051, 40, { 5, 4 } } };

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct rig r;

        convolution(&r, &odd[i]);
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
