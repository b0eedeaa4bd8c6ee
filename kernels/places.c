/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/places.h"

#include <string.h>

static ferry_cref constant(ferry_ref ref)
{
    return (ferry_cref){ ref.handle, ref.offset };
}

static void put(struct kernel_place *place, const char *what, ferry_cref ref, uint64_t bytes)
{
    *place = (struct kernel_place){ ref, bytes, what };
}

/* Sets the buffers of the inputs that are packed, or of all others. */
static void put_inputs(const struct kernel_plan *p, const ferry_cref *in, bool packed,
                       struct kernel_place *out)
{
    for (uint32_t i = 0; i < p->op.n_in; i++)
        if ((p->answer.packed_inputs >> i & 1u) == packed)
            put(&out[FROM_IN(i)], packed ? "a constant" : "an input", in[i],
                kernel_operand_bytes(&p->op.in[i]));
}

void kernel_places_of_run(const struct kernel_plan *p, const ferry_op_run_args *run,
                          struct kernel_place *out)
{
    memset(out, 0, FROM_COUNT * sizeof(*out));
    put_inputs(p, run->in, false, out);
    for (uint32_t i = 0; i < p->op.n_out; i++)
        put(&out[FROM_OUT(i)], "an output", constant(run->out[i]),
            kernel_operand_bytes(&p->op.out[i]));
    if (p->answer.packed_bytes)
        put(&out[FROM_PACKED], "packed constants", constant(run->packed), p->answer.packed_bytes);
    if (p->answer.workspace_bytes)
        put(&out[FROM_WORKSPACE], "the workspace", constant(run->workspace),
            p->answer.workspace_bytes);
}

void kernel_places_of_packing(const struct kernel_plan *p, const ferry_cref *in, ferry_ref packed,
                              struct kernel_place *out)
{
    memset(out, 0, FROM_COUNT * sizeof(*out));
    put_inputs(p, in, true, out);
    put(&out[FROM_PACKED], "packed constants", constant(packed), p->answer.packed_bytes);
}

void kernel_numbers(const struct kernel_launch *l, const struct kernel_place *places,
                    const ferry_op_run_args *run, union kernel_args *out)
{
    memcpy(out, &l->args, l->size);
    if (run) {
        kernel_seed(l, run->seed, run->offset, out);
        kernel_scalars(l, run->scalars, out);
    }
    for (uint32_t i = 0; i < BUFFERS; i++)
        out->at[i] = (int64_t)places[l->from[i]].ref.offset;
}
