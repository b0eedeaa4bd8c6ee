/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes lines of deconvolution.h, for an instruction set: see vector.h. No include guard. */

/*
 * Adds the taps. `l` is a copy, because a store of a vector may alias anything that has an address.
 */
INLINE void NAME(deconvolve_taps)(const struct cpu_deconvolved_line l, const int64_t taps)
{
    const int64_t step = LANES % l.stride;
    int64_t phase = l.first % l.stride;

    for (int64_t pixel = 0; pixel < l.pixels; pixel += LANES) {
        const float *x = l.x + l.first + pixel, *w = l.w + phase;
        vec sum = SPLAT(l.bias);

        for (int64_t c = 0; c < l.channels; c++)
            for (int64_t i = 0; i < l.lines; i++)
                for (int64_t t = 0; t < taps; t++)
                    sum = FMA(LOAD(x + c * l.x_channel - i * l.x_line - t * l.stride),
                              LOAD(w + c * l.w_channel + i * l.w_line + t * l.w_tap), sum);
        if (l.y_step != 1)
            for (int64_t i = 0; i < LANES && pixel + i < l.pixels; i++)
                l.y[(pixel + i) * l.y_step] = sum[i];
        else if (pixel + LANES <= l.pixels)
            STORE(l.y + pixel, sum);
        else
            STORE_SOME(l.y + pixel, l.pixels - pixel, sum);
        phase += step;
        phase -= phase >= l.stride ? l.stride : 0;
    }
}

TARGET static void NAME(deconvolve)(const struct cpu_deconvolved_line *l)
{
    if (l->taps == 2) /* as bilinear kernels have */
        NAME(deconvolve_taps)(*l, 2);
    else
        NAME(deconvolve_taps)(*l, l->taps);
}
