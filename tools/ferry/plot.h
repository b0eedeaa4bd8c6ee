/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PLOT_H
#define FERRY_TOOL_PLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Curves over iterations, as a picture. */

struct plot_point {
    double x, y;
};

struct plot_curve {
    const char *name, *colour;
    double width;
    bool dots; /* a mark at each point, and no line */
    struct plot_point *at;
    size_t count, room;
};

/* One more point; what is no number breaks the line. false: no memory. */
bool plot_add(struct plot_curve *c, double x, double y);
void plot_free(struct plot_curve *c);

/* Writes an SVG with axes, ticks and a legend. What the stream has to say is left to the caller. */
void plot_svg(FILE *to, const char *title, const struct plot_curve *curves, int count);

#endif
