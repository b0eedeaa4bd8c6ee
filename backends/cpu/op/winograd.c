/* SPDX-License-Identifier: BSD-2-Clause */
#include "winograd.h"

#include "op.h"
#include "values.h"

#include <string.h>

/*
 * CONVOLUTION of F32 as products at the points of winograd.h. If the weights are few, a task
 * transforms the patches of its tiles to points and computes all panels, so that no points move
 * between the caches of two processors. Otherwise all threads transform the patches of a block of
 * tiles; then each task computes some tiles of some panels.
 *
 * With FERRY_MATH_COMPACT, weights are packed as for a product without tiles, and each run
 * transforms them: all threads do so first if the weights are few relative to the tiles; otherwise
 * all threads transform the patches first, and a task the weights of its panel, for many tiles.
 */

/* The maximum columns of a panel that are stored as values of BF16. */
#define MOST_PANEL 64

/* ---- weights -------------------------------------------------------------------------------- */

/* The outputs whose kernels are transformed together. */
enum { TOGETHER = 8 };

typedef double eight __attribute__((vector_size(TOGETHER * sizeof(double))));
typedef float eight_floats __attribute__((vector_size(TOGETHER * sizeof(float))));

struct pack {
    const struct cpu_op *op;
    const float *w; /* of the first output and channel */
    float *packed;
};

/* Transforms three taps along an axis, `step` apart, to the points. */
static void change_taps(int64_t side, const eight *g, int64_t step, eight *to)
{
    const double a = WINOGRAD_A, b = WINOGRAD_B, a2 = a * a, b2 = b * b;
    const double at_a = 1 / (2 * a2 * (a2 - b2)), at_b = 1 / (2 * b2 * (b2 - a2));
    const eight g0 = g[0], g1 = g[step], g2 = g[2 * step];

    if (side == 2) {
        const eight even = (g0 + g2) / 2, odd = g1 / 2;

        to[0] = g0;
        to[1] = even + odd;
        to[2] = even - odd;
        to[3] = g2;
    } else {
        const eight even_a = at_a * (g0 + a2 * g2), odd_a = at_a * a * g1;
        const eight even_b = at_b * (g0 + b2 * g2), odd_b = at_b * b * g1;

        to[0] = g0 / (a2 * b2);
        to[1] = even_a + odd_a;
        to[2] = even_a - odd_a;
        to[3] = even_b + odd_b;
        to[4] = even_b - odd_b;
        to[5] = g2;
    }
}

/* Transforms the kernels of one channel for the outputs from `first` on to points at `to`. */
static void change_outputs(const struct pack *s, int64_t first, int64_t k, int64_t columns,
                           float *to)
{
    const int64_t *wide = s->op->plan.convolution.w;
    const struct cpu_gemm *g = &s->op->plan.convolution.gemm;
    int64_t side = s->op->plan.convolution.winograd.side, edge = side + 2;
    int64_t outputs = least(g->n - first, columns), point = g->panel * g->k;
    const float *w = s->w + first * wide[0] + k * wide[1];
    eight taps[WINOGRAD_TAPS] = { 0 }, half[18], at[6];

    for (int64_t j = 0; j < outputs; j++, w += wide[0])
        for (int i = 0; i < WINOGRAD_TAPS; i++)
            taps[i][j] = w[i / 3 * wide[3] + i % 3 * wide[4]];
    for (int64_t j = 0; j < 3; j++)
        change_taps(side, taps + j, 3, half + j * edge);
    for (int64_t i = 0; i < edge; i++) {
        change_taps(side, half + i, edge, at);
        for (int64_t j = 0; j < edge; j++, to += point) {
            const eight_floats row = __builtin_convertvector(at[j], eight_floats);

            memcpy(to, &row, (size_t)columns * sizeof(*to));
        }
    }
}

/* Packs rows of panels, one for each channel of a panel. */
static void pack_rows(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pack *s = arg;
    const struct cpu_gemm *g = &s->op->plan.convolution.gemm;
    int64_t point = g->panel * g->k;

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        int64_t panel = i / g->k, k = i % g->k, width = cpu_gemm_width(g, panel);
        float *to = s->packed + panel * s->op->plan.convolution.winograd.points * point + k * width;

        for (int64_t j = 0; j < width; j += TOGETHER)
            change_outputs(s, panel * g->panel + j, k, least(width - j, TOGETHER), to + j);
    }
}

void cpu_winograd_pack(struct cpu_device *d, const struct cpu_op *p, const float *w, float *packed)
{
    const struct cpu_gemm *g = &p->plan.convolution.gemm;
    int64_t points = p->plan.convolution.winograd.points, point = g->panel * g->k;
    int64_t row = points * g->panel * (int64_t)sizeof(*packed), last = g->panels - 1;
    struct pack s = { p, w + p->plan.convolution.w_first, packed };

    if (cpu_gemm_width(g, last) < g->panel)
        memset(packed + last * points * point, 0, (size_t)(points * point) * sizeof(*packed));
    workers_run(d->workers, g->panels * g->k, workers_piece(g->panels * g->k, row), pack_rows, &s);
}

/* ---- running -------------------------------------------------------------------------------- */

struct pass {
    const struct cpu_op *op;
    const struct cpu_window *window;
    const struct cpu_winograd *cut;
    struct cpu_gemm_run *run;
    const void *x;
    const int64_t *add;   /* the strides of the added operand */
    float *v;             /* the points of the block */
    const float *kernels; /* packed weights that are not transformed */
    float *u;             /* all weights at the points */
    int64_t first, tiles;
    bool has_values, add_is_bf16; /* an operand, or the added one, is BF16 */
};

/* Transforms the patches of tiles first … first + count − 1 of the block to points at `v`. */
static void change_patches(const struct pass *s, int64_t first, int64_t count, float *v)
{
    const struct cpu_window *w = s->window;
    const bool is_bf16 = s->op->op.in[0].dtype == FERRY_BF16;

    for (int64_t i = first; i < first + count; i++, v += s->cut->v_row) {
        const struct cpu_winograd_place at = cpu_winograd_place_of(w, s->cut, s->first + i);
        struct cpu_winograd_patch patch = { .x = (const char *)s->x + at.x * (is_bf16 ? 2 : 4),
                                            .line = w->x[3],
                                            .pixel = w->x[4],
                                            .first = { at.first[0], at.first[1] },
                                            .end = { at.end[0], at.end[1] },
                                            .side = s->cut->side,
                                            .channels = w->channels,
                                            .v = v,
                                            .v_point = s->cut->v_point };

        if (is_bf16)
            cpu_values_bf16->winograd_in(&patch);
        else
            s->op->loops->winograd_in(&patch);
    }
}

static void change_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pass *s = arg;

    (void)piece;
    change_patches(s, first, count, s->v + first * s->cut->v_row);
}

/* Applies steps that the instruction set's store does not support, and stores. */
static void store_slowly(const struct pass *s, int64_t column, int64_t columns, float *sums,
                         int64_t add_at, float *y)
{
    const struct cpu_gemm_run *r = s->run;

    for (uint32_t i = 0; i < r->steps; i++) {
        struct cpu_step step = r->step[i];

        if (step.step == FERRY_STEP_ADD) {
            for (int64_t j = 0; j < columns; j++)
                sums[j] += r->add[add_at + (column + j) * r->add_column];
            continue;
        }
        step.operand += column * step.stride;
        s->op->loops->step(&step, columns, sums);
    }
    memcpy(y + column, sums, (size_t)columns * sizeof(*y));
}

/* Stores a pixel of which y, or the added operand, is BF16; `at` are their offsets in elements. */
static void store_values(const struct pass *s, int64_t column, int64_t columns, const float *sums,
                         int64_t add_at, int64_t y_at)
{
    const struct cpu_gemm_run *r = s->run;
    struct cpu_store store = r->store;
    const char *add = (const char *)(const void *)r->add;
    float row[MOST_PANEL], added[MOST_PANEL];
    char *y = (char *)(void *)r->y;

    if (store.adds && s->add_is_bf16)
        cpu_values_bf16->widen_row(add + 2 * (add_at + column), columns, added);
    else if (store.adds)
        memcpy(added, add + 4 * (add_at + column), (size_t)columns * sizeof(*added));
    store.bias = store.bias ? store.bias + column : NULL;
    store.slopes = store.slopes ? store.slopes + column : NULL;
    s->op->loops->store(&store, 0, columns, sums, added, row);
    if (s->op->op.out[0].dtype == FERRY_BF16)
        cpu_values_bf16->round_row(row, columns, y + 2 * (y_at + column));
    else
        memcpy(y + 4 * (y_at + column), row, (size_t)columns * sizeof(*row));
}

static void store_tile(const struct pass *s, int64_t tile, int64_t column, int64_t columns,
                       float *sums)
{
    const struct cpu_window *w = s->window;
    const struct cpu_gemm_run *r = s->run;
    const struct cpu_winograd_place at = cpu_winograd_place_of(w, s->cut, s->first + tile);
    int64_t side = s->cut->side;

    for (int64_t i = 0; i < side * side; i++, sums += r->plan->panel) {
        int64_t line = at.line + i / side, pixel = at.pixel + i % side;
        int64_t add_at = at.image * s->add[0] + line * s->add[3] + pixel * s->add[4];
        int64_t y_at = at.image * w->y[0] + line * w->y[3] + pixel * w->y[4];
        float *y;

        if (line >= w->out[1] || pixel >= w->out[2])
            continue;
        if (s->has_values) {
            store_values(s, column, columns, sums, add_at, y_at);
            continue;
        }
        y = r->y + y_at;
        if (r->stores) {
            s->op->loops->store(&r->store, column, columns, sums, r->add ? r->add + add_at : NULL,
                                y);
            cpu_gemm_functions(r, columns, y + column);
        } else {
            store_slowly(s, column, columns, sums, add_at, y);
        }
    }
}

/*
 * Computes the products of some tiles, whose points are at `v`, and one panel, whose points are at
 * `u`, at all points.
 */
static void multiply(const struct pass *s, const float *v, int64_t tiles, int64_t panel,
                     const float *u, int64_t u_point, float *m)
{
    const struct cpu_gemm *g = s->run->plan;
    const struct cpu_loops *loops = s->op->loops;
    bool is_wide = g->n - panel * g->panel > g->panel / 2;
    struct cpu_tile tile = { .a_row = s->cut->v_row,
                             .spans = 1,
                             .span = g->k,
                             .first = true,
                             .sums_row = g->panel,
                             .tiles = 1,
                             .ahead = g->panel };

    for (int64_t point = 0; point < s->cut->points; point++) {
        int64_t left = tiles, pieces = cut(tiles, loops->rows);

        tile.a = v + point * s->cut->v_point;
        tile.b = u + point * u_point;
        tile.sums = m + point * s->cut->m_point;
        for (; pieces > 0; pieces--) {
            int64_t rows = left / pieces;

            /* of the next point's weights: a line of each row, with the last tile the other one */
            tile.next = tile.b + u_point + (pieces == 1 ? g->panel / 2 : 0);
            loops->micro[is_wide][rows](&tile);
            tile.a += rows * tile.a_row;
            tile.sums += rows * tile.sums_row;
            left -= rows;
        }
    }
}

/* Computes some tiles of a block, whose points are at `v`, and one panel. */
static void do_panel(const struct pass *s, int64_t first, int64_t tiles, const float *v,
                     int64_t panel, const float *u, int64_t point, float *m)
{
    const struct cpu_gemm *g = s->run->plan;
    int64_t column = panel * g->panel;
    struct cpu_winograd_sums sums = { .m_point = s->cut->m_point,
                                      .side = s->cut->side,
                                      .columns = least(g->n - column, g->panel),
                                      .y = m + s->cut->points * s->cut->m_point,
                                      .y_row = g->panel };

    multiply(s, v, tiles, panel, u, point, m);
    for (int64_t i = 0; i < tiles; i++) {
        sums.m = m + i * g->panel;
        s->op->loops->winograd_out(&sums);
        store_tile(s, first + i, column, sums.columns, sums.y);
    }
}

static void do_task(void *arg, int64_t number, unsigned slot)
{
    const struct pass *s = arg;
    const struct cpu_gemm *g = s->run->plan;
    const struct cpu_winograd *c = s->cut;
    int64_t blocks = cut(s->tiles, c->rows), first = number % blocks * c->rows;
    int64_t tiles = least(s->tiles - first, c->rows), point = g->panel * g->k;
    int64_t panel = number / blocks * c->panel_block,
            end = least(g->panels, panel + c->panel_block);
    float *m = s->run->scratch + (int64_t)slot * g->slot_floats;
    float *v = s->v + first * c->v_row;

    if (c->owns_patches) {
        v = m + c->points * c->m_point + c->side * c->side * g->panel;
        change_patches(s, first, tiles, v);
    }
    for (; panel < end; panel++)
        do_panel(s, first, tiles, v, panel, s->run->b + panel * c->points * point, point, m);
}

/* Transforms the weights of a panel to `u`. */
static void change_kernels(const struct pass *s, int64_t panel, float *u, int64_t point)
{
    const struct cpu_gemm *g = s->run->plan;
    const struct cpu_winograd_kernels kernels = { .w = s->kernels +
                                                       panel * WINOGRAD_TAPS * g->panel * g->k,
                                                  .tap = g->k * cpu_gemm_width(g, panel),
                                                  .side = s->cut->side,
                                                  .u = u,
                                                  .u_point = point };

    s->op->loops->winograd_taps(&kernels);
}

/* A task that transforms the weights of a panel for all other tasks. */
static void change_panel(void *arg, int64_t panel, unsigned slot)
{
    const struct pass *s = arg;
    int64_t point = s->run->plan->panel * s->run->plan->k;

    (void)slot;
    change_kernels(s, panel, s->u + panel * s->cut->points * point, point);
}

/* A task that transforms the weights of its panel for a group of tiles. */
static void do_group(void *arg, int64_t number, unsigned slot)
{
    const struct pass *s = arg;
    const struct cpu_gemm *g = s->run->plan;
    const struct cpu_winograd *c = s->cut;
    int64_t panel = number / c->groups, group = number % c->groups, pieces = cut(s->tiles, c->rows);
    int64_t first = group * pieces / c->groups * c->rows;
    int64_t end = least((group + 1) * pieces / c->groups * c->rows, s->tiles);
    float *m = s->run->scratch + (int64_t)slot * g->slot_floats;
    float *u = m + c->points * c->m_point + c->side * c->side * g->panel;

    if (first < end)
        change_kernels(s, panel, u, c->u_point);
    for (; first < end; first += c->rows)
        do_panel(s, first, least(end - first, c->rows), s->v + first * c->v_row, panel, u,
                 c->u_point, m);
}

bool cpu_winograd_takes_values(const struct cpu_op *p)
{
    const ferry_op_step *last = &p->op.epilogue[p->op.n_epilogue ? p->op.n_epilogue - 1 : 0];
    bool clamps = p->op.n_epilogue && last->step == FERRY_STEP_UNARY &&
                  (last->function == FERRY_UNARY_RELU || last->function == FERRY_UNARY_CLIP);
    uint32_t rest = p->op.n_epilogue - clamps;

    return p->pairs && cpu_values_bf16 && p->plan.convolution.winograd.side &&
           p->plan.convolution.gemm.panel <= MOST_PANEL && p->plan.convolution.window.y[1] == 1 &&
           (rest == 0 || (rest == 1 && p->op.epilogue[0].step == FERRY_STEP_ADD &&
                          p->op.in[p->op.epilogue[0].operand].stride[1] == 1)) &&
           (p->own_in < 3 || p->op.in[2].shape[0] == 1 || p->op.in[2].stride[0] == 1);
}

void cpu_winograd_run(struct cpu_device *d, const struct cpu_op *p, const void *x,
                      struct cpu_gemm_run *r, const int64_t *add)
{
    const struct cpu_winograd *c = &p->plan.convolution.winograd;
    struct pass s = { .op = p,
                      .window = &p->plan.convolution.window,
                      .cut = c,
                      .run = r,
                      .x = x,
                      .add = add,
                      .kernels = r->b,
                      .v = r->scratch };
    bool has_groups = c->is_compact && !c->owns_patches;
    int64_t panels = has_groups ? r->plan->panels : cut(r->plan->panels, c->panel_block);
    workers_task task = has_groups ? do_group : do_task;

    r->scratch += c->owns_patches ? 0 : c->points * c->v_point;
    if (c->is_compact && !has_groups) {
        s.u = r->scratch;
        r->scratch += c->points * cpu_gemm_packed(r->plan);
        workers_tasks(d->workers, r->plan->panels, change_panel, &s);
        r->b = s.u;
    }
    s.has_values = cpu_op_has_values(p);
    s.add_is_bf16 = r->add && p->op.in[p->op.epilogue[0].operand].dtype == FERRY_BF16;
    r->stores = cpu_gemm_make_store(r);
    for (; s.first < c->tiles; s.first += s.tiles) {
        int64_t tasks;

        s.tiles = least(c->tiles - s.first, c->block);
        tasks = (has_groups ? c->groups : cut(s.tiles, c->rows)) * panels;
        if (r->plan->slots > 1) {
            if (!c->owns_patches)
                workers_run(d->workers, s.tiles, cut(s.tiles, 4 * (int64_t)r->plan->slots),
                            change_piece, &s);
            workers_tasks(d->workers, tasks, task, &s);
        } else {
            if (!c->owns_patches)
                change_patches(&s, 0, s.tiles, s.v);
            for (int64_t i = 0; i < tasks; i++)
                task(&s, i, 0);
        }
    }
}
