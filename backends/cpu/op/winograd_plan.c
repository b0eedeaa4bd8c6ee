/* SPDX-License-Identifier: BSD-2-Clause */
/* When a convolution uses winograd.c, with which tiles, and how they are divided into tasks. */
#include "winograd.h"

#include "op.h"

/*
 * The number of rows of a product that take as long as loading a row of weights into the cache,
 * during the products at the point before.
 */
#define ROWS_PER_WEIGHT 8
/*
 * The number of multiplications that take as long as transforming one element of a patch, or of a
 * tile.
 */
#define CHANGE 8
/*
 * The minimum number of channels, in vectors or as a number, whichever is less: with fewer, the
 * sums at the points are too short for the cost of their stores.
 */
#define LEAST_VECTORS  4
#define LEAST_CHANNELS 32
/* The maximum number of floats of points at a time, and of tiles of a task. */
#define MOST_POINTS (1024 * 1024)
#define MOST_ROWS   28
/*
 * The maximum number of floats of weights that each task reads, and the minimum number of tiles of
 * a task that transforms its patches.
 */
#define MOST_WEIGHTS (4 * 1024 * 1024)
#define LEAST_ROWS   12
/* The minimum number of rows of a product that keeps the units for multiplication busy. */
#define LEAST_PIECE 5
/* The number of tiles whose products at the points take as long as transforming the weights. */
#define TILES_PER_KERNEL 6

static bool can(const struct cpu_op *p)
{
    const ferry_op_window *window = &p->op.params.window;
    const struct cpu_window *w = &p->plan.convolution.window;

    if (!(p->op.math & FERRY_MATH_WINOGRAD) || window->axes != 2 || window->group != 1 ||
        p->plan.convolution.is_transposed || w->x[1] != 1 || w->y[1] != 1 ||
        w->channels < least(LEAST_VECTORS * p->loops->lanes, LEAST_CHANNELS))
        return false;
    for (int axis = 1; axis < 3; axis++)
        if (w->kernel[axis] != 3 || w->stride[axis] != 1 || w->dilation[axis] != 1)
            return false;
    return true;
}

void cpu_winograd_cut(const struct cpu_window *w, int64_t side, struct cpu_winograd *out)
{
    out->side = side;
    out->points = (side + 2) * (side + 2);
    out->lines = cut(w->out[1], side);
    out->line = cut(w->out[2], side);
    out->tiles = w->images * out->lines * out->line;
}

struct cpu_winograd_place cpu_winograd_place_of(const struct cpu_window *w,
                                                const struct cpu_winograd *c, int64_t tile)
{
    struct cpu_winograd_place out = { .image = tile / c->line / c->lines,
                                      .line = tile / c->line % c->lines * c->side,
                                      .pixel = tile % c->line * c->side };
    int64_t from[2] = { out.line - w->pad[1], out.pixel - w->pad[2] };

    for (int axis = 0; axis < 2; axis++) {
        out.first[axis] = most(-from[axis], 0);
        out.end[axis] = least(w->in[1 + axis] - from[axis], c->side + 2);
    }
    out.x = out.image * w->x[0] + from[0] * w->x[3] + from[1] * w->x[4];
    return out;
}

/* The cost in multiplications; side 1 means a product of patches. */
static double cost_of(const struct cpu_window *w, int64_t side)
{
    double both = (double)w->channels * (double)w->outputs;
    struct cpu_winograd c;

    cpu_winograd_cut(w, side, &c);
    return (double)c.points *
           ((double)(c.tiles + ROWS_PER_WEIGHT) * both +
            (side == 1 ? 0 : (double)c.tiles * CHANGE * (double)(w->channels + w->outputs)));
}

/* The side of the tiles; 1: a product of patches. */
static int64_t side_of(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t side;

    if (!can(p))
        return 1;
    side = cost_of(w, 4) < cost_of(w, 2) ? 4 : 2;
    return cost_of(w, side) > 0.85 * cost_of(w, 1) ? 1 : side;
}

bool cpu_winograd_gains_by_bf16(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t n = w->outputs / p->op.params.window.group, panel = 2 * p->loops->lanes;
    double columns = (double)cut(n, panel) * (double)panel;
    /* tiles of few vectors of channels gain less than the count says */
    bool is_short = w->channels < LEAST_VECTORS * p->loops->lanes;
    double f32 = side_of(p) == 1 || is_short ? 1 : cost_of(w, side_of(p)) / cost_of(w, 1);

    return p->integer.amx || 0.5 * columns < f32 * (double)n;
}

/*
 * Sets the distances between points, if the points of `tiles` tiles are together, and the memory of
 * a task.
 */
static void place_points(struct cpu_winograd *c, struct cpu_gemm *g, int64_t tiles)
{
    const int64_t size = sizeof(float);

    c->v_point = odd_lines(tiles * c->v_row * size) / size;
    c->m_point = odd_lines(c->rows * g->panel * size) / size;
    g->slot_floats = c->points * c->m_point + c->side * c->side * g->panel;
}

/* Divides the tiles among tasks that transform their patches; false: the weights are too many. */
static bool cut_tiles_only(struct cpu_winograd *c, struct cpu_gemm *g, int64_t rows)
{
    int64_t blocks = cut(cut(c->tiles, rows), g->slots) * g->slots;

    if (c->points * cpu_gemm_packed(g) > MOST_WEIGHTS || c->tiles < LEAST_ROWS * g->slots)
        return false;
    c->owns_patches = true;
    c->block = c->tiles;
    c->rows = cut(c->tiles, blocks);
    c->panel_block = g->panels;
    place_points(c, g, c->rows);
    g->slot_floats += c->points * c->v_point;
    return true;
}

/*
 * The time of the thread with the most tasks, in multiplications of a row by a panel at each point,
 * if tasks have that many tiles and panels. Fewer rows than LEAST_PIECE do not hide the latency of
 * their additions, nor the loads of weights.
 */
static double time_of(const struct cpu_winograd *c, const struct cpu_gemm *g, int64_t most_rows,
                      int64_t rows, int64_t panels)
{
    int64_t tasks = cut(c->block, rows) * cut(g->panels, panels), pieces = cut(rows, most_rows);
    double products = (double)most(rows, pieces * LEAST_PIECE) * (double)g->k;

    return (double)(cut(tasks, g->slots) * panels) * (products + (double)(rows * CHANGE));
}

/*
 * Divides a block into more tasks of fewer tiles and panels, where that is much faster: with more
 * threads than tasks.
 */
static void share_block(struct cpu_winograd *c, const struct cpu_gemm *g, int64_t most_rows)
{
    double best = 0.9 * time_of(c, g, most_rows, c->rows, c->panel_block);

    for (int64_t rows = c->rows; rows >= LEAST_PIECE; rows--)
        for (int64_t panels = c->panel_block; panels > 0; panels--) {
            double time = time_of(c, g, most_rows, rows, panels);

            if (time >= best)
                continue;
            best = time;
            c->rows = rows;
            c->panel_block = panels;
        }
}

/* Divides a block into groups of tiles, so that the thread with the most tasks finishes first. */
static void cut_groups(struct cpu_winograd *c, const struct cpu_gemm *g)
{
    int64_t best = INT64_MAX, pieces = cut(c->block, c->rows);

    for (int64_t groups = 1; groups <= pieces && groups <= 4 * (int64_t)g->slots; groups++) {
        int64_t time =
            cut(groups * g->panels, g->slots) * (cut(pieces, groups) * c->rows + TILES_PER_KERNEL);

        if (time >= best)
            continue;
        best = time;
        c->groups = groups;
    }
}

static void cut_tasks(struct cpu_op *p)
{
    struct cpu_winograd *c = &p->plan.convolution.winograd;
    struct cpu_gemm *g = &p->plan.convolution.gemm;
    int64_t rows = MOST_ROWS / p->loops->rows * p->loops->rows, wanted, blocks;

    g->slots = c->points * c->tiles * g->n * g->k < WORKERS_FEW_PRODUCTS ? 1 : p->threads;
    c->v_row = (g->k + 15) / 16 * 16;
    c->v_row += c->v_row % 512 == 0 ? 16 : 0; /* without this, rows would compete for lines of the
                                               * first-level cache */
    if ((!c->is_compact || c->tiles >= g->n / 2) && cut_tiles_only(c, g, rows))
        return;
    c->block = most(MOST_POINTS / (c->points * c->v_row) / rows, 1) * rows;
    blocks = cut(c->tiles, c->block);
    c->block = cut(c->tiles, blocks);
    c->rows = cut(c->block, cut(c->block, rows));
    if (c->is_compact) {
        cut_groups(c, g);
        place_points(c, g, c->block);
        c->u_point = g->panel * g->k + 16; /* without the 16, points would compete for such lines */
        g->slot_floats += c->points * c->u_point;
        return;
    }
    c->panel_block = g->panels;
    wanted = g->slots > 1 ? 4 * (int64_t)g->slots : 1;
    while (cut(c->block, c->rows) * cut(g->panels, c->panel_block) < wanted && c->panel_block > 1)
        c->panel_block = (c->panel_block + 1) / 2;
    if (g->slots > 1)
        share_block(c, g, p->loops->rows);
    place_points(c, g, c->block);
}

/* The floats of packed weights. */
static int64_t floats_packed(const struct cpu_op *p)
{
    const struct cpu_winograd *c = &p->plan.convolution.winograd;

    return (c->is_compact ? WINOGRAD_TAPS : c->points) * cpu_gemm_packed(&p->plan.convolution.gemm);
}

void cpu_winograd_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_winograd *c = &p->plan.convolution.winograd;
    struct cpu_gemm *g = &p->plan.convolution.gemm;
    int64_t side = side_of(p);
    uint64_t workspace;

    if (side == 1)
        return;
    cpu_winograd_cut(w, side, c);
    g->k = w->channels; /* the product at one point */
    g->form = CPU_GEMM_FLOATS;
    p->answer.math = FERRY_MATH_WINOGRAD;
    c->is_compact = (p->op.math & FERRY_MATH_COMPACT) && (p->op.constants & 2);
    if (c->is_compact)
        p->answer.math |= FERRY_MATH_COMPACT;
    cut_tasks(p);
    workspace = (uint64_t)(g->slot_floats * g->slots);
    if (!c->owns_patches)
        workspace += (uint64_t)(c->points * c->v_point);
    else if (c->is_compact)
        workspace += (uint64_t)(c->points * cpu_gemm_packed(g));
    cpu_op_pack_or_not(p, 1, (uint64_t)floats_packed(p) * sizeof(float), workspace * sizeof(float));
}
