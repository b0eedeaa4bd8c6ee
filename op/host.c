/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/host.h"

#include "kernels/host.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>

/* Plans an operation. Constants are packed at each run, in the workspace. */
static int make_plan(const ferry_op_desc *op, struct kernel_plan *out)
{
    ferry_op_desc own = *op;

    own.constants = 0;
    return kernel_plan_make(&kernel_host_target, &own, out);
}

static int host_query(void *dev, const ferry_op_desc *op, ferry_op_answer *out)
{
    struct kernel_plan p;
    int err = make_plan(op, &p);

    (void)dev;
    if (err)
        return err;
    out->epilogue = p.answer.epilogue;
    out->workspace_bytes = p.answer.workspace_bytes;
    return 0;
}

static int host_create(void *dev, const ferry_op_desc *op, void **out_prepared)
{
    struct kernel_plan *p = malloc(sizeof *p);
    int err;

    (void)dev;
    if (!p)
        return ferry_error_set(FERRY_ENOMEM, "%s: no memory for an operation",
                               ferry_op_kind_name(op->kind));
    err = make_plan(op, p);
    if (err) {
        free(p);
        return ferry_error_set(err, "%s: the kernels lack it", ferry_op_kind_name(op->kind));
    }
    *out_prepared = p;
    return 0;
}

static int host_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                        ferry_ref packed)
{
    (void)dev, (void)queue, (void)prepared, (void)in, (void)packed;
    return 0;
}

static unsigned char *at(void *handle, uint64_t offset)
{
    return handle ? (unsigned char *)handle + offset : NULL;
}

static int host_run(void *dev, void *queue, void *prepared, const ferry_op_run_args *args)
{
    const struct kernel_plan *p = prepared;
    struct kernel_host_run run = { .scalars = args->scalars,
                                   .seed = args->seed,
                                   .offset = args->offset };
    uint32_t i;

    (void)dev, (void)queue;
    for (i = 0; i < p->op.n_in; i++)
        run.buffer[FROM_IN(i)] = at((void *)(uintptr_t)args->in[i].handle, args->in[i].offset);
    for (i = 0; i < p->op.n_out; i++)
        run.buffer[FROM_OUT(i)] = at(args->out[i].handle, args->out[i].offset);
    run.buffer[FROM_WORKSPACE] = at(args->workspace.handle, args->workspace.offset);
    for (i = 0; i < p->launches; i++)
        kernel_host_run(&p->launch[i], &run);
    return 0;
}

static void host_destroy(void *dev, void *prepared)
{
    (void)dev;
    free(prepared);
}

const ferry_op_table ferry__host_table = {
    .struct_size = sizeof ferry__host_table,
    .query = host_query,
    .create = host_create,
    .prepare = host_prepare,
    .run = host_run,
    .destroy = host_destroy,
};
