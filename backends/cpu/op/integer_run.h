/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run of an operation with bytes: the position of a row of sums, and the steps that follow the
 * sums (integer_store.c).
 */
#ifndef FERRY_CPU_OP_INTEGER_RUN_H
#define FERRY_CPU_OP_INTEGER_RUN_H

#include "op.h"

struct cpu_integer_run {
    const struct cpu_op *op;
    const struct cpu_op_args *args;
    const char *packed;
    char *rows; /* the rows gathered by the threads */
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

/* Sets the members for the steps from the operation and its arguments. */
void cpu_integer_find_store(struct cpu_integer_run *r);
/* The places of rows from `first` on, at the columns of a group. */
void cpu_integer_find_places(const struct cpu_integer_run *r, int64_t group, int64_t first,
                             int64_t rows, struct cpu_integer_place *out);
/* Applies all steps to columns `column` … of rows of sums, and stores them. */
void cpu_integer_put(const struct cpu_integer_run *r, int64_t column, int64_t columns, int64_t rows,
                     const int32_t *sums, const struct cpu_integer_place *places);

#endif
