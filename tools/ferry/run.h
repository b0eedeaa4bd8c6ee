/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_RUN_H
#define FERRY_TOOL_RUN_H

#include "net.h"
#include "pictures.h"

#include <ferry/io.h>

/* Declarations shared by the files of `ferry run`. */

struct run {
    const struct tool_command *self;
    const char *output, *blobs, *top, *labels, *batch, *iterations;
    bool json, report, all, backward;
    struct net_list diffs;
    int k;          /* the value of --top; 0: not given */
    int64_t per, n; /* the values of --batch, and of --iterations */
    char **names;   /* the lines of --labels */
    size_t n_names;
    struct net_pictures pictures;
    double ms; /* the time of a pass */
};

/* An output, or an item of one, to print. */
struct run_view {
    const char *name;
    int rank;
    int64_t shape[FERRY_MAX_AXES], count;
    const float *values;
};

/* ---- run_show.c ---- */

int run_read_labels(struct run *run);

/* Views all of a blob. Returns an exit status. */
int run_view_all(const ferry_blob *b, struct run_view *out);

/*
 * Views item `item` of `n`: its slice of axis 0, or, for rows of detections (1 x 1 x K x 7), the
 * rows that begin with its index; all of a blob that has neither.
 */
int run_view_item(const ferry_blob *b, int64_t item, int64_t n, struct run_view *out);

/* {"name", "shape", "count", "values", "top"} */
json_t *run_json_output(const struct run *run, const struct run_view *v);

/* Prints the outputs, and the report if it was requested, as text or JSON. */
int run_show(const struct run *run, ferry_net *net, double loss);

/* ---- run_write.c ---- */

/*
 * The blobs of --blobs, or the outputs, of consecutive forward passes, concatenated along axis 0.
 */
struct run_series;

struct run_series *run_series_create(const struct run *run, ferry_net *net);
int run_series_add(struct run_series *s);
/* Writes the series to the file of --output. */
int run_series_write(const struct run_series *s);
void run_series_destroy(struct run_series *s);

/*
 * Writes the result of one pass to the file of --output: with --blobs all every blob and parameter,
 * else the blobs of --blobs or the outputs; after backward also the diff of each as NAME.diff.
 */
int run_write_once(const struct run *run, ferry_net *net);

/* ---- run_files.c ---- */

/* Whether the input is a folder or a list of pictures, and which input that is. */
bool run_is_of_files(const struct run *run, const struct net_list *inputs, const char **out_spec);

/* Runs the pictures of a folder or a list, a batch at a time; prints one line of JSON per file. */
int run_files(struct run *run, ferry_net *net, const char *spec);

#endif
