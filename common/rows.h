/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of numbers as integers of 8 bits, from −127 to 127, with one scale for each row: the largest
 * magnitude of the row divided by 127. Files hold the magnitude, from which the scale is computed
 * in double: so rounding a row that was rounded before changes nothing, unless its magnitude is not
 * a normal number.
 */
#ifndef FERRY_COMMON_ROWS_H
#define FERRY_COMMON_ROWS_H

#include <float.h>
#include <math.h>
#include <stdint.h>

/* The scale of a row; 1 for rows of zeros, and if the magnitude is not positive and finite. */
static inline double ferry__row_scale(float magnitude)
{
    return magnitude > 0 && magnitude <= FLT_MAX ? (double)magnitude / 127 : 1;
}

/* Rounds to the nearest integer, as the sum with 1.5 · 2^52 does: for values below 2^51. */
static inline double ferry__row_rounded(double x)
{
    const double shift = 6755399441055744.0;

    return x + shift - shift;
}

/* The largest magnitude of a row. NaN counts as 0. */
static inline float ferry__row_magnitude(const float *from, int64_t count)
{
    float most[4] = { 0 }; /* independent of each other, so that they are computed at a time */
    int64_t i = 0;

    for (; i + 4 <= count; i += 4)
        for (int k = 0; k < 4; k++)
            most[k] = fabsf(from[i + k]) > most[k] ? fabsf(from[i + k]) : most[k];
    for (; i < count; i++)
        most[0] = fabsf(from[i]) > most[0] ? fabsf(from[i]) : most[0];
    most[0] = most[1] > most[0] ? most[1] : most[0];
    most[2] = most[3] > most[2] ? most[3] : most[2];
    return most[2] > most[0] ? most[2] : most[0];
}

/* Rounds a row of that largest magnitude. NaN becomes 0. */
static inline void ferry__row_round(const float *from, int64_t count, float magnitude, int8_t *to)
{
    const double scale = ferry__row_scale(magnitude);

    for (int64_t i = 0; i < count; i++) {
        double value = ferry__row_rounded((double)from[i] / scale);

        to[i] = (int8_t)(value >= -127 && value <= 127 ? value : 0);
    }
}

/* The values of a row. */
static inline void ferry__row_widen(const int8_t *from, int64_t count, float magnitude, float *to)
{
    const double scale = ferry__row_scale(magnitude);

    for (int64_t i = 0; i < count; i++)
        to[i] = (float)((double)from[i] * scale);
}

#endif
