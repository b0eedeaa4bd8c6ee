/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "values.h"

#include <ferry/op_types.h>

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

bool cpu_op_has_values(const struct cpu_op *p)
{
    bool has_any = p->op.out[0].dtype == FERRY_BF16;

    if (p->op.n_in < 2 || p->op.in[1].dtype != FERRY_F32 || p->op.pass != FERRY_PASS_FORWARD)
        return false;
    for (uint32_t i = 0; i < p->op.n_in; i++)
        has_any = has_any || p->op.in[i].dtype == FERRY_BF16;
    return has_any;
}

void cpu_op_prefer_channels_last(struct cpu_op *p)
{
    uint32_t rank = p->op.in[0].rank;

    for (uint32_t i = 1; i + 1 < rank; i++)
        p->answer.order[i] = (uint8_t)(i + 1);
    p->answer.order[rank - 1] = 1;
}

/* ---- constants ------------------------------------------------------------------------------ */

const float *cpu_convolution_tap(const struct cpu_op *p, const float *w, int64_t tap)
{
    const struct cpu_window *v = &p->plan.convolution.window;
    const int64_t *wide = p->plan.convolution.w;
    int64_t i = tap / v->kernel[2] / v->kernel[1], j = tap / v->kernel[2] % v->kernel[1];

    return w + p->plan.convolution.w_first + i * wide[2] + j * wide[3] +
           tap % v->kernel[2] * wide[4];
}

/* The number of words of a convolution's key. */
#define CONVOLUTION_WORDS 7

/*
 * The words that describe the form of a convolution's weights: its method, the remaining taps, the
 * groups of a batch.
 */
static void convolution_words(const struct cpu_op *p, uint64_t *word)
{
    const ferry_op_window *w = &p->op.params.window;
    const struct cpu_window *v = &p->plan.convolution.window;
    enum cpu_convolution_method method = p->plan.convolution.method;
    bool is_compact = p->plan.convolution.winograd.is_compact; /* packed as without tiles */

    word[0] = (is_compact ? 0 : (uint64_t)p->plan.convolution.winograd.points) << 56 |
              (uint64_t)p->plan.convolution.is_slide << 55 |
              (uint64_t)p->plan.convolution.is_copied << 54 |
              (uint64_t)(p->plan.convolution.strassen.pairs != 0) << 53 | (uint64_t)method << 48 |
              (uint64_t)w->group << 2 | w->transposed << 1 | p->plan.convolution.is_transposed;
    if (method == CPU_CONVOLUTION_DECONVOLUTION)
        word[1] = (uint64_t)v->stride[2];
    for (int i = 0; i < 3; i++)
        word[2 + i] = (uint64_t)v->kernel[i];
    word[5] = (uint64_t)p->plan.convolution.w_first;
    word[6] = (uint64_t)p->plan.convolution.gemm.batches;
}

/* The form of packed bytes or of BF16; 0 for floats. */
static uint64_t form_of(const struct cpu_op *p)
{
    const struct cpu_integer *g = &p->integer;

    if (g->m) /* of tiles too, `shift` tells I8 from U8, on which the header depends */
        return (uint64_t)(p->plan.convolution.winograd.points ? 0 : g->spans) << 8 |
               (uint64_t)g->loops->group << 1 | (g->shift != 0);
    if (p->op.kind == FERRY_OP_INNER_PRODUCT)
        return (uint64_t)p->plan.matrix.gemm.form << 60 | (uint64_t)p->plan.matrix.is_dots << 59;
    if (p->answer.math & FERRY_MATH_BF16)
        return (uint64_t)p->plan.convolution.gemm.form << 60;
    return 0;
}

bool cpu_op_takes_pairs(const struct cpu_op *p)
{
    return p->pairs && (p->op.math & FERRY_MATH_BF16);
}

void cpu_op_choose_form(struct cpu_op *p, struct cpu_gemm *g)
{
    bool is_constant = p->op.pass == FERRY_PASS_FORWARD && (p->op.constants & 2);

    if (cpu_op_takes_pairs(p) && cpu_gemm_has_pairs(g))
        g->form = CPU_GEMM_BF16_PAIRS;
    else if ((p->op.math & FERRY_MATH_BF16) && is_constant)
        g->form = cpu_gemm_form(g, p->loops);
    if (g->form != CPU_GEMM_FLOATS)
        p->answer.math |= FERRY_MATH_BF16;
}

/* A hash of everything that determines the layout of packed constants (FNV-1a, by words). */
static uint64_t packed_key(const struct cpu_op *p, uint32_t input)
{
    const ferry_operand *o = &p->op.in[input];
    const struct cpu_turn *turn = &p->plan.matrix.turn;
    uint64_t word[4 * FERRY_OP_AXES + 5 + CONVOLUTION_WORDS] = { p->op.kind, o->dtype, o->rank,
                                                                 (uint64_t)p->loops->lanes,
                                                                 form_of(p) };
    uint64_t key = UINT64_C(14695981039346656037);

    if (p->op.kind == FERRY_OP_CONVOLUTION)
        convolution_words(p, &word[4 * FERRY_OP_AXES + 5]);
    for (uint32_t i = 0; i < o->rank; i++) {
        word[5 + i] = (uint64_t)o->shape[i];
        word[5 + 3 * FERRY_OP_AXES + i] = (uint64_t)o->stride[i];
    }
    for (uint32_t i = 0; p->op.kind == FERRY_OP_INNER_PRODUCT && i < turn->rank; i++) {
        word[5 + FERRY_OP_AXES + i] = (uint64_t)turn->shape[i];
        word[5 + 2 * FERRY_OP_AXES + i] = (uint64_t)turn->step[i];
    }
    for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
        key = (key ^ word[i]) * UINT64_C(1099511628211);
    return key ? key : 1;
}

void cpu_op_pack_or_not(struct cpu_op *p, uint32_t input, uint64_t packed, uint64_t workspace)
{
    p->answer.workspace_bytes = workspace;
    if (!(p->op.constants >> input & 1u)) {
        p->answer.workspace_bytes += packed;
    } else if (packed) {
        p->answer.packed_inputs = 1u << input;
        p->answer.packed_bytes = packed;
        p->answer.packed_key = packed_key(p, input);
    }
}
