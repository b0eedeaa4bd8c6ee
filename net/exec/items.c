/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs one item: an operation of a submission, or a layer's own function. */
#include "net/exec/exec.h"

#include "net/model/call.h"
#include "net/segment/segment.h"
#include "op/operand.h"

#include <ferry/op.h>
#include <ferry/profile.h>
#include <ferry/status.h>

/* The location of an operand: a blob's memory, or a part of an arena. */
static void locate_operand(const struct ferry__program *p, const struct ferry__use *use,
                           uint32_t dtype, ferry_operation_location *out)
{
    const struct ferry__value *v =
        use->value < 0 ? NULL : &p->values[ferry__value_root(p, use->value)];
    const ferry_blob *blob = v ? v->blob : use->blob;
    int64_t start = use->start + ferry__value_start(p, use->value);

    out->offset = (uint64_t)start * ferry_dtype_size((ferry_dtype)dtype);
    if (v && v->division) {
        const struct ferry__value *block = &p->values[p->divisions[v->division - 1].block];

        out->memory = ferry__arena_of(p->net, block);
        out->offset += block->offset + v->offset;
    } else if (v && !v->own) {
        out->memory = ferry__arena_of(p->net, v);
        out->offset += v->offset;
    } else {
        out->memory = use->diff ? ferry_blob_diff_memory(blob) : ferry_blob_data_memory(blob);
    }
}

static bool writes_elements(const ferry_op_desc *op)
{
    uint32_t i;

    for (i = 0; i < op->n_out; i++)
        if (ferry__operand_count(&op->out[i]))
            return true;
    return false;
}

/* The distance of an operand's locations in two chains, and for two images. */
static struct ferry__shift shift_of(const struct ferry__program *p, const struct ferry__use *use,
                                    const ferry_operand *o)
{
    const struct ferry__value *v =
        use->value < 0 ? NULL : &p->values[ferry__value_root(p, use->value)];
    struct ferry__shift shift = { 0, 0 };

    if (v && v->division)
        shift.chain = (int64_t)p->divisions[v->division - 1].chain_bytes;
    else if (v)
        shift.image = o->stride[0] * (int64_t)ferry_dtype_size((ferry_dtype)o->dtype);
    return shift;
}

/* Adds the runs of a division's item: for its larger sub-batches, and for the smaller ones. */
static int add_chained(struct ferry__submission *s, const struct ferry__program *p,
                       const struct ferry__item *item, const ferry_operation_args *args)
{
    const struct ferry__chains *chains = &p->divisions[item->division - 1].chains;
    struct ferry__chained chained = { .images = ferry__chains_most(chains) };
    ferry_queue *q = ferry_layer_queue(item->layer);
    uint32_t i;
    int err;

    for (i = 0; i < item->op.n_in; i++)
        chained.in[i] = shift_of(p, &item->in[i], &item->op.in[i]);
    for (i = 0; i < item->op.n_out; i++)
        chained.out[i] = shift_of(p, &item->out[i], &item->op.out[i]);
    err = ferry__submission_add_chained(s, item->prepared, q, args, &chained);
    if (err || !item->fewer)
        return err;
    chained.images = ferry__chains_least(chains);
    return ferry__submission_add_chained(s, item->fewer, q, args, &chained);
}

static int run_operation(struct ferry__submission *s, const struct ferry__program *p,
                         const struct ferry__item *item)
{
    ferry_operation_location in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    ferry_operation_args args = { .struct_size = sizeof args, .in = in, .out = out };
    const ferry_op_desc *op = &item->op;
    uint32_t i;
    int err;

    if (!writes_elements(op)) /* a blob without elements has no memory */
        return 0;
    for (i = 0; i < op->n_in; i++) {
        locate_operand(p, &item->in[i], op->in[i].dtype, &in[i]);
        if (!in[i].memory) /* the memory of a diff is created at its first use */
            return ferry_last_error_code();
    }
    for (i = 0; i < op->n_out; i++) {
        locate_operand(p, &item->out[i], op->out[i].dtype, &out[i]);
        if (!out[i].memory)
            return ferry_last_error_code();
    }
    args.seed = p->net->seed + (uint64_t)p->net->rank * UINT64_C(0x9e3779b97f4a7c15);
    args.offset = p->net->drawn;
    if (op->kind == FERRY_OP_RANDOM) /* a block has four numbers; the next operation and the next
                                      * run continue after them */
        p->net->drawn += ((uint64_t)ferry__operand_count(&op->out[0]) + 3) / 4;
    err = item->division ? add_chained(s, p, item, &args)
                         : ferry__submission_add(s, item->prepared,
                                                 ferry_layer_queue(item->layer), &args);
    for (i = 0; p->net->traced && i < op->n_in; i++)
        ferry_trace_reads(in[i].memory);
    return err;
}

int ferry__submission_failed(const struct ferry__submission *s, const ferry_layer *layer, int err)
{
    if (s->failed)
        layer = s->failed;
    return layer ? ferry__layer_failed(layer, err) : err;
}

int ferry__loss_add(const ferry_layer *layer, bool overwritten, double *loss)
{
    int i;

    for (i = 0; i < layer->n_tops; i++) {
        const ferry_blob *top = ferry_layer_top_at(layer, i);
        const float *values;
        int64_t k;
        double sum = 0;

        if (layer->loss_weights[i] == 0 || ferry__layer_top_is_overwritten(layer, i) != overwritten)
            continue;
        values = ferry_blob_host_data(top);
        if (!values)
            return ferry_last_error_code();
        for (k = 0; k < ferry_blob_element_count(top); k++)
            sum += (double)values[k];
        *loss += layer->loss_weights[i] * sum;
    }
    return 0;
}

int ferry__item_run(struct ferry__submission *s, const struct ferry__program *p,
                    const struct ferry__item *item)
{
    const ferry_layer_type *type = item->layer->type;
    int err;

    s->who = item->layer;
    if (!item->call)
        return run_operation(s, p, item);
    err = ferry__submission_end(s, 0);
    if (err)
        return err;
    if (item->claim)
        return ferry__segment_item_run(item);
    if (item->loss)
        return ferry__loss_add(item->layer, true, &item->layer->early_loss);
    return item->back ? ferry__layer_call(item->layer, type->backward, "backward")
                      : ferry__layer_call(item->layer, type->forward, "forward");
}

/*
 * ---- memories written in parts
 * -------------------------------------------------------------------
 */

static bool adds(const ferry_op_desc *op)
{
    return op->kind == FERRY_OP_SCATTER_ADD || op->pass == FERRY_PASS_BACKWARD_WEIGHTS ||
           op->pass == FERRY_PASS_BACKWARD_BIAS;
}

/*
 * The memory of which an item writes a part, while other items write the rest; NULL: the item
 * writes no such part.
 */
static ferry_memory *part_of(const struct ferry__program *p, const struct ferry__item *item,
                             uint32_t k)
{
    const struct ferry__use *use = &item->out[k];
    const struct ferry__value *v =
        use->value < 0 ? NULL : &p->values[ferry__value_root(p, use->value)];
    const ferry_blob *blob = v ? v->blob : use->blob;

    if (v && !v->own)
        return NULL;
    if (item->call || item->dropped || adds(&item->op) || !blob ||
        (ferry_operand_is_plain(&item->op.out[k]) && !use->start &&
         ferry__operand_count(&item->op.out[k]) == ferry_blob_element_count(blob)))
        return NULL;
    return use->diff ? ferry_blob_diff_memory(blob) : ferry_blob_data_memory(blob);
}

int ferry__parts_begin(const struct ferry__program *p, const struct ferry__item *items, int n_items,
                       int first, int last)
{
    uint32_t k;
    int i, err = 0;

    for (i = 0; !err && i < n_items; i++)
        for (k = 0; !err && k < items[i].op.n_out; k++) {
            int layer = items[i].layer->index;
            ferry_memory *m = layer < first || layer > last ? NULL : part_of(p, &items[i], k);
            bool host = items[i].tier == FERRY_TIER_HOST;
            ferry_ref ref;

            if (!m || (p->net->plan && ferry_memory_head(m) != FERRY_HEAD_UNINITIALIZED))
                continue;
            err = ferry_memory_access(m, host ? NULL : items[i].layer->device, FERRY_WRITE, NULL,
                                      &ref);
            if (err == FERRY_ELOST || err == FERRY_EDEVICE)
                err = ferry_memory_discard(m);
        }
    return err;
}
