/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer_run.h"

#include <stdlib.h>
#include <string.h>

/*
 * CONVOLUTION and INNER_PRODUCT of bytes: rows of a are patches of x, or pixels of x in place;
 * panels of b have the weights of some outputs. A task has some rows, which it gathers for all of
 * its panels. A sum is complete before it is scaled and rounded, so each element of y comes from
 * one exact sum.
 */

/*
 * The maximum bytes of a task's rows, which stay in the second-level cache; and the maximum number
 * of rows.
 */
#define MOST_BYTES (128 * 1024)
#define MOST_ROWS  448
/* As WORKERS_FEW_PRODUCTS, for multiplications that take a quarter of the time. */
#define SMALL_PRODUCT (4 * WORKERS_FEW_PRODUCTS)
/*
 * With fewer channels in a group, as in the first layers of pictures, gathering the bytes takes
 * longer: 1.04 to 4.6 of the time of F32 with 3 channels.
 */
#define LEAST_CHANNELS 8
/* The maximum length of a sum of products of bytes in 32 bits. */
#define MOST_K (INT32_MAX / (255 * 128))

static int64_t cut(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

const struct cpu_integer_loops *cpu_integer_loops_of(const struct cpu_isa *isa)
{
    return isa->set == CPU_BF16      ? cpu_integer_vnni
           : isa->set == CPU_VNNI    ? cpu_integer_vnni
           : isa->set == CPU_AVX512  ? cpu_integer_avx512
           : isa->set == CPU_AVX2    ? cpu_integer_avx2
           : isa->set == CPU_I8MM    ? cpu_integer_i8mm
           : isa->set == CPU_DOTPROD ? cpu_integer_dotprod
                                     : NULL;
}

/* ---- planning ------------------------------------------------------------------------------- */

static void cut_tasks(struct cpu_integer *g, unsigned threads)
{
    int64_t rows = MOST_BYTES / g->a_row / g->loops->rows * g->loops->rows;

    g->slots = g->groups * g->m * g->n * g->k < SMALL_PRODUCT ? 1 : threads;
    rows = rows < g->loops->rows ? g->loops->rows : least(rows, MOST_ROWS);
    g->row_blocks = cut(g->m, rows);
    if (g->slots > 1 && g->row_blocks * g->groups < 4 * g->slots)
        g->row_blocks = least(cut(g->m, g->loops->rows), cut(4 * g->slots, g->groups));
    g->row_block = cut(cut(g->m, g->loops->rows), g->row_blocks) * g->loops->rows;
    g->row_blocks = cut(g->m, g->row_block);
    g->panel_blocks = 1;
    if (g->slots > 1 && g->row_blocks * g->groups < 2 * g->slots)
        g->panel_blocks = least(g->panels, cut(4 * g->slots, g->row_blocks * g->groups));
    g->panel_block = cut(g->panels, g->panel_blocks);
    g->panel_blocks = cut(g->panels, g->panel_block);
}

/* Divides the product, whose groups, m, n and k are set. */
static void divide(struct cpu_op *p)
{
    struct cpu_integer *g = &p->integer;
    int64_t group = g->loops->group, columns = g->loops->columns;
    int64_t unit = g->loops->unit > 1 ? g->loops->unit : 0;

    g->is_signed = p->op.in[0].dtype == FERRY_I8;
    g->shift = g->loops->shift[g->is_signed];
    g->k_groups = cut(g->k, group);
    g->a_row = cut(g->k_groups * group * (g->loops->is_wide ? 2 : 1), 64) * 64;
    g->panels = cut(g->n, columns);
    g->panel_bytes = columns * ((int64_t)sizeof(int32_t) + g->k_groups * group);
    g->is_in_place = g->is_in_place && g->shift == 0 && !g->loops->is_wide && g->loops->unit == 1 &&
                     g->k % group == 0;
    cut_tasks(g, p->threads);
    /* at least one tile of rows, even if k is so long that MOST_BYTES hold fewer */
    g->slot_bytes = g->is_in_place ? 0 : (g->row_block + unit) * g->a_row;
    p->answer.epilogue = p->op.n_epilogue;
    if (g->loops->is_wide)
        p->answer.cost = FERRY_OP_COST_F32_FASTER;
    cpu_op_pack_or_not(p, 1, (uint64_t)(g->groups * g->panels * g->panel_bytes),
                       (uint64_t)(g->slot_bytes * g->slots));
}

/*
 * Whether the epilogue's operands are supported: vectors by channel without gaps, and at most one
 * added operand.
 */
static bool takes_operands(const struct cpu_op *p)
{
    uint32_t adds = 0;

    if (p->own_in > 2 && p->op.in[2].shape[0] > 1 && p->op.in[2].stride[0] != 1)
        return false;
    for (uint32_t i = 0; i < p->op.n_epilogue; i++) {
        const ferry_op_step *s = &p->op.epilogue[i];

        adds += s->step == FERRY_STEP_ADD;
        if (s->step != FERRY_STEP_UNARY && s->step != FERRY_STEP_ADD &&
            p->op.in[s->operand].shape[0] > 1 && p->op.in[s->operand].stride[0] != 1)
            return false;
    }
    return adds <= 1 && p->integer.k > 0 && p->integer.k <= MOST_K;
}

/*
 * Whether the rows are pixels of x at a constant distance, with contiguous channels and without
 * padding.
 */
static bool is_plain_pixels(const struct cpu_window *w, int64_t *out_row)
{
    int64_t next = w->x[4];

    for (int i = 2; i >= 0; i--) {
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->pad[i] || w->pad_end[i])
            return false;
        if (w->in[i] > 1 && w->x[2 + i] != next)
            return false;
        next *= w->in[i];
    }
    *out_row = w->in[2] > 1 ? w->x[4] : w->in[1] > 1 ? w->x[3] : w->in[0] > 1 ? w->x[2] : w->x[0];
    return w->x[1] == 1 && w->in[2] > 1 && (w->images == 1 || w->x[0] == next);
}

static const struct cpu_op_kind product, depthwise;

int cpu_integer_convolution_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_integer *g = &p->integer;
    int64_t group = p->op.params.window.group;

    if (!g->loops || p->op.params.window.transposed)
        return FERRY_EUNSUPPORTED;
    g->groups = group;
    g->m = w->images * w->out[0] * w->out[1] * w->out[2];
    g->n = w->outputs / group;
    g->k = w->taps * (w->channels / group);
    g->is_in_place = is_plain_pixels(w, &g->x_row);
    if (cpu_integer_depthwise_can(p)) {
        g->groups = 1;
        g->n = w->outputs;
    }
    if (!takes_operands(p) || (g->groups > 1 && g->n < g->loops->columns / 2))
        return FERRY_EUNSUPPORTED;
    if (g->groups < group) {
        p->kind = &depthwise;
        cpu_integer_depthwise_plan(p);
    } else {
        p->kind = &product;
        divide(p);
        if (w->channels / group < LEAST_CHANNELS)
            p->answer.cost = FERRY_OP_COST_F32_FASTER;
    }
    cpu_op_prefer_channels_last(p);
    return 0;
}

/* Plans an inner product. The rows of x have no gaps; `turn` is the order of their elements. */
int cpu_integer_inner_product_plan(struct cpu_op *p)
{
    const ferry_operand *x = &p->op.in[0], *y = &p->op.out[0];
    struct cpu_integer *g = &p->integer;
    const struct cpu_walk *row = &p->plan.matrix.walk;

    if (!g->loops)
        return FERRY_EUNSUPPORTED;
    g->is_row = true;
    g->groups = 1;
    g->m = y->shape[0];
    g->n = y->shape[1];
    g->k = p->op.in[1].shape[1];
    g->is_in_place = true;
    g->x_row = x->stride[0];
    if (!takes_operands(p) ||
        !(p->plan.matrix.turn.rank || g->k == 1 || (row->rank == 1 && walk_step(row, 0) == 1)))
        return FERRY_EUNSUPPORTED;
    p->kind = &product;
    divide(p);
    return 0;
}

static void product_prepare(struct cpu_device *d, const struct cpu_op *p, const void *const *in,
                            void *packed)
{
    (void)d;
    cpu_integer_pack(p, in[1], packed);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Gathers `n` channels from x on. */
static char *bring_channels(const struct cpu_op *p, const char *x, int64_t step, int64_t n,
                            char *to)
{
    const struct cpu_integer *g = &p->integer;
    int64_t size = g->loops->is_wide ? 2 : 1;

    if (step == 1 && size == 1 && g->shift == 0) {
        memcpy(to, x, (size_t)n);
        return to + n;
    }
    if (step == 1 || n == 1) {
        g->loops->bring(n, x, g->is_signed, to);
        return to + n * size;
    }
    for (int64_t i = 0; i < n; i++, to += size)
        g->loops->bring(1, x + i * step, g->is_signed, to);
    return to;
}

/* Writes `n` elements of padding in the form of a. */
static char *bring_zeros(const struct cpu_integer *g, int64_t n, char *to)
{
    int64_t bytes = n * (g->loops->is_wide ? 2 : 1);

    memset(to, g->shift & 255, (size_t)bytes);
    return to + bytes;
}

/* Gathers a line of taps at x; the first tap is at position `left` of the line. */
static char *bring_line(const struct cpu_op *p, const char *x, int64_t left, int64_t channels,
                        char *to)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t step = w->dilation[2], taps = w->kernel[2], first = 0, end;

    if (left < 0)
        first = least((-left + step - 1) / step, taps);
    end = left < w->in[2] ? least((w->in[2] - left + step - 1) / step, taps) : first;
    end = end < first ? first : end;
    if (first)
        to = bring_zeros(&p->integer, first * channels, to);
    if (step == 1 && w->x[4] == channels && (w->x[1] == 1 || channels == 1))
        to = bring_channels(p, x + (left + first) * w->x[4], 1, (end - first) * channels, to);
    else
        for (int64_t i = first; i < end; i++)
            to = bring_channels(p, x + (left + i * step) * w->x[4], w->x[1], channels, to);
    return end < taps ? bring_zeros(&p->integer, (taps - end) * channels, to) : to;
}

static void bring_patch(const struct cpu_integer_run *r, int64_t group,
                        const struct cpu_integer_pixel *pixel, char *to)
{
    const struct cpu_op *p = r->op;
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_integer *g = &p->integer;
    const struct cpu_integer_pixel at = *pixel;
    int64_t channels = w->channels / g->groups, line = w->kernel[2] * channels;
    const char *x = (const char *)r->args->in[0] + at.image * w->x[0] + group * channels * w->x[1];

    for (int64_t i = 0; i < w->kernel[0]; i++)
        for (int64_t j = 0; j < w->kernel[1]; j++) {
            int64_t deep = at.at[0] * w->stride[0] - w->pad[0] + i * w->dilation[0];
            int64_t high = at.at[1] * w->stride[1] - w->pad[1] + j * w->dilation[1];

            if (deep < 0 || deep >= w->in[0] || high < 0 || high >= w->in[1])
                to = bring_zeros(g, line, to);
            else
                to = bring_line(p, x + deep * w->x[2] + high * w->x[3],
                                at.at[2] * w->stride[2] - w->pad[2], channels, to);
        }
    bring_zeros(g, g->k_groups * g->loops->group - g->k, to);
}

/* Gathers rows from `first` on, a_row apart. */
static void bring_rows(const struct cpu_integer_run *r, int64_t group, int64_t first, int64_t rows,
                       char *to)
{
    const struct cpu_op *p = r->op;
    const struct cpu_integer *g = &p->integer;
    const char *x = r->args->in[0];
    struct cpu_integer_pixel pixel;

    if (!g->is_row) {
        pixel = cpu_integer_pixel_of(&p->plan.convolution.window, first);
        for (int64_t i = 0; i < rows;
             i++, cpu_integer_next_pixel(&p->plan.convolution.window, &pixel))
            bring_patch(r, group, &pixel, to + i * g->a_row);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        bring_zeros(g, g->k_groups * g->loops->group - g->k,
                    bring_channels(p, x + (first + i) * g->x_row, 1, g->k, to + i * g->a_row));
}

/* Gathers rows in the form of a: units of rows are gathered at the end of the slot. */
static void bring_units(const struct cpu_integer_run *r, int64_t group, int64_t first, int64_t rows,
                        char *to)
{
    const struct cpu_integer *g = &r->op->integer;
    int64_t unit = g->loops->unit;
    char *apart = to + g->row_block * g->a_row;

    if (unit == 1) {
        bring_rows(r, group, first, rows, to);
        return;
    }
    for (int64_t i = 0; i < rows; i += unit) {
        bring_rows(r, group, first + i, least(unit, rows - i), apart);
        g->loops->mix(g->a_row, apart, to + i * g->a_row);
    }
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* The run for one group: bias, scale and the other vectors begin at the group's columns. */
static struct cpu_integer_run of_group(const struct cpu_integer_run *r, int64_t group,
                                       struct cpu_op_args *args)
{
    const struct cpu_op *p = r->op;
    int64_t column = group * p->integer.n;
    struct cpu_integer_run own = *r;

    if (column == 0)
        return own;
    *args = *r->args;
    own.args = args;
    for (uint32_t i = 2; i < p->op.n_in; i++)
        if (p->op.in[i].rank == 1 && p->op.in[i].shape[0] > 1)
            args->in[i] = (const float *)r->args->in[i] + column;
    own.store.bias = r->store.bias ? r->store.bias + column : NULL;
    own.store.scale = r->store.scale ? r->store.scale + column : NULL;
    return own;
}

static void do_panel(const struct cpu_integer_run *r, const struct cpu_integer_place *place,
                     int64_t rows, int64_t column, const char *panel, const char *a, int64_t a_row)
{
    const struct cpu_integer *g = &r->op->integer;
    int64_t tiles = cut(rows, g->loops->rows), columns = least(g->loops->columns, g->n - column);
    int32_t sums[INTEGER_MOST_ROWS * INTEGER_MOST_COLUMNS] __attribute__((aligned(64)));
    struct cpu_integer_tile tile = { .a_row = a_row,
                                     .groups = g->k_groups,
                                     .first = (const int32_t *)(const void *)panel,
                                     .sums = sums };

    tile.b = (const int8_t *)(tile.first + g->loops->columns);
    for (int64_t i = 0, first = 0; i < tiles; i++) {
        int64_t unit = g->loops->unit, share = cut(cut(rows - first, tiles - i), unit) * unit;
        int64_t some = least(share, rows - first);

        tile.a = a + first * a_row;
        g->loops->micro[some](&tile);
        cpu_integer_put(r, column, columns, some, sums, place + first);
        first += some;
    }
}

static void do_task(void *arg, int64_t number, unsigned slot)
{
    const struct cpu_integer_run *all = arg;
    const struct cpu_integer *g = &all->op->integer;
    int64_t block = number % g->row_blocks, rest = number / g->row_blocks;
    int64_t group = rest / g->panel_blocks, panel = rest % g->panel_blocks * g->panel_block;
    int64_t first = block * g->row_block, rows = least(g->row_block, g->m - first);
    int64_t end = least(panel + g->panel_block, g->panels), a_row = g->a_row;
    struct cpu_integer_place place[MOST_ROWS];
    struct cpu_op_args args;
    struct cpu_integer_run r = of_group(all, group, &args);
    const char *a = all->rows + slot * g->slot_bytes;

    if (g->is_in_place) {
        a_row = g->x_row;
        a = (const char *)r.args->in[0] + first * a_row + group * g->k;
    } else {
        bring_units(&r, group, first, rows, all->rows + slot * g->slot_bytes);
    }
    cpu_integer_find_places(&r, group, first, rows, place);
    for (; panel < end; panel++)
        do_panel(&r, place, rows, panel * g->loops->columns,
                 r.packed + (group * g->panels + panel) * g->panel_bytes, a, a_row);
}

static void product_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    const struct cpu_integer *g = &p->integer;
    int64_t tasks = g->groups * g->row_blocks * g->panel_blocks;
    struct cpu_integer_run r = {
        .op = p, .args = args, .packed = args->packed, .rows = args->workspace
    };

    cpu_integer_find_store(&r);
    if (!r.packed) {
        char *packed = r.rows + g->slot_bytes * g->slots;

        cpu_integer_pack(p, args->in[1], packed);
        r.packed = packed;
    }
    if (g->slots > 1)
        workers_tasks(d->workers, tasks, do_task, &r);
    else
        for (int64_t i = 0; i < tasks; i++)
            do_task(&r, i, 0);
}

static const struct cpu_op_kind product = {
    .prepare = product_prepare,
    .run = product_run,
};

static void depthwise_prepare(struct cpu_device *d, const struct cpu_op *p, const void *const *in,
                              void *packed)
{
    (void)d;
    cpu_integer_depthwise_pack(p, in[1], packed);
}

static const struct cpu_op_kind depthwise = {
    .prepare = depthwise_prepare,
    .run = cpu_integer_depthwise_run,
};
