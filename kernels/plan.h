/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns an operation into launches of kernels: everything that a plugin with these kernels needs
 * except the launching itself. Every function may be called from any thread; nothing is allocated.
 */
#ifndef FERRY_KERNELS_PLAN_H
#define FERRY_KERNELS_PLAN_H

#include <ferry/op_table.h>
#include <ferry/plugin.h>

#include "kernels/args.h"
#include "kernels/list.h"

#include <stdbool.h>

/* The parameters of the compilation, and the number of groups that keep the device busy. */
struct kernel_target {
    uint32_t vec, group, busy;
    bool has_f64;      /* the program CONVERT can be compiled */
    bool sums_nothing; /* inputs may lack elements and memory */
    bool f16, bf16;    /* TENSOR computes products of that dtype; otherwise there are none */
};

/* The source of a launch's buffer. */
#define FROM_NOTHING   0u
#define FROM_IN(i)     (1u + (i))
#define FROM_OUT(i)    (1u + FERRY_OP_INPUTS + (i))
#define FROM_PACKED    (1u + FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)
#define FROM_WORKSPACE (2u + FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)
#define FROM_COUNT     (3u + FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)

/* The arguments of any kernel. */
union kernel_args {
    i64 at[BUFFERS];
    struct element_args element;
    struct pool_args pool;
    struct convolution_args convolution;
    struct pack_args pack;
    struct tensor_args tensor;
    struct row_args row;
    struct lrn_args lrn;
    struct lrn_data_args lrn_data;
    struct gradient_args gradient;
    struct resize_args resize;
    struct roi_args roi;
    struct columns_args columns;
    struct table_args table;
    struct random_args random;
    struct update_args update;
    struct sum_args sum;
    struct convert_args convert;
    struct fill_args fill;
};

struct kernel_launch {
    uint32_t kernel; /* KERNEL_… */
    uint32_t from[BUFFERS];
    int64_t groups; /* 0: there is no work */
    uint64_t size;  /* the size of the arguments */
    union kernel_args args;
};

#define KERNEL_LAUNCHES 2

struct kernel_plan {
    ferry_op_desc op; /* strides of dimensions of size 1 are 0 */
    uint32_t own_in;
    struct kernel_target target;
    ferry_op_answer answer;
    uint32_t launches; /* 0: there is no work */
    struct kernel_launch launch[KERNEL_LAUNCHES], pack;
};

/* Returns 0, or FERRY_EUNSUPPORTED if the kernels cannot compute it. */
int kernel_plan_make(const struct kernel_target *target, const ferry_op_desc *op,
                     struct kernel_plan *out);

/* The number of bytes that the operand spans. */
uint64_t kernel_operand_bytes(const ferry_operand *o);

/* The kind of that name, as in ferry_op_kind_name; 0 for one without kernels. */
uint32_t kernel_kind_named(const char *name, size_t length);

/* Sets the seed in the arguments of a run of `l`, if its kernel uses one. */
void kernel_seed(const struct kernel_launch *l, uint64_t seed, uint64_t offset,
                 union kernel_args *args);

/* Sets the scalars, UPDATE_SCALARS of them, if the kernel uses them. */
void kernel_scalars(const struct kernel_launch *l, const double *scalars, union kernel_args *args);

/* The name of a kernel's function, and its program. */
const char *kernel_function(uint32_t kernel);
enum kernel_program kernel_program_of(uint32_t kernel);
/*
 * The source of a program, to be compiled with -DVEC and -DGROUP: lines that the library owns.
 * Returns their number, and writes them to `out` unless it is NULL.
 */
size_t kernel_program_lines(enum kernel_program program, const char **out);

#endif
