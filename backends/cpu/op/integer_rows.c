/* SPDX-License-Identifier: BSD-2-Clause */
#include "integer_run.h"

#include <string.h>

/*
 * The rows of products of bytes that are not read in place. Lines of x are copied with their
 * padding, so that a row is a part of some lines and neighbouring rows share elements; or rows are
 * gathered one by one.
 */

static int64_t size_of(const struct cpu_integer *g)
{
    return g->loops->is_wide ? 2 : 1;
}

/* Gathers `n` channels from x on. AMX's products do not need I8 shifted. */
static char *bring_channels(const struct cpu_op *p, const char *x, int64_t step, int64_t n,
                            char *to)
{
    const struct cpu_integer *g = &p->integer;
    int64_t size = size_of(g);
    bool is_signed = g->is_signed && !g->amx;

    if ((step == 1 || n == 1) && size == g->x_size && g->shift == 0) {
        memcpy(to, x, (size_t)(n * size));
        return to + n * size;
    }
    if (step == 1 || n == 1) {
        g->loops->bring(n, x, is_signed, to);
        return to + n * size;
    }
    for (int64_t i = 0; i < n; i++, to += size)
        g->loops->bring(1, x + i * step * g->x_size, is_signed, to);
    return to;
}

/* Writes `n` elements of padding in the form of a. */
static char *bring_zeros(const struct cpu_integer *g, int64_t n, char *to)
{
    int64_t bytes = n * size_of(g);

    memset(to, g->shift & 255, (size_t)bytes);
    return to + bytes;
}

/* Gathers a line of taps at x; the first tap is at position `left` of the line. */
static char *bring_line(const struct cpu_op *p, const char *x, int64_t left, int64_t channels,
                        char *to)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t step = w->dilation[2], taps = w->kernel[2], size = p->integer.x_size, first = 0, end;

    if (left < 0)
        first = least((-left + step - 1) / step, taps);
    end = left < w->in[2] ? least((w->in[2] - left + step - 1) / step, taps) : first;
    end = end < first ? first : end;
    if (first)
        to = bring_zeros(&p->integer, first * channels, to);
    if (step == 1 && w->x[4] == channels && (w->x[1] == 1 || channels == 1))
        to =
            bring_channels(p, x + (left + first) * w->x[4] * size, 1, (end - first) * channels, to);
    else
        for (int64_t i = first; i < end; i++)
            to = bring_channels(p, x + (left + i * step) * w->x[4] * size, w->x[1], channels, to);
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
    const char *x = (const char *)r->args->in[0] +
                    (at.image * w->x[0] + group * channels * w->x[1]) * g->x_size;

    for (int64_t i = 0; i < w->kernel[0]; i++)
        for (int64_t j = 0; j < w->kernel[1]; j++) {
            int64_t deep = at.at[0] * w->stride[0] - w->pad[0] + i * w->dilation[0];
            int64_t high = at.at[1] * w->stride[1] - w->pad[1] + j * w->dilation[1];

            if (deep < 0 || deep >= w->in[0] || high < 0 || high >= w->in[1])
                to = bring_zeros(g, line, to);
            else
                to = bring_line(p, x + (deep * w->x[2] + high * w->x[3]) * g->x_size,
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
        bring_zeros(
            g, g->k_groups * g->loops->group - g->k,
            bring_channels(p, x + (first + i) * g->x_row * g->x_size, 1, g->k, to + i * g->a_row));
}

void cpu_integer_gather(const struct cpu_integer_run *r, int64_t group, int64_t first,
                        int64_t lines, char *to)
{
    const struct cpu_integer *g = &r->op->integer;
    int64_t unit = g->loops->unit;
    char *apart = to + g->line_block * g->line_bytes;

    for (int64_t l = first; l < first + lines; l++, to += g->line_bytes) {
        int64_t row = cpu_integer_first_row(g, l), rows = cpu_integer_rows(g, l);

        if (unit == 1) {
            bring_rows(r, group, row, rows, to);
            continue;
        }
        for (int64_t i = 0; i < rows; i += unit) {
            bring_rows(r, group, row + i, least(unit, rows - i), apart);
            g->loops->mix(g->a_row, apart, to + i * g->a_row);
        }
    }
}

int64_t cpu_integer_first_row(const struct cpu_integer *g, int64_t line)
{
    return line / g->pieces * g->stretch + line % g->pieces * g->line;
}

int64_t cpu_integer_rows(const struct cpu_integer *g, int64_t line)
{
    return least(g->line, g->stretch - line % g->pieces * g->line);
}

/* ---- copied lines --------------------------------------------------------------------------- */

/* The lines of x from the first one that a line of y reads to the last. */
static int64_t reach_of(const struct cpu_window *w)
{
    return w->dilation[1] * (w->kernel[1] - 1) + 1;
}

int64_t cpu_integer_copied_line(const struct cpu_window *w, int64_t line)
{
    int64_t image = (w->out[1] - 1) * w->stride[1] + reach_of(w);

    return line / w->out[1] * image + line % w->out[1] * w->stride[1];
}

int64_t cpu_integer_copied_lines(const struct cpu_window *w)
{
    return reach_of(w);
}

/* Copies a line of x, whose first pixel is at `x`, between its padding. */
static void copy_line(const struct cpu_op *p, const char *x, int64_t channels, char *to)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_integer *g = &p->integer;
    int64_t pixels = (w->out[2] - 1) * w->stride[2] + w->kernel[2];
    int64_t left = least(w->pad[2], pixels), middle = least(w->in[2], pixels - left);

    to = bring_zeros(g, left * g->pixel, to);
    if (g->reads_planes) {
        g->loops->bring_planes(middle, (const float *)(const void *)x, w->x[1], to);
        to += middle * g->pixel * size_of(g);
    } else if (w->x[4] == channels && (w->x[1] == 1 || channels == 1))
        to = bring_channels(p, x, 1, middle * channels, to);
    else
        for (int64_t i = 0; i < middle; i++)
            to = bring_channels(p, x + i * w->x[4] * g->x_size, w->x[1], channels, to);
    bring_zeros(g, (pixels - left - middle) * g->pixel, to);
}

void cpu_integer_copy(const struct cpu_integer_run *r, int64_t group, int64_t first, int64_t lines,
                      char *to)
{
    const struct cpu_op *p = r->op;
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_integer *g = &p->integer;
    int64_t image = cpu_integer_copied_line(w, w->out[1]), channels = w->channels / g->groups;
    int64_t line = cpu_integer_copied_line(w, first);
    int64_t end = cpu_integer_copied_line(w, first + lines - 1) + reach_of(w);
    const char *x = (const char *)r->args->in[0] + group * channels * w->x[1] * g->x_size;

    for (; line < end; line++, to += g->line_bytes) {
        int64_t high = line % image - w->pad[1];

        if (high < 0 || high >= w->in[1])
            bring_zeros(g, g->line_bytes / size_of(g), to);
        else
            copy_line(p, x + (line / image * w->x[0] + high * w->x[3]) * g->x_size, channels, to);
    }
    memset(to, 0, CPU_INTEGER_BEYOND);
}
