/* SPDX-License-Identifier: BSD-2-Clause */
/* The passes that make a program from the emitted operations, and the functions that they share. */
#ifndef FERRY_NET_PASSES_PASSES_H
#define FERRY_NET_PASSES_PASSES_H

#include "net/ir/program.h"

struct ferry_operation_plan;

/* ---- make.c ---- */

/* Makes the program of layers first … last for the current shapes. On failure *out is unchanged. */
int ferry__program_make(ferry_net *net, int first, int last, struct ferry__program **out);
/* Whether the layers' bottoms and tops have the shapes that a program is for. */
bool ferry__program_fits(const struct ferry__program *p);

/* ---- the passes, in the order of make.c; after a failure the program can only be freed ---- */

/* Creates items and values from the emitted operations. */
int ferry__pass_collect(struct ferry__program *p);
/* Merges operations where that costs nothing, and queries how each will run. */
int ferry__pass_fuse(struct ferry__program *p);
/* Computes only the positions of convolutions that pointwise convolutions with strides read. */
int ferry__pass_positions(struct ferry__program *p);
/* Computes products with integers where ranges are known and the device has integer arithmetic. */
int ferry__pass_quantize(struct ferry__program *p);
/* Gives products weights of F16 or BF16 where a file has them and the device packs them. */
int ferry__pass_halves(struct ferry__program *p);
/* Removes the narrow forms of a layer whose F32 form stays and that no operation reads. */
void ferry__narrow_trim(const ferry_layer *layer);
/* Chooses channels last where operations prefer it, with copies at the borders of such regions. */
int ferry__pass_layout(struct ferry__program *p);
/* Stores values between products as BF16, where the precision permits that. */
int ferry__pass_narrow(struct ferry__program *p);
/* Makes values that are copied into a part of another value slices of it. */
int ferry__pass_slice(struct ferry__program *p);
/* Gives each operation the strides of its values. */
int ferry__pass_strides(struct ferry__program *p);
/* Assigns memory to values; values whose lifetimes do not overlap share it. */
int ferry__pass_arena(struct ferry__program *p);
/* Removes passes over memory from the forward pass of a net that runs backward. */
int ferry__pass_train(struct ferry__program *p);
/* Creates the operations on their devices. */
int ferry__pass_prepare(struct ferry__program *p);
/* Creates and prepares the items of the backward pass; none if the net does not run backward. */
int ferry__pass_differentiate(struct ferry__program *p);
/* Assigns memory to the values of forward and backward together, if the net plans both. */
int ferry__pass_share(struct ferry__program *p);

/* ---- fuse.c ---- */

/* Adds a function of UNARY to the epilogue of `host` if it then runs as well; 1, 0 or an error. */
int ferry__join_unary(struct ferry__item *host, const struct ferry__item *item);

/* ---- strides.c ---- */

/* Assigns the strides of a value that is not a slice. */
void ferry__value_set_strides(struct ferry__value *v);
/*
 * Gives an item's operation the strides of its values. 1, or 0: strides cannot describe an operand.
 */
int ferry__item_set_strides(const struct ferry__program *p, const struct ferry__item *item,
                            ferry_op_desc *op, int64_t *in_start, int64_t *out_start);

/* ---- reach.c ---- */

/* Queries how an item's operation would run. */
int ferry__item_query(struct ferry__item *item, const ferry_op_desc *op,
                      struct ferry_operation_plan *out);
/* Whether the kernels of the item's device support the offsets that its operands then have. */
bool ferry__item_reaches(const struct ferry__program *p, const struct ferry__item *item,
                         const int64_t *in_start, const int64_t *out_start);
/* Permits a product the approximations of the net's precision. */
int ferry__item_set_precision(const struct ferry__program *p, struct ferry__item *item);
/* Queries how an item will run and stores the result. */
int ferry__item_choose(const struct ferry__program *p, struct ferry__item *item);
/* Creates the item's operation as queried. */
int ferry__item_prepare(const struct ferry__program *p, struct ferry__item *item);

/* ---- fold.c ---- */

/* Lists the blobs that items write, which are not constants. FERRY_ENOMEM. */
int ferry__folds_begin(struct ferry__program *p);
/* Folds item `by`, an affine function of the output of `item`, into it; 1, 0, FERRY_ENOMEM. */
int ferry__fold_try(struct ferry__program *p, struct ferry__item *item,
                    const struct ferry__item *by);
/* Makes an affine item without weights compute affine item `by` after it as well: one SCALE. */
int ferry__fold_pair(struct ferry__program *p, struct ferry__item *item,
                     const struct ferry__item *by);
/*
 * Folds item `by`, an affine function that computes the input of `item`, into it; 1, 0,
 * FERRY_ENOMEM.
 */
int ferry__fold_before(struct ferry__program *p, struct ferry__item *item,
                       const struct ferry__item *by);
/*
 * Recomputes the constants whose sources were written (folded.c). If they are not `kept`, they can
 * be read only between ferry__origin_begin and ferry__origin_end, as packing does.
 */
int ferry__fold_refresh(struct ferry__fold *fold, bool kept);
/* Invalidates all folds, so that the next refresh recomputes them: their sources were replaced. */
void ferry__folds_forget(ferry_net *net);
void ferry__folds_end(ferry_net *net);

/* ---- integers.c: as those of fold.c; ferry__integers_forget is for one layer ---- */

int ferry__integers_refresh(struct ferry__integers *constants, bool kept);
void ferry__integers_forget(ferry_layer *layer);
void ferry__integers_end(ferry_net *net);

/* ---- copies.c ---- */

/*
 * Drops copies between values of the backward pass that are not stored in their blobs, where their
 * readers can read the source.
 */
void ferry__elide_copies(struct ferry__program *p);

/* ---- recompute.c ---- */

/* The maximum number of operations that compute a value again; each adds an item and a value. */
#define FERRY__RECOMPUTE_MOST 3
/*
 * Adds items to backward that compute values again, and makes later items read them. FERRY_ENOMEM
 * and the errors of ferry_operation_create.
 */
int ferry__recompute(struct ferry__program *p);

/* ---- divide.c ---- */

/*
 * Divides the images of a batch among chains (op/chain.h) where that is estimated to gain, once
 * values have their strides and lifetimes. FERRY_ENOMEM and the errors of ferry_operation_query.
 */
int ferry__divide(struct ferry__program *p);
/* Creates the operations for sub-batches with one image less, and room for the runs. */
int ferry__divide_prepare(struct ferry__program *p);

/* ---- offsets.c ---- */

/* The bytes of a page of memory. */
#define FERRY__PAGE 4096

/*
 * Sets the offsets of the `n` values whose numbers `order` has, which it sorts; on a device with a
 * max_binding also their parts, within which the offsets count. *out_end is the number of bytes up
 * to the end of the last value. FERRY_ENOMEM.
 */
int ferry__offsets_assign(struct ferry__program *p, int *order, int n, uint64_t *out_end);
/* The bytes of a value, a multiple of its device's alignment. */
uint64_t ferry__placed_bytes(const struct ferry__value *v);

/* ---- arena.c ---- */

/*
 * Places the values that are not stored in their blobs' memory, by their lifetimes, and grows the
 * net's arenas. FERRY_ENOMEM and the errors of ferry_memory_create; arenas are then as before or
 * larger.
 */
int ferry__arena_place(struct ferry__program *p);
/* The memory of the arena block that contains a value; NULL if there is none. */
ferry_memory *ferry__arena_of(const ferry_net *net, const struct ferry__value *v);
/*
 * Discards failures of the last forward pass, since the contents of arenas do not outlive a pass.
 */
int ferry__arenas_begin(ferry_net *net);
void ferry__arenas_end(ferry_net *net);

#endif
