/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/elf_paths.h"

#include <ferry/status.h>

#include <dirent.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DT_AUXILIARY
#define DT_AUXILIARY 0x7ffffffd
#define DT_FILTER    0x7fffffff
#endif

#define HINT_LINK "link it with absolute paths, or with $ORIGIN"

static bool is_needed(int64_t tag)
{
    return tag == DT_NEEDED || tag == DT_AUXILIARY || tag == DT_FILTER;
}

struct walk {
    const struct ferry__bytes *file;
    const struct ferry__dynamic *dynamic;
    const char *real;
    const struct ferry__trust *trust;
    struct ferry__refusal *refusal;
    struct ferry__permitted last; /* the latest of the libraries' folders that passed */
    char *loose;                  /* the first path that its group may write, in PATH_MAX bytes */
    bool origin;
};

/*
 * The subfolders that the linker searches before a folder, if they exist. glibc since 2.33 searches
 * those of glibc-hwcaps; glibc before 2.37 searches `platforms`, also nested in one another.
 */
#define HWCAPS "glibc-hwcaps"
static const char *const platforms[] = { "tls",      "x86_64",  "haswell", "xeon_phi",
                                         "avx512_1", "aarch64", "atomics" };
#define MOST_DEPTH 4

static bool read_string(const struct walk *w, uint64_t offset, char *out, size_t size)
{
    return ferry__dynamic_string(w->file, w->dynamic, offset, out, size);
}

static int refuse(const struct walk *w, const char *what, const char *text)
{
    return ferry__refuse(w->refusal, FERRY_EPERM, HINT_LINK, "its %s", text[0] ? text : what);
}

/* Expands an $ORIGIN at the beginning of `text` to the file's own folder; false: too long. */
static bool expand(struct walk *w, const char *text, char out[PATH_MAX])
{
    size_t skip = strncmp(text, "$ORIGIN", 7) == 0 ? 7 : strncmp(text, "${ORIGIN}", 9) == 0 ? 9 : 0;
    int folder = skip ? (int)(strrchr(w->real, '/') - w->real) : 0;

    if (skip && text[skip] && text[skip] != '/')
        skip = 0;
    w->origin |= skip > 0;
    return snprintf(out, PATH_MAX, "%.*s%s", skip ? folder : 0, w->real, text + skip) < PATH_MAX;
}

/*
 * Whether the text contains a word that the linker substitutes, besides an $ORIGIN at its
 * beginning.
 */
static bool has_words(const char *text)
{
    return strchr(text + (text[0] == '$'), '$') != NULL;
}

static void keep_loose(const struct walk *w, const char *loose)
{
    if (loose[0] && !w->loose[0])
        memcpy(w->loose, loose, strlen(loose) + 1);
}

/* Checks a needed library given by a path, if the file exists; dlopen reports a missing one. */
static int check_library(struct walk *w, const char *path)
{
    char *real = realpath(path, NULL);
    char loose[PATH_MAX];
    struct stat st;
    int err = 0;

    if (real && lstat(real, &st) == 0)
        err = ferry__permit_file(real, &st, w->trust, &w->last, loose, w->refusal);
    if (real && !err)
        keep_loose(w, loose);
    free(real);
    return err;
}

/* Checks the libraries that the file needs by name, if the folder contains them. */
static int check_found(struct walk *w, const char *folder)
{
    char name[NAME_MAX + 1], path[PATH_MAX];
    uint64_t value;
    int64_t tag;
    int err = 0;

    for (uint64_t i = 0; !err && ferry__dynamic_entry(w->file, w->dynamic, i, &tag, &value); i++) {
        if (is_needed(tag) && read_string(w, value, name, sizeof(name)) && name[0] &&
            !strpbrk(name, "/$") &&
            snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
            err = check_library(w, path);
    }
    return err;
}

/* Checks a folder that the linker searches. */
static int check_searched(struct walk *w, const char *path)
{
    char loose[PATH_MAX];
    int err = ferry__permit_folder(path, w->trust, loose, w->refusal);

    if (err)
        return err;
    keep_loose(w, loose);
    return check_found(w, path);
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Checks the subfolders of glibc-hwcaps, one for each kind of processor. */
static int check_hwcaps(struct walk *w, const char *folder)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *dir;
    int err = 0;

    if (snprintf(path, sizeof(path), "%s/" HWCAPS, folder) >= (int)sizeof(path) || !is_folder(path))
        return 0;
    err = check_searched(w, path);
    dir = err ? NULL : opendir(path);
    while (dir && !err && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' &&
            snprintf(path, sizeof(path), "%s/" HWCAPS "/%s", folder, entry->d_name) <
                (int)sizeof(path) &&
            is_folder(path))
            err = check_searched(w, path);
    if (dir)
        closedir(dir);
    return err;
}

/* Checks a folder and the subfolders that the linker searches. */
static int check_below(struct walk *w, const char *folder, int depth)
{
    int err = check_searched(w, folder);

    for (size_t i = 0; !err && depth < MOST_DEPTH && i < sizeof(platforms) / sizeof(platforms[0]);
         i++) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/%s", folder, platforms[i]) < (int)sizeof(path) &&
            is_folder(path))
            err = check_below(w, path, depth + 1);
    }
    return err;
}

/* Checks one folder of a RUNPATH, which is a string of its own. */
static int check_folder(struct walk *w, const char *entry)
{
    char path[PATH_MAX], why[sizeof(w->refusal->reason)];
    int err;

    if (!entry[0])
        return refuse(w, "RUNPATH has an empty entry, which is the working folder", "");
    if (!expand(w, entry, path) || path[0] != '/') {
        snprintf(why, sizeof(why), "RUNPATH has the relative entry \"%.200s\"", entry);
        return refuse(w, "", why);
    }
    if (has_words(entry)) {
        snprintf(why, sizeof(why),
                 "RUNPATH has %.200s, and the values of $LIB and $PLATFORM are unknown", entry);
        return refuse(w, "", why);
    }
    err = check_below(w, path, 0);
    if (!err)
        err = check_hwcaps(w, path);
    if (!err)
        return 0;
    snprintf(why, sizeof(why), "its RUNPATH has %.300s, and %.600s", entry, w->refusal->reason);
    memcpy(w->refusal->reason, why, sizeof(why));
    return err;
}

static int check_runpath(struct walk *w, uint64_t offset)
{
    char text[PATH_MAX], *entry = text, *colon;
    int err;

    if (!read_string(w, offset, text, sizeof(text)))
        return refuse(w, "RUNPATH cannot be read, or is too long", "");
    do {
        colon = strchr(entry, ':');
        if (colon)
            *colon = '\0';
        err = check_folder(w, entry);
        entry = colon ? colon + 1 : entry;
    } while (!err && colon);
    return err;
}

static int check_needed(struct walk *w, uint64_t offset)
{
    char text[PATH_MAX], path[PATH_MAX], why[320];

    if (!read_string(w, offset, text, sizeof(text)) || !text[0])
        return refuse(w, "needed library has no name", "");
    if (!strpbrk(text, "/$"))
        return 0;
    if (expand(w, text, path) && path[0] == '/' && !has_words(text))
        return check_library(w, path);
    snprintf(why, sizeof(why), "needed library \"%.200s\" is a relative path", text);
    return refuse(w, "", why);
}

int ferry__paths_check(const struct ferry__bytes *file, const struct ferry__dynamic *dynamic,
                       const char *real, const struct ferry__trust *trust, bool *out_origin,
                       char out_loose[PATH_MAX], struct ferry__refusal *refusal)
{
    struct walk w = { .file = file, .dynamic = dynamic, .real = real, .trust = trust };
    uint64_t value;
    int64_t tag;
    int err = 0;

    w.refusal = refusal;
    w.loose = out_loose;
    out_loose[0] = '\0';
    for (uint64_t i = 0; !err && ferry__dynamic_entry(file, dynamic, i, &tag, &value); i++) {
        if (tag == DT_RUNPATH || tag == DT_RPATH)
            err = check_runpath(&w, value);
        else if (is_needed(tag))
            err = check_needed(&w, value);
    }
    *out_origin = w.origin;
    return err;
}
