/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_RUN_H
#define FERRY_TOOL_RUN_H

#include "net.h"
#include "pictures.h"

#include <ferry/io.h>

/*
 * `ferry run` as its files share it.
 */

struct run {
    const struct tool_command *self;
    const char *output, *blobs, *top, *labels, *batch, *iterations;
    bool json, report, all, backward;
    struct net_list diffs;
    int k;          /* of --top; 0: not given */
    int64_t per, n; /* of --batch, and of --iterations */
    char **names;   /* of --labels */
    size_t n_names;
    struct net_pictures pictures;
    double ms; /* of a pass */
};

/* An output, or an item of one, as it is shown. */
struct run_view {
    const char *name;
    int rank;
    int64_t shape[FERRY_MAX_AXES], count;
    const float *values;
};

/* ---- run_show.c ---- */

int run_read_labels(struct run *run);

/* All of a blob. An exit status. */
int run_view_all(const ferry_blob *b, struct run_view *out);

/*
 * Item `item` of `n`: that part of axis 0, or of rows of detections (1 x 1 x K x 7) those that begin with
 * its number; all of a blob that has neither.
 */
int run_view_item(const ferry_blob *b, int64_t item, int64_t n, struct run_view *out);

/* {"name", "shape", "count", "values", "top"} */
json_t *run_json_output(const struct run *run, const struct run_view *v);

/* The outputs, and the report where it was asked for, as text or JSON. */
int run_show(const struct run *run, ferry_net *net, double loss);

/* ---- run_write.c ---- */

/* The blobs of --blobs, or the outputs, of one forward pass after the other, along axis 0. */
struct run_series;

struct run_series *run_series_create(const struct run *run, ferry_net *net);
int run_series_add(struct run_series *s);
/* Into the file of --output. */
int run_series_write(const struct run_series *s);
void run_series_destroy(struct run_series *s);

/*
 * What there is after one pass into the file of --output: with --blobs all every blob and parameter, else
 * the blobs of --blobs or the outputs; after a backward one the diff of each as NAME.diff.
 */
int run_write_once(const struct run *run, ferry_net *net);

/* ---- run_files.c ---- */

/* Whether the inputs are files to be gone through, and which input that is about. */
bool run_is_of_files(const struct run *run, const struct net_list *inputs, const char **out_spec);

/* Goes through a folder or a list of pictures, a batch at a time; prints a line of JSON a file. */
int run_files(struct run *run, ferry_net *net, const char *spec);

#endif
