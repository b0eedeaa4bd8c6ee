/* SPDX-License-Identifier: BSD-2-Clause */
#include "strassen.h"

#include "op.h"

#include <float.h>
#include <math.h>

/*
 * CONVOLUTION of F32 with kernels of one pixel by strassen.h. Weights are packed as the seven
 * factors of two panels, in the order of the products. A task makes the parts of some tiles of
 * pairs and multiplies them by all panels, so that each thread reads and writes its own pixels.
 */

/*
 * The numbers of multiplications that take as long as adding up an element of y, and making an
 * element of the parts; and the number of rows that take as long as reading the longer weights,
 * which may come from memory.
 */
#define ADDING          12
#define MAKING          8
#define ROWS_PER_WEIGHT 12
/* The part of the multiplications that must be saved. */
#define LEAST_GAIN 0.023
/* The maximum floats of a task's parts, which should stay in the cache. */
#define MOST_PARTS (40 * 1024)
/* The largest magnitude of a scale's exponent. */
#define MOST_EXPONENT 120
/* The number of tiles is a multiple of it, so that threads get equally many. */
#define SHARED_TILES 4

/* ---- planning ------------------------------------------------------------------------------- */

/* Whether the method takes less time. */
static bool gains(int64_t m, int64_t n, int64_t k)
{
    double all = (double)m * (double)n * (double)k;
    double extra = (double)(ADDING * m * n + MAKING * m * k + ROWS_PER_WEIGHT * n * k);

    return all / 8 - extra > LEAST_GAIN * all;
}

/*
 * Divides an image's pairs into tiles, whatever the number of threads, because they determine which
 * pixels are paired; and the tiles into tasks, which share the panels too if there are more
 * threads. Their number is not rounded up if tiles would be less than two thirds full.
 */
static void cut_tasks(struct cpu_strassen *c, const struct cpu_gemm *g, int64_t images,
                      int64_t rows)
{
    int64_t least_tiles = cut(c->pairs, rows), slots = g->slots;

    c->tiles = cut(least_tiles, SHARED_TILES) * SHARED_TILES;
    if (3 * c->pairs < 2 * rows * c->tiles)
        c->tiles = least_tiles;
    c->blocks = cut(c->tiles, most(MOST_PARTS / c->parts, 1));
    while (c->blocks < c->tiles &&
           (images * c->blocks < 2 * slots || images * c->blocks % slots != 0))
        c->blocks++;
    c->panel_blocks = least(cut(slots, images * c->blocks), g->panels / 2);
    c->panel_block = cut(g->panels / 2, c->panel_blocks) * 2;
    c->panel_blocks = cut(g->panels, c->panel_block);
}

/* The floats of the factors; the scales of the columns of y, and of those of a, follow. */
static int64_t factors_of(const struct cpu_gemm *g)
{
    return STRASSEN_PRODUCTS * (g->k / 2) * (g->n / 2);
}

bool cpu_strassen_plan(struct cpu_op *p, int64_t row)
{
    struct cpu_gemm *g = &p->plan.convolution.gemm;
    struct cpu_strassen *c = &p->plan.convolution.strassen;
    int64_t images = p->plan.convolution.window.images;

    if (!(p->op.math & FERRY_MATH_STRASSEN) || (p->op.math & FERRY_MATH_COMPACT) ||
        !(p->op.constants & 2) || p->is_empty || g->form != CPU_GEMM_FLOATS ||
        g->n % (2 * g->panel) || g->k % (2 * p->loops->lanes) || !gains(g->m, g->n, g->k))
        return false;
    c->pixels = g->m / images;
    c->pairs = cut(c->pixels, 2);
    c->half = g->k / 2;
    c->copies = row % 1024 == 0; /* else rows would compete for a set of the first-level cache */
    c->part_row = c->half + 16;
    c->part = p->loops->rows * c->part_row;
    c->parts = (c->copies ? STRASSEN_PARTS : STRASSEN_SCALED) * c->part;
    g->slots = p->threads;
    cut_tasks(c, g, images, p->loops->rows);
    g->slot_floats = cut(c->tiles, c->blocks) * c->parts + 3 * p->loops->rows * g->panel + g->n;
    cpu_op_pack_or_not(p, 1, (uint64_t)(factors_of(g) + g->n + g->k) * sizeof(float),
                       (uint64_t)(g->slot_floats * g->slots) * sizeof(float));
    p->answer.math = FERRY_MATH_STRASSEN;
    return true;
}

/* ---- weights -------------------------------------------------------------------------------- */

/* A power of two near a magnitude, within limits; 1 for 0 and NaN, and for infinity. */
static float power_of(float magnitude)
{
    int exponent;

    if (!(magnitude > 0) || magnitude > FLT_MAX)
        return 1;
    (void)frexpf(magnitude, &exponent);
    exponent = exponent > MOST_EXPONENT ? MOST_EXPONENT : exponent;
    return ldexpf(1, exponent < -MOST_EXPONENT ? -MOST_EXPONENT : exponent);
}

/* The larger number; a if b is NaN. */
static inline float larger(float a, float b)
{
    return b > a ? b : a;
}

/* Sets the scales by the largest weight of each row of b, and then of each column. */
static void find_scales(const struct cpu_gemm *g, const float *w, const int64_t *wide, float *of_y,
                        float *of_a)
{
    for (int64_t k = 0; k < g->k; k++)
        of_a[k] = 0;
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t k = 0; k < g->k; k++)
            of_a[k] = larger(of_a[k], fabsf(w[j * wide[0] + k * wide[1]]));
    for (int64_t k = 0; k < g->k; k++)
        of_a[k] = power_of(of_a[k]);
    for (int64_t j = 0; j < g->n; j++) {
        float magnitude = 0;

        for (int64_t k = 0; k < g->k; k++)
            magnitude = larger(magnitude, fabsf(w[j * wide[0] + k * wide[1]]) / of_a[k]);
        of_y[j] = power_of(magnitude);
    }
}

/*
 * Makes the seven factors of two panels, of which b12 is in the place of the fifth; `of_y` has the
 * scales of the two panels' columns, `of_a` those of all rows. The first two factors are those of
 * parts without scales.
 */
static void make_factors(const struct cpu_gemm *g, const float *of_y, const float *of_a, float *to)
{
    const int64_t half = g->k / 2, part = half * g->panel;

    for (int64_t k = 0; k < half; k++)
        for (int64_t j = 0; j < g->panel; j++, to++) {
            const float b11 = to[0] / of_y[j], b12 = to[4 * part] / of_y[g->panel + j] / of_a[k];
            const float b21 = to[part] / of_y[j];
            const float b22 = to[5 * part] / of_y[g->panel + j] / of_a[half + k];
            const float difference = b12 - b11 / of_a[k], rest = b22 - difference;

            to[0] = b11;
            to[part] = b21;
            to[2 * part] = rest;
            to[3 * part] = b22 - b12;
            to[4 * part] = difference;
            to[5 * part] = b22;
            to[6 * part] = b21 / of_a[half + k] - rest;
        }
}

void cpu_strassen_pack(const struct cpu_op *p, const float *w, float *packed)
{
    const struct cpu_gemm *g = &p->plan.convolution.gemm;
    const int64_t *wide = p->plan.convolution.w, half = g->k / 2, part = half * g->panel;
    const int64_t right = g->panel * wide[0], lower = half * wide[1];
    float *of_y = packed + factors_of(g), *of_a = of_y + g->n;
    struct cpu_gemm quarter = *g;

    quarter.n = g->panel;
    quarter.k = half;
    quarter.panels = 1;
    w = cpu_convolution_tap(p, w, 0);
    find_scales(g, w, wide, of_y, of_a);
    for (int64_t q = 0; q < g->panels; q += 2, w += 2 * right, packed += STRASSEN_PRODUCTS * part) {
        cpu_gemm_pack(&quarter, 0, half, w, wide[1], wide[0], packed);
        cpu_gemm_pack(&quarter, 0, half, w + lower, wide[1], wide[0], packed + part);
        cpu_gemm_pack(&quarter, 0, half, w + right, wide[1], wide[0], packed + 4 * part);
        cpu_gemm_pack(&quarter, 0, half, w + right + lower, wide[1], wide[0], packed + 5 * part);
        make_factors(g, of_y + q * g->panel, of_a, packed);
    }
}

/* ---- running -------------------------------------------------------------------------------- */

struct pass {
    const struct cpu_op *op;
    const struct cpu_gemm_run *run;
    const struct cpu_strassen *cut;
    const float *of_y, *of_a; /* scales */
};

/* A tile of pairs. */
struct tile {
    int64_t row, upper, lower; /* the number of its first row, and of its upper and lower rows */
    const float *part[STRASSEN_PARTS];
    int64_t quarter_row; /* the floats from a row of a quarter to the next */
    float *sums;         /* of three quarters */
    const float *bias;   /* divided by the scales of y; NULL: none */
    float *y[2][TILE_MOST_ROWS];
    const float *add[2][TILE_MOST_ROWS];
    struct cpu_tile micro;
};

static void make_parts(const struct pass *s, struct tile *t, float *parts)
{
    const struct cpu_strassen *c = s->cut;
    const float *a = s->run->a + t->row * s->run->a_row, *lower = a + t->upper * s->run->a_row;
    struct cpu_strassen_pair pair = {
        .half = c->half, .scales = s->of_a, .part = c->part, .copies = c->copies
    };

    for (int64_t i = 0; i < t->upper; i++) {
        pair.upper = a + i * s->run->a_row;
        pair.lower = i < t->lower ? lower + i * s->run->a_row : NULL;
        pair.to = parts + i * c->part_row;
        s->op->loops->strassen_parts(&pair);
    }
}

/* Sets the tile's addresses. */
static void find_tile(const struct pass *s, const float *parts, struct tile *t)
{
    const struct cpu_gemm_run *r = s->run;
    const struct cpu_strassen *c = s->cut;

    for (int64_t i = 0; i < STRASSEN_PARTS; i++)
        t->part[i] = parts + i * c->part;
    t->quarter_row = c->part_row;
    if (!c->copies) {
        t->part[STRASSEN_LEFT] = r->a + t->row * r->a_row;
        t->part[STRASSEN_RIGHT] = t->part[STRASSEN_LEFT] + c->half;
        t->quarter_row = r->a_row;
    }
    for (int half = 0; half < 2; half++)
        for (int64_t i = 0; i < (half ? t->lower : t->upper); i++) {
            int64_t row = t->row + half * t->upper + i;

            t->y[half][i] = r->y + row * r->y_row;
            t->add[half][i] = r->add ? r->add + row * r->add_row : NULL;
        }
}

/* Runs the micro-kernel for the sums and the next product. */
static void multiply(const struct pass *s, struct tile *t, int part, int64_t rows, float *sums)
{
    struct cpu_tile *m = &t->micro;

    m->a = t->part[part];
    m->a_row = part < STRASSEN_SCALED ? s->cut->part_row : t->quarter_row;
    m->sums = sums;
    s->op->loops->micro[1][rows](m);
    m->b += m->spans * m->span * m->sums_row;
}

/* Computes a product, or adds it to the sums. */
static void add_product(const struct pass *s, struct tile *t, int part, bool first, float *sums)
{
    t->micro.first = first;
    t->micro.bias = NULL;
    t->micro.store = NULL;
    multiply(s, t, part, t->upper, sums);
}

/*
 * Adds the next product to the sums, if spans are set, and stores a quarter of y: its upper or its
 * lower rows. The micro-kernel reads each element of the added operand, which may be y, just before
 * it stores that element.
 */
static void store_quarter(const struct pass *s, struct tile *t, int part, int half, int64_t column,
                          float *sums)
{
    int64_t rows = half ? t->lower : t->upper;

    t->micro.first = false;
    t->micro.bias = t->bias;
    t->micro.store = &s->run->store;
    t->micro.column = column;
    t->micro.y = t->y[half];
    t->micro.add = t->add[half];
    if (rows > 0)
        multiply(s, t, part, rows, sums);
}

/*
 * Computes two panels of a tile of pairs, with the parts by their names and d = b12 − b11:
 *
 *     u = a11 · b11                        y11 = u + a12 · b21
 *     u += REST · (b22 − d)
 *     v = FALL · (b22 − b12), x = u + v
 *     u += SUM · d, v += u                 y12 = u + LAST · b22
 *                                          y21 = x + a22 · (b21 − (b22 − d)),  y22 = v
 */
static void multiply_panels(const struct pass *s, struct tile *t, int64_t column, const float *b)
{
    const int64_t panel = s->op->plan.convolution.gemm.panel, floats = t->upper * panel;
    float *u = t->sums, *v = u + floats, *x = v + floats;

    t->micro = (struct cpu_tile){
        .spans = 1, .span = s->cut->half, .b = b, .sums_row = panel, .tiles = 1
    };
    add_product(s, t, STRASSEN_LEFT, true, u);
    store_quarter(s, t, STRASSEN_RIGHT, 0, column, u);
    add_product(s, t, STRASSEN_REST, false, u);
    add_product(s, t, STRASSEN_FALL, true, v);
    s->op->loops->add_vectors(floats, u, v, x);
    add_product(s, t, STRASSEN_SUM, false, u);
    s->op->loops->add_vectors(floats, u, v, v);
    store_quarter(s, t, STRASSEN_LAST, 0, column + panel, u);
    store_quarter(s, t, STRASSEN_CORNER, 1, column, x);
    t->micro.spans = 0;
    store_quarter(s, t, STRASSEN_CORNER, 1, column + panel, v);
}

/* Applies the functions that follow the store to columns first … end − 1. */
static void do_functions(const struct pass *s, const struct tile *t, int64_t first, int64_t end)
{
    if (s->run->stored == s->run->steps)
        return;
    for (int64_t i = 0; i < t->upper; i++)
        cpu_gemm_functions(s->run, end - first, t->y[0][i] + first);
    for (int64_t i = 0; i < t->lower; i++)
        cpu_gemm_functions(s->run, end - first, t->y[1][i] + first);
}

/* Divides the bias of columns first … end − 1 by the scales of y; returns NULL without one. */
static const float *scale_bias(const struct pass *s, int64_t first, int64_t end, float *to)
{
    const float *bias = s->run->store.bias;

    for (int64_t j = first; bias && j < end; j++)
        to[j] = bias[j] / s->of_y[j];
    return bias ? to : NULL;
}

static void do_task(void *arg, int64_t number, unsigned slot)
{
    const struct pass *s = arg;
    const struct cpu_strassen *c = s->cut;
    const struct cpu_gemm *g = &s->op->plan.convolution.gemm;
    const int64_t panel = number % c->panel_blocks * c->panel_block,
                  rest = number / c->panel_blocks;
    const int64_t last = least(panel + c->panel_block, g->panels);
    const int64_t image = rest / c->blocks, block = rest % c->blocks;
    const int64_t begin = block * c->tiles / c->blocks, end = (block + 1) * c->tiles / c->blocks;
    float *scratch = s->run->scratch + (int64_t)slot * g->slot_floats;
    float *scaled = scratch + 3 * s->op->loops->rows * g->panel, *all = scaled + g->n;
    const float *bias = scale_bias(s, panel * g->panel, last * g->panel, scaled);

    for (int64_t q = panel; q < last; q += 2)
        for (int64_t i = begin; i < end; i++) {
            int64_t first = i * c->pairs / c->tiles;
            float *parts = all + (i - begin) * c->parts;
            struct tile t = { .row = image * c->pixels + 2 * first, .sums = scratch, .bias = bias };

            t.upper = (i + 1) * c->pairs / c->tiles - first;
            t.lower = least(t.upper, c->pixels - 2 * first - t.upper);
            if (q == panel)
                make_parts(s, &t, parts);
            find_tile(s, parts, &t);
            multiply_panels(s, &t, q * g->panel,
                            s->run->b + STRASSEN_PRODUCTS * c->half * g->panel * (q / 2));
            if (q + 2 >= last)
                do_functions(s, &t, panel * g->panel, last * g->panel);
        }
}

void cpu_strassen_run(struct cpu_device *d, const struct cpu_op *p, struct cpu_gemm_run *r)
{
    const struct cpu_strassen *c = &p->plan.convolution.strassen;
    const struct cpu_gemm *g = &p->plan.convolution.gemm;
    const float *of_y = r->b + factors_of(g);
    struct pass s = { p, r, c, of_y, of_y + g->n };

    r->stores = cpu_gemm_make_store(r);
    r->store.scales = of_y;
    workers_tasks(d->workers, p->plan.convolution.window.images * c->blocks * c->panel_blocks,
                  do_task, &s);
}
