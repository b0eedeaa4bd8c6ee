/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE 700
/*
 * The folder that layers may write to: ferry_net_options.allow_write, with symbolic links and ".."
 * resolved.
 */
#include "net/model/state.h"

#include <ferry/status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int ferry__net_allow_write(ferry_net *net, const char *folder)
{
    struct stat about;

    if (!folder)
        return 0;
    net->writes_to = realpath(folder, NULL);
    if (!net->writes_to)
        return ferry_error_set(errno == ENOMEM ? FERRY_ENOMEM : FERRY_EIO,
                               "allow_write: %.400s: %s", folder, strerror(errno));
    if (stat(net->writes_to, &about) != 0 || !S_ISDIR(about.st_mode))
        return ferry_error_set(FERRY_EIO, "allow_write: %.400s: it is not a directory", folder);
    return 0;
}

/*
 * The real path of a file that does not exist yet: the real path of its folder, and its name. NULL
 * with errno.
 */
static char *real_new(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL, *joined = NULL;
    size_t size = real ? strlen(real) + strlen(name) + 2 : 0;

    if (real)
        joined = malloc(size);
    if (joined)
        snprintf(joined, size, "%s%s%s", real, real[1] ? "/" : "", name);
    free(folder);
    free(real);
    return joined;
}

/*
 * The real path of a file. A dangling symbolic link is refused, since its target could be anywhere.
 * NULL with errno.
 */
static char *real_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat about;

    if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
        errno = EISDIR;
        return NULL;
    }
    return lstat(path, &about) == 0 ? realpath(path, NULL) : real_new(path);
}

static bool is_under(const char *real, const char *folder)
{
    size_t n = strlen(folder);

    if (n == 1) /* the folder is the root directory */
        return true;
    return !strncmp(real, folder, n) && real[n] == '/';
}

int ferry_layer_output_path(const ferry_layer *layer, const char *path, char *buf, size_t capacity)
{
    const char *folder;
    char *real;
    int err = 0;

    if (!layer || !path || !buf)
        return ferry_error_set(FERRY_EINVAL, "ferry_layer_output_path: NULL argument");
    folder = layer->net->writes_to;
    if (!folder)
        return ferry_layer_error(layer, FERRY_EPERM,
                                 "it would write \"%.400s\", but files are written only where the "
                                 "program allows it: allow_write of the net's options, "
                                 "--allow-write DIR of the command",
                                 path);
    real = real_path(path);
    if (!real)
        return ferry_layer_error(layer, errno == ENOMEM ? FERRY_ENOMEM : FERRY_EIO,
                                 "\"%.400s\": %s", path, strerror(errno));
    if (!is_under(real, folder))
        err = ferry_layer_error(layer, FERRY_EPERM,
                                "it would write \"%.400s\", which is not under \"%.400s\", the "
                                "folder of allow_write (--allow-write)",
                                path, folder);
    else if (strlen(real) >= capacity)
        err = ferry_layer_error(layer, FERRY_EOVERFLOW, "\"%.400s\": the path is too long", path);
    else
        memcpy(buf, real, strlen(real) + 1);
    free(real);
    return err;
}
