/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_OP_H
#define FERRY_CONFORM_OP_H

#include "kit.h"

#include "tests/reference/reference.h"

#include <ferry/op_plugin.h>

/* Declarations that the files of the group `ops` share. */

/* The storage of an operand: a block of its own, larger than the operand on both sides. */
struct op_block {
    ferry_operand o;
    struct mirror *m; /* in place, that of the input */
    struct mirror own;
};

/* Layouts of operands: row-major, channels innermost, part of a larger tensor. */
enum op_layout { OP_PLAIN, OP_LAST, OP_SLICE, OP_LAST_SLICE, OP_WIDE };

/* ---- operands and their blocks (op_block.c) ------------------------------------------------- */

void op_lay(ferry_operand *o, enum op_layout layout);
/* The operand's elements in the host's copy. */
struct op_view op_block_view(const struct op_block *b);
/*
 * Fills the operand with random numbers and surrounds it with NaN; an output is filled with NaN,
 * too.
 */
void op_block_create(struct op_block *b, const ferry_operand *o, unsigned seed);
void op_block_output(struct op_block *b, const ferry_operand *o, unsigned seed);
void op_block_refill(struct op_block *b, unsigned seed);
/*
 * Changes contents to those that suit the kind: divisors and bases of powers are positive, regions
 * are inside images, and conversions include the numbers at which rounding and saturation begin.
 */
void op_block_suit(struct op_block *b, const ferry_op_desc *op, bool is_output, uint32_t n);
void op_block_destroy(struct op_block *b);
ferry_ref op_block_ref(const struct op_block *b);
/* Checks the elements, and that nothing around them has changed; `what` is "out[0]". */
void op_block_check(struct op_block *b, const char *what, const struct op_number *want);

/*
 * Whether |got − want| is within the tolerance of op_types.h; a result beyond the dtype's range is
 * infinite.
 */
bool op_near(ferry_dtype t, long double got, const struct op_number *want);

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

/* ---- operations of any size (op_whole.c) ---------------------------------------------------- */

/* The number of bytes after an array that no run may change. */
#define OP_TAIL 256

/* An operand in a block of the device. */
struct op_array {
    ferry_operand o;
    uint64_t bytes;
    unsigned char *host, *got; /* contents before and after the run */
    void *handle;
};

struct op_whole {
    ferry_op_desc op; /* without the steps that the plugin refuses */
    ferry_op_answer answer;
    void *prepared, *packed, *workspace;
    struct op_array in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
};

/* Whether op_types.h permits this value for out[n] at i besides that of the definition. */
typedef bool op_accepts(const struct op_scene *s, uint32_t n, const int64_t *i, long double got);

/*
 * Names the case and creates the operation and its arrays. False, with nothing to close, if the
 * plugin refuses it, or if its memory is too small, which is reported as skipped.
 */
bool op_whole_open(struct op_whole *w, const ferry_op_desc *op, const char *note);
void op_whole_close(struct op_whole *w);
/* Uniform numbers in [least, most), the same for the same seed. */
void op_array_fill(struct op_array *a, double least, double most, unsigned seed);
struct op_view op_array_view(const struct op_array *a);
/* Packs constants if `prepares`, and runs, without a wait. Callable from any thread. */
void op_whole_submit(struct op_whole *w, void *queue, bool prepares);
void op_whole_download(struct op_whole *w);
/* Uploads the arrays, packs constants if `prepares`, runs, waits, and downloads the outputs. */
void op_whole_run(struct op_whole *w, void *queue, bool prepares);
/*
 * Checks that all elements are written, and the values of `random` elements and of those around
 * powers of two; of all elements if they are fewer. `accepts` may be NULL.
 */
void op_whole_check(struct op_whole *w, int64_t random, op_accepts *accepts);
/* create, with a descriptor that is overwritten afterwards. */
void op_create(const ferry_op_desc *op, void **out_prepared);
/* Whether the operation adds to its outputs or updates them. */
bool op_reads_outputs(const ferry_op_desc *op);

/* ---- trials (op_try.c) and their lists (op_trials.c, op_passes.c, op_others.c, op_convert.c) - */

/* The table of the plugin. */
extern const ferry_op_table *op_table;

/* The number of trials, and of those that the plugin accepted. */
extern struct op_tally {
    int tried, taken;
    uint64_t kinds; /* bit k: an operation of kind 32 + k was accepted */
} op_tally;

/* query, checked for writes past the answer: 0, or FERRY_EUNSUPPORTED. */
int op_ask(const ferry_op_desc *op, ferry_op_answer *out);
/* Removes the step number `from` of the epilogue and all later ones, with their operands. */
void op_cut(ferry_op_desc *op, uint32_t steps);
/* Opens the device and takes the table, or ends the group as not offered. */
void op_open(void);
/* The summary of the group: trials and kinds; "F32", or "". */
void op_remark(const char *dtypes);
/* Tries an operation as it is. False if the plugin does not accept it. */
bool op_try_laid(const ferry_op_desc *op, const char *note, bool in_place, bool queues);
/* Tries an operation whose operands are plain, also with other strides. */
void op_try(const ferry_op_desc *op, const char *note, bool in_place);
/*
 * Runs all trials of a dtype, trials of the kinds that move or modify data, and copies to other
 * dtypes.
 */
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
