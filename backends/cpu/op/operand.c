/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

int64_t cpu_operand_count(const ferry_operand *o)
{
    int64_t count = 1;

    for (uint32_t i = 0; i < o->rank; i++)
        count *= o->shape[i];
    return count;
}

bool cpu_op_is_all(const struct cpu_op *p, uint32_t dtype, uint32_t n_in, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_in && i < p->op.n_in; i++)
        if (p->op.in[i].dtype != dtype)
            return false;
    for (uint32_t i = 0; i < n_out && i < p->op.n_out; i++)
        if (p->op.out[i].dtype != dtype)
            return false;
    return true;
}

bool cpu_op_is_real(const struct cpu_op *p)
{
    uint32_t dtype = p->op.out[0].dtype;

    return (dtype == FERRY_F32 || dtype == FERRY_F64) &&
           cpu_op_is_all(p, dtype, FERRY_OP_INPUTS, FERRY_OP_OUTPUTS);
}

void cpu_op_prefer_channels_last(struct cpu_op *p)
{
    uint32_t rank = p->op.in[0].rank;

    for (uint32_t i = 1; i + 1 < rank; i++)
        p->answer.order[i] = (uint8_t)(i + 1);
    p->answer.order[rank - 1] = 1;
}
