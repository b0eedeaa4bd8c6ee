/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_table.h
 * "ferry.op/1": the table of prepared operations that a plugin may return from its `extension`
 * entry. Since ABI 1.1.
 *
 * The rules of plugin.h for codes, host->error, threads and queues apply. Before ferry passes an
 * operation to a plugin, it has checked shapes, strides, dtypes, parameters and overflow [rule 57],
 * and has replaced unused values: the stride of an axis of dimension 1 is that of a plain operand,
 * and the operand of an epilogue step without one is 0. The plugin only decides whether it supports
 * the operation. A prepared operation is immutable: it may run on several queues at once, and each
 * run has its own workspace. For the same device, operation, options and number of threads, the
 * same inputs give bit-identical outputs [rule 58].
 */
#ifndef FERRY_OP_TABLE_H
#define FERRY_OP_TABLE_H

#include <ferry/op_desc.h>

FERRY_BEGIN_DECLS

/** The name of this table for the `extension` entry. */
#define FERRY_OP_EXTENSION "ferry.op/1"

/**
 * The number of the kind's own inputs: in[0] to in[n - 1]. The operands of epilogue steps follow
 * them, in the order of the steps; without such an operand all n_in inputs are the kind's. The
 * number alone shows whether an optional input, such as a bias, is present. Callable from any
 * thread.
 */
static inline uint32_t ferry_op_own_inputs(const ferry_op_desc *op)
{
    uint32_t own = op->n_in, i;

    for (i = 0; i < op->n_epilogue; i++)
        if (op->epilogue[i].step != FERRY_STEP_UNARY && op->epilogue[i].operand < own)
            own = op->epilogue[i].operand;
    return own;
}

/** Values of ferry_op_answer.cost. */
/** The device computes the operation faster than the host, or it is unknown which is faster. */
#define FERRY_OP_COST_DEVICE 0u
/**
 * The device can compute the operation, but the host is faster, with the time of copying the
 * operands counted. ferry then computes on the host if its cpu plugin can, unless FERRY_STRICT
 * forbids the host [rule 65].
 */
#define FERRY_OP_COST_HOST_FASTER 1u
/**
 * Of integer arithmetic: the device can compute the operation, but is faster with the same one on
 * F32. ferry uses the answer as FERRY_OP_COST_DEVICE; nets then stay F32.
 */
#define FERRY_OP_COST_F32_FASTER 2u

/** A plugin's answer to query. ferry sets struct_size and zeroes the rest before the call. */
typedef struct ferry_op_answer {
    uint32_t struct_size;
    uint32_t epilogue; /* the number of steps, from the first, that the plugin computes */
    /**
     * The fastest order of the axes of in[0] and out[0], outermost first: 0 2 3 1 is channels-last.
     * All 0: no preference. A net that would have to copy in[0] queries again with out[0] alone in
     * that order, and copies nothing if the answer then has no preference.
     */
    uint8_t order[FERRY_OP_AXES];
    uint32_t packed_inputs; /* bit i: in[i] is packed into `packed`, and run does not read it */
    uint32_t cost;          /* FERRY_OP_COST_…; since 1.2, before that reserved and 0 */
    uint64_t packed_bytes;  /* 0: no packed constants */
    /**
     * Operations of one device with equal nonzero keys may share packed constants. The key
     * identifies the shapes of the constants and the packed format; batch and image size change it
     * only with the format [rule 60].
     */
    uint64_t packed_key;
    uint64_t workspace_bytes; /* bytes that a run needs */
    uint32_t math;            /* the bits of op->math that the operation uses; since 1.2 */
    uint32_t reserved;
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

/**
 * A list of runs that ferry announces on a queue: the same operations in the same order, with equal
 * arguments, each time that it has the same id. Arguments are compared by value: references of
 * inputs, outputs, packed constants and workspaces, scalars, seed and offset. A plugin whose
 * handles are objects retains those of a recording, so that an equal handle is the same object.
 */
typedef struct ferry_op_list {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t id;      /* never 0; a process does not use it for another list */
    uint64_t count;   /* calls of run */
    uint64_t repeats; /* the number of times that ferry has announced this list before without a
                       * failure */
} ferry_op_list;

/** The plugin's answer to begin. */
/** ferry calls run for each operation, and does not call end. */
#define FERRY_OP_LIST_RUN 0u
/**
 * ferry calls run for each operation, then end. The runs are only recorded; end submits them, once
 * and in order [rule 66]. If a run fails, ferry calls end with `discard`, and then runs the list
 * without an announcement.
 */
#define FERRY_OP_LIST_RECORD 1u
/** begin has submitted the whole list from a recording. ferry calls neither run nor end. */
#define FERRY_OP_LIST_REPLAYED 2u

/**
 * The processors that chains of runs are divided among, and their caches. ferry sets struct_size
 * and zeroes the rest before the call.
 */
typedef struct ferry_op_chains {
    uint32_t struct_size;
    uint32_t count;      /* chains that run at once; 0: chains gain nothing on this device */
    uint64_t own_bytes;  /* the cache of each chain's processor alone */
    uint64_t shared_bytes; /* the part of the cache of all these processors that may be expected */
} ferry_op_chains;

/** Runs chain `index`; called once for each. 0, or the failure of one of its runs. */
typedef int (*ferry_op_chain_fn)(void *arg, uint32_t index);

/** A flag of the table: query decides about integer arithmetic (op_params.h). Since 1.2. */
#define FERRY_OP_INTEGERS 1u
/** A flag of the table: query decides about half weights (op_params.h). Since 1.2. */
#define FERRY_OP_HALF_WEIGHTS 2u
/** A flag of the table: query decides about values of BF16 (op_params.h). Since 1.2. */
#define FERRY_OP_BF16_VALUES 4u

/**
 * The table: static const, valid for the life of the process. The entries under "mandatory" must be
 * present; those under each other heading may be absent, together.
 */
typedef struct ferry_op_table {
    uint32_t struct_size;
    uint32_t flags; /* FERRY_OP_…, as above; 0 before 1.2 */

    /* -- mandatory -- */

    /**
     * Decides whether the device supports `op`: returns 0 and fills in *out, or returns
     * FERRY_EUNSUPPORTED, for which a call of host->error is optional. Must not compile, measure or
     * allocate, and answers equally each time [rule 56]. Callable from any thread.
     */
    int (*query)(void *dev, const ferry_op_desc *op, ferry_op_answer *out);
    /**
     * Prepares `op` as query answered; if it accepted fewer steps of an epilogue, ferry has asked
     * again, and `op` has these steps and their operands alone [rule 64]. Compiles kernels and
     * chooses an algorithm, by heuristics and never by measuring. Copies the parts of `op` that it
     * needs later. May block. FERRY_ENOMEM, FERRY_EDEVICE; the state is then as before. Callable
     * from any thread.
     */
    int (*create)(void *dev, const ferry_op_desc *op, void **out_prepared);
    /**
     * Packs the constants into `packed`, in the order of `queue`. `in` has n_in references; only
     * those in packed_inputs are set. ferry owns `packed`. If packed_bytes is not 0, ferry calls
     * this before the first run, and again after the constants have been written; run reads no
     * other copy of them [rule 59].
     */
    int (*prepare)(void *dev, void *queue, void *prepared, const ferry_cref *in, ferry_ref packed);
    /**
     * Submits the operation to the queue. Must not allocate [rule 61]. Writes each element of its
     * outputs and no byte between or around them [rule 62]. After FERRY_ENOMEM, ferry frees memory
     * and calls it once more. After any failure the outputs are undefined and the inputs unchanged
     * [rule 63].
     */
    int (*run)(void *dev, void *queue, void *prepared, const ferry_op_run_args *args);
    /** Destroys a prepared operation. ferry has waited for its runs. Cannot fail. */
    void (*destroy)(void *dev, void *prepared);

    /* -- since 1.2: lists that repeat, for command buffers and graphs. Absent: no lists -- */

    /**
     * Announces that the next calls on `queue` are the runs of `list`, on this thread, with no
     * other work of the queue between them, and stores FERRY_OP_LIST_… in *out_action. The first
     * pass of a net is announced with repeats 0. A recording must not contain memory from
     * host->scratch. A device without events answers FERRY_OP_LIST_RUN. FERRY_EUNSUPPORTED counts
     * as FERRY_OP_LIST_RUN; after any other failure the outputs of the list are lost.
     */
    int (*begin)(void *dev, void *queue, const ferry_op_list *list, uint32_t *out_action);
    /**
     * Ends the recording that begin started on `queue`: submits it, and may keep it for later
     * repeats, or with `discard` not 0 forgets it without submitting anything. After a failure
     * nothing of the list is submitted; ferry then runs the list without an announcement.
     */
    int (*end)(void *dev, void *queue, uint64_t id, uint32_t discard);
    /**
     * The list does not come again: frees its recording, if there is one. ferry has waited for its
     * work, and calls this before it destroys an operation of the list. Callable from any thread.
     * Cannot fail.
     */
    void (*forget)(void *dev, uint64_t id);

    /*
     * -- since 1.2: chains of runs, for devices that are faster if each processor computes some
     * images of a batch through several operations. Absent, or a table with begin: no chains --
     */

    /**
     * Fills in *out for the calling thread's limit of threads, if it has one. Callable from any
     * thread.
     */
    int (*chains)(void *dev, ferry_op_chains *out);
    /**
     * Calls chain(arg, 0) … chain(arg, n - 1), as many as possible at once, and returns when all
     * have returned: 0, or the result of one that failed. A chain calls `run` on `queue` several
     * times, from the thread on which it was called; such a run uses that thread alone. Operands,
     * packed constants and workspaces of chains differ or are only read. Must not allocate.
     */
    int (*run_chains)(void *dev, void *queue, uint32_t n, ferry_op_chain_fn chain, void *arg);
} ferry_op_table;

FERRY_END_DECLS

#endif
