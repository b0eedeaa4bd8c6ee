/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <string.h>

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

uint32_t cpu_epilogue_functions(const struct cpu_op *p)
{
    uint32_t taken = 0;

    while (taken < p->op.n_epilogue && p->op.epilogue[taken].step == FERRY_STEP_UNARY)
        taken++;
    return taken;
}

void cpu_epilogue_line(const struct cpu_gemm_run *r, const struct cpu_window *w, int64_t channels,
                       float *y)
{
    int64_t pixels = w->y[4] == channels ? w->out[2] : 1;

    if (r->stored == r->steps)
        return;
    for (int64_t i = 0; i < w->out[2]; i += pixels)
        cpu_gemm_functions(r, pixels * channels, y + i * w->y[4]);
}

/* ---- the store of a product ---------------------------------------------------------------- */

/* The clamp of a step, if the micro-kernel supports it. */
static bool make_clamp(const struct cpu_step *s, struct cpu_store *out)
{
    if (s->step == FERRY_STEP_UNARY && s->function == FERRY_UNARY_RELU) {
        out->slope = (float)s->a;
        out->clamp = out->slope == 0 ? CPU_CLAMP_POSITIVE : CPU_CLAMP_RELU;
    } else if (s->step == FERRY_STEP_UNARY && s->function == FERRY_UNARY_CLIP) {
        out->clamp = CPU_CLAMP_CLIP;
        out->least = (float)s->a;
        out->most = (float)s->b;
    } else if (s->step == FERRY_STEP_PRELU && s->stride == 0) {
        out->slope = s->operand ? *s->operand : 0;
        out->clamp = CPU_CLAMP_RELU;
    } else if (s->step == FERRY_STEP_PRELU && s->stride == 1) {
        out->slopes = s->operand;
        out->clamp = CPU_CLAMP_PRELU;
    }
    return out->clamp != CPU_CLAMP_NONE;
}

bool cpu_gemm_make_store(struct cpu_gemm_run *r)
{
    const struct cpu_step *s = r->step, *end = s + r->steps;

    memset(&r->store, 0, sizeof(r->store));
    if (s < end && s->step == FERRY_STEP_SHIFT && s->stride == 1)
        r->store.bias = s++->operand;
    if (s < end && s->step == FERRY_STEP_ADD && r->add_column == 1 && s->a == 1) {
        r->store.adds = true;
        s++;
    }
    if (s < end && make_clamp(s, &r->store))
        s++;
    r->stored = (uint32_t)(s - r->step);
    while (s < end && s->step == FERRY_STEP_UNARY)
        s++;
    return s == end && r->y_column == 1;
}

void cpu_gemm_functions(const struct cpu_gemm_run *r, int64_t columns, float *y)
{
    for (uint32_t i = r->stored; i < r->steps; i++)
        r->loops->step(&r->step[i], columns, y);
}
