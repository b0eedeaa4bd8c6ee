/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* An upper limit of the number of commands. */
#define MOST_COMMANDS 64

static void print_help(FILE *to)
{
    fputs("usage: ferry COMMAND [ARGUMENTS]\n\n", to);
    for (size_t i = 0; i < tool_command_count; i++)
        fprintf(to, "    %-10s %s\n", tool_commands[i].name, tool_commands[i].summary);
    fputs("\n    --help, --version; `ferry COMMAND --help` prints more. See ferry(1).\n"
          "FERRY_BACKEND selects the device, as in FERRY_BACKEND=cpu or FERRY_BACKEND=cuda:1.\n",
          to);
}

static int unknown_command(const char *name)
{
    const char *names[MOST_COMMANDS];
    const char *near;
    size_t n = 0;

    for (; n < tool_command_count && n < MOST_COMMANDS; n++)
        names[n] = tool_commands[n].name;
    near = tool_nearest(name, names, n);
    if (near)
        return tool_error(TOOL_USAGE, "unknown command \"%s\"; did you mean \"%s\"?", name, near);
    return tool_error(TOOL_USAGE, "unknown command \"%s\"; see ferry --help", name);
}

static char help_option[] = "--help";

static int run(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "help") == 0) { /* "help COMMAND" is handled as "COMMAND
                                                      * --help" */
        argv[1] = argv[2];
        argv[2] = help_option;
    }
    if (argc < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return TOOL_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
        strcmp(argv[1], "version") == 0) {
        tool_printf("ferry %s\n", ferry_version());
        return TOOL_OK;
    }
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) {
            tool_output_keep();
            break;
        }
    for (size_t i = 0; i < tool_command_count; i++)
        if (strcmp(argv[1], tool_commands[i].name) == 0)
            return tool_commands[i].run(&tool_commands[i], argc - 2, argv + 2);
    return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    FILE *to;
    int status;

    tool_log();
    status = run(argc, argv);
    to = tool_output();
    /* Flushes the output; a full disk behind a redirection is detected only here. */
    if ((fflush(to) != 0 || ferror(to)) && status == TOOL_OK)
        return tool_error(TOOL_FAILURE, "standard output: %s", strerror(errno));
    return status;
}
