/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "conform.h"

#include <ferry/runtime.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The plugin's options in the user's configuration. ferry must open the plugin to determine them,
 * so a child process does so and sends the key and value of each.
 */

static bool send_text(int fd, const char *text)
{
    size_t n = strlen(text) + 1;

    return write(fd, text, n) == (ssize_t)n;
}

static _Noreturn void ask(const char *plugin, int fd)
{
    ferry_runtime_option_info info = { .struct_size = sizeof info };
    ferry_runtime *rt;
    int count;

    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (ferry_runtime_open(NULL, &rt) != FERRY_OK)
        _exit(1);
    if (ferry_runtime_option_count(rt, plugin, &count) != FERRY_OK)
        _exit(1);
    for (int i = 0; i < count; i++)
        if (ferry_runtime_option_at(rt, plugin, i, &info) == FERRY_OK && !info.core &&
            info.origin[0] && (!send_text(fd, info.name) || !send_text(fd, info.value)))
            break;
    _exit(0);
}

static char *read_all(int fd, size_t *out_size)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t n = 1;

    while (n > 0) {
        char *grown = realloc(text, size + 4096);

        if (!grown)
            break;
        text = grown;
        n = read(fd, text + size, 4096);
        if (n > 0)
            size += (size_t)n;
    }
    *out_size = size;
    return text;
}

size_t conform_options(const char *plugin, struct conform_option *out, size_t most, char **out_text)
{
    size_t size = 0, n = 0;
    const char *text, *end;
    int ends[2];
    pid_t child;

    *out_text = NULL;
    if (pipe(ends) != 0)
        return 0;
    child = fork();
    if (child == 0)
        ask(plugin, ends[1]);
    close(ends[1]);
    text = *out_text = read_all(ends[0], &size);
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    end = text + size;
    while (text && text < end && n < most && end[-1] == '\0') {
        out[n].key = text;
        text += strlen(text) + 1;
        if (text >= end)
            break;
        out[n++].value = text;
        text += strlen(text) + 1;
    }
    return n;
}
