/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/base/permit.h"
#include "core/base/os_posix.h"

#include <ferry/status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In a folder with the sticky bit, a user cannot replace a file that belongs to another user. */
static bool is_shared_safely(const struct stat *what)
{
    return S_ISDIR(what->st_mode) && (what->st_mode & S_ISVTX);
}

static int refuse_writable(const char *path, const char *who, char letter,
                           struct ferry__refusal *refusal)
{
    char hint[sizeof(refusal->hint)];

    /* a truncated command would be useless */
    if (snprintf(hint, sizeof(hint), "chmod %c-w %s", letter, path) >= (int)sizeof(hint))
        hint[0] = '\0';
    return ferry__refuse(refusal, FERRY_EPERM, hint, "%s can be written by %s", path, who);
}

static int check_one(const char *path, const struct stat *what, const struct ferry__trust *trust,
                     char *out_loose, size_t loose_size, struct ferry__refusal *refusal)
{
    char hint[sizeof(refusal->hint)];

    if ((what->st_mode & S_IWOTH) && !is_shared_safely(what))
        return refuse_writable(path, "every user", 'o', refusal);
    if (what->st_uid != 0 && what->st_uid != trust->user && what->st_uid != trust->owner) {
        if (snprintf(hint, sizeof(hint), "chown root %s", path) >= (int)sizeof(hint))
            hint[0] = '\0';
        return ferry__refuse(refusal, FERRY_EPERM, hint,
                             "%s belongs to user %lu, which is neither root, nor "
                             "the user of this process, nor the owner of libferry",
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

/* Checks one component of a real path, which contains no link. */
static int look(const char *path, struct stat *out, struct ferry__refusal *refusal)
{
    if (lstat(path, out) != 0)
        return ferry__refuse(refusal, FERRY_EPERM, "", "%s: %s", path, strerror(errno));
    if (S_ISLNK(out->st_mode))
        return ferry__refuse(refusal, FERRY_EPERM, "start the program again",
                             "%s was replaced by a link during the check", path);
    return 0;
}

/* Checks the folder and all above it, from the root down, and caches it if it passed. */
static int check_folders(const char *folder, const struct ferry__trust *trust,
                         struct ferry__permitted *last, struct ferry__refusal *refusal)
{
    size_t length = strlen(folder);
    char above[PATH_MAX];
    int err = 0;

    last->folder[0] = last->loose[0] = '\0';
    for (size_t end = 1; !err && end <= length; end++) {
        struct stat st;

        if (end > 1 && end < length && folder[end] != '/')
            continue;
        memcpy(above, folder, end);
        above[end] = '\0';
        err = look(above, &st, refusal);
        if (!err)
            err = check_one(above, &st, trust, last->loose, sizeof(last->loose), refusal);
    }
    if (!err)
        memcpy(last->folder, folder, length + 1);
    return err;
}

/* Whether the path leads to the checked file, now that no untrusted user can change the path. */
static int check_same(const char *path, const struct stat *file, struct ferry__refusal *refusal)
{
    struct stat st;
    int err = look(path, &st, refusal);

    if (!err && (st.st_dev != file->st_dev || st.st_ino != file->st_ino))
        err = ferry__refuse(refusal, FERRY_EPERM, "start the program again",
                            "%s was replaced during the check", path);
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
    return err ? err : check_same(path, file, refusal);
}

/* The real path of a folder, or of the nearest existing folder above it; NULL with an errno. */
static char *nearest(const char *path)
{
    char above[PATH_MAX];
    char *real = NULL;

    if (path[0] != '/' || strlen(path) >= sizeof(above)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    memcpy(above, path, strlen(path) + 1);
    while (!(real = realpath(above, NULL)) && errno == ENOENT && above[1]) {
        char *slash = strrchr(above, '/');

        slash[slash == above] = '\0';
    }
    return real;
}

int ferry__permit_folder(const char *path, const struct ferry__trust *trust,
                         char out_loose[PATH_MAX], struct ferry__refusal *refusal)
{
    struct ferry__permitted last = { 0 };
    char *real = nearest(path);
    struct stat st;
    int err;

    out_loose[0] = '\0';
    if (!real)
        return ferry__refuse(refusal, FERRY_EPERM, "", "%s: %s", path, strerror(errno));
    err = check_folders(real, trust, &last, refusal);
    if (!err)
        err = look(real, &st, refusal);
    if (!err && (st.st_mode & S_IWOTH))
        err = ferry__refuse(refusal, FERRY_EPERM, "", "every user can put a file into %s", real);
    if (!err && (st.st_mode & S_IWGRP) && trust->strict) /* check_folders accepts sticky ones */
        err = ferry__refuse(refusal, FERRY_EPERM, "", "its group can put a file into %s", real);
    memcpy(out_loose, last.loose, strlen(last.loose) + 1);
    if (!err && (st.st_mode & S_IWGRP) && !out_loose[0])
        snprintf(out_loose, PATH_MAX, "%s", real);
    free(real);
    return err;
}

void ferry__trust_of_process(struct ferry__trust *out)
{
    out->user = geteuid();
    out->owner = ferry__os_library_owner();
    out->strict = out->user == 0 || ferry__os_is_secure();
}
