/* SPDX-License-Identifier: BSD-2-Clause */
/* The operation of a rig: its operands with their layouts and random values, and its steps. */
#include "op-rig.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

void rig_begin_random(void)
{
    state = 1;
}

int64_t rig_random(int64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(state >> 33) % n;
}

int64_t rig_axis_after(const ferry_op_window *w, uint32_t a, int64_t in)
{
    int64_t reach = w->dilation[a] * (w->kernel[a] - 1) + 1;

    if (w->transposed)
        return w->stride[a] * (in - 1) + reach - w->pad[a] - w->pad_end[a];
    if (in + w->pad[a] + w->pad_end[a] < reach)
        return 0;
    return (in + w->pad[a] + w->pad_end[a] - reach) / w->stride[a] + 1;
}

void rig_convolution(struct rig *r, uint32_t dtype, const struct rig_shape *s, int x_layout,
                     int w_layout, int y_layout, enum rig_bias bias)
{
    ferry_op_window *w = &r->op.params.window;
    int64_t x[5] = { s->images, s->channels }, k[5], y[5] = { s->images, s->outputs };

    k[0] = w->transposed ? s->channels : s->outputs;
    k[1] = (w->transposed ? s->outputs : s->channels) / w->group;
    for (uint32_t a = 0; a < w->axes; a++) {
        x[2 + a] = s->in[a];
        k[2 + a] = w->kernel[a];
        y[2 + a] = rig_axis_after(w, a, s->in[a]);
    }
    rig_in(r, dtype, x_layout, 2 + w->axes, x);
    rig_in(r, dtype, w_layout, 2 + w->axes, k);
    if (bias != RIG_NO_BIAS)
        rig_in(r, dtype, bias == RIG_PLAIN_BIAS ? RIG_PLAIN : RIG_APART, 1, &s->outputs);
    rig_out(r, dtype, y_layout, 2 + w->axes, y);
    r->op.constants = 2u;
}

void rig_pointwise(struct rig *r, const struct rig_shape *s, int x_layout, int y_layout,
                   enum rig_bias bias)
{
    ferry_op_window *w = &r->op.params.window;

    rig_begin(r, FERRY_OP_CONVOLUTION);
    w->axes = 2;
    w->group = 1;
    for (int a = 0; a < 2; a++)
        w->kernel[a] = w->stride[a] = w->dilation[a] = 1;
    rig_convolution(r, FERRY_F32, s, x_layout, RIG_PLAIN, y_layout, bias);
}

int64_t rig_count(const ferry_operand *o)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < o->rank; i++)
        n *= o->shape[i];
    return n;
}

/* Axis `i` from the innermost in that layout. */
static uint32_t axis_of(int layout, uint32_t rank, uint32_t i)
{
    if (layout == RIG_TURNED)
        return i;
    if ((layout == RIG_LAST || layout == RIG_LAST_SLICE) && rank > 2)
        return i == 0 ? 1 : i < rank - 1 ? rank - i : 0;
    return rank - 1 - i;
}

static void lay_out(ferry_operand *o, uint32_t dtype, int layout, uint32_t rank,
                    const int64_t *shape)
{
    int64_t stride = layout == RIG_APART ? 2 : 1;
    int64_t gap = layout == RIG_SLICE || layout == RIG_LAST_SLICE;

    memset(o, 0, sizeof(*o));
    o->dtype = dtype;
    o->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        o->shape[i] = shape[i];
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = axis_of(layout, rank, i);

        o->stride[axis] = shape[axis] == 1 ? 77 : stride; /* which has no meaning */
        stride *= (shape[axis] > 0 ? shape[axis] : 1) + gap;
    }
}

static double *values(const ferry_operand *o)
{
    double *v = malloc(sizeof(*v) * (size_t)(rig_count(o) + 1));

    for (int64_t i = 0; i < rig_count(o); i++)
        v[i] = (double)(float)((double)rig_random(1 << 20) / 0x1p19 - 1);
    return v;
}

void rig_begin(struct rig *r, uint32_t kind)
{
    memset(r, 0, sizeof(*r));
    r->op.struct_size = sizeof(r->op);
    r->op.kind = kind;
}

double *rig_in(struct rig *r, uint32_t dtype, int layout, uint32_t rank, const int64_t *shape)
{
    uint32_t i = r->op.n_in++;

    lay_out(&r->op.in[i], dtype, layout, rank, shape);
    return r->in[i] = values(&r->op.in[i]);
}

double *rig_out(struct rig *r, uint32_t dtype, int layout, uint32_t rank, const int64_t *shape)
{
    uint32_t i = r->op.n_out++;

    lay_out(&r->op.out[i], dtype, layout, rank, shape);
    return r->out[i] = values(&r->op.out[i]);
}

void rig_step(struct rig *r, uint32_t step, uint32_t function, double a, double b)
{
    const ferry_operand *y = &r->op.out[0];
    ferry_op_step *s = &r->op.epilogue[r->op.n_epilogue++];

    *s = (ferry_op_step){ .step = step, .function = function, .a = a, .b = b };
    if (step == FERRY_STEP_UNARY)
        return;
    s->operand = r->op.n_in;
    if (step == FERRY_STEP_ADD)
        rig_in(r, y->dtype, (int)rig_random(RIG_LAYOUTS), y->rank, y->shape);
    else
        rig_in(r, y->dtype, (int)rig_random(RIG_LAYOUTS), 1, &y->shape[1]);
}

void rig_step_last(struct rig *r, uint32_t step)
{
    const ferry_operand *y = &r->op.out[0];
    bool is_add = step == FERRY_STEP_ADD;

    r->op.epilogue[r->op.n_epilogue++] = (ferry_op_step){ .step = step, .operand = r->op.n_in };
    rig_in(r, y->dtype, is_add ? RIG_LAST : RIG_PLAIN, is_add ? y->rank : 1,
           is_add ? y->shape : &y->shape[1]);
}
