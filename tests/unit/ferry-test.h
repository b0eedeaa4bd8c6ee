/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_H
#define FERRY_TEST_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

/*
 * The framework of every unit test: a table of cases, run by CUnit, each counted once as passed,
 * failed or skipped. .ci/run adds up the last lines of all programs:
 *
 *     ferry-test: SUITE: P passed, F failed, S skipped
 *
 * A program takes one argument, a part of a case's name, and then runs only the cases whose names
 * contain it.
 */

typedef struct ferry_test_case {
    const char *name;
    void (*run)(void);
} ferry_test_case;

/* One line of a table; the function's name is the sentence in the report. */
#define FERRY_TEST(function) \
    {                        \
#function, function  \
    }

#define FERRY_TEST_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/*
 * Runs a table once. Returns main's result: 0, or 1 if a case failed, or 77, automake's "skipped",
 * if all were skipped. Environment: FERRY_TEST_TIMEOUT seconds, default 300, for one case; a case
 * that hangs ends the program with its name on the last line, never the whole run.
 */
int ferry_test_main(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                    size_t ncases);

/*
 * Runs a table once for each backend of FERRY_TEST_BACKENDS ("cpu sim", those that were built),
 * each in a process of its own with FERRY_BACKEND set to it; the suite reports as "SUITE on
 * BACKEND". Options of the plugin may follow in brackets: "opencl[zero_copy=off,type=cpu]"; names
 * in capitals are environment variables. A word in parentheses is for the report: "cuda(double)".
 */
int ferry_test_main_backends(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                             size_t ncases);

/*
 * As ferry_test_main_backends, without the backends that have options: for tests that options
 * hardly affect, such as those of the command.
 */
int ferry_test_main_plain_backends(int argc, char **argv, const char *suite,
                                   const ferry_test_case *cases, size_t ncases);

/* Cases of one backend with its options, as in FERRY_TEST_BACKENDS. */
typedef struct ferry_test_set {
    const char *backend;
    const ferry_test_case *cases;
    size_t ncases;
} ferry_test_set;

/* Runs each set on its own backend; sets whose plugin was not built are skipped. */
int ferry_test_main_sets(int argc, char **argv, const char *suite, const ferry_test_set *sets,
                         size_t nsets);

/*
 * Combines the results of several runs: a failure outweighs all, and the result is a skip only if
 * all are skips. (77 | 1 is 77, so results must not be combined by bits.)
 */
int ferry_test_worse(int so_far, int result);

/* The current backend of ferry_test_main_backends; NULL in ferry_test_main. */
const char *ferry_test_backend(void);

/*
 * Whether that backend runs with options, as in "sim[unified=on]"; its name does not include them.
 */
bool ferry_test_has_options(void);

/*
 * With FERRY_TEST_QUICK, skips the running case on a backend that was named with options. True if
 * it did; the caller returns then.
 */
bool ferry_test_skip_variant(void);

/*
 * Whether FERRY_TEST_QUICK is 2, as in `make check`; `.ci/run` sets it to 1 and runs more.
 */
bool ferry_test_is_shortest(void);

/*
 * In the shortest run, skips the running case on other backends than cpu and sim. True if it did;
 * the caller returns then.
 */
bool ferry_test_skip_slow_device(void);

/*
 * Skips the running case on other backends than cpu, and with options, because the tested code runs
 * on the host, whatever the device. True if it did; the caller returns then.
 */
bool ferry_test_skip_all_but_cpu(void);

/*
 * Marks the running case as skipped, with the reason. It returns; the caller must return from the
 * case.
 */
void ferry_test_skip(const char *reason, ...) __attribute__((format(printf, 1, 2)));

/*
 * Whether the plugin was built: it is in FERRY_TEST_PLUGINS, or, without that variable, in
 * FERRY_TEST_BACKENDS; true without both.
 */
bool ferry_test_is_built(const char *plugin);

/*
 * The path of a file of FERRY_TEST_DATA, the folder of real weights, which is too large for the
 * repository. If the file is missing, the case is skipped and the result is NULL. The string is
 * valid until the next call.
 */
const char *ferry_test_data(const char *name);

/* The path of a file below tests/data, which always exists; valid until the next call. */
const char *ferry_test_own_data(const char *name);

/*
 * Sets LC_NUMERIC to a locale whose decimal point is a comma: one of the system's, or one that is
 * written in glibc's format. setlocale(LC_NUMERIC, "C") restores it. If neither works, the case is
 * skipped and the result is false.
 */
bool ferry_test_comma(void);

/*
 * Whether the program runs under valgrind, with a sanitizer, or with FERRY_TEST_SLOW, as under
 * qemu: long tests should be shortened.
 */
int ferry_test_is_slow(void);

/* The number of processors that the program may use. */
int ferry_test_processors(void);

#endif
