/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Integer arithmetic: products of bytes (integer_product.c), and the functions that are compiled
 * for each instruction set (integer_impl.h).
 */
#ifndef FERRY_CPU_OP_INTEGER_H
#define FERRY_CPU_OP_INTEGER_H

#include <ferry/op_desc.h>

#include <stdbool.h>
#include <stdint.h>

struct cpu_device;
struct cpu_integer_winograd_loops;
struct cpu_isa;
struct cpu_op;
struct cpu_op_args;

/* The compilers that select NEON's products of bytes for a function. */
#if !defined(__aarch64__) || defined(__AARCH64EB__)
#define CPU_INTEGER_HAS_NEON 0
#elif defined(__clang__)
#define CPU_INTEGER_HAS_NEON (__clang_major__ >= 17)
#else
#define CPU_INTEGER_HAS_NEON (__GNUC__ >= 10)
#endif

/* Set to 1 by configure if the compiler and its assembler have AVX-VNNI. */
#ifndef CPU_INTEGER_HAS_AVXVNNI
#define CPU_INTEGER_HAS_AVXVNNI 0
#endif

/* Set to 1 by configure if the assembler has AMX. */
#ifndef CPU_INTEGER_HAS_AMX
#define CPU_INTEGER_HAS_AMX 0
#endif

#define INTEGER_MOST_ROWS    14
#define INTEGER_MOST_COLUMNS 32
#define INTEGER_MOST_BYTES   64
/*
 * The distance in bytes at which weights are fetched in advance: those of a large net come from
 * memory, and the processor's own prefetching ends at each page.
 */
#define INTEGER_AHEAD 4096
/* The maximum channels and elements of a window of POOL: its sums stay below 2^31. */
#define CPU_INTEGER_CHANNELS 8192
#define CPU_INTEGER_TAPS     (1 << 20)
/* The bytes after copied rows that tiles may read: a part of a group, multiplied by zeros. */
#define CPU_INTEGER_BEYOND 64

/*
 * The steps that follow the sums: (sum + bias)·scale + add, clipped, times a factor, plus a term,
 * rounded to the dtype. A conversion uses the same structure, without bias and scale.
 */
struct cpu_integer_store {
    const float *bias, *scale; /* one value per column; NULL: 0 for the bias, 1 for the scale */
    bool adds;
    uint32_t add_dtype, dtype; /* FERRY_F32, FERRY_I8 or FERRY_U8 */
    float least, most, factor, term;
    float x_factor, x_term; /* of `affine` only: x is first x·x_factor + x_term */
    /*
     * For a positive factor, which does not change the order of numbers: the steps from the clip on
     * are x·factor + term, clipped to low … high, whose range is within that of the dtype.
     */
    bool is_ordered;
    float low, high;
};

/* The addresses of column 0 in the first row of y, and of the added operand, and the distances in
 * bytes from a row to the next. */
struct cpu_integer_place {
    char *y;
    const char *add;
    int64_t y_next, add_next;
};

/*
 * A tile of a product: up to INTEGER_MOST_ROWS rows by one panel. A row of a has one or more spans
 * of contiguous elements, and a span consists of groups; a group has as many elements as one
 * instruction adds to a sum: 4 unsigned bytes of a, or 2 numbers of 16 bits.
 */
struct cpu_integer_tile {
    const char *a;         /* rows, or units of interleaved rows */
    int64_t a_row, a_span; /* the bytes from a row, or a span, to the next; rows may overlap */
    int64_t spans, groups; /* groups: of a span */
    const int8_t *b;       /* the panel's weights, group by group, with all columns of each */
    const int32_t *first;  /* the initial values of the sums, by column */
    int32_t *sums;         /* rows of INTEGER_MOST_COLUMNS sums each; unused with a store */
    const struct cpu_integer_store *store; /* the steps to apply, ordered ones to bytes, of all
                                            * columns of the panel; NULL: the sums are stored */
    struct cpu_integer_place place;        /* with a store */
    int64_t column;                        /* with a store: the first column of the panel */
    int64_t step, configured;              /* of cpu_integer_amx only */
    int64_t ahead; /* of integer_winograd.h: the bytes from the weights in use to those that are
                    * prefetched */
};

/* A window of POOL with all channels, which are contiguous; U8 or I8. */
struct cpu_integer_pool {
    const uint8_t *x;
    int64_t count[3], step[3]; /* for each axis: the number of elements, 0 or more, and their
                                * distance */
    int64_t channels;
    bool is_signed;
};

/*
 * Pixels of a line of a depthwise convolution. Four taps form a group; their addresses have the
 * same distance to those of the next pixel. The sums of a group of channels, as many as a vector
 * has bytes, are in an order of their own, and so are the initial values, the weights, the bias
 * and the scale (integer_depthwise.c).
 */
struct cpu_integer_line {
    const uint8_t *const *tap; /* the address of each tap of the first pixel, at channel 0 */
    int64_t quads, channels;   /* the numbers of groups of taps, and of channels */
    int64_t pixels, x_next, y_next;
    int64_t together;   /* the number of neighbouring pixels whose channels fill a vector; 1: pixels
                         * are computed one by one */
    const char *packed; /* for each group of channels: initial values, and weights */
    int64_t packed_bytes;
    bool is_signed, is_u8; /* x is I8; y is U8 */
    const float *bias, *scale;
    float least, most; /* the bounds of y, within the range of its dtype */
    uint8_t *y;
};

/*
 * Pixels whose channels are scaled and shifted, then stored as bytes; the store is ordered, and has
 * no bias, scale and addition. The distances are in bytes.
 */
struct cpu_integer_pixels {
    const struct cpu_integer_store *store;
    int64_t count, channels, x_next, y_next;
    uint32_t x_dtype;
    const char *x;
    char *y;
    const float *scale, *shift; /* one value per channel */
};

struct cpu_integer_loops {
    int64_t columns; /* the number of columns of a panel */
    int64_t rows;    /* the maximum number of rows of a tile */
    int64_t group;   /* the number of elements of k in a group */
    int64_t unit;    /* the number of rows of a whose groups are interleaved by `mix` */
    bool is_wide;    /* elements of a have 16 bits; otherwise 8 bits */
    bool is_bf16;    /* x is F32; a and the weights are BF16, and sums are floats */
    bool stores;     /* `micro` applies the steps of a tile with a store */
    /* The number that is added to bytes of U8, and of I8, in products and in lines. */
    int32_t shift[2], line_shift[2];
    void (*micro[INTEGER_MOST_ROWS + 1])(const struct cpu_integer_tile *t); /* indexed by the number
                                                                             * of rows */
    /* Converts n contiguous elements of x to the form of a. */
    void (*bring)(int64_t n, const void *x, bool is_signed, void *to);
    /*
     * The same for n pixels of three planes of x, `plane` elements apart; a pixel has four elements
     * of a, the last of which is 0. NULL without is_bf16.
     */
    void (*bring_planes)(int64_t n, const float *x, int64_t plane, void *to);
    /* Interleaves a unit of rows of `bytes` bytes, a multiple of 64; NULL if a unit is one row. */
    void (*mix)(int64_t bytes, const char *from, char *to);
    /* Stores the sums of columns `column` … `column` + `columns` − 1 of `rows` rows. */
    void (*store)(const struct cpu_integer_store *s, int64_t column, int64_t columns, int64_t rows,
                  const int32_t *sums, const struct cpu_integer_place *place);
    /* Converts n contiguous elements of `dtype` with the clip, factor and term of `s`. */
    void (*convert)(const struct cpu_integer_store *s, int64_t n, uint32_t dtype, const void *x,
                    void *y);
    /*
     * The same after (x·x_factor + x_term)·scale + shift, with scale and shift given for each
     * element.
     */
    void (*affine)(const struct cpu_integer_store *s, int64_t n, uint32_t dtype, const void *x,
                   const float *scale, const float *shift, void *y);
    /* The same for pixels with contiguous channels. */
    void (*pixels)(const struct cpu_integer_pixels *p);
    /* `most` writes the maxima of a window, in the dtype of x; `total` writes the sums. */
    void (*most)(const struct cpu_integer_pool *p, uint8_t *y);
    void (*total)(const struct cpu_integer_pool *p, int32_t *y);
    int64_t bytes; /* the bytes of a vector */
    /*
     * `depthwise` writes the sums of `n` channels at offset `at` of the taps, in the order of
     * channels; `line` computes y for all pixels and channels.
     */
    void (*depthwise)(const struct cpu_integer_line *l, int64_t at, int64_t n, const char *packed,
                      int32_t *sums);
    void (*line)(const struct cpu_integer_line *l);
    const struct cpu_integer_winograd_loops *winograd; /* NULL: none */
};

/*
 * Products by AMX, whose registers are tiles of up to 16 rows of 64 bytes: the micro-kernels of
 * cpu_integer_vnni and cpu_integer_bf16 are replaced, and the weights have the same form. U8 and I8
 * are multiplied as they are. A tile has up to CPU_AMX_ROWS rows and no store; `first` is unused.
 * The groups of a span are a multiple of `step`, which is at most CPU_AMX_STEP.
 */
#define CPU_AMX_ROWS 32
#define CPU_AMX_STEP 16
struct cpu_integer_amx {
    /*
     * Computes the sums of `rows` rows; only the first 16 columns if there are no more. It
     * configures the thread's registers unless t->configured, which it sets, is `rows`.
     */
    void (*u8)(struct cpu_integer_tile *t, int64_t rows, int64_t columns);
    void (*i8)(struct cpu_integer_tile *t, int64_t rows, int64_t columns);
    void (*bf16)(struct cpu_integer_tile *t, int64_t rows, int64_t columns);
    /* Ends the use of the registers by this thread; the processor need not save them any more. */
    void (*release)(void);
};

/* The products by AMX; NULL if the assembler lacks it. */
extern const struct cpu_integer_amx *const cpu_integer_amx;

/* The loops of an instruction set; NULL if it has no products of bytes. */
const struct cpu_integer_loops *cpu_integer_loops_of(const struct cpu_isa *isa);

/* One object per instruction set; NULL if the compiler does not support the set. */
extern const struct cpu_integer_loops *const cpu_integer_vnni;
extern const struct cpu_integer_loops *const cpu_integer_avx512;
extern const struct cpu_integer_loops *const cpu_integer_avxvnni;
extern const struct cpu_integer_loops *const cpu_integer_avx2;
extern const struct cpu_integer_loops *const cpu_integer_dotprod;
extern const struct cpu_integer_loops *const cpu_integer_i8mm;
/* Products of pairs of BF16, without the functions after `store`. */
extern const struct cpu_integer_loops *const cpu_integer_bf16;

/* The location of the rows of a product. */
enum cpu_integer_source {
    CPU_INTEGER_IN_PLACE, /* pixels of x */
    CPU_INTEGER_COPIED,   /* pixels of lines of x that are copied with their padding, in the form of
                           * a; the rows of neighbouring pixels overlap */
    CPU_INTEGER_GATHERED  /* copied one by one */
};

/*
 * The division of a product into tasks; it depends on shapes, instruction set and threads only. A
 * line has rows at equal distances in x, y and the added operand.
 */
struct cpu_integer {
    const struct cpu_integer_loops *loops;
    const struct cpu_integer_amx *amx; /* NULL: not used */
    int64_t groups, m, n, k; /* the number of convolution groups, rows and columns, and the length
                              * of a sum */
    int64_t spans, span;     /* the spans of a row, and the elements of a span: spans · span = k */
    int64_t k_groups, step;  /* the number of groups of a span, and those of a step of `amx` */
    int64_t rows;            /* the maximum number of rows of a tile */
    int64_t a_row, a_span;   /* the bytes from a row of a, and a span, to the next */
    int64_t panels, panel_bytes;     /* panel_bytes: of a packed panel, initial values followed by
                                  * weights */
    int64_t stretch, pieces;         /* the rows that are at equal distances: a line of y, or all;
                                        * and the lines that they are divided into */
    int64_t line, lines;             /* the rows of a line, fewer in the last one of a stretch, and
                                        * the lines */
    int64_t line_bytes;              /* copied: of a line of x; gathered: of the rows of a line */
    int64_t line_block, line_blocks; /* the lines of a task, and the number of tasks that share
                                        * the lines */
    int64_t panel_block, panel_blocks; /* the panels of a task, and the number of tasks that share
                                        * the panels */
    int64_t slot_bytes;                /* bytes of a thread: rows, or the points of tiles */
    int32_t shift;                     /* the number that is added to each element of x */
    int64_t x_size;                    /* the bytes of an element of x */
    int64_t pixel;                     /* the elements of a of a tap, its channels; with
                                        * reads_planes one more */
    unsigned slots;
    enum cpu_integer_source source;
    bool is_by_line;                /* all panels of a line are computed before the next line */
    bool reads_planes;              /* copied: x is a row-major image of three channels */
    bool is_signed, is_row;         /* x is I8; the operation is INNER_PRODUCT */
    bool is_depthwise, is_in_place; /* k_groups: of taps; panels: groups of channels; x is read in
                                       * place */
    int64_t zero_bytes;             /* depthwise: bytes of the line of zeros */
    int64_t x_row;                  /* INNER_PRODUCT: bytes from a row of x to the next */
};

/*
 * Products of bytes (integer_product.c): a convolution whose window and weights' strides are set,
 * or an inner product whose rows are set.
 */
int cpu_integer_convolution_plan(struct cpu_op *p);
int cpu_integer_inner_product_plan(struct cpu_op *p);
/*
 * The same for F32 whose x and w are rounded to BF16, and for values of BF16, if that is possible
 * and takes less time.
 */
bool cpu_integer_bf16_plan(struct cpu_op *p);
/* Packs the weights of these operations, I8 or F32 (integer_pack.c). */
void cpu_integer_pack(struct cpu_device *d, const struct cpu_op *p, const void *w, char *packed);
/*
 * Replaces a convolution that is planned as a product of bytes by the tiles of integer_winograd.h,
 * if that takes less time (integer_winograd.c).
 */
void cpu_integer_winograd_plan(struct cpu_op *p);
/* A depthwise convolution of bytes, which is one of the former (integer_depthwise.c). */
bool cpu_integer_depthwise_can(const struct cpu_op *p);
void cpu_integer_depthwise_plan(struct cpu_op *p);
void cpu_integer_depthwise_pack(const struct cpu_op *p, const int8_t *w, char *packed);
void cpu_integer_depthwise_run(struct cpu_device *d, const struct cpu_op *p,
                               const struct cpu_op_args *args);
/* POOL of bytes, whose window is set (integer_pool.c). */
int cpu_integer_pool_plan(struct cpu_op *p);
/*
 * The factor and the term of an epilogue, 1 and 0 without one; false if the epilogue has another
 * step.
 */
bool cpu_integer_affine(const struct cpu_op *p, struct cpu_integer_store *out);
/* Sets `is_ordered` and its bounds by the other members of a store (integer_store.c). */
void cpu_integer_find_order(struct cpu_integer_store *s);

static inline bool cpu_is_integer(const ferry_operand *o)
{
    return o->dtype == FERRY_I8 || o->dtype == FERRY_U8;
}

#endif
