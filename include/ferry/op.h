/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op.h
 * Operations on whatever device is there: convolution and its kin, described once, prepared once, run
 * often. Part of libferrynet.
 *
 * Who computes is decided when an operation is created, in this order:
 *   own       the device's plugin has it (extension "ferry.op/1");
 *   composed  the plugin has every step that it can be made of, so that nothing leaves the device:
 *             convolution of im2col and gemm, say, or on F16 and BF16 the same in F32, between copies
 *             that widen and round;
 *   host      the cpu plugin's operation on the host's copies, which coherence brings there and back;
 *             ferry's own plain loops where there is no cpu plugin.
 * F32 is the device's own as far as its plugin goes, F64 the cpu plugin's and so the host's elsewhere. F16 and
 * BF16 are composed on cpu, cuda, opencl and sim: what is added up is F32 at least, each output is rounded
 * once. So every operation runs on every device, if only slowly; FERRY_STRICT=1 makes the last tier
 * FERRY_EUNSUPPORTED, with the kind, the shape and the plugin in its message.
 *
 * Errors, where no other is named: FERRY_EINVAL for NULL or a structure without its size,
 * FERRY_ENOMEM, FERRY_EDEVICE, FERRY_ELOST, FERRY_EFORKED; *out is then untouched and nothing has
 * changed. A structure may end where a program's own header has it end: what it lacks counts as 0, and
 * is not written. Threads: an operation is immutable and may run on several queues at once.
 */
#ifndef FERRY_OP_H
#define FERRY_OP_H

#include <ferry/memory.h>
#include <ferry/op_types.h>

FERRY_BEGIN_DECLS

/** An operation prepared for a device. Opaque; retains its device. */
typedef struct ferry_operation ferry_operation;

/** Who computes. The values are those of a sum of costs: a higher one is worse. */
typedef enum ferry_operation_tier {
    FERRY_TIER_OWN = 0,
    FERRY_TIER_COMPOSED = 1,
    FERRY_TIER_HOST = 2
} ferry_operation_tier;

/** "own", "composed", "host"; "?" for any other value. Static storage, any thread. */
FERRY_API const char *ferry_operation_tier_name(ferry_operation_tier tier);

/** "convolution", "pool", …; "?" for a number that is none. Static storage, any thread. */
FERRY_API const char *ferry_op_kind_name(uint32_t kind);

/**
 * Makes *op an operation of that kind with nothing in it: no operands, windows of 1 with stride 1,
 * scale 1, forward. Its size is that of the first ferry_op_desc, up to `epilogue`: whoever sets a member that
 * came later zeroes it and sets struct_size after this. Cannot fail; a NULL op is left alone.
 */
FERRY_API void ferry_op_desc_init(ferry_op_desc *op, uint32_t kind);

/**
 * An operand of `rank` axes that lies in memory in the order of the axes in `order`, from the
 * outermost to the innermost, without gaps; NULL: 0, 1, 2, …, row-major. Channels-last of four axes is
 * {0, 2, 3, 1}. Nothing is checked before ferry_op_desc_check: what is out of range gives an operand that
 * it refuses. Any thread.
 */
FERRY_API ferry_operand ferry_operand_make(ferry_dtype dtype, const int64_t *shape, int rank,
                                           const uint8_t *order);

/** 1 if the operand is row-major without gaps, 0 if not, or for NULL. Any thread. */
FERRY_API bool ferry_operand_is_plain(const ferry_operand *operand);

/**
 * How far the operand reaches, in bytes from its first element to behind its last; 0 where it has no
 * elements, FERRY_EOVERFLOW where 63 bits do not hold it. Any thread.
 */
FERRY_API int64_t ferry_operand_extent(const ferry_operand *operand);

/**
 * Whether an operation makes sense: the operands that its kind wants and no others, shapes that fit
 * each other and the parameters, strides that do not overlap where it writes, known numbers, products
 * that fit 63 bits. What each tier then relies on. FERRY_EINVAL (unknown kind or pass, wrong number of
 * operands, dtype, parameter out of range, overlap), FERRY_ESHAPE (two numbers that do not fit: both
 * are in the message), FERRY_EOVERFLOW. Touches no device. Any thread.
 */
FERRY_API int ferry_op_desc_check(const ferry_op_desc *op);

/** What ferry_operation_query and ferry_operation_get_plan tell. The caller sets struct_size. */
typedef struct ferry_operation_plan {
    size_t struct_size;
    ferry_operation_tier tier;
    uint32_t steps;               /* entries of a plugin that a run calls */
    uint8_t order[FERRY_OP_AXES]; /* preferred order of in[0]'s and out[0]'s axes; all 0: any */
    uint64_t packed_bytes;        /* of constants in the plugin's own form */
    uint64_t workspace_bytes;     /* while it runs */
} ferry_operation_plan;

/**
 * How `dev` would run `op`; prepares nothing. The preferred order is a wish: an operation whose
 * operands lie otherwise runs too. Errors: those of ferry_op_desc_check, FERRY_EUNSUPPORTED for an
 * integer dtype that the kind does not compute on, and where FERRY_STRICT forbids the host.
 */
FERRY_API int ferry_operation_query(ferry_device *dev, const ferry_op_desc *op,
                                    ferry_operation_plan *out);

/**
 * Prepares `op` for `dev`, which is opened if it was not yet: decides the tier, compiles what has to
 * be compiled. `op` is copied. The caller destroys the operation. Errors as ferry_operation_query.
 */
FERRY_API int ferry_operation_create(ferry_device *dev, const ferry_op_desc *op,
                                     ferry_operation **out);

/** How an operation runs; `out->struct_size` is set by the caller. FERRY_EINVAL. */
FERRY_API int ferry_operation_get_plan(const ferry_operation *operation, ferry_operation_plan *out);

/** Where an operand lies: the memory, and the distance of its first element from the start in bytes. */
typedef struct ferry_operation_location {
    ferry_memory *memory;
    uint64_t offset; /* bytes; a multiple of the element's size */
} ferry_operation_location;

/** What a run takes. The caller sets struct_size; what a kind does not use stays 0. */
typedef struct ferry_operation_args {
    size_t struct_size;
    const ferry_operation_location *in;  /* n_in of the operation */
    const ferry_operation_location *out; /* n_out */
    const double *scalars;               /* FERRY_OP_UPDATE */
    size_t scalar_count;
    uint64_t seed, offset; /* FERRY_OP_RANDOM */
} ferry_operation_args;

/**
 * Runs the operation on `q` (NULL: the default queue of its device): brings the inputs to where it is
 * computed, enqueues, and makes the outputs' copies there the only valid ones. Returns when the work
 * is enqueued; on the host tier when it is done. Constants are packed on the first run, and again
 * when their memory has been written since (ferry_memory_version). An output that covers its memory
 * is written without having been read.
 *
 * Errors: FERRY_EINVAL for a queue of another device, a missing place, an input and an output that
 * share a memory and overlap without being one and the same where the kind allows that; FERRY_ESHAPE
 * where an operand reaches behind its memory; what ferry_memory_access and the plugin fail with. A
 * plugin that ran out of memory is asked once more after the device's cache was trimmed. Once the
 * outputs were taken to be written, a failure costs their contents (FERRY_ELOST from then on), also
 * one that the plugin reports at once; what fails before, bringing the inputs and packing constants
 * among it, leaves all as it was. Inputs keep theirs.
 */
FERRY_API int ferry_operation_run(ferry_operation *operation, ferry_queue *q,
                                  const ferry_operation_args *args);

/** What an operation has done so far. */
typedef struct ferry_operation_stats {
    size_t struct_size;
    uint64_t runs;
    uint64_t packs; /* how often constants were brought into the plugin's form */
    uint64_t
        host_bytes; /* operands of runs on the host tier, both ways: the most that had to move */
} ferry_operation_stats;

/** The account of an operation; `out->struct_size` is set by the caller. FERRY_EINVAL. Any thread. */
FERRY_API int ferry_operation_get_stats(const ferry_operation *operation,
                                        ferry_operation_stats *out);

/** Waits for the operation's runs and ends it. NULL is accepted. Cannot fail. */
FERRY_API void ferry_operation_destroy(ferry_operation *operation);

FERRY_END_DECLS

#endif
