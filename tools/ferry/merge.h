/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_MERGE_H
#define FERRY_TOOL_MERGE_H

#include "files.h"

/*
 * One merge: the files, the plan for each array, and the sum itself. The base, if there is one, is
 * the last input, with the weight 1 − Σ wᵢ: base + Σ wᵢ·(Aᵢ − base).
 */

/* The number of threads that sum: one computes while the other reads or writes. */
#define MERGE_WORKERS 2

/* The number of elements up to which one worker sums an array alone. */
#define MERGE_UNDIVIDED (16 * 1024)

struct merge_input {
    const char *path;
    ferry_io *io[MERGE_WORKERS]; /* the file, opened once per worker, so that workers read
                                  * concurrently */
};

/* The weights of the arrays that a glob matches, one for each input. */
struct merge_weights {
    char *glob; /* NULL: the weights of all other arrays */
    double *of;
    bool used;
};

/* An array of the result: summed over all inputs, or copied from one of them. */
struct merge_array {
    const ferry_io_entry *entry; /* the entry in the first input that has the array */
    ferry_dtype dtype;           /* the dtype of the result */
    const double *weights;
    int from; /* the index of that input */
    bool copied;
};

struct merge {
    struct merge_input *inputs;
    int count;
    bool has_base;
    int workers; /* the number of workers that have files of their own */
    bool allow_missing, without_diff, trust;
    bool any_dtype; /* false: each array keeps its dtype; true: */
    ferry_dtype dtype;
    struct merge_weights
        *weights; /* the entries with a glob, of which the first match counts; then the entry for
                   * all other arrays */
    size_t weights_count;
    struct merge_array *arrays;
    int64_t array_count;
    ferry_device *device;
    struct target target;
    void *tile;
    uint64_t bytes; /* the size of the result */
    struct progress progress;
};

/*
 * Parses "W,…", "GLOB=W,…", or several separated by semicolons; NULL means the mean, or 1 each with
 * a base. Reports errors: TOOL_OK, TOOL_USAGE, TOOL_FAILURE.
 */
int merge_parse_weights(struct merge *m, const char *text);

/* The weights of an array; and the first glob that matched no array, or NULL. */
const double *merge_weights_of(struct merge *m, const char *name);
const char *merge_unused_weights(const struct merge *m);
void merge_free_weights(struct merge *m);

/*
 * Plans every array; all obstacles are reported, one per line, before anything is written. TOOL_OK
 * or TOOL_FAILURE.
 */
int merge_plan(struct merge *m);

/*
 * Sums one array tile by tile and writes it. Returns 0, a ferry error, or FERRY_EBUSY after an
 * interrupt.
 */
int merge_sum(struct merge *m, const struct merge_array *array);

#endif
