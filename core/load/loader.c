/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/loader.h"
#include "core/base/env.h"
#include "core/base/os_posix.h"
#include "core/base/place.h"
#include "core/load/loader_posix.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORIGIN_PATH "FERRY_PLUGIN_PATH"
#define ORIGIN_DIR  "plugindir"
#define ORIGIN_LAST "FERRY_PLUGIN_PATH_LAST"
#define FILE_PREFIX "ferry_"
#define FILE_SUFFIX ".so"

struct ferry__kept {
    struct ferry__kept *next;
    char text[];
};

/* ---- the report ----------------------------------------------------------------------------- */

/* Copies a string; NULL without memory. */
static const char *keep(struct ferry__search *search, const char *text)
{
    size_t size = strlen(text) + 1;
    struct ferry__kept *kept = size > 1 ? malloc(sizeof(*kept) + size) : NULL;

    if (!kept)
        return size > 1 ? NULL : "";
    memcpy(kept->text, text, size);
    kept->next = search->kept;
    search->kept = kept;
    return kept->text;
}

/* Copies a text of the report. If memory is short the text is empty, and the search continues. */
static const char *keep_words(struct ferry__search *search, const char *text)
{
    const char *kept = keep(search, text);

    return kept ? kept : "out of memory";
}

void ferry__loader_report(struct ferry__search *search, struct ferry__candidate *candidate,
                          const char *stage, int code, const char *reason, const char *hint)
{
    ferry_runtime_candidate_info *line = &candidate->line;

    line->stage = stage;
    if (strcmp(line->reason, reason) != 0)
        line->reason = keep_words(search, reason);
    if (strcmp(line->hint, hint) != 0)
        line->hint = keep_words(search, hint);
    line->ok = code == 0;
    candidate->code = code;
    if (code)
        ferry__log(FERRY_LOG_INFO, "%s: stopped at %s: %s", line->path, stage, reason);
}

static void report_refusal(struct ferry__search *search, struct ferry__candidate *candidate,
                           const char *stage, const struct ferry__refusal *refusal)
{
    ferry__loader_report(search, candidate, stage, refusal->code, refusal->reason, refusal->hint);
}

/* The plugin's name in a file's name: cuda for "ferry_cuda.so"; else the name without suffix. */
static const char *name_of_file(struct ferry__search *search, const char *path)
{
    const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t length = strlen(file);
    char name[NAME_MAX + 1];

    if (strncmp(file, FILE_PREFIX, strlen(FILE_PREFIX)) == 0 && length > strlen(FILE_PREFIX)) {
        file += strlen(FILE_PREFIX);
        length -= strlen(FILE_PREFIX);
    }
    if (length > strlen(FILE_SUFFIX) &&
        strcmp(file + length - strlen(FILE_SUFFIX), FILE_SUFFIX) == 0)
        length -= strlen(FILE_SUFFIX);
    snprintf(name, sizeof(name), "%.*s", (int)(length < NAME_MAX ? length : NAME_MAX), file);
    return keep(search, name);
}

static struct ferry__candidate *add_line(struct ferry__search *search, const char *name,
                                         const char *path, const char *origin)
{
    struct ferry__candidate *candidate = calloc(1, sizeof(*candidate));
    ferry_runtime_candidate_info line = {
        .struct_size = sizeof line,
        .name = name ? keep(search, name) : name_of_file(search, path),
        .path = keep(search, path),
        .origin = keep(search, origin),
        .stage = FERRY__STAGE_FOUND,
        .reason = "",
        .hint = "",
        .ok = 1,
    };

    if (!candidate || !line.name || !line.path || !line.origin) {
        free(candidate);
        ferry__error(FERRY_ENOMEM, "%s: no memory for the load report", path);
        return NULL;
    }
    candidate->line = line;
    *search->end = candidate;
    search->end = &candidate->next;
    return candidate;
}

static struct ferry__candidate *find_line(const struct ferry__search *search, const char *name,
                                          bool claims)
{
    struct ferry__candidate *candidate = search->first;

    while (candidate && !(candidate->claims >= claims && strcmp(candidate->line.name, name) == 0))
        candidate = candidate->next;
    return candidate;
}

struct ferry__candidate *ferry__loader_find(const struct ferry__search *search, const char *name)
{
    struct ferry__candidate *candidate = find_line(search, name, true);

    return candidate ? candidate : find_line(search, name, false);
}

/* ---- one file ------------------------------------------------------------------------------- */

static const struct ferry__candidate *same_file(const struct ferry__search *search,
                                                const struct ferry__candidate *candidate)
{
    const struct ferry__candidate *other = search->first;

    while (other != candidate &&
           !(other->real && other->dev == candidate->dev && other->ino == candidate->ino))
        other = other->next;
    return other == candidate ? NULL : other;
}

/* Opens the file by its real path. A descriptor, or a negative code with the refusal filled in. */
static int open_file(struct ferry__search *search, struct ferry__candidate *candidate,
                     struct stat *out, struct ferry__refusal *refusal)
{
    char *real = realpath(candidate->line.path, NULL);
    const struct ferry__candidate *same;
    int fd;

    if (!real)
        return ferry__refuse(refusal, FERRY_EPLUGIN, "", "%s", strerror(errno));
    fd = ferry__examine_open(real, out, refusal);
    if (fd < 0)
        goto err_free;
    candidate->dev = out->st_dev;
    candidate->ino = out->st_ino;
    same = same_file(search, candidate);
    if (same) {
        if (same->note.name[0])
            candidate->line.name = same->line.name;
        ferry__refuse(refusal, FERRY_EPLUGIN, "", "the same file as %s", same->line.path);
        close(fd);
        goto err_free;
    }
    candidate->real = real;
    return fd;

err_free:
    free(real);
    return refusal->code;
}

static void warn_loose(struct ferry__search *search, struct ferry__candidate *candidate,
                       const char *loose)
{
    char hint[PATH_MAX + 16];

    snprintf(hint, sizeof(hint), "chmod g-w %s", loose);
    candidate->line.hint = keep_words(search, hint);
    ferry__log(FERRY_LOG_WARN, "%s: %s: %s can be written by its group; better %s",
               candidate->line.name, candidate->line.path, loose, hint);
}

/* Examines the file from its permissions to its ABI. 0, or the code of a reported refusal. */
static int examine(struct ferry__search *search, struct ferry__candidate *candidate, int fd,
                   const struct stat *st)
{
    struct ferry__examined found;
    struct ferry__refusal refusal;
    int err = ferry__examine(fd, st, candidate->real, &search->self, &search->trust,
                             &search->permitted, &found, &refusal);
    size_t length = strnlen(found.note.name, sizeof(found.note.name));

    candidate->note = found.note;
    if (!err && found.loose[0])
        warn_loose(search, candidate, found.loose);
    if (ferry__text_is_name(found.note.name, length)) {
        candidate->misnamed = strcmp(found.note.name, candidate->line.name) != 0;
        candidate->line.name = candidate->note.name;
    }
    if (err)
        report_refusal(search, candidate, found.stage, &refusal);
    else
        candidate->line.stage = FERRY__STAGE_ABI;
    return err;
}

/* Whether a configuration file has that section; one that only the API set names no plugin. */
static bool is_named(const struct ferry__section *section)
{
    return section && strcmp(section->origin, "API") != 0;
}

/*
 * Decides whether the candidate is used for its name: no earlier candidate has the name, and the
 * configuration enables it.
 */
static void settle(struct ferry__search *search, struct ferry__candidate *candidate,
                   const struct ferry__section *section)
{
    const struct ferry__candidate *first = find_line(search, candidate->line.name, true);
    struct ferry__refusal refusal;

    if (first) {
        ferry__refuse(&refusal, FERRY_EPLUGIN, "", "another plugin named %s is used: %s",
                      candidate->line.name, first->line.path);
        report_refusal(search, candidate, candidate->line.stage, &refusal);
        return;
    }
    candidate->claims = true;
    if (candidate->code == 0 && !ferry__conf_enabled(section)) {
        ferry__refuse(&refusal, FERRY_ENODEV, "set enabled = yes there", "disabled by %s",
                      section->enabled.origin);
        report_refusal(search, candidate, candidate->line.stage, &refusal);
    }
    if (candidate->code == 0 && search->secure && !is_named(section)) {
        char hint[64], file[PATH_MAX];

        snprintf(hint, sizeof(hint), "add a section [plugin %s] there", candidate->line.name);
        ferry__refuse(&refusal, FERRY_EPERM, hint,
                      "this program has more rights than its caller, and no section of %s names "
                      "the plugin",
                      ferry__place(FERRY_SYSTEM_CONF, file));
        report_refusal(search, candidate, candidate->line.stage, &refusal);
    }
}

static int wrong_name(const struct ferry__section *section, const struct ferry__candidate *found)
{
    const char *origin = section->library.origin ? section->library.origin : section->origin;

    return ferry__error(FERRY_ECONF, "%s: [plugin %s]: %s is the plugin %s", origin, section->name,
                        found->line.path, found->line.name);
}

/*
 * Adds a file, which is the library of `section` if one is given. A defect of the file is recorded
 * in its line; an error is returned only if it is another section's plugin, or if memory is short.
 */
static int add_file(struct ferry__search *search, const struct ferry__conf *conf, const char *path,
                    const char *origin, const struct ferry__section *section)
{
    struct ferry__candidate *candidate =
        add_line(search, section ? section->name : NULL, path, origin);
    struct ferry__refusal refusal;
    struct stat st;
    int fd, err;

    if (!candidate)
        return FERRY_ENOMEM;
    fd = open_file(search, candidate, &st, &refusal);
    if (fd < 0) {
        report_refusal(search, candidate, FERRY__STAGE_FOUND, &refusal);
        err = refusal.code;
    } else {
        err = examine(search, candidate, fd, &st);
        close(fd);
    }
    if (err == FERRY_ENOMEM)
        return ferry__error(err, "%s: no memory to examine it", candidate->line.path);
    if (section && strcmp(section->name, candidate->line.name) != 0)
        return wrong_name(section, candidate);
    if (section && section->library.text)
        candidate->misnamed = false; /* the configuration names it explicitly */
    if ((!err && !candidate->misnamed) || (section && section->library.text))
        settle(search, candidate, ferry__conf_section(conf, candidate->line.name));
    return 0;
}

/*
 * Decides on the files whose names do not match their plugins, after the files whose names match.
 */
static void settle_misnamed(struct ferry__search *search, const struct ferry__conf *conf)
{
    struct ferry__candidate *candidate = search->first;

    for (; candidate; candidate = candidate->next)
        if (candidate->misnamed && candidate->code == 0)
            settle(search, candidate, ferry__conf_section(conf, candidate->line.name));
}

struct ferry__search *ferry__loader_start(void)
{
    struct ferry__search *search = calloc(1, sizeof(*search));

    if (!search) {
        ferry__error(FERRY_ENOMEM, "no memory for the load report");
        return NULL;
    }
    search->end = &search->first;
    ferry__trust_of_process(&search->trust);
    search->secure = ferry__os_is_secure();
    ferry__os_self(&search->self);
    return search;
}

int ferry__loader_add(struct ferry__search *search, const char *path, const char *origin,
                      struct ferry__candidate **out)
{
    struct ferry__candidate *candidate;
    struct ferry__refusal refusal;
    struct stat st;
    int fd;

    for (candidate = search->first; candidate; candidate = candidate->next)
        if (candidate->code == 0 && strcmp(candidate->line.path, path) == 0) {
            *out = candidate;
            return 0;
        }
    candidate = add_line(search, NULL, path, origin);
    if (!candidate)
        return FERRY_ENOMEM;
    fd = open_file(search, candidate, &st, &refusal);
    if (fd < 0) {
        report_refusal(search, candidate, FERRY__STAGE_FOUND, &refusal);
    } else {
        examine(search, candidate, fd, &st);
        close(fd);
    }
    *out = candidate;
    return 0;
}

/* ---- the folders ---------------------------------------------------------------------------- */

/* Called for each folder in order, until one call returns a value other than 0. */
typedef int folder_fn(struct ferry__search *search, const struct ferry__conf *conf,
                      const char *folder, const char *origin, void *arg);

/* Visits the folders of a path, separated by colons; `path` may be NULL. */
static int each_of(struct ferry__search *search, const struct ferry__conf *conf, const char *path,
                   const char *origin, folder_fn *visit, void *arg)
{
    int result = 0;

    while (path && *path && !result) {
        size_t length = strcspn(path, ":");
        char *folder = strndup(path, length);

        if (!folder)
            return ferry__error(FERRY_ENOMEM, "%s: no memory for a folder's name", origin);
        if (length > 0)
            result = visit(search, conf, folder, origin, arg);
        free(folder);
        path += length;
        path += *path == ':';
    }
    return result;
}

static int each_folder(struct ferry__search *search, const struct ferry__conf *conf,
                       folder_fn *visit, void *arg)
{
    char installed[PATH_MAX];
    const char *first = ferry__env_get(ORIGIN_PATH);
    int result = each_of(search, conf, first, ORIGIN_PATH, visit, arg);

    if (!result)
        result = visit(search, conf, ferry__place(FERRY_PLUGINDIR, installed), ORIGIN_DIR, arg);
    if (!result && search->path_last)
        return each_of(search, conf, search->path_last, "ferry_runtime_open", visit, arg);
    if (!result)
        result = each_of(search, conf, ferry__env_get(ORIGIN_LAST), ORIGIN_LAST, visit, arg);
    return result;
}

static int note_folder(struct ferry__search *search, const struct ferry__conf *conf,
                       const char *folder, const char *origin, void *arg)
{
    char *longer;

    (void)conf;
    (void)origin;
    (void)arg;
    if (folder[0] != '/')
        return 0;
    longer =
        search->folders ? ferry__text_format("%s, %s", search->folders, folder) : strdup(folder);
    if (!longer)
        return ferry__error(FERRY_ENOMEM, "%s: no memory for its name", folder);
    free(search->folders);
    search->folders = longer;
    return 0;
}

static int refuse_folder(struct ferry__search *search, const char *folder, const char *origin,
                         const char *reason, const char *hint)
{
    struct ferry__candidate *line = add_line(search, "", folder, origin);

    if (!line)
        return FERRY_ENOMEM;
    ferry__loader_report(search, line, FERRY__STAGE_FOUND, FERRY_EPLUGIN, reason, hint);
    return 0;
}

/* The section for which a file of that name is the default library; NULL without such a section. */
static const struct ferry__section *section_of_file(const struct ferry__conf *conf,
                                                    const char *file)
{
    char name[NAME_MAX + 1];
    size_t length = strlen(file) - strlen(FILE_PREFIX FILE_SUFFIX);
    const struct ferry__section *section;

    snprintf(name, sizeof(name), "%.*s", (int)length, file + strlen(FILE_PREFIX));
    section = ferry__conf_section(conf, name);
    return section && !section->library.text ? section : NULL;
}

static int scan_folder(struct ferry__search *search, const struct ferry__conf *conf,
                       const char *folder, const char *origin, void *arg)
{
    char **names = NULL;
    size_t count = 0;
    int err;

    (void)arg;
    if (folder[0] != '/')
        return refuse_folder(search, folder, origin, "not an absolute path: not searched",
                             "use the whole path, from /");
    err = ferry__os_list(folder, &names, &count);
    if (err)
        return refuse_folder(search, folder, origin, strerror(err), "");
    for (size_t i = 0; i < count; i++) {
        char *path = err ? NULL : ferry__text_format("%s/%s", folder, names[i]);

        if (path)
            err = add_file(search, conf, path, origin, section_of_file(conf, names[i]));
        else if (!err)
            err = ferry__error(FERRY_ENOMEM, "%s: no memory for its names", folder);
        free(path);
        free(names[i]);
    }
    free(names);
    return err;
}

/* ---- plugins named by the configuration ----------------------------------------------------- */

/* Searches one folder for the library that a section gives by name only; 1: found. */
static int find_bare(struct ferry__search *search, const struct ferry__conf *conf,
                     const char *folder, const char *origin, void *arg)
{
    const struct ferry__section *section = arg;
    char *path;
    int result = 0;

    (void)origin;
    if (folder[0] != '/')
        return 0;
    path = ferry__text_format("%s/%s", folder, section->library.text);
    if (!path)
        return ferry__error(FERRY_ENOMEM, "%s: no memory for its names", folder);
    if (access(path, F_OK) == 0) {
        result = add_file(search, conf, path, section->library.origin, section);
        result = result ? result : 1;
    }
    free(path);
    return result;
}

static int add_missing(struct ferry__search *search, const struct ferry__section *section)
{
    const char *origin = section->library.origin ? section->library.origin : section->origin;
    struct ferry__candidate *candidate;
    struct ferry__refusal refusal;
    char file[NAME_MAX + 1];

    snprintf(file, sizeof(file), FILE_PREFIX "%s" FILE_SUFFIX, section->name);
    candidate = add_line(search, section->name,
                         section->library.text ? section->library.text : file, origin);
    if (!candidate)
        return FERRY_ENOMEM;
    ferry__refuse(&refusal, FERRY_ENODEV, "", "no %s in %s", candidate->line.path, search->folders);
    report_refusal(search, candidate, FERRY__STAGE_FOUND, &refusal);
    candidate->claims = true;
    return 0;
}

static int add_bare(struct ferry__search *search, const struct ferry__conf *conf,
                    struct ferry__section *section)
{
    int result = each_folder(search, conf, find_bare, section);

    if (result < 0)
        return result;
    return result == 1 ? 0 : add_missing(search, section);
}

static int add_configured(struct ferry__search *search, const struct ferry__conf *conf)
{
    struct ferry__section *section;
    int err = 0;

    for (section = conf->sections; section && !err; section = section->next)
        if (section->library.text && section->library.text[0] == '/')
            err = add_file(search, conf, section->library.text, section->library.origin, section);
    for (section = conf->sections; section && !err; section = section->next)
        if (section->library.text && section->library.text[0] != '/')
            err = add_bare(search, conf, section);
    return err;
}

/* Adds a line for a section without a file. */
static int add_absent(struct ferry__search *search, const struct ferry__conf *conf)
{
    const struct ferry__section *section;
    int err = 0;

    for (section = conf->sections; section && !err; section = section->next) {
        const struct ferry__candidate *line = search->first;

        while (line && strcmp(line->line.name, section->name) != 0)
            line = line->next;
        if (!line)
            err = add_missing(search, section);
    }
    return err;
}

/* ---- all of it ------------------------------------------------------------------------------ */

int ferry__loader_search(const struct ferry__conf *conf, const char *path_last,
                         struct ferry__search **out)
{
    struct ferry__search *search = ferry__loader_start();
    int err;

    if (!search)
        return FERRY_ENOMEM;
    search->path_last = path_last;
    err = each_folder(search, conf, note_folder, NULL);
    if (!err)
        err = add_configured(search, conf);
    if (!err)
        err = each_folder(search, conf, scan_folder, NULL);
    if (!err) {
        settle_misnamed(search, conf);
        err = add_absent(search, conf);
    }
    if (err) {
        ferry__loader_destroy(search);
        return err;
    }
    search->path_last = NULL;
    *out = search;
    return 0;
}

void ferry__loader_destroy(struct ferry__search *search)
{
    if (!search)
        return;
    while (search->first) {
        struct ferry__candidate *candidate = search->first;

        search->first = candidate->next;
        free(candidate->real);
        free(candidate);
    }
    while (search->kept) {
        struct ferry__kept *kept = search->kept;

        search->kept = kept->next;
        free(kept);
    }
    free(search->folders);
    free(search);
}
