/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_MERGE_H
#define FERRY_TOOL_MERGE_H

#include "files.h"

/*
 * One merge: the files, what is to become of each array, and the sum itself. The base, where there
 * is one, is the last input, with the weight 1 − Σ wᵢ: base + Σ wᵢ·(Aᵢ − base).
 */

/* Threads that sum: one computes while the other reads or writes. */
#define MERGE_WORKERS 2

/* Elements that one worker sums alone in any case. */
#define MERGE_UNDIVIDED (16 * 1024)

struct merge_input {
    const char *path;
    ferry_io *io[MERGE_WORKERS]; /* the file, once for each worker: nobody waits to read */
};

/* The weights of the arrays that a glob matches, one for each input. */
struct merge_weights {
    char *glob; /* NULL: of all others */
    double *of;
    bool used;
};

/* An array of the result: summed over all inputs, or copied from one of them. */
struct merge_array {
    const ferry_io_entry *entry; /* the first input's that has it */
    ferry_dtype dtype;           /* the result's */
    const double *weights;
    int from; /* that input */
    bool copied;
};

struct merge {
    struct merge_input *inputs;
    int count;
    bool has_base;
    int workers; /* as many as have files of their own */
    bool allow_missing, without_diff, trust;
    bool any_dtype; /* as each array is; otherwise: */
    ferry_dtype dtype;
    struct merge_weights
        *weights; /* those with a glob, the first that matches counts; then all others' */
    size_t weights_count;
    struct merge_array *arrays;
    int64_t array_count;
    ferry_device *device;
    struct target target;
    void *tile;
    uint64_t bytes; /* of the result */
    struct progress progress;
};

/*
 * "W,…", "GLOB=W,…", or several with semicolons between; NULL: the mean, or with a base differences
 * whole. Says what is wrong: TOOL_OK, TOOL_USAGE, TOOL_FAILURE.
 */
int merge_parse_weights(struct merge *m, const char *text);

/* The weights of an array, and the first glob that no array has asked for; NULL. */
const double *merge_weights_of(struct merge *m, const char *name);
const char *merge_unused_weights(const struct merge *m);
void merge_free_weights(struct merge *m);

/*
 * Decides about every array; all that stands in the way is said, a line each, before anything is
 * written. TOOL_OK or TOOL_FAILURE.
 */
int merge_plan(struct merge *m);

/* Sums one array tile by tile and writes it. 0, a ferry error, FERRY_EBUSY after an interrupt. */
int merge_sum(struct merge *m, const struct merge_array *array);

#endif
