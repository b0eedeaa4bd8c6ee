/* SPDX-License-Identifier: BSD-2-Clause */
#include "lines.h"
#include "rows.h"
#include "winograd_planes.h"

/*
 * CONVOLUTION of row-major images, whose pixels of a plane are contiguous. The rows of a product
 * are outputs, and its columns are positions, so that weights and results keep their layouts.
 *
 * A normal convolution ("planes") computes y = w · columns, a block of lines at a time, and packs
 * the columns directly. A transposed one ("spread") computes columns = wᵀ · x, some channels at a
 * time, and adds each element of a column to its position. A block is a task, and no two tasks
 * write the same elements.
 */

/* The approximate number of floats of the columns of a block. */
#define MOST_COLUMNS (96 * 1024)

/* ---- planning ------------------------------------------------------------------------------- */

/* Whether the positions of a plane are contiguous, along these strides. */
static bool is_plane(const int64_t *length, const int64_t *stride)
{
    return (length[2] == 1 || stride[4] == 1) && (length[1] == 1 || stride[3] == length[2]) &&
           (length[0] == 1 || stride[2] == length[1] * length[2]);
}

bool cpu_planes_can(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;

    for (uint32_t i = 0; i < p->op.n_epilogue; i++)
        if (p->op.epilogue[i].step != FERRY_STEP_UNARY)
            return false;
    return !p->plan.convolution.is_transposed && !p->is_empty && w->x[4] <= 1 &&
           (w->channels == 1 || w->x[1] >= w->in[2]) && is_plane(w->out, w->y) && w->images > 0 &&
           w->channels > 0 && w->outputs / p->op.params.window.group >= 4 &&
           w->out[1] * w->out[2] >= 8;
}

/* Whether weights and columns are rounded to pairs of BF16. */
static bool is_pairs(const struct cpu_op *p)
{
    return p->plan.convolution.blocks[0].form == CPU_GEMM_BF16_PAIRS;
}

/*
 * The floats of a row of the weights: a multiple of a cache line, so that rows are not a power of
 * two apart.
 */
static int64_t weights_row(const struct cpu_op *p, int64_t k)
{
    return rounded(is_pairs(p) ? cut(k, 2) : k) + 16;
}

static uint64_t room(const struct cpu_op *p)
{
    const struct cpu_gemm *g = p->plan.convolution.blocks;
    uint64_t each = cpu_gemm_workspace(&g[0]), last = cpu_gemm_workspace(&g[1]);

    /* a block of fewer columns may have tasks of more rows */
    return (uint64_t)(rounded(cpu_gemm_packed(&g[0])) + p->plan.convolution.aside) * sizeof(float) +
           (each > last ? each : last);
}

static void plan_blocks(struct cpu_op *p, int64_t m, int64_t n, int64_t k, bool cuts_rows,
                        int64_t last)
{
    struct cpu_gemm *g = p->plan.convolution.blocks;

    for (int i = 0; i < 2; i++) {
        g[i].form = cpu_op_takes_pairs(p) ? CPU_GEMM_BF16_PAIRS : CPU_GEMM_FLOATS;
        g[i].batches = 1;
        g[i].m = cuts_rows && i ? last : m;
        g[i].n = !cuts_rows && i ? last : n;
        g[i].k = k;
        cpu_gemm_plan(&g[i], p->loops, 1);
    }
    p->plan.convolution.gemm.form = g[0].form;
    p->answer.math = is_pairs(p) ? FERRY_MATH_BF16 : 0;
}

/* The number of `all` to process at a time, at most `most`, so that the parts have equal sizes. */
static int64_t evenly(int64_t all, int64_t most)
{
    int64_t parts = (all + (most > 1 ? most : 1) - 1) / (most > 1 ? most : 1);

    return (all + parts - 1) / parts;
}

void cpu_planes_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t group = p->op.params.window.group, lines = w->out[0] * w->out[1];
    int64_t k = w->channels / group * w->taps, m = w->outputs / group, block;

    if (cpu_winograd_planes_can(p)) {
        p->plan.convolution.method = CPU_CONVOLUTION_WINOGRAD_PLANES;
        cpu_winograd_planes_plan(p);
        return;
    }
    block = evenly(lines, least(MOST_COLUMNS / k, 1024) / w->out[2]);

    p->plan.convolution.block = block;
    p->plan.convolution.aside = rounded(block * w->out[2]);
    plan_blocks(p, m, block * w->out[2], k, false,
                (lines - (lines - 1) / block * block) * w->out[2]);
    cpu_op_pack_or_not(p, 1, (uint64_t)(w->outputs * weights_row(p, k)) * sizeof(float),
                       p->threads * room(p));
    p->answer.epilogue = p->op.n_epilogue;
}

/*
 * Whether the transposed form is used: it needs fewer multiplications than the flipped form. Here
 * the window moves over y, and x has the window's positions.
 */
bool cpu_spread_can(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t places = w->in[0] * w->in[1] * w->in[2], wide = w->out[0] * w->out[1] * w->out[2];
    bool turns = w->stride[0] == 1 && w->stride[1] == 1 && w->stride[2] == 1;

    return p->plan.convolution.is_transposed && !p->is_empty && p->own_in == 2 &&
           p->op.n_epilogue == 0 && is_plane(w->in, w->x) && is_plane(w->out, w->y) &&
           w->images > 0 && w->channels > 0 &&
           w->outputs / p->op.params.window.group * w->taps >= 8 && places >= 8 &&
           (!turns || 10 * wide > 13 * places);
}

static struct cpu_window turned_about(const struct cpu_window *w)
{
    struct cpu_window t = *w;

    t.channels = w->outputs;
    t.outputs = w->channels;
    memcpy(t.in, w->out, sizeof(t.in));
    memcpy(t.out, w->in, sizeof(t.out));
    memcpy(t.x, w->y, sizeof(t.x));
    memcpy(t.y, w->x, sizeof(t.y));
    return t;
}

void cpu_spread_plan(struct cpu_op *p)
{
    struct cpu_window *w = &p->plan.convolution.window;
    int64_t group = p->op.params.window.group, channels, places, k;
    int64_t block;

    *w = turned_about(w);
    channels = w->channels / group;
    places = w->out[0] * w->out[1] * w->out[2];
    k = w->outputs / group;
    block = evenly(channels, MOST_COLUMNS / (w->taps * places));
    p->plan.convolution.block = block;
    p->plan.convolution.aside = rounded(block * w->taps * places);
    plan_blocks(p, block * w->taps, places, k, true,
                (channels - (channels - 1) / block * block) * w->taps);
    cpu_op_pack_or_not(p, 1, (uint64_t)(w->channels * w->taps * weights_row(p, k)) * sizeof(float),
                       p->threads * room(p));
}

/* ---- weights -------------------------------------------------------------------------------- */

/* The number of outputs that are packed together, so that a cache line of weights is read once. */
#define PACK_TOGETHER 16

struct packing {
    const struct cpu_op *op;
    const float *w;
    float *packed;
};

/* Whether the weights of an output are contiguous, in the order of its packed row. */
static bool is_packed_row(const struct cpu_window *v, const int64_t *wide)
{
    return (v->taps == 1 || (wide[4] == 1 && (v->kernel[1] == 1 || wide[3] == v->kernel[2]) &&
                             v->kernel[0] == 1)) &&
           wide[1] == v->taps;
}

/* The length of the parts of PACK_TOGETHER rows that are brought before they are rounded. */
#define PART 64

/* Stores elements i … i + n − 1 of a row, of which i is even. */
static void put(const struct cpu_op *p, const float *from, int64_t i, int64_t n, float *row)
{
    if (is_pairs(p))
        p->pairs->round_row(from, n, row + i / 2);
    else
        memcpy(row + i, from, (size_t)n * sizeof *row);
}

/* Packs the rows of outputs o … o + n − 1 of one group. */
static void pack_outputs(const struct packing *s, int64_t o, int64_t n)
{
    const struct cpu_window *v = &s->op->plan.convolution.window;
    const int64_t *wide = s->op->plan.convolution.w;
    int64_t group = s->op->op.params.window.group, all = v->channels / group * v->taps;
    int64_t outputs = v->outputs / group, row = weights_row(s->op, all);
    const float *from = s->w + s->op->plan.convolution.w_first +
                        o / outputs * s->op->plan.convolution.w_group + o % outputs * wide[0];
    float *to = s->packed + o * row, part[PACK_TOGETHER][PART];
    struct cpu_tap t = { 0, { 0 } };

    if (is_packed_row(v, wide)) {
        for (int64_t k = 0; k < n; k++)
            put(s->op, from + k * wide[0], 0, all, to + k * row);
        return;
    }
    for (int64_t i = 0; i < all; i++, tap_next(v, &t)) {
        const float *at =
            from + t.channel * wide[1] + t.at[0] * wide[2] + t.at[1] * wide[3] + t.at[2] * wide[4];

        for (int64_t k = 0; k < n; k++)
            part[k][i % PART] = at[k * wide[0]];
        for (int64_t k = 0; k < n && (i % PART == PART - 1 || i == all - 1); k++)
            put(s->op, part[k], i / PART * PART, i % PART + 1, to + k * row);
    }
}

/* Packs one row for each output, with the taps of its channels. */
static void pack_rows(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct packing *s = arg;
    int64_t outputs = s->op->plan.convolution.window.outputs / s->op->op.params.window.group, n;

    (void)piece;
    for (int64_t o = first; o < first + count; o += n) {
        n = first + count - o < PACK_TOGETHER ? first + count - o : PACK_TOGETHER;
        n = outputs - o % outputs < n ? outputs - o % outputs : n;
        pack_outputs(s, o, n);
    }
}

/* Packs rows first … first + count − 1 of a transposed form, at most PACK_TOGETHER. */
static void pack_spread_rows(const struct packing *s, int64_t first, int64_t count)
{
    const struct cpu_window *v = &s->op->plan.convolution.window;
    const int64_t *wide = s->op->plan.convolution.w;
    int64_t group = s->op->op.params.window.group, channels = v->channels / group;
    int64_t k = v->outputs / group, row = weights_row(s->op, k);
    float *to = s->packed + first * row, part[PACK_TOGETHER][PART];
    const float *from[PACK_TOGETHER];
    struct cpu_tap t = tap_of(v, first);

    for (int64_t i = 0; i < count; i++, tap_next(v, &t))
        from[i] = s->w + t.channel / channels * s->op->plan.convolution.w_group +
                  t.channel % channels * wide[0] + t.at[0] * wide[2] + t.at[1] * wide[3] +
                  t.at[2] * wide[4];
    for (int64_t j = 0; j < k; j++) {
        for (int64_t i = 0; i < count; i++)
            part[i][j % PART] = from[i][j * wide[1]];
        for (int64_t i = 0; i < count && (j % PART == PART - 1 || j == k - 1); i++)
            put(s->op, part[i], j / PART * PART, j % PART + 1, to + i * row);
    }
}

/* Packs one row for each channel of y and tap, with the channels of x. */
static void pack_spread(void *arg, int64_t first, int64_t count, int64_t piece)
{
    (void)piece;
    for (int64_t i = first; i < first + count; i += PACK_TOGETHER)
        pack_spread_rows(arg, i, least(first + count - i, PACK_TOGETHER));
}

void cpu_planes_pack(struct cpu_device *d, const struct cpu_op *p, const float *w, float *packed)
{
    bool spreads = p->plan.convolution.method == CPU_CONVOLUTION_SPREAD;
    const struct cpu_window *v = &p->plan.convolution.window;
    int64_t group = p->op.params.window.group;
    int64_t rows = spreads ? v->channels * v->taps : v->outputs;
    int64_t row = spreads ? v->outputs / group : v->channels / group * v->taps;
    int64_t piece = (walk_piece_of(rows, 8 * row) + PACK_TOGETHER - 1) / PACK_TOGETHER;

    if (p->plan.convolution.method == CPU_CONVOLUTION_WINOGRAD_PLANES) {
        cpu_winograd_planes_pack(d, p, w, packed);
        return;
    }
    workers_run(d->workers, rows, least(piece * PACK_TOGETHER, rows),
                spreads ? pack_spread : pack_rows, &(struct packing){ p, w, packed });
}

/* ---- running -------------------------------------------------------------------------------- */

struct blocks {
    const struct cpu_op *op;
    const float *x, *w, *bias;
    float *y, *room;
    int64_t w_row, blocks; /* w_row: floats of a row of the weights; blocks: of a group of an
                            * image */
};

/* A task's image, group and block, and its thread's memory. */
struct block {
    int64_t image, group, number;
    bool is_last;
    float *packed, *aside, *scratch;
};

static struct block block_of(const struct blocks *s, int64_t task, unsigned slot)
{
    const struct cpu_op *p = s->op;
    int64_t groups = p->op.params.window.group, rest = task / s->blocks;
    struct block b = { rest / groups, rest % groups, task % s->blocks, false, NULL, NULL, NULL };

    b.is_last = b.number == s->blocks - 1;
    b.packed = s->room + slot * (room(p) / sizeof(float));
    b.aside = b.packed + rounded(cpu_gemm_packed(&p->plan.convolution.blocks[0]));
    b.scratch = b.aside + p->plan.convolution.aside;
    return b;
}

static struct cpu_gemm_run product_of(const struct blocks *s, const struct block *b, int64_t row)
{
    return (struct cpu_gemm_run){ .plan = &s->op->plan.convolution.blocks[b->is_last],
                                  .loops = s->op->loops,
                                  .pairs = s->op->pairs,
                                  .b = b->packed,
                                  .a = s->w + row * s->w_row,
                                  .has_pairs = is_pairs(s->op),
                                  .a_row = s->w_row,
                                  .y_column = 1,
                                  .scratch = b->scratch };
}

/* Packs the columns of some lines of a plane, for each channel and element of the kernel. */
static void bring(const struct blocks *s, const struct block *b, int64_t first, int64_t lines)
{
    const struct cpu_window *w = &s->op->plan.convolution.window;
    const struct cpu_gemm *g = &s->op->plan.convolution.blocks[b->is_last];
    const struct cpu_places places = places_of(w, b->image * w->out[0] * w->out[1] + first);
    const float *x = s->x + b->group * (g->k / w->taps) * w->x[1];
    struct cpu_tap t = { 0, { 0 } };

    for (int64_t tap = 0; tap < w->taps; tap++, tap_next(w, &t)) {
        const struct cpu_sight sight = sight_of(w, &places, lines, &t, 0, w->out[2]);

        if (w->taps == 1 && sight.lines == lines && sight.is_whole &&
            (sight.pitch == sight.n || lines == 1)) {
            cpu_gemm_pack(g, 0, g->k, x + sight.at, w->x[1], 1, b->packed);
            return;
        }
        for (int64_t k = tap; k < g->k; k += w->taps) {
            if (sight.lines == lines && sight.is_whole && (sight.pitch == sight.n || lines == 1)) {
                cpu_gemm_pack_row(g, k, x + k / w->taps * w->x[1] + sight.at, b->packed);
                continue;
            }
            if (sight.lines == lines)
                sight_see(s->op->loops, &sight, x + k / w->taps * w->x[1], b->aside);
            else
                lines_see(s->op->loops, w, x + k / w->taps * w->x[1], places, lines, &t, 0,
                          w->out[2], b->aside);
            cpu_gemm_pack_row(g, k, b->aside, b->packed);
        }
    }
}

static void do_planes(void *arg, int64_t task, unsigned slot)
{
    const struct blocks *s = arg;
    const struct cpu_window *w = &s->op->plan.convolution.window;
    struct block b = block_of(s, task, slot);
    const struct cpu_gemm *g = &s->op->plan.convolution.blocks[b.is_last];
    int64_t first = b.number * s->op->plan.convolution.block;
    struct cpu_gemm_run r = product_of(s, &b, b.group * g->m);

    bring(s, &b, first, g->n / w->out[2]);
    r.y = s->y + b.image * w->y[0] + b.group * g->m * w->y[1] + first * w->out[2];
    r.y_row = w->y[1];
    cpu_gemm_do(NULL, &r);
    for (int64_t i = 0; i < g->m; i++)
        cpu_planes_finish(s->op, s->bias, b.group * g->m + i, g->n, r.y + i * r.y_row);
}

/* Adds the columns of some channels of one image to their positions. */
static void spread(const struct cpu_op *p, const float *columns, int64_t channels, int64_t image,
                   float *wide)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t places = w->out[0] * w->out[1] * w->out[2];
    struct cpu_tap t = { 0, { 0 } };

    for (int64_t tap = 0; tap < w->taps; tap++, tap_next(w, &t))
        for (int64_t plane = 0; plane < w->out[0]; plane++) {
            const struct cpu_places at = places_of(w, (image * w->out[0] + plane) * w->out[1]);
            const struct cpu_sight sight = sight_of(w, &at, w->out[1], &t, 0, w->out[2]);
            const float *from = columns + tap * places + plane * w->out[1] * w->out[2];

            for (int64_t c = 0; c < channels; c++)
                sight_spread(p->loops, &sight, from + c * w->taps * places, wide + c * w->x[1]);
        }
}

static void do_spread(void *arg, int64_t task, unsigned slot)
{
    const struct blocks *s = arg;
    const struct cpu_window *w = &s->op->plan.convolution.window;
    struct block b = block_of(s, task, slot);
    const struct cpu_gemm *g = &s->op->plan.convolution.blocks[b.is_last];
    int64_t first = b.group * (w->channels / s->op->op.params.window.group) +
                    b.number * s->op->plan.convolution.block;
    const float *x = s->x + b.image * w->y[0] + b.group * g->k * w->y[1];
    struct cpu_gemm_run r = product_of(s, &b, first * w->taps);

    cpu_gemm_pack(g, 0, g->k, x, w->y[1], 1, b.packed);
    r.y = b.aside;
    r.y_row = g->n;
    cpu_gemm_do(NULL, &r);
    for (int64_t c = first; c < first + g->m / w->taps; c++)
        memset(s->y + b.image * w->x[0] + c * w->x[1], 0,
               (size_t)(w->in[0] * w->in[1] * w->in[2]) * sizeof(*s->y));
    spread(s->op, b.aside, g->m / w->taps, b.image, s->y + first * w->x[1]);
}

void cpu_planes_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    bool spreads = p->plan.convolution.method == CPU_CONVOLUTION_SPREAD;
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_gemm *g = p->plan.convolution.blocks;
    int64_t group = p->op.params.window.group, block = p->plan.convolution.block, tasks;
    int64_t all = spreads ? w->channels / group : w->out[0] * w->out[1];
    struct blocks s = { .op = p,
                        .x = args->in[0],
                        .w = args->packed,
                        .bias = p->own_in > 2 ? args->in[2] : NULL,
                        .y = args->out[0],
                        .room = args->workspace,
                        .w_row = weights_row(p, g->k),
                        .blocks = (all + block - 1) / block };

    if (!s.w) {
        float *packed = s.room + p->threads * (room(p) / sizeof(float));

        cpu_planes_pack(d, p, args->in[1], packed);
        s.w = packed;
    }
    tasks = w->images * group * s.blocks;
    if (tasks * g->m * g->n * g->k >= WORKERS_FEW_PRODUCTS)
        workers_tasks(d->workers, tasks, spreads ? do_spread : do_planes, &s);
    else
        for (int64_t i = 0; i < tasks; i++)
            (spreads ? do_spread : do_planes)(&s, i, 0);
}
