/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op.h
 * Operations on any device, such as convolution: described by a ferry_op_desc, prepared once for a
 * device, run often. Part of libferrynet.
 *
 * ferry_operation_create selects the first of these tiers that can compute the operation:
 *
 * - own: the device's plugin offers the operation (extension "ferry.op/1").
 * - composed: the plugin offers every step of an equivalent sequence, and all bytes stay on the
 *   device. Examples: a convolution as im2col and gemm; an F16 or BF16 operation as its F32 form
 *   between copies that convert.
 * - host: the cpu plugin computes on the host's copies, and coherence copies the operands. Without
 *   a cpu plugin, kernels of libferrynet compute in F32, many times slower, and conversions between
 *   all dtypes; an operation in F64 is FERRY_EUNSUPPORTED then.
 *
 * So every operation runs on every device beside which the cpu plugin is available. With
 * FERRY_STRICT=1 the host tier is FERRY_EUNSUPPORTED, and the message names the kind, the shape and
 * the plugin.
 *
 * F32: the tier depends on the plugin. F64: own on cpu, host tier on all other devices. F16 and
 * BF16: composed on cpu, cuda, opencl and sim (products are own on cuda with option.f16 = tensor);
 * sums accumulate in F32 or wider, and each output is rounded once.
 *
 * Errors: unless a function names other codes, FERRY_EINVAL for NULL or for a structure whose
 * struct_size is not set, FERRY_ENOMEM, FERRY_EDEVICE, FERRY_ELOST, FERRY_EFORKED. After a failure
 * *out is unchanged and no state has changed. A caller built with an older header passes a shorter
 * structure: members past struct_size count as 0 and are not written.
 *
 * Threads: an operation is immutable and may run on several queues at once.
 */
#ifndef FERRY_OP_H
#define FERRY_OP_H

#include <ferry/memory.h>
#include <ferry/op_tier.h>
#include <ferry/op_types.h>

FERRY_BEGIN_DECLS

/** An operation prepared for a device. Opaque; retains its device. */
typedef struct ferry_operation ferry_operation;

/**
 * The name of a kind, "convolution", "pool", …; "?" for an unknown number. Static storage, any
 * thread.
 */
FERRY_API const char *ferry_op_kind_name(uint32_t kind);

/**
 * Initialises *op as a forward operation of `kind` without operands, with windows of size 1 and
 * stride 1, and with scale 1. Sets struct_size to the size of the first version of ferry_op_desc,
 * which ends after `epilogue`. To use a member added later, set it and struct_size after this call.
 * Cannot fail; ignores a NULL op.
 */
FERRY_API void ferry_op_desc_init(ferry_op_desc *op, uint32_t kind);

/**
 * Makes a contiguous operand of `rank` axes. `order` lists the axes from outermost to innermost in
 * memory; NULL means row-major, 0, 1, 2, …. Channels-last with four axes is {0, 2, 3, 1}. Of
 * arguments out of range it makes an operand of more than FERRY_OP_AXES axes, which
 * ferry_op_desc_check refuses. Callable from any thread.
 */
FERRY_API ferry_operand ferry_operand_make(ferry_dtype dtype, const int64_t *shape, int rank,
                                           const uint8_t *order);

/**
 * Whether the operand is plain: row-major and contiguous. False for NULL. Callable from any thread.
 */
FERRY_API bool ferry_operand_is_plain(const ferry_operand *operand);

/**
 * The extent of the operand: bytes from the start of its first element to the end of its last. 0
 * for an operand without elements, FERRY_EOVERFLOW for an extent of 2⁶³ bytes or more. Callable
 * from any thread.
 */
FERRY_API int64_t ferry_operand_extent(const ferry_operand *operand);

/**
 * Checks an operation: the number of operands, shapes that match each other and the parameters,
 * strides of outputs that do not overlap, known numbers, sizes below 2⁶³, and less than 2⁵⁶
 * multiplications of a product or elements in the windows of a pool. All tiers rely on
 * this check. FERRY_EINVAL for an unknown kind or pass, a wrong number of operands, a dtype, a
 * parameter out of range, or overlap; FERRY_ESHAPE for two sizes that do not match, with both in
 * the message; FERRY_EOVERFLOW. Uses no device. Callable from any thread.
 */
FERRY_API int ferry_op_desc_check(const ferry_op_desc *op);

/**
 * How an operation runs. The caller sets struct_size; ferry_operation_query and
 * ferry_operation_get_plan fill in the rest.
 */
typedef struct ferry_operation_plan {
    size_t struct_size;
    ferry_operation_tier tier;
    uint32_t steps;               /* calls of plugin entries in a run */
    uint8_t order[FERRY_OP_AXES]; /* preferred axis order of in[0] and out[0]; all 0: any */
    uint64_t packed_bytes;        /* the size of constants in the plugin's packed format */
    uint64_t workspace_bytes;     /* the number of bytes needed during a run */
    uint32_t math;                /* the bits FERRY_MATH_… of the operation that it uses */
} ferry_operation_plan;

/**
 * Determines how `dev` would run `op`, without preparing it. The preferred order is a hint:
 * operands in another order also run. Errors: those of ferry_op_desc_check; FERRY_EUNSUPPORTED for
 * an integer dtype that the kind does not support, and for the host tier under FERRY_STRICT=1.
 */
FERRY_API int ferry_operation_query(ferry_device *dev, const ferry_op_desc *op,
                                    ferry_operation_plan *out);

/**
 * Prepares `op` for `dev`: opens the device if it is not open, chooses the tier and compiles
 * kernels. Copies `op`. The caller destroys the operation. Errors are those of
 * ferry_operation_query.
 */
FERRY_API int ferry_operation_create(ferry_device *dev, const ferry_op_desc *op,
                                     ferry_operation **out);

/** Copies the operation's plan to *out; the caller sets out->struct_size. FERRY_EINVAL. */
FERRY_API int ferry_operation_get_plan(const ferry_operation *operation, ferry_operation_plan *out);

/** The location of an operand: a memory, and the offset of the operand's first element in it. */
typedef struct ferry_operation_location {
    ferry_memory *memory;
    uint64_t offset; /* in bytes; a multiple of the element size */
} ferry_operation_location;

/**
 * The arguments of a run. The caller sets struct_size; members that the kind does not use stay 0.
 */
typedef struct ferry_operation_args {
    size_t struct_size;
    const ferry_operation_location *in;  /* n_in entries */
    const ferry_operation_location *out; /* n_out entries */
    const double *scalars;               /* FERRY_OP_UPDATE */
    size_t scalar_count;
    uint64_t seed, offset; /* FERRY_OP_RANDOM */
} ferry_operation_args;

/**
 * Runs the operation on `q` (NULL: the default queue of its device). ferry copies the inputs to the
 * device or host that computes, if they are not valid there, and submits the work. Afterwards only
 * that copy of each output is valid. Returns after the work is submitted; on the host tier, after
 * the work is done.
 *
 * The first run packs the constants (ferry_op_desc.constants) if the plugin has a packed format. A
 * later run packs them again if their memory was written since (ferry_memory_version). If an output
 * covers its whole memory, the old contents are not copied.
 *
 * Errors: FERRY_EINVAL for a queue of another device, for a missing location, and for an input and
 * an output that overlap in one memory, unless the kind allows that and the two are identical;
 * FERRY_ESHAPE for an operand that extends past its memory; the errors of ferry_memory_access and
 * of the plugin. After FERRY_ENOMEM from the plugin, ferry frees the device's cached blocks and
 * tries once more.
 *
 * A failure before the outputs are acquired for writing, for example while inputs are copied or
 * constants are packed, changes nothing. Any later failure, also one that the plugin reports at
 * once, invalidates the outputs: accesses to them return FERRY_ELOST. The inputs stay valid.
 */
FERRY_API int ferry_operation_run(ferry_operation *operation, ferry_queue *q,
                                  const ferry_operation_args *args);

/** Counters of an operation since its creation. The caller sets struct_size. */
typedef struct ferry_operation_stats {
    size_t struct_size;
    uint64_t runs;
    uint64_t packs; /* the number of times that constants were packed */
    /** Bytes of the operands of all runs on the host tier: an upper bound of the bytes copied. */
    uint64_t host_bytes;
} ferry_operation_stats;

/**
 * Copies the operation's counters to *out; the caller sets out->struct_size. FERRY_EINVAL. Callable
 * from any thread.
 */
FERRY_API int ferry_operation_get_stats(const ferry_operation *operation,
                                        ferry_operation_stats *out);

/** Waits for the operation's runs and destroys it. NULL is accepted. Cannot fail. */
FERRY_API void ferry_operation_destroy(ferry_operation *operation);

FERRY_END_DECLS

#endif
