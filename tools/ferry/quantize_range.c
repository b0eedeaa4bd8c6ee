/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Selects ranges of values from their extremes or from a histogram. */

#define KL_LEVELS 128 /* the number of levels for absolute values in the sources of KL */

double range_decibels(double power, double noise)
{
    return noise > 0 ? 10 * log10(power / noise) : INFINITY;
}

/* The step between the levels of a range whose readers pad (net_ranges.h): never the finer one. */
static double step_of(double least, double most)
{
    return least >= 0 ? most / 255 : fmax(-least, most) / 127;
}

static bool is_finite(float x)
{
    return fabsf(x) <= FLT_MAX;
}

/* ---- counting -------------------------------------------------------------------------------- */

void range_note(struct quantize_range *r, const float *values, int64_t n)
{
    float min = r->finite ? r->min : FLT_MAX, max = r->finite ? r->max : -FLT_MAX;

    for (int64_t i = 0; i < n; i++) {
        float x = values[i];

        if (!is_finite(x)) {
            r->odd++;
            continue;
        }
        min = x < min ? x : min;
        max = x > max ? x : max;
        r->finite++;
        r->zeros += x == 0;
    }
    if (r->finite) {
        r->min = min + 0.0F; /* adding 0 removes the sign of a negative 0 */
        r->max = max + 0.0F;
    }
}

int range_begin_bins(struct quantize_range *r, enum quantize_method method)
{
    double min = (double)r->min, max = (double)r->max;

    if (method == QUANTIZE_KL) {
        max = fmax(-min, max);
        min = 0;
    }
    r->low = min;
    r->width = (max - min) / QUANTIZE_BINS;
    r->bins = calloc(QUANTIZE_BINS, sizeof(*r->bins));
    return r->bins ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

void range_count(struct quantize_range *r, enum quantize_method method, const float *values,
                 int64_t n)
{
    double scale = r->width > 0 ? 1 / r->width : 0;

    for (int64_t i = 0; i < n; i++) {
        double x = (double)values[i], at;

        if (!is_finite(values[i]) || x == 0)
            continue;
        at = ((method == QUANTIZE_KL ? fabs(x) : x) - r->low) * scale;
        r->bins[at < QUANTIZE_BINS - 1 ? (int)at : QUANTIZE_BINS - 1]++;
    }
}

/* ---- percentile ------------------------------------------------------------------------------ */

/* The number of values in bin `i`, zeros included. */
static double in_bin(const struct quantize_range *r, int i)
{
    double zero = -r->low / r->width;
    bool has_zeros = zero >= 0 && i == (zero < QUANTIZE_BINS - 1 ? (int)zero : QUANTIZE_BINS - 1);

    return (double)r->bins[i] + (has_zeros ? (double)r->zeros : 0);
}

/*
 * Selects the range by a percentile. Half of the values outside the percentile is cut off at each
 * end, as onnxruntime does (quantization/calibrate.py, PercentileCalibrater of asymmetric ranges).
 */
static void choose_percentile(struct quantize_range *r, double percentile)
{
    double cut = (double)r->finite * (100 - percentile) / 200, below = 0, above = 0;
    int low = 0, high = QUANTIZE_BINS - 1;

    while (low < high && below + in_bin(r, low) <= cut)
        below += in_bin(r, low++);
    while (high > low && above + in_bin(r, high) <= cut)
        above += in_bin(r, high--);
    if (low > 0)
        r->least = (float)(r->low + low * r->width);
    if (high < QUANTIZE_BINS - 1)
        r->most = (float)(r->low + (high + 1) * r->width);
}

/* ---- KL -------------------------------------------------------------------------------------- */

/*
 * The divergence between the first `n` bins, the last of which also has all values beyond them, and
 * the same bins in KL_LEVELS levels. A level's count is spread over its bins that are not empty.
 */
static double divergence(const uint64_t *bins, int n, double beyond)
{
    double sum_p = beyond, sum_q = 0, result = 0;

    for (int i = 0; i < n; i++)
        sum_q += (double)bins[i];
    sum_p += sum_q;
    for (int level = 0; level < KL_LEVELS; level++) {
        int first = level * n / KL_LEVELS, end = (level + 1) * n / KL_LEVELS, filled = 0;
        double count = 0;

        for (int i = first; i < end; i++) {
            count += (double)bins[i];
            filled += bins[i] > 0;
        }
        for (int i = first; i < end; i++) {
            double p = ((double)bins[i] + (i == n - 1 ? beyond : 0)) / sum_p;

            if (bins[i])
                result += p * log(p / (count / filled / sum_q));
        }
    }
    return result;
}

/*
 * Selects the range of absolute values whose distribution loses least by quantization, measured by
 * the Kullback-Leibler divergence: S. Migacz, "8-bit Inference with TensorRT", GTC 2017. As in
 * ncnn's ncnn2table, values of 0 do not count, since they are exact in every range. A range whose
 * last bin is empty cannot hold the values beyond it, and is not considered.
 */
static void choose_kl(struct quantize_range *r)
{
    double beyond = 0, least = INFINITY, threshold;
    int best = QUANTIZE_BINS;

    for (int n = QUANTIZE_BINS; n >= KL_LEVELS; n--) {
        double loss = r->bins[n - 1] ? divergence(r->bins, n, beyond) : INFINITY;

        if (loss < least) {
            least = loss;
            best = n;
        }
        beyond += (double)r->bins[n - 1];
    }
    threshold = best * r->width;
    r->least = (float)fmax((double)r->min, -threshold);
    r->most = (float)fmin((double)r->max, threshold);
}

/* ---- mean squared error ---------------------------------------------------------------------- */

/* Sums over the bins before bin i: the number of values, their sum, the sum of their squares. */
struct sums {
    double count, sum, squares;
};

/* The squared errors of values between two bins, when they are clipped to `bound`. */
static double clipped(const struct sums *from, const struct sums *to, double bound)
{
    double count = to->count - from->count, sum = to->sum - from->sum;

    return to->squares - from->squares - 2 * bound * sum + bound * bound * count;
}

/*
 * The error of a range from the lower end of bin `low` to that of bin `high`. Within it the error
 * of rounding is uniform, a twelfth of the squared step for each value that is not 0: R. Banner et
 * al., "Post training 4-bit quantization of convolutional networks for rapid deployment", NeurIPS
 * 2019, section 3.
 */
static double error_of(const struct quantize_range *r, const struct sums *s, int low, int high)
{
    double least = r->low + low * r->width, most = r->low + high * r->width;
    double step = step_of(least, most);

    return (s[high].count - s[low].count) * step * step / 12 + clipped(&s[0], &s[low], least) +
           clipped(&s[high], &s[QUANTIZE_BINS], most);
}

static void add_up(const struct quantize_range *r, struct sums *s)
{
    s[0] = (struct sums){ 0 };
    for (int i = 0; i < QUANTIZE_BINS; i++) {
        double count = (double)r->bins[i], x = r->low + (i + 0.5) * r->width;

        s[i + 1].count = s[i].count + count;
        s[i + 1].sum = s[i].sum + count * x;
        s[i + 1].squares = s[i].squares + count * (x * x + r->width * r->width / 12);
    }
}

/*
 * The bin that contains the value, or the nearest one; its lower end is at most `value` inside the
 * bins.
 */
static int bin_of(const struct quantize_range *r, double value)
{
    double at = (value - r->low) / r->width;

    return at <= 0 ? 0 : at < QUANTIZE_BINS ? (int)at : QUANTIZE_BINS;
}

/*
 * Selects the range with the smallest error among those with one absolute bound up to the largest
 * value; levels depend on that bound only.
 */
static void choose_mse(struct quantize_range *r)
{
    struct sums s[QUANTIZE_BINS + 1];
    double reach = fmax(fabs((double)r->min), fabs((double)r->max)), least = INFINITY;
    double best = reach;

    add_up(r, s);
    for (int i = 1; i <= QUANTIZE_BINS; i++) {
        double bound = reach * i / QUANTIZE_BINS, error;
        int low = bin_of(r, -bound), high = bin_of(r, bound);

        if (high <= low)
            continue;
        error = error_of(r, s, low, high);
        if (error < least) {
            least = error;
            best = bound;
        }
    }
    r->least = (float)fmax((double)r->min, -best);
    r->most = (float)fmin((double)r->max, best);
}

/* ---- the chosen range ------------------------------------------------------------------------ */

void range_choose(struct quantize_range *r, enum quantize_method method, double percentile)
{
    r->least = r->min;
    r->most = r->max;
    if (!r->bins || !(r->width > 0))
        return;
    if (method == QUANTIZE_PERCENTILE)
        choose_percentile(r, percentile);
    else if (method == QUANTIZE_KL)
        choose_kl(r);
    else if (method == QUANTIZE_MSE)
        choose_mse(r);
}

double range_round(float least, float most, double x)
{
    double step = step_of((double)least, (double)most);

    return step > 0 ? rint(x / step) * step : 0;
}

void range_measure(struct quantize_range *r, const float *values, int64_t n)
{
    double step = step_of((double)r->least, (double)r->most);
    double high = r->least >= 0 ? 255 : 127, low = r->least >= 0 ? 0 : -127;

    for (int64_t i = 0; i < n; i++) {
        double x = (double)values[i];
        double y = fmin(fmax(range_round(r->least, r->most, x), low * step), high * step);
        double error = x - y;

        if (!is_finite(values[i]))
            continue;
        r->power += x * x;
        r->noise += error * error;
    }
}
