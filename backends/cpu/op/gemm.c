/* SPDX-License-Identifier: BSD-2-Clause */
#include "gemm.h"

#include <string.h>

/* The maximum floats of a task's panels if b is read only once. */
#define SMALL_PANELS (128 * 1024)
/* The maximum floats of a task's sums and of its panels of b, so that they stay in the cache. */
#define MOST_SUMS   (48 * 1024)
#define MOST_PANELS (128 * 1024)
/*
 * The minimum floats of b of which each thread reads a part only. Its columns of y are then in its
 * cache, while the next operation reads whole rows, and a line that two threads have read costs
 * each later write.
 */
#define LEAST_SHARED (512 * 1024)
/*
 * The number of columns below which a task is not divided to get more tasks than threads, because
 * each part would gather its rows again.
 */
#define FEW_COLUMNS 256
/* The cost of a task besides that of its columns, in columns. */
#define TASK_COLUMNS 8
/* The length of sums up to which the cost of gathering a row matters. */
#define SHORT_SUMS 64
/*
 * The maximum number of floats of a whose depth is one block: b is read once, and in the order of
 * memory. And those of a panel, and of an a that is gathered, so that both stay in the second-level
 * cache if the depth is one block: sums need not be stored between blocks.
 */
#define MOST_WHOLE (4 * 1024)
#define MOST_DEEP  (64 * 1024)
#define MOST_A     (128 * 1024)
/*
 * The number of rows up to which a product is limited by reading the weights of b, so that weights
 * of BF16 or F16 take less time.
 */
#define FEW_ROWS 64
/*
 * The number of floats of a that are prefetched for each row of b: a tile has at most as many rows.
 */
#define AHEAD_FLOATS 16
/*
 * The number of floats of a whose tiles the micro-kernel processes together: they stay in the
 * second-level cache, while the panels of b take turns in the first one.
 */
#define MOST_NEAR (16 * 1024)

/* ---- planning ------------------------------------------------------------------------------- */

/* Whether a product whose lines of a are rows has one block of k. */
static bool is_whole(const struct cpu_gemm *g)
{
    int64_t floats = g->m * g->k;

    return floats <= MOST_WHOLE ||
           (g->k * g->panel <= MOST_DEEP && (g->is_in_place || floats <= MOST_A));
}

/* The depth of a block of k: complete lines per block, or complete blocks per line. */
static int64_t depth_of(const struct cpu_gemm *g)
{
    bool is_pairs = g->form == CPU_GEMM_BF16_PAIRS;
    int64_t lines, most, block;

    if (g->k == 0)
        return 1;
    if (g->k_line == 0 || g->k_line == g->k) {
        if (is_whole(g))
            return g->k;
        block = cut(g->k, cut(g->k, TILE_MOST_DEPTH));
        return block + (is_pairs && block % 2 && block < g->k);
    }
    if (g->k_line > TILE_MOST_DEPTH)
        return cut(g->k_line, cut(g->k_line, TILE_MOST_DEPTH));
    lines = g->k / g->k_line;
    most = TILE_MOST_DEPTH / g->k_line;
    block = cut(lines, cut(lines, most));
    if (is_pairs && g->k_line % 2 && block % 2 && block < lines && most > 1)
        block += block < most ? 1 : -1;
    return block * g->k_line;
}

/*
 * Whether tiles that end at the end of a line have enough rows, so that no tile spans two lines,
 * which would need expensive gathering. If windows have several lines, half of the rows is enough:
 * few lines are that short, and much of the input of the first and last line is padding, which such
 * tiles skip.
 */
static bool fills_tiles(const struct cpu_gemm *g, int64_t rows)
{
    int64_t line = g->m_line, most = g->k <= SHORT_SUMS ? 150 : 115;

    if (g->k > SHORT_SUMS && g->k_line < g->k && 2 * line == rows)
        return true;
    return line > 0 && 100 * cut(line, rows) * rows <= most * line;
}

bool cpu_gemm_has_pairs(const struct cpu_gemm *g)
{
    struct cpu_gemm with = *g;
    int64_t depth;

    with.form = CPU_GEMM_BF16_PAIRS;
    depth = depth_of(&with);
    return g->k <= depth || (depth % 2 == 0 && (g->k_line <= depth || g->k_line % 2 == 0));
}

enum cpu_gemm_form cpu_gemm_form(const struct cpu_gemm *g, const struct cpu_loops *loops)
{
    return loops->micro_of_bf16 && g->m <= FEW_ROWS ? CPU_GEMM_BF16 : CPU_GEMM_FLOATS;
}

enum cpu_gemm_form cpu_gemm_half_form(const struct cpu_gemm *g, const struct cpu_loops *loops,
                                      uint32_t dtype)
{
    bool is_f16 = dtype == FERRY_F16;

    if (g->m > FEW_ROWS || !(is_f16 ? loops->micro_of_f16 : loops->micro_of_bf16))
        return CPU_GEMM_FLOATS;
    return is_f16 ? CPU_GEMM_F16 : CPU_GEMM_BF16;
}

/*
 * The columns that the busiest of the threads gets if tasks have `block` panels each: the caller
 * takes tasks from the beginning, the others from the end.
 */
static int64_t busiest(const struct cpu_gemm *g, int64_t block)
{
    int64_t load[WORKERS_MOST_THREADS] = { 0 }, first = 0, end = cut(g->panels, block), most = 0;

    while (first < end) {
        int64_t least_busy = 0, task;

        for (int64_t i = 1; i < g->slots; i++)
            least_busy = load[i] < load[least_busy] ? i : least_busy;
        task = least_busy == 0 ? first++ : --end;
        load[least_busy] += TASK_COLUMNS + least(g->n - task * block * g->panel, block * g->panel);
        most = load[least_busy] > most ? load[least_busy] : most;
    }
    return most;
}

/*
 * Chooses the number of panels of a task, at most the current number, with which all threads finish
 * at about the same time.
 */
static void balance_panels(struct cpu_gemm *g)
{
    int64_t best = g->panel_block, cost = busiest(g, best);

    for (int64_t block = best - 1; block > 0; block--) {
        int64_t other = busiest(g, block);

        if (other < cost) {
            best = block;
            cost = other;
        }
    }
    g->panel_block = best;
    g->panel_blocks = cut(g->panels, best);
}

static void cut_tasks(struct cpu_gemm *g, const struct cpu_loops *loops, int64_t wanted)
{
    int64_t panels = MOST_PANELS / (g->depth * g->panel), rows, tasks;

    g->panel_blocks = cut(g->panels, panels > 4 ? panels : 4);
    g->panel_block = cut(g->panels, g->panel_blocks);
    rows = MOST_SUMS / (g->panel_block * g->panel) / loops->rows * loops->rows;
    rows = rows < loops->rows ? loops->rows : least(rows, 16 * loops->rows);
    g->row_blocks = cut(g->m, rows);
    while ((tasks = g->batches * g->row_blocks * g->panel_blocks) < wanted) {
        bool by_panels = g->n * g->k >= LEAST_SHARED && g->panel_block >= 4;

        if (by_panels && tasks >= g->slots && g->panel_block * g->panel < 2 * FEW_COLUMNS)
            break;
        if (!by_panels && cut(g->m, g->row_blocks) >= 2 * loops->rows)
            g->row_blocks *= 2;
        else if (g->panel_block >= 2)
            g->panel_block = (g->panel_block + 1) / 2;
        else
            break;
        g->panel_blocks = cut(g->panels, g->panel_block);
    }
    if (g->is_in_place && g->slots > 1 && g->row_blocks == 1 && g->batches == 1)
        balance_panels(g);
    g->row_unit = 2 * cut(g->m, g->row_blocks) >= g->m_line && g->m_line ? g->m_line : 1;
    g->row_blocks = least(g->row_blocks, cut(g->m, g->row_unit));
    /* an equal number of tasks for each thread */
    while (g->batches * g->row_blocks * g->panel_blocks % g->slots &&
           g->row_blocks < cut(g->m, g->row_unit))
        g->row_blocks++;
    g->row_block = cut(cut(g->m, g->row_unit), g->row_blocks) * g->row_unit;
}

void cpu_gemm_plan(struct cpu_gemm *g, const struct cpu_loops *loops, unsigned threads)
{
    bool is_small = g->batches * g->m * g->n * g->k < WORKERS_FEW_PRODUCTS &&
                    g->batches * g->n * g->k < SMALL_PANELS;

    g->slots = is_small ? 1 : threads;
    g->panel = 2 * loops->lanes;
    g->panels = cut(g->n, g->panel);
    g->depth = depth_of(g);
    if (!fills_tiles(g, loops->rows))
        g->m_line = 0;
    if (g->m == 0 || g->n == 0)
        return;
    cut_tasks(g, loops, g->slots > 1 ? 4 * (int64_t)g->slots : 1);
    g->a_row = (g->depth + 15) / 16 * 16 + 16;
    g->brought = g->brought && g->m_line ? g->brought : 1;
    g->a_floats = g->brought * least(g->m, loops->rows) * g->a_row;
    if (g->form == CPU_GEMM_BF16_PAIRS)
        g->a_floats += g->a_floats / 2;
    g->sums_row = g->panel_block * g->panel;
    g->slot_floats = g->a_floats + (g->depth < g->k ? g->row_block : loops->rows) * g->sums_row;
    g->slot_floats = (g->slot_floats + 15) / 16 * 16;
}

uint64_t cpu_gemm_workspace(const struct cpu_gemm *g)
{
    return (uint64_t)g->slot_floats * g->slots * sizeof(float);
}

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
 * Whether the micro-kernel may process several tiles per call: a panel of b is then read from the
 * first-level cache by all tiles but one.
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
    bool tells = g->k <= SHORT_SUMS && g->m_line > 0 && !task->run->brings_windows;
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

static void do_task(void *arg, int64_t number, unsigned slot)
{
    const struct cpu_gemm_run *r = arg;
    const struct cpu_gemm *g = r->plan;
    int64_t block = number % g->row_blocks, rest = number / g->row_blocks;
    struct task task = { .run = r,
                         .batch = rest / g->panel_blocks,
                         .first = begin_of(g, block),
                         .panel = rest % g->panel_blocks * g->panel_block,
                         .a = r->scratch + (int64_t)slot * g->slot_floats };

    task.sums = task.a + g->a_floats;
    task.b = r->b + task.batch * r->b_batch;
    task.bias = r->store.bias ? r->store.bias + task.batch * r->step_batch : NULL;
    task.store = r->store;
    task.store.slopes = r->store.slopes ? r->store.slopes + task.batch * r->step_batch : NULL;
    task.rows = begin_of(g, block + 1) - task.first;
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
