/* SPDX-License-Identifier: BSD-2-Clause */
#include "depthwise.h"
#include "rows.h"
#include "values.h"
#include "winograd.h"

#include <stddef.h>

/*
 * Functions for values of BF16 by AVX512_BF16: those of F32 with other loads and stores, and scale.
 * They round to nearest even, whatever MXCSR is.
 */
#if defined(__x86_64__)
#define VALUE             uint16_t
#define LOAD_VALUE(p)     WIDEN(p)
#define STORE_VALUE(p, v) NAME(put)(p, v)
#define LOAD_ONE(p)       cpu_float_of_bf16(*(p))
#define STORE_ONE(p, v)   (*(p) = cpu_bf16_of(v))
#include "vector_bf16.h"

/* Denormal numbers become 0. */
INLINE void NAME(put)(uint16_t *p, vec v)
{
    __m256i rounded;

    __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
    _mm256_storeu_si256((__m256i *)(void *)p, rounded);
}

/* Keeps denormal numbers. */
INLINE void NAME(put_exactly)(uint16_t *p, vec v)
{
    const __m512i bits = (__m512i)v, odd = _mm512_srli_epi32(bits, 16);
    const __m512i last = _mm512_and_si512(odd, _mm512_set1_epi32(1));
    const __mmask16 is_nan = _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
    __m512i y = _mm512_add_epi32(bits, _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff)));

    y = _mm512_srli_epi32(y, 16);
    y = _mm512_mask_or_epi32(y, is_nan, odd, _mm512_set1_epi32(0x40));
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(y));
}

#include "slide_impl.h"
#include "winograd_patch_impl.h"

#undef STORE_VALUE
#define STORE_VALUE(p, v) NAME(put_exactly)(p, v)
#include "pool_windows_impl.h"

TARGET static void NAME(widen_row)(const void *x, int64_t n, float *y)
{
    const uint16_t *from = x;

    for (; n >= LANES; n -= LANES, from += LANES, y += LANES)
        STORE(y, WIDEN(from));
    for (; n > 0; n--)
        *y++ = cpu_float_of_bf16(*from++);
}

TARGET static void NAME(round_row)(const float *x, int64_t n, void *y)
{
    for (uint16_t *to = y; n > 0; n -= LANES, x += LANES, to += LANES) {
        const __mmask16 some = (__mmask16)(n < LANES ? (1u << n) - 1 : 0xffffu);
        const __m512 v = _mm512_maskz_loadu_ps(some, x);
        __m256i rounded;

        __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
        _mm256_mask_storeu_epi16(to, some, rounded);
    }
}

TARGET static void NAME(scale)(const void *x, const float *u, const float *v, float least,
                               int64_t n, void *y)
{
    const vec low = SPLAT(least);
    const uint16_t *from = x;
    uint16_t *to = y;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        NAME(put)(to + i, MOST(WIDEN(from + i) * LOAD(u + i) + LOAD(v + i), low));
    for (; i < n; i++) {
        float one = cpu_float_of_bf16(from[i]) * u[i] + v[i];

        NAME(round_row)(&(float){ least > one ? least : one }, 1, to + i);
    }
}

static const struct cpu_values values = { .widen_row = NAME(widen_row),
                                          .round_row = NAME(round_row),
                                          .winograd_in = NAME(winograd_in),
                                          .depthwise_slide = NAME(depthwise_slide),
                                          .scale = NAME(scale),
                                          .pool = NAME(pool) };

const struct cpu_values *const cpu_values_bf16 = &values;
#else
const struct cpu_values *const cpu_values_bf16 = NULL;
#endif
