/* SPDX-License-Identifier: BSD-2-Clause */
#include "gemm.h"

#include <string.h>

/*
 * The number of floats of a that are prefetched for each row of b: a tile has at most as many rows.
 */
#define AHEAD_FLOATS 16
/*
 * The number of floats of a whose tiles the micro-kernel processes together: they stay in the
 * second-level cache, as the panel does; up to k = 256 the panel stays in the first one.
 */
#define MOST_NEAR (16 * 1024)

/* ---- the store ------------------------------------------------------------------------------ */

/* The gathered rows of a tile. */
struct place {
    int64_t batch, rows;
    float *y[TILE_MOST_ROWS];
    const float *add[TILE_MOST_ROWS];
};

/* Applies all steps to `columns` sums of a row; `add` is column 0 of the added operand. */
static void step_row(const struct cpu_gemm_run *r, int64_t batch, const float *add, int64_t column,
                     int64_t columns, float *sums)
{
    for (uint32_t i = 0; i < r->steps; i++) {
        struct cpu_step s = r->step[i];

        if (s.step == FERRY_STEP_ADD) {
            for (int64_t j = 0; j < columns; j++)
                sums[j] += (float)s.a * add[(column + j) * r->add_column];
            continue;
        }
        s.operand += (batch * r->step_batch + column) * s.stride;
        r->loops->step(&s, columns, sums);
    }
}

/* Applies the steps that the micro-kernel left, and stores the tile's sums. */
static void finish(const struct cpu_gemm_run *r, const struct place *p, const struct cpu_tile *t,
                   int64_t columns)
{
    for (int64_t i = 0; i < p->rows; i++) {
        float *sums = t->sums + i * t->sums_row;

        step_row(r, p->batch, p->add[i], t->column, columns, sums);
        if (r->y_column == 1)
            memcpy(p->y[i] + t->column, sums, (size_t)columns * sizeof(*sums));
    }
    if (r->y_column == 1)
        return;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < p->rows; i++)
            p->y[i][(t->column + j) * r->y_column] = t->sums[i * t->sums_row + j];
}

void cpu_gemm_finish_row(const struct cpu_gemm_run *r, int64_t row, int64_t column, int64_t columns,
                         float *sums)
{
    float *y = r->y + row * r->y_row;

    step_row(r, 0, r->add + (r->add ? row * r->add_row : 0), column, columns, sums);
    for (int64_t j = 0; j < columns; j++)
        y[(column + j) * r->y_column] = sums[j];
}

/* ---- tasks ---------------------------------------------------------------------------------- */

struct task {
    const struct cpu_gemm_run *run;
    int64_t batch, first, rows;
    int64_t panel, full, end; /* the task's panels, the full ones first */
    int64_t k, depth;
    float *a, *sums;
    /* b and the bias of the task's batch */
    const float *b, *bias;
    struct cpu_store store;
};

/* The micro-kernels for the form of b. */
static const cpu_micro (*micros_of(const struct cpu_gemm_run *r))[TILE_MOST_ROWS + 1]
{
    return r->plan->form == CPU_GEMM_BF16_PAIRS ? r->pairs->micro
           : r->plan->form == CPU_GEMM_BF16     ? r->loops->micro_of_bf16
           : r->plan->form == CPU_GEMM_F16      ? r->loops->micro_of_f16
                                                : r->loops->micro;
}

/*
 * Multiplies full panels, which the micro-kernel completes alone; returns the first panel that is
 * not full.
 */
static int64_t multiply_full(const struct task *task, int64_t rows, struct cpu_tile *tile)
{
    const struct cpu_gemm *g = task->run->plan;
    const int64_t step = cpu_gemm_floats(g, g->k, g->panel);
    const cpu_micro micro = micros_of(task->run)[1][rows];

    tile->column = task->panel * g->panel;
    tile->missing = 0;
    tile->b = task->b + task->panel * step + cpu_gemm_floats(g, task->k, g->panel);
    tile->bias = tile->first ? task->bias : NULL;
    tile->store = task->k + task->depth == g->k ? &task->store : NULL;
    for (int64_t p = task->panel; p < task->full; p++) {
        micro(tile);
        tile->column += g->panel;
        tile->b += step;
        tile->sums += g->panel;
    }
    return task->full;
}

/*
 * Applies the functions that follow the store to columns begin … end − 1 of the tiles' rows; to all
 * rows at once if they are contiguous.
 */
static void do_functions(const struct cpu_gemm_run *r, int64_t rows, const struct cpu_tile *tile,
                         int64_t begin, int64_t end)
{
    int64_t run = end - begin, tiles = tile->tiles;

    if (rows > 1 && tile->y[rows - 1] - tile->y[0] == (rows - 1) * run) {
        run *= rows;
        rows = 1;
    }
    if (rows == 1 && tiles > 1 && tile->y_step == run) {
        run *= tiles;
        tiles = 1;
    }
    for (int64_t t = 0; t < tiles; t++)
        for (int64_t i = 0; i < rows; i++)
            cpu_gemm_functions(r, run, tile->y[i] + t * tile->y_step + begin);
}

static void multiply_tile(const struct task *task, const struct place *place, struct cpu_tile *tile)
{
    const struct cpu_gemm_run *r = task->run;
    const struct cpu_gemm *g = r->plan;
    bool is_last = task->k + task->depth == g->k;
    float *sums = tile->sums;
    int64_t p = r->stores ? multiply_full(task, place->rows, tile) : task->panel;

    for (; p < task->end; p++) {
        int64_t width = cpu_gemm_width(g, p), columns = least(g->n - p * g->panel, width);

        tile->column = p * g->panel;
        tile->missing = width - columns;
        tile->b =
            task->b + p * cpu_gemm_floats(g, g->k, g->panel) + cpu_gemm_floats(g, task->k, width);
        tile->bias = r->stores && tile->first ? task->bias : NULL;
        tile->store = r->stores && is_last ? &task->store : NULL;
        tile->sums = sums + (p - task->panel) * g->panel;
        micros_of(r)[width == g->panel][place->rows](tile);
        if (is_last && !r->stores)
            finish(r, place, tile, columns);
    }
    if (is_last && r->stores && r->stored < r->steps)
        do_functions(r, place->rows, tile, task->panel * g->panel,
                     least(g->n, task->end * g->panel));
    tile->sums = sums;
}

static void find_place(const struct task *task, int64_t first, struct place *place)
{
    const struct cpu_gemm_run *r = task->run;
    int64_t y_at[TILE_MOST_ROWS], add_at[TILE_MOST_ROWS];
    float *y = r->y + task->batch * r->y_batch + first * r->y_row;

    if (r->place) {
        r->place(r, task->batch, first, place->rows, y_at, add_at);
        for (int64_t i = 0; i < place->rows; i++) {
            place->y[i] = r->y + y_at[i];
            place->add[i] = r->add ? r->add + add_at[i] : NULL;
        }
        return;
    }
    for (int64_t i = 0; i < place->rows; i++, y += r->y_row)
        place->y[i] = y;
    for (int64_t i = 0; i < place->rows && r->add; i++)
        place->add[i] = r->add + task->batch * r->add_batch + (first + i) * r->add_row;
}

/*
 * The number of rows from `first` on that can be read in place; or, as a negative number, that
 * cannot.
 */
static int64_t find_rows(const struct task *task, int64_t first, int64_t rows,
                         struct cpu_tile *tile)
{
    const struct cpu_gemm_run *r = task->run;

    if (r->a) {
        tile->a = r->a + task->batch * r->a_batch + first * r->a_row +
                  (r->has_pairs ? task->k / 2 : task->k);
        tile->a_row = r->a_row;
        return rows;
    }
    return r->reach ? r->reach(r, task->batch, first, rows, task->k, task->depth, tile) : -rows;
}

static void bring_rows(const struct task *task, int64_t first, int64_t rows, struct cpu_tile *tile)
{
    const struct cpu_gemm_run *r = task->run;

    tile->a = task->a;
    tile->a_row = r->plan->a_row;
    tile->spans = 1;
    tile->span = task->depth;
    tile->jump = tile->line = 0;
    r->bring(r, task->batch, first, rows, task->k, task->depth, task->a, tile);
}

/* As multiply_tile, with the rows of a as pairs of BF16. */
static void multiply_pairs(const struct task *task, const struct place *place,
                           const struct cpu_tile *given)
{
    const struct cpu_gemm *g = task->run->plan;
    struct cpu_tile tile = *given;
    float *to = task->a + least(g->m, task->run->loops->rows) * g->a_row;

    tile.span = task->run->pairs->round(given, place->rows, to, g->a_row / 2);
    tile.spans = given->spans > 0;
    tile.a = to;
    tile.a_row = g->a_row / 2;
    tile.jump = tile.line = 0;
    multiply_tile(task, place, &tile);
}

/*
 * Rows divided into tiles as evenly as possible: some tiles of equal size, then some with one more
 * row.
 */
struct cutting {
    int64_t small, rows, tiles;
};

static struct cutting cut_rows(int64_t rows, int64_t most)
{
    int64_t tiles = cut(rows, most), each = rows / tiles;

    return (struct cutting){ tiles - (rows - tiles * each), each, tiles };
}

/*
 * Whether the micro-kernel may process several tiles per call: a panel of b is then used by all of
 * them before the next one.
 */
static bool can_go_on(const struct cpu_gemm_run *r)
{
    const struct cpu_gemm *g = r->plan;

    return r->stores && (g->form != CPU_GEMM_BF16_PAIRS || r->has_pairs) && g->depth == g->k &&
           (!r->place || g->m_line > 0);
}

/* Processes together as many of `tiles` of one line as stay in the cache. */
static void join_tiles(const struct task *task, const struct place *place, int64_t tiles,
                       struct cpu_tile *tile)
{
    const struct cpu_gemm *g = task->run->plan;
    int64_t rows = place->rows, near = MOST_NEAR / (rows * g->k);

    if (rows < 2 || near < 2)
        return;
    tile->tiles = least(tiles, near);
    tile->y_step = rows * (place->y[1] - place->y[0]);
    tile->add_step = task->run->add ? rows * (place->add[1] - place->add[0]) : 0;
}

/* Whether the tile's rows are complete rows of a, so that the next tile's follow them. */
static bool goes_ahead(const struct cpu_tile *tile, bool is_in_place)
{
    return is_in_place && tile->spans == 1 && tile->a_row == tile->span;
}

/*
 * Processes the tiles of the rows from `first` on, of which `lie` can be read in place; others are
 * gathered, with their neighbours in the same tile.
 */
static void do_tiles(const struct task *task, int64_t first, int64_t rows, int64_t lie,
                     struct place *place, struct cpu_tile *tile)
{
    const struct cpu_gemm *g = task->run->plan;
    const struct cutting c = cut_rows(rows, task->run->loops->rows);
    const int64_t stop = first + rows;
    bool is_split = g->depth < g->k, is_last = task->k + task->depth == g->k;
    bool goes_on = can_go_on(task->run);

    for (int64_t i = 0; i < c.tiles; i += tile->tiles) {
        int64_t alike = (i < c.small ? c.small : c.tiles) - i; /* tiles of as many rows */

        if (lie == 0)
            lie = find_rows(task, first, stop - first, tile);
        place->rows = c.rows + (i >= c.small);
        tile->ahead = goes_ahead(tile, lie >= place->rows) ? AHEAD_FLOATS : 0;
        if (lie < place->rows) {
            lie = place->rows * (goes_on ? least(alike, g->brought) : 1);
            bring_rows(task, first, lie, tile);
        }
        if (is_last)
            find_place(task, first, place);
        tile->tiles = 1;
        tile->next = tile->a + place->rows * tile->a_row;
        if (goes_on && lie >= 2 * place->rows)
            join_tiles(task, place, least(alike, lie / place->rows), tile);
        if (g->form == CPU_GEMM_BF16_PAIRS && !task->run->has_pairs)
            multiply_pairs(task, place, tile);
        else
            multiply_tile(task, place, tile);
        rows = tile->tiles * place->rows;
        lie = lie < rows ? 0 : lie - rows;
        tile->a += rows * tile->a_row;
        tile->sums += is_split ? rows * g->sums_row : 0;
        first += rows;
    }
}

/*
 * Processes the rows of a task in one block of k, each line separately. If the sums are short, rows
 * that can be read in place and rows that cannot are distinguished, because gathering takes as long
 * as the sums; unless whole windows are copied, which is fast.
 */
static void do_rows(const struct task *task)
{
    const struct cpu_gemm *g = task->run->plan;
    int64_t first = task->first, end = task->first + task->rows;
    bool tells = g->is_short && g->m_line > 0 && !task->run->brings_windows;
    struct place place = { .batch = task->batch };
    struct cpu_tile tile = { .first = task->k == 0,
                             .tiles = 1,
                             .spans = 1,
                             .span = task->run->has_pairs ? cut(task->depth, 2) : task->depth,
                             .sums = task->sums,
                             .sums_row = g->sums_row,
                             .y = place.y,
                             .add = place.add };

    while (first < end) {
        int64_t line = g->m_line ? (first / g->m_line + 1) * g->m_line : end;
        int64_t rows = least(line, end) - first, lie = find_rows(task, first, rows, &tile);

        if (tells)
            rows = lie < 0 ? -lie : lie;
        do_tiles(task, first, rows, lie, &place, &tile);
        first += rows;
    }
}

/*
 * The beginning of block `i` of the rows: blocks are complete lines if lines are short, and of
 * equal size as far as possible.
 */
static int64_t begin_of(const struct cpu_gemm *g, int64_t i)
{
    return least(i * cut(g->m, g->row_unit) / g->row_blocks * g->row_unit, g->m);
}

/* The block of a batch that a task computes. */
struct block {
    int64_t batch, rows, panels;
};

/* Tasks go through the row blocks of a part for each panel block, and then to the next part. */
static struct block find_block(const struct cpu_gemm *g, int64_t number)
{
    int64_t each = g->row_blocks / g->row_parts, tasks = each * g->panel_blocks;
    int64_t part = number / tasks, within = number % tasks;

    return (struct block){ .batch = part / g->row_parts,
                           .rows = part % g->row_parts * each + within % each,
                           .panels = within / each };
}

static void do_task(void *arg, int64_t number, unsigned slot)
{
    const struct cpu_gemm_run *r = arg;
    const struct cpu_gemm *g = r->plan;
    const struct block block = find_block(g, number);
    struct task task = { .run = r,
                         .batch = block.batch,
                         .first = begin_of(g, block.rows),
                         .panel = block.panels * g->panel_block,
                         .a = r->scratch + (int64_t)slot * g->slot_floats };

    task.sums = task.a + g->a_floats;
    task.b = r->b + task.batch * r->b_batch;
    task.bias = r->store.bias ? r->store.bias + task.batch * r->step_batch : NULL;
    task.store = r->store;
    task.store.slopes = r->store.slopes ? r->store.slopes + task.batch * r->step_batch : NULL;
    task.rows = begin_of(g, block.rows + 1) - task.first;
    task.end = least(g->panels, task.panel + g->panel_block);
    task.full = least(task.end, g->n / g->panel);
    task.full = task.full < task.panel ? task.panel : task.full;
    do {
        task.depth = least(g->k - task.k, g->depth);
        if (g->k_line > g->depth)
            task.depth = least(task.depth, g->k_line - task.k % g->k_line);
        do_rows(&task);
        task.k += task.depth;
    } while (task.k < g->k);
}

void cpu_gemm_do(struct workers *w, struct cpu_gemm_run *r)
{
    const struct cpu_gemm *g = r->plan;
    int64_t tasks = g->batches * g->row_blocks * g->panel_blocks;

    r->stores = cpu_gemm_make_store(r);
    if (g->slots > 1)
        workers_tasks(w, tasks, do_task, r);
    else
        for (int64_t i = 0; i < tasks; i++)
            do_task(r, i, 0);
}
