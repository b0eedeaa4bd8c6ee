/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (4u << 20)

static char top[256]; /* contains all folders */
static char track_path[300];
static char logged[65536];

/* ---- files ---------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_top(void)
{
    nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fakes_folder(void)
{
    static unsigned count;
    char name[32];
    const char *path;

    if (!top[0]) {
        const char *tmp = getenv("TMPDIR");

        snprintf(top, sizeof(top), "%s/ferry-fakes-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(top));
        atexit(remove_top);
    }
    snprintf(name, sizeof(name), "%u", count++);
    path = fakes_path(top, name);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0755), 0);
    CU_ASSERT_EQUAL_FATAL(chmod(path, 0755), 0);
    return path;
}

const char *fakes_path(const char *folder, const char *name)
{
    static struct kept {
        struct kept *next;
        char *path;
    } * all;
    struct kept *kept = malloc(sizeof(*kept));

    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    kept->next = all;
    all = kept;
    CU_ASSERT_FATAL(asprintf(&kept->path, "%s/%s", folder, name) > 0);
    return kept->path;
}

static char *read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(MAX_FILE);

    if (!file || !bytes) {
        printf("fakes: %s cannot be read\n", path);
        exit(1);
    }
    *out_size = fread(bytes, 1, MAX_FILE, file);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fwrite(bytes, 1, size, file), size);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    CU_ASSERT_EQUAL_FATAL(chmod(path, 0755), 0);
}

const char *fakes_put(const char *folder, const char *fake, const char *as)
{
    const char *build = getenv("FERRY_TEST_BUILDDIR");
    char source[4096], own[64];
    const char *path;
    size_t size;
    char *bytes;

    snprintf(own, sizeof(own), "ferry_%s.so", fake);
    snprintf(source, sizeof(source), "%s/tests/plugins/fakes/%s", build ? build : ".", own);
    path = fakes_path(folder, as ? as : own);
    bytes = read_file(source, &size);
    write_file(path, bytes, size);
    free(bytes);
    return path;
}

const char *fakes_write(const char *folder, const char *name, const char *text)
{
    const char *path = fakes_path(folder, name);

    write_file(path, text, strlen(text));
    return path;
}

/* Written as a new file, because a loaded one must not be overwritten. */
static void rewrite(const char *path, char *bytes, size_t size)
{
    CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
    write_file(path, bytes, size);
    free(bytes);
}

void fakes_patch(const char *path, const char *from, const char *to)
{
    size_t size;
    char *bytes = read_file(path, &size);
    char *found = memmem(bytes, size, from, strlen(from));

    CU_ASSERT_EQUAL_FATAL(strlen(from), strlen(to));
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    memcpy(found, to, strlen(to));
    rewrite(path, bytes, size);
}

void fakes_poke(const char *path, size_t offset, char byte)
{
    size_t size;
    char *bytes = read_file(path, &size);

    CU_ASSERT_FATAL(offset < size);
    bytes[offset] = byte;
    rewrite(path, bytes, size);
}

/* ---- runtimes ------------------------------------------------------------------------------- */

static void set_or_unset(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

ferry_runtime *fakes_open(const char *path, const char *backend, const char *conf)
{
    ferry_runtime *rt = NULL;

    set_or_unset("FERRY_PLUGIN_PATH", path);
    set_or_unset("FERRY_BACKEND", backend);
    setenv("FERRY_CONF", conf ? conf : "/dev/null", 1);
    if (ferry_runtime_open(NULL, &rt) != 0) {
        printf("fakes: %s\n", ferry_last_error());
        CU_FAIL_FATAL("no runtime");
    }
    return rt;
}

const ferry_runtime_candidate_info *fakes_line(ferry_runtime *rt, const char *path)
{
    const ferry_runtime_candidate_info *line;

    for (int i = 0; i < ferry_runtime_candidate_count(rt); i++)
        if (ferry_runtime_candidate_at(rt, i, &line) == 0 && strcmp(line->path, path) == 0)
            return line;
    printf("fakes: %s is not in the load report\n", path);
    CU_FAIL_FATAL("no such line");
    return NULL;
}

int fakes_matches(const char *text, const char *pattern)
{
    size_t length = strlen(pattern);

    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(text, pattern, length - 1) == 0;
    return strcmp(text, pattern) == 0;
}

int fakes_line_is(ferry_runtime *rt, const char *path, const char *stage, const char *reason,
                  const char *hint)
{
    const ferry_runtime_candidate_info *line = fakes_line(rt, path);
    int is = strcmp(line->stage, stage) == 0 && fakes_matches(line->reason, reason) &&
             fakes_matches(line->hint, hint) && line->ok == (reason[0] == '\0');

    if (!is)
        printf("fakes: %s: %s at %s: \"%s\" (\"%s\")\n", path, line->ok ? "ok" : "stopped",
               line->stage, line->reason, line->hint);
    return is;
}

/* ---- the log --------------------------------------------------------------------------------- */

void fakes_track(void)
{
    snprintf(track_path, sizeof(track_path), "%s/track", fakes_folder());
    write_file(track_path, "", 0);
    setenv("FERRY_TEST_TRACK", track_path, 1);
}

const char *fakes_tracked(void)
{
    static char text[8192];
    size_t size;
    char *bytes = read_file(track_path, &size);

    snprintf(text, sizeof(text), "%.*s", (int)size, bytes);
    free(bytes);
    return text;
}

static void on_line(void *arg, int level, const char *line)
{
    static const char *const names[] = { "error", "warn", "info", "debug" };
    size_t used = strlen(logged);

    (void)arg;
    snprintf(logged + used, sizeof(logged) - used, "%s: %s\n", names[level], line);
}

void fakes_log(void)
{
    logged[0] = '\0';
    ferry_log_set_handler(on_line, NULL);
}

const char *fakes_logged(void)
{
    return logged;
}

void fakes_assert_works(ferry_runtime *rt, const char *name)
{
    ferry_device *dev = NULL;

    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, name, &dev), 0);
    if (dev) {
        CU_ASSERT_STRING_EQUAL(ferry_device_get_properties(dev)->plugin, name);
    } else {
        printf("%s\n", ferry_last_error());
    }
}

const char *fakes_name_of(ferry_runtime *rt, const char *name)
{
    ferry_device *dev = NULL;

    if (ferry_runtime_get_device(rt, name, &dev) == 0)
        return ferry_device_name(dev);
    return ferry_last_error();
}

const char *fakes_five(void)
{
    const char *folder = fakes_folder();

    fakes_put(folder, "alpha", NULL);
    fakes_put(folder, "beta", NULL);
    fakes_put(folder, "gamma", NULL);
    fakes_put(folder, "open_fails", NULL);
    fakes_put(folder, "no_devices", NULL);
    return folder;
}
