/* SPDX-License-Identifier: BSD-2-Clause */
#include "plot.h"
#include "tool.h"

#include <errno.h>
#include <string.h>

/* `ferry plot`: draws the losses and scores in logs of `ferry train`. */

#define MOST_LOGS 64

static int write_svg(const char *path, const char *title, const struct plot *plot)
{
    FILE *f = fopen(path, "w");
    bool good;

    if (!f)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    plot_svg(f, title, plot);
    good = !ferror(f);
    if (fclose(f) || !good)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    return TOOL_OK;
}

int cmd_plot(const struct tool_command *self, int argc, char **argv)
{
    struct plot plot = { 0 };
    const char *output = NULL, *suffix;
    const struct tool_option options[] = {
        { "--output", "-o", NULL, &output },
        { "--log-axis", NULL, &plot.logarithmic, NULL },
        { NULL, NULL, NULL, NULL },
    };
    int n = tool_parse(self, argc, argv, options, MOST_LOGS), status = TOOL_OK;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 1 || !output)
        return tool_error(TOOL_USAGE, "%s: expected logs and -o FILE.svg", self->name);
    suffix = strrchr(output, '.');
    if (!suffix || strcmp(suffix, ".svg") != 0)
        return tool_error(TOOL_USAGE,
                          "%s: -o %s: expected a .svg, which rsvg-convert or a browser turns into "
                          "other formats",
                          self->name, output);
    for (int i = 0; status == TOOL_OK && i < n; i++)
        status = plot_read(&plot, argv[i], n > 1);
    if (status == TOOL_OK)
        status = write_svg(output, n > 1 ? "" : argv[0], &plot);
    plot_free(&plot);
    return status;
}
