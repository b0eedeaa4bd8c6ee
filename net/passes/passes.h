/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The passes that make a program of what layers emitted, and what they share.
 */
#ifndef FERRY_NET_PASSES_PASSES_H
#define FERRY_NET_PASSES_PASSES_H

#include "net/ir/program.h"

/* ---- make.c ---- */

/* The program of layers first … last for the shapes of now. On failure *out is unchanged. */
int ferry__program_make(ferry_net *net, int first, int last, struct ferry__program **out);
/* Whether the layers' bottoms and tops have the shapes that a program is for. */
bool ferry__program_fits(const struct ferry__program *p);

/* ---- the passes, in the order of make.c; a program on which one fails can only be freed ---- */

/* Items and values from what the layers emitted. */
int ferry__pass_collect(struct ferry__program *p);
/* Joins operations where that costs nothing, and asks how each will be run. */
int ferry__pass_fuse(struct ferry__program *p);
/* Channels last where operations prefer it, copies at the borders of such regions. */
int ferry__pass_layout(struct ferry__program *p);
/* Places values that are copied into a part of another value there. */
int ferry__pass_slice(struct ferry__program *p);
/* Gives each operation the strides of its values. */
int ferry__pass_strides(struct ferry__program *p);
/* Gives each value memory; values that never live together share it. */
int ferry__pass_arena(struct ferry__program *p);
/* Creates the operations on their devices. */
int ferry__pass_prepare(struct ferry__program *p);
/* The items of the backward pass, prepared; none where the net is not run backward. */
int ferry__pass_differentiate(struct ferry__program *p);

/* ---- strides.c ---- */

/* Strides of a value by itself. */
void ferry__value_lay(struct ferry__value *v);
/* An item's operation as its values lie. 1, or 0: it cannot be said with strides. */
int ferry__item_lay(const struct ferry__program *p, const struct ferry__item *item,
                    ferry_op_desc *op, int64_t *in_start, int64_t *out_start);

/* ---- reach.c ---- */

/* How an item's operation would be run. */
int ferry__item_query(struct ferry__item *item, const ferry_op_desc *op, ferry_operation_plan *out);
/* Whether the kernels of whoever runs an item may begin where its operands then do. */
bool ferry__item_reaches(const struct ferry__program *p, const struct ferry__item *item,
                         const int64_t *in_start, const int64_t *out_start);
/* Asks how an item will be run. */
int ferry__item_settle(const struct ferry__program *p, struct ferry__item *item);
/* Makes its operation, as that has been settled and laid. */
int ferry__item_prepare(const struct ferry__program *p, struct ferry__item *item);

/* ---- fold.c ---- */

/* Takes item `by` into `item`, whose output it changes by an affine function; 1, 0, FERRY_ENOMEM. */
int ferry__fold_try(struct ferry__program *p, struct ferry__item *item,
                    const struct ferry__item *by);
/* Takes item `by`, which makes the input of `item` by an affine function, into it; 1, 0, FERRY_ENOMEM. */
int ferry__fold_before(struct ferry__program *p, struct ferry__item *item,
                       const struct ferry__item *by);
/* Makes the constants anew whose sources were written: fold_weights.c. */
int ferry__fold_refresh(struct ferry__fold *fold);
/* Has all of them made anew at their next refresh: sources are others. */
void ferry__folds_forget(ferry_net *net);
void ferry__folds_end(ferry_net *net);

/* ---- arena.c ---- */

/* The memory of the arena in which a value is, NULL if there is none. */
ferry_memory *ferry__arena_of(const ferry_net *net, const struct ferry__value *v);
/* Arenas hold nothing that outlives a forward pass: takes back what failed in the last one. */
int ferry__arenas_begin(ferry_net *net);
void ferry__arenas_end(ferry_net *net);

#endif
