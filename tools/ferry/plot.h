/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PLOT_H
#define FERRY_TOOL_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* `ferry plot`: draws curves over iterations, from one or several logs, as a picture. */

struct plot_point {
    double x, y;
};

struct plot_curve {
    char *name;
    int log;     /* the index of its log */
    int colour;  /* curves with the same number have the same hue */
    bool smooth; /* the line is wide and light, so that it does not hide others */
    bool dots;   /* the points are marked, too */
    bool score;  /* the values are scores, which belong to the axis on the right */
    struct plot_point *at;
    size_t count, room;
};

struct plot {
    struct plot_curve *curves;
    int count, room, colours;
    bool logarithmic; /* the axis of losses is logarithmic */
};

/* Reads a log of `ferry train --log`. Returns an exit status, after reporting an error. */
int plot_read(struct plot *plot, const char *path, bool names_log);

/* Writes an SVG with axes, ticks and a legend. The stream's errors are left to the caller. */
void plot_svg(FILE *to, const char *title, const struct plot *plot);

/* Frees the curves. */
void plot_free(struct plot *plot);

#endif
