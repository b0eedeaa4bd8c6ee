/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "plot.h"
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A log, which has a line of JSON for each iteration. */
struct reading {
    struct plot *plot;
    const char *path;
    const char *prefix; /* the prefix of the curves' names: the file's name, or "" */
    int log;
    double latest; /* the latest iteration; NAN before the first one */
    size_t losses;
};

/* ---- curves ---------------------------------------------------------------------------------- */

static bool grow(struct plot *plot)
{
    struct plot_curve *grown;
    int room = plot->room ? 2 * plot->room : 16;

    if (plot->count < plot->room)
        return true;
    grown = realloc(plot->curves, (size_t)room * sizeof *grown);
    if (!grown)
        return false;
    plot->curves = grown;
    plot->room = room;
    return true;
}

/* The curve of this log with that name, created if the log has no such curve. NULL: no memory. */
static struct plot_curve *curve_of(struct reading *r, const char *name)
{
    struct plot *plot = r->plot;
    size_t size = strlen(r->prefix) + strlen(name) + 1;
    struct plot_curve *c;
    char *full = malloc(size);

    if (!full || !grow(plot)) {
        free(full);
        return NULL;
    }
    snprintf(full, size, "%s%s", r->prefix, name);
    for (c = plot->curves; c < plot->curves + plot->count; c++)
        if (c->log == r->log && !strcmp(c->name, full)) {
            free(full);
            return c;
        }
    plot->count++;
    *c = (struct plot_curve){ .name = full, .log = r->log, .colour = plot->colours++ };
    return c;
}

/*
 * Removes the iterations from this one on: a resumed training begins at a snapshot and repeats
 * them.
 */
static void cut(struct plot_curve *c, double from)
{
    while (c->count && c->at[c->count - 1].x >= from)
        c->count--;
}

static bool add(struct plot_curve *c, double x, double y)
{
    cut(c, x);
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

void plot_free(struct plot *plot)
{
    for (int i = 0; i < plot->count; i++) {
        free(plot->curves[i].name);
        free(plot->curves[i].at);
    }
    free(plot->curves);
    *plot = (struct plot){ 0 };
}

/* ---- lines ----------------------------------------------------------------------------------- */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/*
 * Adds both losses of training with one hue. The smoothed loss comes first, so that the other is
 * drawn over it.
 */
static bool add_losses(struct reading *r, double iter, const json_t *line)
{
    struct plot_curve *smoothed = curve_of(r, "smoothed loss"), *loss;
    int colour = smoothed ? smoothed->colour : 0;

    if (!smoothed || !add(smoothed, iter, number_of(line, "smoothed_loss")))
        return false;
    smoothed->smooth = true;
    loss = curve_of(r, "loss");
    if (!loss || !add(loss, iter, number_of(line, "loss")))
        return false;
    loss->colour = colour;
    r->losses++;
    return true;
}

/*
 * Whether the name is that of a loss: "loss3/top-1" of GoogLeNet is a score, "loss3/loss3" a loss.
 */
static bool is_loss(const char *name)
{
    const char *slash = strrchr(name, '/');

    return strstr(slash ? slash : name, "loss") != NULL;
}

static bool add_score(struct reading *r, int net, double iter, const char *key, double value)
{
    struct plot_curve *c;
    char name[256];

    snprintf(name, sizeof name, "test net %d: %.200s", net, key);
    c = curve_of(r, name);
    if (!c)
        return false;
    c->dots = true;
    c->score = !is_loss(key);
    return add(c, iter, value);
}

/*
 * Adds the tests of one line. The test nets of one iteration are in order; a line may have the
 * tests of two iterations.
 */
static bool add_tests(struct reading *r, const json_t *line)
{
    const json_t *tests = json_object_get(line, "test");
    double before = NAN;
    bool good = true;
    int number = 0;

    for (size_t i = 0; good && i < json_array_size(tests); i++) {
        json_t *net = json_array_get(tests, i), *value;
        double iter = number_of(net, "iter");
        const char *key;

        number = iter == before ? number + 1 : 0;
        before = iter;
        json_object_foreach(net, key, value)
        {
            if (good && strcmp(key, "iter") != 0 && json_is_number(value))
                good = add_score(r, number, iter, key, json_number_value(value));
        }
    }
    return good;
}

static int take_line(struct reading *r, long number, const char *text)
{
    json_error_t error;
    json_t *line = json_loads(text, 0, &error);
    double iter = number_of(line, "iter");
    bool good = true;

    if (!json_is_object(line) || !isfinite(iter)) {
        json_decref(line);
        return tool_error(TOOL_FAILURE, "%s:%ld: not a line of `ferry train --log`: %s", r->path,
                          number, line ? "it lacks \"iter\"" : error.text);
    }
    if (iter <= r->latest)
        for (int i = 0; i < r->plot->count; i++)
            if (r->plot->curves[i].log == r->log)
                cut(&r->plot->curves[i], iter);
    r->latest = iter;
    if (json_object_get(line, "loss"))
        good = add_losses(r, iter, line);
    good = good && add_tests(r, line);
    json_decref(line);
    return good ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

static int read_lines(struct reading *r, FILE *f)
{
    char *text = NULL;
    size_t room = 0;
    long number = 0;
    int status = TOOL_OK;

    while (status == TOOL_OK && getline(&text, &room, f) > 0) {
        number++;
        if (text[strspn(text, " \t\r\n")])
            status = take_line(r, number, text);
    }
    if (status == TOOL_OK && ferror(f))
        status = tool_error(TOOL_FAILURE, "%s: %s", r->path, strerror(errno));
    if (status == TOOL_OK && !r->losses)
        status = tool_error(TOOL_FAILURE, "%s: there are no losses in it", r->path);
    free(text);
    return status;
}

int plot_read(struct plot *plot, const char *path, bool names_log)
{
    struct reading r = { .plot = plot, .path = path, .latest = NAN };
    char prefix[128] = "";
    FILE *f = fopen(path, "r");
    const char *slash = strrchr(path, '/');
    int status;

    if (!f)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    if (names_log)
        snprintf(prefix, sizeof prefix, "%.100s, ", slash ? slash + 1 : path);
    r.prefix = prefix;
    r.log = plot->count ? plot->curves[plot->count - 1].log + 1 : 0;
    status = read_lines(&r, f);
    fclose(f);
    return status;
}
