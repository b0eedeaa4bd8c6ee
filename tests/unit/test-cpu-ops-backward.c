/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU plugin's backward passes against the oracle, with each instruction set: random ones, also
 * in doubles and in place where allowed, and shapes without elements.
 */
#include "op-backward.h"
#include "op-rig.h"

#include <stdlib.h>
#include <string.h>

static double *values(struct om_numbers *n, const ferry_operand *o, double about)
{
    double *v = malloc(sizeof(*v) * (size_t)(rig_count(o) + 1));

    for (int64_t i = 0; i < rig_count(o); i++)
        v[i] = about + om_value(n);
    return v;
}

/* A mask's indices as the rig's values. */
static double *mask_values(struct om_numbers *n, const ferry_op_desc *op)
{
    ferry_op_desc plain = *op;
    double *v = malloc(sizeof(*v) * (size_t)(rig_count(&op->in[1]) + 1));

    plain.in[1] = ferry_operand_make(FERRY_F64, op->in[1].shape, (int)op->in[1].rank, NULL);
    ob_fill_mask(n, &plain, v);
    return v;
}

static void make(struct om_numbers *n, const struct ob_pass *pass, bool doubles, struct rig *r)
{
    enum ob_role roles[FERRY_OP_INPUTS];
    ferry_op_desc forward;

    memset(r, 0, sizeof(*r));
    ob_make(n, pass, &forward, &r->op, roles);
    for (uint32_t i = 0; i < r->op.n_in; i++)
        if (doubles && r->op.in[i].dtype == FERRY_F32 && !(pass->kind == FERRY_OP_POOL && i == 1))
            r->op.in[i].dtype = FERRY_F64;
    if (doubles)
        r->op.out[0].dtype = FERRY_F64;
    for (uint32_t i = 0; i < r->op.n_in; i++)
        r->in[i] = pass->kind == FERRY_OP_POOL && i == 1
                       ? mask_values(n, &r->op)
                       : values(n, &r->op.in[i], pass->kind == FERRY_OP_LRN && i == 3 ? 2 : 0);
    r->out[0] = values(n, &r->op.out[0], 0);
}

static void run_many(const struct ob_pass *pass, bool doubles, int count)
{
    for (int seed = 1; seed <= count; seed++) {
        struct om_numbers n = { (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15) + pass->kind };
        struct rig r;

        make(&n, pass, doubles, &r);
        rig_run(&r, NULL);
    }
}

static void random_passes_agree_with_the_oracle(void)
{
    for (int k = 0; k < ob_pass_count; k++)
        run_many(&ob_passes[k], false, 20);
}

static void random_passes_in_doubles_agree_with_the_oracle(void)
{
    for (int k = 0; k < ob_pass_count; k++)
        run_many(&ob_passes[k], true, 8);
}

/* Passes whose dx may be dy: both must have the same layout. */
static void gradients_may_overwrite_their_operands(void)
{
    for (int k = 0; k < ob_pass_count; k++) {
        uint32_t kind = ob_passes[k].kind;

        if (ob_passes[k].pass != FERRY_PASS_BACKWARD_DATA ||
            (kind != FERRY_OP_UNARY && kind != FERRY_OP_BINARY && kind != FERRY_OP_MOMENTS &&
             kind != FERRY_OP_SOFTMAX))
            continue;
        for (int seed = 1; seed <= 15; seed++) {
            struct om_numbers n = { (uint64_t)seed * 7919 + kind };
            struct rig r;

            make(&n, &ob_passes[k], false, &r);
            r.op.in[0] = r.op.out[0];
            r.in_place = 1;
            rig_run(&r, NULL);
        }
    }
}

/* dy (0, 3) and w (3, 4): nothing is added; dy (2, 0): dx is 0. */
static void gradients_of_empty_operands_are_zero(void)
{
    static const int64_t shapes[][3] = { { 0, 3, 4 }, { 2, 0, 4 }, { 2, 3, 0 } };

    for (int i = 0; i < 3; i++) {
        int64_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
        struct rig r;

        rig_begin(&r, FERRY_OP_INNER_PRODUCT);
        r.op.pass = FERRY_PASS_BACKWARD_WEIGHTS;
        rig_in(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ m, n });
        rig_in(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ m, k });
        rig_out(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ n, k });
        rig_run(&r, NULL);
        rig_begin(&r, FERRY_OP_INNER_PRODUCT);
        r.op.pass = FERRY_PASS_BACKWARD_DATA;
        rig_in(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ m, n });
        rig_in(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ n, k });
        rig_out(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ m, k });
        rig_run(&r, NULL);
        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.pass = FERRY_PASS_BACKWARD_WEIGHTS;
        r.op.params.window = (ferry_op_window){ 1, 1, { 1 }, { 1 }, { 1 }, { 0 }, { 0 }, 0, 0 };
        rig_in(&r, FERRY_F32, RIG_PLAIN, 3, (int64_t[]){ m, n, 5 });
        rig_in(&r, FERRY_F32, RIG_PLAIN, 3, (int64_t[]){ m, k, 5 });
        rig_out(&r, FERRY_F32, RIG_PLAIN, 3, (int64_t[]){ n, k, 1 });
        rig_run(&r, NULL);
        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.pass = FERRY_PASS_BACKWARD_BIAS;
        rig_in(&r, FERRY_F32, RIG_PLAIN, 3, (int64_t[]){ m, n, k });
        rig_out(&r, FERRY_F32, RIG_PLAIN, 1, (int64_t[]){ n });
        rig_run(&r, NULL);
    }
}

/* An image without planes, of which the window sees only padding. */
static void an_image_of_padding_has_no_gradient(void)
{
    const ferry_op_window window = { 3,           1,           { 1, 1, 1 },
                                     { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 },
                                     { 1, 0, 0 }, 0,           0 };
    struct rig r;

    rig_begin(&r, FERRY_OP_CONVOLUTION);
    r.op.pass = FERRY_PASS_BACKWARD_DATA;
    r.op.params.window = window;
    rig_in(&r, FERRY_F32, RIG_PLAIN, 5, (int64_t[]){ 2, 6, 1, 4, 4 });
    rig_in(&r, FERRY_F32, RIG_PLAIN, 5, (int64_t[]){ 6, 5, 1, 1, 1 });
    rig_out(&r, FERRY_F32, RIG_PLAIN, 5, (int64_t[]){ 2, 5, 0, 4, 4 });
    rig_run(&r, NULL);
}

/* Max pooling of planes by windows of 2 x 2, with more or fewer windows in a line than lanes. */
static void gradients_of_max_pooling_agree_with_the_oracle(void)
{
    /* Width and height of x; the windows' height; the padding. */
    static const int64_t sizes[][4] = { { 24, 24, 2, 0 }, { 8, 8, 2, 0 },   { 70, 6, 2, 0 },
                                        { 67, 7, 2, 0 },  { 35, 9, 1, 0 },  { 40, 12, 2, 1 },
                                        { 33, 5, 3, 0 },  { 130, 3, 2, 1 }, { 5, 5, 2, 0 } };

    for (int i = 0; i < (int)(sizeof(sizes) / sizeof(sizes[0])); i++)
        for (uint32_t mask = FERRY_F32;; mask = FERRY_I32) {
            const int64_t *s = sizes[i], pad = s[3];
            int64_t y[4] = { 3, 2, (s[1] + 2 * pad - s[2] + 1) / 2 + 1,
                             (s[0] + 2 * pad - 1) / 2 + 1 };
            struct om_numbers n = { (uint64_t)i };
            struct rig r;

            rig_begin(&r, FERRY_OP_POOL);
            r.op.pass = FERRY_PASS_BACKWARD_DATA;
            r.op.params.window = (ferry_op_window){
                2, 1, { s[2], 2 }, { 2, 2 }, { 1, 1 }, { pad, pad }, { pad, pad }, 0, 0
            };
            r.op.params.pool.method = FERRY_POOL_MAX;
            rig_in(&r, FERRY_F32, RIG_PLAIN, 4, y);
            rig_in(&r, mask, RIG_PLAIN, 4, y);
            rig_out(&r, FERRY_F32, RIG_PLAIN, 4, (int64_t[]){ 3, 2, s[1], s[0] });
            free(r.in[1]);
            r.in[1] = mask_values(&n, &r.op);
            rig_run(&r, NULL);
            if (mask == FERRY_I32)
                break;
        }
}

/*
 * Large enough for several threads, chunks and blocks: the sums do not depend on the number of
 * threads.
 */
static void gradients_of_large_convolutions_agree_with_the_oracle(void)
{
    static const int64_t sizes[][6] = { { 3, 4, 33, 40, 17, 5 }, { 2, 20, 24, 24, 50, 3 } };

    for (int i = 0; i < 2; i++)
        for (int transposed = 0; transposed < 2; transposed++) {
            const int64_t *s = sizes[i], k = s[5], grown = transposed ? k - 1 : 1 - k;
            int64_t x[4] = { s[0], s[1], s[2], s[3] };
            int64_t y[4] = { s[0], s[4], s[2] + grown, s[3] + grown };
            int64_t w[4] = { transposed ? s[1] : s[4], transposed ? s[4] : s[1], k, k };
            const ferry_op_window window = { 2,        1,        { k, k }, { 1, 1 },
                                             { 1, 1 }, { 0, 0 }, { 0, 0 }, (uint32_t)transposed,
                                             0 };

            for (uint32_t pass = FERRY_PASS_BACKWARD_DATA; pass <= FERRY_PASS_BACKWARD_WEIGHTS;
                 pass++) {
                bool data = pass == FERRY_PASS_BACKWARD_DATA;
                struct rig r;

                rig_begin(&r, FERRY_OP_CONVOLUTION);
                r.op.pass = pass;
                r.op.params.window = window;
                rig_in(&r, FERRY_F32, RIG_PLAIN, 4, y);
                rig_in(&r, FERRY_F32, RIG_PLAIN, 4, data ? w : x);
                rig_out(&r, FERRY_F32, RIG_PLAIN, 4, data ? x : w);
                rig_run(&r, NULL);
            }
        }
}

/*
 * Kernels of one element, whose planes are read in place: parts of a plane, several planes at a
 * time, a rest of fewer, planes that are apart, and a number of lines that has no divisors.
 */
static void gradients_of_weights_by_whole_planes_agree_with_the_oracle(void)
{
    static const int64_t sizes[][5] = { /* images, channels, outputs, lines, pixels of a line */
                                        { 11, 20, 33, 7, 7 },  { 5, 40, 20, 14, 14 },
                                        { 3, 17, 40, 28, 28 }, { 2, 15, 10, 56, 40 },
                                        { 3, 5, 8, 67, 30 },   { 9, 18, 34, 2, 150 },
                                        { 2, 6, 9, 4, 300 },   { 7, 12, 30, 16, 32 } };

    for (int i = 0; i < 24; i++) {
        const int64_t *s = sizes[i / 3];
        int layout = (int[]){ RIG_PLAIN, RIG_SLICE, RIG_LAST }[i % 3];
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.pass = FERRY_PASS_BACKWARD_WEIGHTS;
        r.op.params.window = (ferry_op_window){ 2, 1, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0, 0 },
                                                { 0, 0 }, 0, 0 };
        rig_in(&r, FERRY_F32, RIG_PLAIN, 4, (int64_t[]){ s[0], s[2], s[3], s[4] });
        rig_in(&r, FERRY_F32, layout, 4, (int64_t[]){ s[0], s[1], s[3], s[4] });
        rig_out(&r, FERRY_F32, RIG_PLAIN, 4, (int64_t[]){ s[2], s[1], 1, 1 });
        rig_run(&r, NULL);
    }
}

/* The same along three axes: there are several planes, of y, of x or of both. */
static void gradients_of_weights_by_several_planes_agree_with_the_oracle(void)
{
    static const struct {
        int64_t x, y, stride, pad, pad_end;
    } all[] = { { 3, 3, 1, 0, 0 }, { 3, 2, 2, 0, 0 }, { 2, 1, 2, 0, 0 },
                { 2, 1, 3, 1, 0 }, { 1, 3, 1, 0, 2 }, { 1, 1, 2, 1, 0 } };

    for (int i = 0; i < 18; i++) {
        const int64_t x = all[i / 3].x, y = all[i / 3].y;
        int layout = (int[]){ RIG_PLAIN, RIG_SLICE, RIG_LAST }[i % 3];
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.pass = FERRY_PASS_BACKWARD_WEIGHTS;
        r.op.params.window = (ferry_op_window){ 3, 1, { 1, 1, 1 }, { all[i / 3].stride, 1, 1 },
                                                { 1, 1, 1 }, { all[i / 3].pad },
                                                { all[i / 3].pad_end }, 0, 0 };
        rig_in(&r, FERRY_F32, RIG_PLAIN, 5, (int64_t[]){ 4, 33, y, 7, 6 });
        rig_in(&r, FERRY_F32, layout, 5, (int64_t[]){ 4, 20, x, 7, 6 });
        rig_out(&r, FERRY_F32, RIG_PLAIN, 5, (int64_t[]){ 33, 20, 1, 1, 1 });
        rig_run(&r, NULL);
    }
}

/*
 * LRN of contiguous pixels: numbers of pixels near the 256 of a block and near the lanes of a
 * vector, and a size that exceeds the ring buffer.
 */
static void gradients_of_lrn_across_channels_agree_with_the_oracle(void)
{
    static const int64_t planes[][2] = { { 1, 2 },   { 3, 5 },   { 1, 17 },  { 15, 17 },
                                         { 16, 16 }, { 1, 257 }, { 17, 31 }, { 3, 260 } };
    static const int64_t channels[] = { 1, 2, 5, 20 }, sizes[] = { 1, 5, 7, 15, 17 };

    for (int i = 0; i < 40; i++) {
        const int64_t *plane = planes[i / 5];
        int64_t shape[4] = { 2, channels[i % 4], plane[0], plane[1] };
        struct om_numbers n = { (uint64_t)i };
        struct rig r;

        rig_begin(&r, FERRY_OP_LRN);
        r.op.pass = FERRY_PASS_BACKWARD_DATA;
        r.op.params.lrn.size = sizes[i % 5];
        r.op.params.lrn.alpha = 0.5;
        r.op.params.lrn.beta = 0.75;
        r.op.params.lrn.k = 1.5;
        for (int k = 0; k < 4; k++)
            rig_in(&r, FERRY_F32, rig_random(4) ? RIG_PLAIN : RIG_SLICE, 4, shape);
        free(r.in[3]);
        r.in[3] = values(&n, &r.op.in[3], 2);
        rig_out(&r, FERRY_F32, RIG_PLAIN, 4, shape);
        rig_run(&r, NULL);
    }
}

/* Row-major images of channels that are convolved separately: forward and both gradients. */
static void depthwise_planes_agree_with_the_oracle(void)
{
    static const uint32_t passes[] = { FERRY_PASS_FORWARD, FERRY_PASS_BACKWARD_DATA,
                                       FERRY_PASS_BACKWARD_WEIGHTS };

    for (int i = 0; i < 90; i++) {
        int64_t k[2] = { 1 + rig_random(5), 2 + rig_random(3) }, s[2];
        int64_t d[2] = { 1 + rig_random(2), 1 + rig_random(2) };
        int64_t c = 2 + rig_random(3), n = 2;
        int64_t wide[4] = { n, c, 9 + rig_random(12), 9 + rig_random(30) };
        int64_t narrow[4] = { n, c, 0, 0 }, w[4] = { c, 1, k[0], k[1] };
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.pass = passes[i % 3];
        r.op.params.window.axes = 2;
        r.op.params.window.group = (uint32_t)c;
        for (int a = 0; a < 2; a++) {
            int64_t pad = rig_random(4), reach = (k[a] - 1) * d[a] + 1;

            s[a] = 1 + rig_random(3);
            r.op.params.window.kernel[a] = k[a];
            r.op.params.window.stride[a] = s[a];
            r.op.params.window.dilation[a] = d[a];
            r.op.params.window.pad[a] = r.op.params.window.pad_end[a] = pad;
            narrow[2 + a] = (wide[2 + a] + 2 * pad - reach) / s[a] + 1;
        }
        rig_in(&r, FERRY_F32, RIG_PLAIN, 4, i % 3 == 0 ? wide : narrow);
        rig_in(&r, FERRY_F32, RIG_PLAIN, 4, i % 3 == 2 ? wide : w);
        if (i % 6 == 0)
            rig_in(&r, FERRY_F32, RIG_PLAIN, 1, &c);
        rig_out(&r, FERRY_F32, RIG_PLAIN, 4, i % 3 == 0 ? narrow : i % 3 == 1 ? wide : w);
        rig_run(&r, NULL);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(random_passes_agree_with_the_oracle),
    FERRY_TEST(random_passes_in_doubles_agree_with_the_oracle),
    FERRY_TEST(gradients_may_overwrite_their_operands),
    FERRY_TEST(gradients_of_empty_operands_are_zero),
    FERRY_TEST(an_image_of_padding_has_no_gradient),
    FERRY_TEST(gradients_of_max_pooling_agree_with_the_oracle),
    FERRY_TEST(gradients_of_lrn_across_channels_agree_with_the_oracle),
    FERRY_TEST(depthwise_planes_agree_with_the_oracle),
    FERRY_TEST(gradients_of_large_convolutions_agree_with_the_oracle),
    FERRY_TEST(gradients_of_weights_by_whole_planes_agree_with_the_oracle),
    FERRY_TEST(gradients_of_weights_by_several_planes_agree_with_the_oracle),
};

int main(int argc, char **argv)
{
    return rig_main(argc, argv, "cpu backward passes", cases, FERRY_TEST_COUNT(cases));
}
