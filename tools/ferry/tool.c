/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses the arguments of the subcommands. */

/* ---- arguments ------------------------------------------------------------------------------ */

static void print_help(const struct tool_command *self)
{
    tool_printf("usage: ferry %s %s\n\n%s.\n%s", self->name, self->arguments, self->summary,
                self->details);
}

/* Finds an option; for "--option=value" *out_value is the text after the equals sign. */
static const struct tool_option *find_option(const struct tool_option *options,
                                             const char *argument, const char **out_value)
{
    size_t length = strcspn(argument, "=");

    *out_value = NULL;
    for (; options->name; options++) {
        if (strcmp(argument, options->name) == 0 ||
            (options->brief && strcmp(argument, options->brief) == 0))
            return options;
        if (options->value && argument[length] && strncmp(argument, options->name, length) == 0 &&
            !options->name[length]) {
            *out_value = argument + length + 1;
            return options;
        }
    }
    return NULL;
}

/* Sets the option at argv[*i]; a value in the next argument is consumed. */
static bool take_option(const struct tool_command *self, const struct tool_option *option,
                        const char *value, int argc, char **argv, int *i)
{
    if (option->flag) {
        *option->flag = true;
        return true;
    }
    if (!value && *i + 1 < argc)
        value = argv[++*i];
    if (!value) {
        tool_error(TOOL_USAGE, "%s: %s requires a value; usage: ferry %s %s", self->name,
                   option->name, self->name, self->arguments);
        return false;
    }
    *option->value = value;
    return true;
}

/* The options of Caffe's command, without dashes, and their equivalents in ferry. */
static const struct {
    const char *theirs, *ours;
} caffe_options[] = {
    { "solver", "the solver is the first argument: ferry train SOLVER" },
    { "model", "the net is the first argument: ferry test NET WEIGHTS, ferry time NET" },
    { "weights", "--weights F, or the second argument of ferry test" },
    { "snapshot", "--snapshot F" },
    { "iterations", "--iterations N" },
    { "gpu", "FERRY_BACKEND=cuda:0 selects the device" },
    { "phase", "--phase, of ferry time and ferry run" },
};

/*
 * The hint for an option of Caffe's command, "-gpu", "--gpu" or "-gpu=0"; NULL for other options.
 */
static const char *caffe_hint(const char *argument)
{
    const char *name = argument + (argument[1] == '-' ? 2 : 1);
    const size_t length = strcspn(name, "=");

    for (size_t k = 0; k < sizeof(caffe_options) / sizeof(caffe_options[0]); k++) {
        if (strlen(caffe_options[k].theirs) == length &&
            strncmp(name, caffe_options[k].theirs, length) == 0)
            return caffe_options[k].ours;
    }
    return NULL;
}

static int unknown_option(const struct tool_command *self, const struct tool_option *options,
                          const char *argument)
{
    const char *names[32];
    const char *near, *hint = caffe_hint(argument);
    size_t n = 0;

    if (hint) {
        tool_error(TOOL_USAGE, "%s: unknown option \"%s\"; %s", self->name, argument, hint);
        return -2;
    }

    for (; options->name && n + 1 < sizeof(names) / sizeof(names[0]); options++)
        names[n++] = options->name;
    names[n++] = "--help";
    near = tool_nearest(argument, names, n);
    tool_error(TOOL_USAGE, "%s: unknown option \"%s\"%s%s%s", self->name, argument,
               near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return -2;
}

int tool_parse(const struct tool_command *self, int argc, char **argv,
               const struct tool_option *options, int most)
{
    bool only_operands = false;
    int n = 0;

    for (int i = 0; i < argc; i++) {
        const struct tool_option *option;
        const char *value;

        if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[n++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(self);
            return -1;
        } else {
            option = find_option(options, argv[i], &value);
            if (!option)
                return unknown_option(self, options, argv[i]);
            if (!take_option(self, option, value, argc, argv, &i))
                return -2;
        }
    }
    if (n > most) {
        tool_error(TOOL_USAGE, "%s: unexpected argument \"%s\"; usage: ferry %s %s", self->name,
                   argv[most], self->name, self->arguments);
        return -2;
    }
    return n;
}

int tool_parse_status(int result)
{
    return result == -1 ? TOOL_OK : TOOL_USAGE;
}

int tool_parse_number(const struct tool_command *self, const char *option, const char *text,
                      int64_t least, int64_t most, int64_t *out)
{
    char *end = NULL;
    long long n;

    if (!text)
        return TOOL_OK;
    n = strtoll(text, &end, 10); /* on overflow n is LLONG_MAX, which exceeds `most` */
    if (*end || end == text || n < least || n > most)
        return tool_error(TOOL_USAGE, "%s: %s %s: expected a number from %lld to %lld", self->name,
                          option, text, (long long)least, (long long)most);
    *out = n;
    return TOOL_OK;
}

unsigned tool_parse_timeout(const struct tool_command *self, const char *text)
{
    char *end;
    unsigned long seconds = strtoul(text, &end, 10);

    if (!*end && end != text && seconds >= 1 && seconds <= 86400)
        return (unsigned)seconds;
    tool_error(TOOL_USAGE, "%s: --timeout %s: expected seconds, 1 to 86400", self->name, text);
    return 0;
}

/* ---- the nearest name ----------------------------------------------------------------------- */

#define LONGEST_WORD 32

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* The number of insertions, deletions and replacements that turn one word into the other. */
static size_t edits(const char *from, const char *to)
{
    size_t n = strlen(to);
    size_t row[LONGEST_WORD + 1];

    if (n > LONGEST_WORD || strlen(from) > LONGEST_WORD)
        return LONGEST_WORD;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; from[i]; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t replaced = diagonal + (from[i] != to[j]);

            diagonal = row[j + 1];
            row[j + 1] = least(replaced, row[j] + 1, diagonal + 1);
        }
    }
    return row[n];
}

const char *tool_nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t fewest = strlen(word) / 2 + 1;

    for (size_t i = 0; i < n; i++) {
        size_t e = edits(word, candidates[i]);

        if (e < fewest) {
            fewest = e;
            best = candidates[i];
        }
    }
    return best;
}
