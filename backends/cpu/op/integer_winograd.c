/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer_winograd.h"

#include "integer_run.h"
#include "winograd.h"

#include <string.h>

/*
 * CONVOLUTION of bytes as products at the points of integer_winograd.h. If the weights are few, a
 * task transforms the patches of its tiles and computes all panels. Otherwise all threads transform
 * the patches of a block of tiles; then each task computes some tiles of one panel, so that its
 * weights are read once.
 *
 * The packed weights of a panel are those of one point after the other, group by group with all
 * columns of each. A header has the number of groups of a part of the channels.
 */

/* The bytes of the header. */
#define HEADER 64
/*
 * The maximum bytes of weights of all points that each task reads, if each thread has many tiles
 * and otherwise; and the minimum number of its tiles.
 */
#define MOST_WEIGHTS (5 * 1024 * 1024)
#define FEW_WEIGHTS  (2 * 1024 * 1024)
#define LEAST_TILES  8
/*
 * The maximum number of its tiles, and of the bytes of their points, which stay in the second-level
 * cache.
 */
#define MOST_TILES 28
#define MOST_BYTES (512 * 1024)
/*
 * The maximum number of tiles of other tasks, and the bytes of the points of a block that has more
 * tiles.
 */
#define MOST_SHARED       56
#define MOST_SHARED_BYTES (4 * 1024 * 1024)
/* The sums of a tile's pixels for a panel. */
#define TILE_SUMS (INTEGER_WINOGRAD_PIXELS * INTEGER_MOST_COLUMNS)

/* ---- planning ------------------------------------------------------------------------------- */

static bool can(const struct cpu_op *p)
{
    const ferry_op_window *window = &p->op.params.window;
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_integer *g = &p->integer;

    if (!g->loops->winograd || g->amx || p->is_empty || window->axes != 2 || g->groups != 1 ||
        !(p->op.constants & 2) || (p->op.math & FERRY_MATH_COMPACT) || w->x[1] != 1 ||
        w->channels < g->loops->bytes / 2)
        return false;
    for (int axis = 1; axis < 3; axis++)
        if (w->kernel[axis] != 3 || w->stride[axis] != 1 || w->dilation[axis] != 1)
            return false;
    return true;
}

/* The bytes of the weights of a panel at one point: of a group, and of all. */
static int64_t group_bytes(const struct cpu_integer *g)
{
    return g->loops->columns * (int64_t)sizeof(uint32_t);
}

static int64_t point_bytes(const struct cpu_integer *g)
{
    return cut(g->pixel, 2) * group_bytes(g);
}

/*
 * Whether `tiles` tiles of y take less time than a product, both in instructions. A row of a
 * product takes 40 besides its multiplications, a call of a micro-kernel at a point 56; a tile of y
 * takes 450 for a panel and 220 for a vector of channels. While a thread executes an instruction
 * with 64 bytes, 24 bytes of weights come from memory; two threads were measured.
 */
static bool is_faster(const struct cpu_op *p, int64_t tiles)
{
    const struct cpu_integer *g = &p->integer;
    int64_t point = 2 * cut(g->pixel, 2) + 56 / g->loops->rows;
    int64_t vectors = cut(g->pixel, g->loops->bytes / 2);
    double product =
        (double)(g->m * g->panels) * (double)(2 * WINOGRAD_TAPS * cut(g->pixel, 4) + 40);
    double panels = (double)g->panels * (double)(INTEGER_WINOGRAD_POINTS * point + 450);
    double weights = (double)(g->panels * INTEGER_WINOGRAD_POINTS) * (double)point_bytes(g);

    return (double)tiles * (panels + (double)(220 * vectors)) +
               weights * 64 / (double)(24 * g->loops->bytes) <
           product;
}

/* Divides the tiles among tasks that transform their patches; false: there are too many weights. */
static bool cut_tiles_only(struct cpu_winograd *c, const struct cpu_integer *g, int64_t row)
{
    int64_t rows = most(least(MOST_BYTES / (INTEGER_WINOGRAD_POINTS * row), MOST_TILES), 1);
    int64_t limit = c->tiles < MOST_TILES * g->slots ? FEW_WEIGHTS : MOST_WEIGHTS;

    if (g->panels * INTEGER_WINOGRAD_POINTS * point_bytes(g) > limit ||
        c->tiles < LEAST_TILES * g->slots)
        return false;
    c->owns_patches = true;
    c->rows = cut(c->tiles, cut(cut(c->tiles, rows), g->slots) * g->slots);
    c->block = c->tiles;
    return true;
}

static void cut_tasks(struct cpu_winograd *c, const struct cpu_integer *g)
{
    int64_t row = cut(g->pixel * (int64_t)sizeof(int16_t), 64) * 64, most_tiles;

    row += row % 1024 == 0 ? 64 : 0; /* without this, rows would compete for lines of a cache */
    c->v_row = row / (int64_t)sizeof(int16_t);
    if (cut_tiles_only(c, g, row))
        return;
    most_tiles = most(MOST_SHARED_BYTES / (INTEGER_WINOGRAD_POINTS * row), MOST_SHARED);
    c->block = cut(c->tiles, cut(c->tiles, most_tiles));
    c->rows = cut(c->block, cut(c->block, MOST_SHARED));
    while (g->slots > 1 && c->rows > LEAST_TILES &&
           cut(c->block, c->rows) * g->panels < 2 * g->slots)
        c->rows = cut(c->rows, 2);
}

/* The sums of a task's tiles for a panel: at the points, and of pixels. */
static int64_t sums_of(const struct cpu_winograd *c)
{
    return INTEGER_WINOGRAD_POINTS * c->m_point + c->rows * TILE_SUMS;
}

static const struct cpu_op_kind winograd;

void cpu_integer_winograd_plan(struct cpu_op *p)
{
    struct cpu_winograd *c = &p->plan.convolution.winograd, tiles = { 0 };
    struct cpu_integer *g = &p->integer;
    int64_t patches;

    if (!can(p))
        return;
    cpu_winograd_cut(&p->plan.convolution.window, INTEGER_WINOGRAD_SIDE, &tiles);
    if (!is_faster(p, tiles.tiles))
        return;
    cut_tasks(&tiles, g);
    *c = tiles;
    c->v_point = odd_lines((c->owns_patches ? c->rows : c->block) * c->v_row * 2) / 2;
    c->m_point = odd_lines(c->rows * INTEGER_MOST_COLUMNS * 4) / 4;
    patches = INTEGER_WINOGRAD_POINTS * c->v_point * (int64_t)sizeof(int16_t);
    g->slot_bytes = sums_of(c) * (int64_t)sizeof(int32_t);
    if (c->owns_patches) {
        g->slot_bytes += patches;
        patches = 0;
    }
    cpu_op_pack_or_not(p, 1,
                       (uint64_t)(HEADER + g->panels * INTEGER_WINOGRAD_POINTS * point_bytes(g)),
                       (uint64_t)(g->slot_bytes * g->slots + patches));
    p->kind = &winograd;
}

/* ---- weights -------------------------------------------------------------------------------- */

enum { COLUMNS = INTEGER_MOST_COLUMNS, EDGE = INTEGER_WINOGRAD_EDGE };

struct pack {
    const struct cpu_op *op;
    const int8_t *w;
    int64_t tap[WINOGRAD_TAPS]; /* their offsets */
    char *packed;               /* after the header */
};

/* The magnitude that the sums of an output over some channels cannot exceed. */
static int64_t bound_of(const struct pack *s, const int8_t *w, int64_t first, int64_t end)
{
    bool is_signed = s->op->integer.is_signed;
    int64_t low = is_signed ? 128 : 0, high = is_signed ? 127 : 255, positive = 0, negative = 0;

    w += first * s->op->plan.convolution.w[1];
    for (int64_t k = first; k < end; k++, w += s->op->plan.convolution.w[1])
        for (int64_t i = 0; i < WINOGRAD_TAPS; i++) {
            int64_t value = w[s->tap[i]];

            positive += most(value, 0);
            negative += most(-value, 0);
        }
    return most(positive * high + negative * low, positive * low + negative * high);
}

/* Whether the sums of parts of `groups` groups of channels are within the limit. */
static bool is_exact(const struct pack *s, int64_t groups)
{
    const struct cpu_integer *g = &s->op->integer;
    const int8_t *w = s->w;

    for (int64_t o = 0; o < g->n; o++, w += s->op->plan.convolution.w[0])
        for (int64_t k = 0; k < g->pixel; k += 2 * groups)
            if (bound_of(s, w, k, least(k + 2 * groups, g->pixel)) >= INTEGER_WINOGRAD_LIMIT)
                return false;
    return true;
}

/* Transforms three taps of all columns along an axis, `step` apart, to the points. */
static void change_taps(int16_t (*restrict g)[COLUMNS], int64_t step,
                        int16_t (*restrict to)[COLUMNS], int64_t to_step)
{
    for (int64_t j = 0; j < COLUMNS; j++) {
        int g0 = g[0][j], g1 = g[step][j], g2 = g[2 * step][j];

        to[0][j] = (int16_t)(6 * g0);
        to[to_step][j] = (int16_t)(-g0 - g1 - g2);
        to[2 * to_step][j] = (int16_t)(g1 - g0 - g2);
        to[3 * to_step][j] = (int16_t)(g0 + 2 * g1 + 4 * g2);
        to[4 * to_step][j] = (int16_t)(g0 - 2 * g1 + 4 * g2);
        to[5 * to_step][j] = (int16_t)(6 * g2);
    }
}

/* Transforms the kernels of one channel for the columns of a panel, of which `w` is the first. */
static void change_kernels(const struct pack *s, const int8_t *w, int64_t columns,
                           int16_t (*to)[COLUMNS])
{
    int16_t taps[WINOGRAD_TAPS][COLUMNS] = { 0 }, half[3 * EDGE][COLUMNS];

    for (int64_t j = 0; j < columns; j++, w += s->op->plan.convolution.w[0])
        for (int64_t i = 0; i < WINOGRAD_TAPS; i++)
            taps[i][j] = w[s->tap[i]];
    for (int64_t j = 0; j < 3; j++)
        change_taps(taps + j, 3, half + j, 3);
    for (int64_t i = 0; i < EDGE; i++)
        change_taps(half + 3 * i, 1, to + EDGE * i, 1);
}

static void pack_panel(void *arg, int64_t panel, unsigned slot)
{
    const struct pack *s = arg;
    const struct cpu_integer *g = &s->op->integer;
    const int64_t *wide = s->op->plan.convolution.w;
    int64_t width = g->loops->columns, columns = least(g->n - panel * width, width);
    int64_t bytes = point_bytes(g), group = group_bytes(g);
    const int8_t *w = s->w + panel * width * wide[0];
    char *to = s->packed + panel * INTEGER_WINOGRAD_POINTS * bytes;
    int16_t at[2][INTEGER_WINOGRAD_POINTS][COLUMNS];
    uint32_t pair[COLUMNS];

    (void)slot;
    for (int64_t k = 0; k < g->pixel; k += 2, to += group) {
        change_kernels(s, w + k * wide[1], columns, at[0]);
        if (k + 1 < g->pixel)
            change_kernels(s, w + (k + 1) * wide[1], columns, at[1]);
        else
            memset(at[1], 0, sizeof(at[1]));
        for (int64_t i = 0; i < INTEGER_WINOGRAD_POINTS; i++) {
            for (int64_t j = 0; j < COLUMNS; j++)
                pair[j] = (uint16_t)at[0][i][j] | (uint32_t)(uint16_t)at[1][i][j] << 16;
            memcpy(to + i * bytes, pair, (size_t)group);
        }
    }
}

static void winograd_prepare(struct cpu_device *d, const struct cpu_op *p, const void *const *in,
                             void *packed)
{
    struct pack s = { .op = p,
                      .w = (const int8_t *)in[1] + p->plan.convolution.w_first,
                      .packed = (char *)packed + HEADER };
    int64_t part = cut(p->integer.pixel, 2);

    for (int64_t i = 0; i < WINOGRAD_TAPS; i++)
        s.tap[i] = i / 3 * p->plan.convolution.w[3] + i % 3 * p->plan.convolution.w[4];
    while (!is_exact(&s, part))
        part = cut(part, 2);
    memset(packed, 0, HEADER);
    memcpy(packed, &part, sizeof(part));
    workers_tasks(d->workers, p->integer.panels, pack_panel, &s);
}

/* ---- running -------------------------------------------------------------------------------- */

struct pass {
    const struct cpu_integer_run *run;
    const struct cpu_winograd *cut;
    const char *packed; /* after the header */
    int64_t part;       /* the groups of a part of the channels */
    int16_t *v;         /* the points of a block of tiles, unless tasks have their own */
    int64_t first, end; /* the tiles of the block */
    int64_t pieces;     /* of these tiles, which tasks have */
    /* The bytes from a line of y, and of the added operand, to the next. */
    int64_t y_line, add_line;
};

/* A tile in y and in the added operand. */
struct spot {
    struct cpu_integer_place place;
    int64_t lines, pixels; /* that y has */
};

/* Transforms the patches of some tiles to points at `v`. */
static void change_patches(const struct pass *s, int64_t first, int64_t count, int16_t *v)
{
    const struct cpu_op *p = s->run->op;
    const struct cpu_window *w = &p->plan.convolution.window;

    for (int64_t i = first; i < first + count; i++, v += s->cut->v_row) {
        const struct cpu_winograd_place at = cpu_winograd_place_of(w, s->cut, i);
        const struct cpu_integer_patch patch = { .x = (const char *)s->run->args->in[0] + at.x,
                                                 .line = w->x[3],
                                                 .pixel = w->x[4],
                                                 .first = { at.first[0], at.first[1] },
                                                 .end = { at.end[0], at.end[1] },
                                                 .channels = w->channels,
                                                 .is_signed = p->integer.is_signed,
                                                 .v = v,
                                                 .v_point = s->cut->v_point };

        p->integer.loops->winograd->in(&patch);
    }
}

static void change_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pass *s = arg;

    (void)piece;
    change_patches(s, s->first + first, count, s->v + first * s->cut->v_row);
}

/* Locates some tiles once for all panels. */
static void find_spots(const struct pass *s, int64_t first, int64_t count, struct spot *spots)
{
    const struct cpu_window *w = &s->run->op->plan.convolution.window;

    for (int64_t i = 0; i < count; i++) {
        const struct cpu_winograd_place at = cpu_winograd_place_of(w, s->cut, first + i);
        const struct cpu_integer_pixel pixel = { at.image, { 0, at.line, at.pixel } };

        spots[i] = (struct spot){ .place = cpu_integer_place_at(s->run, 0, &pixel),
                                  .lines = least(w->out[1] - at.line, s->cut->side),
                                  .pixels = least(w->out[2] - at.pixel, s->cut->side) };
    }
}

/* Computes the products of some tiles and one panel, of `groups` groups, at all points. */
static void multiply(const struct pass *s, const int16_t *v, int64_t tiles, const char *u,
                     int64_t first, int64_t groups, int32_t *m)
{
    const struct cpu_integer *g = &s->run->op->integer;
    int64_t bytes = point_bytes(g);
    struct cpu_integer_tile tile = { .a_row = s->cut->v_row * (int64_t)sizeof(int16_t),
                                     .spans = 1,
                                     .groups = groups };

    for (int64_t point = 0; point < INTEGER_WINOGRAD_POINTS; point++) {
        int64_t left = tiles, pieces = cut(tiles, g->loops->rows);

        tile.a = (const char *)(v + point * s->cut->v_point + 2 * first);
        tile.b = (const int8_t *)(u + point * bytes + first * group_bytes(g));
        tile.sums = m + point * s->cut->m_point;
        for (; pieces > 0; pieces--) {
            int64_t rows = left / pieces;

            tile.ahead = pieces > 1 ? INTEGER_AHEAD : bytes; /* bytes: the next point's */
            g->loops->winograd->micro[rows](&tile);
            tile.a += rows * tile.a_row;
            tile.sums += rows * INTEGER_MOST_COLUMNS;
            left -= rows;
        }
    }
}

/* Stores the sums of a tile's pixels by the steps of the epilogue. */
static void put_tile(const struct pass *s, const struct spot *spot, int64_t column, int64_t columns,
                     const int32_t *sums)
{
    struct cpu_integer_place place = spot->place;

    for (int64_t i = 0; i < spot->lines; i++) {
        cpu_integer_put(s->run, column, columns, spot->pixels,
                        sums + i * s->cut->side * INTEGER_MOST_COLUMNS, &place);
        place.y += s->y_line;
        if (s->run->add)
            place.add += s->add_line;
    }
}

/* Computes some tiles, whose points are at `v`, and one panel. */
static void do_panel(const struct pass *s, const struct spot *spots, int64_t tiles,
                     const int16_t *v, int64_t panel, int32_t *m)
{
    const struct cpu_op *p = s->run->op;
    const struct cpu_integer *g = &p->integer;
    const char *u = s->packed + panel * INTEGER_WINOGRAD_POINTS * point_bytes(g);
    struct cpu_integer_tile tile = { .store = &s->run->store, .column = panel * g->loops->columns };
    int64_t columns = least(g->n - tile.column, g->loops->columns), groups = cut(g->pixel, 2);
    bool stores = cpu_integer_takes_store(s->run, columns);
    struct cpu_integer_points points = { .m_point = s->cut->m_point,
                                         .y_line = s->y_line,
                                         .add_line = s->add_line };

    for (int64_t first = 0; first < groups; first += s->part) {
        bool is_last = groups - first <= s->part;

        multiply(s, v, tiles, u, first, least(s->part, groups - first), m);
        points.adds = first > 0;
        points.sums = m + INTEGER_WINOGRAD_POINTS * points.m_point;
        points.tile = is_last && stores ? &tile : NULL;
        for (int64_t i = 0; i < tiles; i++, points.sums += TILE_SUMS) {
            points.m = (const uint32_t *)m + i * INTEGER_MOST_COLUMNS;
            tile.place = spots[i].place;
            points.lines = spots[i].lines;
            points.pixels = spots[i].pixels;
            g->loops->winograd->out(&points);
            if (is_last && !stores)
                put_tile(s, &spots[i], tile.column, columns, points.sums);
        }
    }
}

static void do_task(void *arg, int64_t number, unsigned slot)
{
    const struct pass *s = arg;
    const struct cpu_op *p = s->run->op;
    const struct cpu_winograd *c = s->cut;
    int64_t piece = number % s->pieces * c->rows, panel = number / s->pieces;
    int64_t first = s->first + piece, tiles = least(s->end - first, c->rows);
    int64_t end = c->owns_patches ? p->integer.panels : panel + 1;
    int32_t *m = (int32_t *)(void *)(s->run->rows + slot * p->integer.slot_bytes);
    int16_t *v = c->owns_patches ? (int16_t *)(m + sums_of(c)) : s->v + piece * c->v_row;
    struct spot spots[MOST_SHARED];

    find_spots(s, first, tiles, spots);
    if (c->owns_patches)
        change_patches(s, first, tiles, v);
    for (; panel < end; panel++)
        do_panel(s, spots, tiles, v, panel, m);
}

/* Computes the tiles first … end − 1. */
static void do_tiles(struct cpu_device *d, struct pass *s)
{
    const struct cpu_integer *g = &s->run->op->integer;
    int64_t tiles = s->end - s->first, tasks;

    s->pieces = cut(tiles, s->cut->rows);
    tasks = s->pieces * (s->cut->owns_patches ? 1 : g->panels);
    if (g->slots == 1) {
        if (!s->cut->owns_patches)
            change_piece(s, 0, tiles, 0);
        for (int64_t i = 0; i < tasks; i++)
            do_task(s, i, 0);
        return;
    }
    if (!s->cut->owns_patches)
        workers_run(d->workers, tiles, cut(tiles, 4 * (int64_t)g->slots), change_piece, s);
    workers_tasks(d->workers, tasks, do_task, s);
}

static void winograd_run(struct cpu_device *d, const struct cpu_op *p,
                         const struct cpu_op_args *args)
{
    const struct cpu_winograd *c = &p->plan.convolution.winograd;
    const struct cpu_integer *g = &p->integer;
    struct cpu_integer_run r = {
        .op = p, .args = args, .packed = args->packed, .rows = args->workspace
    };
    struct pass s = { .run = &r,
                      .cut = c,
                      .packed = r.packed + HEADER,
                      .v = (int16_t *)(void *)(r.rows + g->slots * g->slot_bytes) };

    memcpy(&s.part, r.packed, sizeof(s.part));
    cpu_integer_find_store(&r);
    s.y_line = p->plan.convolution.window.y[3] * cpu_integer_size(p->op.out[0].dtype);
    if (r.add)
        s.add_line = r.add_strides[3] * cpu_integer_size(r.add->dtype);
    for (; s.first < c->tiles; s.first = s.end) {
        s.end = least(s.first + c->block, c->tiles);
        do_tiles(d, &s);
    }
}

static const struct cpu_op_kind winograd = {
    .prepare = winograd_prepare,
    .run = winograd_run,
};
