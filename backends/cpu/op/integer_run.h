/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run of an operation with bytes: the position of a row of sums, and the steps that follow the
 * sums (integer_store.c).
 */
#ifndef FERRY_CPU_OP_INTEGER_RUN_H
#define FERRY_CPU_OP_INTEGER_RUN_H

#include "op.h"

/* The maximum bytes of a task's rows, which stay in the second-level cache. */
#define CPU_INTEGER_ROW_BYTES (128 * 1024)

struct cpu_integer_run {
    const struct cpu_op *op;
    const struct cpu_op_args *args;
    const char *packed;
    char *rows; /* the slots of the threads */
    struct cpu_integer_store store;
    bool is_simple;           /* the store covers the whole epilogue */
    const ferry_operand *add; /* the operand of the ADD step; NULL: none */
    const char *added;
    int64_t add_strides[5];
};

/* The position of a row: the image and the spatial axes of y. */
struct cpu_integer_pixel {
    int64_t image, at[3];
};

struct cpu_integer_pixel cpu_integer_pixel_of(const struct cpu_window *w, int64_t row);
void cpu_integer_next_pixel(const struct cpu_window *w, struct cpu_integer_pixel *p);

/*
 * The distance from a pixel of y to the next of its line, by strides as those of y; and whether it
 * is the distance between all pixels.
 */
int64_t cpu_integer_next_of(const struct cpu_window *w, const int64_t *stride);
bool cpu_integer_is_even(const struct cpu_window *w, const int64_t *stride);
/* The strides of an operand like y: N, O, and the three spatial axes. */
void cpu_integer_strides_of(const struct cpu_op *p, const ferry_operand *o, int64_t *out);

/* The bytes of an element of F32, BF16, U8 or I8. */
int64_t cpu_integer_size(uint32_t dtype);
/* Sets the members for the steps from the operation and its arguments. */
void cpu_integer_find_store(struct cpu_integer_run *r);
/* Whether the instruction set applies the store itself, where `columns` columns are left. */
bool cpu_integer_takes_store(const struct cpu_integer_run *r, int64_t columns);
/* The place of rows from `row` on, which are of one line, at the columns of a group. */
struct cpu_integer_place cpu_integer_place_of(const struct cpu_integer_run *r, int64_t group,
                                              int64_t row);
/* The same for rows of a convolution from a pixel on. */
struct cpu_integer_place cpu_integer_place_at(const struct cpu_integer_run *r, int64_t group,
                                              const struct cpu_integer_pixel *at);
/* Applies all steps to columns `column` … of rows of sums, and stores them. */
void cpu_integer_put(const struct cpu_integer_run *r, int64_t column, int64_t columns, int64_t rows,
                     const int32_t *sums, const struct cpu_integer_place *place);

/*
 * Finds the lines of rows of a product whose groups, m, n, k, spans, panels and source are set,
 * divides them among tasks, and sets the bytes of a slot (integer_tasks.c).
 */
void cpu_integer_find_rows(struct cpu_op *p, bool is_even, unsigned threads);
/* The first row of a line, and the number of its rows. */
int64_t cpu_integer_first_row(const struct cpu_integer *g, int64_t line);
int64_t cpu_integer_rows(const struct cpu_integer *g, int64_t line);
/*
 * Writes the rows of lines `first` … of a group in the form of a: whole lines of x with their
 * padding, or row by row (integer_rows.c). `to` has the room of a slot.
 */
void cpu_integer_copy(const struct cpu_integer_run *r, int64_t group, int64_t first, int64_t lines,
                      char *to);
void cpu_integer_gather(const struct cpu_integer_run *r, int64_t group, int64_t first,
                        int64_t lines, char *to);
/*
 * Lines of x with their padding have numbers across images; the number of the first one that a line
 * of y reads, and the number that it reads.
 */
int64_t cpu_integer_copied_line(const struct cpu_window *w, int64_t line);
int64_t cpu_integer_copied_lines(const struct cpu_window *w);

#endif
