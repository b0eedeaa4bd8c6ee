/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pooling of bytes for an instruction set: see integer_impl.h, which includes this file. No include
 * guard.
 */

/* Repeats a statement for each element x of the window, of channel `at`. */
#define EACH_ELEMENT(at, statement)                                                                \
    for (int64_t i = 0; i < p->count[0]; i++)                                                      \
        for (int64_t j = 0; j < p->count[1]; j++)                                                  \
            for (int64_t k = 0; k < p->count[2]; k++) {                                            \
                const uint8_t *x = p->x + i * p->step[0] + j * p->step[1] + k * p->step[2] + (at); \
                                                                                                   \
                statement;                                                                         \
            }

/* Computes the channels that fill whole vectors, from the first on; returns their number. */
INLINE int64_t NAME(most_vectors)(const struct cpu_integer_pool *p, uint8_t *y)
{
    int64_t c = 0;

    for (; c + BYTES <= p->channels; c += BYTES) {
        NAME(bytes) most = { 0 };

        EACH_ELEMENT(c, most = MAX_U8(most, p->is_signed ? FLIP(LOAD_BYTES(x)) : LOAD_BYTES(x)))
        PUT_BYTES(y + c, p->is_signed ? FLIP(most) : most);
    }
    return c;
}

TARGET static void NAME(integer_most)(const struct cpu_integer_pool *p, uint8_t *y)
{
    const uint8_t flip = p->is_signed ? 0x80 : 0;

    for (int64_t c = NAME(most_vectors)(p, y); c < p->channels; c++) {
        uint8_t most = 0;

        EACH_ELEMENT(c, most = (*x ^ flip) > most ? (uint8_t)(*x ^ flip) : most)
        y[c] = most ^ flip;
    }
}

INLINE int64_t NAME(total_vectors)(const struct cpu_integer_pool *p, int32_t *y)
{
    int64_t c = 0;

    for (; c + LANES <= p->channels; c += LANES) {
        ivec sum = { 0 };

        EACH_ELEMENT(c, sum += p->is_signed ? (ivec)OF_I8(x) : (ivec)OF_U8(x))
        *(ivec *)(y + c) = sum;
    }
    return c;
}

TARGET static void NAME(integer_total)(const struct cpu_integer_pool *p, int32_t *y)
{
    for (int64_t c = NAME(total_vectors)(p, y); c < p->channels; c++) {
        y[c] = 0;
        EACH_ELEMENT(c, y[c] += p->is_signed ? (int8_t)*x : *x)
    }
}

#undef EACH_ELEMENT
