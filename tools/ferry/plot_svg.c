/* SPDX-License-Identifier: BSD-2-Clause */
#include "plot.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH  800.0
#define HEIGHT 480.0 /* excludes the legend, which is below */
#define LEFT   72.0
#define RIGHT  72.0
#define TOP    40.0
#define BOTTOM 56.0
#define ROW    20.0 /* the height of a row of the legend */

/* Two shades of each hue: for lines, and for wide lines that others cross. */
static const char *const shades[][2] = {
    { "#1f77b4", "#aec7e8" }, { "#ff7f0e", "#ffbb78" }, { "#2ca02c", "#98df8a" },
    { "#d62728", "#ff9896" }, { "#9467bd", "#c5b0d5" }, { "#8c564b", "#c49c94" },
    { "#e377c2", "#f7b6d2" }, { "#17becf", "#9edae5" }, { "#7f7f7f", "#c7c7c7" },
    { "#bcbd22", "#dbdb8d" },
};

static const char *colour_of(const struct plot_curve *c)
{
    return shades[c->colour % (int)(sizeof shades / sizeof *shades)][c->smooth];
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The range of an axis, and the distance of its ticks. */
struct range {
    double from, to, step;
    bool logarithmic; /* the values are decimal logarithms */
};

/* The distance of ticks: 1, 2 or 5 times a power of ten, so that there are about `ticks` ticks. */
static double step_of(double span, int ticks)
{
    double raw = span / ticks, power = pow(10, floor(log10(raw))), part = raw / power;

    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static struct range range_of(double least, double most, int ticks)
{
    struct range r = { least, most, 1, false };

    if (!(least <= most))
        r = (struct range){ 0, 1, 1, false };
    if (!(r.to - r.from > fabs(r.to) * 1e-9))
        r.to = r.from + (fabs(r.from) > 0 ? fabs(r.from) : 1);
    r.step = step_of(r.to - r.from, ticks);
    r.from = floor(r.from / r.step) * r.step;
    r.to = ceil(r.to / r.step) * r.step;
    return r;
}

/* The position of a value on an axis; NAN: the axis cannot show it. */
static double on_axis(bool logarithmic, double value)
{
    if (!logarithmic)
        return isfinite(value) ? value : (double)NAN;
    return value > 0 && isfinite(value) ? log10(value) : (double)NAN;
}

/*
 * Finds the range of iterations, or of the values of losses or scores. False: there are no values.
 */
static bool span_of(const struct plot *plot, bool of_x, bool scores, double *least, double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (int i = 0; i < plot->count; i++)
        for (size_t k = 0; k < plot->curves[i].count; k++) {
            const struct plot_curve *c = &plot->curves[i];
            double value = of_x ? c->at[k].x : on_axis(plot->logarithmic && !scores, c->at[k].y);

            if ((!of_x && c->score != scores) || !isfinite(value))
                continue;
            *least = fmin(*least, value);
            *most = fmax(*most, value);
        }
    return *least <= *most;
}

/*
 * The range of an axis of values: from 0 for losses; whole powers of ten on a logarithmic axis; 0
 * to 1 for scores that are shares.
 */
static struct range values_of(const struct plot *plot, bool scores)
{
    double least, most;
    struct range r;

    if (!span_of(plot, false, scores, &least, &most))
        return range_of(0, 1, 6);
    if (plot->logarithmic && !scores) {
        r = range_of(floor(least), fmax(ceil(most), floor(least) + 1), 6);
        r.step = fmax(1, r.step);
        r.logarithmic = true;
        return r;
    }
    if (scores && least >= 0 && most <= 1)
        return range_of(0, 1, 6);
    return range_of(fmin(least, 0), most, 6);
}

static double place_x(const struct range *r, double x)
{
    return LEFT + (x - r->from) / (r->to - r->from) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct range *r, double y)
{
    return HEIGHT - BOTTOM -
           (on_axis(r->logarithmic, y) - r->from) / (r->to - r->from) * (HEIGHT - TOP - BOTTOM);
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

/* The value of tick `i`; false: there is no such tick. */
static bool tick_at(const struct range *r, int i, double *out)
{
    double at = r->from + i * r->step;

    *out = r->logarithmic ? pow(10, at) : fabs(at) < r->step / 1e6 ? 0 : at;
    return at <= r->to + r->step / 2;
}

static void axis_below(FILE *to, const struct range *x)
{
    double value;

    for (int i = 0; tick_at(x, i, &value); i++) {
        double at = place_x(x, value);

        fprintf(to,
                "<path d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" stroke=\"none\" "
                "text-anchor=\"middle\">%g</text>\n",
                at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 18, value);
    }
    fprintf(to,
            "<text x=\"%.1f\" y=\"%.1f\" stroke=\"none\" "
            "text-anchor=\"middle\">iteration</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16);
}

/*
 * Draws an axis: horizontal lines for the losses, on the left; ticks without lines for the scores,
 * on the right.
 */
static void axis_beside(FILE *to, const struct range *y, bool right, const char *name)
{
    double value, x = right ? WIDTH - RIGHT : LEFT;

    for (int i = 0; tick_at(y, i, &value); i++) {
        double at = place_y(y, value);

        fprintf(to,
                "<path d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" stroke=\"none\" "
                "text-anchor=\"%s\">%g</text>\n",
                x, at, right ? x + 5 : WIDTH - RIGHT, right ? x + 8 : x - 8, at + 4,
                right ? "start" : "end", value);
    }
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" stroke=\"none\" text-anchor=\"%s\">%s</text>\n", x,
            TOP - 8, right ? "end" : "start", name);
}

static void axes(FILE *to, const struct range *x, const struct range *losses,
                 const struct range *scores)
{
    fputs("<g stroke=\"#ddd\" fill=\"#444\" font-size=\"12\">\n", to);
    axis_below(to, x);
    axis_beside(to, losses, false, "loss");
    if (scores)
        axis_beside(to, scores, true, "score");
    fprintf(to, "</g>\n<path d=\"M%.1f %.1fV%.1fH%.1fV%.1f\" fill=\"none\" stroke=\"#444\"/>\n",
            LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT, TOP);
}

static bool is_shown(const struct plot_point *p, const struct range *y)
{
    return isfinite(p->x) && isfinite(on_axis(y->logarithmic, p->y));
}

static void marks(FILE *to, const struct plot_curve *c, const struct range *x,
                  const struct range *y)
{
    for (size_t i = 0; i < c->count; i++)
        if (is_shown(&c->at[i], y))
            fprintf(to, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\" fill=\"%s\"/>\n",
                    place_x(x, c->at[i].x), place_y(y, c->at[i].y), colour_of(c));
}

/*
 * Draws a curve. A score's line is dashed. A value that the axis cannot show interrupts the line.
 */
static void curve(FILE *to, const struct plot_curve *c, const struct range *x,
                  const struct range *y)
{
    bool down = false;

    fputs("<path d=\"", to);
    for (size_t i = 0; i < c->count; i++) {
        bool shown = is_shown(&c->at[i], y);

        if (shown)
            fprintf(to, "%c%.2f %.2f", down ? 'L' : 'M', place_x(x, c->at[i].x),
                    place_y(y, c->at[i].y));
        down = shown;
    }
    fprintf(to, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"%s/>\n", colour_of(c),
            c->smooth ? 5.0 : 1.5, c->score ? " stroke-dasharray=\"6 3\"" : "");
    if (c->dots)
        marks(to, c, x, y);
}

/* Draws the legend in two columns below the picture, so that no curve is hidden. */
static void legend(FILE *to, const struct plot *plot)
{
    for (int i = 0; i < plot->count; i++) {
        const struct plot_curve *c = &plot->curves[i];
        double x = i % 2 ? WIDTH / 2 + 8 : LEFT, y = HEIGHT + ROW * (i / 2) + ROW / 2;

        fprintf(to,
                "<path d=\"M%.1f %.1fh24\" stroke=\"%s\" stroke-width=\"%g\"%s/>"
                "<text x=\"%.1f\" y=\"%.1f\" font-size=\"13\" fill=\"#222\">",
                x, y, colour_of(c), c->smooth ? 5.0 : 2.0,
                c->score ? " stroke-dasharray=\"6 3\"" : "", x + 32, y + 4);
        put_text(to, c->name);
        fputs("</text>\n", to);
    }
}

void plot_svg(FILE *to, const char *title, const struct plot *plot)
{
    double least, most, height = HEIGHT + ROW * ((plot->count + 1) / 2) + ROW / 2;
    bool any_score = span_of(plot, false, true, &least, &most);
    struct range losses = values_of(plot, false), scores = values_of(plot, true), x;

    span_of(plot, true, false, &least, &most);
    x = range_of(least, most, 8);
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
            "height=\"%g\" font-family=\"sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%g\" y=\"18\" font-size=\"15\" fill=\"#222\">",
            WIDTH, height, WIDTH, height, LEFT);
    put_text(to, title);
    fputs("</text>\n", to);
    axes(to, &x, &losses, any_score ? &scores : NULL);
    for (int i = 0; i < plot->count; i++)
        curve(to, &plot->curves[i], &x, plot->curves[i].score ? &scores : &losses);
    legend(to, plot);
    fputs("</svg>\n", to);
}
