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
     * Plans the operation: returns 0 and sets p->answer and p->plan, or returns FERRY_EUNSUPPORTED.
     * The other members of p are set by the caller.
     */
    int (*plan)(struct cpu_op *p);
    /* Packs the constants. NULL if no plan has packed_bytes. */
    void (*prepare)(struct cpu_device *d, const struct cpu_op *p, const void *const *in,
                    void *packed);
    /* Computes the operation. Cannot fail. No dimension of an output is 0. */
    void (*run)(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args);
};

/* A window with three spatial axes: missing axes come first and have size 1. */
struct cpu_window {
    int64_t images, channels, outputs; /* the numbers N, C, O */
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
    int64_t x[5], y[5]; /* strides of N, C and the spatial axes */
    int64_t taps;       /* the number of elements of the kernel */
    uint32_t axes;      /* the number of spatial axes of the operation, which are the last of the
                         * three */
};

/*
 * The order of the axes of a row of x that has no gaps: for each axis, from the innermost in memory
 * on, its size, and its distance in the logical order.
 */
struct cpu_turn {
    uint32_t rank; /* 0: the row has the logical order */
    int64_t shape[FERRY_OP_AXES], step[FERRY_OP_AXES];
};

/* The place in the logical order of a row's element `k` in memory, for a turn of rank > 0. */
static inline int64_t cpu_turn_at(const struct cpu_turn *t, int64_t k)
{
    int64_t at = 0;

    for (uint32_t i = 0; i < t->rank; k /= t->shape[i++])
        at += k % t->shape[i] * t->step[i];
    return at;
}

/*
 * The file that computes a convolution; a product is Winograd's if `winograd` has points, and
 * Strassen's if `strassen` has pairs.
 */
enum cpu_convolution_method {
    CPU_CONVOLUTION_DIRECT,  /* element by element: direct.c */
    CPU_CONVOLUTION_PRODUCT, /* convolution.c */
    CPU_CONVOLUTION_PLANES,  /* a product of row-major images: planes.c */
    CPU_CONVOLUTION_SPREAD,  /* the same, transposed */
    CPU_CONVOLUTION_DECONVOLUTION,
    CPU_CONVOLUTION_DEPTHWISE,
    CPU_CONVOLUTION_DEPTHWISE_PLANES, /* of row-major images */
    CPU_CONVOLUTION_GROUPED,
    CPU_CONVOLUTION_WINOGRAD_PLANES /* of row-major images: winograd_planes.c */
};

/* The division of a convolution into the tiles of winograd.h. */
struct cpu_winograd {
    int64_t side, points; /* side 0: Winograd is not used */
    int64_t lines, line;  /* lines: of tiles of an image; line: tiles of a line */
    int64_t tiles;        /* the number of all tiles */
    bool owns_patches;    /* each task transforms the patches of its tiles */
    int64_t block;        /* the number of tiles whose patches are in the workspace at a time */
    int64_t rows;         /* the number of tiles of a task */
    int64_t panel_block;  /* the number of panels of a task */
    bool is_compact;      /* weights are packed as for a product, and transformed by each run */
    int64_t groups;       /* of a block's tiles; a task that transforms the weights of its panel
                           * has one */
    int64_t v_row;        /* the number of elements from a tile's channels to those of the next
                           * tile */
    int64_t v_point;      /* that from a point of the patches to the next */
    int64_t m_point;      /* that from a point of a panel's products to the next */
    int64_t u_point;      /* the number of floats from a point of a panel's weights to the next, of
                           * tasks that transform weights */
};

/* The division of a product for strassen.h. */
struct cpu_strassen {
    int64_t pixels, pairs;             /* of an image; 0: the method is not used */
    int64_t half;                      /* of k */
    int64_t tiles, blocks;             /* of an image's pairs; a task has the tiles of one block */
    int64_t panel_block, panel_blocks; /* the panels of a task, an even number, and the tasks that
                                        * share the panels */
    int64_t part_row, part, parts; /* the floats from a row of a part to the next, from a part to
                                    * the next, and of all parts of a tile */
    bool copies;                   /* quarters of a are copied */
};

/* A prepared operation. */
struct cpu_op {
    const struct cpu_op_kind *kind;
    const struct cpu_loops *loops;
    const struct cpu_pairs *pairs; /* NULL: BF16 pairs are not used */
    unsigned threads;
    ferry_op_desc op; /* strides of dimensions of size 1 are 0 */
    ferry_op_answer answer;
    uint32_t own_in; /* inputs of the kind itself; those of the epilogue follow */
    uint32_t given;  /* the number of inputs that a run gets: `op` may have more, made from
                      * outputs */
    bool is_empty;   /* an output has no elements */
    struct cpu_integer integer; /* for integer arithmetic; otherwise only `loops` is set */
    union {
        struct cpu_walk walk;
        struct {
            struct cpu_walk walk;
            int64_t period; /* inputs whose bit is set in `repeated` repeat after so many elements;
                             * 0: none */
            uint32_t repeated;
        } binary;
        struct {
            struct cpu_walk outer, inner;
            int64_t count; /* the number of elements that are reduced to one of the output */
        } reduce;
        struct {
            struct cpu_window window;
            int64_t w[5]; /* strides of the weights: O, C, kernel; negative if flipped */
            int64_t w_first, w_group; /* offsets of the first tap, and from a group to the next */
            bool is_transposed;       /* transposed, and not replaced by a normal one */
            enum cpu_convolution_method method;
            bool is_slide, is_copied; /* depthwise: by slide_impl.h, or by copied_impl.h */
            bool reads_planes;        /* a product with a row-major image of three channels */
            struct cpu_gemm gemm;
            struct cpu_winograd winograd;
            struct cpu_strassen strassen;
            struct cpu_gemm blocks[2]; /* for planes.c: the products of `block` lines or channels,
                                        * and of the last ones */
            int64_t block, aside;      /* the number of floats besides the packed columns */
        } convolution;
        struct {
            struct cpu_walk walk; /* for INNER_PRODUCT: a walk over a row of x */
            struct cpu_turn turn;
            bool is_product, is_in_place;
            bool is_dots; /* by dots.h, in tasks of `block` columns, with copied rows of x that
                           * are x_row apart */
            int64_t block, x_row;
            struct cpu_gemm gemm;
            int64_t repeats, x_far, w_far; /* for INNER_PRODUCT backward: the number of products,
                                            * and their distances */
        } matrix;
        struct {
            struct cpu_window window; /* x is the wide image, y the narrow one */
            int64_t w[5];             /* strides of the gradient */
            bool is_product, is_planes; /* is_planes: by depthwise_planes.h */
            bool is_in_place;           /* rows of the wide image are read in place */
            int64_t block, chunks; /* the lines of a block, and the number of chunks */
            struct cpu_gemm gemm, last; /* last: of the last block, with `winograd` */
            struct cpu_winograd winograd; /* points 0: not used */
        } weights;
        struct cpu_window window;
    } plan;
};

/* The kind's functions (table.c); NULL for a kind or pass that the plugin lacks. */
const struct cpu_op_kind *cpu_op_kind_of(uint32_t kind, uint32_t pass);

/*
 * Whether the operands from in[0] and out[0] on, `n_in` and `n_out` of them, have that dtype
 * (operand.c).
 */
bool cpu_op_is_all(const struct cpu_op *p, uint32_t dtype, uint32_t n_in, uint32_t n_out);
/* Whether all operands are F32, or all F64. */
bool cpu_op_is_real(const struct cpu_op *p);
/* The number of elements of an operand. */
int64_t cpu_operand_count(const ferry_operand *o);

/*
 * Sets the answer for a packed input: stored by ferry if it is a constant, else packed by each run
 * into the workspace, after the run's other buffers.
 */
void cpu_op_pack_or_not(struct cpu_op *p, uint32_t input, uint64_t packed, uint64_t workspace);
/*
 * Selects the form of the packed weights, in[1], of a product whose shape is set; sets the answer's
 * flag of BF16.
 */
void cpu_op_choose_form(struct cpu_op *p, struct cpu_gemm *g);
/* Whether both factors of a product may be rounded to pairs of BF16, and the plugin has them. */
bool cpu_op_takes_pairs(const struct cpu_op *p);
/* Sets in the answer that x and y are fastest with channels last. */
void cpu_op_prefer_channels_last(struct cpu_op *p);

/* Converts the window over x and y to three axes (window.c). */
void cpu_window_make(const ferry_op_window *window, const ferry_operand *x, const ferry_operand *y,
                     struct cpu_window *out);
/* The range of windows that are not clipped along an axis; first = end if all are clipped. */
struct cpu_span {
    int64_t first, end;
};

struct cpu_span cpu_window_whole(const struct cpu_window *w, int axis);
/*
 * The part of x under POOL's window at position `at` of y. Returns the divisor of its average, by
 * the method FERRY_POOL_DIVISOR_…
 */
int64_t cpu_window_clip(const struct cpu_window *w, uint32_t divisor, const int64_t *at,
                        int64_t *out_first, int64_t *out_end);

/*
 * A division of the pixels of x into blocks whose pixels are contiguous in all operands that were
 * added.
 */
struct cpu_pixels {
    const struct cpu_window *window;
    int64_t run, most; /* run: contiguous pixels, 1 if none; most: the maximum number of pixels of a
                        * block */
};

struct cpu_pixel_block {
    int64_t image, at[3], pixels; /* the position of the block's first pixel */
};

void cpu_pixels_begin(const struct cpu_window *w, int64_t most, struct cpu_pixels *out);
/* Adds an operand of x's shape by its strides. */
void cpu_pixels_add(struct cpu_pixels *p, const int64_t *stride);
/*
 * Processes all blocks, by number; on all threads if pixels cost enough `bytes` each, as in
 * walk_all.
 */
void cpu_pixels_all(const struct cpu_pixels *p, struct workers *workers, int64_t bytes,
                    workers_body body, void *arg);
struct cpu_pixel_block cpu_pixels_block(const struct cpu_pixels *p, int64_t i);

/* The offset of the block in an operand, in its first channel. */
static inline int64_t cpu_pixels_at(const struct cpu_pixel_block *b, const int64_t *stride)
{
    return b->image * stride[0] + b->at[0] * stride[2] + b->at[1] * stride[3] +
           b->at[2] * stride[4];
}

/* Computes a function of UNARY on a row (elementwise.c). */
void cpu_unary_row(uint32_t function, double a, double b, double c, int64_t n, const float *x,
                   float *y);

/*
 * The number of steps of the epilogue that a product supports, and those steps, which are appended
 * to the existing ones (epilogue.c). If columns are not channels, only steps without an operand are
 * supported.
 */
uint32_t cpu_epilogue_taken(const struct cpu_op *p, bool columns_are_channels);
void cpu_epilogue_steps(const struct cpu_op *p, const struct cpu_op_args *args,
                        struct cpu_gemm_run *r);
/* The number of steps from the first on that are functions of UNARY. */
uint32_t cpu_epilogue_functions(const struct cpu_op *p);
/* Applies the functions that follow the store to `channels` channels of a line of y. */
void cpu_epilogue_line(const struct cpu_gemm_run *r, const struct cpu_window *w, int64_t channels,
                       float *y);

/*
 * The plan functions of the rows of kernels/kinds.h; a backward pass is in the file of its kind, or
 * in <kind>_backward.c.
 */
#define CPU_OP_KIND(kind, pass, id, ...) extern const struct cpu_op_kind cpu_op_##id;
KIND_LIST(CPU_OP_KIND)
#undef CPU_OP_KIND

/*
 * A convolution of row-major images (planes.c), by tiles where they need less (winograd_planes.h);
 * `spread` is a transposed one. F32.
 */
bool cpu_planes_can(const struct cpu_op *p);
bool cpu_spread_can(const struct cpu_op *p);
void cpu_planes_plan(struct cpu_op *p);
void cpu_spread_plan(struct cpu_op *p);
/* Packs the weights of either form, on all threads if they are many. */
void cpu_planes_pack(struct cpu_device *d, const struct cpu_op *p, const float *w, float *packed);
void cpu_planes_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args);
/* Applies the bias of an output and the functions of the epilogue to n of its elements. */
void cpu_planes_finish(const struct cpu_op *p, const float *bias, int64_t output, int64_t n,
                       float *y);

/* A transposed convolution of images with few channels (deconvolution.c). F32. */
bool cpu_deconvolution_can(const struct cpu_op *p);
void cpu_deconvolution_plan(struct cpu_op *p);
void cpu_deconvolution_pack(struct cpu_device *d, const struct cpu_op *p, const float *w,
                            float *packed);
void cpu_deconvolution_run(struct cpu_device *d, const struct cpu_op *p,
                           const struct cpu_op_args *args);

/* The weight of a convolution's tap for the first output and channel (operand.c). */
const float *cpu_convolution_tap(const struct cpu_op *p, const float *w, int64_t tap);

/*
 * The two neighbours of a position along an axis, and the weight of the second; for nearest, both
 * are the same (resize.c).
 */
struct cpu_sample {
    int64_t at[2];
    double weight;
};

struct cpu_sample cpu_sample_of(const ferry_op_params *params, int64_t i, int64_t in, int64_t out);

/*
 * Replaces a convolution that is planned as a product by Winograd's, if that needs fewer
 * multiplications and is allowed (winograd.c). A run's steps and y are those of the product.
 */
void cpu_winograd_plan(struct cpu_op *p);
/*
 * Whether a product of BF16 takes less time than F32's best method: an instruction multiplies twice
 * as many numbers, and panels have two vectors of columns.
 */
bool cpu_winograd_gains_by_bf16(const struct cpu_op *p);
void cpu_winograd_pack(struct cpu_device *d, const struct cpu_op *p, const float *w, float *packed);
void cpu_winograd_run(struct cpu_device *d, const struct cpu_op *p, const void *x,
                      struct cpu_gemm_run *r, const int64_t *add);

/*
 * Plans the product of an inner product without packing its weights, if that is useful; the product
 * is set (dots.c).
 */
bool cpu_dots_plan(struct cpu_op *p);
/* Computes it. `r` has x as `a`, its strides, y, steps and scratch memory. */
void cpu_dots_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_gemm_run *r,
                  const void *w);
/*
 * Copies weights of F16 or BF16, which the operation packs if they are constants: their memory then
 * need not hold floats.
 */
void cpu_dots_pack(const struct cpu_op *p, const uint16_t *w, uint16_t *packed);

/*
 * Replaces a convolution that is planned as a product by Strassen's (strassen.c). Returns false,
 * and changes nothing, if that is not permitted or not faster. The pixels of x and of y are at one
 * distance, that of x is `row`, and the micro-kernel performs the steps. A run's operands and steps
 * are those of the product.
 */
bool cpu_strassen_plan(struct cpu_op *p, int64_t row);
void cpu_strassen_pack(const struct cpu_op *p, const float *w, float *packed);
void cpu_strassen_run(struct cpu_device *d, const struct cpu_op *p, struct cpu_gemm_run *r);

/* Packs the weights of a product, of Winograd's or of Strassen's (convolution_pack.c). */
void cpu_convolution_pack(struct cpu_device *d, const struct cpu_op *p, const float *w,
                          float *packed);

/* A convolution element by element (direct.c). */
void cpu_direct_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args);

/* ---- chains.c: entries of the table ---- */

int cpu_chains(void *dev, ferry_op_chains *out);
int cpu_run_chains(void *dev, void *queue, uint32_t n, ferry_op_chain_fn chain, void *arg);

#endif
