/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_LEVELDB_SHAPES_H
#define FERRY_TEST_LEVELDB_SHAPES_H

#include "ferry-test.h"

#include <leveldb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Databases that libleveldb writes, in a temporary folder of the program. */

struct shape {
    const char *name;
    int records, key_size, value_size, large_every; /* every n-th record has 100,000 bytes */
    int per_batch;
    bool scattered;      /* not in the order of their keys */
    int deleted_every;   /* every n-th record is deleted afterwards */
    int rewritten_every; /* every n-th record gets another value afterwards */
    size_t buffer;       /* maximum bytes of a log before it becomes a table */
    bool compressed, reopened;
};

enum { ONE, LOG, TABLE, PLAIN, SNAPPY, LEVELS, SHAPE_COUNT };

extern const struct shape shapes[SHAPE_COUNT];

/* Makes the folder, runs the cases and removes it; the exit status. */
int run_with_shapes(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                    size_t count);

/* The path of a name in the folder; valid until four later calls. */
const char *in_folder(const char *name);

/* Runs a command of the shell, with two names. */
void shell(const char *format, const char *a, const char *b);

/* Fails the case if libleveldb has reported an error. */
void check(char *error);

/* A number that depends on all bits of `n`. */
uint32_t mix(uint32_t n);

leveldb_t *open_db(const struct shape *s, const char *path);

/* Writes the database of a shape anew, with its name. */
void write_shape(const struct shape *s);

/* Applies `fn` to each file of a database whose name ends that way; returns their number. */
int each_file(const char *path, const char *suffix, void (*fn)(const char *file));

#endif
