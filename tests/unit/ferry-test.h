/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_H
#define FERRY_TEST_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

/*
 * The frame of every unit test: a table of cases, run by CUnit, each counted once as passed,
 * failed or skipped. The last line a program prints is what .ci/run adds up:
 *
 *     ferry-test: SUITE: P passed, F failed, S skipped
 *
 * A program takes one argument, a part of a case's name, and then runs only the cases that have it.
 */

typedef struct ferry_test_case {
    const char *name;
    void (*run)(void);
} ferry_test_case;

/* One line of a table; the function's name is the sentence that the report shows. */
#define FERRY_TEST(function) \
    {                        \
#function, function  \
    }

#define FERRY_TEST_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/*
 * Runs a table once. The result is main's: 0, or 1 where a case failed, or 77, automake's "skipped",
 * where every case was. Environment: FERRY_TEST_TIMEOUT seconds, default 300, for one case; one
 * that hangs ends the program with its name on the last line, never the whole run.
 */
int ferry_test_main(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                    size_t ncases);

/*
 * Runs a table once for each backend of FERRY_TEST_BACKENDS ("cpu sim", what was built), each in a
 * process of its own with FERRY_BACKEND set to it; the suite reports as "SUITE on BACKEND". Options
 * of the plugin may follow in brackets: "opencl[zero_copy=off,type=cpu]"; in capitals they are
 * variables of the environment. A word in parentheses is for the report: "cuda(double)".
 */
int ferry_test_main_backends(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                             size_t ncases);

/* The same, but for those with options: for what is far from where they matter, as the command is. */
int ferry_test_main_plain_backends(int argc, char **argv, const char *suite,
                                   const ferry_test_case *cases, size_t ncases);

/* Cases of one backend with its options, as in FERRY_TEST_BACKENDS. */
typedef struct ferry_test_set {
    const char *backend;
    const ferry_test_case *cases;
    size_t ncases;
} ferry_test_set;

/* Runs each set on its backend alone; those whose plugin was not built are skipped. */
int ferry_test_main_sets(int argc, char **argv, const char *suite, const ferry_test_set *sets,
                         size_t nsets);

/*
 * The result of several runs: a failure outweighs all, and a skip is one only if all are. (77 | 1 is 77: no
 * program may add its results up by bits.)
 */
int ferry_test_worse(int so_far, int result);

/* The backend that ferry_test_main_backends is running on; NULL in ferry_test_main. */
const char *ferry_test_backend(void);

/* Whether that backend runs with options, as in "sim[unified=on]"; its name does not have them. */
bool ferry_test_has_options(void);

/* Marks the running case skipped and says why. It does not return from the case: the caller does. */
void ferry_test_skip(const char *reason, ...) __attribute__((format(printf, 1, 2)));

/* Whether the plugin was built: FERRY_TEST_PLUGINS says which, else FERRY_TEST_BACKENDS, else all were. */
bool ferry_test_is_built(const char *plugin);

/*
 * The path of a file of FERRY_TEST_DATA, the folder of real weights that is too large for the
 * repository. Where it is missing the running case is skipped and the result is NULL. The
 * string lives until the next call.
 */
const char *ferry_test_data(const char *name);

/* The path of a file below tests/data, which is always there; lives until the next call. */
const char *ferry_test_own_data(const char *name);

/*
 * Makes LC_NUMERIC a locale whose decimal point is a comma: one of the system's, or one that is written
 * for it, as glibc has it. setlocale(LC_NUMERIC, "C") ends it. Where neither goes the running case is
 * skipped and the result is false.
 */
bool ferry_test_comma(void);

/* Whether the program runs under valgrind, or with a sanitizer: shorten what takes long. */
int ferry_test_is_slow(void);

/* The processors that the program may run on, of those that there are. */
int ferry_test_processors(void);

#endif
