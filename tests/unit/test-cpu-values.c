/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Operations whose operands are values of BF16 (op_params.h), by the CPU plugin with AVX512_BF16,
 * against sums in doubles that are rounded once. Where all products and sums are exact, each
 * element must have the bits of the oracle's.
 */

static const char *const sets[] = { "bf16", "vnni", NULL };
static int taken, refused;

/* Rounds to BF16, to nearest even; x is not denormal. */
static double round_bf16(double x)
{
    int exponent;

    if (!isfinite(x) || x == 0)
        return x;
    frexp(x, &exponent);
    x = ldexp(nearbyint(ldexp(x, 8 - exponent)), exponent - 8);
    return fabs(x) < 0x1p128 ? x : copysign(INFINITY, x);
}

static double stored(const ferry_operand *y, double x)
{
    return y->dtype == FERRY_BF16 ? round_bf16(x) : (double)(float)x;
}

/* Fills an operand with multiples of 1/8 between −1 and 1, which both dtypes have. */
static void fill(struct rig *r, uint32_t i)
{
    for (int64_t k = 0; k < rig_count(&r->op.in[i]); k++)
        r->in[i][k] = (double)(rig_random(17) - 8) / 8;
}

static uint32_t any_dtype(void)
{
    return rig_random(2) ? FERRY_BF16 : FERRY_F32;
}

/* Whether the plugin computes it as one operation; counts those with an operand of BF16. */
static bool is_taken(const struct rig *r)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    bool is = !rig_table->query(rig_device, &r->op, &answer) && answer.epilogue == r->op.n_epilogue;
    bool has_values = r->op.out[0].dtype == FERRY_BF16;

    for (uint32_t i = 0; i < r->op.n_in; i++)
        has_values = has_values || r->op.in[i].dtype == FERRY_BF16;
    CU_ASSERT(!is || !has_values || strcmp(rig_set(), "bf16") == 0);
    if (has_values)
        *(is ? &taken : &refused) += 1;
    return is;
}

/* ---- convolutions --------------------------------------------------------------------------- */

struct shape {
    int64_t group, channels, outputs, kernel, side, stride, pad; /* channels, outputs: of a group */
};

static void make(struct rig *r, const struct shape *s, uint32_t x_dtype, uint32_t y_dtype,
                 int layout)
{
    ferry_op_window *w = &r->op.params.window;
    const int64_t side = (s->side + 2 * s->pad - s->kernel) / s->stride + 1;
    const int64_t x[4] = { 1 + rig_random(2), s->group * s->channels, s->side, s->side };
    const int64_t k[4] = { s->group * s->outputs, s->channels, s->kernel, s->kernel };
    const int64_t y[4] = { x[0], k[0], side, side };

    rig_begin(r, FERRY_OP_CONVOLUTION);
    w->axes = 2;
    w->group = (uint32_t)s->group;
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = s->kernel;
        w->stride[a] = s->stride;
        w->dilation[a] = 1;
        w->pad[a] = w->pad_end[a] = s->pad;
    }
    rig_in(r, x_dtype, layout, 4, x);
    rig_in(r, FERRY_F32, RIG_PLAIN, 4, k);
    rig_in(r, FERRY_F32, RIG_PLAIN, 1, &k[0]);
    rig_out(r, y_dtype, layout, 4, y);
    r->op.math = FERRY_MATH_BF16;
    r->op.constants = 2;
}

/* An added operand, and a clamp or a slope. */
static void add_steps(struct rig *r, int layout, bool has_slope)
{
    const ferry_operand *y = &r->op.out[0];

    if (rig_random(2)) {
        r->op.epilogue[r->op.n_epilogue++] =
            (ferry_op_step){ .step = FERRY_STEP_ADD, .operand = r->op.n_in };
        rig_in(r, any_dtype(), layout, 4, y->shape);
    }
    if (rig_random(2))
        rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, has_slope && rig_random(2) ? 0.5 : 0, 0);
    for (uint32_t i = 0; i < r->op.n_in; i++)
        fill(r, i);
}

/* The sum of element `i` of y before the steps; *out_magnitude is that of its terms. */
static double sum_of(const struct rig *r, int64_t i, double *out_magnitude)
{
    const ferry_op_window *w = &r->op.params.window;
    const int64_t *x = r->op.in[0].shape, *k = r->op.in[1].shape, *y = r->op.out[0].shape;
    int64_t output = i / y[3] / y[2] % y[1], image = i / y[3] / y[2] / y[1];
    int64_t first = output / (y[1] / w->group) * k[1];
    double sum = r->in[2][output];

    *out_magnitude = fabs(sum);
    for (int64_t t = 0; t < k[1] * k[2] * k[3]; t++) {
        int64_t c = t / k[3] / k[2];
        int64_t row = i / y[3] % y[2] * w->stride[0] - w->pad[0] + t / k[3] % k[2];
        int64_t column = i % y[3] * w->stride[1] - w->pad[1] + t % k[3];

        if (row < 0 || row >= x[2] || column < 0 || column >= x[3])
            continue;
        sum += r->in[0][((image * x[1] + first + c) * x[2] + row) * x[3] + column] *
               r->in[1][output * k[1] * k[2] * k[3] + t];
        *out_magnitude += fabs(r->in[0][((image * x[1] + first + c) * x[2] + row) * x[3] + column] *
                               r->in[1][output * k[1] * k[2] * k[3] + t]);
    }
    return sum;
}

static double after_steps(const struct rig *r, int64_t i, double sum)
{
    for (uint32_t k = 0; k < r->op.n_epilogue; k++) {
        const ferry_op_step *s = &r->op.epilogue[k];

        if (s->step == FERRY_STEP_ADD)
            sum += r->in[s->operand][i];
        else
            sum *= sum > 0 ? 1 : s->a;
    }
    return sum;
}

/*
 * Runs a convolution; sums may differ by `error` of the magnitude of their terms, and then some are
 * checked. Frees it.
 */
static void run(struct rig *r, double error)
{
    double *got[1] = { NULL };

    if (is_taken(r)) {
        CU_ASSERT_EQUAL_FATAL(rig_run_plugin(r, got), 0);
        for (int64_t i = 0; i<rig_count(&r->op.out[0]); i += error> 0 ? 29 : 1) {
            double magnitude, sum = after_steps(r, i, sum_of(r, i, &magnitude));
            double bound = error * magnitude;

            if (error > 0 && r->op.out[0].dtype == FERRY_BF16)
                bound += (fabs(sum) + bound) * 0x1p-8;
            CU_ASSERT_FATAL(fabs(got[0][i] - (error > 0 ? sum : stored(&r->op.out[0], sum))) <=
                            bound);
        }
        free(got[0]);
    }
    rig_end(r);
}

static void products_round_once(void)
{
    static const int64_t kernels[] = { 1, 1, 1, 3, 5 };

    taken = refused = 0;
    for (int i = 0; i < (ferry_test_is_slow() ? 30 : 100); i++) {
        int64_t kernel = kernels[rig_random(5)];
        int layout = rig_random(3) ? RIG_LAST : RIG_LAST_SLICE;
        struct shape s = { .group = rig_random(5) ? 1 : 2,
                           .channels = 1 + rig_random(kernel > 1 ? 25 : 200),
                           .outputs = 17 + rig_random(60),
                           .kernel = kernel,
                           .side = kernel + 1 + rig_random(9),
                           .stride = 1 + rig_random(2),
                           .pad = rig_random(2) ? kernel / 2 : 0 };
        struct rig r;

        if (rig_random(2))
            s.channels = (s.channels + 1) / 2 * 2;
        make(&r, &s, any_dtype(), any_dtype(), layout);
        add_steps(&r, layout, true);
        run(&r, 0);
    }
    CU_ASSERT(strcmp(rig_set(), "bf16") || taken > refused);
}

static void row_major_images_of_three_channels_give_values(void)
{
    const struct shape s = { 1, 3, 40, 7, 40, 2, 3 };

    taken = 0;
    for (int i = 0; i < 4; i++) {
        struct rig r;

        make(&r, &s, FERRY_F32, FERRY_BF16, RIG_PLAIN);
        r.op.out[0].stride[1] = 1;
        r.op.out[0].stride[3] = 40;
        r.op.out[0].stride[2] = 40 * r.op.out[0].shape[3];
        add_steps(&r, RIG_LAST, true);
        run(&r, 0);
    }
    CU_ASSERT(strcmp(rig_set(), "bf16") || taken == 4);
}

static void winograds_tiles_read_and_write_values(void)
{
    taken = 0;
    for (int i = 0; i < 24; i++) {
        const struct shape s = { 1,
                                 64 + 16 * rig_random(3),
                                 33 + 31 * rig_random(3),
                                 3,
                                 20 + rig_random(20),
                                 1,
                                 rig_random(2) };
        struct rig r;

        make(&r, &s, any_dtype(), any_dtype(), RIG_LAST);
        r.op.math |= FERRY_MATH_WINOGRAD;
        add_steps(&r, RIG_LAST, true);
        run(&r, 1e-5);
    }
    CU_ASSERT(strcmp(rig_set(), "bf16") || taken >= 12);
}

static void depthwise_convolutions_round_once(void)
{
    taken = 0;
    for (int i = 0; i < 40; i++) {
        const struct shape s = {
            16 + rig_random(70), 1, 1, 3, 4 + rig_random(20), 1 + rig_random(2), rig_random(2)
        };
        struct rig r;

        make(&r, &s, FERRY_BF16, FERRY_BF16, RIG_LAST);
        if (rig_random(2))
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, rig_random(2) ? 0.25 : 0, 0);
        for (uint32_t k = 0; k < r.op.n_in; k++)
            fill(&r, k);
        run(&r, 0);
    }
    CU_ASSERT(strcmp(rig_set(), "bf16") || taken == 40);
}

/* A product with the identity: y is x, rounded. */
static void values_are_rounded_to_nearest_even_and_nan_stays_nan(void)
{
    static const struct {
        double x, want;
    } all[] = {
        { 0x1.01p0, 0x1p0 },        { 0x1.03p0, 0x1.04p0 },
        { 0x1.010002p0, 0x1.02p0 }, { -0x1.00fffep0, -0x1p0 },
        { 0x1.ffp127, INFINITY },   { -INFINITY, -INFINITY },
        { 0x1.fep127, 0x1.fep127 }, { 0, 0 },
        { 0x1p-126, 0x1p-126 },     { NAN, NAN },
    };
    const int n = sizeof all / sizeof all[0];
    const struct shape s = { 1, 2, 32, 1, 10, 1, 0 };

    for (int path = 0; path < 2; path++) { /* as the bias, and as the added operand */
        double *got[1] = { NULL };
        struct rig r;

        make(&r, &s, FERRY_BF16, FERRY_BF16, RIG_LAST);
        memset(r.in[1], 0, sizeof(double) * 64);
        memset(r.in[2], 0, sizeof(double) * 32);
        fill(&r, 0);
        if (path == 1) {
            r.op.epilogue[r.op.n_epilogue++] =
                (ferry_op_step){ .step = FERRY_STEP_ADD, .operand = 3 };
            rig_in(&r, FERRY_F32, RIG_LAST, 4, r.op.out[0].shape);
            memset(r.in[3], 0, sizeof(double) * (size_t)rig_count(&r.op.in[3]));
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 100; k++)
                *(path ? &r.in[3][i * 100 + k] : &r.in[2][i]) = all[i].x;
        if (is_taken(&r)) {
            CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&r, got), 0);
            for (int i = 0; i < n; i++)
                CU_ASSERT(got[0][i * 100 + 7] == all[i].want ||
                          (isnan(got[0][i * 100 + 7]) && isnan(all[i].want)));
            free(got[0]);
        }
        rig_end(&r);
    }
}

/* ---- pools ---------------------------------------------------------------------------------- */

static double pooled(const struct rig *r, int64_t i)
{
    const ferry_op_window *w = &r->op.params.pool.window;
    const int64_t *x = r->op.in[0].shape, *y = r->op.out[0].shape;
    const double *plane = r->in[0] + i / y[3] / y[2] * x[2] * x[3];
    double most = -INFINITY, sum = 0;

    for (int64_t k = 0; k < 9; k++) {
        int64_t row = i / y[3] % y[2] * w->stride[0] - w->pad[0] + k / 3;
        int64_t column = i % y[3] * w->stride[1] - w->pad[1] + k % 3;

        if (row < 0 || row >= x[2] || column < 0 || column >= x[3])
            continue;
        most = fmax(most, plane[row * x[3] + column]);
        sum += plane[row * x[3] + column];
    }
    return r->op.params.pool.method == FERRY_POOL_MAX ? most : sum / 9;
}

static void pools_read_and_write_values(void)
{
    taken = 0;
    for (int i = 0; i < 40; i++) {
        const int64_t stride = 1 + rig_random(2), side = 5 + rig_random(20), pad = rig_random(2);
        const int64_t x[4] = { 1 + rig_random(2), 2 + rig_random(50), side, side };
        const int64_t y[4] = { x[0], x[1], (side + 2 * pad - 3) / stride + 1,
                               (side + 2 * pad - 3) / stride + 1 };
        double *got[1] = { NULL };
        struct rig r;

        rig_begin(&r, FERRY_OP_POOL);
        r.op.params.pool.window = (ferry_op_window){ .axes = 2,
                                                     .group = 1,
                                                     .kernel = { 3, 3 },
                                                     .stride = { stride, stride },
                                                     .dilation = { 1, 1 },
                                                     .pad = { pad, pad },
                                                     .pad_end = { pad, pad } };
        r.op.params.pool.method = rig_random(2) ? FERRY_POOL_MAX : FERRY_POOL_AVERAGE;
        rig_in(&r, FERRY_BF16, RIG_LAST, 4, x);
        rig_out(&r, FERRY_BF16, RIG_LAST, 4, y);
        fill(&r, 0);
        r.in[0][0] = 0x1p-130; /* denormal numbers remain */
        if (is_taken(&r)) {
            CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&r, got), 0);
            for (int64_t k = 0; k < rig_count(&r.op.out[0]); k++) {
                double want = pooled(&r, k);

                CU_ASSERT_FATAL(got[0][k] == (fabs(want) < 0x1p-126 ? want : round_bf16(want)));
            }
            free(got[0]);
        }
        rig_end(&r);
    }
    CU_ASSERT(strcmp(rig_set(), "bf16") || taken == 40);
}

/* ---- functions of two operands --------------------------------------------------------------- */

/* Element `i` of y; u and v have one element for each channel. */
static double binary_of(const struct rig *r, int64_t i)
{
    const int64_t *shape = r->op.out[0].shape;
    int64_t channel = i / shape[2] % shape[1];
    double x = r->in[0][i], u = r->in[1][channel], y;

    switch (r->op.params.binary.function) {
    case FERRY_BINARY_SUM:
        y = x + 0.5 * u;
        break;
    case FERRY_BINARY_SCALE:
        y = x * u + (r->op.n_in > 2 ? r->in[2][channel] : 0);
        break;
    case FERRY_BINARY_NORMALISE:
        y = (x - u) * r->in[2][channel];
        break;
    default:
        y = x * u;
    }
    return r->op.n_epilogue && y <= 0 ? y * r->op.epilogue[0].a : y;
}

static void run_binary(uint32_t function, int layout, int64_t channels, uint32_t x, uint32_t y)
{
    const int64_t shape[3] = { 1 + rig_random(2), channels, 5 + rig_random(60) };
    const int64_t part[3] = { 1, channels, 1 };
    double *got[1] = { NULL };
    struct rig r;

    rig_begin(&r, FERRY_OP_BINARY);
    r.op.params.binary.function = function;
    r.op.params.binary.a = 1;
    r.op.params.binary.b = 0.5;
    rig_in(&r, x, layout, 3, shape);
    rig_in(&r, FERRY_F32, RIG_PLAIN, 3, part);
    if ((function == FERRY_BINARY_SCALE && rig_random(3)) || function == FERRY_BINARY_NORMALISE)
        rig_in(&r, FERRY_F32, RIG_PLAIN, 3, part);
    rig_out(&r, y, layout, 3, shape);
    if (rig_random(3))
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, rig_random(3) ? 0 : 0.5, 0);
    for (uint32_t i = 0; i < r.op.n_in; i++)
        fill(&r, i);
    r.in[0][0] = NAN;
    if (is_taken(&r)) {
        CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&r, got), 0);
        CU_ASSERT(isnan(got[0][0]));
        for (int64_t i = 1; i < rig_count(&r.op.out[0]); i++)
            CU_ASSERT_EQUAL_FATAL(got[0][i], stored(&r.op.out[0], binary_of(&r, i)));
        free(got[0]);
    }
    rig_end(&r);
}

/* Short rows of channels, which are joined, longer ones, and planes. */
static void functions_of_two_operands_round_once(void)
{
    static const uint32_t functions[] = { FERRY_BINARY_SUM, FERRY_BINARY_SCALE,
                                          FERRY_BINARY_NORMALISE, FERRY_BINARY_PRODUCT,
                                          FERRY_BINARY_SCALE };

    taken = refused = 0;
    for (int i = 0; i < 60; i++)
        run_binary(functions[i % 5], i % 4 ? RIG_LAST : RIG_PLAIN,
                   i % 3 ? 2 + rig_random(300) : 1000 + rig_random(1200),
                   i % 6 == 5 ? FERRY_F32 : FERRY_BF16, i % 7 == 6 ? FERRY_F32 : FERRY_BF16);
    CU_ASSERT(strcmp(rig_set(), "bf16") ? taken == 0 : taken == 59 && refused == 0);
    run_binary(FERRY_BINARY_SCALE, RIG_APART, 40, FERRY_BF16, FERRY_BF16);
    CU_ASSERT_EQUAL(refused, strcmp(rig_set(), "bf16") ? 60 : 1);
}

/* An element of x for each channel, or one for all, beside a whole u: short rows are joined. */
static void an_x_that_repeats_within_a_row_is_not_taken(void)
{
    for (int i = 0; i < 4; i++) {
        const int64_t shape[3] = { 2, i < 2 ? 20 : 2000, 30 };
        const int64_t part[3] = { 1, i % 2 ? 1 : shape[1], 1 };
        ferry_op_answer answer = { .struct_size = sizeof(answer) };
        struct rig r;

        rig_begin(&r, FERRY_OP_BINARY);
        r.op.params.binary.function = FERRY_BINARY_PRODUCT;
        rig_in(&r, FERRY_BF16, RIG_PLAIN, 3, part);
        rig_in(&r, FERRY_F32, RIG_LAST, 3, shape);
        rig_out(&r, FERRY_BF16, RIG_LAST, 3, shape);
        CU_ASSERT_EQUAL(!rig_table->query(rig_device, &r.op, &answer),
                        i == 2 && !strcmp(rig_set(), "bf16"));
        rig_end(&r);
    }
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void inner_products_of_many_rows_take_values(void)
{
    taken = 0;
    for (int i = 0; i < 10; i++) {
        const int64_t m = 33 + rig_random(40), k = 2 + rig_random(90), n = 33 + rig_random(40);
        double *got[1] = { NULL };
        struct rig r;

        rig_begin(&r, FERRY_OP_INNER_PRODUCT);
        rig_in(&r, any_dtype(), RIG_PLAIN, 2, (int64_t[]){ m, k });
        rig_in(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ n, k });
        rig_out(&r, FERRY_BF16, RIG_PLAIN, 2, (int64_t[]){ m, n });
        r.op.math = FERRY_MATH_BF16;
        r.op.constants = 2;
        fill(&r, 0);
        fill(&r, 1);
        if (is_taken(&r)) {
            CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&r, got), 0);
            for (int64_t at = 0; at < m * n; at++) {
                double sum = 0;

                for (int64_t j = 0; j < k; j++)
                    sum += r.in[0][at / n * k + j] * r.in[1][at % n * k + j];
                CU_ASSERT_FATAL(got[0][at] == round_bf16(sum));
            }
            free(got[0]);
        }
        rig_end(&r);
    }
    CU_ASSERT(strcmp(rig_set(), "bf16") || taken == 10);
}

static void nothing_is_taken_without_the_flag(void)
{
    const struct shape s = { 1, 64, 64, 1, 14, 1, 0 };
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    struct rig r;

    make(&r, &s, FERRY_BF16, FERRY_BF16, RIG_LAST);
    CU_ASSERT_EQUAL(!rig_table->query(rig_device, &r.op, &answer), !strcmp(rig_set(), "bf16"));
    r.op.math = 0;
    CU_ASSERT_EQUAL(rig_table->query(rig_device, &r.op, &answer), FERRY_EUNSUPPORTED);
    rig_end(&r);
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    static const struct shape all[] = { { 1, 130, 100, 1, 14, 1, 0 },
                                        { 1, 64, 64, 3, 14, 1, 1 },
                                        { 1, 64, 64, 3, 20, 2, 1 },
                                        { 64, 1, 1, 3, 14, 1, 1 } };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct rig r;

        make(&r, &all[i], FERRY_BF16, FERRY_BF16, RIG_LAST);
        r.op.math |= i == 1 ? FERRY_MATH_WINOGRAD : 0;
        if (is_taken(&r))
            rig_check_threads(&r);
        rig_end(&r);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(products_round_once),
    FERRY_TEST(row_major_images_of_three_channels_give_values),
    FERRY_TEST(winograds_tiles_read_and_write_values),
    FERRY_TEST(depthwise_convolutions_round_once),
    FERRY_TEST(values_are_rounded_to_nearest_even_and_nan_stays_nan),
    FERRY_TEST(pools_read_and_write_values),
    FERRY_TEST(functions_of_two_operands_round_once),
    FERRY_TEST(an_x_that_repeats_within_a_row_is_not_taken),
    FERRY_TEST(inner_products_of_many_rows_take_values),
    FERRY_TEST(nothing_is_taken_without_the_flag),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
};

int main(int argc, char **argv)
{
    return rig_main_with(argc, argv, "cpu-values", cases, sizeof(cases) / sizeof(cases[0]), sets);
}
