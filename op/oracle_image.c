/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's kinds for images and for tables. */
#include "op/oracle_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- local response normalisation -------------------------------------------------------------- */

static double squares_across(const struct view *x, const int64_t *at, int64_t size)
{
    int64_t i[FERRY_OP_AXES], c;
    double sum = 0;

    memcpy(i, at, sizeof i);
    for (c = at[1] - size / 2; c <= at[1] + size / 2; c++)
        if (c >= 0 && c < x->o.shape[1]) {
            i[1] = c;
            sum += view_get(x, i) * view_get(x, i);
        }
    return sum;
}

/* Over a window on the last two axes. */
static double squares_within(const struct view *x, const int64_t *at, int64_t size)
{
    uint32_t h = x->o.rank - 2, w = x->o.rank - 1;
    int64_t i[FERRY_OP_AXES];
    double sum = 0;

    memcpy(i, at, sizeof i);
    for (i[h] = at[h] - size / 2; i[h] <= at[h] + size / 2; i[h]++)
        for (i[w] = at[w] - size / 2; i[w] <= at[w] + size / 2; i[w]++)
            if (i[h] >= 0 && i[h] < x->o.shape[h] && i[w] >= 0 && i[w] < x->o.shape[w])
                sum += view_get(x, i) * view_get(x, i);
    return sum;
}

void oracle_lrn(const struct scene *s)
{
    const struct view *x = &s->in[0];
    double alpha = s->op->params.lrn.alpha, beta = s->op->params.lrn.beta;
    int64_t size = s->op->params.lrn.size;
    bool across = s->op->params.lrn.region == FERRY_LRN_ACROSS;
    struct walk at;

    for (at = walk_over(&x->o); at.left; walk_on(&at, &x->o)) {
        double scale =
            across ? s->op->params.lrn.k + alpha / (double)size * squares_across(x, at.i, size)
                   : 1 + alpha / (double)(size * size) * squares_within(x, at.i, size);

        view_set(&s->out[0], at.i, view_get(x, at.i) * pow(scale, -beta));
        if (s->op->n_out > 1)
            view_set(&s->out[1], at.i, scale);
    }
}

/* ---- resize ------------------------------------------------------------------------------------ */

static double sample_at(uint32_t sampling, int64_t i, int64_t in, int64_t out)
{
    switch (sampling) {
    case FERRY_RESIZE_ALIGN_CORNERS:
        return out > 1 ? (double)i * (double)(in - 1) / (double)(out - 1) : 0;
    case FERRY_RESIZE_ASYMMETRIC:
        return (double)i * (double)in / (double)out;
    default:
        return ((double)i + 0.5) * (double)in / (double)out - 0.5;
    }
}

static int64_t clamped(double at, int64_t in)
{
    return at < 0 ? 0 : at > (double)(in - 1) ? in - 1 : (int64_t)at;
}

struct oracle_sample oracle_sample_of(const ferry_op_desc *op, int64_t i, int64_t in, int64_t out)
{
    uint32_t sampling = op->params.resize.sampling;
    double at = sample_at(sampling, i, in, out), low = floor(at);
    struct oracle_sample sample = { .second = at - low };

    if (op->params.resize.method == FERRY_RESIZE_NEAREST) {
        low = floor(at + (sampling == FERRY_RESIZE_ASYMMETRIC ? 0 : 0.5));
        sample.second = 0;
    }
    sample.at[0] = clamped(low, in);
    sample.at[1] = clamped(low + 1, in);
    return sample;
}

void oracle_resize(const struct scene *s)
{
    const struct view *x = &s->in[0], *y = &s->out[0];
    struct walk at;

    for (at = walk_over(&y->o); at.left; walk_on(&at, &y->o)) {
        struct oracle_sample h = oracle_sample_of(s->op, at.i[2], x->o.shape[2], y->o.shape[2]);
        struct oracle_sample w = oracle_sample_of(s->op, at.i[3], x->o.shape[3], y->o.shape[3]);
        int64_t n = s->op->params.resize.method == FERRY_RESIZE_NEAREST ? 1 : 2, i, k;
        double value = 0;

        for (i = 0; i < n; i++)
            for (k = 0; k < n; k++)
                value += (i ? h.second : 1 - h.second) * (k ? w.second : 1 - w.second) *
                         view_get(x, (int64_t[]){ at.i[0], at.i[1], h.at[i], w.at[k] });
        view_set(y, at.i, value);
    }
}

/* ---- regions ----------------------------------------------------------------------------------- */

struct bin {
    int64_t image, h[2], w[2];
};

static int64_t limited(double at, int64_t most)
{
    return at < 0 ? 0 : at > (double)most ? most : (int64_t)at;
}

/* One edge of a bin: Fast R-CNN rounds the distance from the region's begin, R-FCN the place. */
static int64_t edge(bool grouped, double (*rounding)(double), int64_t i, double size, double begin,
                    int64_t most)
{
    double at = (double)i * size;

    return limited(grouped ? rounding(at + begin) : rounding(at) + begin, most);
}

/*
 * Where bin (ph, pw) of a region lies. Fast R-CNN rounds the region's corners, both of which belong to
 * it, and its bins have whole elements; R-FCN rounds them too and ends one further.
 */
static struct bin bin_of(const struct scene *s, const int64_t *y)
{
    const struct view *x = &s->in[0], *rois = &s->in[1];
    double scale = s->op->params.roi.spatial_scale, corner[4], begin[2], size[2];
    bool grouped = s->op->params.roi.group > 0;
    struct bin bin;
    int i;

    bin.image = limited(view_get(rois, (int64_t[]){ y[0], 0 }), x->o.shape[0] - 1);
    for (i = 0; i < 4; i++)
        corner[i] = round(view_get(rois, (int64_t[]){ y[0], i + 1 }) * (grouped ? 1 : scale));
    for (i = 0; i < 2; i++) {
        int64_t bins = s->out[0].o.shape[2 + i];
        double first = corner[1 - i], last = corner[3 - i];

        begin[i] = grouped ? first * scale : first;
        size[i] = grouped ? fmax((last + 1) * scale - begin[i], 0.1) : fmax(last - first + 1, 1);
        size[i] /= (double)bins;
    }
    bin.h[0] = edge(grouped, floor, y[2], size[0], begin[0], x->o.shape[2]);
    bin.h[1] = edge(grouped, ceil, y[2] + 1, size[0], begin[0], x->o.shape[2]);
    bin.w[0] = edge(grouped, floor, y[3], size[1], begin[1], x->o.shape[3]);
    bin.w[1] = edge(grouped, ceil, y[3] + 1, size[1], begin[1], x->o.shape[3]);
    return bin;
}

/* The channel of x that a bin looks at. */
static int64_t bin_channel(const struct scene *s, const int64_t *y)
{
    int64_t group = s->op->params.roi.group;
    int64_t gh, gw;

    if (!group)
        return y[1];
    gh = y[2] * group / s->out[0].o.shape[2];
    gw = y[3] * group / s->out[0].o.shape[3];
    return (y[1] * group + gh) * group + gw;
}

void oracle_roi_pool(const struct scene *s)
{
    const struct view *x = &s->in[0], *y = &s->out[0];
    bool max = !s->op->params.roi.group;
    struct walk at;

    for (at = walk_over(&y->o); at.left; walk_on(&at, &y->o)) {
        struct bin bin = bin_of(s, at.i);
        int64_t i[4] = { bin.image, bin_channel(s, at.i), 0, 0 };
        bool empty = bin.h[0] >= bin.h[1] || bin.w[0] >= bin.w[1];
        double value = max && !empty ? -FLT_MAX : 0;

        for (i[2] = bin.h[0]; i[2] < bin.h[1]; i[2]++)
            for (i[3] = bin.w[0]; i[3] < bin.w[1]; i[3]++) {
                double v = view_get(x, i);

                value = !max ? value + v : v > value ? v : value;
            }
        if (!max && !empty)
            value /= (double)((bin.h[1] - bin.h[0]) * (bin.w[1] - bin.w[0]));
        view_set(y, at.i, value);
    }
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* The row that an index names; −1: none. */
static int64_t row_of(const struct view *index, const int64_t *at, int64_t rows)
{
    double row = view_get(index, at);

    return row >= 0 && row < (double)rows ? (int64_t)row : -1;
}

/* The place in the table of element `at` of the rows. */
static void table_place(const struct view *table, const struct view *index, const int64_t *at,
                        int64_t row, int64_t *out)
{
    uint32_t i;

    out[0] = row;
    for (i = 1; i < table->o.rank; i++)
        out[i] = at[index->o.rank + i - 1];
}

void oracle_gather(const struct scene *s)
{
    const struct view *table = &s->in[0], *index = &s->in[1], *y = &s->out[0];
    struct walk at;

    for (at = walk_over(&y->o); at.left; walk_on(&at, &y->o)) {
        int64_t place[FERRY_OP_AXES], row = row_of(index, at.i, table->o.shape[0]);

        table_place(table, index, at.i, row, place);
        view_set(y, at.i, row < 0 ? 0 : view_get(table, place));
    }
}

void oracle_scatter_add(const struct scene *s)
{
    const struct view *x = &s->in[0], *index = &s->in[1], *y = &s->out[0];
    struct walk at;

    for (at = walk_over(&x->o); at.left; walk_on(&at, &x->o)) {
        int64_t place[FERRY_OP_AXES], row = row_of(index, at.i, y->o.shape[0]);

        table_place(y, index, at.i, row, place);
        if (row >= 0)
            view_set(y, place, view_get(y, place) + view_get(x, at.i));
    }
}

/* ---- random numbers ---------------------------------------------------------------------------- */

/* Block `counter` of Philox 4×32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3"). */
static void philox(uint64_t key, uint64_t counter, uint32_t out[4])
{
    uint32_t c[4] = { (uint32_t)counter, (uint32_t)(counter >> 32), 0, 0 };
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    int round;

    for (round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];

        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)a;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    memcpy(out, c, sizeof c);
}

static double uniform_of(const uint32_t words[4], int i)
{
    return (words[i] >> 8) * 0x1p-24;
}

static double gaussian_of(const uint32_t words[4], int i)
{
    static const double turn = 6.283185307179586476925286766559;
    double u = uniform_of(words, i & ~1) + 0x1p-24, v = uniform_of(words, i | 1);
    double radius = sqrt(-2 * log(u));

    return radius * (i & 1 ? sin(turn * v) : cos(turn * v));
}

static double number_of(const ferry_op_desc *op, const uint32_t words[4], int i)
{
    double a = op->params.random.a, b = op->params.random.b;

    switch (op->params.random.distribution) {
    case FERRY_RANDOM_UNIFORM:
        return a + (b - a) * uniform_of(words, i);
    case FERRY_RANDOM_GAUSSIAN:
        return a + b * gaussian_of(words, i);
    default:
        return uniform_of(words, i) < a ? b : 0;
    }
}

void oracle_random(const struct scene *s)
{
    uint32_t words[4];
    uint64_t n = 0;
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o), n++) {
        if (n % 4 == 0)
            philox(s->seed, s->offset + n / 4, words);
        view_set(&s->out[0], at.i, number_of(s->op, words, (int)(n % 4)));
    }
}
