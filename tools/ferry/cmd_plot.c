/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "plot.h"
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* `ferry plot`: draws the losses in a log of `ferry train`. */

enum { LOSS, SMOOTHED, TESTED, CURVES };

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Adds those scores of a test whose name contains "loss". */
static bool add_tests(const json_t *line, struct plot_curve *c)
{
    const json_t *tests = json_object_get(line, "test");
    bool good = true;

    for (size_t i = 0; good && i < json_array_size(tests); i++) {
        const json_t *net = json_array_get(tests, i), *value;
        const char *key;

        json_object_foreach((json_t *)net, key,
                            value) if (strstr(key, "loss") && json_is_number(value)) good =
            good && plot_add(c, number_of(net, "iter"), json_number_value(value));
    }
    return good;
}

static int take_line(const char *path, long number, const char *text, struct plot_curve *curves)
{
    json_error_t error;
    json_t *line = json_loads(text, 0, &error);
    double iter = number_of(line, "iter");
    bool good = true;

    if (!json_is_object(line) || !isfinite(iter)) {
        json_decref(line);
        return tool_error(TOOL_FAILURE, "%s:%ld: not a line of `ferry train --log`: %s", path,
                          number, line ? "it lacks \"iter\"" : error.text);
    }
    if (json_object_get(line, "loss"))
        good = plot_add(&curves[LOSS], iter, number_of(line, "loss")) &&
               plot_add(&curves[SMOOTHED], iter, number_of(line, "smoothed_loss"));
    good = good && add_tests(line, &curves[TESTED]);
    json_decref(line);
    return good ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

static int read_log(const char *path, struct plot_curve *curves)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    long number = 0;
    int status = TOOL_OK;

    if (!f)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    while (status == TOOL_OK && getline(&text, &room, f) > 0) {
        number++;
        if (text[strspn(text, " \t\r\n")])
            status = take_line(path, number, text, curves);
    }
    if (status == TOOL_OK && ferror(f))
        status = tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    if (status == TOOL_OK && !curves[LOSS].count)
        status = tool_error(TOOL_FAILURE, "%s: there are no losses in it", path);
    free(text);
    fclose(f);
    return status;
}

static int write_svg(const char *path, const char *title, const struct plot_curve *curves)
{
    FILE *f = fopen(path, "w");
    bool good;

    if (!f)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    plot_svg(f, title, curves, CURVES);
    good = !ferror(f);
    if (fclose(f) || !good)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    return TOOL_OK;
}

int cmd_plot(const struct tool_command *self, int argc, char **argv)
{
    struct plot_curve curves[CURVES] = {
        [LOSS] = { .name = "loss", .colour = "#9ecae1", .width = 1 },
        [SMOOTHED] = { .name = "smoothed loss", .colour = "#08519c", .width = 2 },
        [TESTED] = { .name = "test loss", .colour = "#d94801", .dots = true },
    };
    const char *output = NULL;
    const struct tool_option options[] = {
        { "--output", "-o", NULL, &output },
        { NULL, NULL, NULL, NULL },
    };
    int n = tool_parse(self, argc, argv, options, 1), status;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 1 || !output)
        return tool_error(TOOL_USAGE, "%s: expected a log and -o FILE.svg", self->name);
    status = read_log(argv[0], curves);
    if (status == TOOL_OK)
        status = write_svg(output, argv[0], curves);
    for (int i = 0; i < CURVES; i++)
        plot_free(&curves[i]);
    return status;
}
