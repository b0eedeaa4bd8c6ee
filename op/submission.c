/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/submission.h"

#include "op/chain.h"
#include "op/operand.h"
#include "op/operation.h"
#include "op/run.h"
#include "op/workspace.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void ferry__submission_init(struct ferry__submission *s, struct ferry__run *runs, size_t room_runs,
                            ferry_memory_use *uses, size_t room_uses)
{
    memset(s, 0, sizeof *s);
    s->runs = runs;
    s->room_runs = room_runs;
    s->uses = uses;
    s->room_uses = room_uses;
}

/* Adds a memory that the runs use, unless it was added before. */
static void add_use(struct ferry__submission *s, ferry_memory *m, unsigned access)
{
    size_t i;

    for (i = s->n_uses; i-- > 0;)
        if (s->uses[i].memory == m) {
            s->uses[i].access |= access;
            return;
        }
    s->uses[s->n_uses++] = (ferry_memory_use){ m, access };
}

static bool fits(const struct ferry__submission *s, const ferry_operation *o, const ferry_queue *q)
{
    return s->queue == q && s->host == o->plan.target.host && s->n_runs < s->room_runs &&
           s->n_uses + s->n_constants + o->op.n_in + o->op.n_out + o->plan.n_packed <= s->room_uses;
}

int ferry__submission_add(struct ferry__submission *s, ferry_operation *o, ferry_queue *q,
                          const ferry_operation_args *args)
{
    uint64_t space = o->plan.temporary_bytes + o->plan.workspace_bytes;
    struct ferry__run *run;
    uint32_t i;
    int err;

    if (o->empty)
        return 0;
    if (o->plan.target.host)
        q = o->plan.target.device ? ferry_device_queue(o->plan.target.device) : NULL;
    if (s->n_runs && !fits(s, o, q)) {
        err = ferry__submission_end(s, 0);
        if (err)
            return err;
    }
    s->queue = q;
    s->host = o->plan.target.host;
    run = &s->runs[s->n_runs];
    err = ferry__run_take(o, q, args, s->chains ? s->chains->images : 0, run);
    run->who = s->who;
    for (i = 0; i < run->taken; i++)
        add_use(s, args->out[i].memory, FERRY_WRITE);
    if (err) {
        ferry__run_end(run);
        return err;
    }
    for (i = 0; i < o->op.n_in; i++)
        if (!(run->skipped >> i & 1))
            add_use(s, args->in[i].memory, FERRY_READ);
    s->n_runs++;
    s->n_constants += o->plan.n_packed;
    s->space = s->space > space ? s->space : space;
    return 0;
}

int ferry__submission_add_chained(struct ferry__submission *s, ferry_operation *o, ferry_queue *q,
                                  const ferry_operation_args *args,
                                  const struct ferry__chained *chained)
{
    size_t before = s->n_runs;
    int err = ferry__submission_add(s, o, q, args);

    if (!err && s->n_runs > before)
        s->runs[before].chained = *chained;
    return err;
}

static uint64_t operand_bytes(const ferry_op_desc *op)
{
    uint64_t bytes = 0;
    uint32_t i;

    for (i = 0; i < op->n_in; i++)
        bytes += (uint64_t)ferry__operand_count(&op->in[i]) *
                 ferry_dtype_size((ferry_dtype)op->in[i].dtype);
    for (i = 0; i < op->n_out; i++)
        bytes += (uint64_t)ferry__operand_count(&op->out[i]) *
                 ferry_dtype_size((ferry_dtype)op->out[i].dtype);
    return bytes;
}

static void count(ferry_operation *o)
{
    atomic_fetch_add_explicit(&o->runs, 1, memory_order_relaxed);
    if (o->plan.target.host)
        atomic_fetch_add_explicit(&o->host_bytes, operand_bytes(&o->op), memory_order_relaxed);
}

static void count_all(const struct ferry__submission *s, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        count(s->runs[i].operation);
}

/* The bytes of temporary memory and workspace of a chain, with its alignment. */
static uint64_t chain_space(const struct ferry__submission *s)
{
    return (s->space + 63) / 64 * 64;
}

/* Submits the runs as chains, once: a chain may have written in place before the failure. */
static int submit_chains(struct ferry__submission *s, ferry_ref workspace, size_t *next)
{
    size_t failed;
    int err = ferry__chains_submit(s->chains, s->runs, s->n_runs, s->queue, workspace,
                                   chain_space(s), &failed);

    *next = s->n_runs;
    if (err && failed < s->n_runs)
        s->failed = s->runs[failed].who;
    return err;
}

/* Submits the runs from *next on; after a failure *next is the run that failed. */
static int submit_runs(struct ferry__submission *s, ferry_ref workspace, size_t *next)
{
    int err;

    for (; *next < s->n_runs; ++*next) {
        err = ferry__run_submit(&s->runs[*next], s->queue, workspace);
        if (err) {
            s->failed = s->runs[*next].who;
            return err;
        }
    }
    return 0;
}

/* Marks no run as submitted, since the recording that contained them was discarded. */
static void start_over(struct ferry__submission *s, size_t *next)
{
    size_t i;

    for (i = 0; i < s->n_runs; i++)
        s->runs[i].done = 0;
    s->failed = NULL;
    *next = 0;
}

/*
 * As submit_runs, but the runs are announced as a list if lists are recorded and none of the runs
 * was submitted before.
 */
static int submit_list(struct ferry__submission *s, ferry_ref workspace, size_t *next)
{
    uint32_t action = FERRY_OP_LIST_RUN;
    bool whole = s->repeats && !*next && !s->runs[0].done;
    int err = whole ? ferry__repeats_announce(s->repeats, s->queue, s->runs, s->n_runs, workspace,
                                              &action)
                    : 0;

    if (err)
        return err;
    if (action == FERRY_OP_LIST_REPLAYED) {
        *next = s->n_runs;
        return 0;
    }
    err = submit_runs(s, workspace, next);
    if (action != FERRY_OP_LIST_RECORD)
        return err;
    if (!ferry__repeats_close(s->repeats, s->queue, err != 0) && !err)
        return 0;
    start_over(s, next);
    return submit_runs(s, workspace, next);
}

/*
 * Adds the packed constants. Packing may fail asynchronously; then the results computed from them
 * are invalid, too.
 */
static void use_constants(struct ferry__submission *s)
{
    size_t i, k;

    for (i = 0; i < s->n_runs; i++)
        for (k = 0; k < s->runs[i].operation->plan.n_packed; k++)
            if (s->runs[i].constants[k])
                add_use(s, s->runs[i].constants[k], FERRY_READ);
}

/*
 * Submits between ferry_queue_begin and ferry_queue_end, so that the event covers only these runs.
 * The event becomes a use of their memories.
 */
static int submit_and_note(struct ferry__submission *s, ferry_ref workspace, size_t *next)
{
    ferry_event *event = NULL;
    int err = ferry_queue_begin(s->queue), late;

    if (err)
        return err;
    err = s->chains ? submit_chains(s, workspace, next) : submit_list(s, workspace, next);
    late = ferry_queue_end(s->queue, &event);
    if (event) /* without an event the work is already complete */
        use_constants(s);
    if (!late)
        late = ferry_memory_record_all(s->uses, s->n_uses, s->queue, event);
    ferry_event_destroy(event);
    return err ? err : late;
}

/*
 * Submits; if the plugin lacks memory, evicts between two attempts and continues at the run that
 * failed. Eviction is not possible between ferry_queue_begin and ferry_queue_end.
 */
static int submit_or_make_room(struct ferry__submission *s, ferry_ref workspace, size_t *next)
{
    int err = submit_and_note(s, workspace, next);

    if (err == FERRY_ENOMEM && *next < s->n_runs &&
        !ferry_device_make_room(ferry_queue_device(s->queue), FERRY__PLAN_ROOM)) {
        s->failed = NULL;
        err = submit_and_note(s, workspace, next);
    }
    return err;
}

/* Submits to the kernels of op/host.h, which have no queue: the workspace is allocated here. */
static int submit_without_queue(struct ferry__submission *s)
{
    void *space = s->space ? malloc(s->space) : NULL;
    size_t next = 0;
    int err;

    if (s->space && !space)
        return ferry_error_set(FERRY_ENOMEM, "no host memory for a workspace of %" PRIu64 " bytes",
                               s->space);
    err = submit_runs(s, (ferry_ref){ space, 0 }, &next);
    free(space);
    return err;
}

/* Submits. On the host's copies the target is synchronous, so there are no uses to record. */
static int submit(struct ferry__submission *s)
{
    struct ferry__workspace *w = NULL;
    ferry_ref workspace = { NULL, 0 };
    size_t next = 0;
    int err = 0;

    if (!s->queue)
        return submit_without_queue(s);
    if (s->space)
        err = ferry__workspace_take(s->queue,
                                    s->chains ? s->chains->count * chain_space(s) : s->space, &w,
                                    &workspace);
    if (!err)
        err = s->host ? submit_runs(s, workspace, &next) : submit_or_make_room(s, workspace, &next);
    count_all(s, next);
    ferry__workspace_give_back(w);
    return err;
}

/* Marks the outputs as lost that were accessed for writing but not written completely. */
static void lose(const struct ferry__submission *s)
{
    size_t i;

    for (i = 0; i < s->n_uses; i++)
        if (s->uses[i].access & FERRY_WRITE)
            ferry_memory_mark_lost(s->uses[i].memory);
}

int ferry__submission_end(struct ferry__submission *s, int err)
{
    size_t i;

    if (!err)
        s->failed = NULL;
    if (!err && s->n_runs)
        err = submit(s);
    if (err)
        lose(s);
    for (i = 0; i < s->n_runs; i++)
        ferry__run_end(&s->runs[i]);
    s->n_runs = s->n_uses = s->n_constants = 0;
    s->space = 0;
    return err;
}

/* Converts a caller's arguments to this version's size. */
static int take_args(const ferry_op_desc *op, const ferry_operation_args *theirs,
                     ferry_operation_args *out)
{
    if (!theirs || theirs->struct_size < offsetof(ferry_operation_args, scalars))
        return ferry_error_set(FERRY_EINVAL,
                               "%s: the arguments are NULL, or their struct_size is not set",
                               ferry_op_kind_name(op->kind));
    *out = (ferry_operation_args){ .struct_size = sizeof *out };
    memcpy(out, theirs, theirs->struct_size < sizeof *out ? theirs->struct_size : sizeof *out);
    out->struct_size = sizeof *out;
    return 0;
}

int ferry_operation_run(ferry_operation *operation, ferry_queue *q,
                        const ferry_operation_args *theirs)
{
    struct ferry__submission segment;
    struct ferry__run run;
    ferry_operation_args args;
    ferry_memory_use uses[FERRY_OP_INPUTS + FERRY_OP_OUTPUTS + FERRY__PACKED_MAX];
    int err;

    if (!operation)
        return ferry_error_set(FERRY_EINVAL, "ferry_operation_run: NULL operation");
    if (!q)
        q = operation->queue;
    if (ferry_queue_device(q) != ferry_queue_device(operation->queue))
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_operation_run: the queue belongs to %s, the operation to %s",
                               ferry_device_name(ferry_queue_device(q)),
                               ferry_device_name(ferry_queue_device(operation->queue)));
    err = take_args(&operation->op, theirs, &args);
    if (!err)
        err = ferry__places_check(&operation->op, &args);
    if (err)
        return err;
    ferry__submission_init(&segment, &run, 1, uses, sizeof uses / sizeof *uses);
    err = ferry__submission_add(&segment, operation, q, &args);
    return ferry__submission_end(&segment, err);
}
