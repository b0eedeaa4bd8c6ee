/* SPDX-License-Identifier: BSD-2-Clause */
/* Convolutions and products of halves, by tensor cores where the device has them (tensor.k). */
#include "kernels/parts.h"

#include <ferry/op_types.h>

bool plan_is_product(const struct kernel_plan *p)
{
    return plan_is_all(p, FERRY_F32) || (p->target.f16 && plan_is_all(p, FERRY_F16)) ||
           (p->target.bf16 && plan_is_all(p, FERRY_BF16));
}

/* The strides of in[2]: a bias, or of a BATCHED_GEMM a matrix as large as y, times beta. */
static void take_addend(struct kernel_plan *p, struct kernel_launch *l)
{
    struct tensor_args *a = &l->args.tensor;
    const ferry_operand *add = &p->op.in[2];
    bool is_matrix = p->op.kind == FERRY_OP_BATCHED_GEMM;

    a->beta = is_matrix ? (float)p->op.params.gemm.beta : 1.0f;
    if (p->own_in < 3 || a->beta == 0)
        return;
    a->has_addend = 1;
    l->from[3] = FROM_IN(2);
    if (is_matrix) {
        for (int i = 0; i < 3; i++)
            a->add[i] = add->stride[i];
    } else if (add->shape[0] > 1) {
        a->add[0] = a->outputs * add->stride[0];
        a->add[2] = add->stride[0];
    }
}

int plan_tensor(struct kernel_plan *p, const struct convolution_args *c, int64_t groups,
                const struct plan_weights *w)
{
    const struct window *v = &c->window;
    struct kernel_launch *l = plan_launch(p, KERNEL_TENSOR);
    struct tensor_args *a = &l->args.tensor;

    a->window = *v;
    a->pixels = v->images * v->out[0] * v->out[1] * v->out[2];
    a->channels = c->channels;
    a->outputs = c->outputs;
    a->depth = c->channels * v->size[0] * v->size[1] * v->size[2];
    a->x_group = c->x_group;
    a->y_group = c->y_group;
    a->w_group = w->is_shared ? 0 : w->group;
    a->w[0] = w->output;
    a->w[1] = w->channel;
    for (int i = 0; i < 3; i++)
        a->w[2 + i] = w->tap[i];
    a->first = w->first;
    a->pixel_groups = plan_parts(a->pixels, TENSOR_ROWS);
    a->blocks = plan_parts(a->outputs, TENSOR_COLUMNS);
    a->alpha = (float)w->scale;
    a->is_bfloat = p->op.in[0].dtype == FERRY_BF16;
    for (uint32_t i = 0; i < 2; i++)
        l->from[i] = FROM_IN(i);
    l->from[2] = FROM_OUT(0);
    take_addend(p, l);
    l->groups = a->pixel_groups * a->blocks * groups;
    return 0;
}
