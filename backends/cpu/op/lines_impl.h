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
/* Interleaves three planes, one vector of each at a time; returns the number of elements done. */
INLINE int64_t NAME(interleave_three)(int64_t n, const float *x, int64_t plane, float *y)
{
    int32_t two[3][LANES], third[3][LANES]; /* the indices for planes 0 and 1, and then for plane
                                             * 2 */
    __mmask16 is_third[3] = { 0 };
    int64_t i = 0;

    for (int k = 0; k < 3 * LANES; k++) {
        two[k / LANES][k % LANES] = k % 3 * LANES + k / 3;
        third[k / LANES][k % LANES] = k / 3;
        is_third[k / LANES] |= (__mmask16)((k % 3 == 2) << k % LANES);
    }
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < 3; k++) {
            __m512 v = _mm512_permutex2var_ps((__m512)LOAD(x + i), _mm512_loadu_si512(two[k]),
                                              (__m512)LOAD(x + plane + i));

            v = _mm512_mask_permutexvar_ps(v, is_third[k], _mm512_loadu_si512(third[k]),
                                           (__m512)LOAD(x + 2 * plane + i));
            STORE(y + 3 * i + k * LANES, (vec)v);
        }
    return i;
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
