/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer_run.h"

/* The division of a product of bytes, or of BF16, into lines of rows and tasks. */

/*
 * The maximum bytes of weights that are read again for each line, from the second-level cache;
 * larger ones are read once for all lines of a task.
 */
#define MOST_WEIGHTS (640 * 1024)
/*
 * The minimum bytes of weights of which each thread reads a part only: its columns of y are in its
 * cache, while the next layer reads whole rows.
 */
#define LEAST_SHARED (2 * 1024 * 1024)
/* As WORKERS_FEW_PRODUCTS, for multiplications that take a quarter, or half, of the time. */
#define SMALL_PRODUCT(is_bf16) ((is_bf16 ? 2 : 4) * WORKERS_FEW_PRODUCTS)

/* The blocks of the slowest thread, in units, if `units` are divided into blocks for `slots`. */
static int64_t load_of(int64_t units, int64_t block, int64_t groups, unsigned slots)
{
    return cut(cut(units, block) * groups, slots) * block;
}

/* The lines of a task, at most `most`: equal loads, and several tasks for each thread. */
static int64_t choose_block(const struct cpu_integer *g, int64_t most)
{
    int64_t chosen = most, load = INT64_MAX;

    for (int64_t block = most; block > 0; block--) {
        int64_t own = load_of(g->lines, block, g->groups, g->slots);

        if (own > load || (own == load && cut(g->lines, block) * g->groups > 4 * g->slots))
            continue;
        chosen = block;
        load = own;
    }
    return chosen;
}

/*
 * Whether tasks share panels, not lines: the weights are larger than the rows, which all tasks
 * bring.
 */
static bool shares_panels(const struct cpu_integer *g, int64_t bytes)
{
    int64_t panels = g->panels * g->groups;

    return panels * g->panel_bytes >= LEAST_SHARED && bytes <= 2 * CPU_INTEGER_ROW_BYTES &&
           2 * bytes < panels * g->panel_bytes && panels >= 2 * g->slots &&
           10 * panels >= 9 * g->slots * load_of(panels, cut(panels, 4 * g->slots), 1, g->slots);
}

/* Divides the lines and panels among tasks; the rows of a line have `bytes` bytes. */
static void cut_tasks(struct cpu_integer *g, int64_t bytes, unsigned threads)
{
    int64_t most = CPU_INTEGER_ROW_BYTES / (bytes + g->line * g->n * g->x_size);

    most = least(most < 1 ? 1 : most, g->lines);
    g->is_by_line = g->panels * g->panel_bytes <= MOST_WEIGHTS;
    g->slots = g->groups * g->m * g->n * g->k < SMALL_PRODUCT(g->loops->is_bf16) ? 1 : threads;
    g->line_block = most < 1 ? 1 : most;
    g->panel_blocks = 1;
    if (g->slots > 1 && !g->is_by_line && shares_panels(g, g->lines * bytes))
        g->line_block = g->lines;
    else if (g->slots > 1)
        g->line_block = choose_block(g, g->line_block);
    g->line_blocks = cut(g->lines, g->line_block);
    if (g->slots > 1 && g->line_blocks * g->groups < 2 * g->slots)
        g->panel_blocks = least(g->panels, cut(4 * g->slots, g->line_blocks * g->groups));
    g->panel_block = cut(g->panels, g->panel_blocks);
    g->panel_blocks = cut(g->panels, g->panel_block);
}

/* The number of lines of x that a task copies. */
static int64_t copied_lines(const struct cpu_window *w, int64_t block)
{
    int64_t step = w->stride[1], reach = cpu_integer_copied_lines(w);
    int64_t images = cut(block - 1, w->out[1]); /* the most images that it begins after its first */

    return (block - 1) * step + reach + images * (reach > step ? reach - step : 0);
}

/*
 * Divides the rows into lines. Where only those of a line of y are at equal distances, gathered
 * rows of a long line become several lines of at most CPU_INTEGER_ROW_BYTES, or of one tile.
 */
static void find_lines(struct cpu_op *p, bool is_even)
{
    struct cpu_integer *g = &p->integer;
    int64_t unit = g->loops->unit, rows = g->rows, most;

    g->stretch = is_even ? g->m : p->plan.convolution.window.out[2];
    most = is_even ? rows : g->stretch;
    if (!is_even && g->source == CPU_INTEGER_GATHERED && most > CPU_INTEGER_ROW_BYTES / g->a_row)
        most = CPU_INTEGER_ROW_BYTES / g->a_row > rows ? CPU_INTEGER_ROW_BYTES / g->a_row
                                                       : least(rows, most);
    g->line = g->m ? cut(g->stretch, cut(g->stretch, most)) : 1;
    g->line = cut(g->line, unit) * unit;
    g->pieces = g->m ? cut(g->stretch, g->line) : 1;
    g->lines = g->m ? g->m / g->stretch * g->pieces : 0;
}

void cpu_integer_find_rows(struct cpu_op *p, bool is_even, unsigned threads)
{
    struct cpu_integer *g = &p->integer;
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t size = g->loops->is_wide ? 2 : 1, unit = g->loops->unit, bytes;

    if (g->source == CPU_INTEGER_GATHERED)
        g->a_row = cut(g->k_groups * g->loops->group * size, 64) * 64;
    find_lines(p, is_even);
    if (g->source == CPU_INTEGER_GATHERED) {
        bytes = g->line_bytes = g->line * g->a_row;
    } else if (g->source == CPU_INTEGER_COPIED) {
        g->line_bytes = ((w->out[2] - 1) * w->stride[2] + w->kernel[2]) * g->pixel * size;
        g->a_row = w->stride[2] * g->pixel * size;
        g->a_span = w->dilation[1] * g->line_bytes;
        bytes = w->stride[1] * g->line_bytes;
    } else {
        bytes = g->line * g->k * g->x_size;
    }
    cut_tasks(g, bytes, threads);
    if (g->source == CPU_INTEGER_GATHERED)
        g->slot_bytes = g->line_block * g->line_bytes + (unit > 1 ? unit * g->a_row : 0);
    else if (g->source == CPU_INTEGER_COPIED)
        g->slot_bytes =
            cut(copied_lines(w, g->line_block) * g->line_bytes + CPU_INTEGER_BEYOND, 64) * 64;
}
