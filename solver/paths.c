/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* The paths of a solver's files. */
#include "solver/state.h"

#include <ferry/status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The length of a path's folder, including the slash. */
static size_t folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash + 1 - path) : 0;
}

/* The first `folder` bytes of one path, followed by another path. */
static char *join(const char *path, size_t folder, const char *rest)
{
    char *out = malloc(folder + strlen(rest) + 1);

    if (out) {
        memcpy(out, path, folder);
        strcpy(out + folder, rest);
    }
    return out;
}

/* Reports a path that does not exist, nor `first`, which may be NULL, or `second`. */
static int not_found(const char *path, const char *first, const char *second)
{
    if (strcmp(path, second) == 0)
        return ferry_error_set(FERRY_EIO, "\"%.300s\": %s", path, strerror(ENOENT));
    if (first && strcmp(first, second) != 0 && strcmp(first, path) != 0)
        return ferry_error_set(FERRY_EIO, "\"%.300s\": %s; likewise \"%.300s\" and \"%.300s\"",
                               path, strerror(ENOENT), first, second);
    return ferry_error_set(FERRY_EIO, "\"%.300s\": %s; likewise \"%.300s\"", path, strerror(ENOENT),
                           second);
}

int ferry__solver_find(const char *path, const char *namer, char **out)
{
    bool here = !path[0] || !access(path, F_OK);
    size_t folder = folder_of(namer);
    char *found = here ? join(path, 0, path) : NULL;
    char *whole = here || path[0] == '/' ? NULL : join(namer, folder, path);
    char *alone = here ? NULL : join(namer, folder, path + folder_of(path));
    int err = FERRY_OK;

    if (!found && (!alone || (!whole && path[0] != '/')))
        err = ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for its path", path);
    else if (!found && whole && !access(whole, F_OK))
        found = join(whole, 0, whole);
    else if (!found && !access(alone, F_OK))
        found = join(alone, 0, alone);
    else if (!found)
        err = not_found(path, whole, alone);
    if (!err && !found)
        err = ferry_error_set(FERRY_ENOMEM, "%.400s: no memory for its path", path);
    if (!err && !here)
        ferry_log_write(FERRY_LOG_INFO, "ferry: %s: \"%s\" is read from %s", namer, path, found);
    if (!err)
        *out = found;
    free(whole);
    free(alone);
    return err;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;

    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* The text's path without its suffix. */
static char *stem_of(const char *text, size_t from)
{
    const char *dot = strrchr(text + from, '.');
    char *out = join(text, 0, text + from);

    if (out && dot)
        out[dot - text - (ptrdiff_t)from] = '\0';
    return out;
}

/* A prefix whose folder exists relative to the text but not relative to the working directory. */
static char *beside(const char *prefix, const char *text)
{
    size_t own = folder_of(prefix), folder = folder_of(text);
    char *here = join(prefix, own, ""), *there = join(text, folder, prefix);
    bool moves = false;

    if (here && there && own && prefix[0] != '/' && !is_folder(here)) {
        char kept = there[folder + own];

        there[folder + own] = '\0';
        moves = is_folder(there);
        there[folder + own] = kept;
    }
    free(here);
    if (moves) {
        ferry_log_write(FERRY_LOG_INFO, "ferry: %s: snapshots are written to %s", text, there);
        return there;
    }
    free(there);
    return join(prefix, 0, prefix);
}

/* If the prefix is a folder, the text's name is appended. */
static char *within(const char *folder, const char *text)
{
    char *stem = stem_of(text, folder_of(text));
    size_t size = strlen(folder) + (stem ? strlen(stem) : 0) + 2;
    char *out = stem ? malloc(size) : NULL;

    if (out) {
        snprintf(out, size, "%s/%s", folder, stem);
        ferry_log_write(FERRY_LOG_INFO, "snapshot_prefix was a directory and is replaced to %s",
                        out);
    }
    free(stem);
    return out;
}

int ferry__prefix_make(const ferry_proto *p, const char *text, char **out)
{
    const char *given = ferry_proto_string(p, "snapshot_prefix", 0, NULL);

    if (!given[0]) {
        *out = stem_of(text, 0);
        if (*out)
            ferry_log_write(FERRY_LOG_INFO, "snapshot_prefix was not specified and is set to %s",
                            *out);
    } else {
        *out = is_folder(given) ? within(given, text) : beside(given, text);
    }
    return *out ? 0 : ferry_error_set(FERRY_ENOMEM, "%s: no memory for its snapshot_prefix", text);
}

int ferry__prefix_check(const char *prefix)
{
    char *probe = malloc(strlen(prefix) + sizeof ".probe.XXXXXX");
    int fd;

    if (!probe)
        return ferry_error_set(FERRY_ENOMEM, "%s: no memory", prefix);
    strcpy(probe, prefix);
    strcat(probe, ".probe.XXXXXX");
    fd = mkstemp(probe);
    if (fd < 0) {
        free(probe);
        return ferry_error_set(FERRY_EIO,
                               "Cannot write to snapshot prefix '%s': %s.  Make sure that the "
                               "directory exists and is writable.",
                               prefix, strerror(errno));
    }
    close(fd);
    unlink(probe);
    free(probe);
    return 0;
}

char *ferry__snapshot_path(const ferry_solver *s, const char *suffix)
{
    size_t size = strlen(s->prefix) + strlen(suffix) + 32;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s_iter_%d%s", s->prefix, s->iter, suffix);
    return path;
}
