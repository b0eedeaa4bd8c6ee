/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_FAKES_H
#define FERRY_TEST_FAKES_H

#include "ferry-test.h"
#include <ferry/ferry.h>

/*
 * What the tests of loader and runtime share: folders of fake plugins (tests/plugins), runtimes
 * that look there, and the load report. A path that is returned lives as long as the program.
 */

/* A fresh folder that only the user may write; removed when the program ends. */
const char *fakes_folder(void);

/* "FOLDER/NAME". */
const char *fakes_path(const char *folder, const char *name);

/* Copies the fake ferry_FAKE.so into the folder under the file name AS; NULL: its own. The path. */
const char *fakes_put(const char *folder, const char *fake, const char *as);

/* Writes a file with that text. Its path. */
const char *fakes_write(const char *folder, const char *name, const char *text);

/* Replaces the first `from` in a file by `to`, of the same length. */
void fakes_patch(const char *path, const char *from, const char *to);

/* Replaces one byte of a file. */
void fakes_poke(const char *path, size_t offset, char byte);

/*
 * A runtime that searches `path` (FERRY_PLUGIN_PATH) and was told `backend` and `conf`, each NULL
 * for nothing; the case fails for good if there is none.
 */
ferry_runtime *fakes_open(const char *path, const char *backend, const char *conf);

/* The line of the report for that path; the case fails for good if there is none. */
const ferry_runtime_candidate_info *fakes_line(ferry_runtime *rt, const char *path);

/* Asserts what the report says of that path. `reason` is the whole of it, or, ending in "*", its
 * beginning. */
#define FAKES_ASSERT_LINE(rt, path, stage, reason, hint) \
    CU_ASSERT(fakes_line_is(rt, path, stage, reason, hint))
int fakes_line_is(ferry_runtime *rt, const char *path, const char *stage, const char *reason,
                  const char *hint);

/* Whether that text begins as `pattern` does, which ends in "*", or else is equal to it. */
int fakes_matches(const char *text, const char *pattern);

/* What works, and goes on working whatever else lies in the folder. */
void fakes_assert_works(ferry_runtime *rt, const char *name);

/* From here on fakes note what happens to them; what they have noted so far. */
void fakes_track(void);
const char *fakes_tracked(void);

/* From here on the log is kept; what it has so far, a line each, "warn: …\n". */
void fakes_log(void);
const char *fakes_logged(void);

/* The name of the device that `name` (NULL: the selected one) stands for, or the error's line. */
const char *fakes_name_of(ferry_runtime *rt, const char *name);

/* A folder with alpha, beta, gamma, one that fails to open, and one without devices. */
const char *fakes_five(void);

#endif
