/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/passes/quantize_items.h"

#include "op/operation.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <string.h>

bool ferry__item_is(const struct ferry__item *item, uint32_t kind)
{
    return !item->call && !item->dropped && item->op.kind == kind &&
           item->op.pass == FERRY_PASS_FORWARD;
}

bool ferry__item_is_pool(const struct ferry__item *item, uint32_t method)
{
    return ferry__item_is(item, FERRY_OP_POOL) && item->op.params.pool.method == method &&
           item->op.n_out == 1 && !item->op.n_epilogue && item->op.in[0].dtype == FERRY_F32;
}

bool ferry__item_is_copy(const struct ferry__item *item)
{
    return ferry__item_is(item, FERRY_OP_STRIDED_COPY) && !item->op.n_epilogue &&
           item->op.in[0].dtype == FERRY_F32 && item->op.out[0].dtype == FERRY_F32;
}

/* Whether a factor of the sums can be applied after the step, or to the step's bounds. */
static bool is_scalable(const ferry_op_step *s)
{
    return s->step == FERRY_STEP_PRELU || s->step == FERRY_STEP_SCALE ||
           (s->step == FERRY_STEP_UNARY &&
            (s->function == FERRY_UNARY_RELU || s->function == FERRY_UNARY_CLIP));
}

bool ferry__product_steps(const ferry_op_desc *op, int *out_add)
{
    bool all = true;
    uint32_t i;

    *out_add = -1;
    for (i = 0; i < op->n_epilogue; i++) {
        if (op->epilogue[i].step == FERRY_STEP_ADD)
            *out_add = (int)op->epilogue[i].operand;
        else
            all = all && is_scalable(&op->epilogue[i]);
    }
    return all;
}

bool ferry__product_has_room(const ferry_op_desc *op)
{
    return op->n_in + (ferry_op_own_inputs(op) == 2 ? 2 : 1) <= FERRY_OP_INPUTS &&
           op->n_epilogue + 2 <= FERRY_OP_EPILOGUE;
}

void ferry__product_describe(const struct ferry__item *item, struct ferry__grid in,
                             struct ferry__grid out, struct ferry__grid add, ferry_op_desc *op,
                             float *out_unit)
{
    ferry_op_desc from = item->op;
    uint32_t own = ferry_op_own_inputs(&from), shift = own == 2 ? 2 : 1, i;
    const int64_t outputs = from.out[0].shape[1];
    int added;
    bool all = ferry__product_steps(&from, &added);
    float unit = added >= 0 ? add.scale : all ? out.scale : 1;

    *op = from;
    op->in[0].dtype = in.dtype;
    op->in[1] = ferry_operand_make(FERRY_I8, from.in[1].shape, (int)from.in[1].rank, NULL);
    op->in[2] = op->in[3] = ferry_operand_make(FERRY_F32, &outputs, 1, NULL);
    op->out[0].dtype = out.dtype;
    for (i = own; i < from.n_in; i++)
        op->in[i + shift] = from.in[i];
    op->constants = (from.constants & 3) | 1u << 1 | 1u << 2 | 1u << 3;
    op->n_in = from.n_in + shift;
    op->n_epilogue = from.n_epilogue + 1;
    op->epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_SCALE, .operand = 3 };
    for (i = 0; i < from.n_epilogue; i++) {
        ferry_op_step *s = &op->epilogue[i + 1];

        *s = from.epilogue[i];
        if (s->step != FERRY_STEP_UNARY)
            s->operand += shift;
        if (s->step == FERRY_STEP_ADD)
            op->in[s->operand].dtype = add.dtype;
        if (s->step == FERRY_STEP_UNARY && s->function == FERRY_UNARY_CLIP) {
            s->a /= (double)unit;
            s->b /= (double)unit;
        }
    }
    if (unit != out.scale || out.zero != 0)
        op->epilogue[op->n_epilogue++] = (ferry_op_step){ .step = FERRY_STEP_UNARY,
                                                          .function = FERRY_UNARY_POWER,
                                                          .a = 1,
                                                          .b = (double)unit / (double)out.scale,
                                                          .c = (double)out.zero };
    *out_unit = unit;
}

int ferry__product_gains(const struct ferry__item *item, const ferry_op_desc *op, bool *out)
{
    *out = false;
    if (ferry_op_desc_check(op))
        return 0;
    return ferry__layer_failed(item->layer, ferry__operation_gains(item->layer->device, op, out));
}

bool ferry__product_has_constants(const struct ferry__item *item)
{
    uint32_t own = ferry_op_own_inputs(&item->op), i;

    for (i = 1; i < own; i++)
        if (item->in[i].value >= 0 || item->in[i].diff || item->in[i].start ||
            item->op.in[i].dtype != FERRY_F32)
            return false;
    return item->op.in[0].dtype == FERRY_F32 && item->op.out[0].dtype == FERRY_F32;
}

bool ferry__item_pads(const struct ferry__item *item)
{
    const ferry_op_window *w = &item->op.params.window;
    uint32_t i;

    if (ferry__item_is(item, FERRY_OP_POOL) && item->op.params.pool.method == FERRY_POOL_AVERAGE)
        w = &item->op.params.pool.window;
    else if (!ferry__item_is(item, FERRY_OP_CONVOLUTION))
        return false;
    for (i = 0; i < w->axes; i++)
        if (w->pad[i] || w->pad_end[i])
            return true;
    return false;
}

/* Whether input `k` of a BINARY has a number for each of `channels` channels. */
static bool is_vector(const struct ferry__item *item, uint32_t k, int64_t channels)
{
    const ferry_operand *o = &item->op.in[k];

    return item->in[k].value < 0 && item->in[k].blob && !item->in[k].diff && !item->in[k].start &&
           o->dtype == FERRY_F32 && o->rank == 3 && o->shape[0] == 1 && o->shape[1] == channels &&
           o->shape[2] == 1 && ferry_operand_is_plain(o);
}

static bool is_bound(const ferry_op_step *s)
{
    return s->step == FERRY_STEP_UNARY &&
           (s->function == FERRY_UNARY_CLIP || (s->function == FERRY_UNARY_RELU && s->a == 0));
}

bool ferry__item_is_affine(const struct ferry__program *p, const struct ferry__item *item)
{
    const ferry_op_desc *op = &item->op;
    int x = item->in[0].value, y = item->out[0].value;
    const struct ferry__value *v;
    uint32_t k;

    if (!ferry__item_is(item, FERRY_OP_BINARY) ||
        op->params.binary.function != FERRY_BINARY_SCALE || item->layer->float_only || x < 0 ||
        y < 0 || x == y || op->n_in < 2 || op->n_in > 3 || op->out[0].rank != 3 ||
        op->out[0].dtype != FERRY_F32 || !ferry__is_whole(p, &op->in[0], &item->in[0]) ||
        !ferry__is_whole(p, &op->out[0], &item->out[0]))
        return false;
    v = &p->values[x];
    for (k = 1; k < op->n_in; k++)
        if (!is_vector(item, k, op->out[0].shape[1]))
            return false;
    return v->rank >= 2 && v->rank == p->values[y].rank &&
           !memcmp(v->shape, p->values[y].shape, (size_t)v->rank * sizeof *v->shape) &&
           v->shape[0] == op->out[0].shape[0] && v->shape[1] == op->out[0].shape[1] &&
           op->n_epilogue <= 1 && (!op->n_epilogue || is_bound(&op->epilogue[0]));
}

static ferry_op_step power_of(double factor, double term)
{
    return (ferry_op_step){
        .step = FERRY_STEP_UNARY, .function = FERRY_UNARY_POWER, .a = 1, .b = factor, .c = term
    };
}

/* Whether a step only bounds its values from below by 0, as integers of the grid do. */
static bool is_implied(const ferry_op_step *s, struct ferry__grid out)
{
    return s->function == FERRY_UNARY_RELU && out.dtype == FERRY_U8 && out.zero == 0;
}

bool ferry__affine_describe(const struct ferry__program *p, const struct ferry__item *item,
                            struct ferry__grid in, struct ferry__grid out, ferry_op_desc *op)
{
    const struct ferry__value *v = &p->values[item->in[0].value];
    ferry_op_step step[FERRY_OP_EPILOGUE + 1];
    uint32_t n = 0, k;

    ferry_op_desc_init(op, FERRY_OP_STRIDED_COPY);
    op->n_in = item->op.n_in;
    op->n_out = 1;
    op->in[0] = ferry_operand_make((ferry_dtype)in.dtype, v->shape, v->rank, NULL);
    op->out[0] = ferry_operand_make((ferry_dtype)out.dtype, v->shape, v->rank, NULL);
    op->constants = item->op.constants;
    if (in.dtype != FERRY_F32)
        step[n++] = power_of((double)in.scale, -(double)in.zero * (double)in.scale);
    for (k = 1; k < item->op.n_in; k++) {
        op->in[k] = ferry_operand_make(FERRY_F32, &v->shape[1], 1, NULL);
        step[n++] =
            (ferry_op_step){ .step = k > 1 ? FERRY_STEP_SHIFT : FERRY_STEP_SCALE, .operand = k };
    }
    if (item->op.n_epilogue && !is_implied(&item->op.epilogue[0], out))
        step[n++] = item->op.epilogue[0];
    step[n++] = power_of(1 / (double)out.scale, (double)out.zero);
    if (n > FERRY_OP_EPILOGUE)
        return false;
    memcpy(op->epilogue, step, n * sizeof *step);
    op->n_epilogue = n;
    return true;
}
