/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

uint32_t cpu_epilogue_taken(const struct cpu_op *p, bool columns_are_channels)
{
    uint32_t taken = 0, adds = 0;

    for (; taken < p->op.n_epilogue; taken++) {
        uint32_t step = p->op.epilogue[taken].step;

        adds += step == FERRY_STEP_ADD;
        if (step > FERRY_STEP_PRELU || adds > 1 ||
            (!columns_are_channels && step != FERRY_STEP_ADD && step != FERRY_STEP_UNARY))
            break;
    }
    return taken;
}

void cpu_epilogue_steps(const struct cpu_op *p, const struct cpu_op_args *args,
                        struct cpu_gemm_run *r)
{
    for (uint32_t i = 0; i < p->answer.epilogue; i++) {
        const ferry_op_step *from = &p->op.epilogue[i];
        struct cpu_step *to = &r->step[r->steps++];

        *to = (struct cpu_step){
            .step = from->step, .function = from->function, .a = from->a, .b = from->b, .c = from->c
        };
        if (from->step == FERRY_STEP_UNARY)
            continue;
        to->operand = args->in[from->operand];
        if (from->step == FERRY_STEP_ADD) {
            to->a = 1;
            r->add = to->operand;
            r->add_column = p->op.in[from->operand].stride[1];
        } else {
            to->stride = p->op.in[from->operand].stride[0];
        }
    }
}
