/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From an operation to launches of kernels: what a plugin that compiles kernels/ needs besides a way
 * to launch them. Every function may be called from any thread; nothing is allocated.
 */
#ifndef FERRY_KERNELS_PLAN_H
#define FERRY_KERNELS_PLAN_H

#include <ferry/op_plugin.h>
#include <ferry/plugin.h>

#include "kernels/args.h"
#include "kernels/list.h"

#include <stdbool.h>

/* What the kernels were compiled with, and how many groups keep the device busy. */
struct kernel_target {
    uint32_t vec, group, busy;
};

/* Where a buffer of a launch comes from. */
#define FROM_NOTHING   0u
#define FROM_IN(i)     (1u + (i))
#define FROM_OUT(i)    (1u + FERRY_OP_INPUTS + (i))
#define FROM_PACKED    (1u + FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)
#define FROM_WORKSPACE (2u + FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)
#define FROM_COUNT     (3u + FERRY_OP_INPUTS + FERRY_OP_OUTPUTS)

struct kernel_launch {
    uint32_t kernel; /* KERNEL_… */
    uint32_t from[BUFFERS];
    int64_t groups; /* 0: nothing is to be done */
    uint64_t size;  /* of the numbers */
    union kernel_args args;
};

#define KERNEL_LAUNCHES 2

struct kernel_plan {
    ferry_op_desc op; /* strides of dimensions that are 1 are 0 */
    uint32_t own_in;
    struct kernel_target target;
    ferry_op_answer answer;
    uint32_t launches; /* 0: there is nothing to do */
    struct kernel_launch launch[KERNEL_LAUNCHES], pack;
};

/* 0, or FERRY_EUNSUPPORTED where the kernels cannot do it. */
int kernel_plan_make(const struct kernel_target *target, const ferry_op_desc *op,
                     struct kernel_plan *out);

/* Bytes that the operand reaches over. */
uint64_t kernel_operand_bytes(const ferry_operand *o);

/* The kind of that name, as ferry_op_kind_name has it; 0 for one that has no kernels. */
uint32_t kernel_kind_named(const char *name, size_t length);

/* Gives the numbers of a run of `l` its seed, if it has use for one. */
void kernel_seed(const struct kernel_launch *l, uint64_t seed, uint64_t offset,
                 union kernel_args *args);

/* Gives them its scalars, UPDATE_SCALARS of them, if it has use for them. */
void kernel_scalars(const struct kernel_launch *l, const double *scalars, union kernel_args *args);

/* How a kernel is called, and which program it is in. */
const char *kernel_function(uint32_t kernel);
enum kernel_program kernel_program_of(uint32_t kernel);
/*
 * A program's text, to be compiled with -DVEC and -DGROUP: lines that belong to the library. Returns how many
 * there are, and writes them to `out` unless it is NULL.
 */
size_t kernel_program_lines(enum kernel_program program, const char **out);

#endif
