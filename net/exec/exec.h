/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a net: functions shared by the files of this folder. */
#ifndef FERRY_NET_EXEC_EXEC_H
#define FERRY_NET_EXEC_EXEC_H

#include "net/passes/passes.h"

#include "op/submission.h"

/* ---- choose.c ---- */

/* Drops all programs, since the device has changed. */
void ferry__stages_forget(ferry_net *net);
/*
 * After a pass that ran out of memory: lets the memories of the net's blobs be evicted, whose
 * contents stay, and frees the arenas with the programs if `programs`.
 */
void ferry__net_yield(ferry_net *net, bool programs);
/* Drops all programs if the ranges of blobs have changed. Called before programs are chosen. */
void ferry__stages_update(ferry_net *net);
/* Frees the programs and the stages. */
void ferry__stages_end(ferry_net *net);
/* Makes a stage begin at a layer. The programs of the longer stage are dropped. */
void ferry__stage_cut(ferry_net *net, int layer);
/* Selects the stage's program for the current shapes, or makes it. */
int ferry__stage_choose(ferry_net *net, struct ferry__stage *stage);

/* Makes the chosen program again. A failure leaves the stage without a program. */
int ferry__stage_remake(ferry_net *net, struct ferry__stage *stage);

/* ---- items.c ---- */

/*
 * Sets the error of the layer whose operation failed in the submission; if it is unknown, of
 * `layer` (NULL: no layer). A submission has operations of many layers, so that the layer is not
 * always the latest.
 */
int ferry__submission_failed(const struct ferry__submission *s, const ferry_layer *layer, int err);

/*
 * Adds loss weight times top to *loss, for the weighted tops that a later layer overwrites, or for
 * the others.
 */
int ferry__loss_add(const ferry_layer *layer, bool overwritten, double *loss);

/* Adds an operation to a submission, or calls the layer. */
int ferry__item_run(struct ferry__submission *s, const struct ferry__program *p,
                    const struct ferry__item *item);

/*
 * A memory that operations write in parts (Concat's top, the diff of Slice's bottom) counts as read
 * by them: discards its failure from an earlier pass. For layers first … last.
 */
int ferry__parts_begin(const struct ferry__program *p, const struct ferry__item *items, int n_items,
                       int first, int last);

/* ---- running.c ---- */

/*
 * Saves the parameters of layers first … last that a forward pass writes; and restores them after a
 * pass that failed with `err`, which is returned with its message.
 */
int ferry__running_save(ferry_net *net, int first, int last);
int ferry__running_restore(ferry_net *net, int first, int last, int err);

/* ---- debug.c ---- */

/*
 * These functions log Caffe's lines about layers first … last, or last … first for backward, after
 * all submitted work has completed, and about all parameters after a backward pass. Errors are
 * those of reading the blobs.
 */
int ferry__debug_forward(const ferry_net *net, int first, int last);
int ferry__debug_backward(const ferry_net *net, int last, int first);
int ferry__debug_params(const ferry_net *net);

#endif
