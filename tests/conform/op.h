/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_OP_H
#define FERRY_CONFORM_OP_H

#include "kit.h"

#include <ferry/op_plugin.h>

/*
 * What the files of the group `ops` share. The reference is the kit's own: an element at a time,
 * from the definitions of <ferry/op_types.h>, in long double.
 */

/* Where an operand lies: a block of its own, which begins before it and ends behind it. */
struct op_block {
    ferry_operand o;
    struct mirror *m; /* in place, an output's is the input's */
    struct mirror own;
};

struct op_scene {
    const ferry_op_desc *op;
    const struct op_block *in, *out;
};

/* What an element should be. Each of `roundings` may cost as much as one of `magnitude` does. */
struct op_number {
    long double value, magnitude;
    double roundings; /* 0: exactly that */
};

/* How operands lie: row-major, channels innermost, as a part of a larger tensor. */
enum op_lie { OP_PLAIN, OP_LAST, OP_SLICE, OP_LAST_SLICE, OP_WIDE };

/* ---- operands and their blocks (op_block.c) ------------------------------------------------- */

void op_lay(ferry_operand *o, enum op_lie lie);
int64_t op_count(const ferry_operand *o);
/* The next index in logical order; false past the last. */
bool op_next(const ferry_operand *o, int64_t *i);
/* Its element, as the host knows it. */
long double op_get(const struct op_block *b, const int64_t *i);
/* Random numbers in it and NaN around it; what an output has to overwrite is NaN, too. */
void op_block_create(struct op_block *b, const ferry_operand *o, unsigned seed);
void op_block_output(struct op_block *b, const ferry_operand *o, unsigned seed);
void op_block_refill(struct op_block *b, unsigned seed);
/*
 * Contents that a kind has use for: what is divided by and raised is positive, regions lie in images, and among
 * what is converted there is what rounding and saturating begin at.
 */
void op_block_suit(struct op_block *b, const ferry_op_desc *op, bool is_output, uint32_t n);
void op_block_destroy(struct op_block *b);
ferry_ref op_block_ref(const struct op_block *b);
/* Elements are as they should be, and nothing around them has changed; `what` is "out[0]". */
void op_block_check(struct op_block *b, const char *what, const struct op_number *want);

/* ---- the reference (op_window.c, op_element.c, op_backward.c, op_image.c, op_state.c) ------- */

/* out[n] at index i. False: the kit knows no such kind. */
bool op_expect(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out);
void op_expect_convolution(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_im2col(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_col2im(const struct op_scene *s, const int64_t *i, struct op_number *out);
void op_expect_pool(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out);
/* A backward pass, and those of what has a window; false: the kit knows none of that kind. */
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
/* One more term of a sum. */
void op_add(struct op_number *out, long double term);

/* ---- unary functions, by number (op_unary.c) ------------------------------------------------ */

/* "RELU"; "unknown". */
const char *op_unary_name(uint32_t function);
/* a, b and c of each function's trials. */
extern const double op_unary_trials[FERRY_UNARY_COUNT][3];
/* function(x; a, b, c) and how sensitive it is. */
void op_unary(uint32_t function, long double x, double a, double b, double c,
              struct op_number *out);
/* Its derivative at r. */
long double op_unary_slope(uint32_t function, long double r, double a, double b, double c);

/* What RANDOM and UPDATE are run with. */
#define OP_SEED   UINT64_C(0x0123456789abcdef)
#define OP_OFFSET 5u
extern const double op_scalars[FERRY_UPDATE_SCALARS];

/* ---- a run (op_run.c) ----------------------------------------------------------------------- */

/* Says what is tried: kind, dtypes, shapes and strides. */
void op_say(const ferry_op_desc *op, const char *note, const char *doing);
/* Runs what create has prepared, on two queues too if `queues`, and looks at all that it wrote. */
void op_run(const ferry_op_desc *op, const ferry_op_answer *answer, void *prepared,
            const char *note, bool in_place, bool queues);

/* ---- trials (op_try.c) and their lists (op_trials.c, op_passes.c, op_others.c, op_convert.c) - */

/* The plugin's. */
extern const ferry_op_table *op_table;

/* What has been tried, and what of it the plugin took. */
extern struct op_tally {
    int tried, taken;
    uint64_t kinds; /* bit k: something of kind 32 + k was taken */
} op_tally;

/* query, and what it may not write behind the answer: 0, or FERRY_EUNSUPPORTED. */
int op_ask(const ferry_op_desc *op, ferry_op_answer *out);
/* One operation whose operands are plain; it is tried with other strides, too. */
void op_try(const ferry_op_desc *op, const char *note, bool in_place);
/* All trials of a dtype; those of kinds that move and change what is there; copies to other dtypes. */
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
