/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running a net, as the files of this room share it.
 */
#ifndef FERRY_NET_EXEC_EXEC_H
#define FERRY_NET_EXEC_EXEC_H

#include "net/passes/passes.h"

#include "op/segment.h"

/* ---- choose.c ---- */

/* Forgets every program: they are for another device. */
void ferry__stages_forget(ferry_net *net);
/* Forgets programs, and stages with them. */
void ferry__stages_end(ferry_net *net);
/* Has a stage begin at a layer. Its programs, which are for more layers, are forgotten. */
void ferry__stage_cut(ferry_net *net, int layer);
/* The stage's program for the shapes of now; made if there is none. */
int ferry__stage_choose(ferry_net *net, struct ferry__stage *stage);

/* Makes the program that was chosen anew. A failure leaves the stage without one. */
int ferry__stage_remake(ferry_net *net, struct ferry__stage *stage);

/* ---- items.c ---- */

/*
 * An error of the layer whose operation a segment failed at, where that is one of them, else of `layer`
 * (NULL: of nobody that is known). Operations of many layers go together, so it is not always the latest.
 */
int ferry__segment_failed(const struct ferry__segment *s, const ferry_layer *layer, int err);

/* Adds loss weight times top to *loss, over the weighted tops that a later layer overwrites, or over the others. */
int ferry__loss_add(const ferry_layer *layer, bool overwritten, double *loss);

/* Takes an operation into a segment, or calls its layer. */
int ferry__item_run(struct ferry__segment *s, const struct ferry__program *p,
                    const struct ferry__item *item);

/*
 * What operations write in parts (Concat's top, the diff of Slice's bottom) they read, too: takes back
 * what failed there in an earlier pass. Of a net without a plan; of layers first … last.
 */
int ferry__parts_begin(const struct ferry__program *p, const struct ferry__item *items, int n_items,
                       int first, int last);

/* ---- running.c ---- */

/*
 * Sets aside what the parameters of layers first … last hold that a forward pass writes, and gives it back
 * to them behind one that failed with `err`, which is returned with its message.
 */
int ferry__running_save(ferry_net *net, int first, int last);
int ferry__running_restore(ferry_net *net, int first, int last, int err);

/* ---- debug.c ---- */

/*
 * Caffe's lines about layers first … last, or last … first backward, where nothing is submitted any more;
 * and about all parameters, behind a backward pass. What measuring fails with.
 */
int ferry__debug_forward(const ferry_net *net, int first, int last);
int ferry__debug_backward(const ferry_net *net, int last, int first);
int ferry__debug_params(const ferry_net *net);

#endif
