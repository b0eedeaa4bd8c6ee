/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU plugin's prepared operations, the table "ferry.op/1". <ferry/op_types.h> specifies the
 * kinds, <ferry/op_plugin.h> the entries.
 *
 * A kind is a cpu_op_kind, in one file or a few; table.c finds it by its number. `plan` examines an
 * operation and records how to compute it; query and create make a plan, run executes it. A plan is
 * a value without pointers except to static tables.
 */
#ifndef FERRY_CPU_OP_OP_H
#define FERRY_CPU_OP_OP_H

#include <ferry/op_table.h>

#include "../cpu.h"
#include "gemm.h"
#include "integer.h"
#include "loops.h"
#include "walk.h"

#include "kernels/kinds.h"

struct cpu_op;

/* The arguments of a run, as pointers. */
struct cpu_op_args {
    const void *in[FERRY_OP_INPUTS];
    void *out[FERRY_OP_OUTPUTS];
    void *packed, *workspace;
    uint64_t seed, offset;
    const double *scalars;
};

struct cpu_op_kind {
    uint32_t kind, pass;
    /*
     * Returns 0 and sets p->answer and p->plan, or returns FERRY_EUNSUPPORTED. The rest of p is
     * filled in.
     */
    int (*plan)(struct cpu_op *p);
    /* Packs the constants. NULL if no plan has packed_bytes. */
    void (*prepare)(struct cpu_device *d, const struct cpu_op *p, const void *const *in,
                    void *packed);
    /* Cannot fail. No dimension of an output is 0. */
    void (*run)(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args);
};

/* A window with three spatial axes: missing axes come first and have size 1. */
struct cpu_window {
    int64_t images, channels, outputs; /* N, C, O */
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
    int64_t x[5], y[5]; /* strides of N, C and the spatial axes */
    int64_t taps;       /* elements of the kernel */
    uint32_t axes;      /* of the operation: the last of the three */
};

/*
 * A row of x without gaps whose axes are in another order than the logical one: from the innermost
 * in memory on, their sizes, and their distances in the logical order.
 */
struct cpu_turn {
    uint32_t rank; /* 0: the order is the logical one */
    int64_t shape[FERRY_OP_AXES], step[FERRY_OP_AXES];
};

/* The division of a convolution into the tiles of winograd.h. */
struct cpu_winograd {
    int64_t side, points; /* side 0: Winograd is not used */
    int64_t lines, line;  /* lines of tiles of an image, and tiles of a line */
    int64_t tiles;        /* in all */
    int64_t block;        /* tiles whose patches are in the workspace at a time */
    int64_t rows;         /* tiles of a task */
    int64_t panel_block;  /* panels of a task */
    int64_t v_row;        /* floats from a tile's channels to the next one's */
};

/* A prepared operation. */
struct cpu_op {
    const struct cpu_op_kind *kind;
    const struct cpu_loops *loops;
    const struct cpu_pairs *pairs; /* NULL: none */
    unsigned threads;
    ferry_op_desc op; /* strides of dimensions of size 1 are 0 */
    ferry_op_answer answer;
    uint32_t own_in; /* inputs of the kind itself; those of the epilogue follow */
    uint32_t given;  /* inputs that a run gets: `op` may have more, made from outputs */
    bool is_empty;   /* an output has no element */
    struct cpu_integer integer; /* of integer arithmetic; `loops` alone is set otherwise */
    union {
        struct cpu_walk walk;
        struct {
            struct cpu_walk outer, inner;
            int64_t count; /* elements that are reduced to one of the output */
        } reduce;
        struct {
            struct cpu_window window;
            int64_t w[5]; /* strides of the weights: O, C, kernel; negative if flipped */
            int64_t w_first, w_group;  /* the first tap; from a group to the next */
            bool is_transposed;        /* and not converted to a convolution */
            bool is_f32;               /* else element by element */
            bool is_depthwise;         /* depthwise */
            bool is_slide;             /* depthwise by lines, kernel 3 × 3: slide_impl.h */
            bool is_copied;            /* depthwise, lines of x copied: copied_impl.h */
            bool is_in_place;          /* the rows of the product's a are x's pixels in place */
            bool is_planes, is_spread; /* products of row-major images */
            bool is_deconvolution;     /* transposed, of few channels: deconvolution.c */
            struct cpu_gemm gemm;
            struct cpu_winograd winograd;
            struct cpu_gemm blocks[2]; /* of planes: `block` lines or channels, and the last */
            int64_t block, aside;      /* floats in addition to the packed columns */
        } convolution;
        struct {
            struct cpu_walk walk; /* INNER_PRODUCT: over a row of x */
            struct cpu_turn turn;
            bool is_product, is_in_place;
            struct cpu_gemm gemm;
            int64_t repeats, x_far, w_far; /* INNER_PRODUCT backward: that many products */
        } matrix;
        struct {
            struct cpu_window window; /* x is the wide image, y the narrow one */
            int64_t w[5];             /* strides of the gradient */
            bool is_product;
            int64_t block, chunks; /* lines of a block, and the number of chunks */
            struct cpu_gemm gemm;
        } weights;
        struct cpu_window window;
    } plan;
};

/* table.c: NULL for a kind or pass that the plugin lacks. */
const struct cpu_op_kind *cpu_op_kind_of(uint32_t kind, uint32_t pass);

/*
 * operand.c: whether the operands from in[0] and out[0] on, `n_in` and `n_out` of them, have that
 * dtype.
 */
bool cpu_op_is_all(const struct cpu_op *p, uint32_t dtype, uint32_t n_in, uint32_t n_out);
/* Whether all operands are F32, or all F64. */
bool cpu_op_is_real(const struct cpu_op *p);
/* Number of elements of an operand. */
int64_t cpu_operand_count(const ferry_operand *o);

/*
 * Sets the answer for a packed input: stored by ferry if it is a constant, else packed by each run
 * into the workspace, after the run's other buffers.
 */
void cpu_op_pack_or_not(struct cpu_op *p, uint32_t input, uint64_t packed, uint64_t workspace);
/*
 * The form of the packed weights, in[1], of a product, whose shape is filled in; sets the answer's
 * flag of BF16.
 */
void cpu_op_choose_form(struct cpu_op *p, struct cpu_gemm *g);
/* Reports that x and y are best with channels last. */
void cpu_op_prefer_channels_last(struct cpu_op *p);

/* window.c: the window over x and y, in three axes. */
void cpu_window_make(const ferry_op_window *window, const ferry_operand *x, const ferry_operand *y,
                     struct cpu_window *out);
/* The windows that are not clipped along an axis; first = end if there is none. */
struct cpu_span {
    int64_t first, end;
};

struct cpu_span cpu_window_whole(const struct cpu_window *w, int axis);
/*
 * The part of x under POOL's window at position `at` of y. Returns the divisor of its average, of
 * the method FERRY_POOL_DIVISOR_…
 */
int64_t cpu_window_clip(const struct cpu_window *w, uint32_t divisor, const int64_t *at,
                        int64_t *out_first, int64_t *out_end);

/* The pixels of x in blocks, whose pixels are contiguous in all operands that were added. */
struct cpu_pixels {
    const struct cpu_window *window;
    int64_t run, most; /* contiguous pixels, 1 if none; maximum pixels of a block */
};

struct cpu_pixel_block {
    int64_t image, at[3], pixels; /* the position of the first of them */
};

void cpu_pixels_begin(const struct cpu_window *w, int64_t most, struct cpu_pixels *out);
/* Adds an operand of x's shape, by its strides. */
void cpu_pixels_add(struct cpu_pixels *p, const int64_t *stride);
/* Processes all blocks, by number; on all threads if pixels cost `bytes` each, as in walk_all. */
void cpu_pixels_all(const struct cpu_pixels *p, struct workers *workers, int64_t bytes,
                    workers_body body, void *arg);
struct cpu_pixel_block cpu_pixels_block(const struct cpu_pixels *p, int64_t i);

/* The offset of the block in an operand, in its first channel. */
static inline int64_t cpu_pixels_at(const struct cpu_pixel_block *b, const int64_t *stride)
{
    return b->image * stride[0] + b->at[0] * stride[2] + b->at[1] * stride[3] +
           b->at[2] * stride[4];
}

/* elementwise.c: a function of UNARY on a row. */
void cpu_unary_row(uint32_t function, double a, double b, double c, int64_t n, const float *x,
                   float *y);

/*
 * epilogue.c: the number of steps of the epilogue that a product supports, and those steps,
 * appended to the existing ones. If columns are not channels, only steps without an operand.
 */
uint32_t cpu_epilogue_taken(const struct cpu_op *p, bool columns_are_channels);
void cpu_epilogue_steps(const struct cpu_op *p, const struct cpu_op_args *args,
                        struct cpu_gemm_run *r);

/* The rows of kernels/kinds.h; a backward pass is in the file of its kind, or <kind>_backward.c. */
#define CPU_OP_KIND(kind, pass, id, ...) extern const struct cpu_op_kind cpu_op_##id;
KIND_LIST(CPU_OP_KIND)
#undef CPU_OP_KIND

/* planes.c: a convolution of row-major images; `spread` is a transposed one. F32. */
bool cpu_planes_can(const struct cpu_op *p);
bool cpu_spread_can(const struct cpu_op *p);
void cpu_planes_plan(struct cpu_op *p);
void cpu_spread_plan(struct cpu_op *p);
void cpu_planes_pack(const struct cpu_op *p, const float *w, float *packed);
void cpu_spread_pack(const struct cpu_op *p, const float *w, float *packed);
void cpu_planes_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args);

/*
 * integer_product.c: products of bytes, of a convolution whose window and weights' strides are
 * found, or of an inner product whose rows are.
 */
int cpu_integer_convolution_plan(struct cpu_op *p);
int cpu_integer_inner_product_plan(struct cpu_op *p);
/* integer_pool.c: POOL of bytes, whose window is found. */
int cpu_integer_pool_plan(struct cpu_op *p);
/* The factor and the term of an epilogue, 1 and 0 without one; false for another step. */
bool cpu_integer_affine(const struct cpu_op *p, struct cpu_integer_store *out);

static inline bool cpu_is_integer(const ferry_operand *o)
{
    return o->dtype == FERRY_I8 || o->dtype == FERRY_U8;
}

/* deconvolution.c: a transposed convolution of images with few channels. F32. */
bool cpu_deconvolution_can(const struct cpu_op *p);
void cpu_deconvolution_plan(struct cpu_op *p);
void cpu_deconvolution_pack(const struct cpu_op *p, const float *w, float *packed);
void cpu_deconvolution_run(struct cpu_device *d, const struct cpu_op *p,
                           const struct cpu_op_args *args);

/* depthwise.c: a depthwise convolution. F32, and a contiguous bias. */
bool cpu_depthwise_can(const struct cpu_op *p);
void cpu_depthwise_plan(struct cpu_op *p);
void cpu_depthwise_pack(const struct cpu_op *p, const float *w, float *packed);
void cpu_depthwise_run(struct cpu_device *d, const struct cpu_op *p,
                       const struct cpu_op_args *args);

/*
 * resize.c: two neighbours along an axis, and the weight of the second; nearest: the first twice.
 */
struct cpu_sample {
    int64_t at[2];
    double weight;
};

struct cpu_sample cpu_sample_of(const ferry_op_params *params, int64_t i, int64_t in, int64_t out);

/*
 * winograd.c: replaces a convolution that is planned as a product, if it needs fewer
 * multiplications and is allowed. A run's steps and y are those of the product.
 */
void cpu_winograd_plan(struct cpu_op *p);
void cpu_winograd_pack(const struct cpu_op *p, const float *w, float *packed);
void cpu_winograd_run(struct cpu_device *d, const struct cpu_op *p, const float *x,
                      struct cpu_gemm_run *r, const int64_t *add);

/* direct.c: a convolution element by element. */
void cpu_direct_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args);

#endif
