/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_plugin.h
 * "ferry.op/1": the table of prepared operations that a plugin's `extension` entry may give, and the
 * plugin's side of it. Since ABI 1.1.
 *
 * The rules of plugin.h hold here too: codes, host->error, threads, queues. ferry has checked every
 * operation before a plugin sees it (shapes that fit, strides, dtypes, no overflow, parameters in
 * range) and settled what says nothing: strides along dimensions of 1 are those of a plain operand,
 * the operand of a step that has none is 0. So a plugin only decides whether it can. A prepared operation is immutable: it may run on
 * several queues at once, each run with a workspace of its own. With the same device, operation,
 * options and number of threads, the same inputs give the same bits.
 */
#ifndef FERRY_OP_PLUGIN_H
#define FERRY_OP_PLUGIN_H

#include <ferry/op_types.h>

FERRY_BEGIN_DECLS

/** The name to ask `extension` for. */
#define FERRY_OP_EXTENSION "ferry.op/1"

/** What a plugin says of an operation. ferry sets struct_size and zeroes the rest before the call. */
typedef struct ferry_op_answer {
    uint32_t struct_size;
    uint32_t epilogue; /* how many of its steps, from the first, are taken; the others ferry does */
    /**
     * The axes from the outermost to the innermost in which in[0] and out[0] are fastest: 0 2 3 1 is
     * channels-last. All 0: the plugin does not mind.
     */
    uint8_t order[FERRY_OP_AXES];
    uint32_t packed_inputs; /* bit i: in[i] goes into `packed`, and is not read by run */
    uint32_t reserved;
    uint64_t packed_bytes; /* 0: nothing is packed */
    /**
     * Operations of one device with equal nonzero keys (the same constants' shapes and the same packed
     * form, whatever the batch or the image) may share what one of them packed.
     */
    uint64_t packed_key;
    uint64_t workspace_bytes; /* of a run */
} ferry_op_answer;

/** What a run is given. The arrays are borrowed for the call. */
typedef struct ferry_op_run_args {
    uint32_t struct_size;
    uint32_t scalar_count;
    const ferry_cref *in; /* n_in of the operation; a packed input's handle may be NULL */
    const ferry_ref *out; /* n_out */
    ferry_ref packed;     /* packed_bytes of it, as prepare left them; handle NULL if 0 */
    ferry_ref workspace;  /* workspace_bytes of it, 64-byte aligned, undefined; handle NULL if 0 */
    const double *scalars;
    uint64_t seed, offset; /* RANDOM */
} ferry_op_run_args;

/** The table: static const, as long as the process. All entries must be there. */
typedef struct ferry_op_table {
    uint32_t struct_size;
    uint32_t reserved;
    /**
     * Whether the device can do `op`, and how: 0 and *out, or FERRY_EUNSUPPORTED, for which
     * host->error need not be called. Compiles nothing, times nothing, allocates nothing. Any thread.
     */
    int (*query)(void *dev, const ferry_op_desc *op, ferry_op_answer *out);
    /**
     * Prepares `op`, as query answered for it: compiles, chooses an algorithm by heuristics and never
     * by timing. `op` is copied as far as it is needed. May block. FERRY_ENOMEM, FERRY_EDEVICE; the
     * state is then as before. Any thread.
     */
    int (*create)(void *dev, const ferry_op_desc *op, void **out_prepared);
    /**
     * Packs the constants into `packed`, on `queue`, in its order. `in` has n_in references, of which
     * those in packed_inputs are set. ferry owns `packed` and calls this again when the constants have
     * been written. Called before the first run where packed_bytes is not 0.
     */
    int (*prepare)(void *dev, void *queue, void *prepared, const ferry_cref *in, ferry_ref packed);
    /**
     * Enqueues the operation. Allocates nothing. FERRY_ENOMEM is tried once more after ferry has made
     * room; after any failure the outputs are undefined and inputs as they were.
     */
    int (*run)(void *dev, void *queue, void *prepared, const ferry_op_run_args *args);
    /** Ends a prepared operation. ferry has waited for its runs. Cannot fail. */
    void (*destroy)(void *dev, void *prepared);
} ferry_op_table;

FERRY_END_DECLS

#endif
