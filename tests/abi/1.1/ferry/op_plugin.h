/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_plugin.h
 * "ferry.op/1": the table of prepared operations that a plugin may return from its `extension`
 * entry. Since ABI 1.1.
 *
 * The rules of plugin.h for codes, host->error, threads and queues apply. Before ferry passes an
 * operation to a plugin, it has checked shapes, strides, dtypes, parameters and overflow, and has
 * replaced unused values: the stride of an axis of dimension 1 is that of a plain operand, and the
 * operand of an epilogue step without one is 0. The plugin only decides whether it supports the
 * operation. A prepared operation is immutable: it may run on several queues at once, and each run
 * has its own workspace. For the same device, operation, options and number of threads, the same
 * inputs give bit-identical outputs.
 */
#ifndef FERRY_OP_PLUGIN_H
#define FERRY_OP_PLUGIN_H

#include <ferry/op_types.h>

FERRY_BEGIN_DECLS

/** The name of this table for the `extension` entry. */
#define FERRY_OP_EXTENSION "ferry.op/1"

/** A plugin's answer to query. ferry sets struct_size and zeroes the rest before the call. */
typedef struct ferry_op_answer {
    uint32_t struct_size;
    uint32_t epilogue; /* number of steps, from the first, that the plugin computes */
    /**
     * The fastest order of the axes of in[0] and out[0], outermost first: 0 2 3 1 is channels-last.
     * All 0: no preference.
     */
    uint8_t order[FERRY_OP_AXES];
    uint32_t packed_inputs; /* bit i: in[i] is packed into `packed`, and run does not read it */
    uint32_t reserved;
    uint64_t packed_bytes; /* 0: no packed constants */
    /**
     * Operations of one device with equal nonzero keys may share packed constants. The key
     * identifies the shapes of the constants and the packed format; it does not depend on batch or
     * image size.
     */
    uint64_t packed_key;
    uint64_t workspace_bytes; /* bytes that a run needs */
} ferry_op_answer;

/** The arguments of a run. The arrays are borrowed for the call. */
typedef struct ferry_op_run_args {
    uint32_t struct_size;
    uint32_t scalar_count;
    const ferry_cref *in; /* n_in entries; the handle of a packed input may be NULL */
    const ferry_ref *out; /* n_out entries */
    ferry_ref packed;     /* packed_bytes bytes, written by prepare; handle NULL if 0 */
    ferry_ref workspace;  /* workspace_bytes bytes, 64-byte aligned, undefined; handle NULL if 0 */
    const double *scalars;
    uint64_t seed, offset; /* RANDOM */
} ferry_op_run_args;

/** The table: static const, valid for the life of the process. All entries are mandatory. */
typedef struct ferry_op_table {
    uint32_t struct_size;
    uint32_t reserved;
    /**
     * Decides whether the device supports `op`: returns 0 and fills in *out, or returns
     * FERRY_EUNSUPPORTED, for which a call of host->error is optional. Must not compile, measure or
     * allocate. Any thread.
     */
    int (*query)(void *dev, const ferry_op_desc *op, ferry_op_answer *out);
    /**
     * Prepares `op` as query answered: compiles kernels and chooses an algorithm, by heuristics and
     * never by measuring. Copies the parts of `op` that it needs later. May block. FERRY_ENOMEM,
     * FERRY_EDEVICE; the state is then as before. Any thread.
     */
    int (*create)(void *dev, const ferry_op_desc *op, void **out_prepared);
    /**
     * Packs the constants into `packed`, in the order of `queue`. `in` has n_in references; only
     * those in packed_inputs are set. ferry owns `packed`. If packed_bytes is not 0, ferry calls
     * this before the first run, and again after the constants have been written.
     */
    int (*prepare)(void *dev, void *queue, void *prepared, const ferry_cref *in, ferry_ref packed);
    /**
     * Submits the operation to the queue. Must not allocate. After FERRY_ENOMEM, ferry frees memory
     * and calls it once more. After any failure the outputs are undefined and the inputs unchanged.
     */
    int (*run)(void *dev, void *queue, void *prepared, const ferry_op_run_args *args);
    /** Destroys a prepared operation. ferry has waited for its runs. Cannot fail. */
    void (*destroy)(void *dev, void *prepared);
} ferry_op_table;

FERRY_END_DECLS

#endif
