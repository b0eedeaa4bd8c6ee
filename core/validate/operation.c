/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of "ferry.op/1". Each run is waited for. Its workspace gets a guard at the end and its
 * outputs a pattern beforehand; both are read back, as are the packed constants, the inputs and the
 * bytes around outputs. The wrapped table lacks recorded lists, so that each run is checked.
 */
#include "config.h"

#include "core/validate/track.h"

#include "common/hash.h"

#include <ferry/op_types.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define GUARD   256u /* the number of bytes after a workspace that are checked */
#define PATTERN 0xa5u

/* A prepared operation. */
struct prepared {
    struct ferry__tracked_object object;
    void *own; /* the plugin's object */
    ferry_op_desc op;
    ferry_op_answer answer;
    struct ferry__vector work; /* the submissions of its runs and of its prepare calls */
};

/* ---- bytes of the device ------------------------------------------------------------------ */

/* A hash of the bytes; 0 if they cannot be read. */
static uint64_t sum_of(const struct ferry__tracked_device *d, void *queue, ferry_cref from,
                       uint64_t bytes)
{
    unsigned char *at = ferry__read_back(d, queue, from, bytes);
    uint64_t sum = at ? ferry__hash(FERRY__HASH, at, bytes) : 0;

    free(at);
    return sum;
}

/* ---- answers ------------------------------------------------------------------------------ */

static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    ferry_op_answer again = *out;
    int err = ferry__check_code(d, "query", d->operations->query(dev, op, out));

    if (d->operations->query(dev, op, &again) != err || (!err && memcmp(&again, out, sizeof again)))
        ferry__broken(d, 56, "query", "different answers for one operation of kind %u", op->kind);
    if (err)
        return err;
    if (out->epilogue > op->n_epilogue)
        ferry__broken(d, 64, "query", "accepts %u steps of an epilogue of %u", out->epilogue,
                      op->n_epilogue);
    if (out->packed_inputs & ~op->constants)
        ferry__broken(d, 59, "query", "packs an input that is not a constant");
    return 0;
}

static int create(void *dev, const ferry_op_desc *op, void **out_prepared)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct prepared *p = calloc(1, sizeof *p);
    int err;

    if (!p)
        return FERRY_ENOMEM;
    p->op = *op;
    p->answer.struct_size = sizeof p->answer;
    err = d->operations->query(dev, op, &p->answer);
    if (err)
        ferry__broken(d, 56, "create", "accepts an operation that query refuses");
    err = ferry__check_code(d, "create", d->operations->create(dev, op, &p->own));
    if (err && p->own)
        ferry__broken(d, 12, "create", "stored an operation although it failed");
    if (err) {
        free(p);
        return err;
    }
    ferry__add_object(&d->prepared, &p->object);
    *out_prepared = p;
    return 0;
}

/* Whether `prepared` was returned by create and not destroyed since. */
static bool is_prepared(struct ferry__tracked_device *d, const char *entry, const void *prepared)
{
    bool known = ferry__is_object(&d->prepared, prepared);

    if (!known)
        ferry__broken(d, 63, entry, "an operation that was destroyed, or never created");
    return known;
}

/* Records that work of an operation is about to be submitted. */
static void submit(struct ferry__tracked_device *d, const char *entry, const void *queue,
                   struct prepared *p)
{
    const struct ferry__tracked_queue *q;

    ferry__check_submit(d, entry, queue);
    pthread_mutex_lock(&ferry__validate_lock);
    q = ferry__tracked_queue(d, queue);
    if (q)
        ferry__order_note(q, &p->work);
    pthread_mutex_unlock(&ferry__validate_lock);
}

static void destroy(void *dev, void *prepared)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct prepared *p = prepared;
    bool done;

    if (!is_prepared(d, "destroy", prepared))
        return;
    ferry__take_object(&d->prepared, prepared);
    pthread_mutex_lock(&ferry__validate_lock);
    done = ferry__order_is_done(&p->work);
    pthread_mutex_unlock(&ferry__validate_lock);
    if (!d->synchronous && !done)
        ferry__broken(d, 63, "destroy", "an operation with runs that may be pending");
    d->operations->destroy(dev, p->own);
    free(p);
}

/* ---- constants ---------------------------------------------------------------------------- */

/* The record of the packed constants at a reference, or NULL. (locked) */
static struct ferry__tracked_packing *packing_at(struct ferry__tracked_device *d, ferry_ref at)
{
    struct ferry__tracked_packing *k;

    for (k = d->packings; k && (k->at.handle != at.handle || k->at.offset != at.offset);
         k = k->next)
        ;
    return k;
}

static void note_packed(struct ferry__tracked_device *d, void *queue, ferry_ref packed,
                        uint64_t bytes)
{
    uint64_t sum = sum_of(d, queue, ferry_ref_const(packed), bytes);
    struct ferry__tracked_packing *k;

    pthread_mutex_lock(&ferry__validate_lock);
    k = packing_at(d, packed);
    if (!k) {
        k = calloc(1, sizeof *k);
        if (k) {
            k->at = packed;
            k->next = d->packings;
            d->packings = k;
        }
    }
    if (k) {
        k->bytes = sum ? bytes : 0;
        k->sum = sum;
    }
    pthread_mutex_unlock(&ferry__validate_lock);
}

static int prepare(void *dev, void *queue, void *prepared, const ferry_cref *in, ferry_ref packed)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct prepared *p = prepared;
    int err;

    if (!is_prepared(d, "prepare", prepared))
        return FERRY_EINVAL;
    submit(d, "prepare", queue, p);
    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (p->answer.packed_inputs >> i & 1)
            ferry__check_access(d, "prepare", queue, in[i], ferry__operand_bytes(&p->op.in[i]),
                                false);
    ferry__check_access(d, "prepare", queue, ferry_ref_const(packed), p->answer.packed_bytes, true);
    err = ferry__check_code(d, "prepare", d->operations->prepare(dev, queue, p->own, in, packed));
    if (!err)
        note_packed(d, queue, packed, p->answer.packed_bytes);
    return err;
}

/* Checks, when a run begins, that packed constants are as the latest `prepare` left them. */
static void check_unchanged(struct ferry__tracked_device *d, const struct prepared *p,
                            ferry_ref packed, uint64_t sum)
{
    const struct ferry__tracked_packing *known;
    bool changed;

    pthread_mutex_lock(&ferry__validate_lock);
    known = packing_at(d, packed);
    changed = known && known->bytes == p->answer.packed_bytes && known->sum != sum;
    pthread_mutex_unlock(&ferry__validate_lock);
    if (sum && changed)
        ferry__broken(d, 59, "run", "the packed constants of kind %u changed since prepare",
                      p->op.kind);
}

/* Checks that a run did not change the constants that it reads. */
static void check_packed(struct ferry__tracked_device *d, void *queue, const struct prepared *p,
                         const ferry_op_run_args *args, uint64_t before)
{
    uint64_t after =
        before ? sum_of(d, queue, ferry_ref_const(args->packed), p->answer.packed_bytes) : 0;

    if (before && after && before != after)
        ferry__broken(d, 59, "run", "kind %u changed its packed constants", p->op.kind);
}

/* ---- outputs ------------------------------------------------------------------------------ */

/* Whether the operation reads its output, or shares its memory with an input. */
static bool is_read(const struct prepared *p, const ferry_op_run_args *args, uint32_t k)
{
    if (p->op.pass > FERRY_PASS_BACKWARD_DATA || p->op.kind == FERRY_OP_UPDATE ||
        p->op.kind == FERRY_OP_SCATTER_ADD || p->op.kind == FERRY_OP_NAMED)
        return true;
    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (args->in[i].handle == args->out[k].handle)
            return true;
    return false;
}

static bool is_plain(const ferry_operand *o)
{
    int64_t step = 1;

    for (uint32_t i = o->rank; i-- > 0; step *= o->shape[i])
        if (o->shape[i] > 1 && o->stride[i] != step)
            return false;
    return true;
}

/* Whether a plain output may be filled with a pattern: it is in a block that is known. */
static bool may_poison(struct ferry__tracked_device *d, const struct prepared *p,
                       const ferry_op_run_args *args, uint32_t k)
{
    const struct ferry__tracked_block *b;

    pthread_mutex_lock(&ferry__validate_lock);
    b = ferry__tracked_block(d, args->out[k].handle);
    pthread_mutex_unlock(&ferry__validate_lock);
    return b && is_plain(&p->op.out[k]) && !is_read(p, args, k);
}

/* ---- the workspace ------------------------------------------------------------------------ */

/* Takes a block with a guard at its end as the workspace; false without memory. */
static bool take_guarded(const struct ferry__tracked_device *d, void *queue, uint64_t bytes,
                         ferry_ref *out)
{
    uint32_t flags = 0;
    void *handle;

    if (d->ops->alloc(d->dev, queue, bytes + GUARD, 0, &handle, &flags))
        return false;
    *out = (ferry_ref){ handle, 0 };
    if (!d->ops->memset(d->dev, queue, (ferry_ref){ handle, bytes }, PATTERN, GUARD))
        return true;
    (void)d->ops->free(d->dev, queue, handle);
    return false;
}

static void give_back_guarded(struct ferry__tracked_device *d, void *queue,
                              const struct prepared *p, ferry_ref workspace)
{
    ferry_cref guard = { workspace.handle, p->answer.workspace_bytes };
    unsigned char *at = ferry__read_back(d, queue, guard, GUARD);

    for (unsigned i = 0; at && i < GUARD; i++)
        if (at[i] != PATTERN) {
            ferry__broken(d, 61, "run", "kind %u wrote %u bytes after its workspace of %llu",
                          p->op.kind, i + 1, (unsigned long long)p->answer.workspace_bytes);
            break;
        }
    free(at);
    (void)d->ops->synchronize(d->dev);
    (void)d->ops->free(d->dev, queue, workspace.handle);
}

/* ---- runs --------------------------------------------------------------------------------- */

static void check_operands(struct ferry__tracked_device *d, void *queue, const struct prepared *p,
                           const ferry_op_run_args *args)
{
    for (uint32_t i = 0; i < p->op.n_in; i++)
        if (!(p->answer.packed_inputs >> i & 1))
            ferry__check_access(d, "run", queue, args->in[i], ferry__operand_bytes(&p->op.in[i]),
                                false);
    for (uint32_t i = 0; i < p->op.n_out; i++)
        ferry__check_access(d, "run", queue, ferry_ref_const(args->out[i]),
                            ferry__operand_bytes(&p->op.out[i]), true);
    ferry__check_access(d, "run", queue, ferry_ref_const(args->packed), p->answer.packed_bytes,
                        false);
    ferry__check_access(d, "run", queue, ferry_ref_const(args->workspace),
                        p->answer.workspace_bytes, true);
}

static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct prepared *p = prepared;
    ferry_op_run_args own = *args;
    struct ferry__kept kept;
    uint64_t packed = 0;
    bool guarded, poisoned[FERRY_OP_OUTPUTS] = { false };
    int err;

    if (!is_prepared(d, "run", prepared))
        return FERRY_EINVAL;
    submit(d, "run", queue, p);
    check_operands(d, queue, p, args);
    ferry__check_overlaps(d, &p->op, args, p->answer.packed_inputs);
    if (p->answer.packed_bytes)
        packed = sum_of(d, queue, ferry_ref_const(args->packed), p->answer.packed_bytes);
    check_unchanged(d, p, args->packed, packed);
    ferry__keep(d, queue, &p->op, args, &p->answer, &kept);
    guarded = p->answer.workspace_bytes &&
              take_guarded(d, queue, p->answer.workspace_bytes, &own.workspace);
    for (uint32_t k = 0; k < p->op.n_out; k++)
        poisoned[k] = may_poison(d, p, args, k) &&
                      ferry__poison(d, queue, &p->op.out[k], args->out[k], kept.submissions);
    err = ferry__check_code(d, "run", d->operations->run(dev, queue, p->own, &own));
    if (guarded)
        give_back_guarded(d, queue, p, own.workspace);
    for (uint32_t k = 0; !err && k < p->op.n_out; k++)
        if (poisoned[k])
            ferry__check_written(d, queue, &p->op, args->out[k], k, kept.submissions);
    ferry__compare_kept(d, queue, &p->op, &own, err, &kept);
    check_packed(d, queue, p, args, packed);
    return err;
}

/* The table without recorded lists. */
#define TABLE(declared)                                                                    \
    {                                                                                      \
        .struct_size = offsetof(ferry_op_table, begin), .flags = declared, .query = query, \
        .create = create, .prepare = prepare, .run = run, .destroy = destroy               \
    }

const ferry_op_table ferry__validate_operations[FERRY__OP_FLAGS + 1] = {
    TABLE(0),
    TABLE(FERRY_OP_INTEGERS),
    TABLE(FERRY_OP_HALF_WEIGHTS),
    TABLE(FERRY_OP_INTEGERS | FERRY_OP_HALF_WEIGHTS),
    TABLE(FERRY_OP_BF16_VALUES),
    TABLE(FERRY_OP_BF16_VALUES | FERRY_OP_INTEGERS),
    TABLE(FERRY_OP_BF16_VALUES | FERRY_OP_HALF_WEIGHTS),
    TABLE(FERRY_OP_BF16_VALUES | FERRY_OP_INTEGERS | FERRY_OP_HALF_WEIGHTS),
};
_Static_assert(FERRY__OP_FLAGS == 7, "each set of flags has a table, in the order of its number");
