/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "rows.h"
#include "values.h"

#include <ferry/op_types.h>
#include <math.h>
#include <string.h>

/* UNARY and BINARY walk over y; contiguous rows use the instruction set's loops. */

/* The number of elements below which a row takes longer by vectors than one by one. */
#define FEW 5

struct unary {
    uint32_t function;
    double a, b, c;
    int64_t step[2]; /* strides of y, x */
    const void *x;
    void *y;
    const struct cpu_loops *loops;
};

struct binary {
    uint32_t function;
    double a, b;
    double v;        /* the value of in[2] if the operation has none */
    int64_t step[4]; /* strides of y, x, u, v */
    const void *in[3];
    void *y;
    const struct cpu_loops *loops;
    struct cpu_step function_after[FERRY_OP_EPILOGUE]; /* the UNARY functions after it */
    uint32_t functions_after;
    int64_t period; /* as in the plan */
    uint32_t repeated;
    bool x_is_bf16, y_is_bf16;
};

#define GATHERED 256
/*
 * The number of elements of a row that stay in the first-level cache until the functions after it
 * run.
 */
#define NEAR 4096
/*
 * Rows of up to SHORT elements with an input that repeats are joined; the input is copied as often
 * as it fits into REPEATED elements.
 */
#define SHORT    256
#define REPEATED 1024

#define IMPL "elementwise_impl.h"
#include "reals_impl.h"

void cpu_unary_row(uint32_t function, double a, double b, double c, int64_t n, const float *x,
                   float *y)
{
    const int64_t at[2] = { 0, 0 };
    struct unary u = {
        .function = function, .a = a, .b = b, .c = c, .step = { 1, 1 }, .x = x, .y = y
    };

    unary_row_f32(&u, at, n);
}

/* ---- contiguous rows ------------------------------------------------------------------------ */

static void unary_vectors(void *arg, const int64_t *offset, int64_t n)
{
    const struct unary *u = arg;
    const float *x = (const float *)u->x + offset[1];
    float *y = (float *)u->y + offset[0];

    if (!u->loops->unary(u->function, u->a, u->b, u->c, n, x, y))
        unary_row_f32(arg, offset, n);
}

/* Gathers elements at a distance, some at a time, for the loops over contiguous elements. */
static void unary_gathered(void *arg, const int64_t *offset, int64_t n)
{
    const struct unary *u = arg;
    const float *x = (const float *)u->x + offset[1];
    float *y = (float *)u->y + offset[0], some[GATHERED];

    for (int64_t count; n > 0; n -= count) {
        count = n < GATHERED ? n : GATHERED;
        for (int64_t i = 0; i < count; i++, x += u->step[1])
            some[i] = *x;
        if (!u->loops->unary(u->function, u->a, u->b, u->c, count, some, some))
            cpu_unary_row(u->function, u->a, u->b, u->c, count, some, some);
        for (int64_t i = 0; i < count; i++, y += u->step[0])
            *y = some[i];
    }
}

/* The row of the operands from those offsets on. */
static struct cpu_binary_row binary_row_at(const struct binary *f, const int64_t *at)
{
    const float *in[3];

    for (int i = 0; i < 3; i++)
        in[i] = f->in[i] ? (const float *)f->in[i] + at[1 + i] : NULL;
    return (struct cpu_binary_row){ .function = f->function,
                                    .a = (float)f->a,
                                    .b = (float)f->b,
                                    .x = in[0],
                                    .u = in[1],
                                    .v = in[2],
                                    .x_step = f->step[1],
                                    .u_step = f->step[2],
                                    .v_step = f->step[3],
                                    .y = (float *)f->y + at[0] };
}

/* Writes n elements of a row that repeats after `period` elements, from element `first` on. */
static void repeat(const float *row, int64_t period, int64_t first, int64_t n, float *to)
{
    int64_t done = n < period - first ? n : period - first;
    int64_t rest = n - done < first ? n - done : first;

    memcpy(to, row + first, (size_t)done * sizeof(*to));
    memcpy(to + done, row, (size_t)rest * sizeof(*to));
    for (done += rest; done < n; done += rest) {
        rest = done < n - done ? done : n - done;
        memcpy(to + done, to, (size_t)rest * sizeof(*to));
    }
}

/* Replaces the inputs that repeat by their elements, one after the other, in `rows`. */
static void take_repeated(const struct binary *f, struct cpu_binary_row *r, float (*rows)[REPEATED])
{
    const float **in[3] = { &r->x, &r->u, &r->v };
    int64_t *step[3] = { &r->x_step, &r->u_step, &r->v_step };

    for (int i = 0; i < 3; i++)
        if (f->repeated >> (1 + i) & 1) {
            *in[i] = rows[i];
            *step[i] = 1;
        }
}

/* Computes some elements of a row by vectors, and the functions after it. */
static void some_of_row(const struct binary *f, struct cpu_binary_row *r, int64_t n)
{
    f->loops->binary(r, n);
    for (uint32_t i = 0; i < f->functions_after; i++)
        f->loops->step(&f->function_after[i], n, r->y);
}

/* Whether cpu_values.scale computes it, and the least result. */
static bool is_scale(const struct binary *f, const struct cpu_binary_row *r, float *least)
{
    const struct cpu_step *after = f->function_after;

    *least = f->functions_after ? 0 : -INFINITY;
    return f->x_is_bf16 && f->y_is_bf16 && f->function == FERRY_BINARY_SCALE && r->u_step == 1 &&
           r->v_step == 1 &&
           (!f->functions_after ||
            (f->functions_after == 1 && after->a == 0 && after->function == FERRY_UNARY_RELU));
}

/* The same with an x or y of BF16, from those offsets on; at most REPEATED elements. */
static void some_values_of_row(const struct binary *f, const int64_t *at, struct cpu_binary_row *r,
                               int64_t n)
{
    const uint16_t *x = (const uint16_t *)f->in[0] + at[1];
    uint16_t *y = (uint16_t *)f->y + at[0];
    float near[REPEATED], least;

    if (is_scale(f, r, &least)) {
        cpu_values_bf16->scale(x, r->u, r->v, least, n, y);
        return;
    }
    if (f->x_is_bf16) {
        cpu_values_bf16->widen_row(x, n, near);
        r->x = near;
    }
    if (f->y_is_bf16)
        r->y = near;
    some_of_row(f, r, n);
    if (f->y_is_bf16)
        cpu_values_bf16->round_row(near, n, y);
}

/* Computes a row by vectors, some elements at a time. */
static void binary_vectors(void *arg, const int64_t *offset, int64_t n)
{
    const struct binary *f = arg;
    bool has_values = f->x_is_bf16 || f->y_is_bf16;
    int64_t most = has_values ? REPEATED : f->functions_after ? NEAR : n, at[WALK_OPERANDS];
    float rows[3][REPEATED];

    memcpy(at, offset, sizeof(at));
    if (f->period)
        most = REPEATED / f->period * f->period;
    for (int i = 0; i < 3; i++)
        if (f->repeated >> (1 + i) & 1)
            repeat((const float *)f->in[i] + at[1 + i], f->period, at[0] % f->period,
                   n < most ? n : most, rows[i]);
    for (int64_t some; n > 0; n -= some) {
        struct cpu_binary_row r = binary_row_at(f, at);

        some = n < most ? n : most;
        take_repeated(f, &r, rows);
        if (has_values)
            some_values_of_row(f, at, &r, some);
        else
            some_of_row(f, &r, some);
        for (int i = 0; i < 4; i++)
            at[i] += some * f->step[i];
    }
}

/* Whether y's elements are contiguous, and each input's are contiguous or all the same. */
static bool is_row(const int64_t *step, uint32_t operands)
{
    for (uint32_t i = 1; i < operands; i++)
        if (step[i] != 0 && step[i] != 1)
            return false;
    return step[0] == 1;
}

/* ---- unary ---------------------------------------------------------------------------------- */

static int unary_plan(struct cpu_op *p)
{
    struct cpu_walk *w = &p->plan.walk;

    if (!cpu_op_is_real(p) || p->op.params.unary.function >= FERRY_UNARY_COUNT)
        return FERRY_EUNSUPPORTED;
    walk_begin(w, p->op.out[0].rank, p->op.out[0].shape);
    walk_add(w, p->op.out[0].stride);
    walk_add(w, p->op.in[0].stride);
    walk_end(w);
    walk_lengthen(w, FEW);
    return 0;
}

static void unary_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_walk *w = &p->plan.walk;
    bool is_f32 = p->op.out[0].dtype == FERRY_F32;
    struct unary u = { .function = p->op.params.unary.function,
                       .a = p->op.params.unary.a,
                       .b = p->op.params.unary.b,
                       .c = p->op.params.unary.c,
                       .step = { walk_step(w, 0), walk_step(w, 1) },
                       .x = args->in[0],
                       .y = args->out[0],
                       .loops = p->loops };

    walk_body body = is_f32 ? unary_gathered : unary_row_f64;

    if (is_f32 && u.step[0] == 1 && u.step[1] == 1)
        body = unary_vectors;
    walk_all(w, d->workers, is_f32 ? 8 : 16, body, &u);
}

const struct cpu_op_kind cpu_op_unary = {
    .kind = FERRY_OP_UNARY,
    .plan = unary_plan,
    .run = unary_run,
};

/* ---- binary --------------------------------------------------------------------------------- */

/* Adds an input that is broadcast along the axes where its size is 1. */
static void add_repeated(struct cpu_walk *w, const ferry_operand *o, uint32_t rank)
{
    int64_t stride[FERRY_OP_AXES];

    for (uint32_t i = 0; i < rank; i++)
        stride[i] = o->shape[i] == 1 ? 0 : o->stride[i];
    walk_add(w, stride);
}

/* Whether the elements are floats, or values of BF16 beside floats. */
static bool has_floats(const struct cpu_op *p)
{
    return p->op.out[0].dtype == FERRY_F32 || cpu_op_has_values(p);
}

/* Whether the rows of a planned BINARY are vectors. */
static bool goes_by_vectors(const struct cpu_op *p)
{
    const struct cpu_walk *w = &p->plan.binary.walk;
    int64_t step[WALK_OPERANDS];

    for (uint32_t i = 0; i < w->operands; i++)
        step[i] = walk_step(w, i);
    return has_floats(p) && is_row(step, w->operands);
}

/*
 * Whether a planned BINARY can have its values of BF16: by vectors, and x does not repeat within a
 * row.
 */
static bool takes_values(const struct cpu_op *p)
{
    return p->pairs && cpu_values_bf16 && goes_by_vectors(p) &&
           walk_step(&p->plan.binary.walk, 1) == 1;
}

static int binary_plan(struct cpu_op *p)
{
    struct cpu_walk *w = &p->plan.binary.walk;

    if ((!cpu_op_is_real(p) && !cpu_op_has_values(p)) ||
        p->op.params.binary.function > FERRY_BINARY_QUOTIENT ||
        (p->op.params.binary.function == FERRY_BINARY_NORMALISE && p->own_in < 3))
        return FERRY_EUNSUPPORTED;
    walk_begin(w, p->op.out[0].rank, p->op.out[0].shape);
    walk_add(w, p->op.out[0].stride);
    for (uint32_t i = 0; i < p->own_in && i < 3; i++)
        add_repeated(w, &p->op.in[i], p->op.out[0].rank);
    walk_end(w);
    if (has_floats(p))
        p->plan.binary.repeated = walk_join(w, SHORT, &p->plan.binary.period);
    if (!p->plan.binary.repeated)
        walk_lengthen(w, FEW);
    if (goes_by_vectors(p))
        while (p->answer.epilogue < p->op.n_epilogue &&
               p->op.epilogue[p->answer.epilogue].step == FERRY_STEP_UNARY)
            p->answer.epilogue++;
    return cpu_op_has_values(p) && !takes_values(p) ? FERRY_EUNSUPPORTED : 0;
}

static void add_functions(const struct cpu_op *p, struct binary *f)
{
    for (uint32_t i = 0; i < p->answer.epilogue; i++) {
        const ferry_op_step *s = &p->op.epilogue[i];

        f->function_after[f->functions_after++] = (struct cpu_step){
            .step = s->step, .function = s->function, .a = s->a, .b = s->b, .c = s->c
        };
    }
}

static void binary_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_walk *w = &p->plan.binary.walk;
    bool is_f32 = has_floats(p);
    struct binary f = { .function = p->op.params.binary.function,
                        .a = p->op.params.binary.a,
                        .b = p->op.params.binary.b,
                        .in = { args->in[0], args->in[1], p->own_in > 2 ? args->in[2] : NULL },
                        .y = args->out[0],
                        .loops = p->loops,
                        .period = p->plan.binary.period,
                        .repeated = p->plan.binary.repeated,
                        .x_is_bf16 = p->op.in[0].dtype == FERRY_BF16,
                        .y_is_bf16 = p->op.out[0].dtype == FERRY_BF16 };

    walk_body body = is_f32 ? binary_row_f32 : binary_row_f64;

    for (uint32_t i = 0; i < w->operands; i++)
        f.step[i] = walk_step(w, i);
    add_functions(p, &f);
    if (goes_by_vectors(p))
        body = binary_vectors;
    walk_all(w, d->workers, is_f32 ? 12 : 24, body, &f);
}

const struct cpu_op_kind cpu_op_binary = {
    .kind = FERRY_OP_BINARY,
    .plan = binary_plan,
    .run = binary_run,
};

/* Applies bias and functions to one row of results, while it is in the cache. */
void cpu_planes_finish(const struct cpu_op *p, const float *bias, int64_t output, int64_t n,
                       float *y)
{
    const ferry_op_desc *op = &p->op;

    if (bias) {
        const struct cpu_binary_row sum = { .function = FERRY_BINARY_SUM,
                                            .a = 1,
                                            .b = 1,
                                            .x = y,
                                            .u = bias + output * op->in[2].stride[0],
                                            .x_step = 1,
                                            .y = y };

        p->loops->binary(&sum, n);
    }
    for (uint32_t i = 0; i < op->n_epilogue; i++) {
        const ferry_op_step *f = &op->epilogue[i];

        if (!p->loops->unary(f->function, f->a, f->b, f->c, n, y, y))
            cpu_unary_row(f->function, f->a, f->b, f->c, n, y, y);
    }
}
