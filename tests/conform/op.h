/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_OP_H
#define FERRY_CONFORM_OP_H

#include "kit.h"

#include <ferry/op_plugin.h>

/*
 * Declarations that the files of the group `ops` share. The reference is the kit's own: it computes
 * an element at a time, from the definitions of <ferry/op_types.h>, in long double.
 */

/* The storage of an operand: a block of its own, larger than the operand on both sides. */
struct op_block {
    ferry_operand o;
    struct mirror *m; /* in place, that of the input */
    struct mirror own;
};

struct op_scene {
    const ferry_op_desc *op;
    const struct op_block *in, *out;
};

/* The expected element. Each of `roundings` may have the error of one rounding of `magnitude`. */
struct op_number {
    long double value, magnitude;
    double roundings; /* 0: exactly that */
};

/* Layouts of operands: row-major, channels innermost, part of a larger tensor. */
enum op_lie { OP_PLAIN, OP_LAST, OP_SLICE, OP_LAST_SLICE, OP_WIDE };

/* ---- operands and their blocks (op_block.c) ------------------------------------------------- */

void op_lay(ferry_operand *o, enum op_lie lie);
int64_t op_count(const ferry_operand *o);
/* The next index in logical order; false after the last. */
bool op_next(const ferry_operand *o, int64_t *i);
/* Its element, from the host's copy. */
long double op_get(const struct op_block *b, const int64_t *i);
/* Fills it with random numbers and surrounds it with NaN; an output is filled with NaN, too. */
void op_block_create(struct op_block *b, const ferry_operand *o, unsigned seed);
void op_block_output(struct op_block *b, const ferry_operand *o, unsigned seed);
void op_block_refill(struct op_block *b, unsigned seed);
/*
 * Contents that suit the kind: divisors and bases of powers are positive, regions are inside
 * images, and conversions include the numbers at which rounding and saturation begin.
 */
void op_block_suit(struct op_block *b, const ferry_op_desc *op, bool is_output, uint32_t n);
void op_block_destroy(struct op_block *b);
ferry_ref op_block_ref(const struct op_block *b);
/* Checks the elements, and that nothing around them has changed; `what` is "out[0]". */
void op_block_check(struct op_block *b, const char *what, const struct op_number *want);

/* ---- the reference (op_window.c, op_element.c, op_backward.c, op_image.c, op_state.c) ------- */

/* out[n] at index i. False if the kit does not know the kind. */
bool op_expect(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out);
void op_expect_convolution(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_im2col(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_col2im(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_pool(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out);
/* The backward passes, without and with a window; false if the kit does not know the kind. */
bool op_expect_backward(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_convolution_data(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_convolution_weights(const struct op_scene *s, const int64_t *i,
                                   struct op_number *out);
void op_expect_pool_data(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_resize(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_resize_data(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_roi_pool(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_scatter_add(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_random(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_update(const struct op_scene *s, uint32_t n, const int64_t *i,
                      struct op_number *out);
void op_set(struct op_number *out, long double value, long double magnitude, double roundings);
/* Adds one term to a sum. */
void op_add(struct op_number *out, long double term);

/* ---- unary functions, by number (op_unary.c) ------------------------------------------------ */

/* "RELU"; "unknown". */
const char *op_unary_name(uint32_t function);
/* a, b and c of each function's trials. */
extern const double op_unary_trials[FERRY_UNARY_COUNT][3];
/* function(x; a, b, c) and its sensitivity. */
void op_unary(uint32_t function, long double x, double a, double b, double c,
              struct op_number *out);
/* Its derivative at r. */
long double op_unary_slope(uint32_t function, long double r, double a, double b, double c);

/* The seed and counter with which RANDOM and UPDATE run. */
#define OP_SEED   UINT64_C(0x0123456789abcdef)
#define OP_OFFSET 5u
extern const double op_scalars[FERRY_UPDATE_SCALARS];

/* ---- a run (op_run.c) ----------------------------------------------------------------------- */

/* Names the case: kind, dtypes, shapes and strides. */
void op_say(const ferry_op_desc *op, const char *note, const char *doing);
/* Runs the created operation, also on two queues if `queues`, and checks all its outputs. */
void op_run(const ferry_op_desc *op, const ferry_op_answer *answer, void *prepared,
            const char *note, bool in_place, bool queues);

/* ---- trials (op_try.c) and their lists (op_trials.c, op_passes.c, op_others.c, op_convert.c) - */

/* The plugin's. */
extern const ferry_op_table *op_table;

/* The number of trials, and of those that the plugin accepted. */
extern struct op_tally {
    int tried, taken;
    uint64_t kinds; /* bit k: an operation of kind 32 + k was accepted */
} op_tally;

/* query, checked for writes past the answer: 0, or FERRY_EUNSUPPORTED. */
int op_ask(const ferry_op_desc *op, ferry_op_answer *out);
/* Tries an operation whose operands are plain, also with other strides. */
void op_try(const ferry_op_desc *op, const char *note, bool in_place);
/* All trials of a dtype; those of kinds that move or modify data; copies to other dtypes. */
void op_trials(uint32_t dtype);
void op_other_trials(uint32_t dtype);
void op_conversion_trials(void);
/* The backward passes of a forward operation. */
void op_try_backward(const ferry_op_desc *forward, const char *note);
/* An operation, and a plain operand whose dimensions end at −1. */
ferry_op_desc op_begin(uint32_t kind, uint32_t n_in, uint32_t n_out);
void op_shape(ferry_operand *o, uint32_t dtype, const int64_t *shape);

#define OP_SHAPE(o, dtype, ...) op_shape(o, dtype, (const int64_t[]){ __VA_ARGS__, -1 })

#endif
