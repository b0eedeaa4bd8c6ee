/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_TRAIN_H
#define FERRY_TOOL_TRAIN_H

#include "tool.h"

#include <ferry/solver.h>
#include <stdio.h>

/*
 * The output of `train` and `test` while they run: Caffe's lines on standard error, a progress line
 * if that is a terminal, and the log of iterations.
 */

/*
 * Sends ferry's log to standard error, in the form that scripts for Caffe's logs read: "I", the
 * date, the time, the process, "ferry]". FERRY_LOG still sets the lowest level; info by default.
 * Must be called before any function of ferry; lines below a warning are suppressed until
 * train_lines_begin.
 */
void train_lines_prepare(void);
void train_lines_begin(void);
/* Restores the previous log. */
void train_lines_end(void);

/* Shows the progress in a terminal's last line, below the lines of the log. */
void train_progress(const ferry_solver *s, const ferry_solver_iteration *e, int64_t images);
void train_progress_end(void);

/* The log of iterations, one line of JSON each. */
struct train_log {
    const char *path;
    FILE *file;    /* NULL without a log */
    json_t *pending; /* the last iteration's line, which is kept because the test after it adds to
                      * it */
};

/* Opens the file; with `appends` new lines follow its content. Returns an exit status. */
int train_log_open(struct train_log *log, const char *path, bool appends);
/* Writes an iteration's line. Returns an exit status: a full disk is a failure. */
int train_log_write(struct train_log *log, const ferry_solver *s, const ferry_solver_iteration *e);
/* Writes the pending line and closes the file. Returns an exit status. */
int train_log_close(struct train_log *log);

#endif
