/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Convolutions with kernels of one pixel that the CPU plugin may compute by Strassen's method, with
 * each instruction set, against the oracle. Their packed weights are 7/4 of the weights.
 */

struct image {
    int64_t images, channels, outputs, lines, line;
};

static void convolution(struct rig *r, const struct image *m, int x_layout, int y_layout,
                        enum rig_bias bias)
{
    const struct rig_shape shape = { m->images, m->channels, m->outputs, { m->lines, m->line, 0 } };

    rig_pointwise(r, &shape, x_layout, y_layout, bias);
    r->op.math = FERRY_MATH_STRASSEN;
}

/* Makes the channels a part of more channels, as in a concatenation. */
static void be_part(ferry_operand *o, int64_t more)
{
    o->stride[3] += more;
    o->stride[2] = o->shape[3] * o->stride[3];
    o->stride[0] = o->shape[2] * o->stride[2];
}

/* Whether the weights are packed as seven quarters instead of four, and with scales. */
static bool is_used(const ferry_op_answer *answer, const struct image *m)
{
    const int64_t quarters = m->channels * m->outputs / 4, scales = m->channels + m->outputs;
    const bool is_used = (answer->math & FERRY_MATH_STRASSEN) != 0;

    if (answer->packed_bytes && is_used)
        CU_ASSERT_EQUAL(answer->packed_bytes, (uint64_t)(7 * quarters + scales) * sizeof(float));
    return is_used;
}

static void images_of_any_size_agree_with_the_oracle(void)
{
    static const uint32_t functions[] = { FERRY_UNARY_RELU, FERRY_UNARY_CLIP, FERRY_UNARY_SIGMOID };
    int used = 0, rounds = ferry_test_is_slow() ? 3 : 12;

    for (int i = 0; i < rounds; i++) {
        struct image m = { 1 + rig_random(2), 320 + 32 * rig_random(5), 128 * (1 + rig_random(2)),
                           9 + rig_random(6), 11 + rig_random(6) };
        bool is_sure = i % 3 == 0;
        ferry_op_answer answer;
        struct rig r;

        if (is_sure) {
            m.channels = i % 2 ? 512 : 1024; /* of 1024, quarters are copied */
            m.outputs = 256;
            m.images = 4;
        }
        convolution(&r, &m, is_sure ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), RIG_LAST,
                    (enum rig_bias)rig_random(2));
        if (is_sure && rig_random(2))
            be_part(&r.op.in[0], 48);
        if (is_sure && rig_random(2))
            be_part(&r.op.out[0], 3);
        for (int64_t steps = is_sure ? 0 : rig_random(4); steps > 0; steps--)
            rig_step(&r, (uint32_t)rig_random(5), functions[rig_random(3)],
                     rig_random(2) ? 0 : 0.25, 0.75);
        rig_run(&r, &answer);
        used += is_used(&answer, &m);
    }
    CU_ASSERT(used >= rounds / 3);
}

/* The steps that the micro-kernel performs, and functions after them. */
static void all_kinds_of_steps_are_performed(void)
{
    const struct image m = { 4, 384, 256, 11, 11 };

    for (int i = 0; i < 6; i++) {
        ferry_op_answer answer;
        struct rig r;

        convolution(&r, &m, RIG_LAST, RIG_LAST, i ? RIG_PLAIN_BIAS : RIG_NO_BIAS);
        if (i >= 2)
            rig_step_last(&r, FERRY_STEP_ADD);
        if (i == 1 || i == 3)
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
        if (i == 4)
            rig_step_last(&r, FERRY_STEP_PRELU);
        if (i >= 4)
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_SIGMOID, 0, 0);
        r.in_place = i == 5 ? 4 : 0; /* the added operand is y */
        rig_run(&r, &answer);
        CU_ASSERT(is_used(&answer, &m));
    }
}

static void the_shape_decides(void)
{
    static const struct {
        struct image image;
        bool is_used;
    } all[] = {
        { { 1, 512, 512, 14, 14 }, true },
        { { 4, 1024, 1024, 7, 7 }, true },  /* the last pair lacks a row */
        { { 1, 1024, 1024, 7, 7 }, false }, /* the weights would be read for too few rows */
        { { 1, 128, 512, 14, 14 }, false }, /* the sums would be short */
        { { 1, 256, 64, 28, 28 }, false },  /* the parts would be used too rarely */
        { { 2, 512, 320, 14, 14 }, true },
        { { 2, 512, 336, 14, 14 }, false }, /* panels without a neighbour */
        { { 2, 520, 512, 14, 14 }, false }, /* half of the channels is not whole vectors */
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        ferry_op_answer answer = { .struct_size = sizeof(answer) };
        struct rig r;

        convolution(&r, &all[i].image, RIG_LAST, RIG_LAST, RIG_PLAIN_BIAS);
        CU_ASSERT_EQUAL(rig_table->query(rig_device, &r.op, &answer), 0);
        if (i < 6 || strcmp(rig_set(), "avx512") == 0)
            CU_ASSERT_EQUAL((answer.math & FERRY_MATH_STRASSEN) != 0, all[i].is_used);
        rig_end(&r);
    }
}

static void it_is_used_only_where_it_is_allowed_and_fits(void)
{
    const struct image m = { 1, 512, 512, 14, 14 };
    ferry_op_answer first = { 0 };

    for (int i = 0; i < 12; i++) {
        ferry_op_answer answer = { .struct_size = sizeof(answer) };
        struct rig r;

        convolution(&r, &m, i == 1 ? RIG_PLAIN : RIG_LAST,
                    i == 2   ? RIG_PLAIN
                    : i == 3 ? RIG_LAST_SLICE
                             : RIG_LAST,
                    i == 4 ? RIG_BIAS_APART : RIG_PLAIN_BIAS);
        if (i == 5)
            r.op.math = 0;
        if (i == 6)
            r.op.math |= FERRY_MATH_COMPACT;
        if (i == 7)
            r.op.constants = 0;
        if (i == 8)
            rig_step(&r, FERRY_STEP_SCALE, 0, 0, 0);
        if (i == 9) /* before the addition, which follows the bias elsewhere */
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
        if (i >= 9)
            rig_step_last(&r, FERRY_STEP_ADD);
        if (i == 10) /* between lines of the added operand is a gap */
            r.op.in[3].stride[2]++;
        if (i == 11)
            r.op.in[3].stride[1] = 2, r.op.in[3].stride[3] *= 2, r.op.in[3].stride[2] *= 2;
        CU_ASSERT_EQUAL(rig_table->query(rig_device, &r.op, &answer), 0);
        CU_ASSERT_EQUAL((answer.math & FERRY_MATH_STRASSEN) != 0, i == 0);
        if (i == 0)
            first = answer;
        else
            CU_ASSERT_NOT_EQUAL(first.packed_key, answer.packed_key);
        rig_end(&r);
    }
}

/* Each group is a product of its own. */
static void groups_do_not_use_it(void)
{
    const struct image m = { 1, 1024, 512, 14, 14 };
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    struct rig r;

    convolution(&r, &m, RIG_LAST, RIG_LAST, RIG_PLAIN_BIAS);
    r.op.params.window.group = 2;
    r.op.in[1].shape[1] = 512;
    CU_ASSERT_EQUAL(rig_table->query(rig_device, &r.op, &answer), 0);
    CU_ASSERT_EQUAL(answer.math & FERRY_MATH_STRASSEN, 0);
    r.op.in[1].shape[1] = 1024;
    rig_end(&r);
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    static const struct image all[] = { { 4, 512, 256, 11, 11 }, { 5, 1024, 1024, 7, 7 } };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct rig r;

        convolution(&r, &all[i], RIG_LAST, RIG_LAST, RIG_PLAIN_BIAS);
        rig_check_threads(&r);
        rig_end(&r);
    }
}

/* Pixels of different images are not paired. */
static void an_image_has_the_same_result_in_any_batch(void)
{
    const struct image eight = { 8, 512, 256, 11, 11 }, four = { 4, 512, 256, 11, 11 };
    const size_t x = 512 * 121, y = 256 * 121;
    double *of_eight[FERRY_OP_OUTPUTS] = { NULL }, *of_four[FERRY_OP_OUTPUTS] = { NULL };
    struct rig r, s;

    convolution(&r, &eight, RIG_LAST, RIG_LAST, RIG_NO_BIAS);
    convolution(&s, &four, RIG_LAST, RIG_LAST, RIG_NO_BIAS);
    memcpy(s.in[0], r.in[0] + 5 * x, x * sizeof(double));
    memcpy(s.in[1], r.in[1], (size_t)rig_count(&r.op.in[1]) * sizeof(double));
    for (size_t i = 0; i < 5 * x; i++)
        r.in[0][i] = 1e6; /* a neighbour's rounding would show */
    CU_ASSERT_EQUAL(rig_run_plugin(&r, of_eight), 0);
    CU_ASSERT_EQUAL(rig_run_plugin(&s, of_four), 0);
    if (of_eight[0] && of_four[0])
        CU_ASSERT_EQUAL(memcmp(of_eight[0] + 5 * y, of_four[0], y * sizeof(double)), 0);
    free(of_eight[0]);
    free(of_four[0]);
    rig_end(&r);
    rig_end(&s);
}

/* Channels of x and y of any magnitude have their own digits. */
static void channels_may_have_any_magnitude(void)
{
    const struct image m = { 4, 512, 256, 9, 11 };
    double *by_strassen[FERRY_OP_OUTPUTS] = { NULL }, *by_product[FERRY_OP_OUTPUTS] = { NULL };
    double of_x[512], of_y[256];
    struct rig r;

    convolution(&r, &m, RIG_LAST, RIG_LAST, RIG_PLAIN_BIAS);
    for (int64_t c = 0; c < 512; c++)
        of_x[c] = exp2(5 * (double)(c % 21 - 10));
    for (int64_t o = 0; o < 256; o++) {
        of_y[o] = exp2((double)(5 * o % 31 - 15));
        r.in[2][o] *= of_y[o];
    }
    for (int64_t i = 0; i < 4 * 512 * 99; i++)
        r.in[0][i] *= of_x[i / 99 % 512];
    for (int64_t i = 0; i < 256 * 512; i++)
        r.in[1][i] *= of_y[i / 512] / of_x[i % 512];
    CU_ASSERT_EQUAL(rig_run_plugin(&r, by_strassen), 0);
    r.op.math = 0;
    CU_ASSERT_EQUAL(rig_run_plugin(&r, by_product), 0);
    for (int64_t i = 0; by_strassen[0] && by_product[0] && i < 4 * 256; i++) {
        double most = 0, apart = 0;

        for (int64_t k = i * 99; k < (i + 1) * 99; k++) {
            most = fmax(most, fabs(by_product[0][k]));
            apart = fmax(apart, fabs(by_product[0][k] - by_strassen[0][k]));
        }
        CU_ASSERT(apart <= 2e-5 * most);
    }
    free(by_strassen[0]);
    free(by_product[0]);
    rig_end(&r);
}

static void many_threads_share_few_tiles(void)
{
    const struct image m = { 1, 512, 512, 14, 14 };
    double *one = NULL, *many = NULL;
    struct rig r;

    convolution(&r, &m, RIG_LAST, RIG_LAST, RIG_PLAIN_BIAS);
    rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_SIGMOID, 0, 0);
    CU_ASSERT(rig_tasks(&r, "1", &one) <= 4);
    CU_ASSERT(rig_tasks(&r, "64", &many) >= 64);
    if (one && many)
        CU_ASSERT_EQUAL(memcmp(one, many, (size_t)rig_count(&r.op.out[0]) * sizeof *one), 0);
    free(one);
    free(many);
    rig_end(&r);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(images_of_any_size_agree_with_the_oracle),
    FERRY_TEST(all_kinds_of_steps_are_performed),
    FERRY_TEST(the_shape_decides),
    FERRY_TEST(it_is_used_only_where_it_is_allowed_and_fits),
    FERRY_TEST(groups_do_not_use_it),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
    FERRY_TEST(an_image_has_the_same_result_in_any_batch),
    FERRY_TEST(channels_may_have_any_magnitude),
    FERRY_TEST(many_threads_share_few_tiles),
};

int main(int argc, char **argv)
{
    return rig_main(argc, argv, "cpu-strassen", cases, FERRY_TEST_COUNT(cases));
}
