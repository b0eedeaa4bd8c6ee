/* SPDX-License-Identifier: BSD-2-Clause */
#include "taps.h"

#include "common/window.h"
#include "op.h"

void cpu_taps_find(struct cpu_op *p)
{
    const ferry_op_window *window = &p->op.params.window;
    const ferry_operand *w = &p->op.in[1];
    int64_t *wide = p->plan.convolution.w;

    wide[0] = w->stride[window->transposed ? 1 : 0];
    wide[1] = w->stride[window->transposed ? 0 : 1];
    ferry__widen_strides(w, 2, &wide[2]);
    p->plan.convolution.w_group = w->shape[0] / window->group * w->stride[0];
    p->plan.convolution.is_transposed = window->transposed != 0;
}

void cpu_taps_turn(struct cpu_op *p)
{
    struct cpu_window *w = &p->plan.convolution.window;
    int64_t *tap = &p->plan.convolution.w[2];

    for (int i = 0; i < 3; i++)
        if (w->stride[i] != 1 || w->dilation[i] * (w->kernel[i] - 1) < w->pad[i])
            return;
    p->plan.convolution.is_transposed = false;
    for (int i = 0; i < 3; i++) {
        int64_t reach = w->dilation[i] * (w->kernel[i] - 1);

        w->pad[i] = reach - w->pad[i];
        w->pad_end[i] = w->out[i] - w->in[i] + reach - w->pad[i];
        p->plan.convolution.w_first += (w->kernel[i] - 1) * tap[i];
        tap[i] = -tap[i];
    }
}

void cpu_taps_trim(struct cpu_op *p)
{
    struct cpu_window *w = &p->plan.convolution.window;

    for (int i = 0; i < 3; i++) {
        int64_t far = (w->out[i] - 1) * w->stride[i], step = w->dilation[i];

        for (; w->kernel[i] > 1 && w->pad[i] >= step && far < w->pad[i]; w->kernel[i]--) {
            p->plan.convolution.w_first += p->plan.convolution.w[2 + i];
            w->pad[i] -= step;
        }
        for (; w->kernel[i] > 1 && w->pad_end[i] >= step &&
               (w->kernel[i] - 1) * step - w->pad[i] >= w->in[i];
             w->kernel[i]--)
            w->pad_end[i] -= step;
    }
    w->taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
}
