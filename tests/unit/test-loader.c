/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"
#include "core/base/place.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- opening a plugin ------------------------------------------------------------------------ */

static void a_failed_open_is_in_the_load_report_and_in_the_error(void)
{
    static const struct {
        const char *fake, *stage, *reason, *hint;
        int code;
    } table[] = {
        { "open_fails", "open", "libvendor.so.7: no driver on this machine", "", FERRY_EPLUGIN },
        { "count_fails", "devices", "vendorInit: VENDOR_NO_DRIVER (35)", "", FERRY_EDEVICE },
        { "no_devices", "devices", "it found no device", "", FERRY_ENODEV },
        { "no_entry", "dlopen", "it does not export ferry_plugin_open",
          "export ferry_plugin and ferry_plugin_open", FERRY_EPLUGIN },
        { "missing_entry", "open", "*", "", FERRY_EABI },
        { "device_fails", "devices", "device_fails:0: open: vendorContext: VENDOR_BUSY on 0", "",
          FERRY_EDEVICE },
    };
    const char *folder = fakes_folder();
    ferry_runtime *rt;

    fakes_put(folder, "alpha", NULL);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        fakes_put(folder, table[i].fake, NULL);
    rt = fakes_open(folder, NULL, NULL);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        ferry_device *dev = NULL;
        char file[64];

        snprintf(file, sizeof(file), "ferry_%s.so", table[i].fake);
        CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, table[i].fake, &dev), table[i].code);
        CU_ASSERT_PTR_NULL(dev);
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), table[i].fake));
        FAKES_ASSERT_LINE(rt, fakes_path(folder, file), table[i].stage, table[i].reason,
                          table[i].hint);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(ferry_last_error(), fakes_line(rt, fakes_path(folder, file))->reason));
    }
    CU_ASSERT_PTR_NOT_NULL(
        strstr(fakes_line(rt, fakes_path(folder, "ferry_missing_entry.so"))->reason, "memset"));
    fakes_assert_works(rt, "alpha");
    ferry_runtime_close(rt);
}

static void a_library_that_is_missing_is_named(void)
{
    const char *folder = fakes_folder();
    const char *path = fakes_put(folder, "alpha", NULL);
    char hint[4096];
    ferry_runtime *rt;
    ferry_device *dev;

    fakes_put(folder, "beta", NULL);
    fakes_patch(path, "libc.so.6", "libq.so.6"); /* DT_NEEDED */
    rt = fakes_open(folder, NULL, NULL);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "alpha", &dev), FERRY_EPLUGIN);
    snprintf(hint, sizeof(hint), "ldd %s shows what is missing", path);
    FAKES_ASSERT_LINE(rt, path, "dlopen", "libq.so.6: cannot open shared object file*", hint);
    fakes_assert_works(rt, "beta");
    ferry_runtime_close(rt);
}

static void symbols_of_a_plugin_do_not_reach_others(void)
{
    const char *folder = fakes_folder();
    ferry_runtime *rt;

    fakes_put(folder, "alpha", NULL);
    rt = fakes_open(folder, NULL, NULL);
    fakes_assert_works(rt, "alpha");
    CU_ASSERT_PTR_NULL(dlsym(RTLD_DEFAULT, "ferry_plugin_open"));
    ferry_runtime_close(rt);
}

static void a_file_replaced_after_the_search_is_detected(void)
{
    const char *folder = fakes_folder();
    const char *path = fakes_put(folder, "alpha", NULL);
    ferry_runtime *rt = fakes_open(folder, NULL, NULL);
    ferry_device *dev;

    fakes_put(folder, "beta", "ferry_beta.so");
    CU_ASSERT_EQUAL_FATAL(rename(fakes_path(folder, "ferry_beta.so"), path), 0);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "alpha", &dev), FERRY_EPLUGIN);
    FAKES_ASSERT_LINE(rt, path, "dlopen", "its file was replaced while it was being loaded",
                      "start the program again");
    ferry_runtime_close(rt);
}

/* ---- permissions ----------------------------------------------------------------------------- */

static void a_world_writable_file_or_folder_is_refused_with_a_chmod_hint(void)
{
    const char *open_folder = fakes_folder();
    const char *inner = fakes_path(open_folder, "inner");
    const char *sticky = fakes_folder();
    const char *plain = fakes_folder();
    const char *in_open, *in_sticky, *writable, *in_plain;
    char path[4096], reason[1024], hint[1024];
    ferry_runtime *rt;

    CU_ASSERT_EQUAL_FATAL(mkdir(inner, 0755), 0);
    in_open = fakes_put(inner, "alpha", NULL);
    in_sticky = fakes_put(sticky, "beta", NULL);
    writable = fakes_put(plain, "gamma", NULL);
    in_plain = fakes_put(plain, "newer_minor", NULL);
    CU_ASSERT_EQUAL_FATAL(chmod(open_folder, 0777), 0);
    CU_ASSERT_EQUAL_FATAL(chmod(sticky, 01777), 0);
    CU_ASSERT_EQUAL_FATAL(chmod(writable, 0757), 0);
    snprintf(path, sizeof(path), "%s:%s:%s", inner, sticky, plain);
    rt = fakes_open(path, NULL, NULL);

    snprintf(reason, sizeof(reason), "%s can be written by every user", open_folder);
    snprintf(hint, sizeof(hint), "chmod o-w %s", open_folder);
    FAKES_ASSERT_LINE(rt, in_open, "permissions", reason, hint);
    snprintf(reason, sizeof(reason), "%s can be written by every user", writable);
    snprintf(hint, sizeof(hint), "chmod o-w %s", writable);
    FAKES_ASSERT_LINE(rt, writable, "permissions", reason, hint);
    FAKES_ASSERT_LINE(rt, in_sticky, "ABI", "", "");
    FAKES_ASSERT_LINE(rt, in_plain, "ABI", "", "");
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "gamma", &(ferry_device *){ NULL }), FERRY_EPERM);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), hint));
    fakes_assert_works(rt, "beta");
    ferry_runtime_close(rt);
}

static void permissions_of_the_link_target_are_checked(void)
{
    const char *hidden = fakes_folder(), *shown = fakes_folder();
    const char *link = fakes_path(shown, "ferry_alpha.so");
    char reason[1024];
    ferry_runtime *rt;

    CU_ASSERT_EQUAL_FATAL(symlink(fakes_put(hidden, "alpha", NULL), link), 0);
    CU_ASSERT_EQUAL_FATAL(chmod(hidden, 0777), 0);
    rt = fakes_open(shown, NULL, NULL);
    snprintf(reason, sizeof(reason), "%s can be written by every user", hidden);
    FAKES_ASSERT_LINE(rt, link, "permissions", reason, "chmod o-w *");
    ferry_runtime_close(rt);
}

static void a_file_of_another_user_is_refused(void)
{
    const char *folder = fakes_folder();
    const char *path = fakes_put(folder, "alpha", NULL);
    char reason[1024];
    ferry_runtime *rt;

    if (geteuid() != 0) {
        ferry_test_skip("only root can give a file away");
        return;
    }
    CU_ASSERT_EQUAL_FATAL(chown(path, 54321, 54321), 0);
    rt = fakes_open(folder, NULL, NULL);
    snprintf(reason, sizeof(reason),
             "%s belongs to user 54321, which is neither root, nor the user of "
             "this process, nor the owner of libferry",
             path);
    FAKES_ASSERT_LINE(rt, path, "permissions", reason, "chown root *");
    ferry_runtime_close(rt);
}

/* ---- which of many -------------------------------------------------------------------------- */

static void the_first_plugin_of_a_name_is_used_and_the_others_are_listed(void)
{
    const char *first = fakes_folder(), *second = fakes_folder();
    const char *winner = fakes_put(first, "alpha", NULL);
    const char *loser = fakes_put(second, "alpha", NULL);
    const char *twin = fakes_put(first, "alpha", "ferry_beta.so");
    char path[4096], reason[1024];
    ferry_runtime *rt;

    snprintf(path, sizeof(path), "%s:%s", first, second);
    rt = fakes_open(path, NULL, NULL);
    FAKES_ASSERT_LINE(rt, winner, "ABI", "", "");
    snprintf(reason, sizeof(reason), "another plugin named alpha is used: %s", winner);
    FAKES_ASSERT_LINE(rt, loser, "ABI", reason, "");
    FAKES_ASSERT_LINE(rt, twin, "ABI", reason, "");
    CU_ASSERT_STRING_EQUAL(fakes_line(rt, twin)->name, "alpha");
    ferry_runtime_close(rt);
}

static void a_file_with_several_names_is_loaded_once(void)
{
    const char *folder = fakes_folder();
    const char *path = fakes_put(folder, "alpha", NULL);
    const char *soft = fakes_path(folder, "ferry_soft.so");
    const char *hard = fakes_path(folder, "ferry_hard.so");
    char reason[1024];
    ferry_runtime *rt;
    int count;

    CU_ASSERT_EQUAL_FATAL(symlink(path, soft), 0);
    CU_ASSERT_EQUAL_FATAL(link(path, hard), 0);
    fakes_track();
    rt = fakes_open(folder, NULL, NULL);
    snprintf(reason, sizeof(reason), "the same file as %s", path);
    FAKES_ASSERT_LINE(rt, soft, "found", reason, "");
    FAKES_ASSERT_LINE(rt, hard, "found", reason, "");
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, &count), 0);
    CU_ASSERT_STRING_EQUAL(fakes_tracked(), "alpha loaded\nalpha opened\n");
    ferry_runtime_close(rt);
}

static void a_refused_file_does_not_prevent_the_next(void)
{
    const char *first = fakes_folder(), *second = fakes_folder();
    const char *bad = fakes_put(first, "alpha", NULL);
    const char *good = fakes_put(second, "alpha", NULL);
    char path[4096];
    ferry_runtime *rt;

    CU_ASSERT_EQUAL_FATAL(chmod(bad, 0777), 0);
    snprintf(path, sizeof(path), "%s:%s", first, second);
    rt = fakes_open(path, NULL, NULL);
    FAKES_ASSERT_LINE(rt, bad, "permissions", "*", "chmod o-w *");
    FAKES_ASSERT_LINE(rt, good, "ABI", "", "");
    fakes_assert_works(rt, "alpha");
    ferry_runtime_close(rt);
}

static int open_last(const char *first, const char *variable, const char *member,
                     ferry_runtime **out)
{
    ferry_runtime_options options = { .struct_size = sizeof(options), .plugin_path_last = member };
    int err;

    setenv("FERRY_PLUGIN_PATH", first, 1);
    setenv("FERRY_CONF", fakes_write(fakes_folder(), "empty.conf", ""), 1);
    setenv("FERRY_PLUGIN_PATH_LAST", variable, 1);
    err = ferry_runtime_open(&options, out);
    unsetenv("FERRY_PLUGIN_PATH_LAST");
    return err;
}

static void last_folders_are_searched_after_plugindir(void)
{
    const char *first = fakes_folder(), *variable = fakes_folder(), *member = fakes_folder();
    const char *kept = fakes_put(first, "alpha", NULL), *beta = fakes_put(variable, "beta", NULL);
    const char *second = fakes_put(member, "alpha", NULL), *open = fakes_put(member, "beta", NULL);
    char reason[4200];
    ferry_runtime *rt = NULL;

    CU_ASSERT_EQUAL_FATAL(open_last(first, variable, NULL, &rt), 0);
    CU_ASSERT_STRING_EQUAL(fakes_line(rt, beta)->origin, "FERRY_PLUGIN_PATH_LAST");
    fakes_assert_works(rt, "beta");
    ferry_runtime_close(rt);
    CU_ASSERT_EQUAL_FATAL(open_last(first, variable, member, &rt), 0); /* the member decides */
    CU_ASSERT_STRING_EQUAL(fakes_line(rt, open)->origin, "ferry_runtime_open");
    snprintf(reason, sizeof(reason), "another plugin named alpha is used: %s", kept);
    FAKES_ASSERT_LINE(rt, second, "ABI", reason, "");
    for (int i = 0; i < ferry_runtime_candidate_count(rt); i++) {
        const ferry_runtime_candidate_info *line;

        CU_ASSERT_EQUAL_FATAL(ferry_runtime_candidate_at(rt, i, &line), 0);
        CU_ASSERT_STRING_NOT_EQUAL(line->path, beta);
    }
    ferry_runtime_close(rt);
}

static void permissions_of_last_folders_are_checked(void)
{
    const char *first = fakes_folder(), *shared = fakes_folder();
    const char *path = fakes_put(shared, "alpha", NULL);
    ferry_runtime *rt = NULL;
    char hint[4200];

    CU_ASSERT_EQUAL_FATAL(chmod(shared, 0777), 0);
    CU_ASSERT_EQUAL_FATAL(open_last(first, "", shared, &rt), 0);
    snprintf(hint, sizeof(hint), "chmod o-w %s", shared);
    FAKES_ASSERT_LINE(rt, path, "permissions", "*", hint);
    ferry_runtime_close(rt);
    CU_ASSERT_EQUAL_FATAL(chmod(shared, 0755), 0);
    CU_ASSERT_EQUAL_FATAL(open_last(first, "", "relative", &rt), 0);
    FAKES_ASSERT_LINE(rt, "relative", "found", "not an absolute path: not searched",
                      "use the whole path, from /");
    ferry_runtime_close(rt);
}

static void origin_is_replaced_by_the_folder_of_the_library(void)
{
    char out[PATH_MAX], self[PATH_MAX] = "", long_name[PATH_MAX + 8] = "$ORIGIN/";

    CU_ASSERT_STRING_EQUAL(ferry__place("/usr/lib/ferry", out), "/usr/lib/ferry");
    CU_ASSERT_STRING_EQUAL(ferry__place("ORIGIN/ferry", out), "ORIGIN/ferry");
    CU_ASSERT_FATAL(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    strcpy(strrchr(self, '/') + 1, "ferry/x.conf");
    CU_ASSERT_STRING_EQUAL(ferry__place("$ORIGIN/ferry/x.conf", out), self); /* linked statically */
    memset(long_name + strlen(long_name), 'x', PATH_MAX - 16);
    CU_ASSERT_STRING_EQUAL(ferry__place(long_name, out), "/nonexistent");
}

static void files_are_loaded_in_bytewise_order(void)
{
    static const char *const names[] = { "ferry_B.so", "ferry_a-1.so", "ferry_a.so", "ferry_a1.so",
                                         "ferry_b.so" };
    const char *folder = fakes_folder();
    const ferry_runtime_candidate_info *line;
    ferry_runtime *rt;

    for (size_t i = 5; i > 0; i--)
        fakes_write(folder, names[i - 1], "x");
    fakes_write(folder, "ferry_.so", "x");
    fakes_write(folder, "libferry_c.so", "x");
    fakes_write(folder, "ferry_c.so.1", "x");
    rt = fakes_open(folder, NULL, NULL);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL_FATAL(ferry_runtime_candidate_at(rt, i, &line), 0);
        CU_ASSERT_STRING_EQUAL(line->path, fakes_path(folder, names[i]));
        CU_ASSERT_STRING_EQUAL(line->origin, "FERRY_PLUGIN_PATH");
    }
    if (ferry_runtime_candidate_at(rt, 5, &line) == 0) {
        CU_ASSERT_STRING_EQUAL(line->origin, "plugindir");
    }
    ferry_runtime_close(rt);
}

static void unsearchable_folders_are_reported_and_the_working_folder_is_ignored(void)
{
    const char *folder = fakes_folder();
    const char *missing = fakes_path(folder, "missing");
    char path[4096], here[4096];
    const ferry_runtime_candidate_info *line;
    ferry_runtime *rt;

    fakes_put(folder, "alpha", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof(here)));
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    snprintf(path, sizeof(path), ":.::%s:", missing);
    rt = fakes_open(path, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(chdir(here), 0);
    FAKES_ASSERT_LINE(rt, ".", "found", "not an absolute path: not searched",
                      "use the whole path, from /");
    FAKES_ASSERT_LINE(rt, missing, "found", "No such file or directory", "");
    for (int i = 0; ferry_runtime_candidate_at(rt, i, &line) == 0; i++)
        CU_ASSERT_STRING_NOT_EQUAL(line->name, "alpha");
    ferry_runtime_close(rt);
}

/* ---- plugins of the configuration ------------------------------------------------------------ */

static ferry_runtime *open_with(const char *path, const char *text, const char **out_conf)
{
    *out_conf = fakes_write(fakes_folder(), "c.conf", text);
    return fakes_open(path, NULL, *out_conf);
}

static void a_configured_library_precedes_all_others(void)
{
    const char *searched = fakes_folder(), *elsewhere = fakes_folder();
    const char *found = fakes_put(searched, "alpha", NULL);
    const char *absolute = fakes_put(elsewhere, "alpha", "mine.so");
    const char *bare = fakes_put(searched, "beta", "other.so");
    char text[4096], reason[1024];
    const char *conf;
    ferry_runtime *rt;

    snprintf(text, sizeof(text),
             "[plugin beta]\nlibrary = other.so\n[plugin alpha]\nlibrary = %s\n", absolute);
    rt = open_with(searched, text, &conf);
    FAKES_ASSERT_LINE(rt, absolute, "ABI", "", "");
    FAKES_ASSERT_LINE(rt, bare, "ABI", "", "");
    snprintf(reason, sizeof(reason), "another plugin named alpha is used: %s", absolute);
    FAKES_ASSERT_LINE(rt, found, "ABI", reason, "");
    snprintf(text, sizeof(text), "%s:4", conf);
    CU_ASSERT_STRING_EQUAL(fakes_line(rt, absolute)->origin, text);
    ferry_runtime_close(rt);
}

static void a_configured_library_that_is_refused_is_not_replaced_by_another(void)
{
    const char *searched = fakes_folder(), *elsewhere = fakes_folder();
    const char *mine = fakes_put(elsewhere, "alpha", NULL);
    char text[4096];
    const char *conf;
    ferry_runtime *rt;
    ferry_device *dev;

    fakes_put(searched, "alpha", NULL);
    CU_ASSERT_EQUAL_FATAL(chmod(mine, 0777), 0);
    snprintf(text, sizeof(text), "[plugin alpha]\nlibrary = %s\n", mine);
    rt = open_with(searched, text, &conf);
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "alpha", &dev), FERRY_EPERM);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "chmod o-w "));
    ferry_runtime_close(rt);
}

static void a_section_with_the_file_of_another_plugin_is_an_error_with_its_line(void)
{
    static const char *const texts[] = { "[plugin alpha]\nlibrary = other.so\n",
                                         "[plugin alpha]\nenabled = yes\n" };
    const char *folder = fakes_folder();
    char message[1024];

    fakes_put(folder, "beta", "other.so");
    fakes_put(folder, "beta", "ferry_alpha.so");
    setenv("FERRY_PLUGIN_PATH", folder, 1);
    for (int i = 0; i < 2; i++) {
        const char *conf = fakes_write(fakes_folder(), "c.conf", texts[i]);
        ferry_runtime *rt = NULL;

        setenv("FERRY_CONF", conf, 1);
        CU_ASSERT_EQUAL(ferry_runtime_open(NULL, &rt), FERRY_ECONF);
        CU_ASSERT_PTR_NULL(rt);
        snprintf(message, sizeof(message), "%s:%d: [plugin alpha]: %s is the plugin beta", conf,
                 i ? 1 : 2, fakes_path(folder, i ? "ferry_alpha.so" : "other.so"));
        CU_ASSERT_STRING_EQUAL(ferry_last_error(), message);
    }
}

static void a_section_without_a_file_is_in_the_load_report(void)
{
    const char *folder = fakes_folder();
    const char *conf;
    ferry_runtime *rt =
        open_with(folder, "[plugin nosuch]\n[plugin other]\nlibrary = o.so\n", &conf);
    char reason[1024];
    ferry_device *dev;

    snprintf(reason, sizeof(reason), "no ferry_nosuch.so in %s, *", folder);
    FAKES_ASSERT_LINE(rt, "ferry_nosuch.so", "found", reason, "");
    snprintf(reason, sizeof(reason), "no o.so in %s, *", folder);
    FAKES_ASSERT_LINE(rt, "o.so", "found", reason, "");
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "nosuch", &dev), FERRY_ENODEV);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "nosuch: no ferry_nosuch.so in "));
    ferry_runtime_close(rt);
}

static void a_disabled_plugin_is_never_loaded(void)
{
    const char *folder = fakes_folder();
    const char *path = fakes_put(folder, "alpha", NULL);
    char reason[1024];
    const char *conf;
    ferry_runtime *rt;
    ferry_device *dev;
    int count;

    fakes_put(folder, "beta", NULL);
    fakes_track();
    rt = open_with(folder, "[plugin alpha]\nenabled = no\n", &conf);
    snprintf(reason, sizeof(reason), "disabled by %s:2", conf);
    FAKES_ASSERT_LINE(rt, path, "ABI", reason, "set enabled = yes there");
    CU_ASSERT_EQUAL(ferry_runtime_get_device(rt, "alpha", &dev), FERRY_ENODEV);
    CU_ASSERT_EQUAL(ferry_runtime_enumerate(rt, &count), 0);
    CU_ASSERT_PTR_NULL(strstr(fakes_tracked(), "alpha"));
    CU_ASSERT_PTR_NOT_NULL(strstr(fakes_tracked(), "beta opened"));
    ferry_runtime_close(rt);
}

/* ---- more rights than the caller ------------------------------------------------------------ */

/* Run with secure.so preloaded: the view of a set-user-ID program. */
static void inner_secure(void)
{
    const char *path = getenv("FERRY_TEST_SECURE_PATH");
    const ferry_runtime_candidate_info *line;
    ferry_runtime *rt = NULL;
    const char *said;

    fakes_log();
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(NULL, &rt), 0);
    for (int i = 0; ferry_runtime_candidate_at(rt, i, &line) == 0; i++) {
        CU_ASSERT_STRING_NOT_EQUAL(line->origin, "FERRY_PLUGIN_PATH");
        CU_ASSERT_PTR_NULL(strstr(line->path, path));
    }
    ferry_runtime_close(rt);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(NULL, &rt), 0);
    ferry_runtime_close(rt);
    said = strstr(fakes_logged(), "are ignored");
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    CU_ASSERT_PTR_NULL(strstr(said + 1, "are ignored"));
}

static void inner_secure_refuses_group_writable_files(void)
{
    const char *path = getenv("FERRY_TEST_SECURE_PATH");
    ferry_runtime_options options = { .struct_size = sizeof(options) };
    char so[4096], reason[4200];
    ferry_runtime *rt = NULL;

    snprintf(so, sizeof(so), "%s/ferry_alpha.so", path);
    options.conf = getenv("FERRY_TEST_SECURE_CONF"); /* by the program, which is trusted */
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(&options, &rt), 0);
    snprintf(reason, sizeof(reason), "%s can be written by its group", so);
    FAKES_ASSERT_LINE(rt, so, "permissions", reason, "chmod g-w *");
    ferry_runtime_close(rt);
}

static void inner_secure_takes_vendors_variables_out(void)
{
    ferry_runtime_options options = { .struct_size = sizeof(options) };
    ferry_runtime *rt = NULL;

    options.conf = getenv("FERRY_TEST_SECURE_FINE");
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    setenv("HOME", "/nonexistent", 1);
    setenv("LC_MESSAGES", "C", 1);
    CU_ASSERT_EQUAL_FATAL(ferry_runtime_open(&options, &rt), 0);
    CU_ASSERT_PTR_NOT_NULL(getenv("OCL_ICD_VENDORS"));
    fakes_assert_works(rt, "beta");
    CU_ASSERT_PTR_NULL(getenv("OCL_ICD_VENDORS"));
    CU_ASSERT_PTR_NULL(getenv("FERRY_TEST_SECURE_FINE"));
    CU_ASSERT_STRING_EQUAL(getenv("HOME"), "/");
    CU_ASSERT_STRING_EQUAL(getenv("PATH"), "/usr/bin:/bin");
    CU_ASSERT_STRING_EQUAL(getenv("LC_MESSAGES"), "C");
    ferry_runtime_close(rt);
}

/* The output of that program, shown if it failed. */
static void show(const char *path)
{
    char line[1024];
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof(line), file))
        printf("inner: %s", line);
    if (file)
        fclose(file);
}

static void a_setuid_program_ignores_the_environment_and_logs_it_once(void)
{
    const char *folder = fakes_folder();
    const char *path = fakes_put(folder, "alpha", NULL);
    const char *output = fakes_write(folder, "output", "");
    const char *build = getenv("FERRY_TEST_BUILDDIR");
    char self[4096] = "", preload[4096], text[4096];
    int status = -1;
    pid_t child;

    CU_ASSERT_EQUAL_FATAL(chmod(path, 0775), 0);
    CU_ASSERT_FATAL(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    snprintf(preload, sizeof(preload), "%s/tests/plugins/fakes/secure.so", build ? build : ".");
    snprintf(text, sizeof(text), "[plugin alpha]\nlibrary = %s\n", path);
    setenv("FERRY_TEST_SECURE_CONF", fakes_write(folder, "c.conf", text), 1);
    snprintf(text, sizeof(text), "[plugin beta]\nlibrary = %s\n", fakes_put(folder, "beta", NULL));
    setenv("FERRY_TEST_SECURE_FINE", fakes_write(folder, "fine.conf", text), 1);
    child = fork();
    if (child == 0) {
        if (!freopen(output, "w", stdout))
            _exit(1);
        setenv("FERRY_TEST_INNER", "1", 1);
        setenv("FERRY_TEST_SECURE_PATH", folder, 1);
        setenv("FERRY_PLUGIN_PATH", folder, 1);
        setenv("FERRY_CONF", "/nonexistent/ferry.conf", 1);
        setenv("FERRY_BACKEND", "Nonsense", 1);
        setenv("LD_PRELOAD", preload, 1);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
        execl(self, self, (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (status)
        show(output);
}

static const ferry_test_case inner_cases[] = {
    FERRY_TEST(inner_secure), FERRY_TEST(inner_secure_refuses_group_writable_files),
    FERRY_TEST(
        inner_secure_takes_vendors_variables_out), /* last, because it replaces the tests' own */
};

static const ferry_test_case cases[] = {
    FERRY_TEST(a_failed_open_is_in_the_load_report_and_in_the_error),
    FERRY_TEST(a_library_that_is_missing_is_named),
    FERRY_TEST(symbols_of_a_plugin_do_not_reach_others),
    FERRY_TEST(a_file_replaced_after_the_search_is_detected),
    FERRY_TEST(a_world_writable_file_or_folder_is_refused_with_a_chmod_hint),
    FERRY_TEST(permissions_of_the_link_target_are_checked),
    FERRY_TEST(a_file_of_another_user_is_refused),
    FERRY_TEST(the_first_plugin_of_a_name_is_used_and_the_others_are_listed),
    FERRY_TEST(a_file_with_several_names_is_loaded_once),
    FERRY_TEST(a_refused_file_does_not_prevent_the_next),
    FERRY_TEST(last_folders_are_searched_after_plugindir),
    FERRY_TEST(permissions_of_last_folders_are_checked),
    FERRY_TEST(origin_is_replaced_by_the_folder_of_the_library),
    FERRY_TEST(files_are_loaded_in_bytewise_order),
    FERRY_TEST(unsearchable_folders_are_reported_and_the_working_folder_is_ignored),
    FERRY_TEST(a_configured_library_precedes_all_others),
    FERRY_TEST(a_configured_library_that_is_refused_is_not_replaced_by_another),
    FERRY_TEST(a_section_with_the_file_of_another_plugin_is_an_error_with_its_line),
    FERRY_TEST(a_section_without_a_file_is_in_the_load_report),
    FERRY_TEST(a_disabled_plugin_is_never_loaded),
    FERRY_TEST(a_setuid_program_ignores_the_environment_and_logs_it_once),
};

int main(int argc, char **argv)
{
    if (getenv("FERRY_TEST_INNER"))
        return ferry_test_main(argc, argv, "inner", inner_cases, FERRY_TEST_COUNT(inner_cases));
    return ferry_test_main(argc, argv, "loader", cases, FERRY_TEST_COUNT(cases));
}
