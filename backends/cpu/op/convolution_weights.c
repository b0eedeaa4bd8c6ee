/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/window.h"
#include "depthwise_planes.h"
#include "lines.h"
#include "turn.h"
#include "winograd_planes.h"

/*
 * The gradient of the weights of CONVOLUTION. It combines two images: a wide one over which the
 * window moves (x, or dy of a transposed convolution), and a narrow one with an element for each
 * position of the window. * F32 is computed by products of matrices. Their rows are the elements of
 * a channel of the wide image under one tap, their columns the channels of the narrow image, and
 * their depth the positions, a block of lines at a time. Lines are divided into chunks with
 * separate sums, which are added in order.
 */

/* The approximate number of positions of a block: its packed columns should stay in the cache. */
#define BLOCK_PLACES 512
/* The number of floats of sums above which there is only one chunk. */
#define MOST_SUMS (1024 * 1024)

/* ---- planning ------------------------------------------------------------------------------- */

static int64_t sums_of(const struct cpu_op *p)
{
    const struct cpu_gemm *g = &p->plan.weights.gemm;

    return p->op.params.window.group * g->m * g->n;
}

/* The floats of a row of a block's pairs: not a power of two. */
static int64_t rounded_row(const struct cpu_gemm *g)
{
    return rounded(cut(g->k, 2)) + 16;
}

/* Rounds a number of floats up to a multiple of a cache line. */
static int64_t room_of_chunk(const struct cpu_op *p)
{
    const struct cpu_gemm *g = &p->plan.weights.gemm;

    return rounded(sums_of(p)) + rounded(cpu_gemm_packed(g)) +
           (int64_t)(cpu_gemm_workspace(g) / sizeof(float)) +
           (g->form == CPU_GEMM_BF16_PAIRS ? g->panel * rounded_row(g) : 0);
}

/* Whether rows of the wide image are planes that can be read in place. */
static bool can_stay_in_place(const struct cpu_window *w)
{
    if (w->taps != 1 || w->out[0] != 1 || w->in[0] != 1 || w->pad[0] != 0 || w->x[4] != 1 ||
        w->x[3] != w->in[2] || w->x[1] % 512 == 0)
        return false;
    for (int i = 1; i < 3; i++)
        if (w->stride[i] != 1 || w->pad[i] != 0 || w->in[i] != w->out[i] || w->out[i] == 1)
            return false;
    return true;
}

/*
 * The lines of a block, about `most`: whole planes, or equal parts of one, so that a block of k
 * does not end one plane and begin another.
 */
static int64_t lines_of_block(const struct cpu_window *w, int64_t most)
{
    int64_t plane = w->out[1], least_parts = (plane + most - 1) / most, parts = least_parts;

    if (most >= plane)
        return most / plane * plane;
    while (plane % parts)
        parts++;
    return parts < 2 * least_parts ? plane / parts : most;
}

static void plan_product(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.weights.window;
    struct cpu_gemm *g = &p->plan.weights.gemm;
    int64_t group = p->op.params.window.group, lines = w->images * w->out[0] * w->out[1];
    int64_t chunks = least((int64_t)p->threads, lines);

    g->batches = 1;
    g->m = w->channels / group * w->taps;
    g->n = w->outputs / group;
    p->plan.weights.block = w->out[2] < BLOCK_PLACES ? BLOCK_PLACES / w->out[2] : 1;
    p->plan.weights.is_in_place = can_stay_in_place(w);
    if (p->plan.weights.is_in_place)
        p->plan.weights.block = lines_of_block(w, p->plan.weights.block);
    if (group * g->m * g->n * chunks > MOST_SUMS || chunks < 1)
        chunks = 1;
    p->plan.weights.chunks = chunks;
    p->plan.weights.block = least(p->plan.weights.block, (lines + chunks - 1) / chunks);
    g->k = p->plan.weights.block * w->out[2];
    g->k_line = w->out[2];
    if (cpu_op_takes_pairs(p) && w->y[4] <= 1 && cpu_gemm_has_pairs(g)) {
        g->form = CPU_GEMM_BF16_PAIRS;
        p->answer.math = FERRY_MATH_BF16;
    }
    cpu_gemm_plan(g, p->loops, chunks > 1 ? 1 : p->threads);
    p->answer.workspace_bytes = (uint64_t)(chunks * room_of_chunk(p)) * sizeof(float);
}

static int weights_plan(struct cpu_op *p)
{
    bool is_transposed = p->op.params.window.transposed != 0;
    const ferry_operand *wide = &p->op.in[is_transposed ? 0 : 1];
    const ferry_operand *narrow = &p->op.in[is_transposed ? 1 : 0];
    const ferry_operand *w = &p->op.out[0];

    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&p->op.params.window, wide, narrow, &p->plan.weights.window);
    for (uint32_t i = 0; i < 2; i++)
        p->plan.weights.w[i] = w->stride[i];
    ferry__widen_strides(w, 2, &p->plan.weights.w[2]);
    p->plan.weights.is_product = w->dtype == FERRY_F32 && cpu_operand_count(narrow) > 0;
    p->plan.weights.is_planes =
        p->plan.weights.is_product &&
        cpu_depthwise_planes_fit(&p->plan.weights.window, p->op.params.window.group);
    if (p->plan.weights.is_product && !p->plan.weights.is_planes && !cpu_winograd_weights_plan(p))
        plan_product(p);
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct joining {
    const struct cpu_op *op;
    const struct cpu_window *window;
    const float *wide, *narrow; /* the images of the current group */
    int64_t line, lines;        /* the current block: its first line and its number of lines */
    float *room;
};

static void bring(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t k, int64_t depth, float *to, struct cpu_tile *tile)
{
    const struct joining *s = r->arg;
    const struct cpu_window *w = s->window;
    int64_t line = k / w->out[2], at = k % w->out[2], width = least(w->out[2] - at, depth);
    int64_t lines = least(depth / width, s->lines - line); /* complete lines, or a part of one */
    const struct cpu_places places = places_of(w, s->line + line);
    struct cpu_tap tap = tap_of(w, first);

    (void)batch;
    lines = lines > 0 ? lines : 0;
    for (int64_t i = 0; i < rows; i++, to += tile->a_row, tap_next(w, &tap)) {
        lines_see(r->loops, w, s->wide, places, lines, &tap, at, width, to);
        memset(to + lines * width, 0, (size_t)(depth - lines * width) * sizeof(*to));
    }
}

/*
 * Rows in place, for kernels of one element whose positions of a plane are contiguous: k counts
 * lines of one plane, or whole planes, each of which is a span.
 */
static int64_t reach(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                     int64_t k, int64_t depth, struct cpu_tile *tile)
{
    const struct joining *s = r->arg;
    const struct cpu_window *w = s->window;
    int64_t line = k / w->out[2], lines = depth / w->out[2], at = (s->line + line) % w->out[1];
    const struct cpu_places places = places_of(w, s->line + line);

    (void)batch;
    if (k % w->out[2] || depth % w->out[2] || line + lines > s->lines ||
        (at + lines > w->out[1] && (at || lines % w->out[1])))
        return -rows;
    tile->a = s->wide + places.image * w->x[0] + at * w->x[3] + first * w->x[1];
    tile->a_row = w->x[1];
    tile->spans = at + lines > w->out[1] ? lines / w->out[1] : 1;
    tile->span = depth / tile->spans;
    tile->jump = w->x[0] - tile->span;
    tile->line = 0;
    return rows;
}

/* The positions of the narrow image in a line of a block. */
static const float *narrow_line(const struct joining *s, int64_t i)
{
    const struct cpu_window *w = s->window;
    int64_t line = s->line + i, plane = line / w->out[1];

    return s->narrow + plane / w->out[0] * w->y[0] + plane % w->out[0] * w->y[2] +
           line % w->out[1] * w->y[3];
}

/* The number of lines from line i of the block on that are contiguous in the narrow image. */
static int64_t contiguous(const struct joining *s, int64_t i)
{
    const struct cpu_window *w = s->window;

    return w->y[3] == w->out[2] ? least(s->lines - i, w->out[1] - (s->line + i) % w->out[1]) : 1;
}

/*
 * The same as pack_block, as pairs of positions: rows of the narrow image are rounded, and their
 * pairs are then packed like floats.
 */
static void pack_pairs(const struct joining *s, float *packed, float *room)
{
    const struct cpu_gemm *g = &s->op->plan.weights.gemm;
    int64_t row = rounded_row(g), width = s->window->out[2], n;
    struct cpu_gemm one = *g;

    one.form = CPU_GEMM_FLOATS;
    one.k = cut(g->k, 2);
    one.panels = 1;
    for (int64_t p = 0; p < g->panels; p++, packed += cpu_gemm_floats(g, g->k, g->panel)) {
        one.n = least(g->n - p * g->panel, g->panel);
        for (int64_t i = 0; i < s->lines; i += n) {
            const float *from = narrow_line(s, i) + p * g->panel * s->window->y[1];

            n = contiguous(s, i);
            for (int64_t j = 0; j < one.n; j++)
                s->op->pairs->round_row(from + j * s->window->y[1], n * width,
                                        (char *)(room + j * row) + 2 * i * width);
        }
        for (int64_t j = 0; j < one.n; j++)
            memset((char *)(room + j * row) + 2 * s->lines * width, 0,
                   (size_t)(4 * one.k - 2 * s->lines * width));
        cpu_gemm_pack(&one, 0, one.k, room, 1, row, packed);
    }
}

/* Packs the block's positions of the narrow image as columns. Returns 0 after the last line. */
static void pack_block(const struct joining *s, float *packed)
{
    const struct cpu_window *w = s->window;
    const struct cpu_gemm *g = &s->op->plan.weights.gemm;
    int64_t width = w->out[2];

    if (s->lines < s->op->plan.weights.block)
        memset(packed, 0, (size_t)cpu_gemm_packed(g) * sizeof(*packed));
    for (int64_t i = 0; i < s->lines; i++)
        cpu_gemm_pack(g, i * width, width, narrow_line(s, i), w->y[4], w->y[1], packed);
}

/* ---- chunks --------------------------------------------------------------------------------- */

/* Adds one block of one group to its sums. */
static void join_block(struct workers *workers, const struct joining *s, float *sums, bool is_first)
{
    const struct cpu_gemm *g = &s->op->plan.weights.gemm;
    float *packed = s->room + rounded(sums_of(s->op));
    struct cpu_gemm_run r = { .plan = g,
                              .loops = s->op->loops,
                              .pairs = s->op->pairs,
                              .b = packed,
                              .reach = s->op->plan.weights.is_in_place ? reach : NULL,
                              .bring = bring,
                              .arg = s,
                              .y = sums,
                              .y_row = g->n,
                              .y_column = 1,
                              .scratch = packed + rounded(cpu_gemm_packed(g)) };

    if (g->form == CPU_GEMM_BF16_PAIRS)
        pack_pairs(s, packed, r.scratch + cpu_gemm_workspace(g) / sizeof(float));
    else
        pack_block(s, packed);
    if (!is_first) {
        r.step[r.steps++] = (struct cpu_step){ .step = FERRY_STEP_ADD, .a = 1 };
        r.add = sums;
        r.add_row = g->n;
        r.add_column = 1;
    }
    cpu_gemm_do(workers, &r);
}

static void join_lines(struct workers *workers, const struct joining *all, int64_t first,
                       int64_t end)
{
    const struct cpu_window *w = all->window;
    const struct cpu_gemm *g = &all->op->plan.weights.gemm;
    int64_t block = all->op->plan.weights.block, groups = all->op->op.params.window.group;

    for (int64_t line = first; line < end; line += block)
        for (int64_t i = 0; i < groups; i++) {
            struct joining s = *all;

            s.line = line;
            s.lines = least(block, end - line);
            s.wide += i * (w->channels / groups) * w->x[1];
            s.narrow += i * g->n * w->y[1];
            join_block(workers, &s, s.room + i * g->m * g->n, line == first);
        }
}

/* The first line of chunk i. */
static int64_t chunk_begin(const struct cpu_op *p, int64_t i)
{
    const struct cpu_window *w = &p->plan.weights.window;

    return w->images * w->out[0] * w->out[1] * i / p->plan.weights.chunks;
}

static void join_chunk(void *arg, int64_t i, unsigned slot)
{
    struct joining s = *(const struct joining *)arg;

    (void)slot;
    s.room += i * room_of_chunk(s.op);
    join_lines(NULL, &s, chunk_begin(s.op, i), chunk_begin(s.op, i + 1));
}

/* ---- the transposed sums --------------------------------------------------------------------- */

struct adding {
    const struct cpu_op *op;
    const float *sums;
    float *w;
};

/* The number of outputs whose sums are read together: a cache line. */
#define ADD_TOGETHER 16
/* The number of rows of sums that are prefetched: they are too far apart for the processor to. */
#define ADD_AHEAD 16

/* Whether the weights of an output are contiguous, in the order of the rows of sums. */
static bool has_plain_rows(const struct cpu_op *p)
{
    const struct cpu_window *v = &p->plan.weights.window;
    const int64_t *stride = p->plan.weights.w;

    return stride[1] == v->taps &&
           (v->taps == 1 || (v->kernel[0] == 1 && stride[4] == 1 && stride[3] == v->kernel[2]));
}

/* Adds four rows of ADD_TOGETHER outputs, whose sums are at `from`; the rest has `left` rows. */
static void add_four_rows(const struct cpu_op *p, const float *from, int64_t left, int64_t chunk,
                          float *w)
{
    int64_t row = p->plan.weights.gemm.n;
    float sum[4][ADD_TOGETHER] = { { 0 } };
    four turned[4];

    for (int64_t i = 0; i < p->plan.weights.chunks; i++)
        for (int r = 0; r < 4; r++) {
            if (r + ADD_AHEAD < left)
                __builtin_prefetch(&from[i * chunk + (r + ADD_AHEAD) * row]);
            for (int k = 0; k < ADD_TOGETHER; k++)
                sum[r][k] += from[i * chunk + r * row + k];
        }
    for (int64_t k = 0; k < ADD_TOGETHER; k += 4) {
        turn_four(&sum[0][k], ADD_TOGETHER, turned);
        for (int64_t i = 0; i < 4; i++)
            *(four *)(w + (k + i) * p->plan.weights.w[0]) += turned[i];
    }
}

/* Adds the weights of outputs o … o + n − 1 of one group. */
static void add_outputs(const struct adding *a, int64_t o, int64_t n)
{
    const struct cpu_op *p = a->op;
    const struct cpu_window *v = &p->plan.weights.window;
    const struct cpu_gemm *g = &p->plan.weights.gemm;
    const int64_t *stride = p->plan.weights.w, chunk = room_of_chunk(p);
    const float *from = a->sums + o / g->n * g->m * g->n + o % g->n;
    bool is_plain = n == ADD_TOGETHER && has_plain_rows(p);
    int64_t row = 0;
    struct cpu_tap tap;

    for (; is_plain && row + 4 <= g->m; row += 4, from += 4 * g->n)
        add_four_rows(p, from, g->m - row, chunk, a->w + o * stride[0] + row);
    tap = tap_of(v, row);
    for (; row < g->m; row++, from += g->n, tap_next(v, &tap)) {
        float *w = a->w + o * stride[0] + tap.channel * stride[1] + tap.at[0] * stride[2] +
                   tap.at[1] * stride[3] + tap.at[2] * stride[4];
        float sum[ADD_TOGETHER] = { 0 };

        for (int64_t i = 0; i < p->plan.weights.chunks; i++) {
            if (row + ADD_AHEAD < g->m)
                __builtin_prefetch(&from[i * chunk + ADD_AHEAD * g->n]);
            for (int64_t k = 0; k < n; k++)
                sum[k] += from[i * chunk + k];
        }
        for (int64_t k = 0; k < n; k++)
            w[k * stride[0]] += sum[k];
    }
}

/* Adds rows of the weights: each belongs to one channel of the narrow image. */
static void add_rows(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct adding *a = arg;
    int64_t group = a->op->plan.weights.gemm.n, n;

    (void)piece;
    for (int64_t o = first; o < first + count; o += n) {
        n = least(least(first + count - o, ADD_TOGETHER), group - o % group);
        add_outputs(a, o, n);
    }
}

/* ---- element by element ---------------------------------------------------------------------- */

struct direct {
    const struct cpu_op *op;
    const void *wide, *narrow;
    void *w;
};

#define IMPL "convolution_weights_impl.h"
#include "reals_impl.h"

#include <ferry/op_types.h>

/* The number of outputs of a piece: whole cache lines of sums. */
static int64_t piece_of_outputs(const struct cpu_op *p)
{
    int64_t outputs = p->plan.weights.window.outputs;
    int64_t piece = walk_piece_of(outputs, 8 * p->plan.weights.gemm.m);

    return least((piece + ADD_TOGETHER - 1) / ADD_TOGETHER * ADD_TOGETHER, outputs);
}

static void weights_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    bool is_transposed = p->op.params.window.transposed != 0;
    const struct cpu_window *w = &p->plan.weights.window;
    struct direct direct = { p, args->in[is_transposed ? 0 : 1], args->in[is_transposed ? 1 : 0],
                             args->out[0] };
    struct joining s = {
        .op = p, .window = w, .wide = direct.wide, .narrow = direct.narrow, .room = args->workspace
    };
    struct adding a = { p, args->workspace, args->out[0] };

    if (p->plan.weights.is_planes) {
        cpu_depthwise_planes_weights(d, p, w, p->plan.weights.w, direct.wide, direct.narrow,
                                     direct.w);
        return;
    }
    if (!p->plan.weights.is_product) {
        workers_run(d->workers, w->outputs, 1,
                    p->op.out[0].dtype == FERRY_F32 ? join_rows_f32 : join_rows_f64, &direct);
        return;
    }
    if (p->plan.weights.winograd.points) {
        cpu_winograd_weights_run(d, p, args->workspace, direct.wide, direct.narrow, direct.w);
        return;
    }
    if (p->plan.weights.chunks > 1)
        workers_tasks(d->workers, p->plan.weights.chunks, join_chunk, &s);
    else
        join_lines(d->workers, &s, 0, chunk_begin(p, 1));
    workers_run(d->workers, w->outputs, piece_of_outputs(p), add_rows, &a);
}

const struct cpu_op_kind cpu_op_convolution_weights = {
    .kind = FERRY_OP_CONVOLUTION,
    .pass = FERRY_PASS_BACKWARD_WEIGHTS,
    .plan = weights_plan,
    .run = weights_run,
};
