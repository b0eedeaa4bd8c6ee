/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OP_RIG_H
#define OP_RIG_H

#include <ferry/op_plugin.h>
#include <ferry/status.h>

#include "ferry-test.h"

/*
 * Runs one operation by the plugin's table and by the oracle of op/. The rig has operands with
 * layouts and their values as doubles, and compares results, including the gaps between elements.
 */

enum rig_layout {
    RIG_PLAIN,
    RIG_LAST,  /* channels last */
    RIG_SLICE, /* plain, as a part of something larger along each axis */
    RIG_LAST_SLICE,
    RIG_TURNED, /* the axes reversed */
    RIG_APART,  /* plain, with a stride of two elements */
    RIG_LAYOUTS
};

struct rig {
    ferry_op_desc op;
    uint64_t seed, offset;
    double tolerance; /* of the largest magnitude in an output; 0: 1e-5, F64 1e-12 */
    int in_place;     /* out[0] is in[in_place − 1] */
    double *in[FERRY_OP_INPUTS], *out[FERRY_OP_OUTPUTS]; /* logical order; out: the previous
                                                          * contents */
};

/* The device of rig_run. NULL: a device of the set could not be opened. */
extern const ferry_op_table *rig_table;
extern void *rig_device;

/*
 * Runs the cases on the CPU plugin with each of its instruction sets, as "SUITE, SET"; a set that
 * this CPU lacks is skipped.
 */
int rig_main(int argc, char **argv, const char *suite, const ferry_test_case *cases, size_t ncases);
/* As rig_main, with these sets; the last is NULL. */
int rig_main_with(int argc, char **argv, const char *suite, const ferry_test_case *cases,
                  size_t ncases, const char *const *sets);

/* The plugin that rig_main loads, as for driver_load; "cpu" unless a test changes it. */
extern const char *rig_plugin;
/*
 * The option whose values are the sets of rig_main_with; "isa" unless a test changes it. With
 * another option, handles are not addresses of the host.
 */
extern const char *rig_option;

/* The instruction set of rig_device. */
const char *rig_set(void);

/*
 * Asserts that 1, 2, 3 and 8 threads give the first output the same bits. rig_device has 3 threads
 * afterwards.
 */
void rig_check_threads(struct rig *r);

/*
 * The number of tasks that the operation has on a device of that many threads, all of which run on
 * the calling thread. *out is the first output, for the caller to free. rig_device has 3 threads
 * afterwards.
 */
uint64_t rig_tasks(struct rig *r, const char *threads, double **out);

/* Replaces rig_device by a device with the same instruction set and that many threads. */
void rig_reopen(const char *threads);

/* The tests' own random numbers: from 0 to n − 1, the same after each rig_begin_random. */
int64_t rig_random(int64_t n);
void rig_begin_random(void);

void rig_begin(struct rig *r, uint32_t kind);
/* Adds an operand with random values between −1 and 1, and returns them. */
double *rig_in(struct rig *r, uint32_t dtype, int layout, uint32_t rank, const int64_t *shape);
double *rig_out(struct rig *r, uint32_t dtype, int layout, uint32_t rank, const int64_t *shape);
/* Adds a step of the epilogue, with an input of its own if it has an operand. */
void rig_step(struct rig *r, uint32_t step, uint32_t function, double a, double b);
/* Adds a step whose operand is plain or, of ADD, has channels last. */
void rig_step_last(struct rig *r, uint32_t step);
/* A convolution's images, and the spatial axes of its input. */
struct rig_shape {
    int64_t images, channels, outputs, in[3];
};

enum rig_bias { RIG_NO_BIAS, RIG_PLAIN_BIAS, RIG_BIAS_APART, RIG_BIASES };

/* The output size of a window along an axis of x; below 1 if the kernel does not fit. */
int64_t rig_axis_after(const ferry_op_window *w, uint32_t axis, int64_t in);
/* Adds a convolution's operands and result; the window is filled in. */
void rig_convolution(struct rig *r, uint32_t dtype, const struct rig_shape *s, int x_layout,
                     int w_layout, int y_layout, enum rig_bias bias);
/* Begins a convolution of F32 images whose kernels are one pixel. */
void rig_pointwise(struct rig *r, const struct rig_shape *s, int x_layout, int y_layout,
                   enum rig_bias bias);
/* Number of elements of an operand. */
int64_t rig_count(const ferry_operand *o);

/* Runs it on both sides, compares, and frees. *answer is the answer of query; it may be NULL. */
void rig_run(struct rig *r, ferry_op_answer *out_answer);
/* Runs it on the plugin only; out[i] is the result, which the caller frees. */
int rig_run_plugin(struct rig *r, double **out);
void rig_end(struct rig *r);

#endif
