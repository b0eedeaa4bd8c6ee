/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions for an operation's descriptor and its answer that every plugin needs. ferry has checked
 * the shapes. Both structures have the size that their creators set.
 */
#ifndef FERRY_KERNELS_DESCRIPTOR_H
#define FERRY_KERNELS_DESCRIPTOR_H

#include <ferry/op_table.h>

#include <stdlib.h>
#include <string.h>

/* Sets the stride of each axis of one element to 0: it is never used and may be any number. */
static inline void descriptor_forget_strides(ferry_operand *operands, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < operands[k].rank; i++)
            if (operands[k].shape[i] == 1)
                operands[k].stride[i] = 0;
}

/* Copies a descriptor to the current length. Returns the number of the kind's own inputs. */
static inline uint32_t descriptor_take(const ferry_op_desc *from, ferry_op_desc *to)
{
    memset(to, 0, sizeof(*to));
    memcpy(to, from, from->struct_size < sizeof(*to) ? from->struct_size : sizeof(*to));
    descriptor_forget_strides(to->in, to->n_in);
    descriptor_forget_strides(to->out, to->n_out);
    return ferry_op_own_inputs(to);
}

/* Copies as much of the answer as the caller's structure holds. */
static inline void descriptor_answer(const ferry_op_answer *from, ferry_op_answer *out)
{
    uint32_t size = out->struct_size;

    memcpy(out, from, size < sizeof(*from) ? size : sizeof(*from));
    out->struct_size = size;
}

/* The entry `destroy` of a table whose prepared operations are each one allocation. */
static inline void descriptor_destroy(void *dev, void *prepared)
{
    (void)dev;
    free(prepared);
}

#endif
