/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_PLOT_H
#define FERRY_TOOL_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* `ferry plot`: curves over iterations, of one or several logs, as a picture. */

struct plot_point {
    double x, y;
};

struct plot_curve {
    char *name;
    int log;     /* of which log it is, from 0 on */
    int colour;  /* curves of one number have one hue */
    bool smooth; /* a wide, light line, which does not hide others */
    bool dots;   /* marks at the points, too */
    bool score;  /* not a loss: it belongs to the axis on the right */
    struct plot_point *at;
    size_t count, room;
};

struct plot {
    struct plot_curve *curves;
    int count, room, colours;
    bool logarithmic; /* the axis of losses */
};

/* Reads a log of `ferry train --log`. Says what is wrong: an exit status. */
int plot_read(struct plot *plot, const char *path, bool names_log);

/* Writes an SVG with axes, ticks and a legend. The stream's errors are left to the caller. */
void plot_svg(FILE *to, const char *title, const struct plot *plot);

/* Frees the curves. */
void plot_free(struct plot *plot);

#endif
