/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <stdlib.h>
#include <string.h>

/*
 * Convolutions of row-major images and both their gradients, which the CPU plugin may compute by
 * tiles of 2 × 2, with each instruction set, against the oracle.
 */

struct image {
    int64_t images, channels, outputs, lines, line, pad[2], pad_end[2];
};

static void set_window(ferry_op_window *w, const struct image *m)
{
    w->axes = 2;
    w->group = 1;
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = 3;
        w->stride[a] = w->dilation[a] = 1;
        w->pad[a] = m->pad[a];
        w->pad_end[a] = m->pad_end[a];
    }
}

static void begin(struct rig *r, const struct image *m, uint32_t pass, int x_layout, int bias)
{
    const int64_t x[4] = { m->images, m->channels, m->lines, m->line };
    const int64_t w[4] = { m->outputs, m->channels, 3, 3 };
    const int64_t y[4] = { m->images, m->outputs, m->lines + m->pad[0] + m->pad_end[0] - 2,
                           m->line + m->pad[1] + m->pad_end[1] - 2 };

    rig_begin(r, FERRY_OP_CONVOLUTION);
    r->op.math = FERRY_MATH_WINOGRAD_2;
    r->op.pass = pass;
    set_window(&r->op.params.window, m);
    if (pass == FERRY_PASS_FORWARD) {
        rig_in(r, FERRY_F32, x_layout, 4, x);
        rig_in(r, FERRY_F32, RIG_PLAIN, 4, w);
        if (bias)
            rig_in(r, FERRY_F32, RIG_PLAIN, 1, &m->outputs);
        rig_out(r, FERRY_F32, RIG_PLAIN, 4, y);
        r->op.constants = (uint32_t)rig_random(2) << 1;
    } else if (pass == FERRY_PASS_BACKWARD_DATA) {
        rig_in(r, FERRY_F32, x_layout, 4, y);
        rig_in(r, FERRY_F32, RIG_PLAIN, 4, w);
        rig_out(r, FERRY_F32, RIG_PLAIN, 4, x);
    } else {
        rig_in(r, FERRY_F32, x_layout, 4, y);
        rig_in(r, FERRY_F32, x_layout, 4, x);
        rig_out(r, FERRY_F32, rig_random(2) ? RIG_PLAIN : RIG_APART, 4, w);
    }
}

static bool is_by_tiles(const struct rig *r)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };

    CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r->op, &answer), 0);
    return (answer.math & FERRY_MATH_WINOGRAD_2) != 0;
}

static bool is_short(void)
{
    return ferry_test_is_slow() || ferry_test_is_shortest();
}

/* An image of random size; its numbers of channels are large enough for tiles. */
static struct image draw_image(int i)
{
    static const int64_t channels[] = { 64, 79, 96 };
    struct image m = { 2 + rig_random(2), channels[rig_random(3)], channels[rig_random(3)],
                       14 + rig_random(6), 14 + rig_random(6), { 0 }, { 0 } };

    for (int a = 0; a < 2; a++) {
        m.pad[a] = rig_random(3);
        m.pad_end[a] = rig_random(3);
    }
    if (i == 0)
        m = (struct image){ is_short() ? 2 : 5, 112, 96, 15, 13 + rig_random(4),
                            { 1, 1 }, { 1, 1 } };
    return m;
}

/* Tiles read x if the pixels of a line are adjacent; most images are large enough for them. */
static void random_images_agree(uint32_t pass)
{
    static const int layouts[] = { RIG_PLAIN, RIG_SLICE, RIG_LAST, RIG_APART };
    int rounds = is_short() ? 2 : 4, adjacent = 0, by_tiles = 0;

    for (int i = 0; i < rounds; i++) {
        const struct image m = draw_image(i);
        bool is_by_those;
        struct rig r;

        begin(&r, &m, pass, layouts[i], (int)rig_random(2));
        if (pass == FERRY_PASS_FORWARD && rig_random(2))
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0.25, 0);
        is_by_those = is_by_tiles(&r);
        adjacent += layouts[i] == RIG_PLAIN || layouts[i] == RIG_SLICE;
        by_tiles += is_by_those;
        if (i == 0)
            CU_ASSERT(is_by_those);
        rig_run(&r, NULL);
    }
    CU_ASSERT(2 * by_tiles >= adjacent);
}

static void results_agree_with_the_oracle(void)
{
    random_images_agree(FERRY_PASS_FORWARD);
}

static void gradients_of_data_agree_with_the_oracle(void)
{
    random_images_agree(FERRY_PASS_BACKWARD_DATA);
}

static void gradients_of_weights_agree_with_the_oracle(void)
{
    random_images_agree(FERRY_PASS_BACKWARD_WEIGHTS);
}

/* Images of which one, or both, have pixels whose channels are contiguous: tiles cannot be read. */
static void gradients_of_channels_last_images_agree_with_the_oracle(void)
{
    const struct image m = { 2, 96, 98, 14, 14, { 1, 1 }, { 1, 1 } };
    const int64_t x[4] = { 2, 96, 14, 14 }, w[4] = { 98, 96, 3, 3 }, y[4] = { 2, 98, 14, 14 };

    for (int last = 0; last < 4; last += ferry_test_is_shortest() ? 3 : 1) {
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.math = FERRY_MATH_WINOGRAD_2;
        r.op.pass = FERRY_PASS_BACKWARD_WEIGHTS;
        set_window(&r.op.params.window, &m);
        rig_in(&r, FERRY_F32, last & 1 ? RIG_LAST : RIG_PLAIN, 4, y);
        rig_in(&r, FERRY_F32, last & 2 ? RIG_LAST : RIG_PLAIN, 4, x);
        rig_out(&r, FERRY_F32, RIG_PLAIN, 4, w);
        CU_ASSERT_EQUAL(is_by_tiles(&r), last == 0);
        rig_run(&r, NULL);
    }
}

static void tiles_are_used_only_if_the_math_mode_allows_them(void)
{
    const struct image m = { 4, 64, 64, 28, 28, { 1, 1 }, { 1, 1 } };

    for (uint32_t pass = FERRY_PASS_FORWARD; pass <= FERRY_PASS_BACKWARD_WEIGHTS; pass++)
        for (uint32_t may = 0; may < 2; may++) {
            struct rig r;

            begin(&r, &m, pass, RIG_PLAIN, 0);
            r.op.math = may ? FERRY_MATH_WINOGRAD_2 : 0;
            CU_ASSERT_EQUAL(is_by_tiles(&r), may);
            rig_end(&r);
        }
}

/* The points of few tiles would take longer than the products that they save. */
static void small_images_use_direct_products(void)
{
    const struct image m = { 1, 32, 32, 6, 6, { 1, 1 }, { 1, 1 } };

    for (uint32_t pass = FERRY_PASS_FORWARD; pass <= FERRY_PASS_BACKWARD_WEIGHTS; pass++) {
        struct rig r;

        begin(&r, &m, pass, RIG_PLAIN, 0);
        CU_ASSERT_FALSE(is_by_tiles(&r));
        rig_end(&r);
    }
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    const struct image m = { 3, 80, 100, 37, 30, { 1, 1 }, { 1, 1 } };

    for (uint32_t pass = FERRY_PASS_FORWARD; pass <= FERRY_PASS_BACKWARD_WEIGHTS; pass++) {
        struct rig r;

        begin(&r, &m, pass, RIG_PLAIN, 0);
        CU_ASSERT(is_by_tiles(&r));
        rig_check_threads(&r);
        rig_end(&r);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(results_agree_with_the_oracle),
    FERRY_TEST(gradients_of_data_agree_with_the_oracle),
    FERRY_TEST(gradients_of_weights_agree_with_the_oracle),
    FERRY_TEST(gradients_of_channels_last_images_agree_with_the_oracle),
    FERRY_TEST(tiles_are_used_only_if_the_math_mode_allows_them),
    FERRY_TEST(small_images_use_direct_products),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
};

int main(int argc, char **argv)
{
    return rig_main(argc, argv, "cpu-winograd-planes", cases, FERRY_TEST_COUNT(cases));
}
