/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <stdio.h>
#include <string.h>

/*
 * `ferry complete`: the possible completions of the last word of a command line. The options come
 * from the help text of the command, so that there is no second list.
 */

/* The values of an option, separated by blanks. */
static const struct {
    const char *option, *values;
} option_values[] = {
    { "--format", TOOL_FORMATS(" ") },
    { "-f", TOOL_FORMATS(" ") },
    { "--dtype", "F32 F64 F16 BF16 I8 U8 I32 I64 U32" },
    { "--sort", "size name l1" },
    { "--phase", "TRAIN TEST" },
    { "--resume", "exact caffe" },
    { "--backend", "lmdb leveldb" },
};

static void offer(const char *candidate, size_t length, const char *word)
{
    size_t n = strlen(word);

    if (n <= length && memcmp(candidate, word, n) == 0)
        tool_printf("%.*s\n", (int)length, candidate);
}

static void offer_words(const char *words, const char *word)
{
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        offer(words, n, word);
    }
}

static void offer_commands(const char *word, bool also_options)
{
    for (size_t i = 0; i < tool_command_count; i++)
        offer(tool_commands[i].name, strlen(tool_commands[i].name), word);
    if (also_options)
        offer_words("help version --help --version", word);
}

/* ---- options -------------------------------------------------------------------------------- */

/* The next "--option" in `text`, and its length; NULL if there is none. */
static const char *next_option(const char *text, size_t *length)
{
    for (; (text = strstr(text, "--")); text += *length) {
        *length = 2 + strspn(text + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (*length > 2 && text[2] != '-')
            return text;
    }
    return NULL;
}

static bool is_among(const char *text, const char *end, const char *option, size_t length)
{
    size_t n;

    while ((text = next_option(text, &n)) && text < end) {
        if (n == length && memcmp(text, option, n) == 0)
            return true;
        text += n;
    }
    return false;
}

/* Prints each option of the command's details once. */
static void offer_options(const struct tool_command *command, const char *word)
{
    const char *at = command->details, *option;
    size_t n;

    while ((option = next_option(at, &n))) {
        if (!is_among(command->details, option, option, n))
            offer(option, n, word);
        at = option + n;
    }
    offer("--help", 6, word);
}

/* ---- words ---------------------------------------------------------------------------------- */

static const struct tool_command *find_command(const char *name)
{
    for (size_t i = 0; i < tool_command_count; i++)
        if (strcmp(tool_commands[i].name, name) == 0)
            return &tool_commands[i];
    return NULL;
}

static void complete_argument(const struct tool_command *command, const char *former,
                              const char *word)
{
    for (size_t i = 0; i < sizeof(option_values) / sizeof(option_values[0]); i++)
        if (strcmp(option_values[i].option, former) == 0) {
            offer_words(option_values[i].values, word);
            return;
        }
    if (word[0] == '-')
        offer_options(command, word);
}

/* Removes the equals sign: bash splits "--format=npz" into three words. */
static int drop_signs(int n, char **words)
{
    static char empty[] = "";
    int kept = 0;

    for (int i = 0; i < n; i++)
        if (strcmp(words[i], "=") != 0)
            words[kept++] = words[i];
        else if (i == n - 1)
            words[kept++] = empty;
    return kept;
}

int cmd_complete(const struct tool_command *self, int argc, char **argv)
{
    const struct tool_option options[] = { { NULL, NULL, NULL, NULL } };
    const struct tool_command *command;
    int n = tool_parse(self, argc, argv, options, 10000);

    if (n < 0)
        return tool_parse_status(n);
    n = drop_signs(n, argv);
    if (n < 2) {
        offer_commands(n ? argv[0] : "", true);
        return TOOL_OK;
    }
    command = find_command(argv[0]);
    if (command)
        complete_argument(command, argv[n - 2], argv[n - 1]);
    else if (strcmp(argv[0], "help") == 0 && n == 2)
        offer_commands(argv[1], false);
    return TOOL_OK;
}
