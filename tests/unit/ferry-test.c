/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "ferry-test.h"

#include <CUnit/TestRun.h>

#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *suite;
    const char *backend;
    bool has_options; /* the backend was named with options */
    const char *running; /* the current case, for the message of the alarm */
    double begin;        /* its start */
    char skip_reason[256];
    unsigned passed, failed, skipped;
} state;

/* ---- queries of a case ----------------------------------------------------------------------- */

const char *ferry_test_backend(void)
{
    return state.backend;
}

bool ferry_test_has_options(void)
{
    return state.has_options;
}

bool ferry_test_skip_variant(void)
{
    if (!getenv("FERRY_TEST_QUICK") || !state.has_options)
        return false;
    ferry_test_skip("FERRY_TEST_QUICK: make check-long runs it with these options");
    return true;
}

bool ferry_test_is_shortest(void)
{
    const char *quick = getenv("FERRY_TEST_QUICK");

    return quick && !strcmp(quick, "2");
}

bool ferry_test_skip_slow_device(void)
{
    if (!ferry_test_is_shortest() || !strcmp(state.backend, "cpu") || !strcmp(state.backend, "sim"))
        return false;
    ferry_test_skip("FERRY_TEST_QUICK=2: .ci/run and make check-long run it on this device");
    return true;
}

bool ferry_test_skip_all_but_cpu(void)
{
    if (!strcmp(state.backend, "cpu") && !state.has_options)
        return false;
    ferry_test_skip("the tested code is the same for every device: it runs on cpu");
    return true;
}

void ferry_test_skip(const char *reason, ...)
{
    va_list args;

    va_start(args, reason);
    vsnprintf(state.skip_reason, sizeof(state.skip_reason), reason, args);
    va_end(args);
}

const char *ferry_test_data(const char *name)
{
    static char path[4096];
    const char *folder = getenv("FERRY_TEST_DATA");

    if (!folder || !*folder) {
        ferry_test_skip("FERRY_TEST_DATA does not name the folder that has %s", name);
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (access(path, R_OK) != 0) {
        ferry_test_skip("%s cannot be read", path);
        return NULL;
    }
    return path;
}

const char *ferry_test_own_data(const char *name)
{
    static char path[4096];
    const char *top = getenv("FERRY_TEST_SRCDIR");

    snprintf(path, sizeof(path), "%s/tests/data/%s", top ? top : ".", name);
    return path;
}

int ferry_test_is_slow(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 1;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return 1;
#endif
#endif
    return getenv("FERRY_TEST_VALGRIND") != NULL || getenv("FERRY_TEST_SLOW") != NULL;
}

int ferry_test_processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN); /* more than fit into the set */
}

/*
 * glibc's file of a locale's numbers: a magic word, the number of strings, their offsets, and the
 * strings.
 */
static bool write_numbers(const char *path)
{
    static const uint32_t head[] = { 0x20031114, 6, 32, 34, 36, 40, 44, 48 };
    static const char point[] = ",\0.\0\3\3\0", codeset[] = "UTF-8";
    static const uint32_t wide[] = { ',', '.' };
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(head, sizeof(head), 1, f) == 1 && fwrite(point, 8, 1, f) == 1 &&
                fwrite(wide, sizeof(wide), 1, f) == 1 && fwrite(codeset, 6, 1, f) == 1;

    return f && fclose(f) == 0 && good;
}

bool ferry_test_comma(void)
{
    char top[] = "/tmp/ferry-locale-XXXXXX", folder[64], path[96];
    bool is;

    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        return true;
    if (!mkdtemp(top))
        return false;
    snprintf(folder, sizeof(folder), "%s/xx_XX.UTF-8", top);
    snprintf(path, sizeof(path), "%s/LC_NUMERIC", folder);
    setenv("LOCPATH", top, 1);
    is = mkdir(folder, 0700) == 0 && write_numbers(path) && setlocale(LC_NUMERIC, "xx_XX.UTF-8");
    unsetenv("LOCPATH");
    unlink(path);
    rmdir(folder);
    rmdir(top);
    if (!is || strcmp(localeconv()->decimal_point, ",") != 0) {
        ferry_test_skip("there is no locale with a decimal comma");
        return false;
    }
    return true;
}

/* ---- the run -------------------------------------------------------------------------------- */

static void on_alarm(int signal_number)
{
    static const char before[] = "ferry-test: timed out in ";

    (void)signal_number;
    if (write(STDOUT_FILENO, before, sizeof(before) - 1) > 0 &&
        write(STDOUT_FILENO, state.running, strlen(state.running)) > 0 &&
        write(STDOUT_FILENO, "\n", 1) > 0)
        _exit(1);
    _exit(1);
}

static unsigned timeout_seconds(void)
{
    const char *text = getenv("FERRY_TEST_TIMEOUT");
    long seconds = text ? strtol(text, NULL, 10) : 0;

    return seconds > 0 ? (unsigned)seconds : 300;
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void on_start(const CU_pTest test, const CU_pSuite suite)
{
    (void)suite;
    state.running = test->pName;
    state.skip_reason[0] = '\0';
    fflush(stdout);
    state.begin = seconds();
    alarm(timeout_seconds());
}

static void on_complete(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord first)
{
    double took = seconds() - state.begin;

    (void)suite;
    alarm(0);
    if (first) {
        state.failed++;
        printf("FAIL %s\n", test->pName);
        for (CU_pFailureRecord f = first; f; f = f->pNext)
            printf("     %s:%u: %s\n", f->strFileName ? f->strFileName : "?", f->uiLineNumber,
                   f->strCondition ? f->strCondition : "?");
    } else if (state.skip_reason[0]) {
        state.skipped++;
        printf("SKIP %s: %s\n", test->pName, state.skip_reason);
    } else {
        state.passed++;
        if (took < 1)
            printf("pass %s\n", test->pName);
        else
            printf("pass %s, %.1f s\n", test->pName, took);
    }
}

static int die_of_cunit(const char *what)
{
    printf("ferry-test: %s: %s: %s\n", state.suite, what, CU_get_error_msg());
    return 1;
}

/* CUnit stores the cases, catches failed asserts and calls back; this file counts and prints. */
static int run_table(const char *suite, const char *only, const ferry_test_case *cases,
                     size_t ncases)
{
    double begin = seconds();
    CU_pSuite cu_suite;

    state.suite = suite;
    state.passed = state.failed = state.skipped = 0;
    if (CU_initialize_registry() != CUE_SUCCESS)
        return die_of_cunit("registry");
    cu_suite = CU_add_suite(suite, NULL, NULL);
    for (size_t i = 0; cu_suite && i < ncases; i++) {
        if (only && !strstr(cases[i].name, only))
            continue;
        if (!CU_add_test(cu_suite, cases[i].name, cases[i].run))
            cu_suite = NULL;
    }
    if (!cu_suite) {
        CU_cleanup_registry();
        return die_of_cunit("suite");
    }
    CU_set_test_start_handler(on_start);
    CU_set_test_complete_handler(on_complete);
    CU_run_all_tests();
    CU_cleanup_registry();
    printf("ferry-test: %s: %u passed, %u failed, %u skipped, %.1f s\n", suite, state.passed,
           state.failed, state.skipped, seconds() - begin);
    fflush(stdout);
    if (state.failed)
        return 1;
    return !state.passed && state.skipped ? 77 : 0;
}

int ferry_test_main(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                    size_t ncases)
{
    signal(SIGALRM, on_alarm);
    return run_table(suite, argc > 1 ? argv[1] : NULL, cases, ncases);
}

int ferry_test_worse(int so_far, int result)
{
    if ((so_far != 0 && so_far != 77) || (result != 0 && result != 77))
        return 1;
    return so_far == 77 ? result : so_far;
}

/* A name in capitals is not an option, but an environment variable. */
static bool is_variable(const char *setting)
{
    return *setting >= 'A' && *setting <= 'Z';
}

static void set_variables(const char *given)
{
    char text[256], *options, *rest = NULL;

    snprintf(text, sizeof(text), "%s", given);
    options = strchr(text, '[');
    for (char *o = options ? strtok_r(options + 1, ",]", &rest) : NULL; o;
         o = strtok_r(NULL, ",]", &rest))
        if (is_variable(o) && strchr(o, '='))
            putenv(strdup(o));
}

/* Separates a note: in "cuda(double)" the title is "cuda (double)", the plugin is cuda. */
static void take_note(const char *given, char *name, char *title, size_t size, const char *suite)
{
    size_t plain = strcspn(given, "([");
    const char *rest = given + plain;

    snprintf(title, size, "%s on %.*s%s%s", suite, (int)plain, given, *rest == '(' ? " " : "",
             rest);
    if (*rest == '(')
        rest += strcspn(rest, "[");
    sprintf(name, "%.*s%s", (int)plain, given, rest);
}

/*
 * Writes a configuration file with the options of "opencl[zero_copy=off,type=cpu]" and without the
 * plugin of FERRY_TEST_WITHOUT=cpu, and removes the brackets. `path` is mkstemp's template.
 */
static bool write_options(char *name, char *path)
{
    static const char without[] = "FERRY_TEST_WITHOUT=";
    char *options = strchr(name, '['), *rest = NULL, *missing = NULL;
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

    if (!f)
        return false;
    *options++ = '\0';
    fprintf(f, "[plugin %s]\n", name);
    for (char *o = strtok_r(options, ",]", &rest); o; o = strtok_r(NULL, ",]", &rest))
        if (!is_variable(o))
            fprintf(f, "option.%s\n", o);
        else if (!strncmp(o, without, sizeof(without) - 1))
            missing = o + sizeof(without) - 1;
    if (missing)
        fprintf(f, "[plugin %s]\nenabled = no\n", missing);
    return fclose(f) == 0;
}

static int wait_for(pid_t child, const char *title)
{
    int status;

    if (child < 0 || waitpid(child, &status, 0) != child) {
        printf("ferry-test: %s: no process to run it in\n", title);
        return 1;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    printf("ferry-test: %s: signal %d\n", title, WTERMSIG(status));
    return 1;
}

/* Whether a backend was built; a suite may name one itself. */
static bool has_plugin(const char *given)
{
    char plugin[64];

    snprintf(plugin, sizeof(plugin), "%.*s", (int)strcspn(given, "(["), given);
    return ferry_test_is_built(plugin);
}

/*
 * Runs in a process of its own, because a plugin is opened, and its options are read, once per
 * process.
 */
static int run_on(const char *given, const char *suite, const char *only,
                  const ferry_test_case *cases, size_t ncases)
{
    char title[256], name[256], path[] = "/tmp/ferry-test-XXXXXX";
    bool options = strchr(given, '[') != NULL;
    pid_t child;
    int result;

    if (strlen(given) >= sizeof(name))
        return 1;
    take_note(given, name, title, sizeof(title), suite);
    if (!has_plugin(given)) {
        printf("ferry-test: %s: the plugin is not here\n", title);
        printf("ferry-test: %s: 0 passed, 0 failed, 1 skipped\n", title);
        return 77;
    }
    if (options && !write_options(name, path)) {
        printf("ferry-test: %s: %s cannot be written\n", title, path);
        return 1;
    }
    fflush(stdout);
    child = fork();
    if (child == 0) {
        state.backend = name;
        state.has_options = options;
        set_variables(given);
        setenv("FERRY_BACKEND", name, 1);
        if (options)
            setenv("FERRY_CONF", path, 1);
        exit(run_table(title, only, cases, ncases));
    }
    result = wait_for(child, title);
    if (options)
        unlink(path);
    return result;
}

bool ferry_test_is_built(const char *plugin)
{
    const char *built = getenv("FERRY_TEST_PLUGINS");

    if (!built)
        built = getenv("FERRY_TEST_BACKENDS");
    return !built || strstr(built, plugin);
}

/*
 * With FERRY_TEST_QUICK=2, suites run with other options on sim only; `.ci/run` and `make
 * check-long` run them with the options of all.
 */
static bool is_omitted(const char *given)
{
    return ferry_test_is_shortest() && strchr(given, '[') && strncmp(given, "sim[", 4) != 0;
}

static int run_on_each(const char *only, const char *suite, const ferry_test_case *cases,
                       size_t ncases, bool with_options)
{
    const char *built = getenv("FERRY_TEST_BACKENDS");
    char *list = strdup(built ? built : "cpu sim");
    char *rest = NULL;
    int result = 77;

    if (!list)
        return 1;
    signal(SIGALRM, on_alarm);
    for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if ((with_options || !strchr(name, '[')) && !is_omitted(name))
            result = ferry_test_worse(result, run_on(name, suite, only, cases, ncases));
    free(list);
    return result;
}

int ferry_test_main_backends(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                             size_t ncases)
{
    return run_on_each(argc > 1 ? argv[1] : NULL, suite, cases, ncases, true);
}

int ferry_test_main_sets(int argc, char **argv, const char *suite, const ferry_test_set *sets,
                         size_t nsets)
{
    const char *built = getenv("FERRY_TEST_BACKENDS");
    int result = 77;

    setenv("FERRY_TEST_PLUGINS", built ? built : "cpu cuda opencl sim",
           0); /* each set overwrites it */
    for (size_t i = 0; i < nsets; i++) {
        setenv("FERRY_TEST_BACKENDS", sets[i].backend, 1);
        result = ferry_test_worse(
            result, ferry_test_main_backends(argc, argv, suite, sets[i].cases, sets[i].ncases));
    }
    return result;
}

int ferry_test_main_plain_backends(int argc, char **argv, const char *suite,
                                   const ferry_test_case *cases, size_t ncases)
{
    return run_on_each(argc > 1 ? argv[1] : NULL, suite, cases, ncases, false);
}
