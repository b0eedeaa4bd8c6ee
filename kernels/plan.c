/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/window.h"
#include "kernels/descriptor.h"
#include "kernels/parts.h"

#include <ferry/op_types.h>
#include <string.h>

/* ---- numbers that the texts repeat ----------------------------------------------------------- */

#define SAME(name) _Static_assert(name == FERRY_##name, "args.h and the public headers agree")

SAME(BINARY_SUM);
SAME(BINARY_PRODUCT);
SAME(BINARY_MAX);
SAME(BINARY_SCALE);
SAME(BINARY_PRELU);
SAME(BINARY_NORMALISE);
SAME(REDUCE_SUM);
SAME(REDUCE_SUMSQ);
SAME(REDUCE_ASUM);
SAME(REDUCE_MAX);
SAME(REDUCE_ARGMAX);
SAME(RANDOM_UNIFORM);
SAME(RANDOM_GAUSSIAN);
SAME(UPDATE_SGD);
SAME(UPDATE_NESTEROV);
SAME(UPDATE_ADAGRAD);
SAME(UPDATE_RMSPROP);
SAME(UPDATE_ADADELTA);
SAME(STEP_UNARY);
SAME(STEP_ADD);
SAME(STEP_SCALE);
SAME(STEP_SHIFT);
SAME(STEP_PRELU);
_Static_assert(DTYPE_F32 == (int)FERRY_F32 && DTYPE_F64 == (int)FERRY_F64 &&
                   DTYPE_F16 == (int)FERRY_F16 && DTYPE_BF16 == (int)FERRY_BF16 &&
                   DTYPE_I8 == (int)FERRY_I8 && DTYPE_U8 == (int)FERRY_U8 &&
                   DTYPE_I32 == (int)FERRY_I32 && DTYPE_I64 == (int)FERRY_I64 &&
                   DTYPE_U32 == (int)FERRY_U32,
               "args.h and types.h agree");

/* ---- names ---------------------------------------------------------------------------------- */

static const struct {
    const char *function;
    enum kernel_program program;
    uint64_t size;
} kernels[KERNEL_COUNT] = {
#define KERNEL_LINE(kernel, function, program, numbers) \
    { #function, PROGRAM_##program, sizeof(struct numbers##_args) },
    KERNEL_LIST(KERNEL_LINE)
};

const char *kernel_function(uint32_t kernel)
{
    return kernels[kernel].function;
}

enum kernel_program kernel_program_of(uint32_t kernel)
{
    return kernels[kernel].program;
}

void kernel_seed(const struct kernel_launch *l, uint64_t seed, uint64_t offset,
                 union kernel_args *args)
{
    if (l->kernel != KERNEL_RANDOM)
        return;
    args->random.seed = seed;
    args->random.offset = offset;
}

void kernel_scalars(const struct kernel_launch *l, const double *scalars, union kernel_args *args)
{
    for (int i = 0; l->kernel == KERNEL_UPDATE && i < UPDATE_SCALARS; i++)
        args->update.scalars[i] = (float)scalars[i];
}

/* ---- operands ------------------------------------------------------------------------------- */

int64_t plan_count(const ferry_operand *o)
{
    int64_t count = 1;

    for (uint32_t i = 0; i < o->rank; i++)
        count *= o->shape[i];
    return count;
}

bool plan_is_all(const struct kernel_plan *p, uint32_t dtype)
{
    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (p->op.in[i].dtype != dtype)
            return false;
    for (uint32_t i = 0; i < p->op.n_out; i++)
        if (p->op.out[i].dtype != dtype)
            return false;
    return true;
}

uint64_t kernel_operand_bytes(const ferry_operand *o)
{
    static const uint64_t sizes[FERRY_DTYPE_COUNT] = { 4, 8, 2, 2, 1, 1, 4, 8, 4 };
    uint64_t last = 0;

    for (uint32_t i = 0; i < o->rank; i++) {
        if (o->shape[i] == 0)
            return 0;
        last += o->shape[i] == 1 ? 0 : (uint64_t)(o->shape[i] - 1) * (uint64_t)o->stride[i];
    }
    return (last + 1) * sizes[o->dtype];
}

/* ---- shared functions ----------------------------------------------------------------------- */

struct kernel_launch *plan_launch(struct kernel_plan *p, uint32_t kernel)
{
    struct kernel_launch *l = &p->launch[p->launches++];

    memset(l, 0, sizeof(*l));
    l->kernel = kernel;
    l->size = kernels[kernel].size;
    return l;
}

int64_t plan_parts(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t plan_piece(const struct kernel_plan *p, int64_t all, int64_t least)
{
    int64_t piece = plan_parts(all, p->target.busy);

    if (piece < least * p->target.group)
        piece = least * p->target.group;
    return plan_parts(piece, p->target.group) * p->target.group;
}

void plan_prefer_channels_last(struct kernel_plan *p)
{
    uint32_t rank = p->op.in[0].rank;

    for (uint32_t i = 1; i + 1 < rank; i++)
        p->answer.order[i] = (uint8_t)(i + 1);
    p->answer.order[rank - 1] = 1;
}

void plan_window(const ferry_op_window *window, const ferry_operand *x, const ferry_operand *y,
                 struct window *out)
{
    memset(out, 0, sizeof(*out));
    out->images = x->shape[0];
    out->channels = x->shape[1];
    for (int i = 0; i < 2; i++) {
        out->x[i] = x->stride[i];
        out->y[i] = y->stride[i];
    }
    ferry__widen(&x->stride[2], window->axes, 0, &out->x[2]);
    ferry__widen(&y->stride[2], window->axes, 0, &out->y[2]);
    ferry__widen(&x->shape[2], window->axes, 1, out->in);
    ferry__widen(&y->shape[2], window->axes, 1, out->out);
    FERRY__WIDEN_WINDOW(window, out->size, out);
}

/* ---- by kind -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t kind, pass;
    int (*plan)(struct kernel_plan *p);
} kinds[] = {
#define ROW(kind, pass, id, name, ...) { name, FERRY_OP_##kind, FERRY_PASS_##pass, plan_##id },
    KIND_LIST(ROW)
};

uint32_t kernel_kind_named(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].pass == FERRY_PASS_FORWARD && strlen(kinds[i].name) == length &&
            !strncmp(kinds[i].name, name, length))
            return kinds[i].kind;
    return 0;
}

/*
 * Plans by kind. Without outputs, or without terms to accumulate, there are no launches; other sums
 * over no elements are not supported.
 */
static int by_kind(struct kernel_plan *p, int (*plan)(struct kernel_plan *p))
{
    for (uint32_t i = 0; i < p->op.n_out; i++)
        if (plan_count(&p->op.out[i]) == 0) {
            p->answer.epilogue = p->op.n_epilogue;
            return 0;
        }
    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (plan_count(&p->op.in[i]) == 0 && p->op.pass >= FERRY_PASS_BACKWARD_WEIGHTS)
            return 0;
        else if (plan_count(&p->op.in[i]) == 0 && !p->target.sums_nothing)
            return FERRY_EUNSUPPORTED;
    return plan(p);
}

int kernel_plan_make(const struct kernel_target *target, const ferry_op_desc *op,
                     struct kernel_plan *out)
{
    struct kernel_plan *p = out;

    memset(p, 0, sizeof(*p));
    p->own_in = descriptor_take(op, &p->op);
    p->target = *target;
    p->answer.struct_size = sizeof(p->answer);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].kind == p->op.kind && kinds[i].pass == p->op.pass)
            return by_kind(p, kinds[i].plan);
    return FERRY_EUNSUPPORTED;
}
