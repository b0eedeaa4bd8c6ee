/* SPDX-License-Identifier: BSD-2-Clause */
#include "plot.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH  800.0
#define HEIGHT 480.0
#define LEFT   72.0
#define RIGHT  24.0
#define TOP    40.0
#define BOTTOM 56.0

bool plot_add(struct plot_curve *c, double x, double y)
{
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 256;
        struct plot_point *grown = realloc(c->at, room * sizeof *grown);

        if (!grown)
            return false;
        c->at = grown;
        c->room = room;
    }
    c->at[c->count++] = (struct plot_point){ x, y };
    return true;
}

void plot_free(struct plot_curve *c)
{
    free(c->at);
    c->at = NULL;
    c->count = c->room = 0;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* An axis: its range and the distance of its ticks. */
struct range {
    double from, to, step;
};

/* 1, 2 or 5 times a power of ten, so that there are about `ticks` ticks. */
static double step_of(double span, int ticks)
{
    double raw = span / ticks, power = pow(10, floor(log10(raw))), part = raw / power;

    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static struct range range_of(double least, double most, int ticks)
{
    struct range r = { least, most, 1 };

    if (!(least <= most))
        r = (struct range){ 0, 1, 1 };
    if (!(r.to - r.from > fabs(r.to) * 1e-9))
        r.to = r.from + (fabs(r.from) > 0 ? fabs(r.from) : 1);
    r.step = step_of(r.to - r.from, ticks);
    r.from = floor(r.from / r.step) * r.step;
    r.to = ceil(r.to / r.step) * r.step;
    return r;
}

static void ranges(const struct plot_curve *curves, int count, struct range *x, struct range *y)
{
    double low[2] = { INFINITY, 0 }, high[2] = { -INFINITY, -INFINITY };

    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < curves[i].count; k++) {
            const struct plot_point *p = &curves[i].at[k];

            if (!isfinite(p->y) || !isfinite(p->x))
                continue;
            low[0] = fmin(low[0], p->x);
            high[0] = fmax(high[0], p->x);
            low[1] = fmin(low[1], p->y);
            high[1] = fmax(high[1], p->y);
        }
    *x = range_of(low[0], high[0], 8);
    *y = range_of(low[1], high[1], 6);
}

static double place_x(const struct range *r, double x)
{
    return LEFT + (x - r->from) / (r->to - r->from) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct range *r, double y)
{
    return HEIGHT - BOTTOM - (y - r->from) / (r->to - r->from) * (HEIGHT - TOP - BOTTOM);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void put_text(FILE *to, const char *text)
{
    bool plain;

    for (size_t n; *text; text += n) {
        n = tool_character(text, &plain);
        switch (*text) {
        case '<':
            fputs("&lt;", to);
            break;
        case '&':
            fputs("&amp;", to);
            break;
        case '"':
            fputs("&quot;", to);
            break;
        default:
            fwrite(plain ? text : "?", 1, plain ? n : 1, to);
        }
    }
}

static void axes(FILE *to, const struct range *x, const struct range *y)
{
    fputs("<g stroke=\"#ddd\" fill=\"#444\" font-size=\"12\">\n", to);
    for (int i = 0; x->from + i * x->step <= x->to + x->step / 2; i++) {
        double at = place_x(x, x->from + i * x->step);

        fprintf(to,
                "<path d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" stroke=\"none\" "
                "text-anchor=\"middle\">%g</text>\n",
                at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 18, x->from + i * x->step);
    }
    for (int i = 0; y->from + i * y->step <= y->to + y->step / 2; i++) {
        double at = place_y(y, y->from + i * y->step), value = y->from + i * y->step;

        fprintf(to,
                "<path d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" stroke=\"none\" "
                "text-anchor=\"end\">%g</text>\n",
                LEFT, at, WIDTH - RIGHT, LEFT - 8, at + 4, fabs(value) < y->step / 1e6 ? 0 : value);
    }
    fprintf(to,
            "<text x=\"%.1f\" y=\"%.1f\" stroke=\"none\" text-anchor=\"middle\">iteration</text>\n"
            "</g>\n<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#444\"/>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
}

static void curve(FILE *to, const struct plot_curve *c, const struct range *x,
                  const struct range *y)
{
    bool down = false;

    if (!c->dots)
        fputs("<path d=\"", to);
    for (size_t i = 0; i < c->count; i++) {
        const struct plot_point *p = &c->at[i];

        if (!isfinite(p->x) || !isfinite(p->y)) {
            down = false;
            continue;
        }
        if (c->dots)
            fprintf(to, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"%s\"/>\n", place_x(x, p->x),
                    place_y(y, p->y), c->colour);
        else
            fprintf(to, "%c%.2f %.2f", down ? 'L' : 'M', place_x(x, p->x), place_y(y, p->y));
        down = true;
    }
    if (!c->dots)
        fprintf(to, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"/>\n", c->colour, c->width);
}

static void legend(FILE *to, const struct plot_curve *curves, int count)
{
    double at = TOP + 16;

    for (int i = 0; i < count; i++) {
        if (!curves[i].count)
            continue;
        fprintf(to,
                "<path d=\"M%.1f %.1fh24\" stroke=\"%s\" stroke-width=\"3\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" font-size=\"13\" fill=\"#222\">",
                WIDTH - RIGHT - 168, at, curves[i].colour, WIDTH - RIGHT - 136, at + 4);
        put_text(to, curves[i].name);
        fputs("</text>\n", to);
        at += 20;
    }
}

void plot_svg(FILE *to, const char *title, const struct plot_curve *curves, int count)
{
    struct range x, y;

    ranges(curves, count, &x, &y);
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
            "height=\"%g\" font-family=\"sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%g\" y=\"24\" font-size=\"15\" fill=\"#222\">",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    put_text(to, title);
    fputs("</text>\n", to);
    axes(to, &x, &y);
    for (int i = 0; i < count; i++)
        curve(to, &curves[i], &x, &y);
    legend(to, curves, count);
    fputs("</svg>\n", to);
}
