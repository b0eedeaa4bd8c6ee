/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer.h"

#include "op.h"

#include <string.h>

/* The packed weights of products of bytes, and of BF16. */

/* The number of packed bytes, at least, that a thread takes at a time. */
#define PACKED_BYTES (32 * 1024)

/* The offset of the weight for element k of a row, for output 0 of a group. */
static int64_t weight_at(const struct cpu_op *p, int64_t k)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_turn *t = &p->plan.matrix.turn;
    const int64_t *wide = p->plan.convolution.w;
    int64_t at, channels, tap;

    if (p->integer.is_row) {
        at = t->rank ? cpu_turn_at(t, k) : k;
        return at * p->op.in[1].stride[1];
    }
    channels = w->channels / p->integer.groups;
    tap = k / channels;
    at = p->plan.convolution.w_first + k % channels * wide[1];
    return at + tap / w->kernel[2] / w->kernel[1] * wide[2] +
           tap / w->kernel[2] % w->kernel[1] * wide[3] + tap % w->kernel[2] * wide[4];
}

/*
 * Packs the weights of one panel, and the initial values of the sums, which compensate for the
 * number that is added to x.
 */
static void pack_panel(const struct cpu_op *p, const int8_t *w, int64_t output, int64_t columns,
                       char *to)
{
    const struct cpu_integer *g = &p->integer;
    int64_t width = g->loops->columns, group = g->loops->group;
    int32_t *first = (int32_t *)(void *)to;
    int8_t *b = (int8_t *)(first + width);

    memset(to, 0, (size_t)g->panel_bytes);
    for (int64_t k = 0; k < g->k; k++) {
        int64_t at = weight_at(p, k), place = k / g->span * g->k_groups * group + k % g->span;
        int8_t *row = b + place / group * group * width + place % group;

        for (int64_t j = 0; j < columns; j++) {
            int8_t value = w[at + j * output];

            row[j * group] = value;
            first[j] -= g->shift * value;
        }
    }
}

/* The same for BF16, whose sums begin at 0. */
static void pack_panel_of_bf16(const struct cpu_op *p, const float *w, int64_t output,
                               int64_t columns, char *to)
{
    const struct cpu_integer *g = &p->integer;
    int64_t width = g->loops->columns, group = g->loops->group;
    int64_t channels = g->reads_planes ? g->pixel - 1 : g->pixel;
    uint16_t *b = (uint16_t *)(void *)(to + width * (int64_t)sizeof(float));

    memset(to, 0, (size_t)g->panel_bytes);
    for (int64_t k = 0; k < g->k; k++) {
        int64_t place = k / g->span * g->k_groups * group + k % g->span / channels * g->pixel +
                        k % channels;
        const float *from = w + weight_at(p, k);
        uint16_t *row = b + place / group * group * width + place % group;

        for (int64_t j = 0; j < columns; j++)
            row[j * group] = cpu_bf16_of(from[j * output]);
    }
}

struct pack {
    const struct cpu_op *op;
    const void *w;
    char *packed;
};

/* Packs panels, those of one group after the other. */
static void pack_panels(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pack *s = arg;
    const struct cpu_op *p = s->op;
    const struct cpu_integer *g = &p->integer;
    int64_t output = g->is_row ? p->op.in[1].stride[0] : p->plan.convolution.w[0];
    int64_t next = g->is_row ? 0 : p->plan.convolution.w_group, width = g->loops->columns;

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        int64_t column = i % g->panels * width, columns = least(g->n - column, width);
        int64_t at = i / g->panels * next + column * output;
        char *packed = s->packed + i * g->panel_bytes;

        if (g->loops->is_bf16)
            pack_panel_of_bf16(p, (const float *)s->w + at, output, columns, packed);
        else
            pack_panel(p, (const int8_t *)s->w + at, output, columns, packed);
    }
}

void cpu_integer_pack(struct cpu_device *d, const struct cpu_op *p, const void *w, char *packed)
{
    const struct cpu_integer *g = &p->integer;

    workers_run(d->workers, g->groups * g->panels, 1 + PACKED_BYTES / g->panel_bytes, pack_panels,
                &(struct pack){ p, w, packed });
}
