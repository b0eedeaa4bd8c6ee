/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer-cases.h"

#include <stdlib.h>
#include <string.h>

/*
 * Convolutions of bytes that the CPU plugin computes by the tiles of integer_winograd.h, against
 * the oracle: all results have to be equal. The size of the packed weights shows that it does: two
 * bytes at each of 36 points for a kernel, instead of nine bytes.
 */

static const char *const sets[] = { "vnni", NULL };
/* The plugin whose AVX-VNNI products processors with AVX-512 VNNI execute. */
static const char *const evex_sets[] = { "avxvnni", NULL };

struct image {
    int64_t images, channels, outputs, size[2], pad[2], pad_end[2];
};

static void begin(struct rig *r, const struct image *m, uint32_t x, uint32_t y, int x_layout,
                  int y_layout)
{
    ferry_op_window *w = &r->op.params.window;
    int64_t out[4] = { m->images, m->outputs, 0, 0 };

    rig_begin(r, FERRY_OP_CONVOLUTION);
    r->tolerance = 1e-12;
    w->axes = 2;
    w->group = 1;
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = 3;
        w->stride[a] = w->dilation[a] = 1;
        w->pad[a] = m->pad[a];
        w->pad_end[a] = m->pad_end[a];
        out[2 + a] = m->size[a] + w->pad[a] + w->pad_end[a] - 2;
    }
    integer_in(r, x, x_layout, 4, (int64_t[]){ m->images, m->channels, m->size[0], m->size[1] });
    integer_in(r, FERRY_I8, (int)rig_random(RIG_LAYOUTS), 4,
               (int64_t[]){ m->outputs, m->channels, 3, 3 });
    if (rig_random(2))
        integer_in(r, FERRY_F32, RIG_PLAIN, 1, &m->outputs);
    rig_out(r, y, y_layout, 4, out);
    r->op.constants = 2;
}

static ferry_op_answer answer_of(const struct rig *r)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };

    CU_ASSERT_EQUAL(rig_table->query(rig_device, &r->op, &answer), 0);
    return answer;
}

static bool has_tiles(const struct rig *r)
{
    const ferry_operand *w = &r->op.in[1];

    return answer_of(r).packed_bytes >= (uint64_t)(72 * w->shape[0] * w->shape[1]);
}

static uint32_t any_bytes(void)
{
    return rig_random(2) ? FERRY_U8 : FERRY_I8;
}

/* Sizes and padding are random: most images have parts of tiles at their ends. */
static void images_of_any_size_are_exact(void)
{
    static const int64_t outputs[] = { 30, 31, 32, 33, 64, 90 };
    int n = ferry_test_is_slow() ? 4 : getenv("FERRY_TEST_QUICK") ? 12 : 40, tiles = 0;

    for (int i = 0; i < n; i++) {
        struct image m = { .images = 1 + rig_random(3),
                           .channels = 32 + rig_random(40),
                           .outputs = outputs[rig_random(FERRY_TEST_COUNT(outputs))] };
        uint32_t y = rig_random(3) ? any_bytes() : FERRY_F32;
        struct rig r;

        for (int a = 0; a < 2; a++) {
            m.size[a] = 10 + rig_random(14);
            m.pad[a] = rig_random(4);
            m.pad_end[a] = rig_random(4);
        }
        begin(&r, &m, any_bytes(), y, rig_random(2) ? RIG_LAST : RIG_LAST_SLICE,
              (int)rig_random(RIG_LAYOUTS));
        integer_steps(&r);
        tiles += has_tiles(&r);
        rig_run(&r, NULL);
    }
    CU_ASSERT(tiles >= n / 2);
}

/* An image whose sums of all channels may be larger than those of one part are. */
static void begin_large(struct rig *r, uint32_t x, int64_t channels)
{
    const struct image m = { 1, channels, 32, { 12, 11 }, { 1, 1 }, { 1, 1 } };

    begin(r, &m, x, FERRY_F32, RIG_LAST, RIG_LAST);
    if (r->op.n_in > 2) /* sums beyond 2^24 are rounded before it is added */
        memset(r->in[2], 0, (size_t)m.outputs * sizeof(double));
    r->tolerance = 0x1p-24;
    CU_ASSERT(has_tiles(r));
}

/* Values from the ends of the ranges only: the sums of most outputs are as large as they can be. */
static void the_largest_sums_are_exact(void)
{
    static const double x[][2] = { { 255, 255 }, { 0, 255 }, { -128, 127 }, { -128, -128 } };
    static const double w[][2] = { { 127, 127 }, { -128, -128 }, { -128, 127 } };
    const size_t n = FERRY_TEST_COUNT(x) * FERRY_TEST_COUNT(w);

    for (size_t i = 0; i < n; i++) {
        const double *of_x = x[i % FERRY_TEST_COUNT(x)], *of_w = w[i / FERRY_TEST_COUNT(x)];
        struct rig r;

        begin_large(&r, of_x[1] == 255 ? FERRY_U8 : FERRY_I8, 240 + rig_random(3));
        for (int64_t k = 0; k < rig_count(&r.op.in[0]); k++)
            r.in[0][k] = of_x[rig_random(2)];
        for (int64_t k = 0; k < rig_count(&r.op.in[1]); k++)
            r.in[1][k] = of_w[rig_random(2)];
        rig_run(&r, NULL);
    }
}

/* The signs of x and of the weights are those of their channel: all products are positive. */
static void the_largest_sums_of_any_signs_are_exact(void)
{
    int64_t pixels;
    struct rig r;

    begin_large(&r, FERRY_I8, 240);
    pixels = r.op.in[0].shape[2] * r.op.in[0].shape[3];
    for (int64_t k = 0; k < rig_count(&r.op.in[0]); k++)
        r.in[0][k] = k / pixels % 2 ? -128 : 127;
    for (int64_t k = 0; k < rig_count(&r.op.in[1]); k++)
        r.in[1][k] = k / 9 % 2 ? -128 : 127;
    rig_run(&r, NULL);
}

/* The weights of 1024 channels are too many for each task: all threads share the patches. */
static void blocks_of_shared_patches_are_exact(void)
{
    const struct image m = { 1, 1024, 5, { 31, 29 }, { 1, 1 }, { 1, 1 } };
    struct rig r;

    begin(&r, &m, FERRY_U8, FERRY_F32, RIG_LAST, RIG_LAST);
    r.tolerance = 0x1p-24;
    CU_ASSERT(has_tiles(&r));
    rig_run(&r, NULL);
}

static void any_number_of_threads_gives_the_same_bits(void)
{
    static const struct image images[] = { { 2, 64, 40, { 14, 14 }, { 1, 1 }, { 1, 1 } },
                                           { 1, 256, 160, { 15, 13 }, { 1, 1 }, { 1, 1 } } };

    for (size_t i = 0; i < FERRY_TEST_COUNT(images); i++) {
        struct rig r;

        begin(&r, &images[i], FERRY_U8, FERRY_F32, RIG_LAST, RIG_LAST);
        CU_ASSERT(has_tiles(&r));
        rig_check_threads(&r);
        rig_end(&r);
    }
}

/* Tiles need weights that can be packed, memory for them, and as many channels as a vector. */
static void products_remain_without_tiles(void)
{
    struct image m = { 1, 64, 64, { 28, 28 }, { 1, 1 }, { 1, 1 } };
    uint64_t key;
    struct rig r;

    begin(&r, &m, FERRY_U8, FERRY_U8, RIG_LAST, RIG_LAST);
    CU_ASSERT(has_tiles(&r));
    key = answer_of(&r).packed_key;
    r.op.constants = 0;
    CU_ASSERT_EQUAL(answer_of(&r).packed_bytes, 0);
    r.op.constants = 2;
    r.op.math = FERRY_MATH_COMPACT;
    CU_ASSERT(!has_tiles(&r));
    CU_ASSERT_NOT_EQUAL(answer_of(&r).packed_key, key);
    rig_end(&r);
    begin(&r, &m, FERRY_U8, FERRY_U8, RIG_PLAIN, RIG_LAST);
    CU_ASSERT(!has_tiles(&r));
    rig_end(&r);
    m.channels = 8;
    begin(&r, &m, FERRY_U8, FERRY_U8, RIG_LAST, RIG_LAST);
    CU_ASSERT(!has_tiles(&r));
    rig_end(&r);
    m.channels = 512;
    m.size[0] = m.size[1] = 3; /* few pixels for so many weights */
    begin(&r, &m, FERRY_U8, FERRY_U8, RIG_LAST, RIG_LAST);
    CU_ASSERT(!has_tiles(&r));
    rig_end(&r);
}

/* The tiles of images of any size are packed alike. */
static void the_key_depends_on_the_weights_only(void)
{
    struct image m = { 1, 64, 64, { 12, 12 }, { 1, 1 }, { 1, 1 } };
    uint64_t key[4];

    for (int i = 0; i < 4; i++) {
        struct rig r;

        m.images = 1 + i;
        m.size[1] = i == 1 ? 4 : 12; /* product lines are gathered, if they are short */
        m.size[0] = i == 2 ? 40 : 30;
        begin(&r, &m, FERRY_U8, FERRY_U8, RIG_LAST, RIG_LAST);
        r.op.in[1].stride[0] = 64 * 9;
        r.op.in[1].stride[1] = 9;
        r.op.in[1].stride[2] = 3;
        r.op.in[1].stride[3] = 1;
        CU_ASSERT(has_tiles(&r));
        key[i] = answer_of(&r).packed_key;
        CU_ASSERT_EQUAL(key[i], key[0]);
        rig_end(&r);
    }
}

/* Strides and dilations make no tiles of 4 × 4 pixels. */
static void other_windows_remain_products(void)
{
    const struct image m = { 1, 64, 64, { 29, 29 }, { 1, 1 }, { 1, 1 } };

    for (int i = 0; i < 2; i++)
        for (int axis = 0; axis < 2; axis++) {
            struct rig r;

            begin(&r, &m, FERRY_U8, FERRY_U8, RIG_LAST, RIG_LAST);
            (i ? r.op.params.window.stride : r.op.params.window.dilation)[axis] = 2;
            r.op.out[0].shape[2 + axis] = i ? 15 : 27;
            CU_ASSERT(!has_tiles(&r));
            rig_end(&r);
        }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(images_of_any_size_are_exact),
    FERRY_TEST(the_largest_sums_are_exact),
    FERRY_TEST(the_largest_sums_of_any_signs_are_exact),
    FERRY_TEST(blocks_of_shared_patches_are_exact),
    FERRY_TEST(any_number_of_threads_gives_the_same_bits),
    FERRY_TEST(products_remain_without_tiles),
    FERRY_TEST(the_key_depends_on_the_weights_only),
    FERRY_TEST(other_windows_remain_products),
};

int main(int argc, char **argv)
{
    int n = FERRY_TEST_COUNT(cases);
    int result = rig_main_with(argc, argv, "test-cpu-integer-tiles", cases, (size_t)n, sets);

    rig_plugin = "tests/plugins/evex/ferry_cpu.so";
    return ferry_test_worse(result, rig_main_with(argc, argv, "test-cpu-integer-tiles, EVEX", cases,
                                                  (size_t)n, evex_sets));
}
