/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the plan files share, and the kinds by file: each function adds its launches to
 * the plan, whose operation is filled in, and sets the answer of query. Returns 0 or
 * FERRY_EUNSUPPORTED.
 */
#ifndef FERRY_KERNELS_PARTS_H
#define FERRY_KERNELS_PARTS_H

#include "kernels/kinds.h"
#include "kernels/plan.h"

/* The plan functions of the rows of kinds.h. */
#define PLAN(kind, pass, id, ...) int plan_##id(struct kernel_plan *p);
KIND_LIST(PLAN)
#undef PLAN
/*
 * plan_direct.c: convolutions that are not computed as products; dtypes and order have been
 * checked.
 */
int plan_direct(struct kernel_plan *p);

/* The unpacked weights (plan_weights.c). */
struct plan_weights {
    int64_t group, output, channel, tap[3]; /* strides */
    int64_t first;                          /* the position of the first element, which is not 0
                                             * with negative strides */
    double scale;
    bool is_shared; /* all groups use the same weights */
};

/*
 * Packs in[1] for `user`, with `lanes` outputs per block: once if it is a constant, else before
 * each run, in the workspace.
 */
void plan_pack(struct kernel_plan *p, const struct convolution_args *c, int64_t lanes,
               const struct plan_weights *w, struct kernel_launch *user);
/*
 * The same convolution of halves by `tensor`, in `groups` groups, with in[2], if there is one, as
 * the addend (plan_tensor.c).
 */
int plan_tensor(struct kernel_plan *p, const struct convolution_args *c, int64_t groups,
                const struct plan_weights *w);
/* Whether the operands are all F32, or all of a half that `tensor` computes. */
bool plan_is_product(const struct kernel_plan *p);
/* Binds a buffer to the operand of a step; false if no buffer is left. */
bool plan_bind(struct kernel_launch *l, uint32_t input, struct step *s);
/* Adds the bias as a shift, then as many steps of the epilogue as there are buffers. */
void plan_bias(struct kernel_plan *p, struct kernel_launch *l);
void plan_steps(struct kernel_plan *p, struct kernel_launch *l);

/*
 * Adds an operand (plan_walk.c). It is broadcast along axes where its size is 1. The first operand
 * determines the order.
 */
void plan_walk_add(struct walk *w, const ferry_operand *o);
/* A walk over all of `o`, without operands yet. */
void plan_walk_begin(struct walk *w, const ferry_operand *o);
/* Merges axes that are contiguous; before that, sorts them unless `as_given`. */
void plan_walk_end(struct walk *w, bool as_given);

/*
 * Adds a launch over out[0] and the first inputs (plan_element.c); these are broadcast where their
 * size is 1.
 */
struct element_args *plan_elements(struct kernel_plan *p, uint32_t kernel, uint32_t inputs);
/* The operand with size 1 on the axes in `axes`, or on all others (plan_row.c). */
ferry_operand plan_cut(const ferry_operand *o, uint32_t axes, bool others);
/* Sets the two sizes and all four strides of an image (plan_image.c). */
void plan_image(const ferry_operand *o, int64_t *along, int64_t *stride);

/* Adds a launch with zeroed arguments, without buffers and groups. */
struct kernel_launch *plan_launch(struct kernel_plan *p, uint32_t kernel);

/* Whether all operands have that dtype. */
bool plan_is_all(const struct kernel_plan *p, uint32_t dtype);
/* Number of elements of an operand. */
int64_t plan_count(const ferry_operand *o);
/* ⌈a / b⌉ */
int64_t plan_parts(int64_t a, int64_t b);
/* Elements per group, for kernels with little work per element. */
int64_t plan_piece(const struct kernel_plan *p, int64_t all, int64_t least);
/* Sets in the answer that x and y are fastest with channels last. */
void plan_prefer_channels_last(struct kernel_plan *p);
/* Converts a window over x and y to three spatial axes. */
void plan_window(const ferry_op_window *window, const ferry_operand *x, const ferry_operand *y,
                 struct window *out);

#endif
