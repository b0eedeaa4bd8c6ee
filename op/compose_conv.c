/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolution as im2col and gemm, transposed convolution as gemm and col2im: one image at a time,
 * and if the columns of an image do not fit, a part of its channels at a time.
 */
#include "op/compose.h"

#include "op/kind.h"

#include <ferry/blob.h>

#include <string.h>

/* The state of a composition. */
struct parts {
    struct ferry__plan *plan;
    const ferry_op_desc *op;
    const ferry_operand *wide, *narrow; /* the operand that the window slides over, and the result
                                         * of sliding */
    int64_t size;                       /* the size of an element */
    int64_t taps;                       /* the number of elements of the kernel */
    int64_t places;                     /* the number of positions of the window */
    int64_t along;                      /* the stride of `narrow`'s merged spatial axes */
    bool direct;                        /* the columns are the image itself */
};

/* Whether the window has one element and visits each element of the image once. */
static bool is_direct(const ferry_op_desc *op, const ferry_operand *wide,
                      const ferry_operand *narrow)
{
    const ferry_op_window *w = &op->params.window;
    uint32_t i;

    for (i = 0; i < w->axes; i++)
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->pad[i] || w->pad_end[i])
            return false;
    return ferry__operand_collapse(wide, 2, wide->rank) >= 0 && wide->rank == narrow->rank;
}

/* Channels first … first + n − 1 of one image. */
static ferry_operand channels_of(const ferry_operand *o, int64_t n)
{
    ferry_operand part = *o;

    part.shape[0] = 1;
    part.shape[1] = n;
    return part;
}

static struct ferry__binding channel_binding(const struct parts *p, enum ferry__source source,
                                             const ferry_operand *o, int64_t first)
{
    struct ferry__binding b = ferry__bind(source, 0);

    b.offset = first * o->stride[1] * p->size;
    b.stride = o->stride[0] * p->size;
    return b;
}

/* The columns of n channels without gaps: (1, n·taps, positions…). */
static ferry_operand columns_of(const struct parts *p, int64_t n)
{
    int64_t shape[FERRY_OP_AXES];
    uint32_t i;

    shape[0] = 1;
    shape[1] = n * p->taps;
    for (i = 2; i < p->narrow->rank; i++)
        shape[i] = p->narrow->shape[i];
    return ferry_operand_make((ferry_dtype)p->narrow->dtype, shape, (int)p->narrow->rank, NULL);
}

/* Adds im2col of n channels of the wide operand into temporary memory, or col2im from there. */
static int add_columns(const struct parts *p, bool back, int64_t first, int64_t n)
{
    struct ferry__binding image =
        channel_binding(p, back ? FERRY__FROM_OUT : FERRY__FROM_IN, p->wide, first);
    struct ferry__binding temp = ferry__bind(FERRY__FROM_TEMP, 0);
    ferry_op_desc op;

    image.index = !back && p->wide == &p->op->in[1];
    ferry_op_desc_init(&op, back ? FERRY_OP_COL2IM : FERRY_OP_IM2COL);
    op.n_in = op.n_out = 1;
    op.params.window = p->op->params.window;
    op.params.window.group = 1;
    op.params.window.transposed = 0;
    op.in[0] = back ? columns_of(p, n) : channels_of(p->wide, n);
    op.out[0] = back ? channels_of(p->wide, n) : columns_of(p, n);
    return ferry__plan_add(p->plan, &op, back ? &temp : &image, back ? &image : &temp);
}

/* The columns of `groups` groups of n channels each: (groups, n·taps, positions). */
static ferry_operand columns_matrix(const struct parts *p, int64_t groups, int64_t n)
{
    int64_t rows = n * p->taps, step = p->places;

    if (p->direct) {
        step = p->wide->stride[1];
        return ferry__operand3(
            p->wide->dtype, (int64_t[]){ groups, rows, p->places },
            (int64_t[]){ n * step, step, ferry__operand_collapse(p->wide, 2, p->wide->rank) });
    }
    return ferry__operand3(p->wide->dtype, (int64_t[]){ groups, rows, p->places },
                           (int64_t[]){ rows * step, step, 1 });
}

/* Adds y (groups, O/G, positions) += w (groups, O/G, n·taps) · columns, from channel `first` on. */
static int add_product(const struct parts *p, int64_t first, int64_t groups, int64_t n)
{
    const ferry_operand *w = &p->op->in[1], *y = p->narrow;
    int64_t group = p->op->params.window.group, per_group = w->shape[1];
    int64_t outputs = y->shape[1] / group, g = first / per_group, within = first % per_group;
    struct ferry__binding in[3], out;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BATCHED_GEMM);
    op.n_in = within ? 3 : 2;
    op.n_out = 1;
    op.math = p->op->math;
    op.constants = p->op->constants >> 1 & 1;
    op.params.gemm.beta = within ? 1 : 0;
    op.in[0] =
        ferry__operand3(w->dtype, (int64_t[]){ groups, outputs, n * p->taps },
                        (int64_t[]){ outputs * per_group * p->taps, per_group * p->taps, 1 });
    op.in[1] = columns_matrix(p, groups, n);
    op.out[0] = ferry__operand3(y->dtype, (int64_t[]){ groups, outputs, p->places },
                                (int64_t[]){ outputs * y->stride[1], y->stride[1], p->along });
    op.in[2] = op.out[0];
    in[0] = ferry__bind(FERRY__FROM_IN, 1);
    in[0].offset = (g * outputs * per_group + within) * p->taps * p->size;
    in[1] = p->direct ? channel_binding(p, FERRY__FROM_IN, p->wide, first)
                      : ferry__bind(FERRY__FROM_TEMP, 0);
    out = in[2] = channel_binding(p, FERRY__FROM_OUT, y, g * outputs);
    return ferry__plan_add(p->plan, &op, in, &out);
}

/*
 * For a transposed convolution: adds columns (groups, n·taps, positions) = wᵀ · x, for n output
 * channels of each group.
 */
static int add_transposed(const struct parts *p, int64_t first, int64_t groups, int64_t n)
{
    const ferry_operand *w = &p->op->in[1], *x = p->narrow;
    int64_t group = p->op->params.window.group, per_group = w->shape[1];
    int64_t inputs = x->shape[1] / group, g = first / per_group, within = first % per_group;
    int64_t row = per_group * p->taps;
    struct ferry__binding in[2], out;
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BATCHED_GEMM);
    op.n_in = 2;
    op.n_out = 1;
    op.math = p->op->math;
    op.constants = p->op->constants >> 1 & 1;
    op.in[0] = ferry__operand3(w->dtype, (int64_t[]){ groups, n * p->taps, inputs },
                               (int64_t[]){ inputs * row, 1, row });
    op.in[1] = ferry__operand3(x->dtype, (int64_t[]){ groups, inputs, p->places },
                               (int64_t[]){ inputs * x->stride[1], x->stride[1], p->along });
    op.out[0] = columns_matrix(p, groups, n);
    in[0] = ferry__bind(FERRY__FROM_IN, 1);
    in[0].offset = (g * inputs * per_group + within) * p->taps * p->size;
    in[1] = channel_binding(p, FERRY__FROM_IN, x, g * inputs);
    out = p->direct ? channel_binding(p, FERRY__FROM_OUT, p->wide, first)
                    : ferry__bind(FERRY__FROM_TEMP, 0);
    return ferry__plan_add(p->plan, &op, in, &out);
}

/*
 * The number of channels of `wide` in one pass: whole groups, or a part of one group; 0 if not even
 * one channel fits.
 */
static int64_t channels_at_a_time(const struct parts *p, int64_t per_group)
{
    uint64_t one = (uint64_t)p->taps * (uint64_t)p->places * (uint64_t)p->size;
    int64_t most = one ? (int64_t)(p->plan->target.temporary / one) : p->wide->shape[1];

    if (p->direct || most >= p->wide->shape[1])
        return p->wide->shape[1];
    return most >= per_group ? most / per_group * per_group : most;
}

/* Adds the operations for all channels of an image, as many at a time as fit. */
static int add_image(const struct parts *p)
{
    bool back = p->op->params.window.transposed;
    int64_t channels = p->wide->shape[1], per_group = p->op->in[1].shape[1];
    int64_t most = channels_at_a_time(p, per_group), first, n;
    int can = most > 0;

    for (first = 0; can > 0 && first < channels; first += n) {
        n = most >= per_group                      ? most
            : most < per_group - first % per_group ? most
                                                   : per_group - first % per_group;
        if (n > channels - first)
            n = channels - first;
        if (!back && !p->direct)
            can = add_columns(p, false, first, n);
        if (can > 0)
            can = (back ? add_transposed : add_product)(
                p, first, n >= per_group ? n / per_group : 1, n >= per_group ? per_group : n);
        if (can > 0 && back && !p->direct)
            can = add_columns(p, true, first, n);
    }
    if (!p->direct)
        p->plan->temporary_bytes = (uint64_t)(most * p->taps * p->places * p->size);
    return can;
}

/*
 * Fills in the sizes of a pass between a wide and a narrow image whose weights, or their gradient,
 * are `weights`. False if it cannot be composed.
 */
static bool measure(struct parts *p, const ferry_operand *wide, const ferry_operand *narrow,
                    const ferry_operand *weights)
{
    p->wide = wide;
    p->narrow = narrow;
    p->size = (int64_t)ferry_dtype_size((ferry_dtype)p->op->out[0].dtype);
    p->taps = ferry__operand_count_range(weights, 2, weights->rank);
    p->places = ferry__operand_count_range(narrow, 2, narrow->rank);
    p->along = ferry__operand_collapse(narrow, 2, narrow->rank);
    p->direct = is_direct(p->op, wide, narrow);
    return p->along >= 0 && ferry_operand_is_plain(weights) && ferry__operand_count(wide) &&
           ferry__operand_count(narrow);
}

int ferry__compose_convolution(struct ferry__plan *plan, const ferry_op_desc *op)
{
    bool back = op->params.window.transposed;
    struct parts p = { .plan = plan, .op = op };

    if (!measure(&p, back ? &op->out[0] : &op->in[0], back ? &op->in[0] : &op->out[0], &op->in[1]))
        return 0;
    plan->repeat = op->in[0].shape[0];
    return add_image(&p);
}

/* ---- the gradient of the weights ------------------------------------------------------------- */

/*
 * Adds dw (groups, O/G, n·taps) += narrow (groups, O/G, positions) · columnsᵀ, from channel `first`
 * on.
 */
static int add_gradient(const struct parts *p, int64_t first, int64_t groups, int64_t n)
{
    const ferry_operand *w = &p->op->out[0], *narrow = p->narrow;
    int64_t group = p->op->params.window.group, per_group = w->shape[1];
    int64_t outputs = narrow->shape[1] / group, g = first / per_group, within = first % per_group;
    int64_t row = per_group * p->taps;
    struct ferry__binding in[3], out = ferry__bind(FERRY__FROM_OUT, 0);
    ferry_operand columns = columns_matrix(p, groups, n);
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BATCHED_GEMM);
    op.n_in = 3;
    op.n_out = 1;
    op.math = p->op->math;
    op.params.gemm.beta = 1;
    op.in[0] =
        ferry__operand3(narrow->dtype, (int64_t[]){ groups, outputs, p->places },
                        (int64_t[]){ outputs * narrow->stride[1], narrow->stride[1], p->along });
    op.in[1] =
        ferry__operand3(columns.dtype, (int64_t[]){ groups, columns.shape[2], columns.shape[1] },
                        (int64_t[]){ columns.stride[0], columns.stride[2], columns.stride[1] });
    op.out[0] = ferry__operand3(w->dtype, (int64_t[]){ groups, outputs, n * p->taps },
                                (int64_t[]){ outputs * row, row, 1 });
    op.in[2] = op.out[0];
    in[0] = channel_binding(p, FERRY__FROM_IN, narrow, g * outputs);
    in[0].index = p->narrow == &p->op->in[1];
    in[1] = ferry__bind(FERRY__FROM_TEMP, 0);
    if (p->direct) {
        in[1] = channel_binding(p, FERRY__FROM_IN, p->wide, first);
        in[1].index = p->wide == &p->op->in[1];
    }
    out.offset = (g * outputs * per_group + within) * p->taps * p->size;
    in[2] = out;
    return ferry__plan_add(p->plan, &op, in, &out);
}

/* As add_image, for the gradient. */
static int add_gradients(const struct parts *p)
{
    int64_t channels = p->wide->shape[1], per_group = p->op->out[0].shape[1];
    int64_t most = channels_at_a_time(p, per_group), first, n;
    int can = most > 0;

    for (first = 0; can > 0 && first < channels; first += n) {
        int64_t left = per_group - first % per_group;

        n = most >= per_group || most < left ? most : left;
        n = n < channels - first ? n : channels - first;
        if (!p->direct)
            can = add_columns(p, false, first, n);
        if (can > 0)
            can = add_gradient(p, first, n >= per_group ? n / per_group : 1,
                               n >= per_group ? per_group : n);
    }
    if (!p->direct)
        p->plan->temporary_bytes = (uint64_t)(most * p->taps * p->places * p->size);
    return can;
}

int ferry__compose_weights(struct ferry__plan *plan, const ferry_op_desc *op)
{
    bool back = op->params.window.transposed;
    struct parts p = { .plan = plan, .op = op };

    if (!measure(&p, &op->in[back ? 0 : 1], &op->in[back ? 1 : 0], &op->out[0]))
        return 0;
    plan->repeat = op->in[0].shape[0];
    return add_gradients(&p);
}
