/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer_run.h"

#include <ferry/op_types.h>
#include <stdlib.h>
#include <string.h>

/*
 * CONVOLUTION and INNER_PRODUCT of bytes, and of F32 rounded to BF16: rows of a are patches of x,
 * in place or copied (integer_rows.c); panels of b have the weights of some outputs. A task has
 * some lines of rows, which it copies for all of its panels. A sum is complete before it is scaled
 * and rounded, so each element of y comes from one sum, exact for bytes, in the order of k.
 */

/* The number of pixels of a line of y below which its tiles have too few rows. */
#define LEAST_LINE 6
/*
 * With fewer channels in a group, gathering the bytes row by row takes longer: 1.04 to 4.6 of the
 * time of F32 with 3 channels.
 */
#define LEAST_CHANNELS 8
/* The maximum length of a sum of products of bytes in 32 bits. */
#define MOST_K (INT32_MAX / (255 * 128))

const struct cpu_integer_loops *cpu_integer_loops_of(const struct cpu_isa *isa)
{
    if (isa->set == CPU_AVXVNNI && cpu_integer_avxvnni)
        return cpu_integer_avxvnni;
    return isa->set == CPU_AMX       ? cpu_integer_vnni
           : isa->set == CPU_BF16    ? cpu_integer_vnni
           : isa->set == CPU_VNNI    ? cpu_integer_vnni
           : isa->set == CPU_AVX512  ? cpu_integer_avx512
           : isa->set == CPU_AVXVNNI ? cpu_integer_avx2
           : isa->set == CPU_AVX2    ? cpu_integer_avx2
           : isa->set == CPU_I8MM    ? cpu_integer_i8mm
           : isa->set == CPU_DOTPROD ? cpu_integer_dotprod
                                     : NULL;
}

/* ---- planning ------------------------------------------------------------------------------- */

/*
 * The groups of a step of AMX for spans of `groups`, which are filled up with zeros to a multiple:
 * the registers have one shape for all steps. A step that divides the span is preferred, and the
 * longest one.
 */
static int64_t step_of(int64_t groups)
{
    int64_t steps = cut(groups, CPU_AMX_STEP);

    for (int64_t some = steps; some <= cut(groups, CPU_AMX_STEP / 2); some++)
        if (groups % some == 0)
            return groups / some;
    return cut(groups, steps);
}

/* Whether spans of `elements` consist of whole groups, and of whole steps of AMX. */
static bool is_whole(const struct cpu_integer *g, int64_t elements)
{
    int64_t group = g->loops->group;

    return elements % group == 0 && (!g->amx || elements / group % step_of(elements / group) == 0);
}

/* Sets the groups of a span, and the members for AMX; its shape is set. */
static void find_groups(struct cpu_integer *g)
{
    g->k_groups = cut(g->span, g->loops->group);
    if (g->reads_planes)
        g->k_groups = g->span / g->pixel++ * 4 / g->loops->group;
    g->rows = g->amx ? CPU_AMX_ROWS : g->loops->rows;
    if (!g->amx)
        return;
    g->step = step_of(g->k_groups);
    g->k_groups = cut(g->k_groups, g->step) * g->step;
}

/* Divides the product, whose groups, m, n, k, spans and source are set. */
static void divide(struct cpu_op *p, bool is_even)
{
    struct cpu_integer *g = &p->integer;
    int64_t group = g->loops->group, columns = g->loops->columns;

    int64_t size = g->loops->is_bf16 ? 2 : 1; /* the bytes of a weight */

    g->is_signed = p->op.in[0].dtype == FERRY_I8;
    g->shift = g->amx ? 0 : g->loops->shift[g->is_signed];
    g->span = g->k / g->spans;
    g->pixel = g->is_row ? g->k : p->plan.convolution.window.channels / g->groups;
    find_groups(g);
    g->panels = cut(g->n, columns);
    g->panel_bytes = columns * ((int64_t)sizeof(int32_t) + g->spans * g->k_groups * group * size);
    cpu_integer_find_rows(p, is_even, p->threads);
    p->answer.epilogue = p->op.n_epilogue;
    if (g->loops->is_wide && !g->loops->is_bf16)
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

/* Whether the loops read the bytes of x, or BF16, where they are. */
static bool reads_in_place(const struct cpu_op *p)
{
    const struct cpu_integer_loops *loops = p->integer.loops;

    return (p->integer.amx || loops->shift[p->op.in[0].dtype == FERRY_I8] == 0) &&
           loops->unit == 1 &&
           (loops->is_bf16 ? p->op.in[0].dtype == FERRY_BF16 && !p->integer.amx : !loops->is_wide);
}

/* Whether a window reads no padding, and its spans are contiguous whole groups. */
static bool has_spans_in_place(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t channels = w->channels / p->integer.groups;

    for (int i = 0; i < 3; i++)
        if (w->pad[i] ||
            (w->out[i] - 1) * w->stride[i] + w->dilation[i] * (w->kernel[i] - 1) + 1 > w->in[i])
            return false;
    return w->kernel[0] == 1 && (w->x[1] == 1 || channels == 1) &&
           (w->kernel[2] == 1 || (w->x[4] == channels && w->dilation[2] == 1)) &&
           is_whole(&p->integer, w->kernel[2] * channels);
}

/*
 * Whether lines of x can be copied: rows overlap, and a line is neither short, so that tiles would
 * have few rows, nor long. It does not depend on the number of threads.
 */
static bool can_copy_lines(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_integer *g = &p->integer;
    int64_t channels = w->channels / g->groups * (g->loops->is_wide ? 2 : 1); /* in bytes */
    int64_t line = ((w->out[2] - 1) * w->stride[2] + w->kernel[2]) * channels;

    return g->loops->unit == 1 && w->in[0] == 1 && w->out[0] == 1 && w->kernel[0] == 1 &&
           w->pad[0] == 0 && w->dilation[2] == 1 && w->stride[2] <= w->kernel[2] &&
           w->stride[1] <= cpu_integer_copied_lines(w) && w->out[2] >= LEAST_LINE && line > 0 &&
           cpu_integer_copied_lines(w) <= CPU_INTEGER_ROW_BYTES / line;
}

/* Whether lines, or panels, are enough for equal loads of all threads. */
static bool has_tasks(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_integer *g = &p->integer;
    int64_t lines = w->images * w->out[1], panels = cut(g->n, g->loops->columns);

    return g->groups * (lines > panels ? lines : panels) >= 2 * p->threads;
}

/* Whether all pixels of y, and of the added operand, are at equal distances. */
static bool is_even(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t strides[5];

    if (!cpu_integer_is_even(w, w->y))
        return false;
    for (uint32_t i = 0; i < p->op.n_epilogue; i++) {
        if (p->op.epilogue[i].step != FERRY_STEP_ADD)
            continue;
        cpu_integer_strides_of(p, &p->op.in[p->op.epilogue[i].operand], strides);
        if (!cpu_integer_is_even(w, strides))
            return false;
    }
    return true;
}

/*
 * Whether the spans of a window are whole groups: a number after a span of BF16 may be infinite, so
 * that zeros do not cancel it.
 */
static bool has_whole_spans(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;

    return is_whole(&p->integer, w->kernel[2] * (w->channels / p->integer.groups));
}

/* Whether x is a row-major image of three channels whose lines can be copied. */
static bool can_read_planes(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;

    return w->channels == 3 && p->op.in[0].dtype == FERRY_F32 && p->integer.groups == 1 &&
           w->x[1] > 1 && w->x[4] == 1 && is_whole(&p->integer, 4 * w->kernel[2]) &&
           can_copy_lines(p);
}

/* Chooses the source of the rows; returns whether all of them are at equal distances. */
static bool choose_source(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_integer *g = &p->integer;
    int64_t pixels[5];

    g->spans = 1;
    g->source = CPU_INTEGER_GATHERED;
    if (reads_in_place(p) && has_spans_in_place(p)) {
        for (int i = 0; i < 3; i++)
            pixels[2 + i] = w->stride[i] * w->x[2 + i];
        pixels[0] = w->x[0];
        g->source = CPU_INTEGER_IN_PLACE;
        g->a_row = cpu_integer_next_of(w, pixels) * g->x_size;
        g->spans = w->kernel[1];
        g->a_span = w->dilation[1] * w->x[3] * g->x_size;
        return is_even(p) && cpu_integer_is_even(w, pixels);
    }
    g->reads_planes = g->loops->is_bf16 && can_read_planes(p);
    if (g->reads_planes ||
        (can_copy_lines(p) && has_tasks(p) && (!g->loops->is_bf16 || has_whole_spans(p)))) {
        g->source = CPU_INTEGER_COPIED;
        g->spans = w->kernel[1];
        return false;
    }
    return is_even(p);
}

static const struct cpu_op_kind product, depthwise;

/* Sets the shape of the product of a convolution. */
static void find_shape(const struct cpu_op *p, struct cpu_integer *g)
{
    const struct cpu_window *w = &p->plan.convolution.window;

    g->x_size = cpu_integer_size(p->op.in[0].dtype);
    g->groups = p->op.params.window.group;
    g->m = w->images * w->out[0] * w->out[1] * w->out[2];
    g->n = w->outputs / g->groups;
    g->k = w->taps * (w->channels / g->groups);
}

int cpu_integer_convolution_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_integer *g = &p->integer;
    int64_t group = p->op.params.window.group;

    if (!g->loops || p->op.params.window.transposed)
        return FERRY_EUNSUPPORTED;
    find_shape(p, g);
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
        divide(p, choose_source(p));
        cpu_integer_winograd_plan(p);
        if (w->channels / group < LEAST_CHANNELS && g->source == CPU_INTEGER_GATHERED)
            p->answer.cost = FERRY_OP_COST_F32_FASTER;
    }
    cpu_op_prefer_channels_last(p);
    return 0;
}

/*
 * Sets the shape of an inner product. Whether the rows of x have no gaps; `turn` is the order of
 * their elements.
 */
static bool find_matrix(const struct cpu_op *p, struct cpu_integer *g)
{
    const struct cpu_walk *row = &p->plan.matrix.walk;

    g->is_row = true;
    g->groups = 1;
    g->m = p->op.out[0].shape[0];
    g->n = p->op.out[0].shape[1];
    g->k = p->op.in[1].shape[1];
    g->x_size = cpu_integer_size(p->op.in[0].dtype);
    g->x_row = p->op.in[0].stride[0];
    g->a_row = g->x_row * g->x_size;
    g->spans = 1;
    return p->plan.matrix.turn.rank || g->k == 1 || (row->rank == 1 && walk_step(row, 0) == 1);
}

int cpu_integer_inner_product_plan(struct cpu_op *p)
{
    struct cpu_integer *g = &p->integer;

    if (!g->loops || !find_matrix(p, g) || !takes_operands(p))
        return FERRY_EUNSUPPORTED;
    p->kind = &product;
    if (reads_in_place(p) && is_whole(g, g->k))
        g->source = CPU_INTEGER_IN_PLACE;
    else
        g->source = CPU_INTEGER_GATHERED;
    divide(p, true);
    return 0;
}

/* ---- BF16 ------------------------------------------------------------------------------------ */

static bool can_be_bf16(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    bool is_row = p->op.kind == FERRY_OP_INNER_PRODUCT;
    struct cpu_op own;

    if (!(p->pairs || p->integer.amx) || !cpu_integer_bf16 || !(p->op.math & FERRY_MATH_BF16) ||
        p->is_empty || p->op.pass != FERRY_PASS_FORWARD || !(p->op.constants & 2) ||
        cpu_epilogue_taken(p, true) < p->op.n_epilogue || p->op.out[0].stride[1] > 1)
        return false;
    own = *p;
    own.integer.loops = cpu_integer_bf16;
    if (is_row)
        return find_matrix(&own, &own.integer) && takes_operands(&own);
    find_shape(&own, &own.integer);
    return !p->plan.convolution.is_transposed && (w->x[1] <= 1 || can_read_planes(&own)) &&
           takes_operands(&own) &&
           (own.integer.groups == 1 || own.integer.n >= cpu_integer_bf16->columns / 2);
}

bool cpu_integer_bf16_plan(struct cpu_op *p)
{
    struct cpu_integer *g = &p->integer;
    bool is_row = p->op.kind == FERRY_OP_INNER_PRODUCT;

    if (!can_be_bf16(p) || (!is_row && !cpu_winograd_gains_by_bf16(p)))
        return false;
    p->kind = &product;
    p->answer.math = FERRY_MATH_BF16;
    g->loops = cpu_integer_bf16;
    if (is_row) {
        find_matrix(p, g);
        g->source = reads_in_place(p) && g->k % g->loops->group == 0 ? CPU_INTEGER_IN_PLACE
                                                                     : CPU_INTEGER_GATHERED;
        divide(p, true);
    } else {
        find_shape(p, g);
        divide(p, choose_source(p));
    }
    if (g->reads_planes)
        memset(p->answer.order, 0, sizeof(p->answer.order));
    return true;
}

/* ---- packing --------------------------------------------------------------------------------- */

static void product_prepare(struct cpu_device *d, const struct cpu_op *p, const void *const *in,
                            void *packed)
{
    cpu_integer_pack(d, p, in[1], packed);
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

/* Computes `rows` rows of a panel. */
static void do_tile(const struct cpu_integer *g, struct cpu_integer_tile *tile, int64_t rows,
                    int64_t columns)
{
    if (!g->amx)
        g->loops->micro[rows](tile);
    else if (g->loops->is_bf16)
        g->amx->bf16(tile, rows, columns);
    else if (g->is_signed)
        g->amx->i8(tile, rows, columns);
    else
        g->amx->u8(tile, rows, columns);
}

/* Computes a line of a panel. */
static void do_line(const struct cpu_integer_run *r, struct cpu_integer_tile *tile, int64_t rows)
{
    const struct cpu_integer *g = &r->op->integer;
    int64_t tiles = cut(rows, g->rows), unit = g->loops->unit;
    int64_t columns = least(g->loops->columns, g->n - tile->column);

    for (int64_t i = 0; i < tiles; i++) {
        int64_t some = least(cut(cut(rows, tiles - i), unit) * unit, rows);

        do_tile(g, tile, some, columns);
        if (!tile->store)
            cpu_integer_put(r, tile->column, columns, some, tile->sums, &tile->place);
        tile->a += some * tile->a_row;
        tile->place.y += some * tile->place.y_next;
        if (r->add)
            tile->place.add += some * tile->place.add_next;
        rows -= some;
    }
}

/* The address of the rows of a line, where lines from `first` on have been brought to `slot`. */
static const char *line_at(const struct cpu_integer_run *r, int64_t group, int64_t first,
                           int64_t line, const char *slot)
{
    const struct cpu_op *p = r->op;
    const struct cpu_integer *g = &p->integer;
    const struct cpu_window *w = &p->plan.convolution.window;
    const char *x = r->args->in[0];
    struct cpu_integer_pixel at;
    int64_t from;

    if (g->source == CPU_INTEGER_GATHERED)
        return slot + (line - first) * g->line_bytes;
    if (g->source == CPU_INTEGER_COPIED)
        return slot + (cpu_integer_copied_line(w, line) - cpu_integer_copied_line(w, first)) *
                          g->line_bytes;
    if (g->is_row)
        return x + cpu_integer_first_row(g, line) * g->a_row;
    at = cpu_integer_pixel_of(w, cpu_integer_first_row(g, line));
    from = at.image * w->x[0] + group * (w->channels / g->groups) * w->x[1];
    for (int i = 0; i < 3; i++)
        from += at.at[i] * w->stride[i] * w->x[2 + i];
    return x + from * g->x_size;
}

/* Computes a line of rows of a panel. */
static void do_panel(const struct cpu_integer_run *r, struct cpu_integer_tile *tile, int64_t group,
                     int64_t panel, int64_t line)
{
    const struct cpu_integer *g = &r->op->integer;
    const char *packed = r->packed + (group * g->panels + panel) * g->panel_bytes;
    const char *a = tile->a;
    const struct cpu_integer_place place = tile->place;

    tile->column = panel * g->loops->columns;
    tile->first = (const int32_t *)(const void *)packed;
    tile->b = (const int8_t *)(tile->first + g->loops->columns);
    tile->store = cpu_integer_takes_store(r, g->n - tile->column) ? &r->store : NULL;
    do_line(r, tile, cpu_integer_rows(g, line));
    tile->a = a;
    tile->place = place;
}

static void do_task(void *arg, int64_t number, unsigned slot)
{
    const struct cpu_integer_run *all = arg;
    const struct cpu_integer *g = &all->op->integer;
    int64_t block = number % g->line_blocks, rest = number / g->line_blocks;
    int64_t group = rest / g->panel_blocks, panel = rest % g->panel_blocks * g->panel_block;
    int64_t first = block * g->line_block, end = least(first + g->line_block, g->lines);
    int64_t panels = least(panel + g->panel_block, g->panels);
    int64_t step = g->is_by_line ? g->panel_block : 1;
    int32_t sums[CPU_AMX_ROWS * INTEGER_MOST_COLUMNS] __attribute__((aligned(64)));
    struct cpu_op_args args;
    struct cpu_integer_run r = of_group(all, group, &args);
    char *rows = all->rows + slot * g->slot_bytes;
    struct cpu_integer_tile tile = { .a_row = g->a_row,
                                     .a_span = g->a_span,
                                     .spans = g->spans,
                                     .groups = g->k_groups,
                                     .step = g->step,
                                     .sums = sums };

    if (g->source == CPU_INTEGER_COPIED)
        cpu_integer_copy(&r, group, first, end - first, rows);
    else if (g->source == CPU_INTEGER_GATHERED)
        cpu_integer_gather(&r, group, first, end - first, rows);
    for (; panel < panels; panel += step)
        for (int64_t line = first; line < end; line++) {
            tile.a = line_at(&r, group, first, line, rows);
            tile.place = cpu_integer_place_of(&r, group, cpu_integer_first_row(g, line));
            for (int64_t i = panel; i < least(panel + step, panels); i++)
                do_panel(&r, &tile, group, i, line);
        }
    if (g->amx)
        g->amx->release();
}

static void product_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    const struct cpu_integer *g = &p->integer;
    int64_t tasks = g->groups * g->line_blocks * g->panel_blocks;
    struct cpu_integer_run r = {
        .op = p, .args = args, .packed = args->packed, .rows = args->workspace
    };

    cpu_integer_find_store(&r);
    if (!r.packed) {
        char *packed = r.rows + g->slot_bytes * g->slots;

        cpu_integer_pack(d, p, args->in[1], packed);
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
