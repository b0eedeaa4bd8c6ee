/* SPDX-License-Identifier: BSD-2-Clause */
#include "depthwise.h"
#include "integer_run.h"

#include <math.h>
#include <string.h>

/*
 * Depthwise CONVOLUTION of bytes. The rows of the kernel are filled up to groups of four taps. The
 * taps of a pixel are a table of addresses, which the pixels of a line share if all of their taps
 * are inside the image along the line; taps outside the image read a line of zeros. If channels are
 * not contiguous, the taps of each pixel are copied.
 */

/* The maximum number of groups of taps, and the maximum bytes of the line of zeros. */
#define MOST_QUADS 256
#define MOST_ZEROS (1 << 20)

/* ---- planning ------------------------------------------------------------------------------- */

bool cpu_integer_depthwise_can(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;

    return cpu_depthwise_can(p) && w->kernel[0] * w->kernel[1] * cut(w->kernel[2], 4) <= MOST_QUADS;
}

/* The bytes of the bias, or of the scale, in the order of the sums. */
static int64_t vector_bytes(const struct cpu_integer *g)
{
    return g->panels * g->loops->bytes * (int64_t)sizeof(float);
}

/* The bytes that a line reads from the first address of a tap on. */
static int64_t line_bytes(const struct cpu_window *w)
{
    return (w->out[2] - 1) * w->stride[2] * w->x[4] + w->channels;
}

void cpu_integer_depthwise_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_integer *g = &p->integer;
    int64_t bytes = g->loops->bytes;

    g->is_depthwise = true;
    g->is_signed = p->op.in[0].dtype == FERRY_I8;
    g->shift = g->loops->line_shift[g->is_signed];
    g->is_in_place = w->x[1] == 1 && line_bytes(w) <= MOST_ZEROS;
    g->k_groups = w->kernel[0] * w->kernel[1] * cut(w->kernel[2], 4);
    g->panels = cut(w->channels, bytes);
    g->panel_bytes = 4 * bytes * (1 + g->k_groups);
    g->zero_bytes = cut(g->is_in_place ? line_bytes(w) : w->channels, 64) * 64;
    /* one thread would read what the others have just written in their caches */
    g->slots = g->m * g->n * g->k < WORKERS_FEW_PRODUCTS / 4 ? 1 : p->threads;
    g->slot_bytes = g->is_in_place ? 0 : cut(g->k_groups * 4 * w->channels, 64) * 64;
    p->answer.epilogue = p->op.n_epilogue;
    if (g->loops->is_wide)
        p->answer.cost = FERRY_OP_COST_F32_FASTER;
    cpu_op_pack_or_not(p, 1, (uint64_t)(g->panels * g->panel_bytes),
                       (uint64_t)(2 * vector_bytes(g) + g->zero_bytes + g->slot_bytes * g->slots));
}

/* The first channel of a group: the last group overlaps the previous one. */
static int64_t first_channel(const struct cpu_integer *g, int64_t number)
{
    int64_t last = g->n > g->loops->bytes ? g->n - g->loops->bytes : 0;

    return least(number * g->loops->bytes, last);
}

/* The position of channel `i` of a group among the sums. */
static int64_t position(const struct cpu_integer *g, int64_t i)
{
    return i % 16 / 4 * (g->loops->bytes / 4) + i / 16 * 4 + i % 4;
}

/* With fewer channels than bytes of a vector, the channels repeat: see pixels_together. */
static void pack_tap(const struct cpu_op *p, const int8_t *w, int64_t first, char *panel,
                     int64_t tap)
{
    const struct cpu_integer *g = &p->integer;
    int32_t *sums = (int32_t *)(void *)panel;
    int8_t *to = (int8_t *)(panel + 4 * g->loops->bytes);

    to += tap / 4 * 4 * g->loops->bytes + tap % 4;
    for (int64_t i = 0; i < g->loops->bytes; i++) {
        int8_t value = w[(first + i) % g->n * p->plan.convolution.w_group];

        to[4 * position(g, i)] = value;
        sums[position(g, i)] -= g->shift * value;
    }
}

void cpu_integer_depthwise_pack(const struct cpu_op *p, const int8_t *w, char *packed)
{
    const struct cpu_integer *g = &p->integer;
    const struct cpu_window *v = &p->plan.convolution.window;
    const int64_t *step = p->plan.convolution.w, padded = cut(v->kernel[2], 4) * 4;

    memset(packed, 0, (size_t)(g->panels * g->panel_bytes));
    for (int64_t n = 0; n < g->panels; n++, packed += g->panel_bytes)
        for (int64_t i = 0; i < v->kernel[0] * v->kernel[1]; i++)
            for (int64_t k = 0; k < v->kernel[2]; k++)
                pack_tap(p,
                         w + i / v->kernel[1] * step[2] + i % v->kernel[1] * step[3] + k * step[4],
                         first_channel(g, n), packed, i * padded + k);
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct lines {
    struct cpu_integer_run run;
    struct cpu_integer_line like; /* the members that all lines share */
    bool is_bytes;                /* integer_line computes the steps */
    const uint8_t *zeros;
    int64_t piece, count; /* the lines of a task, and of all */
};

/* The number of neighbouring pixels whose channels fill a vector of bytes; 1: they do not. */
static int64_t pixels_together(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t bytes = p->integer.loops->bytes;

    return w->stride[2] == 1 && w->x[4] == w->channels && w->y[4] == w->channels &&
                   bytes % w->channels == 0
               ? bytes / w->channels
               : 1;
}

/* Copies the bias or the scale in the order of the sums. */
static void bring_vector(const struct cpu_integer *g, const float *from, float otherwise, float *to)
{
    for (int64_t n = 0; n < g->panels; n++)
        for (int64_t i = 0; i < g->loops->bytes; i++) {
            int64_t c = (first_channel(g, n) + i) % g->n;

            to[n * g->loops->bytes + position(g, i)] = from ? from[c] : otherwise;
        }
}

/* The address of each tap of a pixel, at channel 0. */
static void find_taps(const struct lines *s, const struct cpu_integer_pixel *at,
                      const uint8_t **out)
{
    const struct cpu_window *w = &s->run.op->plan.convolution.window;
    const uint8_t *x = (const uint8_t *)s->run.args->in[0] + at->image * w->x[0];
    int64_t padded = cut(w->kernel[2], 4) * 4, begin[3];

    for (int i = 0; i < 3; i++)
        begin[i] = at->at[i] * w->stride[i] - w->pad[i];
    for (int64_t i = 0; i < w->kernel[0] * w->kernel[1]; i++) {
        int64_t deep = begin[0] + i / w->kernel[1] * w->dilation[0];
        int64_t high = begin[1] + i % w->kernel[1] * w->dilation[1];
        bool inside = deep >= 0 && deep < w->in[0] && high >= 0 && high < w->in[1];

        for (int64_t k = 0; k < padded; k++) {
            int64_t wide = begin[2] + k * w->dilation[2];

            *out++ = inside && k < w->kernel[2] && wide >= 0 && wide < w->in[2]
                         ? x + deep * w->x[2] + high * w->x[3] + wide * w->x[4]
                         : s->zeros;
        }
    }
}

/* Copies the taps of a pixel whose channels are not contiguous. */
static void copy_taps(const struct lines *s, const uint8_t **tap, unsigned slot)
{
    const struct cpu_integer *g = &s->run.op->integer;
    int64_t step = s->run.op->plan.convolution.window.x[1];
    uint8_t *to = (uint8_t *)s->run.rows + slot * g->slot_bytes;

    for (int64_t t = 0; t < 4 * g->k_groups; t++) {
        if (tap[t] == s->zeros)
            continue;
        for (int64_t c = 0; c < g->n; c++)
            to[c] = tap[t][c * step];
        tap[t] = to;
        to += g->n;
    }
}

/* Computes the pixels of a line one by one, with any steps. */
static void do_pixels(const struct lines *s, const struct cpu_integer_line *l, int64_t pixel)
{
    const struct cpu_integer *g = &s->run.op->integer;
    int32_t sums[INTEGER_MOST_BYTES];
    int32_t row[INTEGER_MOST_COLUMNS] __attribute__((aligned(64))) = { 0 };

    for (int64_t i = 0; i < l->pixels; i++) {
        struct cpu_integer_place place;

        place = cpu_integer_place_of(&s->run, 0, pixel + i);
        for (int64_t n = 0; n < g->panels; n++) {
            int64_t first = first_channel(g, n), c = n * g->loops->bytes;
            int64_t end = least(c + g->loops->bytes, g->n);

            g->loops->depthwise(l, i * l->x_next + first, least(g->n, g->loops->bytes),
                                l->packed + n * g->panel_bytes, sums);
            for (; c < end; c += INTEGER_MOST_COLUMNS) {
                int64_t columns = least(end - c, INTEGER_MOST_COLUMNS);

                memcpy(row, sums + c - first, (size_t)columns * sizeof(*row));
                cpu_integer_put(&s->run, c, columns, 1, row, &place);
            }
        }
    }
}

/* Computes `pixels` pixels from `at` on, number `first` of y, which share their table of taps. */
static void do_some(const struct lines *s, const struct cpu_integer_pixel *at, int64_t first,
                    int64_t pixels, unsigned slot)
{
    const struct cpu_integer *g = &s->run.op->integer;
    const uint8_t *tap[4 * MOST_QUADS];
    struct cpu_integer_line l = s->like;

    find_taps(s, at, tap);
    if (!g->is_in_place)
        copy_taps(s, tap, slot);
    l.tap = tap;
    l.pixels = pixels;
    if (!s->is_bytes) {
        do_pixels(s, &l, first);
        return;
    }
    l.y = (uint8_t *)cpu_integer_place_of(&s->run, 0, first).y;
    g->loops->line(&l);
}

/* The pixels of a line whose taps are all inside the image along the line. */
static void find_inner(const struct cpu_window *w, int64_t *out_first, int64_t *out_end)
{
    int64_t last = w->in[2] + w->pad[2] - (w->kernel[2] - 1) * w->dilation[2] - 1;

    *out_first = least(cut(w->pad[2], w->stride[2]), w->out[2]);
    *out_end = last < 0 ? 0 : least(last / w->stride[2] + 1, w->out[2]);
}

static void do_lines(void *arg, int64_t task, unsigned slot)
{
    const struct lines *s = arg;
    const struct cpu_op *p = s->run.op;
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t first, end, line = task * s->piece, last = least(line + s->piece, s->count);

    find_inner(w, &first, &end);
    for (; line < last; line++) {
        struct cpu_integer_pixel at = cpu_integer_pixel_of(w, line * w->out[2]);

        while (at.at[2] < w->out[2]) {
            bool inner = p->integer.is_in_place && at.at[2] >= first && at.at[2] < end;
            int64_t pixels = inner ? end - at.at[2] : 1;

            do_some(s, &at, line * w->out[2] + at.at[2], pixels, slot);
            at.at[2] += pixels;
        }
    }
}

/* Sets the members that all lines share; the workspace has the vectors, zeros, and copies. */
static void begin(struct lines *s)
{
    const struct cpu_op *p = s->run.op;
    const struct cpu_integer *g = &p->integer;
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_integer_store *store = &s->run.store;
    char *space = s->run.args->workspace;
    float *bias = (float *)(void *)space, *scale = bias + vector_bytes(g) / 4;
    bool is_u8;

    cpu_integer_find_store(&s->run);
    bring_vector(g, store->bias, 0, bias);
    bring_vector(g, store->scale, 1, scale);
    space += 2 * vector_bytes(g);
    s->zeros = memset(space, 0, (size_t)g->zero_bytes);
    s->run.rows = space + g->zero_bytes;
    is_u8 = store->dtype == FERRY_U8;
    s->is_bytes = s->run.is_simple && store->dtype != FERRY_F32 && !store->adds &&
                  store->factor == 1 && store->term == 0;
    s->like = (struct cpu_integer_line){ .quads = g->k_groups,
                                         .channels = g->n,
                                         .x_next = w->stride[2] * w->x[4],
                                         .y_next = w->y[4],
                                         .together = pixels_together(p),
                                         .packed_bytes = g->panel_bytes,
                                         .is_signed = g->is_signed,
                                         .is_u8 = is_u8,
                                         .bias = bias,
                                         .scale = scale,
                                         .least = fmaxf(store->least, is_u8 ? 0 : -128),
                                         .most = fminf(store->most, is_u8 ? 255 : 127) };
}

void cpu_integer_depthwise_run(struct cpu_device *d, const struct cpu_op *p,
                               const struct cpu_op_args *args)
{
    const struct cpu_integer *g = &p->integer;
    const struct cpu_window *w = &p->plan.convolution.window;
    struct lines s = { .run = { .op = p, .args = args, .packed = args->packed } };
    int64_t tasks;

    begin(&s);
    if (!s.run.packed) {
        char *packed = s.run.rows + g->slot_bytes * g->slots;

        cpu_integer_depthwise_pack(p, args->in[1], packed);
        s.run.packed = packed;
    }
    s.like.packed = s.run.packed;
    s.count = w->images * w->out[0] * w->out[1];
    s.piece = cut(s.count, g->slots);
    tasks = cut(s.count, s.piece);
    if (g->slots > 1)
        workers_tasks(d->workers, tasks, do_lines, &s);
    else
        do_lines(&s, 0, 0);
}
