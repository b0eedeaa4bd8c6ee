/* SPDX-License-Identifier: BSD-2-Clause */
/* Short lines, far apart, for an instruction set: see vector.h. No include guard. */

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
