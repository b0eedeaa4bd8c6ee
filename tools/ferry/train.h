/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_TRAIN_H
#define FERRY_TOOL_TRAIN_H

#include "tool.h"

#include <ferry/solver.h>
#include <stdio.h>

/*
 * What `train` and `test` say while they run: Caffe's lines on standard error, a line about progress
 * where that is a terminal, and the log of iterations.
 */

/*
 * From here on ferry's log goes to standard error in the form that scripts for Caffe's logs read: "I", the
 * date, the time, the process, "ferry]". FERRY_LOG still says from which level on; info where it is
 * not set. To be called before anything of ferry's; lines below a warning are left out until
 * train_lines_begin.
 */
void train_lines_prepare(void);
void train_lines_begin(void);
/* The log as it was. */
void train_lines_end(void);

/* How far it is, on a terminal's last line, which the lines of the log push up. */
void train_progress(const ferry_solver *s, const ferry_solver_iteration *e, int64_t images);
void train_progress_end(void);

/* The log of iterations, a line of JSON each. */
struct train_log {
    const char *path;
    FILE *file;    /* NULL: none is kept */
    json_t *waits; /* the last iteration's line: the test behind it goes into it, too */
};

/* Opens the file; `appends`: behind what is there. An exit status. */
int train_log_open(struct train_log *log, const char *path, bool appends);
/* Writes an iteration's line. An exit status: a full disk is one. */
int train_log_write(struct train_log *log, const ferry_solver *s, const ferry_solver_iteration *e);
/* Writes what waits, and closes. An exit status. */
int train_log_close(struct train_log *log);

#endif
