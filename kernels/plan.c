/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/descriptor.h"
#include "kernels/parts.h"

#include <string.h>

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

/* ---- what plans share ----------------------------------------------------------------------- */

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

void plan_spatial(const ferry_operand *o, uint32_t first, int64_t *stride)
{
    uint32_t lacking = FERRY_OP_SPATIAL - (o->rank - first);

    for (uint32_t i = 0; i < FERRY_OP_SPATIAL; i++)
        stride[i] = i < lacking ? 0 : o->stride[first + i - lacking];
}

void plan_window(const ferry_op_window *window, const ferry_operand *x, const ferry_operand *y,
                 struct window *out)
{
    uint32_t lacking = FERRY_OP_SPATIAL - window->axes;

    memset(out, 0, sizeof(*out));
    out->images = x->shape[0];
    out->channels = x->shape[1];
    for (int i = 0; i < 2; i++) {
        out->x[i] = x->stride[i];
        out->y[i] = y->stride[i];
    }
    plan_spatial(x, 2, &out->x[2]);
    plan_spatial(y, 2, &out->y[2]);
    for (uint32_t i = 0; i < FERRY_OP_SPATIAL; i++) {
        uint32_t from = i - lacking; /* of the operation's axes */
        bool is_there = i >= lacking;

        out->in[i] = is_there ? x->shape[2 + from] : 1;
        out->out[i] = is_there ? y->shape[2 + from] : 1;
        out->size[i] = is_there ? window->kernel[from] : 1;
        out->stride[i] = is_there ? window->stride[from] : 1;
        out->dilation[i] = is_there ? window->dilation[from] : 1;
        out->pad[i] = is_there ? window->pad[from] : 0;
        out->pad_end[i] = is_there ? window->pad_end[from] : 0;
    }
}

/* ---- by kind -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t kind;
    int (*plan)(struct kernel_plan *p);
} kinds[] = {
    { "convolution", FERRY_OP_CONVOLUTION, plan_convolution },
    { "inner product", FERRY_OP_INNER_PRODUCT, plan_inner_product },
    { "batched gemm", FERRY_OP_BATCHED_GEMM, plan_gemm },
    { "pool", FERRY_OP_POOL, plan_pool },
    { "unary", FERRY_OP_UNARY, plan_unary },
    { "binary", FERRY_OP_BINARY, plan_binary },
    { "strided copy", FERRY_OP_STRIDED_COPY, plan_copy },
    { "reduce", FERRY_OP_REDUCE, plan_reduce },
    { "moments", FERRY_OP_MOMENTS, plan_moments },
    { "softmax", FERRY_OP_SOFTMAX, plan_softmax },
    { "lrn", FERRY_OP_LRN, plan_lrn },
    { "im2col", FERRY_OP_IM2COL, plan_im2col },
    { "col2im", FERRY_OP_COL2IM, plan_col2im },
    { "resize", FERRY_OP_RESIZE, plan_resize },
    { "roi pool", FERRY_OP_ROI_POOL, plan_roi_pool },
    { "gather", FERRY_OP_GATHER, plan_gather },
    { "scatter-add", FERRY_OP_SCATTER_ADD, plan_scatter_add },
    { "random", FERRY_OP_RANDOM, plan_random },
    { "update", FERRY_OP_UPDATE, plan_update },
};

static const struct {
    uint32_t kind, pass;
    int (*plan)(struct kernel_plan *p);
} passes[] = {
    { FERRY_OP_CONVOLUTION, FERRY_PASS_BACKWARD_DATA, plan_convolution_data },
    { FERRY_OP_CONVOLUTION, FERRY_PASS_BACKWARD_WEIGHTS, plan_convolution_weights },
    { FERRY_OP_CONVOLUTION, FERRY_PASS_BACKWARD_BIAS, plan_channel_sums },
    { FERRY_OP_INNER_PRODUCT, FERRY_PASS_BACKWARD_DATA, plan_inner_product_data },
    { FERRY_OP_INNER_PRODUCT, FERRY_PASS_BACKWARD_WEIGHTS, plan_inner_product_weights },
    { FERRY_OP_INNER_PRODUCT, FERRY_PASS_BACKWARD_BIAS, plan_channel_sums },
    { FERRY_OP_POOL, FERRY_PASS_BACKWARD_DATA, plan_pool_data },
    { FERRY_OP_UNARY, FERRY_PASS_BACKWARD_DATA, plan_unary_data },
    { FERRY_OP_BINARY, FERRY_PASS_BACKWARD_DATA, plan_binary_data },
    { FERRY_OP_BINARY, FERRY_PASS_BACKWARD_WEIGHTS, plan_binary_share },
    { FERRY_OP_BINARY, FERRY_PASS_BACKWARD_BIAS, plan_binary_share },
    { FERRY_OP_REDUCE, FERRY_PASS_BACKWARD_DATA, plan_reduce_data },
    { FERRY_OP_MOMENTS, FERRY_PASS_BACKWARD_DATA, plan_moments_data },
    { FERRY_OP_SOFTMAX, FERRY_PASS_BACKWARD_DATA, plan_softmax_data },
    { FERRY_OP_LRN, FERRY_PASS_BACKWARD_DATA, plan_lrn_data },
    { FERRY_OP_RESIZE, FERRY_PASS_BACKWARD_DATA, plan_resize_data },
};

uint32_t kernel_kind_named(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strlen(kinds[i].name) == length && !strncmp(kinds[i].name, name, length))
            return kinds[i].kind;
    return 0;
}

/*
 * Where there is nothing to store, or to add to what is there, nothing is done; other sums over nothing are
 * for others.
 */
static int by_kind(struct kernel_plan *p, int (*plan)(struct kernel_plan *p))
{
    for (uint32_t i = 0; i < p->op.n_out; i++)
        if (plan_count(&p->op.out[i]) == 0) {
            p->answer.epilogue = p->op.n_epilogue;
            return 0;
        }
    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (plan_count(&p->op.in[i]) == 0)
            return p->op.pass >= FERRY_PASS_BACKWARD_WEIGHTS ? 0 : FERRY_EUNSUPPORTED;
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
        if (kinds[i].kind == p->op.kind && p->op.pass == FERRY_PASS_FORWARD)
            return by_kind(p, kinds[i].plan);
    for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
        if (passes[i].kind == p->op.kind && passes[i].pass == p->op.pass)
            return by_kind(p, passes[i].plan);
    return FERRY_EUNSUPPORTED;
}
