/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/vector.h"

#include "kernels/parts.h"

#include <string.h>

#define LEAST 16 /* minimum number of elements per item of a group */

static void begin(uint32_t kernel, uint64_t size, struct kernel_launch *out)
{
    memset(out, 0, sizeof(*out));
    out->kernel = kernel;
    out->size = size;
}

/* Sets the number of elements per group; 0 groups if there are no elements. */
static int64_t divide(const struct kernel_target *target, int64_t n, struct kernel_launch *out)
{
    int64_t least = LEAST * (int64_t)target->group, piece = plan_parts(n, target->busy);

    piece = plan_parts(piece < least ? least : piece, target->group) * target->group;
    out->groups = plan_parts(n, piece);
    return piece;
}

void kernel_vector_sum(const struct kernel_target *target, uint32_t op, uint32_t dtype, int64_t n,
                       struct kernel_launch *out)
{
    struct sum_args *a = &out->args.sum;

    begin(KERNEL_VECTOR_SUM, sizeof(*a), out);
    a->count = n;
    a->piece = divide(target, n, out);
    a->groups = out->groups;
    a->function = op == FERRY_OP_DOT ? 0 : op == FERRY_OP_ASUM ? 1 : 2;
    a->dtype = (int32_t)dtype;
}

void kernel_vector_convert(const struct kernel_target *target, uint32_t from, uint32_t to,
                           int64_t n, struct kernel_launch *out)
{
    struct convert_args *a = &out->args.convert;

    begin(KERNEL_VECTOR_CONVERT, sizeof(*a), out);
    a->count = n;
    a->piece = divide(target, n, out);
    a->from = (int32_t)from;
    a->to = (int32_t)to;
}

/* The element repeated to fill a word. */
static uint64_t word_of(uint64_t bits, uint32_t size)
{
    uint64_t word = size == 8 ? bits : bits & ((UINT64_C(1) << 8 * size) - 1);

    for (uint32_t have = size; have < 8; have *= 2)
        word |= word << 8 * have;
    return word;
}

void kernel_vector_fill(const struct kernel_target *target, uintptr_t address, uint32_t size,
                        uint64_t bits, int64_t n, struct kernel_launch *out)
{
    struct fill_args *a = &out->args.fill;
    int64_t before = (int64_t)((0 - address) % 8 / size);

    begin(KERNEL_VECTOR_FILL, sizeof(*a), out);
    a->count = n;
    a->before = before < n ? before : n;
    a->words = (n - a->before) * (int64_t)size / 8;
    a->after = a->before + a->words * 8 / (int64_t)size;
    a->size = (int32_t)size;
    a->bits = bits;
    a->word = word_of(bits, size);
    a->piece = divide(target, a->words, out);
    if (!out->groups)
        out->groups = 1; /* one group for the elements before and after the words */
    a->at[1] = a->before * (int64_t)size;
}
