/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer-cases.h"

#include "op-rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Factors are powers of two, so that every number but the last rounding is exact: results have to
 * be equal.
 */

static int taken, refused;

static int rounds(void)
{
    int n = getenv("FERRY_TEST_QUICK") ? 40 : 120;

    return ferry_test_is_slow() ? n / 4 : n;
}

static uint32_t bytes(void)
{
    return rig_random(2) ? FERRY_U8 : FERRY_I8;
}

static uint32_t any(void)
{
    return rig_random(2) ? bytes() : FERRY_F32;
}

/* Whole numbers of the dtype's range, its ends among them; of F32 up to 100 on either side. */
static void fill(const ferry_operand *o, double *values)
{
    double low = o->dtype == FERRY_U8 ? 0 : o->dtype == FERRY_I8 ? -128 : -100;
    double high = o->dtype == FERRY_U8 ? 255 : o->dtype == FERRY_I8 ? 127 : 100;

    for (int64_t i = 0; i < rig_count(o); i++) {
        int64_t pick = rig_random(10);

        values[i] = pick == 0   ? low
                    : pick == 1 ? high
                                : low + (double)rig_random((int64_t)(high - low) + 1);
    }
}

void integer_in(struct rig *r, uint32_t dtype, int layout, uint32_t rank, const int64_t *shape)
{
    double *values = rig_in(r, dtype, layout, rank, shape);

    fill(&r->op.in[r->op.n_in - 1], values);
}

/* A step whose operand is not of y's dtype. */
static void add_step(struct rig *r, uint32_t step, uint32_t dtype, double value)
{
    const ferry_operand *y = &r->op.out[0];
    ferry_op_step *s = &r->op.epilogue[r->op.n_epilogue++];

    *s = (ferry_op_step){ .step = step, .operand = r->op.n_in };
    if (step == FERRY_STEP_ADD) {
        integer_in(r, dtype, rig_random(2) ? RIG_LAST : RIG_SLICE, y->rank, y->shape);
        return;
    }
    integer_in(r, FERRY_F32, RIG_PLAIN, 1, &y->shape[1]);
    for (int64_t i = 0; i < y->shape[1]; i++)
        r->in[r->op.n_in - 1][i] = ldexp(value, -(int)rig_random(3));
}

void integer_steps(struct rig *r)
{
    int scales = rig_random(4) > 0;

    if (scales)
        add_step(r, FERRY_STEP_SCALE, 0, 0x1p-6);
    if (rig_random(3) == 0)
        add_step(r, FERRY_STEP_ADD, any(), 0);
    switch (rig_random(4)) {
    case 0:
        rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
        break;
    case 1:
        rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0.25, 0);
        break;
    case 2:
        rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_CLIP, -40, 90.5);
        break;
    default:
        break;
    }
    if (rig_random(2)) {
        rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_POWER, 1, scales ? 0.5 : 0x1p-7);
        r->op.epilogue[r->op.n_epilogue - 1].c = (double)rig_random(3);
    }
}

/* Runs the operation if the plugin accepts it; otherwise frees it. */
static void run(struct rig *r)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };

    r->tolerance = 1e-12;
    if (rig_table->query(rig_device, &r->op, &answer) == 0) {
        CU_ASSERT_EQUAL(answer.epilogue, r->op.n_epilogue);
        CU_ASSERT(answer.cost <= FERRY_OP_COST_F32_FASTER);
        taken++;
        rig_run(r, NULL);
    } else {
        refused++;
        rig_end(r);
    }
}

/* Instruction sets without vectors of bytes leave integers to F32. */
static void check_taken(int least)
{
    CU_ASSERT(taken == 0 ? refused > 0 : taken >= least);
    if (taken && taken < least)
        printf("%d taken, %d refused\n", taken, refused);
    taken = refused = 0;
}

/*
 * Adds the window's axes, and x, the weights, at times a bias, and y. The images and channels of
 * the shapes are set.
 */
static void add_window(struct rig *r, int64_t most_kernel, int64_t *x, int64_t *k, int64_t *y)
{
    ferry_op_window *w = &r->op.params.window;
    int dense = rig_random(4) > 0;

    w->axes = 1 + (uint32_t)rig_random(3);
    for (uint32_t a = 0; a < w->axes; a++) {
        w->kernel[a] = 1 + rig_random(most_kernel);
        w->stride[a] = 1 + rig_random(2);
        w->dilation[a] = 1 + rig_random(2);
        w->pad[a] = rig_random(3);
        w->pad_end[a] = rig_random(3);
        x[2 + a] = w->dilation[a] * (w->kernel[a] - 1) + 1 + rig_random(9);
        k[2 + a] = w->kernel[a];
        y[2 + a] =
            (x[2 + a] + w->pad[a] + w->pad_end[a] - w->dilation[a] * (w->kernel[a] - 1) - 1) /
                w->stride[a] +
            1;
    }
    integer_in(r, bytes(), dense ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), 2 + w->axes, x);
    integer_in(r, FERRY_I8, (int)rig_random(RIG_LAYOUTS), 2 + w->axes, k);
    if (rig_random(2))
        integer_in(r, FERRY_F32, RIG_PLAIN, 1, &k[0]);
    rig_out(r, any(), dense ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), 2 + w->axes, y);
    r->op.constants = rig_random(3) ? 2 : 0;
}

static void make_convolution(struct rig *r, int64_t most_channels)
{
    int64_t group = rig_random(5) == 0 ? 2 : 1, channels = group * (1 + rig_random(most_channels));
    int64_t outputs = group * (1 + rig_random(70));
    int64_t x[5] = { 1 + rig_random(3), channels }, k[5] = { outputs, channels / group };
    int64_t y[5] = { x[0], outputs };

    rig_begin(r, FERRY_OP_CONVOLUTION);
    r->op.params.window.group = (uint32_t)group;
    add_window(r, 3, x, k, y);
    integer_steps(r);
}

static void convolutions_of_integers_agree_with_the_oracle(void)
{
    int n = rounds();

    for (int i = 0; i < n; i++) {
        struct rig r;

        make_convolution(&r, i % 4 == 0 ? 66 : 12);
        run(&r);
    }
    check_taken(n / 2);
}

/* One channel in each group; the numbers of channels are on either side of those of a vector. */
static void make_depthwise(struct rig *r)
{
    static const int64_t channels[] = { 1, 3, 4, 15, 16, 31, 32, 33, 63, 64, 65, 96, 130 };
    int64_t c = channels[rig_random(FERRY_TEST_COUNT(channels))];
    int64_t x[5] = { 1 + rig_random(2), c }, k[5] = { c, 1 }, y[5] = { x[0], c };

    rig_begin(r, FERRY_OP_CONVOLUTION);
    r->op.params.window.group = (uint32_t)c;
    add_window(r, rig_random(2) ? 3 : 6, x, k, y);
    if (rig_random(2)) {
        add_step(r, FERRY_STEP_SCALE, 0, 0x1p-4);
        if (rig_random(2))
            rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
    } else {
        integer_steps(r);
    }
}

static void depthwise_convolutions_of_integers_agree_with_the_oracle(void)
{
    int n = 3 * rounds();

    for (int i = 0; i < n; i++) {
        struct rig r;

        make_depthwise(&r);
        run(&r);
    }
    check_taken(n);
}

/* Lines of few channels with padding, of several images. */
static void first_layers_of_integers_agree_with_the_oracle(void)
{
    int n = ferry_test_is_slow() ? 6 : 20;

    for (int i = 0; i < n; i++) {
        int64_t channels = 1 + rig_random(5), kernel = 1 + 2 * rig_random(4), outputs = 40;
        int64_t pad = rig_random(kernel), size = kernel + 12 + rig_random(20);
        int64_t stride = 1 + rig_random(2), out = (size + 2 * pad - kernel) / stride + 1;
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window.axes = 2;
        r.op.params.window.group = 1;
        for (int a = 0; a < 2; a++) {
            r.op.params.window.kernel[a] = kernel;
            r.op.params.window.stride[a] = stride;
            r.op.params.window.dilation[a] = 1;
            r.op.params.window.pad[a] = r.op.params.window.pad_end[a] = pad;
        }
        integer_in(&r, bytes(), RIG_LAST, 4, (int64_t[]){ 2, channels, size, size });
        integer_in(&r, FERRY_I8, RIG_PLAIN, 4, (int64_t[]){ outputs, channels, kernel, kernel });
        rig_out(&r, any(), RIG_LAST, 4, (int64_t[]){ 2, outputs, out, out });
        r.op.constants = 2;
        integer_steps(&r);
        run(&r);
    }
    check_taken(n);
}

/* 1 × 1 in place, which needs channels in fours and no padding. */
static void convolutions_of_unpacked_pixels_agree(void)
{
    for (int i = 0; i < 20; i++) {
        int64_t channels = 4 * (1 + rig_random(40)), outputs = 1 + rig_random(100);
        int64_t h = 1 + rig_random(9), width = 2 + rig_random(20);
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window.axes = 2;
        r.op.params.window.group = 1;
        for (int a = 0; a < 2; a++)
            r.op.params.window.kernel[a] = r.op.params.window.stride[a] =
                r.op.params.window.dilation[a] = 1;
        integer_in(&r, FERRY_U8, RIG_LAST, 4, (int64_t[]){ 2, channels, h, width });
        integer_in(&r, FERRY_I8, RIG_PLAIN, 4, (int64_t[]){ outputs, channels, 1, 1 });
        rig_out(&r, any(), RIG_LAST, 4, (int64_t[]){ 2, outputs, h, width });
        r.op.constants = 2;
        integer_steps(&r);
        run(&r);
    }
    check_taken(20);
}

static void set_window(struct rig *r, int64_t kernel, int64_t dilation)
{
    r->op.params.window.axes = 2;
    r->op.params.window.group = 1;
    for (int a = 0; a < 2; a++) {
        r->op.params.window.kernel[a] = kernel;
        r->op.params.window.stride[a] = 1;
        r->op.params.window.dilation[a] = dilation;
    }
}

/* Whether the instruction set has integer arithmetic: a copy with a factor needs it. */
static bool has_integers(void)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };
    struct rig r;
    int err;

    rig_begin(&r, FERRY_OP_STRIDED_COPY);
    integer_in(&r, FERRY_U8, RIG_PLAIN, 4, (int64_t[]){ 1, 1, 1, 1 });
    rig_out(&r, FERRY_F32, RIG_PLAIN, 4, (int64_t[]){ 1, 1, 1, 1 });
    rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_POWER, 1, 0.5);
    err = rig_table->query(rig_device, &r.op, &answer);
    rig_end(&r);
    return err == 0;
}

/* The workspace of an operation that is not run; 0: the plugin does not accept it. */
static uint64_t workspace_of(const struct rig *r)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };

    return rig_table->query(rig_device, &r->op, &answer) == 0 ? answer.workspace_bytes : 0;
}

static ferry_operand operand_of(uint32_t dtype, const int64_t *shape)
{
    ferry_operand o = { .dtype = dtype, .rank = 4 };
    int64_t step = 1;

    for (int i = 4; i-- > 0; step *= shape[i]) {
        o.shape[i] = shape[i];
        o.stride[i] = step;
    }
    return o;
}

/* Rows of dilated windows are gathered, and those of a long line in pieces. */
static void long_lines_of_gathered_rows_take_bounded_memory(void)
{
    const int64_t width = 1 << 20;
    struct rig r;

    for (int i = 0; i < 2; i++) {
        rig_begin(&r, FERRY_OP_CONVOLUTION);
        set_window(&r, 3, 2);
        integer_in(&r, bytes(), RIG_LAST, 4, (int64_t[]){ 1, 260, 7, 134 });
        integer_in(&r, FERRY_I8, RIG_PLAIN, 4, (int64_t[]){ 20, 260, 3, 3 });
        rig_out(&r, any(), RIG_SLICE, 4, (int64_t[]){ 1, 20, 3, 130 });
        r.op.constants = 2;
        integer_steps(&r);
        run(&r);
    }
    check_taken(2);
    rig_begin(&r, FERRY_OP_CONVOLUTION);
    set_window(&r, 3, 2);
    r.op.n_in = 2;
    r.op.in[0] = operand_of(FERRY_U8, (int64_t[]){ 2, 16, 7, width + 4 });
    r.op.in[1] = operand_of(FERRY_I8, (int64_t[]){ 20, 16, 3, 3 });
    r.op.n_out = 1;
    r.op.out[0] = operand_of(FERRY_U8, (int64_t[]){ 2, 20, 3, width });
    r.op.constants = 2;
    CU_ASSERT(workspace_of(&r) < 64 << 20);
    CU_ASSERT(!has_integers() || workspace_of(&r) > 0);
    rig_end(&r);
}

/* The lines that a window reaches, times the bytes of a line, are almost 2^64. */
static void sizes_of_copied_lines_do_not_overflow(void)
{
    const int64_t reach = (int64_t)1 << 33, width = ((int64_t)1 << 28) - 1;
    struct rig r;

    rig_begin(&r, FERRY_OP_CONVOLUTION);
    set_window(&r, 1, 1);
    r.op.params.window.kernel[0] = 2;
    r.op.params.window.dilation[0] = reach - 1;
    r.op.params.window.pad[0] = r.op.params.window.pad_end[0] = reach / 2;
    r.op.n_in = 2;
    r.op.in[0] = operand_of(FERRY_U8, (int64_t[]){ 1, 8, 1, width });
    r.op.in[1] = operand_of(FERRY_I8, (int64_t[]){ 4096, 8, 2, 1 });
    r.op.n_out = 1;
    r.op.out[0] = operand_of(FERRY_U8, (int64_t[]){ 1, 4096, 2, width });
    r.op.constants = 2;
    CU_ASSERT(workspace_of(&r) < 4 << 20);
    CU_ASSERT(!has_integers() || workspace_of(&r) > 0);
    rig_end(&r);
}

/* Large enough for several threads, rows and panels. */
static void a_large_convolution_agrees_with_the_oracle(void)
{
    for (int i = 0; i < 2; i++) {
        struct rig r;

        rig_begin(&r, FERRY_OP_CONVOLUTION);
        r.op.params.window.axes = 2;
        r.op.params.window.group = 1;
        for (int a = 0; a < 2; a++) {
            r.op.params.window.kernel[a] = 3;
            r.op.params.window.stride[a] = r.op.params.window.dilation[a] = 1;
            r.op.params.window.pad[a] = r.op.params.window.pad_end[a] = 1;
        }
        integer_in(&r, i ? FERRY_I8 : FERRY_U8, RIG_LAST, 4, (int64_t[]){ 1, 70, 23, 17 });
        integer_in(&r, FERRY_I8, RIG_PLAIN, 4, (int64_t[]){ 90, 70, 3, 3 });
        rig_out(&r, FERRY_U8, RIG_LAST, 4, (int64_t[]){ 1, 90, 23, 17 });
        r.op.constants = 2;
        add_step(&r, FERRY_STEP_SCALE, 0, 0x1p-10);
        run(&r);
    }
    check_taken(2);
}

static void inner_products_of_integers_agree_with_the_oracle(void)
{
    for (int i = 0; i < 60; i++) {
        int64_t m = 1 + rig_random(20), n = 1 + rig_random(80), c = 1 + rig_random(40);
        int64_t h = 1 + rig_random(4), width = 1 + rig_random(4), k = c * h * width;
        struct rig r;

        rig_begin(&r, FERRY_OP_INNER_PRODUCT);
        integer_in(&r, bytes(), rig_random(2) ? RIG_LAST : RIG_PLAIN, 4,
                   (int64_t[]){ m, c, h, width });
        integer_in(&r, FERRY_I8, (int)rig_random(RIG_LAYOUTS), 2, (int64_t[]){ n, k });
        if (rig_random(2))
            integer_in(&r, FERRY_F32, RIG_PLAIN, 1, &n);
        rig_out(&r, any(), rig_random(3) ? RIG_PLAIN : (int)rig_random(RIG_LAYOUTS), 2,
                (int64_t[]){ m, n });
        r.op.constants = rig_random(3) ? 2 : 0;
        integer_steps(&r);
        run(&r);
    }
    check_taken(60);
}

/* The longest sum of the largest products, which 32 bits hold. */
static void the_longest_sum_does_not_overflow(void)
{
    int64_t k = INT32_MAX / (255 * 128);

    for (int i = 0; i < 2; i++) {
        struct rig r;

        rig_begin(&r, FERRY_OP_INNER_PRODUCT);
        integer_in(&r, i ? FERRY_I8 : FERRY_U8, RIG_PLAIN, 2, (int64_t[]){ 1, k });
        integer_in(&r, FERRY_I8, RIG_PLAIN, 2, (int64_t[]){ 3, k });
        rig_out(&r, FERRY_F32, RIG_PLAIN, 2, (int64_t[]){ 1, 3 });
        for (int64_t j = 0; j < k; j++) {
            r.in[0][j] = i ? -128 : 255;
            r.in[1][j] = r.in[1][k + j] = -128;
            r.in[1][2 * k + j] = 127;
        }
        r.op.constants = 2;
        run(&r);
    }
    check_taken(2);
}

static void pooling_of_integers_agrees_with_the_oracle(void)
{
    for (int i = 0; i < 60; i++) {
        int64_t x[4] = { 1 + rig_random(2), 1 + rig_random(150) }, y[4] = { x[0], x[1] };
        int average = rig_random(2) != 0;
        uint32_t dtype = bytes();
        struct rig r;

        rig_begin(&r, FERRY_OP_POOL);
        r.op.params.window.axes = 2;
        r.op.params.window.group = 1;
        r.op.params.pool.method = average ? FERRY_POOL_AVERAGE : FERRY_POOL_MAX;
        for (int a = 0; a < 2; a++) {
            /* divisors are powers of two: an average is exact */
            int64_t kernel = average ? 2 : 1 + rig_random(3), stride = 1 + rig_random(2);

            r.op.params.window.kernel[a] = kernel;
            r.op.params.window.stride[a] = stride;
            r.op.params.window.dilation[a] = 1;
            x[2 + a] = kernel + rig_random(6);
            y[2 + a] = (x[2 + a] - kernel) / stride + 1;
        }
        integer_in(&r, dtype, rig_random(3) ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), 4, x);
        rig_out(&r, rig_random(2) ? dtype : any(),
                rig_random(3) ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), 4, y);
        if (rig_random(2))
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_POWER, 1, 0.5);
        run(&r);
    }
    check_taken(60);
}

static void conversions_of_integers_agree_with_the_oracle(void)
{
    for (int i = 0; i < 60; i++) {
        const int64_t shape[4] = { 2, 1 + rig_random(i % 4 ? 40 : 8), 1 + rig_random(9),
                                   1 + rig_random(50) };
        int from_floats = rig_random(2) != 0, are_planes = i % 4 == 0;
        struct rig r;

        rig_begin(&r, FERRY_OP_STRIDED_COPY);
        integer_in(&r, from_floats ? FERRY_F32 : bytes(),
                   are_planes ? RIG_PLAIN : (int)rig_random(RIG_LAYOUTS), 4, shape);
        rig_out(&r, from_floats ? bytes() : any(),
                are_planes ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), 4, shape);
        rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_POWER, 1, ldexp(1, (int)rig_random(5) - 2));
        r.op.epilogue[0].c = (double)rig_random(9) - 4;
        if (from_floats && r.in[0]) {
            r.in[0][0] = NAN;
            if (shape[3] > 2) {
                r.in[0][1] = INFINITY;
                r.in[0][2] = -1e30;
            }
        }
        run(&r);
    }
    check_taken(60);
}

/* A scale and a shift of each channel, and bounds, before the conversion: as of BatchNorm. */
static void scales_and_shifts_of_channels_agree_with_the_oracle(void)
{
    for (int i = 0; i < 60; i++) {
        const int64_t shape[4] = { 2, 1 + rig_random(150), 1 + rig_random(9), 1 + rig_random(20) };
        int layout = i % 2 ? RIG_LAST : (int)rig_random(RIG_LAYOUTS);
        int scales = rig_random(4) > 0, shifts = !scales || rig_random(4);
        struct rig r;

        rig_begin(&r, FERRY_OP_STRIDED_COPY);
        integer_in(&r, rig_random(2) ? FERRY_F32 : bytes(), layout, 4, shape);
        rig_out(&r, bytes(), i % 2 ? RIG_LAST : (int)rig_random(RIG_LAYOUTS), 4, shape);
        if (r.op.in[0].dtype != FERRY_F32) { /* the grid of its integers */
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_POWER, 1, ldexp(1, (int)rig_random(3) - 2));
            r.op.epilogue[0].c = (double)rig_random(9) - 4;
        }
        if (scales)
            add_step(&r, FERRY_STEP_SCALE, 0, 2);
        if (shifts)
            add_step(&r, FERRY_STEP_SHIFT, 0, 16);
        if (rig_random(2))
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
        else if (rig_random(2))
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_CLIP, -40, 90.5);
        if (rig_random(4) && r.op.n_epilogue < FERRY_OP_EPILOGUE)
            rig_step(&r, FERRY_STEP_UNARY, FERRY_UNARY_POWER, 1, rig_random(8) ? 0.5 : -0.5);
        run(&r);
    }
    check_taken(60);
}

/* A conversion to bytes with a scale and a shift, at times ReLU, and at the end a factor. */
static void make_affine(struct rig *r, const int *dtypes, const int *layouts, int bounds,
                        double factor)
{
    const int64_t shape[4] = { 1, 33, 3, 5 };

    rig_begin(r, FERRY_OP_STRIDED_COPY);
    integer_in(r, (uint32_t)dtypes[0], layouts[0], 4, shape);
    rig_out(r, (uint32_t)dtypes[1], layouts[1], 4, shape);
    add_step(r, FERRY_STEP_SCALE, 0, 2);
    add_step(r, FERRY_STEP_SHIFT, 0, 16);
    if (bounds)
        rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_RELU, 0, 0);
    rig_step(r, FERRY_STEP_UNARY, FERRY_UNARY_POWER, 1, factor);
}

/* A negative factor turns the bounds of ReLU. */
static void negative_factors_agree_with_the_oracle(void)
{
    static const int dtypes[][2] = { { FERRY_F32, FERRY_I8 },
                                     { FERRY_I8, FERRY_I8 },
                                     { FERRY_U8, FERRY_U8 } };
    static const int layouts[][2] = { { RIG_LAST, RIG_LAST }, { RIG_PLAIN, RIG_LAST } };

    for (int i = 0; i < 6; i++) {
        struct rig r;

        make_affine(&r, dtypes[i / 2], layouts[i % 2], 1, -0.5);
        run(&r);
    }
    check_taken(6);
}

/* NaN becomes the byte 0, wherever it comes from: a scale or a shift. */
static void unknown_scales_and_shifts_give_zeros(void)
{
    static const int from[] = { FERRY_F32, FERRY_I8, FERRY_U8 }, to[] = { FERRY_I8, FERRY_U8 };
    static const int both[] = { RIG_PLAIN, RIG_LAST, RIG_SLICE, RIG_APART };

    for (int i = 0; i < 48; i++) {
        const int dtypes[] = { from[i / 16], to[i / 8 % 2] };
        const int layouts[] = { both[i / 2 % 4], both[i / 2 % 4] };
        struct rig r;

        make_affine(&r, dtypes, layouts, 0, 0.5);
        r.in[1 + i % 2][7] = r.in[1 + i % 2][32] = NAN;
        run(&r);
    }
    check_taken(48);
}

const ferry_test_case integer_cases[] = {
    FERRY_TEST(convolutions_of_integers_agree_with_the_oracle),
    FERRY_TEST(depthwise_convolutions_of_integers_agree_with_the_oracle),
    FERRY_TEST(first_layers_of_integers_agree_with_the_oracle),
    FERRY_TEST(convolutions_of_unpacked_pixels_agree),
    FERRY_TEST(a_large_convolution_agrees_with_the_oracle),
    FERRY_TEST(long_lines_of_gathered_rows_take_bounded_memory),
    FERRY_TEST(sizes_of_copied_lines_do_not_overflow),
    FERRY_TEST(inner_products_of_integers_agree_with_the_oracle),
    FERRY_TEST(the_longest_sum_does_not_overflow),
    FERRY_TEST(pooling_of_integers_agrees_with_the_oracle),
    FERRY_TEST(conversions_of_integers_agree_with_the_oracle),
    FERRY_TEST(scales_and_shifts_of_channels_agree_with_the_oracle),
    FERRY_TEST(negative_factors_agree_with_the_oracle),
    FERRY_TEST(unknown_scales_and_shifts_give_zeros),
};
const size_t integer_case_count = FERRY_TEST_COUNT(integer_cases);
const size_t integer_product_count = 9;
