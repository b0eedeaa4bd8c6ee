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

struct merge_input {
    const char *path;
    ferry_io *io[MERGE_WORKERS]; /* the file, once for each worker: nobody waits to read */
    double weight;
};

/* An array of the result: summed over all inputs, or copied from one of them. */
struct merge_array {
    const ferry_io_entry *entry; /* the first input's that has it */
    int from;                    /* that input */
    bool copied;
};

struct merge {
    struct merge_input *inputs;
    int count;
    int workers; /* as many as have files of their own */
    bool allow_missing, without_diff, trust;
    struct merge_array *arrays;
    int64_t array_count;
    ferry_device *device;
    ferry_io_writer *out;
    void *tile;
    struct files_progress progress;
};

/*
 * Decides about every array; all that stands in the way is said, a line each, before anything is
 * written. TOOL_OK or TOOL_FAILURE.
 */
int merge_plan(struct merge *m);

/* Sums one array tile by tile and writes it. 0, a ferry error, FERRY_EBUSY after an interrupt. */
int merge_sum(struct merge *m, const struct merge_array *array);

#endif
