/* SPDX-License-Identifier: BSD-2-Clause */
/* Transposes four by four floats, for any instruction set. */
#ifndef FERRY_CPU_OP_TURN_H
#define FERRY_CPU_OP_TURN_H

#include <stdint.h>

/* Combines four of the eight lanes of two vectors. */
#if defined(__clang__)
#define TURN_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TURN_PICK(a, b, ...) \
    __builtin_shuffle(a, b, (int32_t __attribute__((vector_size(16)))){ __VA_ARGS__ })
#endif

/* Four floats at any alignment. */
typedef float __attribute__((vector_size(16), aligned(4), may_alias)) four;

/* Reads four rows of four floats, `row` apart, and sets the four columns. */
static inline void turn_four(const float *from, int64_t row, four out[4])
{
    const four a = *(const four *)from, b = *(const four *)(from + row);
    const four c = *(const four *)(from + 2 * row), d = *(const four *)(from + 3 * row);
    const four ab = TURN_PICK(a, b, 0, 4, 1, 5), cd = TURN_PICK(c, d, 0, 4, 1, 5);
    const four ba = TURN_PICK(a, b, 2, 6, 3, 7), dc = TURN_PICK(c, d, 2, 6, 3, 7);

    out[0] = TURN_PICK(ab, cd, 0, 1, 4, 5);
    out[1] = TURN_PICK(ab, cd, 2, 3, 6, 7);
    out[2] = TURN_PICK(ba, dc, 0, 1, 4, 5);
    out[3] = TURN_PICK(ba, dc, 2, 3, 6, 7);
}

#endif
