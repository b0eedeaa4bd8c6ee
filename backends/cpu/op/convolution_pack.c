/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <string.h>

/* The packed weights of a convolution that is a product of matrices: convolution.c. */

/*
 * Packs the weights of several groups as one batch: rows and columns of different groups are zeros.
 */
static void pack_together(const struct cpu_op *p, const float *w, float *packed)
{
    const struct cpu_window *v = &p->plan.convolution.window;
    const struct cpu_gemm *g = &p->plan.convolution.gemm;
    const int64_t *wide = p->plan.convolution.w;
    int64_t group = p->op.params.window.group, together = group / g->batches;
    int64_t channels = v->channels / group, outputs = v->outputs / group;

    memset(packed, 0, (size_t)(g->batches * cpu_gemm_packed(g)) * sizeof(*packed));
    for (int64_t i = 0; i < group; i++)
        for (int64_t row = 0; row < v->taps * channels; row++) {
            int64_t tap = row / channels, c = row % channels, within = i % together;
            int64_t k = (tap * together + within) * channels + c;
            const float *from =
                cpu_convolution_tap(p, w, tap) + i * p->plan.convolution.w_group + c * wide[1];
            float *to = packed + i / together * cpu_gemm_packed(g);

            for (int64_t o = 0; o < outputs; o++)
                to[cpu_gemm_packed_at(g, k, within * outputs + o)] = from[o * wide[0]];
        }
}

/* Packs the rows of b in the order of a patch: tap by tap, and all channels of each. */
static void pack_weights(const struct cpu_op *p, const float *w, float *packed)
{
    const struct cpu_window *v = &p->plan.convolution.window;
    const int64_t *wide = p->plan.convolution.w;
    int64_t channels = v->channels / p->plan.convolution.gemm.batches;
    struct cpu_gemm whole = p->plan.convolution.gemm, *g = &whole;

    g->k = v->taps * channels; /* that of Winograd's products is smaller */
    for (int64_t b = 0; b < g->batches; b++)
        for (int64_t tap = 0; tap < v->taps; tap++)
            cpu_gemm_pack(g, tap * channels, channels,
                          cpu_convolution_tap(p, w, tap) + b * p->plan.convolution.w_group, wide[1],
                          wide[0], packed + b * cpu_gemm_packed(g));
}

void cpu_convolution_pack(struct cpu_device *d, const struct cpu_op *p, const float *w,
                          float *packed)
{
    if (p->plan.convolution.winograd.side && !p->plan.convolution.winograd.is_compact)
        cpu_winograd_pack(d, p, w, packed);
    else if (p->plan.convolution.strassen.pairs)
        cpu_strassen_pack(p, w, packed);
    else if (p->plan.convolution.gemm.batches < (int64_t)p->op.params.window.group)
        pack_together(p, w, packed);
    else
        pack_weights(p, w, packed);
}
