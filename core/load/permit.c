/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/permit.h"

#include <ferry/status.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* In a folder with the sticky bit nobody replaces what belongs to another. */
static bool is_shared_safely(const struct stat *what)
{
    return S_ISDIR(what->st_mode) && (what->st_mode & S_ISVTX);
}

static int refuse_writable(const char *path, const char *who, char letter,
                           struct ferry__refusal *refusal)
{
    char hint[sizeof(refusal->hint)];

    /* Half a command would mend nothing. */
    if (snprintf(hint, sizeof(hint), "chmod %c-w %s", letter, path) >= (int)sizeof(hint))
        hint[0] = '\0';
    return ferry__refuse(refusal, FERRY_EPERM, hint, "%s can be written by %s", path, who);
}

static int check_one(const char *path, const struct stat *what, const struct ferry__trust *trust,
                     char *out_loose, size_t loose_size, struct ferry__refusal *refusal)
{
    char hint[sizeof(refusal->hint)];

    if ((what->st_mode & S_IWOTH) && !is_shared_safely(what))
        return refuse_writable(path, "everybody", 'o', refusal);
    if (what->st_uid != 0 && what->st_uid != trust->user && what->st_uid != trust->owner) {
        if (snprintf(hint, sizeof(hint), "chown root %s", path) >= (int)sizeof(hint))
            hint[0] = '\0';
        return ferry__refuse(refusal, FERRY_EPERM, hint,
                             "%s belongs to user %lu, who is neither root nor who runs this nor "
                             "the owner of libferry",
                             path, (unsigned long)what->st_uid);
    }
    if (!(what->st_mode & S_IWGRP) || is_shared_safely(what))
        return 0;
    if (trust->strict)
        return refuse_writable(path, "its group", 'g', refusal);
    if (!out_loose[0])
        snprintf(out_loose, loose_size, "%s", path);
    return 0;
}

/* The folder and all above it; passed, it is the last one that did. */
static int check_folders(const char *folder, const struct ferry__trust *trust,
                         struct ferry__permitted *last, struct ferry__refusal *refusal)
{
    char above[PATH_MAX];
    int err = 0;

    last->folder[0] = last->loose[0] = '\0';
    memcpy(above, folder, strlen(folder) + 1);
    while (!err) {
        char *slash = strrchr(above, '/');
        struct stat st;

        if (stat(above, &st) != 0)
            return ferry__refuse(refusal, FERRY_EPERM, "", "%s: %s", above, strerror(errno));
        err = check_one(above, &st, trust, last->loose, sizeof(last->loose), refusal);
        if (strcmp(above, "/") == 0)
            break;
        slash[slash == above] = '\0'; /* of the first slash the slash stays */
    }
    if (!err)
        memcpy(last->folder, folder, strlen(folder) + 1);
    return err;
}

int ferry__permit_file(const char *path, const struct stat *file, const struct ferry__trust *trust,
                       struct ferry__permitted *last, char out_loose[PATH_MAX],
                       struct ferry__refusal *refusal)
{
    char folder[PATH_MAX];
    size_t length = strlen(path);
    char *slash;
    int err;

    out_loose[0] = '\0';
    if (length >= sizeof(folder) || path[0] != '/')
        return ferry__refuse(refusal, FERRY_EPERM, "", "its path is too long, or not absolute");
    err = check_one(path, file, trust, out_loose, PATH_MAX, refusal);
    if (err)
        return err;
    memcpy(folder, path, length + 1);
    slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    if (strcmp(folder, last->folder) != 0)
        err = check_folders(folder, trust, last, refusal);
    if (!err && !out_loose[0])
        memcpy(out_loose, last->loose, strlen(last->loose) + 1);
    return err;
}
