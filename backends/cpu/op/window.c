/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <string.h>

void cpu_window_make(const ferry_op_window *window, const ferry_operand *x, const ferry_operand *y,
                     struct cpu_window *out)
{
    uint32_t lacking = FERRY_OP_SPATIAL - window->axes;

    memset(out, 0, sizeof(*out));
    out->images = x->shape[0];
    out->channels = x->shape[1];
    out->outputs = y->shape[1];
    for (int i = 0; i < 2; i++) {
        out->x[i] = x->stride[i];
        out->y[i] = y->stride[i];
    }
    out->taps = 1;
    out->axes = window->axes;
    for (uint32_t i = 0; i < FERRY_OP_SPATIAL; i++) {
        uint32_t from = i - lacking; /* of the operation's axes */
        bool is_there = i >= lacking;

        out->in[i] = is_there ? x->shape[2 + from] : 1;
        out->out[i] = is_there ? y->shape[2 + from] : 1;
        out->kernel[i] = is_there ? window->kernel[from] : 1;
        out->stride[i] = is_there ? window->stride[from] : 1;
        out->dilation[i] = is_there ? window->dilation[from] : 1;
        out->pad[i] = is_there ? window->pad[from] : 0;
        out->pad_end[i] = is_there ? window->pad_end[from] : 0;
        out->x[2 + i] = is_there ? x->stride[2 + from] : 0;
        out->y[2 + i] = is_there ? y->stride[2 + from] : 0;
        out->taps *= out->kernel[i];
    }
}

struct cpu_span cpu_window_whole(const struct cpu_window *w, int axis)
{
    int64_t stride = w->stride[axis], room = w->in[axis] + w->pad[axis] - w->kernel[axis];
    int64_t whole = room < 0 ? 0 : room / stride + 1, first = (w->pad[axis] + stride - 1) / stride;
    int64_t end = whole < w->out[axis] ? whole : w->out[axis];

    return first < end ? (struct cpu_span){ first, end }
                       : (struct cpu_span){ w->out[axis], w->out[axis] };
}
