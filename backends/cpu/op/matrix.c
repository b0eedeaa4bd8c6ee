/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "values.h"

/* INNER_PRODUCT and BATCHED_GEMM: by the products of gemm.h for F32, otherwise row by row. */

struct product {
    const void *a, *b, *c;
    void *y;
    double alpha, beta;
    int64_t m, n, k;
    int64_t a_step[3], b_step[3], c_step[3], y_step[3]; /* strides of batch, row, column */
    const struct cpu_walk *a_at;                        /* if set, used instead of the stride of a's
                                                         * columns */
};

#define IMPL "matrix_impl.h"
#include "reals_impl.h"

#include <ferry/op_types.h>

static void run_product(struct cpu_device *d, const struct cpu_op *p, const struct product *m,
                        int64_t batches)
{
    struct product product = *m;
    int64_t rows = batches * m->m;

    workers_run(d->workers, rows, walk_piece_of(rows, m->n * m->k + 1),
                p->op.out[0].dtype == FERRY_F32 ? product_rows_f32 : product_rows_f64, &product);
}

/* ---- products ------------------------------------------------------------------------------- */

/* How a product finds the rows of a. */
struct rows {
    const struct cpu_op *op;
    const float *a;
    int64_t a_batch, a_row, a_column;
    const struct cpu_walk *columns; /* the columns of a, if they are not at a constant distance */
};

static int64_t a_at(const struct rows *s, int64_t k)
{
    return s->columns ? walk_at(s->columns, 0, k) : k * s->a_column;
}

static void bring(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t k, int64_t depth, float *to, struct cpu_tile *tile)
{
    const struct rows *s = r->arg;
    const float *a = s->a + batch * s->a_batch + first * s->a_row;

    for (int64_t j = 0; j < depth; j++) {
        int64_t at = a_at(s, k + j);

        for (int64_t i = 0; i < rows; i++)
            to[i * tile->a_row + j] = a[i * s->a_row + at];
    }
}

static void plan_product(struct cpu_op *p, uint32_t epilogue, int64_t packed_batches)
{
    struct cpu_gemm *g = &p->plan.matrix.gemm;

    cpu_gemm_plan(g, p->loops, p->threads);
    p->answer.epilogue = epilogue;
    cpu_op_pack_or_not(p, 1, (uint64_t)(packed_batches * cpu_gemm_packed(g)) * sizeof(float),
                       cpu_gemm_workspace(g));
}

/* The memory for packed b if the run itself packs it. */
static float *room_for_b(const struct cpu_op *p, const struct cpu_op_args *args)
{
    return (float *)args->workspace + cpu_gemm_workspace(&p->plan.matrix.gemm) / sizeof(float);
}

/* ---- INNER_PRODUCT -------------------------------------------------------------------------- */

/*
 * Sets the order of a row of x whose axes are in another order, for example channels last after a
 * convolution: w is packed in that order, and x is not copied.
 */
static void find_turn(const ferry_operand *x, struct cpu_turn *out)
{
    int64_t stride[FERRY_OP_AXES], step = 1, along = 1;
    bool in_order = true;

    out->rank = 0;
    for (uint32_t axis = x->rank; axis-- > 1; step *= x->shape[axis]) {
        uint32_t at = out->rank;

        if (x->shape[axis] == 1)
            continue;
        for (; at > 0 && stride[at - 1] > x->stride[axis]; at--) {
            stride[at] = stride[at - 1];
            out->shape[at] = out->shape[at - 1];
            out->step[at] = out->step[at - 1];
        }
        in_order = in_order && at == out->rank;
        stride[at] = x->stride[axis];
        out->shape[at] = x->shape[axis];
        out->step[at] = step;
        out->rank++;
    }
    for (uint32_t i = 0; i < out->rank; along *= out->shape[i++])
        if (stride[i] != along)
            in_order = true; /* the row has gaps */
    if (in_order)
        out->rank = 0;
}

/* The number of rows up to which a product of BF16 reads them in place and rounds a tile's. */
#define FEW_ROWS 32

/* Whether w is F16 or BF16, and all other operands are F32. */
static bool has_half_weights(const struct cpu_op *p)
{
    uint32_t dtype = p->op.in[1].dtype;

    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (i != 1 && p->op.in[i].dtype != FERRY_F32)
            return false;
    return (dtype == FERRY_F16 || dtype == FERRY_BF16) && p->op.out[0].dtype == FERRY_F32;
}

static int inner_product_plan(struct cpu_op *p)
{
    const ferry_operand *x = &p->op.in[0], *y = &p->op.out[0];
    struct cpu_gemm *g = &p->plan.matrix.gemm;

    bool is_integer = cpu_is_integer(x), is_half = has_half_weights(p);
    bool has_values = cpu_op_has_values(p);

    if ((!is_integer && !is_half && !has_values && !cpu_op_is_real(p)) || x->rank < 1)
        return FERRY_EUNSUPPORTED;
    walk_begin(&p->plan.matrix.walk, x->rank - 1, x->shape + 1);
    walk_add(&p->plan.matrix.walk, x->stride + 1);
    walk_end_as_given(&p->plan.matrix.walk);
    find_turn(x, &p->plan.matrix.turn);
    if (is_integer)
        return cpu_integer_inner_product_plan(p);
    p->plan.matrix.is_product = y->dtype == FERRY_F32 || has_values;
    if (!p->plan.matrix.is_product)
        return 0;
    g->batches = 1;
    g->m = y->shape[0];
    g->n = y->shape[1];
    g->k = p->op.in[1].shape[1];
    if (has_values && !cpu_op_takes_pairs(p))
        return FERRY_EUNSUPPORTED;
    if (g->m > FEW_ROWS && cpu_integer_bf16_plan(p))
        return is_half ? FERRY_EUNSUPPORTED : 0;
    if (has_values)
        return FERRY_EUNSUPPORTED;
    cpu_op_choose_form(p, g);
    if (g->form == CPU_GEMM_FLOATS && cpu_dots_plan(p))
        return 0;
    if (is_half && g->form == CPU_GEMM_FLOATS && p->op.constants & 2)
        g->form = cpu_gemm_half_form(g, p->loops, p->op.in[1].dtype);
    plan_product(p, cpu_epilogue_taken(p, true), 1);
    return 0;
}

/* Packs rows k … k + depth − 1, whose distance is `row`, from element `from` of w on. */
static void pack_run_of_w(const struct cpu_device *d, const struct cpu_op *p, const void *w,
                          int64_t k, int64_t depth, int64_t from, int64_t row, float *packed)
{
    const struct cpu_gemm *g = &p->plan.matrix.gemm;
    const ferry_operand *o = &p->op.in[1];
    const int64_t column = o->stride[0];
    const struct cpu_halves halves = { o->dtype, d->kernels->widen[o->dtype] };

    if (o->dtype == FERRY_F32)
        cpu_gemm_pack(g, k, depth, (const float *)w + from, row, column, packed);
    else
        cpu_gemm_pack_halves(d->workers, g, &halves, k, depth, (const uint16_t *)w + from, row,
                             column, packed);
}

static void pack_rows_of_w(const struct cpu_device *d, const struct cpu_op *p, const void *w,
                           float *packed)
{
    const struct cpu_gemm *g = &p->plan.matrix.gemm;
    const struct cpu_turn *t = &p->plan.matrix.turn;
    const int64_t row = p->op.in[1].stride[1];

    if (t->rank == 0) {
        pack_run_of_w(d, p, w, 0, g->k, 0, row, packed);
        return;
    }
    /* Packs one run of the innermost axis at a time. */
    for (int64_t k = 0; k < g->k; k += t->shape[0])
        pack_run_of_w(d, p, w, k, t->shape[0], cpu_turn_at(t, k) * row, t->step[0] * row, packed);
}

static void inner_product_prepare(struct cpu_device *d, const struct cpu_op *p,
                                  const void *const *in, void *packed)
{
    if (p->plan.matrix.is_dots)
        cpu_dots_pack(p, in[1], packed);
    else
        pack_rows_of_w(d, p, in[1], packed);
}

static void inner_product_multiply(struct cpu_device *d, const struct cpu_op *p,
                                   const struct cpu_op_args *args)
{
    const ferry_operand *x = &p->op.in[0], *y = &p->op.out[0];
    const struct cpu_walk *walk = &p->plan.matrix.walk;
    struct rows rows = { .op = p,
                         .a = args->in[0],
                         .a_row = x->stride[0],
                         .a_column = walk_step(walk, 0),
                         .columns = walk->rank > 1 ? walk : NULL };
    struct cpu_gemm_run r = { .plan = &p->plan.matrix.gemm,
                              .loops = p->loops,
                              .pairs = p->pairs,
                              .b = args->packed,
                              .bring = bring,
                              .arg = &rows,
                              .y_row = y->stride[0],
                              .y = args->out[0],
                              .y_column = y->stride[1],
                              .scratch = args->workspace };

    if (p->plan.matrix.is_dots || p->plan.matrix.turn.rank ||
        (walk->rank == 1 && (rows.a_column == 1 || r.plan->k == 1))) {
        r.a = rows.a;
        r.a_row = rows.a_row;
    }
    if (!r.b && !p->plan.matrix.is_dots) {
        float *packed = room_for_b(p, args);

        pack_rows_of_w(d, p, args->in[1], packed);
        r.b = packed;
    }
    if (p->own_in > 2)
        r.step[r.steps++] = (struct cpu_step){ .step = FERRY_STEP_SHIFT,
                                               .operand = args->in[2],
                                               .stride = p->op.in[2].stride[0] };
    cpu_epilogue_steps(p, args, &r);
    for (uint32_t i = 0; i < p->answer.epilogue; i++)
        if (p->op.epilogue[i].step == FERRY_STEP_ADD)
            r.add_row = p->op.in[p->op.epilogue[i].operand].stride[0];
    if (p->plan.matrix.is_dots)
        cpu_dots_run(d, p, &r, args->in[1]);
    else
        cpu_gemm_do(d->workers, &r);
}

static void inner_product_run(struct cpu_device *d, const struct cpu_op *p,
                              const struct cpu_op_args *args)
{
    const ferry_operand *x = &p->op.in[0], *w = &p->op.in[1], *y = &p->op.out[0];
    struct product m = { .a = args->in[0],
                         .b = args->in[1],
                         .c = p->own_in > 2 ? args->in[2] : NULL,
                         .y = args->out[0],
                         .alpha = 1,
                         .beta = 1,
                         .m = y->shape[0],
                         .n = y->shape[1],
                         .k = w->shape[1],
                         .a_step = { 0, x->stride[0], 0 },
                         .b_step = { 0, w->stride[1], w->stride[0] },
                         .c_step = { 0, 0, p->op.in[2].stride[0] },
                         .y_step = { 0, y->stride[0], y->stride[1] },
                         .a_at = &p->plan.matrix.walk };

    if (p->plan.matrix.is_product)
        inner_product_multiply(d, p, args);
    else
        run_product(d, p, &m, 1);
}

const struct cpu_op_kind cpu_op_inner_product = {
    .kind = FERRY_OP_INNER_PRODUCT,
    .plan = inner_product_plan,
    .prepare = inner_product_prepare,
    .run = inner_product_run,
};

/* ---- BATCHED_GEMM --------------------------------------------------------------------------- */

static int batched_gemm_plan(struct cpu_op *p)
{
    const ferry_operand *y = &p->op.out[0];
    struct cpu_gemm *g = &p->plan.matrix.gemm;

    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    p->plan.matrix.is_product = y->dtype == FERRY_F32;
    if (!p->plan.matrix.is_product)
        return 0;
    g->batches = y->shape[0];
    g->m = y->shape[1];
    g->n = y->shape[2];
    g->k = p->op.in[0].shape[2];
    if (p->op.kind == FERRY_OP_INNER_PRODUCT && cpu_op_takes_pairs(p) && cpu_gemm_has_pairs(g)) {
        g->form = CPU_GEMM_BF16_PAIRS;
        p->answer.math = FERRY_MATH_BF16;
    }
    plan_product(p, 0, p->op.in[1].shape[0]);
    return 0;
}

static void pack_batches(const struct cpu_op *p, const float *b, float *packed)
{
    const ferry_operand *o = &p->op.in[1];
    const struct cpu_gemm *g = &p->plan.matrix.gemm;

    for (int64_t i = 0; i < o->shape[0]; i++)
        cpu_gemm_pack(g, 0, g->k, b + i * o->stride[0], o->stride[1], o->stride[2],
                      packed + i * cpu_gemm_packed(g));
}

static void batched_gemm_prepare(struct cpu_device *d, const struct cpu_op *p,
                                 const void *const *in, void *packed)
{
    (void)d;
    pack_batches(p, in[1], packed);
}

/* Whether c is added. With beta = 0 c is not read, so that NaN in it has no effect. */
static bool adds_c(const struct cpu_op *p)
{
    return p->own_in > 2 && p->op.params.gemm.beta != 0;
}

static void batched_gemm_multiply(struct cpu_device *d, const struct cpu_op *p,
                                  const struct cpu_op_args *args)
{
    const ferry_op_desc *op = &p->op;
    const float alpha = (float)op->params.gemm.alpha;
    struct rows rows = { .op = p,
                         .a = args->in[0],
                         .a_batch = op->in[0].stride[0],
                         .a_row = op->in[0].stride[1],
                         .a_column = op->in[0].stride[2] };
    struct cpu_gemm_run r = { .plan = &p->plan.matrix.gemm,
                              .loops = p->loops,
                              .pairs = p->pairs,
                              .b = args->packed,
                              .bring = bring,
                              .y_batch = op->out[0].stride[0],
                              .y_row = op->out[0].stride[1],
                              .arg = &rows,
                              .y = args->out[0],
                              .y_column = op->out[0].stride[2],
                              .scratch = args->workspace };

    r.b_batch = op->in[1].shape[0] > 1 ? cpu_gemm_packed(r.plan) : 0;
    if (rows.a_column == 1 || r.plan->k == 1) {
        r.a = rows.a;
        r.a_batch = rows.a_batch;
        r.a_row = rows.a_row;
    }
    if (!r.b) {
        float *packed = room_for_b(p, args);

        pack_batches(p, args->in[1], packed);
        r.b = packed;
    }
    if (alpha != 1)
        r.step[r.steps++] = (struct cpu_step){ .step = FERRY_STEP_SCALE, .operand = &alpha };
    if (adds_c(p)) {
        r.step[r.steps++] = (struct cpu_step){ .step = FERRY_STEP_ADD, .a = op->params.gemm.beta };
        r.add = args->in[2];
        r.add_column = op->in[2].stride[2];
        r.add_batch = op->in[2].stride[0];
        r.add_row = op->in[2].stride[1];
    }
    cpu_gemm_do(d->workers, &r);
}

static void batched_gemm_run(struct cpu_device *d, const struct cpu_op *p,
                             const struct cpu_op_args *args)
{
    const ferry_op_desc *op = &p->op;
    struct product m = { .a = args->in[0],
                         .b = args->in[1],
                         .c = adds_c(p) ? args->in[2] : NULL,
                         .y = args->out[0],
                         .alpha = op->params.gemm.alpha,
                         .beta = op->params.gemm.beta,
                         .m = op->out[0].shape[1],
                         .n = op->out[0].shape[2],
                         .k = op->in[0].shape[2] };

    for (int i = 0; i < 3; i++) {
        m.a_step[i] = op->in[0].stride[i];
        m.b_step[i] = op->in[1].stride[i];
        m.c_step[i] = op->in[2].stride[i];
        m.y_step[i] = op->out[0].stride[i];
    }
    if (p->plan.matrix.is_product)
        batched_gemm_multiply(d, p, args);
    else
        run_product(d, p, &m, op->out[0].shape[0]);
}

const struct cpu_op_kind cpu_op_batched_gemm = {
    .kind = FERRY_OP_BATCHED_GEMM,
    .plan = batched_gemm_plan,
    .prepare = batched_gemm_prepare,
    .run = batched_gemm_run,
};
