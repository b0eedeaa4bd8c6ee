/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts windows and operands of one or two spatial axes to FERRY_OP_SPATIAL axes: the missing
 * axes are the outermost, and have one element and a stride of 0.
 */
#ifndef FERRY_COMMON_WINDOW_H
#define FERRY_COMMON_WINDOW_H

#include <ferry/op_desc.h>

#include <string.h>

/* Copies the `axes` values of `from`, after as many of `missing` as FERRY_OP_SPATIAL needs. */
static inline void ferry__widen(const int64_t *from, uint32_t axes, int64_t missing, int64_t *to)
{
    uint32_t lacking = FERRY_OP_SPATIAL - axes;

    for (uint32_t i = 0; i < FERRY_OP_SPATIAL; i++)
        to[i] = i < lacking ? missing : from[i - lacking];
}

/* Copies the strides of an operand's axes from `first` on. */
static inline void ferry__widen_strides(const ferry_operand *o, uint32_t first, int64_t *stride)
{
    ferry__widen(&o->stride[first], o->rank - first, 0, stride);
}

/*
 * Fills the members of a structure that has the member names of ferry_op_window, except the kernel.
 */
#define FERRY__WIDEN_WINDOW(window, sizes, to)                                                     \
    do {                                                                                           \
        ferry__widen((window)->kernel, (window)->axes, 1, (sizes));                                \
        ferry__widen((window)->stride, (window)->axes, 1, (to)->stride);                           \
        ferry__widen((window)->dilation, (window)->axes, 1, (to)->dilation);                       \
        ferry__widen((window)->pad, (window)->axes, 0, (to)->pad);                                 \
        ferry__widen((window)->pad_end, (window)->axes, 0, (to)->pad_end);                         \
    } while (0)

#endif
