/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every plugin does with an operation's descriptor and its answer, whatever it computes with.
 * ferry has checked the shapes; both structures are as long as whoever made them says.
 */
#ifndef FERRY_KERNELS_DESCRIPTOR_H
#define FERRY_KERNELS_DESCRIPTOR_H

#include <ferry/op_plugin.h>

#include <string.h>

/* Along an axis of one element nothing is stepped: its stride may be any number, and is 0 here. */
static inline void descriptor_forget_strides(ferry_operand *operands, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < operands[k].rank; i++)
            if (operands[k].shape[i] == 1)
                operands[k].stride[i] = 0;
}

/* A copy, in today's length. Returns how many inputs are the kind's own: no step of the epilogue names them. */
static inline uint32_t descriptor_take(const ferry_op_desc *from, ferry_op_desc *to)
{
    uint32_t own;

    memset(to, 0, sizeof(*to));
    memcpy(to, from, from->struct_size < sizeof(*to) ? from->struct_size : sizeof(*to));
    descriptor_forget_strides(to->in, to->n_in);
    descriptor_forget_strides(to->out, to->n_out);
    own = to->n_in;
    for (uint32_t i = 0; i < to->n_epilogue; i++)
        if (to->epilogue[i].step != FERRY_STEP_UNARY && to->epilogue[i].operand < own)
            own = to->epilogue[i].operand;
    return own;
}

/* As much of the answer as the asker knows. */
static inline void descriptor_answer(const ferry_op_answer *from, ferry_op_answer *out)
{
    uint32_t size = out->struct_size;

    memcpy(out, from, size < sizeof(*from) ? size : sizeof(*from));
    out->struct_size = size;
}

#endif
