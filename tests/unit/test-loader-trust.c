/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The trust checks of the loader: the owners and writers of files that it opens, and the users for
 * whom it opens them.
 */

/* number of starts of a program that loads while another process exchanges the file */
#define STARTS 150

/* The entries that the fake "needy" was linked with; the tests overwrite them. */
#define RUNPATH "/ferry/tests/write/over/this/runpath/before/it/is/ever/searched"

/* ---- exchanged behind our back -------------------------------------------------------------- */

/* A separate program, whose exit status is its result: 0 loaded, 1 refused, a signal: attacked. */
static int start(const char *folder)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        ferry_runtime *rt = fakes_open(folder, NULL, NULL);
        ferry_device *dev;

        _exit(ferry_runtime_get_device(rt, "alpha", &dev) != 0);
    }
    waitpid(child, &status, 0);
    return status;
}

/* Exchanges two files, again and again, until it is killed. */
static pid_t exchange(const char *one, const char *other)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    for (;;)
        renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

static void a_file_replaced_between_check_and_dlopen_never_runs(void)
{
    const char *folder = fakes_folder();
    const char *good = fakes_put(folder, "alpha", NULL);
    const char *evil = fakes_put(folder, "crashes", "evil");
    int loaded = 0, refused = 0, taken_in = 0;
    pid_t other;

    CU_ASSERT_EQUAL_FATAL(chmod(evil, 0757), 0);
    other = exchange(good, evil);
    for (int i = 0; i < STARTS; i++) {
        int status = start(folder);

        if (WIFEXITED(status))
            *(WEXITSTATUS(status) ? &refused : &loaded) += 1;
        else
            taken_in++;
    }
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    printf("%d starts: %d loaded, %d refused, %d taken in\n", STARTS, loaded, refused, taken_in);
    CU_ASSERT_EQUAL(taken_in, 0);
    CU_ASSERT(refused > 0); /* loads and exchanges did overlap */
}

/* A file loaded by a descriptor has the descriptor's path, and two descriptors are two files. */
static int see_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    return strcmp(info->dlpi_name, arg) == 0;
}

static void a_loaded_plugin_has_its_real_path_in_the_link_map(void)
{
    const char *folder = fakes_folder();
    char *alpha = realpath(fakes_put(folder, "alpha", NULL), NULL);
    char *beta = realpath(fakes_put(folder, "beta", NULL), NULL);
    ferry_runtime *rt = fakes_open(folder, NULL, NULL);

    fakes_assert_works(rt, "alpha");
    fakes_assert_works(rt, "beta");
    CU_ASSERT(dl_iterate_phdr(see_name, alpha));
    CU_ASSERT(dl_iterate_phdr(see_name, beta));
    ferry_runtime_close(rt);
    free(alpha);
    free(beta);
}

/* ---- files that a group may write ------------------------------------------------------------ */

static void check_group(const char *changed, const char *folder, const char *path)
{
    char hint[1024], reason[1024];
    ferry_runtime *rt;

    fakes_log();
    rt = fakes_open(folder, NULL, NULL);
    snprintf(hint, sizeof(hint), "chmod g-w %s", changed);
    snprintf(reason, sizeof(reason), "%s can be written by its group", changed);
    if (geteuid() == 0) {
        FAKES_ASSERT_LINE(rt, path, "permissions", reason, hint);
    } else {
        FAKES_ASSERT_LINE(rt, path, "ABI", "", hint);
        CU_ASSERT_PTR_NOT_NULL(strstr(fakes_logged(), hint));
        fakes_assert_works(rt, "alpha");
    }
    ferry_runtime_close(rt);
}

static void a_file_writable_by_its_group_is_a_warning_and_refused_when_root_loads(void)
{
    const char *folder = fakes_folder();
    const char *path = fakes_put(folder, "alpha", NULL);
    int status = -1;
    pid_t child;

    CU_ASSERT_EQUAL_FATAL(chmod(path, 0775), 0);
    check_group(path, folder, path);
    CU_ASSERT_EQUAL_FATAL(chmod(path, 0755), 0);
    CU_ASSERT_EQUAL_FATAL(chmod(folder, 0775), 0);
    check_group(folder, folder, path);
    if (geteuid() != 0)
        return;
    CU_ASSERT_EQUAL_FATAL(chmod(path, 0755), 0);
    child = fork(); /* the other half, as another user */
    if (child == 0) {
        if (chmod(fakes_path(folder, ".."), 0755) != 0 || setgid(54321) != 0 || setuid(54321) != 0)
            _exit(2);
        check_group(folder, folder, path);
        _exit(CU_get_number_of_failures() > 0);
    }
    waitpid(child, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

/* ---- libraries of a plugin ------------------------------------------------------------------- */

/*
 * The fake "needy" in a folder of its own, whose RUNPATH begins with the text and is padded with
 * slashes.
 */
static const char *needy(const char *folder, const char *runpath, char last)
{
    const char *path = fakes_put(folder, "needy", NULL);
    char text[sizeof(RUNPATH)];

    memset(text, '/', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text, runpath, strlen(runpath));
    text[sizeof(text) - 2] = last;
    fakes_patch(path, RUNPATH, text);
    return path;
}

static void check_needy(const char *runpath, char last, const char *reason)
{
    const char *folder = fakes_folder();
    const char *path = needy(folder, runpath, last);
    ferry_runtime *rt = fakes_open(folder, NULL, NULL);

    FAKES_ASSERT_LINE(rt, path, "permissions", reason, "*");
    ferry_runtime_close(rt);
}

/*
 * As check_needy, for a reason that consists of the whole entry, with its slashes, and the error.
 */
static void check_entry(const char *runpath, const char *fault)
{
    char reason[2048];
    int slashes = (int)(sizeof(RUNPATH) - 1 - strlen(runpath));

    snprintf(reason, sizeof(reason), "its RUNPATH has %s%.*s, and %s", runpath, slashes,
             "////////////////////////////////////////////////////////////////", fault);
    check_needy(runpath, '/', reason);
}

static void a_runpath_folder_that_others_can_write_is_refused(void)
{
    const char *world = fakes_folder(), *sticky = fakes_folder();
    char reason[512];

    check_needy("lib", '/', "its RUNPATH has the relative entry \"lib/*");
    check_needy("$ORIGINAL", '/', "its RUNPATH has the relative entry \"$ORIGINAL/*");
    check_needy("/usr/lib", ':', "its RUNPATH has an empty entry, which is the working folder");
    check_needy(":/usr/lib", '/', "its RUNPATH has an empty entry, which is the working folder");
    CU_ASSERT_EQUAL_FATAL(chmod(world, 0777), 0);
    CU_ASSERT_EQUAL_FATAL(chmod(sticky, 01777), 0);
    snprintf(reason, sizeof(reason), "its RUNPATH has %s/*", world);
    check_needy(world, '/', reason);
    snprintf(reason, sizeof(reason), "its RUNPATH has %s/*", sticky);
    check_needy(sticky, '/', reason);
    snprintf(reason, sizeof(reason), "its RUNPATH has %s/no/*", sticky);
    check_needy(fakes_path(sticky, "no"), '/', reason);
}

/*
 * A folder that is writable by root's group, or by all users, with the sticky bit, which only
 * protects existing files.
 */
static void a_group_writable_sticky_folder_counts_as_writable_by_others(void)
{
    const char *shared = fakes_folder(), *folder = fakes_folder();
    char reason[512];
    ferry_runtime *rt;

    CU_ASSERT_EQUAL_FATAL(chmod(shared, 01775), 0);
    if (geteuid() == 0) {
        snprintf(reason, sizeof(reason), "its group can put a file into %s", shared);
        check_entry(shared, reason);
        return;
    }
    fakes_log();
    needy(folder, shared, '/');
    rt = fakes_open(folder, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_logged(), shared));
    ferry_runtime_close(rt);
}

static void a_runpath_with_an_unknown_token_is_refused(void)
{
    static const char *const entries[] = { "/usr/$LIB", "/usr/${PLATFORM}", "$ORIGIN/$LIB" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(entries); i++)
        check_entry(entries[i], "the values of $LIB and $PLATFORM are unknown");
}

/* In a folder of a RUNPATH the linker first searches subfolders that the entry does not name. */
static void subfolders_of_a_runpath_that_the_linker_searches_are_checked(void)
{
    static const char *const below[] = { "glibc-hwcaps", "glibc-hwcaps/x86-64-v2", "x86_64",
                                         "tls/x86_64" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(below); i++) {
        const char *folder = fakes_folder(), *inner = fakes_path(folder, below[i]);
        char above[512], reason[1024];

        snprintf(above, sizeof(above), "%s", inner);
        *strrchr(above, '/') = '\0';
        CU_ASSERT_FATAL(strcmp(above, folder) == 0 || mkdir(above, 0755) == 0);
        CU_ASSERT_EQUAL_FATAL(mkdir(inner, 0755), 0);
        CU_ASSERT_EQUAL_FATAL(chmod(inner, 01777), 0);
        snprintf(reason, sizeof(reason), "every user can put a file into %s", inner);
        check_entry(folder, reason);
    }
}

static void a_library_found_by_a_runpath_must_not_be_writable_by_others(void)
{
    static const char *const inner[] = { "libbeside.so", "glibc-hwcaps/x86-64-v2/libbeside.so" };
    const char *folder = fakes_folder();
    char reason[1024];

    CU_ASSERT_EQUAL_FATAL(mkdir(fakes_path(folder, "glibc-hwcaps"), 0755), 0);
    CU_ASSERT_EQUAL_FATAL(mkdir(fakes_path(folder, "glibc-hwcaps/x86-64-v2"), 0755), 0);
    for (size_t i = 0; i < FERRY_TEST_COUNT(inner); i++) {
        const char *path = fakes_write(folder, inner[i], "no library");

        CU_ASSERT_EQUAL_FATAL(chmod(path, 0666), 0);
        snprintf(reason, sizeof(reason), "%s can be written by every user", path);
        check_entry(folder, reason);
        CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
    }
}

static void a_needed_library_by_a_relative_path_is_refused(void)
{
    const char *folder = fakes_folder();
    const char *path = needy(folder, "/usr/lib", '/');
    ferry_runtime *rt;

    fakes_patch(path, "libbeside.so", "lib/beside.s");
    rt = fakes_open(folder, NULL, NULL);
    FAKES_ASSERT_LINE(rt, path, "permissions",
                      "its needed library \"lib/beside.s\" is a relative path",
                      "link it with absolute paths, or with $ORIGIN");
    ferry_runtime_close(rt);
}

/* Copies the library that "needy" requires. */
static void put_library(const char *folder)
{
    const char *build = getenv("FERRY_TEST_BUILDDIR");
    char source[4096];

    snprintf(source, sizeof(source), "%s/tests/plugins/fakes/libbeside.so", build ? build : ".");
    CU_ASSERT_EQUAL_FATAL(link(source, fakes_path(folder, "libbeside.so")) != 0 &&
                              symlink(source, fakes_path(folder, "libbeside.so")) != 0,
                          0);
}

static void a_library_beside_the_plugin_is_found(void)
{
    const char *folder = fakes_folder(), *inner = fakes_path(folder, "private");
    const char *path = needy(folder, "$ORIGIN/private", '/');
    ferry_runtime *rt;

    CU_ASSERT_EQUAL_FATAL(mkdir(inner, 0755), 0);
    put_library(inner);
    rt = fakes_open(folder, NULL, NULL);
    FAKES_ASSERT_LINE(rt, path, "ABI", "", "");
    fakes_assert_works(rt, "needy");
    ferry_runtime_close(rt);
}

/* ---- its configuration ---------------------------------------------------------------------- */

static void check_conf(const char *path, const char *words)
{
    ferry_runtime_options options = { .struct_size = sizeof(options), .conf = path };
    ferry_runtime *rt = NULL;

    CU_ASSERT_EQUAL(ferry_runtime_open(&options, &rt), FERRY_EPERM);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), words));
    ferry_runtime_close(rt);
    unsetenv("FERRY_PLUGIN_PATH");
    unsetenv("FERRY_BACKEND");
    setenv("FERRY_CONF", path, 1);
    CU_ASSERT_EQUAL(ferry_runtime_open(NULL, &rt), FERRY_EPERM);
    setenv("FERRY_CONF", "/dev/null", 1);
}

static void a_configuration_file_that_others_can_write_is_refused(void)
{
    const char *folder = fakes_folder();
    const char *path = fakes_write(folder, "c.conf", "[ferry]\nstrict = no\n");
    ferry_runtime_options options = { .struct_size = sizeof(options), .conf = path };
    ferry_runtime *rt = NULL;

    CU_ASSERT_EQUAL_FATAL(chmod(path, 0646), 0);
    check_conf(path, "can be written by every user; better chmod o-w ");
    CU_ASSERT_EQUAL_FATAL(chmod(path, 0644), 0);
    CU_ASSERT_EQUAL(ferry_runtime_open(&options, &rt), 0);
    ferry_runtime_close(rt);
    CU_ASSERT_EQUAL_FATAL(chmod(folder, 0757), 0);
    check_conf(path, "can be written by every user; better chmod o-w ");
    CU_ASSERT_EQUAL_FATAL(chmod(folder, 0755), 0);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL_FATAL(chown(path, 54321, 54321), 0);
        check_conf(path, "belongs to user 54321");
    }
}

/* ---- names of libraries ---------------------------------------------------------------------- */

static void a_file_with_the_plugins_name_precedes_a_misnamed_one(void)
{
    const char *first = fakes_folder(), *second = fakes_folder();
    const char *misnamed = fakes_put(first, "gamma", "ferry_a.so");
    const char *right = fakes_put(second, "gamma", NULL);
    const char *alone = fakes_put(first, "beta", "ferry_b.so");
    char path[1024], reason[1024];
    ferry_runtime *rt;

    snprintf(path, sizeof(path), "%s:%s", first, second);
    rt = fakes_open(path, NULL, NULL);
    FAKES_ASSERT_LINE(rt, right, "ABI", "", "");
    snprintf(reason, sizeof(reason), "another plugin named gamma is used: %s", right);
    FAKES_ASSERT_LINE(rt, misnamed, "ABI", reason, "");
    FAKES_ASSERT_LINE(rt, alone, "ABI", "", "");
    fakes_assert_works(rt, "gamma");
    fakes_assert_works(rt, "beta");
    ferry_runtime_close(rt);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_file_replaced_between_check_and_dlopen_never_runs),
    FERRY_TEST(a_loaded_plugin_has_its_real_path_in_the_link_map),
    FERRY_TEST(a_file_writable_by_its_group_is_a_warning_and_refused_when_root_loads),
    FERRY_TEST(a_runpath_folder_that_others_can_write_is_refused),
    FERRY_TEST(a_group_writable_sticky_folder_counts_as_writable_by_others),
    FERRY_TEST(a_runpath_with_an_unknown_token_is_refused),
    FERRY_TEST(subfolders_of_a_runpath_that_the_linker_searches_are_checked),
    FERRY_TEST(a_library_found_by_a_runpath_must_not_be_writable_by_others),
    FERRY_TEST(a_needed_library_by_a_relative_path_is_refused),
    FERRY_TEST(a_library_beside_the_plugin_is_found),
    FERRY_TEST(a_configuration_file_that_others_can_write_is_refused),
    FERRY_TEST(a_file_with_the_plugins_name_precedes_a_misnamed_one),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "loader-trust", cases, FERRY_TEST_COUNT(cases));
}
