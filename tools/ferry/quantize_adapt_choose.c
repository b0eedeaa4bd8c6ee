/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize_adapt.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Adaptive rounding. With d the differences of an output's rounded weights from those in F32, the
 * squares of its errors over the samples are dᵀHd, where H are the sums xx. The levels with the
 * least value are the closest vector of a lattice. Two approximations are applied one after the
 * other: the nearest plane of L. Babai, "On Lovász' lattice reduction and the nearest lattice point
 * problem", 1986, which is also the error feedback of E. Frantar et al., "GPTQ", ICLR 2023; and
 * coordinate descent over single weights. M. Nagel et al., "Up or Down? Adaptive Rounding for
 * Post-Training Quantization", ICML 2020, state the problem.
 */

#define LEVELS  127
#define PENALTY 0.01 /* added to H's diagonal, in means of it: few samples determine H badly */
#define SWEEPS  8    /* the most passes over the weights of an output */

/* A group of outputs. */
struct choice {
    const struct adapt_sums *s;
    int64_t n;
    int64_t *order; /* of the inputs: those of the least squares first */
    double *h;      /* H with the penalty, in that order; symmetric */
    double *upper;  /* U, upper triangular, with UᵀU = h */
    double penalty;
    double *row;          /* the weights of one output in that order, in levels */
    double *diff, *slope; /* of the levels from them, and h times diff */
};

/* A sum of products, in parts that do not depend on each other. */
static double dot(const double *a, const double *b, int64_t n)
{
    double part[8] = { 0 };
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            part[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        part[0] += a[i] * b[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) +
           ((part[4] + part[5]) + (part[6] + part[7]));
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* An input and its squares. */
struct square {
    double sum;
    int64_t at;
};

static int by_square(const void *a, const void *b)
{
    const struct square *x = a, *y = b;

    return x->sum != y->sum ? (x->sum > y->sum) - (x->sum < y->sum)
                            : (x->at > y->at) - (x->at < y->at);
}

static bool take_order(struct choice *c)
{
    struct square *squares = malloc((size_t)c->n * sizeof(*squares));
    double sum = 0;

    if (!squares)
        return false;
    for (int64_t i = 0; i < c->n; i++) {
        squares[i] = (struct square){ c->s->xx[i * c->n + i], i };
        sum += squares[i].sum;
    }
    c->penalty = PENALTY * sum / (double)c->n;
    if (isfinite(sum))
        qsort(squares, (size_t)c->n, sizeof(*squares), by_square);
    for (int64_t i = 0; i < c->n; i++)
        c->order[i] = squares[i].at;
    free(squares);
    return true;
}

static void take_matrix(struct choice *c)
{
    int64_t n = c->n;

    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n; k++)
            c->h[i * n + k] = c->s->xx[c->order[i] * n + c->order[k]];
        c->h[i * n + i] += c->penalty;
    }
}

/* Cholesky's decomposition, by rows of U. Returns whether h is positive definite. */
static bool decompose(struct choice *c)
{
    int64_t n = c->n;

    memcpy(c->upper, c->h, (size_t)(n * n) * sizeof(*c->h));
    for (int64_t k = 0; k < n; k++) {
        double *row = c->upper + k * n, pivot = sqrt(row[k]);

        if (!(pivot > 0) || !isfinite(pivot))
            return false;
        for (int64_t j = k; j < n; j++)
            row[j] /= pivot;
        for (int64_t i = k + 1; i < n; i++) {
            double *to = c->upper + i * n, factor = row[i];

            for (int64_t j = i; j < n; j++)
                to[j] -= factor * row[j];
        }
    }
    return true;
}

/* vᵀHv, without the penalty. */
static double squares_of(const struct choice *c, const double *v)
{
    double sum = 0;

    for (int64_t i = 0; i < c->n; i++)
        sum += (dot(c->h + i * c->n, v, c->n) - c->penalty * v[i]) * v[i];
    return sum;
}

/* ---- one output ------------------------------------------------------------------------------ */

/* The weight with the greatest absolute value. */
static int64_t greatest(const struct choice *c)
{
    int64_t at = 0;

    for (int64_t i = 1; i < c->n; i++)
        if (fabs(c->row[i]) > fabs(c->row[at]))
            at = i;
    return at;
}

static void round_to_nearest(struct choice *c)
{
    for (int64_t i = 0; i < c->n; i++)
        c->diff[i] = rint(c->row[i]) - c->row[i];
}

/* Rounds the weights from the last to the first. That at `pinned` determines the scale. */
static void round_planes(struct choice *c, int64_t pinned)
{
    for (int64_t i = c->n; i-- > 0;) {
        const double *row = c->upper + i * c->n;
        double sum = dot(row + i + 1, c->diff + i + 1, c->n - i - 1);
        double level = rint(i == pinned ? c->row[i] : c->row[i] - sum / row[i]);

        c->diff[i] = fmin(fmax(level, -LEVELS), LEVELS) - c->row[i];
    }
}

/* Changes weights by a level as long as that makes the errors smaller. */
static void descend(struct choice *c, int64_t pinned)
{
    int64_t n = c->n, changes = 1;

    for (int64_t i = 0; i < n; i++)
        c->slope[i] = dot(c->h + i * n, c->diff, n);
    for (int sweep = 0; sweep < SWEEPS && changes; sweep++) {
        changes = 0;
        for (int64_t i = 0; i < n; i++) {
            const double *row = c->h + i * n;
            double step = c->slope[i] > 0 ? -1 : 1, gain = 2 * fabs(c->slope[i]) - row[i];

            if (i == pinned || fabs(c->row[i] + c->diff[i] + step) > LEVELS + 0.5 ||
                !(gain > 1e-9 * row[i]))
                continue;
            c->diff[i] += step;
            for (int64_t j = 0; j < n; j++)
                c->slope[j] += step * row[j];
            changes++;
        }
    }
}

static void store(const struct choice *c, double scale, float *to)
{
    for (int64_t i = 0; i < c->n; i++)
        to[c->order[i]] = (float)(rint(c->row[i] + c->diff[i]) * scale);
}

/* Rounds the weights of one output, which are in c->row; `is_definite`: not only to nearest. */
static void choose_output(struct choice *c, bool is_definite, struct adapt_weights *w, float *to)
{
    int64_t pinned = greatest(c);
    double scale = fabs(c->row[pinned]) / LEVELS, nearest, chosen;

    if (!(scale > 0) || scale > (double)FLT_MAX)
        return;
    for (int64_t i = 0; i < c->n; i++)
        c->row[i] /= scale;
    round_to_nearest(c);
    store(c, scale, to);
    if (!is_definite)
        return;
    nearest = chosen = squares_of(c, c->diff);
    round_planes(c, pinned);
    descend(c, pinned);
    if (squares_of(c, c->diff) < nearest) {
        chosen = squares_of(c, c->diff);
        store(c, scale, to);
    }
    w->power += squares_of(c, c->row) * scale * scale;
    w->nearest += nearest * scale * scale;
    w->chosen += chosen * scale * scale;
}

/* ---- a group --------------------------------------------------------------------------------- */

static bool begin(struct choice *c)
{
    size_t n = (size_t)c->n;

    c->order = malloc(n * sizeof(*c->order));
    c->h = malloc(n * n * sizeof(double));
    c->upper = malloc(n * n * sizeof(double));
    c->row = calloc(n, sizeof(double));
    c->diff = calloc(n, sizeof(double));
    c->slope = calloc(n, sizeof(double));
    return c->order && c->h && c->upper && c->row && c->diff && c->slope && take_order(c);
}

static void end(struct choice *c)
{
    free(c->order);
    free(c->h);
    free(c->upper);
    free(c->row);
    free(c->diff);
    free(c->slope);
}

static void choose_all(struct choice *c, struct adapt_weights *w)
{
    bool is_definite = isfinite(c->penalty) && c->penalty > 0;

    take_matrix(c);
    is_definite = is_definite && decompose(c);
    for (int64_t o = 0; o < w->outputs; o++) {
        for (int64_t i = 0; i < c->n; i++)
            c->row[i] = (double)w->real[o * c->n + c->order[i]];
        choose_output(c, is_definite, w, w->rounded + o * c->n);
    }
}

int adapt_choose(const struct adapt_sums *s, struct adapt_weights *w)
{
    struct choice c = { .s = s, .n = s->inputs };
    int status = TOOL_OK;

    w->power = w->nearest = w->chosen = 0;
    memcpy(w->rounded, w->real, (size_t)(s->inputs * w->outputs) * sizeof(*w->rounded));
    if (begin(&c))
        choose_all(&c, w);
    else
        status = tool_error(TOOL_FAILURE, "out of memory");
    end(&c);
    return status;
}
