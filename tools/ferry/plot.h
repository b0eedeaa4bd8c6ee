/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PLOT_H
#define FERRY_TOOL_PLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Draws curves over iterations. */

struct plot_point {
    double x, y;
};

struct plot_curve {
    const char *name, *colour;
    double width;
    bool dots; /* a dot at each point, without a line */
    struct plot_point *at;
    size_t count, room;
};

/* Adds a point; NaN and infinities interrupt the line. Returns false if out of memory. */
bool plot_add(struct plot_curve *c, double x, double y);
void plot_free(struct plot_curve *c);

/* Writes an SVG with axes, ticks and a legend. The caller checks the stream for errors. */
void plot_svg(FILE *to, const char *title, const struct plot_curve *curves, int count);

#endif
