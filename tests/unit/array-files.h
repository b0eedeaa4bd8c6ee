/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_ARRAY_FILES_H
#define FERRY_TEST_ARRAY_FILES_H

#include "fixture.h"

#include <ferry/io.h>
#include <stdbool.h>

/*
 * Functions that tests of the commands on files of arrays share; each program has a folder of its
 * own.
 */

/* The output of the last command. */
extern char out[16384], err[16384];
extern char folder[];

/* A path in the folder, in one of four rotating buffers. */
const char *in_folder(const char *name);
void slurp(const char *name, char *into, size_t size);

/* Runs a shell command, or ferry with these arguments, in the folder. Returns its exit status. */
int shell(const char *command);
int ferry(const char *arguments);

bool is_there(const char *name);

/* The number of files in the folder, except those that these functions create. */
int files(void);
void clean(void);

struct array {
    const char *name;
    ferry_dtype dtype;
    int n;
    double first; /* values first, first + 1, … */
    bool diff;
};

/* A file of arrays of one axis, in the format of its suffix. */
void make(const char *file, const struct array *arrays, size_t count);

#define MAKE(file, ...)                               \
    make(file, (const struct array[]){ __VA_ARGS__ }, \
         sizeof((const struct array[]){ __VA_ARGS__ }) / sizeof(struct array))

/* Element i of an array. */
double value(const char *file, const char *name, int64_t i);

/*
 * Creates the folder, runs `once` on the first backend and `cases` on each, and removes the folder.
 */
int array_files_main(int argc, char **argv, const char *name, const ferry_test_case *once,
                     size_t once_count, const ferry_test_case *cases, size_t count);

#endif
