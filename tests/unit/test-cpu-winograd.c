/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <stdlib.h>
#include <string.h>

/*
 * Convolutions that the CPU plugin may compute by Winograd's tiles, with each instruction set,
 * against the oracle. The size of the packed weights shows whether it does: 16 or 36 weights of a
 * kernel instead of 9.
 */

struct image {
    int64_t images, channels, outputs, lines, line, pad[2], pad_end[2];
};

static void convolution(struct rig *r, const struct image *m, int x_layout, int y_layout, int bias)
{
    ferry_op_window *w = &r->op.params.window;
    const int64_t x[4] = { m->images, m->channels, m->lines, m->line };
    const int64_t k[4] = { m->outputs, m->channels, 3, 3 };
    int64_t y[4] = { m->images, m->outputs, 0, 0 };

    rig_begin(r, FERRY_OP_CONVOLUTION);
    r->op.math = FERRY_MATH_WINOGRAD;
    w->axes = 2;
    w->group = 1;
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = 3;
        w->stride[a] = w->dilation[a] = 1;
        w->pad[a] = m->pad[a];
        w->pad_end[a] = m->pad_end[a];
        y[2 + a] = x[2 + a] + w->pad[a] + w->pad_end[a] - 2;
    }
    rig_in(r, FERRY_F32, x_layout, 4, x);
    rig_in(r, FERRY_F32, RIG_PLAIN, 4, k);
    if (bias)
        rig_in(r, FERRY_F32, RIG_PLAIN, 1, &m->outputs);
    rig_out(r, FERRY_F32, y_layout, 4, y);
    r->op.constants = 2u;
}

/* Packed weights per weight of a kernel, without the padding of panels. */
static int64_t points(const ferry_op_answer *answer, const struct image *m)
{
    return (int64_t)(answer->packed_bytes / sizeof(float)) / (m->channels * m->outputs);
}

static void images_of_any_size_agree_with_the_oracle(void)
{
    static const int64_t channels[] = { 16, 33, 48, 64, 65, 80, 130 };
    static const int64_t outputs[] = { 2, 7, 16, 31, 32, 33, 64, 100 };
    int tiles = 0, rounds = ferry_test_is_slow() ? 3 : 10;

    for (int i = 0; i < rounds; i++) {
        struct image m = { 1 + rig_random(3),
                           channels[rig_random(7)],
                           outputs[rig_random(8)],
                           2 + rig_random(16),
                           2 + rig_random(16),
                           { 0 },
                           { 0 } };
        bool is_sure = i % 3 == 0; /* of tiles with every set of instructions */
        int last = rig_random(2) ? RIG_LAST : RIG_LAST_SLICE;
        ferry_op_answer answer;
        struct rig r;

        for (int a = 0; a < 2; a++) {
            m.pad[a] = 1 + rig_random(3);
            m.pad_end[a] = 1 + rig_random(3);
        }
        if (is_sure) {
            m.channels = 64 + rig_random(20);
            m.outputs = 32 * (1 + rig_random(3));
            m.lines = m.line = 15;
        }
        convolution(&r, &m, last, rig_random(2) ? RIG_LAST : RIG_LAST_SLICE, (int)rig_random(2));
        for (int64_t steps = rig_random(4); steps > 0; steps--) {
            static const uint32_t functions[] = { FERRY_UNARY_RELU, FERRY_UNARY_CLIP,
                                                  FERRY_UNARY_SIGMOID };

            rig_step(&r, (uint32_t)rig_random(5), functions[rig_random(3)],
                     rig_random(2) ? 0 : 0.25, 0.75);
        }
        if (!is_sure && rig_random(4) == 0)
            r.op.constants = 0;
        else if (m.channels >= 64 && m.images * m.lines * m.line > 200 && m.outputs % 32 == 0)
            tiles++;
        rig_run(&r, &answer);
        if (answer.packed_bytes && m.channels >= 64 && m.images * m.lines * m.line > 200 &&
            m.outputs % 32 == 0)
            CU_ASSERT(points(&answer, &m) == 16 || points(&answer, &m) == 36);
    }
    CU_ASSERT(tiles > 0);
}

static void the_image_size_selects_the_tile_size(void)
{
    static const struct {
        struct image image;
        int64_t points;
    } all[] = {
        { { 1, 64, 64, 40, 40, { 1, 1 }, { 1, 1 } }, 36 },
        { { 1, 32, 64, 40, 40, { 1, 1 }, { 1, 1 } }, 36 },
        { { 1, 15, 64, 40, 40, { 1, 1 }, { 1, 1 } }, 9 }, /* sums would be short */
        { { 1, 64, 64, 14, 14, { 1, 1 }, { 1, 1 } }, 36 },
        { { 1, 128, 128, 7, 7, { 1, 1 }, { 1, 1 } }, 16 },
        { { 10, 64, 64, 14, 14, { 1, 1 }, { 1, 1 } }, 36 },
        { { 1, 128, 128, 4, 4, { 1, 1 }, { 1, 1 } }, 9 }, /* the weights would dominate */
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        ferry_op_answer answer;
        struct rig r;

        convolution(&r, &all[i].image, RIG_LAST, RIG_LAST, 1);
        rig_run(&r, &answer);
        CU_ASSERT_EQUAL(points(&answer, &all[i].image), all[i].points);
    }
}

/* A key identifies one form of packed weights: never both. */
static void winograd_is_used_only_if_the_math_mode_allows_it(void)
{
    const struct image m = { 1, 64, 64, 28, 28, { 1, 1 }, { 1, 1 } };
    ferry_op_answer may, may_not, plain;
    struct rig r;

    convolution(&r, &m, RIG_LAST, RIG_LAST, 1);
    rig_run(&r, &may);
    convolution(&r, &m, RIG_LAST, RIG_LAST, 1);
    r.op.math = 0;
    rig_run(&r, &may_not);
    convolution(&r, &m, RIG_PLAIN, RIG_LAST, 1);
    rig_run(&r, &plain);
    CU_ASSERT_EQUAL(points(&may, &m), 36);
    CU_ASSERT_EQUAL(points(&may_not, &m), 9);
    CU_ASSERT_EQUAL(points(&plain, &m), 9);
    CU_ASSERT_NOT_EQUAL(may.packed_key, may_not.packed_key);
    CU_ASSERT_EQUAL(plain.packed_key, may_not.packed_key);
}

/* Tasks transform their patches, or with several threads and few tiles share them. */
static void results_do_not_depend_on_the_number_of_threads(void)
{
    static const struct image all[] = { { 2, 80, 100, 37, 30, { 1, 1 }, { 1, 1 } },
                                        { 1, 96, 96, 16, 16, { 1, 1 }, { 1, 1 } },
                                        { 1, 96, 192, 16, 16, { 1, 1 }, { 1, 1 } } };

    for (size_t i = 0; i < 2 * sizeof(all) / sizeof(all[0]); i++) {
        struct rig r;

        convolution(&r, &all[i / 2], RIG_LAST, RIG_LAST, 1);
        r.op.math |= i % 2 ? FERRY_MATH_COMPACT : 0;
        rig_check_threads(&r);
        rig_end(&r);
    }
}

/* An image of few tiles is divided into smaller tasks, each of which computes the same numbers. */
static void many_threads_share_few_tiles(void)
{
    static const struct image all[] = { { 1, 256, 256, 14, 14, { 1, 1 }, { 1, 1 } },
                                        { 1, 128, 32, 28, 28, { 1, 1 }, { 1, 1 } } };
    static const uint64_t least[] = { 48, 57 }; /* 16 and 49 of them transform patches */

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        double *one = NULL, *many = NULL;
        struct rig r;

        convolution(&r, &all[i], RIG_LAST, RIG_LAST, 1);
        CU_ASSERT_EQUAL(rig_tasks(&r, "1", &one), 0);
        CU_ASSERT(rig_tasks(&r, "64", &many) >= least[i]);
        if (one && many)
            CU_ASSERT_EQUAL(memcmp(one, many, (size_t)rig_count(&r.op.out[0]) * sizeof *one), 0);
        free(one);
        free(many);
        rig_end(&r);
    }
}

/* Weights for any tiles are those of a product; each run transforms them, in one of two ways. */
static void compact_weights_are_packed_as_for_a_product(void)
{
    static const struct image all[] = {
        { 1, 64, 64, 24, 24, { 1, 1 }, { 1, 1 } },  { 1, 64, 64, 14, 14, { 1, 1 }, { 1, 1 } },
        { 1, 72, 144, 14, 17, { 1, 1 }, { 1, 1 } }, { 2, 64, 33, 16, 15, { 1, 0 }, { 2, 1 } },
        { 1, 64, 196, 15, 15, { 1, 1 }, { 1, 1 } },
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        ferry_op_answer tiles, compact, product;
        struct rig r;

        convolution(&r, &all[i], RIG_LAST, RIG_LAST, 1);
        rig_run(&r, &tiles);
        convolution(&r, &all[i], RIG_LAST, RIG_LAST, 1);
        r.op.math = 0;
        rig_run(&r, &product);
        convolution(&r, &all[i], RIG_LAST, RIG_LAST_SLICE, 1);
        r.op.math |= FERRY_MATH_COMPACT;
        rig_run(&r, &compact);
        CU_ASSERT(tiles.packed_bytes > product.packed_bytes);
        CU_ASSERT_EQUAL(compact.packed_bytes, product.packed_bytes);
        CU_ASSERT_EQUAL(compact.packed_key, product.packed_key);
        CU_ASSERT_EQUAL(compact.math, FERRY_MATH_WINOGRAD | FERRY_MATH_COMPACT);
        convolution(&r, &all[i], RIG_LAST, RIG_LAST, 1);
        r.op.math |= FERRY_MATH_COMPACT;
        r.op.constants = 0;
        rig_run(&r, &compact);
        CU_ASSERT_EQUAL(compact.packed_bytes, 0);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(images_of_any_size_agree_with_the_oracle),
    FERRY_TEST(the_image_size_selects_the_tile_size),
    FERRY_TEST(winograd_is_used_only_if_the_math_mode_allows_it),
    FERRY_TEST(compact_weights_are_packed_as_for_a_product),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
    FERRY_TEST(many_threads_share_few_tiles),
};

int main(int argc, char **argv)
{
    return rig_main(argc, argv, "cpu-winograd", cases, FERRY_TEST_COUNT(cases));
}
