/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module as it is executed: code, registers and symbols, and the state of a launch that
 * instructions see.
 *
 * A register has a slot: LANES elements of its width, one for each thread of a warp. Immediates,
 * symbols and special registers have slots too, which are filled before a warp starts, so that
 * every operand is an array of lanes. Slots are at offsets of the warp's registers; a predicate
 * is a uint32_t, 0 or 1.
 */
#ifndef FERRY_TEST_PTX_PROGRAM_H
#define FERRY_TEST_PTX_PROGRAM_H

#include "tests/ptx/ptx.h"

#define LANES         32u
#define MOST_OPERANDS 14 /* of mma */
#define MOST_SOURCES  64 /* files of .file */

enum ptx_space { GENERIC, GLOBAL, SHARED, LOCAL, PARAM, CONSTANT };

/* The first address of a space as a generic address. Offsets are below 2^32. */
#define BASE_OF(space) ((uint64_t)(0x80 + (space)) << 56)

struct warp;
struct instruction;
typedef void ptx_handler(struct warp *w, const struct instruction *i);

struct instruction {
    ptx_handler *run;
    uint32_t slot[MOST_OPERANDS]; /* results first */
    int64_t offset;               /* added to an address; of a branch the index of its target */
    uint32_t guard;               /* slot of a predicate; 0: unconditional */
    bool guard_negated;
    bool leads;                  /* a label is here, where lanes may meet again */
    bool yields;                 /* changes which lanes run */
    uint8_t space, width, count; /* of an access: bytes of an element, elements */
    uint8_t operation;           /* of an atomic operation */
    bool narrow_address;         /* 32 bits */
    uint16_t file;
    uint32_t source_line, line; /* of .loc, and of the PTX */
};

/* A slot that has the same value whenever a warp starts. */
struct constant {
    uint32_t slot;
    uint8_t width; /* bytes */
    uint64_t value;
};

enum special {
    TID_X,
    TID_Y,
    TID_Z,
    NTID_X,
    NTID_Y,
    NTID_Z,
    CTAID_X,
    CTAID_Y,
    CTAID_Z,
    NCTAID_X,
    NCTAID_Y,
    NCTAID_Z,
    LANEID,
    WARPID,
    LANEMASK_EQ,
    LANEMASK_LE,
    LANEMASK_LT,
    LANEMASK_GE,
    LANEMASK_GT,
    SPECIALS
};

struct parameter {
    char *name;
    size_t offset, size;
};

struct ptx_kernel {
    struct ptx_kernel *next;
    const struct ptx_module *module;
    char *name;
    struct parameter params[PTX_MOST_PARAMS];
    unsigned param_count;
    size_t param_bytes, shared_bytes, local_bytes, register_bytes;
    struct instruction *code;
    size_t length;
    struct constant *constants;
    size_t constant_count;
    uint32_t specials[SPECIALS]; /* slots; 0: not used */
    uint32_t *targets;           /* of brx.idx, one list after the other */
    size_t target_count;
    unsigned grain[CONSTANT + 1]; /* the narrowest access, by space; 0: no access */
    uint32_t most_threads;        /* .maxntid; 0: not given */
};

struct ptx_module {
    int target;
    struct ptx_kernel *kernels;
    char *sources[MOST_SOURCES];
    unsigned char *variables; /* .global and .const with their initial values */
    size_t variable_bytes;
    void **owned; /* everything that is freed with the module */
    size_t owned_count, owned_room;
};

/* Zeroed memory that is freed with the module; NULL if memory is short. */
void *module_alloc(struct ptx_module *m, size_t size);

/* ---- opcodes ---- */

/*
 * An opcode by its whole name without modifiers that change nothing. `operands` are widths,
 * results before "=": p predicate, b 8, h 16, w 32, d 64 bits.
 */
struct opcode {
    const char *name, *operands;
    ptx_handler *run;
};

struct opcode_group {
    const struct opcode *opcodes;
    size_t count;
};

extern const struct opcode_group integer_opcodes, bit_opcodes, real_opcodes, half_opcodes;
extern const struct opcode_group compare_opcodes, convert_opcodes, approximate_opcodes,
    warp_opcodes, matrix_opcodes;

/* NULL: not known. */
const struct opcode *opcode_find(const char *name);

/* Instructions that the decoder makes itself (memory.c, flow.c). */
ptx_handler run_load_1, run_load_2, run_load_4, run_load_8;
ptx_handler run_store_1, run_store_2, run_store_4, run_store_8;
ptx_handler run_atomic_u32, run_atomic_s32, run_atomic_u64, run_atomic_s64, run_atomic_f32,
    run_atomic_f64;
ptx_handler run_pack, run_unpack; /* mov with a vector on one side */
ptx_handler run_branch, run_branch_indexed, run_exit, run_barrier, run_fence, run_trap;
ptx_handler run_warp_barrier, run_warp_sync, run_nothing;

enum atomic { ADD, EXCHANGE, COMPARE, LEAST, MOST, AND, OR, XOR, INCREMENT, DECREMENT, ATOMICS };

/* ---- state ---- */

struct access {
    uint32_t block; /* 1 + its index; 0: there was no access */
    uint32_t time;  /* of that block */
    uint16_t thread, atomic;
    uint32_t instruction;
};

/* The latest accesses to `grain` bytes. */
struct cell {
    struct access write, read;
    uint16_t second_reader; /* 1 + another thread that has read the cell, besides `read`, since the
                             * same barrier */
    bool is_read_by_blocks; /* by more than one since the last write */
};

/*
 * The blocks whose stores an atomic operation on `address` makes visible, as far as each
 * released them.
 */
struct release {
    struct release *next;
    uint64_t address;
    uint32_t block, *times; /* by thread: stores before that time */
};

struct block;

struct warp {
    struct block *block;
    unsigned char *registers;
    uint32_t pc;
    uint32_t live, parked; /* bits: lanes that have not ended; of them at a barrier of the block */
    uint32_t meeting;      /* lanes that wait for others of the warp */
    bool has_met;          /* no lane can arrive any more where they wait */
    uint32_t active;       /* lanes that run now */
    bool is_split;         /* there are others that could run */
    bool all;              /* the mask is every lane */
    uint32_t mask[LANES];  /* ~0 or 0: lanes that the instruction is for */
    uint32_t where[LANES]; /* where lanes that do not run are */
    uint32_t first;        /* the thread of lane 0 */
    uint32_t sync_time;    /* of the last bar.warp.sync */
    uint8_t sequence[LANES];
};

struct run; /* one launch (run.h) */

struct block {
    struct run *run;
    uint32_t index;
    unsigned char *shared, *local;
    struct warp *warps;
    unsigned warp_count;
    bool is_resident;
    uint8_t warp_sequence[PTX_MOST_THREADS / LANES];
    struct cell *shared_cells;
    struct sync *sync; /* fences and atomics; NULL: races are not checked */
    uint32_t time, phase_start;
};

/* ---- macros for handlers ---- */

/*
 * Products and sums are rounded one by one. gcc does so with -std=c11, and does not know the
 * pragma.
 */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#define SLOT(w, i, n, type) ((type *)(void *)((w)->registers + (i)->slot[n]))

/* Lanes do not depend on each other: two operands share all of their elements or none of them. */
#if defined(__clang__) /* its pragma demands, and a loop that calls exp2 cannot be vectorized */
#define EACH_LANE(l) for (unsigned l = 0; l < LANES; l++)
#else
#define EACH_LANE(l) _Pragma("GCC ivdep") for (unsigned l = 0; l < LANES; l++)
#endif

/* d[l] = value in every lane of the mask. */
#define APPLY(w, type, d, value)                                     \
    do {                                                             \
        if ((w)->all)                                                \
            EACH_LANE(l) d[l] = (type)(value);                       \
        else                                                         \
            EACH_LANE(l) d[l] = (w)->mask[l] ? (type)(value) : d[l]; \
    } while (0)

/* Handlers of one to three operands x, y, z of a type, and a result of another. */
#define HANDLER1(name, result, type, value)                       \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        result *d = SLOT(w, i, 0, result);                        \
        const type *x = SLOT(w, i, 1, const type);                \
                                                                  \
        APPLY(w, result, d, value);                               \
    }
#define HANDLER2(name, result, type, type2, value)                \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        result *d = SLOT(w, i, 0, result);                        \
        const type *x = SLOT(w, i, 1, const type);                \
        const type2 *y = SLOT(w, i, 2, const type2);              \
                                                                  \
        APPLY(w, result, d, value);                               \
    }
#define HANDLER3(name, result, type, type3, value)                \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        result *d = SLOT(w, i, 0, result);                        \
        const type *x = SLOT(w, i, 1, const type);                \
        const type *y = SLOT(w, i, 2, const type);                \
        const type3 *z = SLOT(w, i, 3, const type3);              \
                                                                  \
        APPLY(w, result, d, value);                               \
    }

#endif
