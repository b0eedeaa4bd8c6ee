/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_ARRAY_FILES_H
#define FERRY_TEST_ARRAY_FILES_H

#include "fixture.h"

#include <ferry/io.h>
#include <stdbool.h>

/* What tests of the command that reads and writes files of arrays share; each has a folder of its own. */

/* What the last command has said. */
extern char out[16384], err[16384];
extern char folder[];

/* A path in the folder; one of four that take turns. */
const char *in_folder(const char *name);
void slurp(const char *name, char *into, size_t size);

/* Runs a shell command, or ferry with these arguments, in the folder. Returns its exit status. */
int shell(const char *command);
int ferry(const char *arguments);

bool is_there(const char *name);

/* How many files there are, but for what these functions leave. */
int files(void);
void clean(void);

struct array {
    const char *name;
    ferry_dtype dtype;
    int n;
    double first; /* then first + 1, … */
    bool diff;
};

/* A file of arrays of one axis, in the format of its suffix. */
void make(const char *file, const struct array *arrays, size_t count);

#define MAKE(file, ...)                               \
    make(file, (const struct array[]){ __VA_ARGS__ }, \
         sizeof((const struct array[]){ __VA_ARGS__ }) / sizeof(struct array))

/* Element i of an array. */
double value(const char *file, const char *name, int64_t i);

/* Makes the folder, runs `once` on the first backend, `cases` on each, and removes it. */
int array_files_main(int argc, char **argv, const char *name, const ferry_test_case *once,
                     size_t once_count, const ferry_test_case *cases, size_t count);

#endif
