/* SPDX-License-Identifier: BSD-2-Clause */
/* The division of products: gemm.h. */
#include "gemm.h"

/* The maximum floats of a task's panels if b is read only once. */
#define SMALL_PANELS (128 * 1024)
/*
 * The maximum floats of a task's sums and of its panels of b, so that they stay in the second-level
 * cache; a task has at least four panels.
 */
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
 * memory.
 */
#define MOST_WHOLE (4 * 1024)
/* The maximum k of a larger a whose depth is one block, so that sums are stored once. */
#define MOST_WHOLE_K 2048
/* The maximum floats of such an a whose rows are gathered. */
#define MOST_GATHERED (128 * 1024)
/*
 * The number of rows up to which a product is limited by reading the weights of b, so that weights
 * of BF16 or F16 take less time.
 */
#define FEW_ROWS 64

/* Whether the depth is one block, if a line of a is a whole row, or rows have no lines. */
static bool is_whole(const struct cpu_gemm *g)
{
    int64_t floats = g->m * g->k;

    return floats <= MOST_WHOLE ||
           (g->k <= MOST_WHOLE_K && (g->is_in_place || floats <= MOST_GATHERED));
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
    int64_t line = g->m_line, most = g->is_short ? 150 : 115;

    if (!g->is_short && g->k_line < g->k && 2 * line == rows)
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
    g->row_parts = g->n * g->k < LEAST_SHARED && g->row_blocks % g->slots == 0 ? g->slots : 1;
}

void cpu_gemm_plan(struct cpu_gemm *g, const struct cpu_loops *loops, unsigned threads)
{
    bool is_small = g->batches * g->m * g->n * g->k < WORKERS_FEW_PRODUCTS &&
                    g->batches * g->n * g->k < SMALL_PANELS;

    g->slots = is_small ? 1 : threads;
    g->panel = 2 * loops->lanes;
    g->panels = cut(g->n, g->panel);
    g->depth = depth_of(g);
    g->is_short = g->k <= SHORT_SUMS;
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
