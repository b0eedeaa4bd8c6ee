/* SPDX-License-Identifier: BSD-2-Clause */
#include "winograd_planes.h"

#include <string.h>

/*
 * The gradient of the weights of CONVOLUTION by the tiles of winograd_planes.h. At each point it is
 * a product of the tiles of dy, whose rows are outputs, and the patches of x, whose columns are
 * channels, over all tiles. All threads transform a block of tile lines, and then add its products
 * to the sums at the points; the sums are transformed to kernels at the end.
 */

/* The maximum number of tiles of a block: the depth of a product before its sums are stored. */
#define MOST_TILES 256
/*
 * The number of multiplications that take as long as transforming an element at one point, as
 * adding to one sum in memory, and as transforming one sum.
 */
#define CHANGE        16
#define CHANGE_SUM    6
#define CHANGE_WEIGHT 24
/* The same for bringing an element under a tap as BF16, without tiles. */
#define CHANGE_PAIRS 5

/* ---- planning ------------------------------------------------------------------------------- */

/* The number of floats of each part of the workspace. */
struct sizes {
    int64_t v_point, d_point, sums_row, sums_point; /* of one point; of a row of sums */
    int64_t lines, h, patches;                      /* of a thread */
};

static struct sizes sizes_of(const struct cpu_op *p, const struct cpu_winograd_planes *s)
{
    const struct cpu_gemm *g = &p->plan.weights.gemm;
    struct sizes z = { .v_point = cpu_gemm_packed(g) + 16,
                       .d_point = rounded(g->m * s->h_row) + 16,
                       .sums_row = rounded(g->n),
                       .lines = rounded(s->lines_floats),
                       .h = WINOGRAD_PLANES_POINTS * s->h_row,
                       .patches = WINOGRAD_PLANES_POINTS * g->panel * s->h_row };

    z.sums_point = g->m * z.sums_row + 16;
    return z;
}

static double cost_of(const struct cpu_op *p, int64_t blocks)
{
    const struct cpu_window *w = &p->plan.weights.window;
    const struct cpu_winograd *c = &p->plan.weights.winograd;
    double both = (double)w->channels * (double)w->outputs, tiles = (double)c->tiles;

    return WINOGRAD_PLANES_POINTS *
           (tiles * both + CHANGE * tiles * (double)(2 * w->channels + w->outputs) +
            ((double)blocks * CHANGE_SUM + CHANGE_WEIGHT) * both);
}

/* The cost up to which tiles are used: products of BF16 without them may be faster than of F32. */
static double limit_of(const struct cpu_op *p, const struct cpu_window *w)
{
    double elements = 9.0 * (double)w->channels * (double)(w->images * w->out[1] * w->out[2]);
    double pairs = elements * ((double)w->outputs / 2 + CHANGE_PAIRS);
    double limit = cpu_winograd_planes_limit(w);

    return cpu_op_takes_pairs(p) && pairs < limit ? pairs : limit;
}

bool cpu_winograd_weights_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.weights.window;
    struct cpu_winograd *c = &p->plan.weights.winograd;
    struct cpu_gemm *g[2] = { &p->plan.weights.gemm, &p->plan.weights.last };
    double products = 9.0 * (double)(w->images * w->out[1] * w->out[2]);
    int64_t lines = w->images * cut(w->out[1], 2), blocks;
    struct cpu_winograd_planes s;
    struct sizes z;
    uint64_t each;

    c->line = cut(w->out[2], 2);
    c->tiles = lines * c->line;
    if (p->op.params.window.transposed || !cpu_winograd_planes_fit(p, w) || c->line > MOST_TILES)
        return false;
    blocks = cut(lines, MOST_TILES / c->line);
    c->block = cut(lines, blocks);
    products *= (double)w->channels * (double)w->outputs;
    if (products <= WORKERS_FEW_PRODUCTS || cost_of(p, blocks) > limit_of(p, w))
        return false;
    for (int i = 0; i < 2; i++) {
        g[i]->batches = WINOGRAD_PLANES_POINTS;
        g[i]->m = w->outputs;
        g[i]->n = w->channels;
        g[i]->k = (i ? lines - (lines - 1) / c->block * c->block : c->block) * c->line;
        g[i]->is_in_place = true;
        cpu_gemm_plan(g[i], p->loops, p->threads);
    }
    s = cpu_winograd_planes_of(p, w, false, c->block);
    z = sizes_of(p, &s);
    each = cpu_gemm_workspace(g[0]);
    each = cpu_gemm_workspace(g[1]) > each ? cpu_gemm_workspace(g[1]) : each;
    p->answer.workspace_bytes =
        (uint64_t)(WINOGRAD_PLANES_POINTS * (z.v_point + z.d_point + z.sums_point) +
                   (int64_t)p->threads * (z.lines + z.h + z.patches)) *
            sizeof(float) +
        each;
    p->answer.math = FERRY_MATH_WINOGRAD_2;
    c->points = WINOGRAD_PLANES_POINTS;
    return true;
}

/* ---- running -------------------------------------------------------------------------------- */

struct pass {
    const struct cpu_op *op;
    const float *x, *dy;
    float *v, *d, *sums, *threads, *scratch, *dw;
    struct cpu_winograd_planes wide, narrow;
    struct sizes size;
    const struct cpu_gemm *gemm; /* of the current block, and its tile lines */
    int64_t first, count;
};

/* Packs the patches of a panel's channels. */
static void change_panel(const struct pass *s, int64_t panel, float *lines)
{
    const struct cpu_gemm *g = s->gemm;
    struct cpu_gemm one = *g;
    float *h = lines + s->size.lines, *patches = h + s->size.h;
    int64_t first = panel * g->panel, row = s->wide.h_row, point = g->panel * row;

    one.n = least(g->n - first, g->panel);
    one.panels = 1;
    cpu_winograd_planes_begin(&s->wide, lines);
    for (int64_t i = 0; i < one.n; i++) {
        cpu_winograd_planes_across(&s->wide, s->x + (first + i) * s->op->plan.weights.window.x[1],
                                   s->first, s->count, lines, h);
        s->op->loops->winograd_down(h, row, g->k, patches + i * row, point);
    }
    for (int64_t i = 0; i < WINOGRAD_PLANES_POINTS; i++)
        cpu_gemm_pack(&one, 0, g->k, patches + i * point, 1, row,
                      s->v + i * s->size.v_point + first * g->k);
}

/* Transforms a panel of channels of x, or the tiles of some outputs of dy. */
static void do_change(void *arg, int64_t task, unsigned slot)
{
    const struct pass *s = arg;
    const struct cpu_gemm *g = s->gemm;
    float *lines = s->threads + slot * (s->size.lines + s->size.h + s->size.patches);
    int64_t first = (task - g->panels) * g->panel, end = least(first + g->panel, g->m);

    if (task < g->panels) {
        change_panel(s, task, lines);
        return;
    }
    cpu_winograd_planes_begin(&s->narrow, lines);
    for (int64_t o = first; o < end; o++)
        cpu_winograd_planes_give(&s->narrow, s->dy + o * s->op->plan.weights.window.y[1], s->first,
                                 s->count, lines, s->d + o * s->wide.h_row, s->size.d_point);
}

/* Adds the products of the current block to the sums. */
static void add_products(struct cpu_device *d, const struct pass *s)
{
    struct cpu_gemm_run r = { .plan = s->gemm,
                              .loops = s->op->loops,
                              .a = s->d,
                              .a_batch = s->size.d_point,
                              .a_row = s->wide.h_row,
                              .b = s->v,
                              .b_batch = s->size.v_point,
                              .y = s->sums,
                              .y_batch = s->size.sums_point,
                              .y_row = s->size.sums_row,
                              .y_column = 1,
                              .scratch = s->scratch };

    if (s->first > 0) {
        r.step[r.steps++] = (struct cpu_step){ .step = FERRY_STEP_ADD, .a = 1 };
        r.add = s->sums;
        r.add_batch = r.y_batch;
        r.add_row = r.y_row;
        r.add_column = 1;
    }
    cpu_gemm_do(d->workers, &r);
}

/* ---- the kernels ----------------------------------------------------------------------------- */

/* The number of channels whose sums are transformed together. */
#define TOGETHER 16

/* Transforms four points of an axis, `step` rows apart, to the three taps, for TOGETHER sums. */
static void change_points(float (*u)[TOGETHER], int step, float (*to)[TOGETHER], int to_step)
{
    for (int i = 0; i < TOGETHER; i++) {
        float even = 0.5f * (u[step][i] + u[2 * step][i]);
        float odd = 0.5f * (u[step][i] - u[2 * step][i]);

        to[0][i] = u[0][i] + even;
        to[to_step][i] = odd;
        to[2 * to_step][i] = even + u[3 * step][i];
    }
}

/* Adds the kernels of n consecutive channels of an output, whose sums are at `from`. */
static void add_kernels(const struct pass *s, const float *from, int64_t n, float *dw)
{
    const int64_t *stride = s->op->plan.weights.w;
    float u[WINOGRAD_PLANES_POINTS][TOGETHER], half[12][TOGETHER], taps[9][TOGETHER];

    for (int i = 0; i < WINOGRAD_PLANES_POINTS; i++) /* rows of sums are as long as that */
        memcpy(u[i], from + i * s->size.sums_point, sizeof(u[i]));
    for (int j = 0; j < 4; j++)
        change_points(u + j, 4, half + j, 4);
    for (int j = 0; j < 3; j++)
        change_points(half + 4 * j, 1, taps + 3 * j, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < 9; t++)
            dw[i * stride[1] + t / 3 * stride[3] + t % 3 * stride[4]] += taps[t][i];
}

static void add_outputs(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pass *s = arg;
    const int64_t *stride = s->op->plan.weights.w;
    int64_t channels = s->op->plan.weights.gemm.n;

    (void)piece;
    for (int64_t o = first; o < first + count; o++)
        for (int64_t c = 0; c < channels; c += TOGETHER)
            add_kernels(s, s->sums + o * s->size.sums_row + c, least(channels - c, TOGETHER),
                        s->dw + o * stride[0] + c * stride[1]);
}

void cpu_winograd_weights_run(struct cpu_device *d, const struct cpu_op *p, float *workspace,
                              const float *x, const float *dy, float *dw)
{
    const struct cpu_window *w = &p->plan.weights.window;
    const struct cpu_winograd *c = &p->plan.weights.winograd;
    int64_t lines = c->tiles / c->line;
    struct pass s = { .op = p,
                      .x = x,
                      .dy = dy,
                      .dw = dw,
                      .wide = cpu_winograd_planes_of(p, w, false, c->block),
                      .narrow = cpu_winograd_planes_of(p, w, true, c->block) };

    s.size = sizes_of(p, &s.wide);
    s.v = workspace;
    s.d = s.v + WINOGRAD_PLANES_POINTS * s.size.v_point;
    s.sums = s.d + WINOGRAD_PLANES_POINTS * s.size.d_point;
    s.threads = s.sums + WINOGRAD_PLANES_POINTS * s.size.sums_point;
    s.scratch = s.threads + p->threads * (s.size.lines + s.size.h + s.size.patches);
    for (; s.first < lines; s.first += s.count) {
        s.count = least(lines - s.first, c->block);
        s.gemm = s.first + s.count < lines ? &p->plan.weights.gemm : &p->plan.weights.last;
        workers_tasks(d->workers, s.gemm->panels + cut(s.gemm->m, s.gemm->panel), do_change, &s);
        add_products(d, &s);
    }
    workers_run(d->workers, w->outputs, walk_piece_of(w->outputs, 100 * w->channels), add_outputs,
                &s);
}
