/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_FAKES_H
#define FERRY_TEST_FAKES_H

#include "ferry-test.h"
#include <ferry/ferry.h>

/*
 * Functions that the tests of loader and runtime share: folders of fake plugins (tests/plugins),
 * runtimes that search them, and the load report. A returned path is valid until the program ends.
 */

/* A new folder that only the user may write; removed when the program ends. */
const char *fakes_folder(void);

/* "FOLDER/NAME". */
const char *fakes_path(const char *folder, const char *name);

/*
 * Copies the fake ferry_FAKE.so into the folder under the file name AS; NULL: its own. Returns the
 * path.
 */
const char *fakes_put(const char *folder, const char *fake, const char *as);

/* Writes a file with that text. Returns its path. */
const char *fakes_write(const char *folder, const char *name, const char *text);

/* Replaces the first `from` in a file by `to`, of the same length. */
void fakes_patch(const char *path, const char *from, const char *to);

/* Replaces one byte of a file. */
void fakes_poke(const char *path, size_t offset, char byte);

/*
 * A runtime that searches `path` (FERRY_PLUGIN_PATH) with `backend` and `conf`, each of which may
 * be NULL; ends the case if it cannot be opened.
 */
ferry_runtime *fakes_open(const char *path, const char *backend, const char *conf);

/* The line of the report for that path; ends the case if there is none. */
const ferry_runtime_candidate_info *fakes_line(ferry_runtime *rt, const char *path);

/* Asserts the report's line for that path. `reason` is the complete text or, if it ends in "*", its
 * beginning. */
#define FAKES_ASSERT_LINE(rt, path, stage, reason, hint) \
    CU_ASSERT(fakes_line_is(rt, path, stage, reason, hint))
int fakes_line_is(ferry_runtime *rt, const char *path, const char *stage, const char *reason,
                  const char *hint);

/* Whether the text begins with `pattern` without its final "*", or equals it if it has none. */
int fakes_matches(const char *text, const char *pattern);

/* Checks that a valid plugin works, whatever other files are in the folder. */
void fakes_assert_works(ferry_runtime *rt, const char *name);

/* From here on fakes record their calls; returns the record so far. */
void fakes_track(void);
const char *fakes_tracked(void);

/* From here on the log is recorded; returns it, one line each, "warn: …\n". */
void fakes_log(void);
const char *fakes_logged(void);

/* The name of the device that `name` (NULL: the default) selects, or the error's line. */
const char *fakes_name_of(ferry_runtime *rt, const char *name);

/* A folder with the plugins alpha, beta, gamma, one that fails to open, and one without devices. */
const char *fakes_five(void);

#endif
