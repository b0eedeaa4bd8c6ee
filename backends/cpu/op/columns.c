/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

/* IM2COL and COL2IM: one task is a row of the columns, or a channel of the image. */

struct columns {
    const struct cpu_window *window;
    int64_t column[5]; /* strides of the columns: image, row, position */
    const void *in;
    void *out;
    bool is_f32;
};

/*
 * Whether tap `k` at position `at` of an axis is inside the image. *out is the element's position.
 */
static bool see(const struct cpu_window *w, int axis, int64_t at, int64_t k, int64_t *out)
{
    *out = at * w->stride[axis] - w->pad[axis] + k * w->dilation[axis];
    return *out >= 0 && *out < w->in[axis];
}

#define IMPL "columns_impl.h"
#include "reals_impl.h"

#include <ferry/op_types.h>

static void im2col_rows(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct columns *c = arg;
    int64_t rows = c->window->channels * c->window->taps;

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        if (c->is_f32)
            im2col_row_f32(c, i / rows, i % rows);
        else
            im2col_row_f64(c, i / rows, i % rows);
    }
}

static void col2im_planes(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct columns *c = arg;

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        if (c->is_f32)
            col2im_plane_f32(c, i / c->window->channels, i % c->window->channels);
        else
            col2im_plane_f64(c, i / c->window->channels, i % c->window->channels);
    }
}

/* Plans either kind; its operands are an image and columns. */
static int plan(struct cpu_op *p, const ferry_operand *image, const ferry_operand *columns)
{
    struct cpu_window *w = &p->plan.window;

    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&p->op.params.window, image, columns, w);
    return 0;
}

static void run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args,
                int64_t count, workers_body body)
{
    const struct cpu_window *w = &p->plan.window;
    struct columns c = { .window = w,
                         .in = args->in[0],
                         .out = args->out[0],
                         .is_f32 = p->op.out[0].dtype == FERRY_F32 };
    int64_t in_all = cpu_operand_count(&p->op.in[0]) + cpu_operand_count(&p->op.out[0]);

    for (int i = 0; i < 5; i++)
        c.column[i] = w->y[i];
    workers_run(d->workers, count, walk_piece_of(count, 4 * in_all / count + 1), body, &c);
}

static int im2col_plan(struct cpu_op *p)
{
    return plan(p, &p->op.in[0], &p->op.out[0]);
}

static void im2col_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;

    run(d, p, args, w->images * w->channels * w->taps, im2col_rows);
}

const struct cpu_op_kind cpu_op_im2col = {
    .kind = FERRY_OP_IM2COL,
    .plan = im2col_plan,
    .run = im2col_run,
};

static int col2im_plan(struct cpu_op *p)
{
    return plan(p, &p->op.out[0], &p->op.in[0]);
}

static void col2im_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;

    run(d, p, args, w->images * w->channels, col2im_planes);
}

const struct cpu_op_kind cpu_op_col2im = {
    .kind = FERRY_OP_COL2IM,
    .plan = col2im_plan,
    .run = col2im_run,
};
