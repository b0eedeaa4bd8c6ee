/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backward passes of the oracle compared with its forward passes: the change of Σ dy·y when an
 * operand is moved slightly, in doubles. FERRY_TEST_OPS: number of operations per pass (100);
 * FERRY_TEST_SEED.
 */
#include "op-backward.h"

#include "ferry-test.h"

#include "op/plan.h"
#include "tests/reference/reference.h"

#include <ferry/status.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A backward pass and its forward operation. All operands are contiguous doubles, except that a
 * mask has integers.
 */
struct pair {
    ferry_op_desc forward, backward;
    enum ob_role roles[FERRY_OP_INPUTS];
    double *of[OB_DY + 1]; /* indexed by role */
    double *gradient, *before;
    int32_t *mask;
};

static int64_t count_of(const ferry_operand *o)
{
    int64_t n = 1;
    uint32_t i;

    for (i = 0; i < o->rank; i++)
        n *= o->shape[i];
    return n;
}

static double *numbers(struct om_numbers *n, int64_t count)
{
    double *values = malloc(sizeof *values * (size_t)(count + 1));
    int64_t i;

    for (i = 0; i <= count; i++) /* all different, and none at a point without derivative */
        values[i] = ((double)om_pick(n, INT64_C(1) << 30) + 0.5) / 0x1p29 - 1;
    return values;
}

static void make_plain(ferry_operand *o, ferry_dtype dtype)
{
    *o = ferry_operand_make(dtype, o->shape, (int)o->rank, NULL);
}

static bool has_mask(const ferry_op_desc *forward)
{
    return forward->kind == FERRY_OP_POOL && forward->n_out > 1;
}

static void make_operation_plain(ferry_op_desc *op)
{
    uint32_t i;

    for (i = 0; i < op->n_in; i++)
        make_plain(&op->in[i], op->in[i].dtype == FERRY_I32 ? FERRY_I32 : FERRY_F64);
    for (i = 0; i < op->n_out; i++)
        make_plain(&op->out[i], FERRY_F64);
}

static void make(struct om_numbers *n, const struct ob_pass *pass, struct pair *p)
{
    uint32_t i;

    memset(p, 0, sizeof *p);
    ob_make(n, pass, &p->forward, &p->backward, p->roles);
    if (has_mask(&p->forward))
        p->forward.out[1].dtype = p->backward.in[1].dtype = FERRY_I32;
    make_operation_plain(&p->forward);
    make_operation_plain(&p->backward);
    if (has_mask(&p->forward)) {
        make_plain(&p->forward.out[1], FERRY_I32);
        p->mask = malloc(sizeof *p->mask * (size_t)(count_of(&p->forward.out[1]) + 1));
    }
    for (i = 0; i < p->forward.n_in; i++)
        p->of[OB_X + i] = numbers(n, count_of(&p->forward.in[i]));
    p->of[OB_DY] = numbers(n, count_of(&p->backward.in[0]));
    p->of[OB_Y] = numbers(n, count_of(&p->backward.in[0]));
    p->of[OB_EXTRA] = numbers(n, count_of(&p->backward.in[0]));
    p->gradient = numbers(n, count_of(&p->backward.out[0]));
    p->before = malloc(sizeof(double) * (size_t)(count_of(&p->backward.out[0]) + 1));
    memcpy(p->before, p->gradient, sizeof(double) * (size_t)count_of(&p->backward.out[0]));
}

static void end(struct pair *p)
{
    int i;

    for (i = 0; i <= OB_DY; i++)
        free(p->of[i]);
    free(p->gradient);
    free(p->before);
    free(p->mask);
}

static void ask(const ferry_op_desc *op, void *const *in, void *const *out)
{
    ferry_cref from[FERRY_OP_INPUTS];
    ferry_ref to[FERRY_OP_OUTPUTS];
    const ferry_op_run_args args = { .struct_size = sizeof args, .in = from, .out = to };
    ferry_op_answer answer = { .struct_size = sizeof answer };
    void *prepared;
    uint32_t i;

    CU_ASSERT_EQUAL_FATAL(reference_table.query(NULL, op, &answer), 0);
    CU_ASSERT_EQUAL_FATAL(reference_table.create(NULL, op, &prepared), 0);
    for (i = 0; i < op->n_in; i++)
        from[i] = (ferry_cref){ in[i], 0 };
    for (i = 0; i < op->n_out; i++)
        to[i] = (ferry_ref){ out[i], 0 };
    CU_ASSERT_EQUAL_FATAL(reference_table.run(NULL, NULL, prepared, &args), 0);
    reference_table.destroy(NULL, prepared);
}

/* The element of the means that belongs to element i of x. */
static int64_t mean_of(const ferry_op_desc *op, int64_t i)
{
    int64_t at[FERRY_OP_AXES], place = 0;
    uint32_t axis;

    for (axis = op->in[0].rank; axis-- > 0; i /= op->in[0].shape[axis])
        at[axis] = i % op->in[0].shape[axis];
    for (axis = 0; axis < op->in[0].rank; axis++)
        place = place * op->out[0].shape[axis] + (op->out[0].shape[axis] > 1 ? at[axis] : 0);
    return place;
}

/* y = (x − mean) / √(variance + ¼), or without the divisor. */
static void normalise(struct pair *p)
{
    int64_t n = count_of(&p->forward.in[0]), means = count_of(&p->forward.out[0]), i;
    double *mean = malloc(sizeof(double) * (size_t)(means + 1));
    bool divided = p->backward.n_in > 1;

    ask(&p->forward, (void *[]){ p->of[OB_X] }, (void *[]){ mean, p->of[OB_EXTRA] });
    for (i = 0; i < means; i++)
        p->of[OB_EXTRA][i] = divided ? 1 / sqrt(p->of[OB_EXTRA][i] + 0.25) : 1;
    for (i = 0; i < n; i++) {
        int64_t k = mean_of(&p->forward, i);

        p->of[OB_Y][i] = (p->of[OB_X][i] - mean[k]) * p->of[OB_EXTRA][k];
    }
    free(mean);
}

/*
 * Computes Σ dy·y of the current operands; stores y and the other outputs of the forward operation.
 */
static double loss(struct pair *p)
{
    void *in[] = { p->of[OB_X], p->of[OB_U], p->of[OB_V] };
    void *extra = p->mask ? (void *)p->mask : p->of[OB_EXTRA];
    int64_t n = count_of(&p->backward.in[0]), i;
    double sum = 0;

    if (p->forward.kind == FERRY_OP_MOMENTS)
        normalise(p);
    else
        ask(&p->forward, in, (void *[]){ p->of[OB_Y], extra });
    for (i = 0; i < n; i++)
        sum += p->of[OB_DY][i] * p->of[OB_Y][i];
    return sum;
}

static void run_backward(struct pair *p)
{
    void *in[FERRY_OP_INPUTS];
    uint32_t i;

    for (i = 0; i < p->backward.n_in; i++)
        in[i] = p->roles[i] == OB_EXTRA && p->mask ? (void *)p->mask : p->of[p->roles[i]];
    ask(&p->backward, in, (void *[]){ p->gradient });
}

static void move(double *x, const double *direction, int64_t n, double step)
{
    while (n-- > 0)
        x[n] += step * direction[n];
}

/* The change of the loss along the direction, from both sides of the current point. */
static double slope(struct pair *p, double *x, const double *direction, int64_t n, double step)
{
    double up, down;

    move(x, direction, n, step);
    up = loss(p);
    move(x, direction, n, -2 * step);
    down = loss(p);
    move(x, direction, n, step);
    return (up - down) / (2 * step);
}

/*
 * Whether the loss changes along one random direction as the gradient predicts. Within a step the
 * largest of several elements may become another one; a step a hundred times smaller avoids this.
 */
static bool agrees(struct om_numbers *n, const struct ob_pass *pass, struct pair *p)
{
    static const double steps[] = { 0x1p-20, 0x1p-27 };
    double *x = p->of[pass->of], *direction, says = 0, size = 1e-3, moved = 0;
    int64_t count = count_of(&p->backward.out[0]), i;
    bool good = false;
    size_t k;

    (void)loss(p);
    run_backward(p);
    direction = numbers(n, count);
    for (i = 0; i < count; i++) {
        double g = p->gradient[i] - (pass->pass == FERRY_PASS_BACKWARD_DATA ? 0 : p->before[i]);

        says += g * direction[i];
        size += fabs(g * direction[i]);
    }
    for (k = 0; k < sizeof steps / sizeof *steps && !good; k++) {
        moved = slope(p, x, direction, count, steps[k]);
        good = fabs(moved - says) <= 1e-5 * size;
    }
    free(direction);
    if (!good)
        printf("    moved: %.9g, by the gradient: %.9g, of %.3g in all\n", moved, says, size);
    return good;
}

static void gradients_equal_finite_differences(void)
{
    uint64_t first = om_number_of("FERRY_TEST_SEED", 1),
             count = om_number_of("FERRY_TEST_OPS", 100), seed;
    int k, bad = 0;

    for (k = 0; k < ob_pass_count; k++)
        for (seed = first; seed < first + count && bad < 10; seed++) {
            const struct ob_pass *pass = &ob_passes[k];
            struct om_numbers n = { seed * UINT64_C(0x9E3779B97F4A7C15) + pass->kind };
            struct pair p;

            make(&n, pass, &p);
            if (ferry_op_desc_check(&p.backward) || !agrees(&n, pass, &p)) {
                printf("pass %u seed %llu: %s %s\n", pass->pass, (unsigned long long)seed,
                       om_text(&p.backward), ferry_last_error());
                bad++;
            }
            end(&p);
        }
    CU_ASSERT_EQUAL(bad, 0);
}

/* ---- made of other operations ---------------------------------------------------------------- */

/* The oracle's answers, without convolutions and inner products. */
static int query_parts(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    if (op->kind == FERRY_OP_CONVOLUTION || op->kind == FERRY_OP_INNER_PRODUCT)
        return FERRY_EUNSUPPORTED;
    return ferry_op_desc_check(op) ? FERRY_EUNSUPPORTED : reference_table.query(dev, op, out);
}

static void *bound(struct pair *p, void *temporary, const struct ferry__binding *b,
                   int64_t repetition)
{
    char *from = temporary;

    if (b->source == FERRY__FROM_IN)
        from = (char *)p->of[p->roles[b->index]];
    else if (b->source == FERRY__FROM_OUT)
        from = (char *)p->gradient;
    return from + b->offset + b->stride * repetition;
}

static void run_steps(struct pair *p, const struct ferry__plan *plan)
{
    char *temporary = malloc(plan->temporary_bytes + 1);
    int64_t n;
    uint32_t i, k;

    memset(temporary, 0xFF, plan->temporary_bytes);
    for (n = 0; n < plan->repeat; n++)
        for (i = 0; i < plan->n_steps; i++) {
            const struct ferry__step *step = &plan->steps[i];
            void *in[FERRY_OP_INPUTS], *out;

            for (k = 0; k < step->op.n_in; k++)
                in[k] = bound(p, temporary, &step->in[k], n);
            out = bound(p, temporary, &step->out[0], n);
            ask(&step->op, in, &out);
        }
    free(temporary);
}

/*
 * 1 if the pass was composed of other operations and gave the same result; 0 if it was not
 * composed; −1 if the results differ.
 */
static int composes(struct pair *p)
{
    static ferry_op_table parts;
    struct ferry__plan plan = { .repeat = 1 };
    int64_t count = count_of(&p->backward.out[0]), i;
    double *whole = malloc(sizeof(double) * (size_t)(count + 1)), far = 0, size = 1e-3;
    int can;

    parts = reference_table;
    parts.query = query_parts;
    plan.target.table = &parts;
    plan.target.temporary = FERRY__TEMPORARY_MAX;
    can = ferry__compose(&plan, &p->backward);
    if (can > 0) {
        run_backward(p);
        memcpy(whole, p->gradient, sizeof(double) * (size_t)count);
        memcpy(p->gradient, p->before, sizeof(double) * (size_t)count);
        run_steps(p, &plan);
        for (i = 0; i < count; i++) {
            far = fmax(far, fabs(whole[i] - p->gradient[i]));
            size = fmax(size, fabs(whole[i]));
        }
    }
    free(plan.steps);
    free(whole);
    return can > 0 && far > 1e-12 * size ? -1 : can;
}

/* At least three of four can be composed; some have strides, or no elements, and cannot. */
static void backward_passes_can_be_composed_of_gemm_and_im2col(void)
{
    int k, seed;

    for (k = 0; k < ob_pass_count; k++) {
        int composed = 0, wrong = 0;

        if (ob_passes[k].kind != FERRY_OP_CONVOLUTION &&
            ob_passes[k].kind != FERRY_OP_INNER_PRODUCT)
            continue;
        for (seed = 1; seed <= 40; seed++) {
            struct om_numbers n = { (uint64_t)seed * 7919 + ob_passes[k].kind };
            struct pair p;
            int can;

            make(&n, &ob_passes[k], &p);
            can = composes(&p);
            composed += can > 0;
            wrong += can < 0;
            if (can < 0)
                printf("    pass %u: %s\n", ob_passes[k].pass, om_text(&p.backward));
            end(&p);
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT(composed >= 30);
    }
}

/* ---- edges, by hand -------------------------------------------------------------------------- */

static ferry_operand doubles(int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return ferry_operand_make(FERRY_F64, (int64_t[]){ a, b, c, d }, rank, NULL);
}

static ferry_op_desc pass_of(uint32_t kind, uint32_t pass)
{
    ferry_op_desc op;

    ferry_op_desc_init(&op, kind);
    op.pass = pass;
    op.n_out = 1;
    return op;
}

static void derivatives_at_edges_match_caffe(void)
{
    static const struct {
        uint32_t function;
        double a, b, c, r, slope;
    } edges[] = {
        { FERRY_UNARY_RELU, 0.25, 0, 0, 0, 0.25 },
        { FERRY_UNARY_RELU, 0.25, 0, 0, 1e-300, 1 },
        { FERRY_UNARY_ELU, 2, 0, 0, 0, 2 },
        { FERRY_UNARY_ABS, 0, 0, 0, 0, 0 },
        { FERRY_UNARY_ABS, 0, 0, 0, -3, -1 },
        { FERRY_UNARY_POWER, 0, 2, 1, 5, 0 },
        { FERRY_UNARY_POWER, 3, 0, 2, 0, 0 },
        { FERRY_UNARY_POWER, 1, 2, 0, 0, 2 },
        { FERRY_UNARY_POWER, 2, 3, 0, 0, 0 },
        { FERRY_UNARY_POWER, 3, 1, 0, 0, NAN },
        { FERRY_UNARY_CLIP, -1, 1, 0, -1, 1 },
        { FERRY_UNARY_CLIP, -1, 1, 0, 1, 1 },
        { FERRY_UNARY_CLIP, -1, 1, 0, 1.0000001, 0 },
        { FERRY_UNARY_BNLL, 0, 0, 0, 1000, 1 },
        { FERRY_UNARY_SIGMOID, 0, 0, 0, 1, 0 },
        { FERRY_UNARY_EXP, 3, 0, 0, 2, 6 },
        { FERRY_UNARY_MISH, 0, 0, 0, 1000, 1 },
        { FERRY_UNARY_MISH, 0, 0, 0, 0, 0.6 },
        { FERRY_UNARY_GELU, 0, 0, 0, 0, 0.5 },
        { FERRY_UNARY_GELU, 0, 0, 0, -1000, 0 },
        { FERRY_UNARY_SOFTSIGN, 0, 0, 0, -1, 0.25 },
        { FERRY_UNARY_ROUND, 4, -3, 5, 1.37, 1 },
        { FERRY_UNARY_ROUND, 4, -3, 5, 1.38, 0 },
        { FERRY_UNARY_HARD_SWISH, 0.25, 0.5, 0, 0, 0.5 },
        { FERRY_UNARY_HARD_SWISH, 0.25, 0.5, 0, -2, 0 },
        { FERRY_UNARY_HARD_SWISH, 0.25, 0.5, 0, 2, 1 },
        { FERRY_UNARY_HARD_SIGMOID, 0.25, 0.5, 0, 2, 0 },
        { FERRY_UNARY_HARD_SIGMOID, 0.25, 0.5, 0, 1, 0.25 },
    };
    size_t i;

    for (i = 0; i < sizeof edges / sizeof *edges; i++) {
        ferry_op_desc op = pass_of(FERRY_OP_UNARY, FERRY_PASS_BACKWARD_DATA);
        double dy = 2, r = edges[i].r, dx = 77, want = 2 * edges[i].slope;

        op.n_in = 2;
        op.in[0] = op.in[1] = op.out[0] = doubles(1, 1, 0, 0, 0);
        op.params.unary.function = edges[i].function;
        op.params.unary.a = edges[i].a;
        op.params.unary.b = edges[i].b;
        op.params.unary.c = edges[i].c;
        CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
        ask(&op, (void *[]){ &dy, &r }, (void *[]){ &dx });
        if (isnan(want) ? !isnan(dx) : fabs(dx - want) > 1e-12)
            printf("    function %u at %g: %g, not %g\n", edges[i].function, r, dx, want);
        CU_ASSERT(isnan(want) ? isnan(dx) : fabs(dx - want) <= 1e-12);
    }
}

/* Windows of 2 on 5 elements, stride 2; the last window contains only the last element. */
static ferry_op_desc maximum(void)
{
    ferry_op_desc op = pass_of(FERRY_OP_POOL, FERRY_PASS_BACKWARD_DATA);

    op.params.pool.method = FERRY_POOL_MAX;
    op.params.window.axes = 1;
    op.params.window.kernel[0] = op.params.window.stride[0] = 2;
    op.n_in = 2;
    op.in[0] = doubles(3, 1, 1, 3, 0);
    op.in[1] = ferry_operand_make(FERRY_I32, (int64_t[]){ 1, 1, 3 }, 3, NULL);
    op.out[0] = doubles(3, 1, 1, 5, 0);
    return op;
}

static void a_mask_outside_its_window_contributes_nothing(void)
{
    static const struct {
        int32_t mask[3];
        double dx[5];
    } masks[] = {
        { { 1, 2, 4 }, { 0, 1, 2, 0, 3 } },
        { { -1, 3, -1 }, { 0, 0, 0, 2, 0 } },
        { { 2, 0, 5 }, { 0, 0, 0, 0, 0 } },
        { { -7, INT32_MAX, INT32_MIN }, { 0, 0, 0, 0, 0 } },
    };
    const double dy[3] = { 1, 2, 3 };
    ferry_op_desc op = maximum();
    size_t i;

    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    for (i = 0; i < sizeof masks / sizeof *masks; i++) {
        double dx[5] = { 9, 9, 9, 9, 9 };

        ask(&op, (void *[]){ (void *)dy, (void *)masks[i].mask }, (void *[]){ dx });
        CU_ASSERT(!memcmp(dx, masks[i].dx, sizeof dx));
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* dy (2, 6, 5, 4) and x (2, 4, 9, 7) for w (6, 2, 3, 3). */
static ferry_op_desc convolution(uint32_t pass)
{
    const ferry_operand x = doubles(4, 2, 4, 9, 7), w = doubles(4, 6, 2, 3, 3);
    ferry_op_desc op = pass_of(FERRY_OP_CONVOLUTION, pass);
    int i;

    op.params.window.group = 2;
    for (i = 0; i < 2; i++) {
        op.params.window.kernel[i] = 3;
        op.params.window.stride[i] = 2;
        op.params.window.pad[i] = op.params.window.pad_end[i] = 1;
    }
    op.n_in = pass == FERRY_PASS_BACKWARD_BIAS ? 1 : 2;
    op.in[0] = doubles(4, 2, 6, 5, 4);
    op.in[1] = pass == FERRY_PASS_BACKWARD_DATA ? w : x;
    op.out[0] = pass == FERRY_PASS_BACKWARD_DATA ? x : w;
    if (pass == FERRY_PASS_BACKWARD_BIAS)
        op.out[0] = doubles(1, 6, 0, 0, 0);
    return op;
}

#define REFUSED(code, op, text)                                                                   \
    do {                                                                                          \
        CU_ASSERT_EQUAL(ferry_op_desc_check(op), (code));                                         \
        if (!strstr(ferry_last_error(), (text)))                                                  \
            printf("    line %d: \"%s\" is not in \"%s\"\n", __LINE__, text, ferry_last_error()); \
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), (text)));                               \
    } while (0)

static void operands_that_do_not_fit_are_named(void)
{
    ferry_op_desc op = convolution(FERRY_PASS_BACKWARD_DATA);

    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    op.out[0] = doubles(4, 2, 4, 11, 7);
    REFUSED(FERRY_ESHAPE, &op, "convolution backward data: spatial axis 0 of y is 5, must be 6");
    op = convolution(FERRY_PASS_BACKWARD_WEIGHTS);
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    op.out[0] = doubles(4, 6, 3, 3, 3);
    REFUSED(FERRY_ESHAPE, &op,
            "convolution backward weights: axis 1 of its weights is 3, must be 2");
    op = convolution(FERRY_PASS_BACKWARD_BIAS);
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    op.out[0].shape[0] = 5;
    REFUSED(FERRY_ESHAPE, &op, "convolution backward bias: the length of its bias is 5, must be 6");
    op = maximum();
    op.in[1] = op.in[0];
    REFUSED(FERRY_EINVAL, &op, "pool backward data: the mask's dtype");
    op = maximum();
    op.in[1].shape[2] = 2;
    REFUSED(FERRY_ESHAPE, &op, "pool backward data: the mask is 1x1x2, must be 1x1x3");
    op = pass_of(FERRY_OP_LRN, FERRY_PASS_BACKWARD_DATA);
    op.n_in = 4;
    op.params.lrn.size = 3;
    op.in[0] = op.in[1] = op.in[2] = op.in[3] = op.out[0] = doubles(4, 1, 2, 3, 4);
    CU_ASSERT_EQUAL(ferry_op_desc_check(&op), 0);
    op.in[3].shape[3] = 5;
    REFUSED(FERRY_ESHAPE, &op, "lrn backward data: scale is 1x2x3x5, must be 1x2x3x4");
}

static void wrong_numbers_of_inputs_outputs_and_steps_are_refused(void)
{
    ferry_op_desc op = convolution(FERRY_PASS_BACKWARD_DATA);

    op.n_in = 1;
    REFUSED(FERRY_EINVAL, &op, "convolution backward data: the number of inputs is 1");
    op = convolution(FERRY_PASS_BACKWARD_WEIGHTS);
    op.n_in = 3;
    op.in[2] = op.in[1];
    REFUSED(FERRY_EINVAL, &op, "convolution backward weights: the number of inputs is 3");
    op = convolution(FERRY_PASS_BACKWARD_BIAS);
    op.n_out = 2;
    op.out[1] = op.out[0];
    REFUSED(FERRY_EINVAL, &op, "convolution backward bias: the number of outputs is 2");
    op = convolution(FERRY_PASS_BACKWARD_DATA);
    op.n_epilogue = 1;
    REFUSED(FERRY_EINVAL, &op, "convolution backward data: the number of epilogue steps is 1");
    op = maximum();
    op.n_in = 1;
    REFUSED(FERRY_ESHAPE, &op, "pool backward data: the number of inputs of this method is 1");
    op = pass_of(FERRY_OP_MOMENTS, FERRY_PASS_BACKWARD_DATA);
    op.n_in = 2;
    op.params.reduce.axes = 1;
    op.in[0] = op.in[1] = op.out[0] = doubles(2, 3, 4, 0, 0);
    REFUSED(FERRY_ESHAPE, &op, "moments backward data: the number of inputs is 2, must be 3");
    op = pass_of(FERRY_OP_REDUCE, FERRY_PASS_BACKWARD_DATA);
    op.n_in = 1;
    op.params.reduce.axes = 2;
    op.params.reduce.function = FERRY_REDUCE_SUMSQ;
    op.in[0] = doubles(2, 3, 1, 0, 0);
    op.out[0] = doubles(2, 3, 4, 0, 0);
    REFUSED(FERRY_ESHAPE, &op, "reduce backward data: the number of inputs of this function is 1");
}

/* The passes of each kind, in a table of this test's own. */
static void passes_that_a_kind_lacks_are_refused(void)
{
    static const uint8_t has[64] = {
        [FERRY_OP_CONVOLUTION] = 7, [FERRY_OP_INNER_PRODUCT] = 7, [FERRY_OP_POOL] = 1,
        [FERRY_OP_UNARY] = 1,       [FERRY_OP_BINARY] = 7,        [FERRY_OP_REDUCE] = 1,
        [FERRY_OP_MOMENTS] = 1,     [FERRY_OP_SOFTMAX] = 1,       [FERRY_OP_LRN] = 1,
        [FERRY_OP_RESIZE] = 1,
    };
    uint32_t kind, pass;

    for (kind = FERRY_OP_CONVOLUTION; kind <= FERRY_OP_LAST; kind++)
        for (pass = FERRY_PASS_BACKWARD_DATA; pass <= FERRY_PASS_BACKWARD_BIAS; pass++) {
            ferry_op_desc op = pass_of(kind, pass);

            if (has[kind] >> (pass - 1) & 1)
                CU_ASSERT_EQUAL(ferry_op_desc_check(&op), FERRY_EINVAL) /* no operands */
            else
                REFUSED(FERRY_EUNSUPPORTED, &op, ferry_op_kind_name(kind));
        }
}

static void functions_without_the_pass_are_refused(void)
{
    ferry_op_desc op = pass_of(FERRY_OP_UNARY, FERRY_PASS_BACKWARD_DATA);

    op.n_in = 2;
    op.in[0] = op.in[1] = op.out[0] = doubles(1, 3, 0, 0, 0);
    op.params.unary.function = FERRY_UNARY_THRESHOLD;
    REFUSED(FERRY_EUNSUPPORTED, &op, "unary backward data: THRESHOLD has no derivative");
    op = pass_of(FERRY_OP_BINARY, FERRY_PASS_BACKWARD_WEIGHTS);
    op.n_in = 1;
    op.in[0] = op.out[0] = doubles(1, 3, 0, 0, 0);
    op.params.binary.function = FERRY_BINARY_QUOTIENT;
    REFUSED(FERRY_EUNSUPPORTED, &op, "binary backward weights: function 6 has no such pass");
    op.params.binary.function = FERRY_BINARY_PRODUCT;
    REFUSED(FERRY_ESHAPE, &op, "the number of inputs of this function is 1, must be 2");
    op = pass_of(FERRY_OP_REDUCE, FERRY_PASS_BACKWARD_DATA);
    op.n_in = 1;
    op.params.reduce.axes = 1;
    op.params.reduce.function = FERRY_REDUCE_MAX;
    op.in[0] = op.out[0] = doubles(1, 1, 0, 0, 0);
    REFUSED(FERRY_EUNSUPPORTED, &op, "reduce backward data: a maximum has no backward pass");
}

static const ferry_test_case cases[] = {
    FERRY_TEST(gradients_equal_finite_differences),
    FERRY_TEST(backward_passes_can_be_composed_of_gemm_and_im2col),
    FERRY_TEST(derivatives_at_edges_match_caffe),
    FERRY_TEST(a_mask_outside_its_window_contributes_nothing),
    FERRY_TEST(operands_that_do_not_fit_are_named),
    FERRY_TEST(wrong_numbers_of_inputs_outputs_and_steps_are_refused),
    FERRY_TEST(passes_that_a_kind_lacks_are_refused),
    FERRY_TEST(functions_without_the_pass_are_refused),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "backward passes", cases, FERRY_TEST_COUNT(cases));
}
