/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-rig.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Products that may be rounded to BF16 (FERRY_MATH_BF16), by the CPU plugin with each instruction
 * set, against sums in doubles. Each element has a bound of its own: a factor with 8 bits differs
 * by at most 2⁻⁸ of itself, and each of the n additions rounds the sum to 24 bits.
 */

static const char *const sets[] = { "bf16", "vnni", "avx512", "avx2", "portable", "amx", NULL };
/* The plugin whose AMX products a model of the instructions computes. */
static const char *const amx_sets[] = { "amx", NULL };
static const double half = 0x1p-8;
static int rounded, exact;

/* An element's sum, and that of the magnitudes of its terms. */
struct sum {
    double value, magnitude;
    int64_t terms;
};

static void add(struct sum *s, double x, double w)
{
    s->value += x * w;
    s->magnitude += fabs(x * w);
    s->terms++;
}

/* The largest error of a sum; `uses` is false for F32. */
static double bound_of(const struct sum *s, bool uses)
{
    double of_factors = uses ? 2 * half + half * half : 0;
    double of_sums = (double)(s->terms + 2) * FLT_EPSILON;

    /* denormal factors and products may be 0; x and w are below 2 */
    return s->magnitude * (of_factors + of_sums * (1 + of_factors)) +
           4 * (double)s->terms * (double)FLT_MIN;
}

static bool uses_bf16(const struct rig *r)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };

    CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r->op, &answer), 0);
    CU_ASSERT((answer.math & ~r->op.math) == 0);
    return (answer.math & FERRY_MATH_BF16) != 0;
}

/* ReLU, ADD and a bias do not enlarge the error by more than a rounding. */
static void check(const struct rig *r, const struct sum *sums, const double *got, bool uses)
{
    int64_t outputs = r->op.out[0].shape[1], inner = rig_count(&r->op.out[0]);
    uint32_t own = ferry_op_own_inputs(&r->op);
    const double *bias = own > 2 ? r->in[2] : NULL;

    inner = inner / r->op.out[0].shape[0] / outputs;
    for (int64_t i = 0; i < rig_count(&r->op.out[0]); i++) {
        struct sum s = sums[i];
        double want;

        if (bias)
            add(&s, bias[i / inner % outputs], 1);
        for (uint32_t k = 0; k < r->op.n_epilogue; k++)
            if (r->op.epilogue[k].step == FERRY_STEP_ADD)
                add(&s, r->in[r->op.epilogue[k].operand][i], 1);
        want = s.value;
        if (r->op.n_epilogue && r->op.epilogue[r->op.n_epilogue - 1].step == FERRY_STEP_UNARY)
            want *= want > 0 ? 1 : r->op.epilogue[r->op.n_epilogue - 1].a;
        if (!(fabs(got[i] - want) <= bound_of(&s, uses)))
            printf("element %lld: %.9g, not %.9g; the bound is %.3g\n", (long long)i, got[i], want,
                   bound_of(&s, uses));
        CU_ASSERT_FATAL(fabs(got[i] - want) <= bound_of(&s, uses));
    }
}

/* Runs the operation with the flag and checks it; frees all. */
static void run(struct rig *r, struct sum *sums)
{
    double *got[1] = { NULL };
    bool uses = uses_bf16(r);

    *(uses ? &rounded : &exact) += 1;
    CU_ASSERT_EQUAL_FATAL(rig_run_plugin(r, got), 0);
    check(r, sums, got[0], uses);
    free(got[0]);
    free(sums);
    rig_end(r);
}

/* Steps that tiles of BF16 apply in registers, and a slope, which they do not. */
static void add_steps(struct rig *r)
{
    if (rig_random(3) == 0)
        rig_step(r, FERRY_STEP_ADD, 0, 0, 0);
    if (rig_random(2))
        rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, rig_random(3) ? 0 : 0.25, 0);
}

/* ---- convolutions --------------------------------------------------------------------------- */

static struct sum pixel(const struct rig *r, int64_t image, int64_t output, const int64_t *at)
{
    const ferry_op_window *w = &r->op.params.window;
    const int64_t *x = r->op.in[0].shape, *k = r->op.in[1].shape;
    int64_t first = output / (r->op.out[0].shape[1] / w->group) * k[1];
    struct sum s = { 0, 0, 0 };

    for (int64_t c = 0; c < k[1]; c++)
        for (int64_t i = 0; i < k[2]; i++)
            for (int64_t j = 0; j < k[3]; j++) {
                int64_t row = at[0] * w->stride[0] - w->pad[0] + i * w->dilation[0];
                int64_t column = at[1] * w->stride[1] - w->pad[1] + j * w->dilation[1];

                if (row >= 0 && row < x[2] && column >= 0 && column < x[3])
                    add(&s, r->in[0][((image * x[1] + first + c) * x[2] + row) * x[3] + column],
                        r->in[1][((output * k[1] + c) * k[2] + i) * k[3] + j]);
            }
    return s;
}

static struct sum *convolve(const struct rig *r)
{
    const int64_t *y = r->op.out[0].shape;
    struct sum *sums = malloc(sizeof(*sums) * (size_t)(rig_count(&r->op.out[0]) + 1));

    for (int64_t i = 0; i < rig_count(&r->op.out[0]); i++)
        sums[i] = pixel(r, i / y[3] / y[2] / y[1], i / y[3] / y[2] % y[1],
                        (int64_t[]){ i / y[3] % y[2], i % y[3] });
    return sums;
}

/* x and y have these layouts. */
static void make_convolution_of(struct rig *r, int x_layout, int y_layout, int64_t group,
                                int64_t channels, int64_t outputs, int64_t kernel, int64_t side,
                                int64_t stride)
{
    ferry_op_window *w = &r->op.params.window;
    const int64_t dilation = 1 + (rig_random(4) == 0), pad = rig_random(3) ? kernel / 2 : 0;
    const int64_t reach = 2 * pad + side, seen = dilation * (kernel - 1) + 1;
    const int64_t x[4] = { 1 + rig_random(2), group * channels, side, side + rig_random(5) };
    const int64_t k[4] = { group * outputs, channels, kernel, kernel };
    const int64_t y[4] = { x[0], k[0], (reach - seen) / stride + 1,
                           (reach - side + x[3] - seen) / stride + 1 };

    rig_begin(r, FERRY_OP_CONVOLUTION);
    w->axes = 2;
    w->group = (uint32_t)group;
    for (int a = 0; a < 2; a++) {
        w->kernel[a] = kernel;
        w->stride[a] = stride;
        w->dilation[a] = dilation;
        w->pad[a] = w->pad_end[a] = pad;
    }
    rig_in(r, FERRY_F32, x_layout, 4, x);
    rig_in(r, FERRY_F32, (int)rig_random(RIG_LAYOUTS), 4, k);
    if (rig_random(2))
        rig_in(r, FERRY_F32, RIG_PLAIN, 1, &k[0]);
    rig_out(r, FERRY_F32, y_layout, 4, y);
    r->op.math = FERRY_MATH_BF16;
    r->op.constants = 2;
    add_steps(r);
}

static void make_convolution(struct rig *r, int64_t group, int64_t channels, int64_t outputs,
                             int64_t kernel, int64_t side, int64_t stride)
{
    int last = rig_random(4) > 0 ? RIG_LAST : (int)rig_random(RIG_LAYOUTS);

    make_convolution_of(r, last, last, group, channels, outputs, kernel, side, stride);
}

static void make_image(struct rig *r, int i)
{
    make_convolution_of(r, RIG_PLAIN, RIG_LAST, 1, 3, 20 + 5 * i, i % 2 ? 3 : 7, 14 + i, 1 + i / 4);
}

/* Whether the set multiplies numbers of BF16. */
static bool has_products(void)
{
    return strcmp(rig_set(), "bf16") == 0 || strcmp(rig_set(), "amx") == 0;
}

static bool is_portable(void)
{
    return strcmp(rig_set(), "portable") == 0;
}

static void convolutions_are_within_their_bounds(void)
{
    int n = ferry_test_is_slow() ? 12 : 60;

    rounded = exact = 0;
    for (int i = 0; i < n; i++) {
        static const int64_t kernels[] = { 1, 1, 3, 5, 7 };
        int64_t group = rig_random(6) == 0 ? 2 : 1, kernel = kernels[rig_random(5)];
        int64_t channels = 1 + rig_random(kernel > 3 ? 9 : i % 5 == 0 ? 300 : 70);
        struct rig r;

        make_convolution(&r, group, channels, 1 + rig_random(70), kernel,
                         2 * kernel + rig_random(8), 1 + rig_random(2));
        run(&r, convolve(&r));
    }
    CU_ASSERT(is_portable() ? rounded == 0 : rounded > n / 8);
    CU_ASSERT(exact > 0 || ferry_test_is_slow()); /* few draws may have none */
}

/* A window; its padding may exceed the kernel, and the image be small along three axes. */
static void draw_window(ferry_op_window *w, struct rig_shape *s, uint32_t axes, int64_t most)
{
    const int is_dense = rig_random(2) != 0, is_near = rig_random(3) != 0;

    w->axes = axes;
    for (uint32_t a = 0; a < axes; a++) {
        w->kernel[a] = 1 + rig_random(3);
        w->stride[a] = is_dense ? 1 : 1 + rig_random(2);
        w->dilation[a] = 1 + (rig_random(4) == 0);
        w->pad[a] = rig_random(is_near ? w->kernel[a] : 6);
        w->pad_end[a] = rig_random(is_near ? w->kernel[a] : 6);
        s->in[a] = w->dilation[a] * (w->kernel[a] - 1) + 1 + rig_random(axes == 3 ? 3 : most);
        while (rig_axis_after(w, a, s->in[a]) < 1)
            s->in[a]++;
    }
}

/* Any convolution of multiples of 1/8: their products and sums are exact, also in BF16. */
static void make_exact(struct rig *r, int is_image)
{
    const int64_t group = rig_random(2) ? 1 : 2 + rig_random(2);
    struct rig_shape s = { 1 + rig_random(2), group * (1 + rig_random(20)),
                           group * (1 + rig_random(50)), { 0 } };
    int x = rig_random(2) ? RIG_LAST : (int)rig_random(RIG_LAYOUTS);
    int y = rig_random(4) ? RIG_LAST : (int)rig_random(RIG_LAYOUTS);

    rig_begin(r, FERRY_OP_CONVOLUTION);
    r->op.params.window.group = (uint32_t)group;
    r->op.params.window.transposed = rig_random(4) == 0;
    if (is_image) { /* three channels, in one group or in three */
        r->op.params.window.group = rig_random(2) ? 1 : 3;
        s.channels = 3;
        s.outputs = 3 * (16 + rig_random(20));
        x = rig_random(3) ? RIG_APART : (int)rig_random(RIG_LAYOUTS);
    }
    draw_window(&r->op.params.window, &s, is_image ? 2 : 1 + (uint32_t)rig_random(3),
                is_image ? 24 : 9);
    rig_convolution(r, FERRY_F32, &s, x, (int)rig_random(RIG_LAYOUTS), y,
                    (enum rig_bias)rig_random(RIG_BIASES));
    r->op.math = FERRY_MATH_BF16;
    for (uint32_t i = 0; i < r->op.n_in; i++)
        for (int64_t k = 0; k < rig_count(&r->op.in[i]); k++)
            r->in[i][k] = rint(r->in[i][k] * 8) / 8;
    r->tolerance = 1e-12;
}

static void exact_convolutions_equal_those_of_the_oracle(void)
{
    int n = ferry_test_is_slow() ? 40 : 160;

    rounded = 0;
    for (int i = 0; i < n; i++) {
        struct rig r;

        make_exact(&r, i % 4 == 0);
        rounded += uses_bf16(&r);
        rig_run(&r, NULL);
    }
    CU_ASSERT(!has_products() || rounded > n / 8);
}

/* First layers read row-major images of three channels where they are. */
static void first_layers_read_planes(void)
{
    for (int i = 0; i < 8; i++) {
        ferry_op_answer answer = { .struct_size = sizeof(answer) };
        struct rig r;

        make_image(&r, i);
        CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &answer), 0);
        if (has_products() && r.op.params.window.dilation[1] == 1)
            CU_ASSERT_EQUAL(answer.order[1], 0); /* no other order is faster */
        run(&r, convolve(&r));
    }
}

/* Makes an element of x infinite, runs the operation, and frees it. */
static void check_infinite(struct rig *r, int64_t at)
{
    double *got[1] = { NULL };
    struct sum *want;

    if (r->op.n_epilogue) { /* ReLU may hide it */
        rig_end(r);
        return;
    }
    r->in[0][at] = INFINITY;
    want = convolve(r);
    CU_ASSERT_EQUAL_FATAL(rig_run_plugin(r, got), 0);
    for (int64_t k = 0; k < rig_count(&r->op.out[0]); k++)
        CU_ASSERT_EQUAL(isfinite(got[0][k]) != 0, isfinite(want[k].value) != 0);
    free(got[0]);
    free(want);
    rig_end(r);
}

/* A pixel beside a window is not multiplied, not even by zeros. */
static void an_infinite_pixel_reaches_its_windows_only(void)
{
    for (int i = 0; i < 36; i++) {
        struct rig r;

        if (i % 4 == 0)
            make_image(&r, i / 4);
        else
            make_convolution(&r, 1, 1 + i / 3, 40, i % 4 < 2 ? 3 : 7, 14, 1 + i % 2);
        check_infinite(&r, (i * 11 + 70) % rig_count(&r.op.in[0]));
    }
    for (int i = 0; i < 8; i++) { /* 51 pairs along a line of taps, which no step of AMX divides */
        struct rig r;

        make_convolution(&r, 1, 34, 40, 3, 14, 1);
        check_infinite(&r, 7 * r.op.in[0].shape[3] + 7);
    }
}

/* ---- inner products ------------------------------------------------------------------------- */

static void make_inner_product(struct rig *r, int64_t m, int64_t n, const int64_t *row)
{
    const int64_t x[4] = { m, row[0], row[1], row[2] }, w[2] = { n, row[0] * row[1] * row[2] };

    rig_begin(r, FERRY_OP_INNER_PRODUCT);
    rig_in(r, FERRY_F32, rig_random(2) ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), 4, x);
    rig_in(r, FERRY_F32, (int)rig_random(RIG_LAYOUTS), 2, w);
    if (rig_random(2))
        rig_in(r, FERRY_F32, RIG_PLAIN, 1, &n);
    rig_out(r, FERRY_F32, rig_random(3) ? RIG_PLAIN : (int)rig_random(RIG_LAYOUTS), 2,
            (int64_t[]){ m, n });
    r->op.math = FERRY_MATH_BF16;
    r->op.constants = 2;
}

static struct sum *multiply(const struct rig *r)
{
    int64_t m = r->op.out[0].shape[0], n = r->op.out[0].shape[1], k = r->op.in[1].shape[1];
    struct sum *sums = calloc((size_t)(m * n), sizeof(*sums));

    for (int64_t i = 0; i < m * n; i++)
        for (int64_t j = 0; j < k; j++)
            add(&sums[i], r->in[0][i / n * k + j], r->in[1][i % n * k + j]);
    return sums;
}

static void inner_products_are_within_their_bounds(void)
{
    rounded = exact = 0;
    for (int i = 0; i < 60; i++) {
        int64_t row[3] = { 1 + rig_random(i % 5 == 0 ? 500 : 40), 1 + rig_random(4),
                           1 + rig_random(4) };
        struct rig r;

        make_inner_product(&r, 1 + rig_random(i % 7 == 0 ? 90 : 20), 1 + rig_random(90), row);
        add_steps(&r);
        run(&r, multiply(&r));
    }
    CU_ASSERT(is_portable() ? rounded == 0 && exact == 60 : rounded > 30);
}

/* Sums of one product: the weight is rounded once, to nearest even, also where it overflows. */
static void weights_are_rounded_to_nearest_even(void)
{
    static const struct {
        double w, want;
    } all[] = {
        { 0x1.01p0, 0x1p0 },          /* a tie, rounded down to even */
        { 0x1.03p0, 0x1.04p0 },       /* a tie, rounded up to even */
        { 0x1.010002p0, 0x1.02p0 },   /* above a tie */
        { -0x1.00fffep0, -0x1p0 },    /* below a tie */
        { 0x1.fffffep127, INFINITY }, /* beyond the largest number */
        { -INFINITY, -INFINITY },     { 0x1.fep127, 0x1.fep127 },
    };
    const int64_t n = sizeof(all) / sizeof(all[0]);
    double *got[1] = { NULL };
    struct rig r;

    make_inner_product(&r, 1, n, (int64_t[]){ 1, 1, 1 });
    r.in[0][0] = 1;
    if (r.op.n_in > 2)
        memset(r.in[2], 0, sizeof(double) * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        r.in[1][i] = all[i].w;
    if (uses_bf16(&r)) {
        CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&r, got), 0);
        for (int64_t i = 0; i < n; i++)
            CU_ASSERT_EQUAL(got[0][i], all[i].want);
        free(got[0]);
    }
    rig_end(&r);
}

/* A signalling NaN whose upper bits are zeros would become an infinity by cutting. */
static void nan_stays_nan(void)
{
    const int64_t row[3] = { 40, 1, 1 };
    double *got[1] = { NULL };
    struct rig r;

    for (int in = 0; in < 2; in++) {
        make_inner_product(&r, 1, 40, row);
        r.in[in][7] = NAN;
        CU_ASSERT_EQUAL_FATAL(rig_run_plugin(&r, got), 0);
        for (int64_t i = 0; i < 40; i++)
            CU_ASSERT_EQUAL(isnan(got[0][i]) != 0, in == 0 || i == 0);
        free(got[0]);
        rig_end(&r);
    }
}

/* ---- the flag ------------------------------------------------------------------------------- */

/* Without the flag, BF16 is not used; without pairs, nor for weights that change in each run. */
static void nothing_is_rounded_without_the_flag(void)
{
    for (int i = 0; i < 2; i++) {
        ferry_op_answer plain = { .struct_size = sizeof(plain) }, with = plain;
        struct rig r;

        make_inner_product(&r, 1, 64, (int64_t[]){ 64, 1, 1 });
        CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &with), 0);
        if (i == 0)
            r.op.math = 0;
        else
            r.op.constants = 0;
        CU_ASSERT_EQUAL_FATAL(rig_table->query(rig_device, &r.op, &plain), 0);
        CU_ASSERT_EQUAL(plain.math, i == 1 && strcmp(rig_set(), "bf16") == 0 ? with.math : 0);
        if (with.math) {
            CU_ASSERT_EQUAL(with.packed_bytes, 64 * 64 * 2);
            CU_ASSERT_NOT_EQUAL(with.packed_key, plain.packed_key);
        }
        rig_end(&r);
    }
}

static void results_do_not_depend_on_the_number_of_threads(void)
{
    struct rig r;

    make_convolution(&r, 1, 130, 100, 3, 6, 1);
    rig_check_threads(&r);
    rig_end(&r);
    for (int i = 0; i < 6; i++) { /* planes are read, of few lines for many threads */
        make_convolution_of(&r, RIG_PLAIN, RIG_LAST, 1, 3, 32, 3, 14, 1);
        rig_check_threads(&r);
        rig_end(&r);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(convolutions_are_within_their_bounds),
    FERRY_TEST(exact_convolutions_equal_those_of_the_oracle),
    FERRY_TEST(first_layers_read_planes),
    FERRY_TEST(an_infinite_pixel_reaches_its_windows_only),
    FERRY_TEST(inner_products_are_within_their_bounds),
    FERRY_TEST(weights_are_rounded_to_nearest_even),
    FERRY_TEST(nan_stays_nan),
    FERRY_TEST(nothing_is_rounded_without_the_flag),
    FERRY_TEST(results_do_not_depend_on_the_number_of_threads),
};

int main(int argc, char **argv)
{
    const size_t n = sizeof(cases) / sizeof(cases[0]);
    int result = rig_main_with(argc, argv, "cpu-bf16", cases, n, sets);

    rig_plugin = "tests/plugins/amx/ferry_cpu.so";
    return ferry_test_worse(
        result, rig_main_with(argc, argv, "cpu-bf16, AMX's model", cases, n, amx_sets));
}
