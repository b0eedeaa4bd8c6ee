/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "paths.h"

#include "lines.h"
#include "tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool paths_is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int add(struct paths *paths, char *path)
{
    if (path && paths->count == paths->room) {
        size_t room = paths->room ? 2 * paths->room : 64;
        char **grown = realloc(paths->at, room * sizeof(*grown));

        if (grown) {
            paths->at = grown;
            paths->room = room;
        }
    }
    if (!path || paths->count == paths->room) {
        free(path);
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    paths->at[paths->count++] = path;
    return TOOL_OK;
}

static char *joined(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_picture(const char *name)
{
    static const char *const suffixes[] = { ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG" };
    const char *suffix = strrchr(name, '.');

    for (size_t i = 0; suffix && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (strcmp(suffix, suffixes[i]) == 0)
            return true;
    return false;
}

/* Reads the pictures of a folder, sorted by name. */
static int read_folder(const char *folder, struct paths *out)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int status = TOOL_OK;

    if (!dir)
        return tool_error(TOOL_FAILURE, "%s: %s", folder, strerror(errno));
    while (status == TOOL_OK && (entry = readdir(dir)))
        if (is_picture(entry->d_name))
            status = add(out, joined(folder, entry->d_name));
    closedir(dir);
    if (out->count)
        qsort(out->at, out->count, sizeof(*out->at), compare_paths);
    return status;
}

/* Adds the path of a line; the label after it in an ImageData list is ignored. */
static int add_line(void *paths, char *line)
{
    size_t length = strlen(line);
    char *space;

    while (length && strchr(" \t", line[length - 1]))
        line[--length] = '\0';
    space = strrchr(line, ' ');
    if (space && space[1] && space[1 + strspn(space + 1, "-0123456789.")] == '\0')
        *space = '\0';
    return *line ? add(paths, strdup(line)) : TOOL_OK;
}

int paths_read(struct paths *out, const char *path)
{
    int status = paths_is_folder(path) ? read_folder(path, out) : lines_read(path, add_line, out);

    if (status == TOOL_OK && out->count == 0)
        status = tool_error(TOOL_FAILURE, "%s: lists no pictures", path);
    return status;
}

void paths_end(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->at[i]);
    free(paths->at);
    *paths = (struct paths){ 0 };
}
