/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layers/resample.h"

#include <math.h>
#include <string.h>

/* The coordinate in the input of output element i. */
static double coordinate(const struct ferry__resample *r, int64_t i, int64_t in, int64_t out,
                         double scale)
{
    double size = scale * (double)in; /* the size of the output before it is rounded down */

    switch (r->sampling) {
    case FERRY__RESAMPLE_ALIGN_CORNERS:
        return size > 1 ? (double)i * (double)(in - 1) / (size - 1) : 0;
    case FERRY__RESAMPLE_ASYMMETRIC:
        return (double)i / scale;
    case FERRY__RESAMPLE_PYTORCH_HALF_PIXEL:
        return out > 1 ? ((double)i + 0.5) / scale - 0.5 : 0;
    case FERRY__RESAMPLE_HALF_PIXEL:
    default:
        return ((double)i + 0.5) / scale - 0.5;
    }
}

static int64_t clamped(double at, int64_t in)
{
    return at < 0 ? 0 : at > (double)(in - 1) ? in - 1 : (int64_t)at;
}

static double rounded(enum ferry__resample_rounding rounding, double at)
{
    switch (rounding) {
    case FERRY__RESAMPLE_FLOOR:
        return floor(at);
    case FERRY__RESAMPLE_CEIL:
        return ceil(at);
    case FERRY__RESAMPLE_ROUND_PREFER_CEIL:
        return floor(at + 0.5);
    case FERRY__RESAMPLE_ROUND_PREFER_FLOOR:
    default:
        return ceil(at - 0.5);
    }
}

/* Keys' cubic convolution kernel at distance d. */
static double cubic(double a, double d)
{
    d = fabs(d);
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static void weigh(const struct ferry__resample *r, double at, int64_t in, float *row)
{
    int first = r->method == FERRY__RESAMPLE_CUBIC ? -1 : 0;
    int last = r->method == FERRY__RESAMPLE_CUBIC ? 2 : 1;
    double low = floor(at), sum = 0, weight[4];
    int k;

    for (k = first; k <= last; k++) {
        double place = low + k, d = at - place;
        bool outside = place < 0 || place > (double)(in - 1);

        weight[k - first] =
            r->method == FERRY__RESAMPLE_CUBIC ? cubic(r->cubic_coeff, d) : 1 - fabs(d);
        if (r->exclude_outside && outside)
            weight[k - first] = 0;
        sum += weight[k - first];
    }
    for (k = first; k <= last; k++)
        row[clamped(low + k, in)] +=
            (float)(r->exclude_outside ? weight[k - first] / sum : weight[k - first]);
}

void ferry__resample_weights(const struct ferry__resample *r, int64_t in, int64_t out, double scale,
                             float *matrix)
{
    memset(matrix, 0, (size_t)(in * out) * sizeof *matrix);
    for (int64_t i = 0; i < out; i++) {
        double at = coordinate(r, i, in, out, scale);

        if (r->method == FERRY__RESAMPLE_NEAREST)
            matrix[i * in + clamped(rounded(r->rounding, at), in)] = 1;
        else
            weigh(r, at, in, matrix + i * in);
    }
}
