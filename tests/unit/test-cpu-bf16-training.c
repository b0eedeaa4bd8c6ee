/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The products of training that may be rounded to BF16 (FERRY_MATH_BF16): forward with row-major
 * images, and the gradients of x and w. Each element is compared with the sum in doubles of the
 * products of its factors, which are rounded to BF16 here if the plugin states that it rounds. The
 * bound is that of the roundings of F32's sums.
 */

static const char *const sets[] = { "bf16", "avx2", NULL };
static int rounded, exact;

struct sum {
    double value, magnitude;
    int64_t terms;
};

/* To nearest even, with denormal numbers as 0. */
static double bf16_of(double value)
{
    float x = (float)value;
    uint32_t bits;

    if (fabs(value) < FLT_MIN)
        return 0;
    memcpy(&bits, &x, sizeof(bits));
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&x, &bits, sizeof(x));
    return (double)x;
}

static void add(struct sum *s, double a, double b, bool rounds)
{
    double term = rounds ? bf16_of(a) * bf16_of(b) : a * b;

    s->value += term;
    s->magnitude += fabs(term);
    s->terms++;
}

static bool rounds_of(const struct rig *r, uint32_t *out_math)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };

    CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r->op, &answer), 0);
    CU_ASSERT((answer.math & ~r->op.math) == 0);
    *out_math = answer.math;
    return (answer.math & FERRY_MATH_BF16) != 0;
}

/* Compares the result with the sums, and frees all. */
static void check(struct rig *r, struct sum *sums, bool rounds)
{
    double *got[1] = { NULL };

    *(rounds ? &rounded : &exact) += 1;
    CU_ASSERT_EQUAL_FATAL(rig_run_plugin(r, got), 0);
    for (int64_t i = 0; i < rig_count(&r->op.out[0]); i++) {
        double bound = (double)(sums[i].terms + 3) * FLT_EPSILON * sums[i].magnitude +
                       2 * (double)sums[i].terms * (double)FLT_MIN;

        if (!(fabs(got[0][i] - sums[i].value) <= bound))
            printf("element %lld: %.9g, not %.9g; the bound is %.3g\n", (long long)i, got[0][i],
                   sums[i].value, bound);
        CU_ASSERT_FATAL(fabs(got[0][i] - sums[i].value) <= bound);
    }
    free(got[0]);
    free(sums);
    rig_end(r);
}

/* The initial values of the sums of a pass: the bias, or the gradient that they are added to. */
static struct sum *sums_of(const struct rig *r)
{
    const ferry_operand *out = &r->op.out[0];
    struct sum *sums = calloc((size_t)rig_count(out) + 1, sizeof(*sums));
    int64_t inner = rig_count(out);

    CU_ASSERT_PTR_NOT_NULL_FATAL(sums);
    inner = inner ? inner / out->shape[0] / out->shape[1] : 1;
    for (int64_t i = 0; i < rig_count(out); i++) {
        if (r->op.pass == FERRY_PASS_BACKWARD_WEIGHTS)
            add(&sums[i], r->out[0][i], 1, false);
        else if (r->op.pass == FERRY_PASS_FORWARD && r->op.n_in > 2)
            add(&sums[i], r->in[2][i / inner % out->shape[1]], 1, false);
    }
    return sums;
}

/* ---- convolutions --------------------------------------------------------------------------- */

struct form {
    int64_t images, group, channels, outputs, in[2]; /* channels, outputs: of a group */
    int64_t kernel[2], stride[2], dilation[2], pad[2], pad_end[2];
    bool transposed; /* `in` and `channels` are those of y, whose lines all windows cover */
};

static int64_t reach(const struct form *f, int axis)
{
    return f->in[axis] + f->pad[axis] + f->pad_end[axis] -
           (f->dilation[axis] * (f->kernel[axis] - 1) + 1);
}

static int64_t after(const struct form *f, int axis)
{
    return reach(f, axis) < 0 ? 0 : reach(f, axis) / f->stride[axis] + 1;
}

/* The pass of the convolution that has the same products: a transposed one goes the other way. */
static uint32_t pass_of(const struct form *f, uint32_t pass)
{
    if (!f->transposed || pass == FERRY_PASS_BACKWARD_WEIGHTS)
        return pass;
    return pass == FERRY_PASS_FORWARD ? FERRY_PASS_BACKWARD_DATA : FERRY_PASS_FORWARD;
}

static void draw(struct form *f)
{
    static const int64_t kernels[] = { 1, 1, 3, 3, 2, 5 };

    *f = (struct form){ .images = 1 + rig_random(3),
                        .group = rig_random(4) ? 1 : 1 + rig_random(3),
                        .channels = 1 + rig_random(rig_random(3) ? 20 : 300),
                        .outputs = 4 + rig_random(rig_random(3) ? 30 : 80),
                        .transposed = rig_random(4) == 0 };
    for (int a = 0; a < 2; a++) {
        f->kernel[a] = kernels[rig_random(6)];
        f->stride[a] = rig_random(3) ? 1 : 1 + rig_random(3);
        f->dilation[a] = rig_random(4) ? 1 : 2;
        f->pad[a] = rig_random(f->kernel[a] + 1);
        f->pad_end[a] = rig_random(f->kernel[a] + 1);
        f->in[a] = 1 + rig_random(20);
        while (after(f, a) < 1 || (f->transposed && reach(f, a) % f->stride[a]))
            f->in[a]++;
    }
    if (f->kernel[0] * f->kernel[1] > 4)
        f->channels = 1 + f->channels % 24;
}

/* Makes a pass of a convolution; `layout` is that of the images. */
static void make(struct rig *r, const struct form *f, uint32_t pass, int layout)
{
    const int64_t x[4] = { f->images, f->group * f->channels, f->in[0], f->in[1] };
    const int64_t y[4] = { f->images, f->group * f->outputs, after(f, 0), after(f, 1) };
    const int64_t w[4] = { f->group * f->outputs, f->channels, f->kernel[0], f->kernel[1] };
    const int of_w = rig_random(4) ? RIG_PLAIN : (int)rig_random(RIG_LAYOUTS);
    ferry_op_window *window = &r->op.params.window;
    bool is_weights = pass == FERRY_PASS_BACKWARD_WEIGHTS;
    bool reads_x = pass_of(f, pass) == FERRY_PASS_FORWARD || (is_weights && f->transposed);

    rig_begin(r, FERRY_OP_CONVOLUTION);
    r->op.pass = pass;
    r->op.math = FERRY_MATH_BF16;
    window->axes = 2;
    window->transposed = f->transposed;
    window->group = (uint32_t)f->group;
    for (int a = 0; a < 2; a++) {
        window->kernel[a] = f->kernel[a];
        window->stride[a] = f->stride[a];
        window->dilation[a] = f->dilation[a];
        window->pad[a] = f->pad[a];
        window->pad_end[a] = f->pad_end[a];
    }
    rig_in(r, FERRY_F32, layout, 4, reads_x ? x : y);
    if (is_weights)
        rig_in(r, FERRY_F32, layout, 4, reads_x ? y : x);
    else
        rig_in(r, FERRY_F32, of_w, 4, w);
    if (pass == FERRY_PASS_FORWARD && rig_random(2))
        rig_in(r, FERRY_F32, RIG_PLAIN, 1, f->transposed ? &x[1] : &y[1]);
    if (is_weights)
        rig_out(r, FERRY_F32, of_w, 4, w);
    else
        rig_out(r, FERRY_F32, layout, 4, reads_x ? y : x);
    /* forward, constants may be rounded alone: training then takes F32 */
    r->op.constants = pass == FERRY_PASS_BACKWARD_DATA && rig_random(3) ? 2 : 0;
}

/* Adds the products of an output's position and a channel: of all taps. */
static void join(const struct rig *r, const struct form *f, const int64_t *at, int64_t c,
                 struct sum *sums, bool rounds)
{
    const int64_t image = at[0], o = at[1], rows = after(f, 0), columns = after(f, 1);
    const int64_t y = ((image * f->group * f->outputs + o) * rows + at[2]) * columns + at[3];
    const int64_t channel = o / f->outputs * f->channels + c;
    const uint32_t pass = pass_of(f, r->op.pass);

    for (int64_t i = 0; i < f->kernel[0]; i++)
        for (int64_t j = 0; j < f->kernel[1]; j++) {
            int64_t h = at[2] * f->stride[0] - f->pad[0] + i * f->dilation[0];
            int64_t v = at[3] * f->stride[1] - f->pad[1] + j * f->dilation[1];
            int64_t w = ((o * f->channels + c) * f->kernel[0] + i) * f->kernel[1] + j, x;

            if (h < 0 || h >= f->in[0] || v < 0 || v >= f->in[1])
                continue;
            x = ((image * f->group * f->channels + channel) * f->in[0] + h) * f->in[1] + v;
            if (pass == FERRY_PASS_FORWARD)
                add(&sums[y], r->in[0][x], r->in[1][w], rounds);
            else if (pass == FERRY_PASS_BACKWARD_DATA)
                add(&sums[x], r->in[0][y], r->in[1][w], rounds);
            else
                add(&sums[w], r->in[f->transposed][y], r->in[!f->transposed][x], rounds);
        }
}

static struct sum *convolve(const struct rig *r, const struct form *f, bool rounds)
{
    struct sum *sums = sums_of(r);
    int64_t at[4];

    for (at[0] = 0; at[0] < f->images; at[0]++)
        for (at[1] = 0; at[1] < f->group * f->outputs; at[1]++)
            for (at[2] = 0; at[2] < after(f, 0); at[2]++)
                for (at[3] = 0; at[3] < after(f, 1); at[3]++)
                    for (int64_t c = 0; c < f->channels; c++)
                        join(r, f, at, c, sums, rounds);
    return sums;
}

static void run(const struct form *f, uint32_t pass, int layout)
{
    uint32_t math;
    struct rig r;
    bool rounds;

    make(&r, f, pass, layout);
    rounds = rounds_of(&r, &math);
    check(&r, convolve(&r, f, rounds), rounds);
}

static bool is_bf16(void)
{
    return strcmp(rig_set(), "bf16") == 0;
}

/* Runs n random convolutions; with BF16 most of them round. */
static void run_all(uint32_t pass, int n)
{
    n = ferry_test_is_slow() ? n / 5 : n;
    rounded = exact = 0;
    for (int i = 0; i < n; i++) {
        struct form f;

        draw(&f);
        run(&f, pass, i % 4 ? RIG_PLAIN : (int)rig_random(RIG_LAYOUTS));
    }
    if (is_bf16())
        CU_ASSERT(rounded > n / 2);
    if (strcmp(rig_set(), "portable") == 0)
        CU_ASSERT(rounded == 0);
}

static void forward_is_the_sum_of_rounded_factors(void)
{
    run_all(FERRY_PASS_FORWARD, 24);
}

static void gradients_of_x_are_sums_of_rounded_factors(void)
{
    run_all(FERRY_PASS_BACKWARD_DATA, 36);
}

static void gradients_of_w_are_sums_of_rounded_factors(void)
{
    run_all(FERRY_PASS_BACKWARD_WEIGHTS, 36);
}

/* Lines of an odd number of positions: pairs contain positions of two lines, or of two planes. */
static void pairs_of_positions_cross_lines(void)
{
    for (int64_t side = 1; side < 40; side += side < 18 ? 1 : 7)
        for (int i = 0; i < 2; i++) {
            struct form f = { .images = 1 + side % 4, .group = 1, .channels = 9, .outputs = 17 };

            for (int a = 0; a < 2; a++) {
                f.kernel[a] = i ? 3 : 1;
                f.pad[a] = f.pad_end[a] = i;
                f.stride[a] = f.dilation[a] = 1;
                f.in[a] = a ? side : 13;
            }
            run(&f, FERRY_PASS_BACKWARD_WEIGHTS, RIG_PLAIN);
        }
}

/* ---- inner products ------------------------------------------------------------------------- */

static void make_product(struct rig *r, uint32_t pass, int64_t m, int64_t n, int64_t k)
{
    const int64_t x[2] = { m, k }, w[2] = { n, k }, y[2] = { m, n };
    const int layout = rig_random(3) ? RIG_PLAIN : (int)rig_random(RIG_LAYOUTS);
    bool is_weights = pass == FERRY_PASS_BACKWARD_WEIGHTS;

    rig_begin(r, FERRY_OP_INNER_PRODUCT);
    r->op.pass = pass;
    r->op.math = FERRY_MATH_BF16;
    rig_in(r, FERRY_F32, layout, 2, pass == FERRY_PASS_FORWARD ? x : y);
    rig_in(r, FERRY_F32, rig_random(3) ? RIG_PLAIN : (int)rig_random(RIG_LAYOUTS), 2,
           is_weights ? x : w);
    rig_out(r, FERRY_F32, layout, 2,
            is_weights                            ? w
            : pass == FERRY_PASS_BACKWARD_DATA ? x
                                                  : y);
    r->op.constants = is_weights ? 0 : 2;
}

static struct sum *multiply(const struct rig *r, int64_t m, int64_t n, int64_t k, bool rounds)
{
    struct sum *sums = sums_of(r);

    for (int64_t a = 0; a < m; a++)
        for (int64_t b = 0; b < n; b++)
            for (int64_t c = 0; c < k; c++) {
                int64_t x = a * k + c, w = b * k + c, y = a * n + b;

                if (r->op.pass == FERRY_PASS_FORWARD)
                    add(&sums[y], r->in[0][x], r->in[1][w], rounds);
                else if (r->op.pass == FERRY_PASS_BACKWARD_DATA)
                    add(&sums[x], r->in[0][y], r->in[1][w], rounds);
                else
                    add(&sums[w], r->in[0][y], r->in[1][x], rounds);
            }
    return sums;
}

static void inner_products_are_sums_of_rounded_factors(void)
{
    rounded = exact = 0;
    for (int i = 0; i < 60; i++) {
        static const uint32_t passes[] = { FERRY_PASS_BACKWARD_DATA, FERRY_PASS_BACKWARD_WEIGHTS };
        int64_t m = 1 + rig_random(i % 5 ? 40 : 300), n = 1 + rig_random(i % 7 ? 60 : 300);
        int64_t k = 1 + rig_random(i % 3 ? 50 : 400);
        uint32_t math;
        struct rig r;
        bool rounds;

        make_product(&r, passes[i % 2], m, n, k);
        rounds = rounds_of(&r, &math);
        check(&r, multiply(&r, m, n, k, rounds), rounds);
    }
    if (is_bf16())
        CU_ASSERT(rounded == 60);
}

/* ---- the flag ------------------------------------------------------------------------------- */

static void nothing_is_rounded_without_the_flag(void)
{
    for (uint32_t pass = 0; pass < 3; pass++)
        for (int i = 0; i < 2; i++) {
            ferry_op_answer answer = { .struct_size = sizeof(answer) };
            struct form f;
            struct rig r;

            draw(&f);
            if (i)
                make(&r, &f, pass, RIG_PLAIN);
            else
                make_product(&r, pass, 30, 40, 50);
            r.op.math = 0;
            CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &answer), 0);
            CU_ASSERT_EQUAL(answer.math, 0);
            rig_end(&r);
        }
}

/* Packed weights of the two precisions are never taken for each other. */
static void packed_weights_have_keys_of_their_own(void)
{
    for (uint32_t pass = FERRY_PASS_FORWARD; pass < FERRY_PASS_BACKWARD_WEIGHTS; pass++)
        for (int i = 0; i < 2; i++) {
            ferry_op_answer plain = { .struct_size = sizeof(plain) }, with = plain;
            struct form f = { 2, 1, 20, 24, { 12, 12 }, { 3, 3 }, { 1 + i, 1 + i },
                              { 1, 1 }, { 1, 1 }, { 1, 1 }, false };
            struct rig r;

            make(&r, &f, pass, RIG_PLAIN);
            r.op.constants = 2;
            CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &with), 0);
            r.op.math = 0;
            CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &plain), 0);
            CU_ASSERT_EQUAL(with.packed_key == plain.packed_key, with.math == 0);
            if (with.math)
                CU_ASSERT(with.packed_bytes < plain.packed_bytes);
            rig_end(&r);
        }
}

/* The sums of y and dx are one chain each. */
static void results_do_not_depend_on_the_number_of_threads(void)
{
    for (uint32_t pass = FERRY_PASS_FORWARD; pass < FERRY_PASS_BACKWARD_WEIGHTS; pass++)
        for (int i = 0; i < 4; i++) {
            int64_t stride = 1 + i % 2;
            struct form f = { 2, 1 + i / 2, 130, 100, { 12, 11 }, { 3, 3 }, { stride, stride },
                              { 1, 1 }, { 1, 1 }, { 1, 1 }, false };
            struct rig r;

            make(&r, &f, pass, RIG_PLAIN);
            rig_check_threads(&r);
            rig_end(&r);
        }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(forward_is_the_sum_of_rounded_factors),
    FERRY_TEST(gradients_of_x_are_sums_of_rounded_factors),
    FERRY_TEST(gradients_of_w_are_sums_of_rounded_factors),
    FERRY_TEST(pairs_of_positions_cross_lines),
    FERRY_TEST(inner_products_are_sums_of_rounded_factors),
    FERRY_TEST(nothing_is_rounded_without_the_flag),
    FERRY_TEST(packed_weights_have_keys_of_their_own),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
};

int main(int argc, char **argv)
{
    return rig_main_with(argc, argv, "cpu-bf16-training", cases, sizeof(cases) / sizeof(cases[0]),
                         sets);
}
