/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applies a step of an epilogue to a row of sums, for an instruction set: see vector.h. No include
 * guard.
 */

#define EACH_COLUMN(vector, scalar)                                        \
    do {                                                                   \
        int64_t i = 0;                                                     \
                                                                           \
        for (; i + LANES <= columns && s->stride <= 1; i += LANES) {       \
            vec y = LOAD(sums + i);                                        \
            vec u = s->stride ? LOAD(s->operand + i) : SPLAT(*s->operand); \
                                                                           \
            STORE(sums + i, vector);                                       \
        }                                                                  \
        for (; i < columns; i++) {                                         \
            float y = sums[i], u = s->operand[i * s->stride];              \
                                                                           \
            sums[i] = scalar;                                              \
        }                                                                  \
    } while (0)

TARGET static void NAME(step)(const struct cpu_step *s, int64_t columns, float *sums)
{
    switch (s->step) {
    case FERRY_STEP_SCALE:
        EACH_COLUMN(y * u, y * u);
        break;
    case FERRY_STEP_SHIFT:
        EACH_COLUMN(y + u, y + u);
        break;
    case FERRY_STEP_PRELU:
        EACH_COLUMN(SELECT_POSITIVE(y, u * y), y > 0 ? y : u * y);
        break;
    default: /* FERRY_STEP_UNARY */
        if (!NAME(unary)(s->function, s->a, s->b, s->c, columns, sums, sums))
            cpu_unary_row(s->function, s->a, s->b, s->c, columns, sums, sums);
    }
}

#undef EACH_COLUMN
