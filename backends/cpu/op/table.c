/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include "kernels/descriptor.h"

#include <ferry/op_types.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The entries of "ferry.op/1": each finds the kind and calls its function. */

static const struct cpu_op_kind *const kinds[] = {
#define ROW(kind, pass, id, ...) &cpu_op_##id,
    KIND_LIST(ROW)
};

const struct cpu_op_kind *cpu_op_kind_of(uint32_t kind, uint32_t pass)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i]->kind == kind && kinds[i]->pass == pass)
            return kinds[i];
    return NULL;
}

bool cpu_has_amx(void)
{
    return cpu_integer_amx != NULL;
}

/* ---- the entries ---------------------------------------------------------------------------- */

static int make_plan(const struct cpu_device *d, const ferry_op_desc *op, struct cpu_op *p)
{
    memset(p, 0, sizeof(*p));
    p->own_in = descriptor_take(op, &p->op);
    p->given = p->op.n_in;
    p->kind = cpu_op_kind_of(p->op.kind, p->op.pass);
    if (!p->kind)
        return FERRY_EUNSUPPORTED;
    p->loops = cpu_loops_of(d->isa);
    p->pairs = cpu_pairs_of(d->isa);
    p->integer.loops = cpu_integer_loops_of(d->isa);
    p->integer.amx = d->isa->set == CPU_AMX ? cpu_integer_amx : NULL;
    p->threads = workers_threads(d->workers);
    for (uint32_t i = 0; i < p->op.n_out; i++)
        p->is_empty |= cpu_operand_count(&p->op.out[i]) == 0;
    return p->kind->plan(p);
}

static int query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    struct cpu_op p;
    int err = make_plan(dev, op, &p);

    if (!err)
        descriptor_answer(&p.answer, out);
    return err;
}

static int create(void *dev, const ferry_op_desc *op, void **out_prepared)
{
    struct cpu_op *p = malloc(sizeof(*p));
    int err;

    if (!p)
        return cpu_host->error(FERRY_ENOMEM, "malloc of a prepared operation failed");
    err = make_plan(dev, op, p);
    if (err) {
        free(p);
        return cpu_host->error(err, "operation %" PRIu32 ", pass %" PRIu32, op->kind, op->pass);
    }
    *out_prepared = p;
    return 0;
}

static int prepare(void *dev, void *queue, void *prepared, const ferry_cref *in, ferry_ref packed)
{
    const struct cpu_op *p = prepared;
    const void *pointer[FERRY_OP_INPUTS] = { NULL };

    (void)queue;
    if (p->answer.packed_bytes == 0)
        return 0;
    for (uint32_t i = 0; i < p->given; i++)
        if (p->answer.packed_inputs >> i & 1u)
            pointer[i] = cpu_const_pointer(in[i]);
    p->kind->prepare(dev, p, pointer, cpu_pointer(packed));
    return 0;
}

static int run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const struct cpu_op *p = prepared;
    struct cpu_op_args a = { .seed = args->seed, .offset = args->offset, .scalars = args->scalars };

    (void)queue;
    for (uint32_t i = 0; i < p->given; i++)
        a.in[i] = args->in[i].handle ? cpu_const_pointer(args->in[i]) : NULL;
    for (uint32_t i = 0; i < p->op.n_out; i++)
        a.out[i] = cpu_pointer(args->out[i]);
    if (p->answer.packed_bytes)
        a.packed = cpu_pointer(args->packed);
    if (p->answer.workspace_bytes)
        a.workspace = cpu_pointer(args->workspace);
    if (!p->is_empty)
        p->kind->run(dev, p, &a);
    cpu_count_op(dev);
    return 0;
}

static const ferry_op_table table = {
    .struct_size = sizeof(ferry_op_table),
    .flags = FERRY_OP_INTEGERS | FERRY_OP_HALF_WEIGHTS | FERRY_OP_BF16_VALUES,
    .query = query,
    .create = create,
    .prepare = prepare,
    .run = run,
    .destroy = descriptor_destroy,
    .chains = cpu_chains,
    .run_chains = cpu_run_chains,
};

int cpu_extension(void *dev, const char *name, const void **out_table)
{
    (void)dev;
    if (!strcmp(name, FERRY_OP_EXTENSION))
        *out_table = &table;
    else if (!strcmp(name, FERRY_PROFILE_EXTENSION))
        *out_table = &cpu_profile;
    else
        return cpu_host->error(FERRY_EUNSUPPORTED, "%s", name);
    return 0;
}
