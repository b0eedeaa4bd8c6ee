/* SPDX-License-Identifier: BSD-2-Clause */
#include "winograd_planes.h"

#include <string.h>

/*
 * CONVOLUTION of row-major images by the tiles of winograd_planes.h. A task is a block of tile
 * lines, which may belong to several images: it transforms their patches, computes a product at
 * each point, whose rows are outputs, and transforms the results, all in the memory of its thread.
 */

/* The maximum number of floats of the points of a block's patches and tiles. */
#define MOST_POINTS (1024 * 1024)
/* The number of columns of a product that take as long as loading a task's weights. */
#define COLUMNS_PER_WEIGHT 8
/*
 * The number of multiplications that take as long as transforming one element of a patch or of a
 * tile at one point, and one weight at one point.
 */
#define CHANGE        16
#define CHANGE_WEIGHT 24
/* The least number of channels: the points of fewer are sums too short for their transforms. */
#define LEAST_CHANNELS 16
/* The maximum number of tile lines that are transformed at a time. */
#define STRIP 8

/* ---- patches -------------------------------------------------------------------------------- */

bool cpu_winograd_planes_fit(const struct cpu_op *p, const struct cpu_window *w)
{
    if (!(p->op.math & FERRY_MATH_WINOGRAD_2) ||
        p->op.params.window.axes != 2 || p->op.params.window.group != 1 || p->is_empty ||
        w->channels < LEAST_CHANNELS || w->outputs < LEAST_CHANNELS || w->x[4] > 1 || w->y[4] > 1)
        return false;
    for (int axis = 1; axis < 3; axis++)
        if (w->kernel[axis] != 3 || w->stride[axis] != 1 || w->dilation[axis] != 1 ||
            w->pad[axis] < 0 || w->pad[axis] > 2)
            return false;
    return true;
}

struct cpu_winograd_planes cpu_winograd_planes_of(const struct cpu_op *p,
                                                  const struct cpu_window *w, bool is_y,
                                                  int64_t lines)
{
    const int64_t *size = is_y ? w->out : w->in, *stride = is_y ? w->y : w->x;
    struct cpu_winograd_planes s = { .loops = p->loops,
                                     .size = { size[1], size[2] },
                                     .pad = { is_y ? 0 : w->pad[1], is_y ? 0 : w->pad[2] },
                                     .image = stride[0],
                                     .row = stride[3],
                                     .lines = cut(w->out[1], 2),
                                     .line = cut(w->out[2], 2) };
    int64_t lanes = p->loops->lanes, tiles = cut(lines * s.line, 2 * lanes) * 2 * lanes;

    /* Vectors read past the last tile, which zeros follow. */
    s.pitch = 2 * cut(s.line, lanes) * lanes + 4;
    s.pitch = rounded(s.pitch > s.pad[1] + s.size[1] ? s.pitch : s.pad[1] + s.size[1]);
    s.lines_floats = (2 * STRIP + 2) * s.pitch;
    s.h_row = tiles + lanes;
    return s;
}

void cpu_winograd_planes_begin(const struct cpu_winograd_planes *s, float *lines)
{
    memset(lines, 0, (size_t)s->lines_floats * sizeof(*lines));
}

/* Copies lines top … top + n − 1 of a plane after their padding; zeros outside the plane. */
static void bring_lines(const struct cpu_winograd_planes *s, const float *plane, int64_t top,
                        int64_t n, float *to)
{
    int64_t before = least(top < 0 ? -top : 0, n), inside = least(s->size[0] - top, n) - before;

    to += s->pad[1];
    inside = inside > 0 ? inside : 0;
    for (int64_t i = 0; i < n; i++)
        if (i < before || i >= before + inside)
            memset(to + i * s->pitch, 0, (size_t)s->size[1] * sizeof(*to));
    s->loops->move_lines(inside, s->size[1], plane + (top + before) * s->row, s->row,
                         to + before * s->pitch, s->pitch);
}

void cpu_winograd_planes_across(const struct cpu_winograd_planes *s, const float *x, int64_t first,
                                int64_t count, float *lines, float *h)
{
    for (int64_t n; count > 0; first += n, count -= n, h += n * s->line) {
        int64_t line = first % s->lines;

        n = least(least(count, s->lines - line), STRIP);
        bring_lines(s, x + first / s->lines * s->image, 2 * line - s->pad[0], 2 * n + 2, lines);
        s->loops->winograd_across(lines, s->pitch, n, s->line, h, s->h_row);
    }
}

void cpu_winograd_planes_give(const struct cpu_winograd_planes *s, const float *dy, int64_t first,
                              int64_t count, float *lines, float *d, int64_t d_point)
{
    for (int64_t n; count > 0; first += n, count -= n, d += n * s->line) {
        int64_t line = first % s->lines;

        n = least(least(count, s->lines - line), STRIP);
        bring_lines(s, dy + first / s->lines * s->image, 2 * line, 2 * n, lines);
        s->loops->winograd_give(lines, s->pitch, n, s->line, d, d_point);
    }
}

/* ---- planning ------------------------------------------------------------------------------- */

/* The floats from a row of weights to the next, not a power of two; from a point to the next. */
static int64_t u_row(const struct cpu_window *w)
{
    return rounded(w->channels) + 16;
}

static int64_t u_point(const struct cpu_window *w)
{
    return w->outputs * u_row(w) + 16;
}

/* The same of the points of a block's patches, and of its tiles. */
static int64_t v_point(const struct cpu_gemm *g)
{
    return cpu_gemm_packed(g) + 16;
}

static int64_t m_row(const struct cpu_gemm *g)
{
    return rounded(g->n);
}

static int64_t m_point(const struct cpu_gemm *g)
{
    return g->m * m_row(g) + 16;
}

/* The multiplications of the busiest of some threads, with that many tile lines for each task. */
static double cost_of(const struct cpu_op *p, int64_t threads, int64_t lines)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_winograd *c = &p->plan.convolution.winograd;
    int64_t tasks = cut(w->images * c->lines, lines), rounds = cut(tasks, threads);
    double columns = (double)(cut(lines * c->line, p->loops->lanes) * p->loops->lanes);
    double both = (double)w->channels * (double)w->outputs;

    return WINOGRAD_PLANES_POINTS *
           ((double)rounds * ((columns + COLUMNS_PER_WEIGHT) * both +
                              CHANGE * columns * (double)(w->channels + w->outputs)) +
            CHANGE_WEIGHT * both / (double)threads);
}

/* Chooses the number of tile lines of a task; returns the cost. */
static double choose_lines(struct cpu_op *p, int64_t threads)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_winograd *c = &p->plan.convolution.winograd;
    int64_t column = WINOGRAD_PLANES_POINTS * (w->channels + w->outputs);
    double best = 0;

    c->lines = cut(w->out[1], 2);
    c->line = cut(w->out[2], 2);
    c->tiles = w->images * c->lines * c->line;
    c->block = 0;
    for (int64_t lines = 1; lines <= w->images * c->lines; lines++) {
        double cost = cost_of(p, threads, lines);

        if (lines > 1 && lines * c->line * column > MOST_POINTS)
            break;
        if (c->block && cost >= best)
            continue;
        best = cost;
        c->block = lines;
    }
    return best;
}

double cpu_winograd_planes_limit(const struct cpu_window *w)
{
    return 0.85 * 9.0 * (double)(w->images * w->out[1] * w->out[2]) * (double)w->channels *
           (double)w->outputs;
}

/* The answer does not depend on the number of threads, so that the results do not either. */
bool cpu_winograd_planes_can(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_op other = *p;
    double products = 9.0 * (double)(w->images * w->out[1] * w->out[2]);
    int64_t column = WINOGRAD_PLANES_POINTS * (w->channels + w->outputs);

    products *= (double)w->channels * (double)w->outputs;
    return cpu_winograd_planes_fit(p, w) && products > WORKERS_FEW_PRODUCTS &&
           cut(w->out[2], 2) <= MOST_POINTS / column && /* a line of tiles is the least block */
           choose_lines(&other, 1) < cpu_winograd_planes_limit(w); /* then also faster than BF16 */
}

static uint64_t room(const struct cpu_op *p)
{
    const struct cpu_winograd *c = &p->plan.convolution.winograd;
    const struct cpu_gemm *g = p->plan.convolution.blocks;
    const struct cpu_winograd_planes s =
        cpu_winograd_planes_of(p, &p->plan.convolution.window, false, c->block);
    uint64_t each = cpu_gemm_workspace(&g[0]), last = cpu_gemm_workspace(&g[1]);

    return (uint64_t)(rounded(s.lines_floats) +
                      WINOGRAD_PLANES_POINTS * (s.h_row + v_point(g) + m_point(g))) *
               sizeof(float) +
           (each > last ? each : last);
}

void cpu_winograd_planes_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_winograd *c = &p->plan.convolution.winograd;
    struct cpu_gemm *g = p->plan.convolution.blocks;
    int64_t all;

    choose_lines(p, p->threads);
    all = w->images * c->lines;
    for (int i = 0; i < 2; i++) {
        g[i].batches = WINOGRAD_PLANES_POINTS;
        g[i].m = w->outputs;
        g[i].n = (i ? all - (all - 1) / c->block * c->block : c->block) * c->line;
        g[i].k = w->channels;
        g[i].is_in_place = true;
        cpu_gemm_plan(&g[i], p->loops, 1);
    }
    p->answer.math = FERRY_MATH_WINOGRAD_2;
    cpu_op_pack_or_not(p, 1, (uint64_t)(WINOGRAD_PLANES_POINTS * u_point(w)) * sizeof(float),
                       p->threads * room(p));
    p->answer.epilogue = p->op.n_epilogue;
}

/* ---- weights -------------------------------------------------------------------------------- */

/* The number of outputs, and of channels of each, that are transformed together. */
#define TOGETHER 16

struct packing {
    const struct cpu_op *op;
    const float *w;
    float *packed;
};

/* Transforms the three taps of an axis, `step` rows apart, of TOGETHER kernels to four points. */
static void change_taps(float (*g)[TOGETHER], int step, float (*to)[TOGETHER], int to_step)
{
    for (int i = 0; i < TOGETHER; i++) {
        float even = 0.5f * (g[0][i] + g[2 * step][i]), odd = 0.5f * g[step][i];

        to[0][i] = g[0][i];
        to[to_step][i] = even + odd;
        to[2 * to_step][i] = even - odd;
        to[3 * to_step][i] = g[2 * step][i];
    }
}

/* Transforms n kernels of consecutive channels of an output. */
static void change_kernels(const struct packing *s, const float *w, int64_t n, float *to)
{
    const int64_t *wide = s->op->plan.convolution.w;
    int64_t point = u_point(&s->op->plan.convolution.window);
    float taps[9][TOGETHER], half[12][TOGETHER], at[WINOGRAD_PLANES_POINTS][TOGETHER];

    memset(taps, 0, sizeof(taps));
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < 9; t++)
            taps[t][i] = w[i * wide[1] + t / 3 * wide[3] + t % 3 * wide[4]];
    for (int j = 0; j < 3; j++)
        change_taps(taps + j, 3, half + j, 3);
    for (int j = 0; j < 4; j++)
        change_taps(half + 3 * j, 1, at + 4 * j, 1);
    for (int j = 0; j < WINOGRAD_PLANES_POINTS; j++)
        memcpy(to + j * point, at[j], (size_t)n * sizeof(*to));
}

static void pack_outputs(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct packing *s = arg;
    const struct cpu_window *v = &s->op->plan.convolution.window;
    const int64_t *wide = s->op->plan.convolution.w;
    const float *w = s->w + s->op->plan.convolution.w_first;

    (void)piece;
    for (int64_t o = first; o < first + count; o += TOGETHER)
        for (int64_t k = 0; k < v->channels; k += TOGETHER)
            for (int64_t i = o; i < least(o + TOGETHER, first + count); i++)
                change_kernels(s, w + i * wide[0] + k * wide[1], least(v->channels - k, TOGETHER),
                               s->packed + i * u_row(v) + k);
}

void cpu_winograd_planes_pack(struct cpu_device *d, const struct cpu_op *p, const float *w,
                              float *packed)
{
    const struct cpu_window *v = &p->plan.convolution.window;
    int64_t piece = cut(walk_piece_of(v->outputs, 100 * v->channels), TOGETHER) * TOGETHER;

    workers_run(d->workers, v->outputs, least(piece, v->outputs), pack_outputs,
                &(struct packing){ p, w, packed });
}

/* ---- running -------------------------------------------------------------------------------- */

struct pass {
    const struct cpu_op *op;
    const float *x, *w, *bias;
    float *y, *room;
    struct cpu_winograd_planes planes;
};

/* A task: its tile lines, and the memory of its thread. */
struct block {
    const struct cpu_gemm *gemm;
    int64_t first, count;
    float *lines, *h, *v, *m, *scratch;
};

static struct block block_of(const struct pass *s, int64_t task, unsigned slot)
{
    const struct cpu_winograd *c = &s->op->plan.convolution.winograd;
    const struct cpu_gemm *all = s->op->plan.convolution.blocks;
    int64_t lines = s->op->plan.convolution.window.images * c->lines;
    struct block b = { .first = task * c->block, .count = c->block };

    b.gemm = &all[b.first + b.count >= lines];
    b.count = least(b.count, lines - b.first);
    b.lines = s->room + slot * (room(s->op) / sizeof(float));
    b.h = b.lines + rounded(s->planes.lines_floats);
    b.v = b.h + WINOGRAD_PLANES_POINTS * s->planes.h_row;
    b.m = b.v + WINOGRAD_PLANES_POINTS * v_point(all);
    b.scratch = b.m + WINOGRAD_PLANES_POINTS * m_point(all);
    return b;
}

/* Packs the points of the block's patches as columns. */
static void change_patches(const struct pass *s, const struct block *b)
{
    const struct cpu_gemm *g = b->gemm;
    const struct cpu_window *w = &s->op->plan.convolution.window;

    cpu_winograd_planes_begin(&s->planes, b->lines);
    for (int64_t k = 0; k < g->k; k++) {
        cpu_winograd_planes_across(&s->planes, s->x + k * w->x[1], b->first, b->count, b->lines,
                                   b->h);
        for (int64_t p = 0; p < g->panels; p++)
            s->op->loops->winograd_down(b->h + p * g->panel, s->planes.h_row,
                                        least(g->n - p * g->panel, g->panel),
                                        b->v + cpu_gemm_packed_at(g, k, p * g->panel), v_point(g));
    }
}

/* Stores the lines of one output, from `from`: a row of the tiles' even lines, then of the odd. */
static void store_lines(const struct pass *s, const struct block *b, const float *from, float *y)
{
    const struct cpu_winograd *c = &s->op->plan.convolution.winograd;
    const struct cpu_window *w = &s->op->plan.convolution.window;
    int64_t row = 2 * m_row(b->gemm), first = b->first, count = b->count;

    for (int64_t n; count > 0; first += n, count -= n, from += 2 * n * c->line) {
        int64_t line = first % c->lines;
        float *to = y + first / c->lines * w->y[0] + 2 * line * w->y[3];

        n = least(count, c->lines - line);
        s->op->loops->move_lines(n, w->out[2], from, 2 * c->line, to, 2 * w->y[3]);
        s->op->loops->move_lines(least(n, w->out[1] / 2 - line), w->out[2], from + row, 2 * c->line,
                                 to + w->y[3], 2 * w->y[3]);
    }
}

static void do_block(void *arg, int64_t task, unsigned slot)
{
    const struct pass *s = arg;
    const struct cpu_window *w = &s->op->plan.convolution.window;
    struct block b = block_of(s, task, slot);
    const struct cpu_gemm *g = b.gemm;
    struct cpu_gemm_run r = { .plan = g,
                              .loops = s->op->loops,
                              .a = s->w,
                              .a_batch = u_point(w),
                              .a_row = u_row(w),
                              .b = b.v,
                              .b_batch = v_point(g),
                              .y = b.m,
                              .y_batch = m_point(g),
                              .y_row = m_row(g),
                              .y_column = 1,
                              .scratch = b.scratch };

    change_patches(s, &b);
    cpu_gemm_do(NULL, &r);
    for (int64_t o = 0; o < g->m; o++) {
        s->op->loops->winograd_up(b.m + o * m_row(g), m_point(g), g->n, b.h, 2 * m_row(g));
        cpu_planes_finish(s->op, s->bias, o, 2 * m_row(g) + 2 * g->n, b.h);
        store_lines(s, &b, b.h, s->y + o * w->y[1]);
    }
}

void cpu_winograd_planes_run(struct cpu_device *d, const struct cpu_op *p,
                             const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_winograd *c = &p->plan.convolution.winograd;
    struct pass s = { .op = p,
                      .x = args->in[0],
                      .w = args->packed,
                      .bias = p->own_in > 2 ? args->in[2] : NULL,
                      .y = args->out[0],
                      .room = args->workspace,
                      .planes = cpu_winograd_planes_of(p, w, false, c->block) };

    if (!s.w) {
        float *packed = s.room + p->threads * (room(p) / sizeof(float));

        cpu_winograd_planes_pack(d, p, args->in[1], packed);
        s.w = packed;
    }
    workers_tasks(d->workers, cut(w->images * c->lines, c->block), do_block, &s);
}
