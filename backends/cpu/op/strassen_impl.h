/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of strassen.h, for an instruction set: see vector.h. No include guard. */

TARGET static void NAME(strassen_parts)(const struct cpu_strassen_pair *p)
{
    const int64_t part = p->part;
    float *to = p->to;

    for (int64_t i = 0; i < p->half; i += LANES, to += LANES) {
        const vec scale = LOAD(p->scales + i), right_scale = LOAD(p->scales + p->half + i);
        const vec left = LOAD(p->upper + i), right = LOAD(p->upper + p->half + i);
        vec lower_left = { 0 }, lower_right = { 0 }, sum, rest;

        if (p->lower) {
            lower_left = scale * LOAD(p->lower + i);
            lower_right = right_scale * LOAD(p->lower + p->half + i);
        }
        sum = lower_left + lower_right;
        rest = sum - scale * left;
        STORE(to + STRASSEN_SUM * part, sum);
        STORE(to + STRASSEN_REST * part, rest);
        STORE(to + STRASSEN_FALL * part, scale * left - lower_left);
        STORE(to + STRASSEN_LAST * part, right_scale * right - rest);
        STORE(to + STRASSEN_CORNER * part, lower_right);
        if (p->copies) {
            STORE(to + STRASSEN_LEFT * part, left);
            STORE(to + STRASSEN_RIGHT * part, right);
        }
    }
}

TARGET static void NAME(add_vectors)(int64_t n, const float *x, const float *y, float *to)
{
    for (int64_t i = 0; i < n; i += LANES)
        STORE(to + i, LOAD(x + i) + LOAD(y + i));
}
