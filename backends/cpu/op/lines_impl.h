/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies and sums of short lines at a pitch, for the instruction set that vector.h selects. No
 * include guard.
 */

TARGET static void NAME(move_lines)(int64_t lines, int64_t n, const float *from, int64_t from_pitch,
                                    float *to, int64_t to_pitch)
{
    for (; lines > 0; lines--, from += from_pitch, to += to_pitch)
        NAME(move)(to, from, n);
}

INLINE void NAME(add)(float *to, const float *from, int64_t n)
{
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        STORE(to + i, LOAD(to + i) + LOAD(from + i));
    if (LANES > 8 && i + 8 <= n) {
        *(vec_8 *)(to + i) += *(const vec_8 *)(from + i);
        i += 8;
    }
    if (LANES > 4 && i + 4 <= n) {
        *(vec_4 *)(to + i) += *(const vec_4 *)(from + i);
        i += 4;
    }
    for (; i < n; i++)
        to[i] += from[i];
}

TARGET static void NAME(add_lines)(int64_t lines, int64_t n, const float *from, int64_t from_pitch,
                                   float *to, int64_t to_pitch)
{
    for (; lines > 0; lines--, from += from_pitch, to += to_pitch)
        NAME(add)(to, from, n);
}

/* ---- planes --------------------------------------------------------------------------------- */

#if HAVE_AVX512
/* Of three interleaved vectors: the index of element k in planes 0 and 1, and in each plane. */
#define FROM_TWO(k)   ((k) % 3 * LANES + (k) / 3)
#define FROM_THIRD(k) ((k) / 3)
#define EIGHT(X, k) \
    X(k), X((k) + 1), X((k) + 2), X((k) + 3), X((k) + 4), X((k) + 5), X((k) + 6), X((k) + 7)
#define VECTOR(X, k)                   \
    {                                  \
        EIGHT(X, k), EIGHT(X, (k) + 8) \
    }
static const int32_t NAME(from_two)[3][LANES] = { VECTOR(FROM_TWO, 0), VECTOR(FROM_TWO, LANES),
                                                  VECTOR(FROM_TWO, 2 * LANES) };
static const int32_t NAME(from_third)[3][LANES] = { VECTOR(FROM_THIRD, 0),
                                                    VECTOR(FROM_THIRD, LANES),
                                                    VECTOR(FROM_THIRD, 2 * LANES) };
/* Elements of plane 2: k % 3 == 2. */
static const __mmask16 NAME(is_third)[3] = { 0x4924, 0x2492, 0x9249 };
#undef FROM_TWO
#undef FROM_THIRD
#undef EIGHT
#undef VECTOR

/* Vector k of three, from a vector of each plane. */
INLINE vec NAME(interleaved)(vec a, vec b, vec c, int k)
{
    __m512 v = _mm512_permutex2var_ps((__m512)a, _mm512_loadu_si512(NAME(from_two)[k]), (__m512)b);

    return (vec)_mm512_mask_permutexvar_ps(v, NAME(is_third)[k],
                                           _mm512_loadu_si512(NAME(from_third)[k]), (__m512)c);
}

/* Interleaves three planes, a vector of each at a time; returns the number of elements done. */
INLINE int64_t NAME(interleave_three)(int64_t n, const float *x, int64_t plane, float *y)
{
    int64_t i = 0, rest = n % LANES;
    vec a, b, c;

    for (; i + LANES <= n; i += LANES) {
        a = LOAD(x + i), b = LOAD(x + plane + i), c = LOAD(x + 2 * plane + i);
        for (int k = 0; k < 3; k++)
            STORE(y + 3 * i + k * LANES, NAME(interleaved)(a, b, c, k));
    }
    a = LOAD_SOME(x + i, rest), b = LOAD_SOME(x + plane + i, rest);
    c = LOAD_SOME(x + 2 * plane + i, rest);
    for (int k = 0; k < 3 && 3 * rest > k * LANES; k++) {
        int64_t some = 3 * rest - k * LANES;

        STORE_SOME(y + 3 * i + k * LANES, some < LANES ? some : LANES,
                   NAME(interleaved)(a, b, c, k));
    }
    return n;
}
#else
INLINE int64_t NAME(interleave_three)(int64_t n, const float *x, int64_t plane, float *y)
{
    for (int64_t i = 0; i < n; i++) {
        y[3 * i] = x[i];
        y[3 * i + 1] = x[plane + i];
        y[3 * i + 2] = x[2 * plane + i];
    }
    return n;
}
#endif

TARGET static void NAME(interleave)(int64_t planes, int64_t n, const float *x, int64_t plane,
                                    float *y)
{
    int64_t i = planes == 3 ? NAME(interleave_three)(n, x, plane, y) : 0;

    for (; i < n; i++)
        for (int64_t k = 0; k < planes; k++)
            y[i * planes + k] = x[k * plane + i];
}
