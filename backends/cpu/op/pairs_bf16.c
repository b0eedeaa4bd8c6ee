/* SPDX-License-Identifier: BSD-2-Clause */
#include "loops.h"

#include <stddef.h>

/*
 * Products of pairs by AVX512_BF16: the micro-kernels of micro_impl.h with VDPBF16PS as their
 * multiply-add. The instruction adds both products of a pair to a sum, each with one rounding to
 * nearest even, whatever MXCSR is; it treats denormal operands and results as 0.
 */
#if defined(__x86_64__)
#include "vector_bf16.h"

#undef FMA
#undef FMA_ONTO
#define FMA_ONTO(a, b, c) __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))
#define FMA(a, b, c)               \
    __extension__({                \
        vec sum = (c), pair = (a); \
                                   \
        FMA_ONTO(pair, b, sum);    \
        sum;                       \
    })
#define FORM(function) NAME(function)
#define WIDENS         0
#include "micro_impl.h"

/* Rounds n ≥ 0 floats to BF16. */
INLINE void NAME(round_span)(const float *x, int64_t n, char *to)
{
    for (; n > 0; n -= LANES, x += LANES, to += 2 * LANES) {
        const __mmask16 some = (__mmask16)(n >= LANES ? 0xffffu : (1u << n) - 1);
        const __m512 v = _mm512_maskz_loadu_ps(some, x);
        __m256i y;

        __asm__("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(v));
        _mm256_mask_storeu_epi16(to, some, y);
    }
}

TARGET static int64_t NAME(round)(const struct cpu_tile *t, int64_t rows, float *to, int64_t to_row)
{
    const int64_t count = t->spans * t->span;

    for (int64_t i = 0; i < rows; i++, to += to_row) {
        const float *a = t->a + i * t->a_row;
        int64_t left = t->line;
        char *y = (char *)to;

        for (int64_t s = 0; s < t->spans; s++, y += 2 * t->span) {
            NAME(round_span)(a, t->span, y);
            a += t->span + (--left ? t->jump : t->jump + t->line_jump);
            left = left ? left : t->line;
        }
        if (count % 2)
            memset(y, 0, 2);
    }
    return (count + 1) / 2;
}

TARGET static void NAME(round_row)(const float *x, int64_t n, void *to)
{
    NAME(round_span)(x, n, to);
    if (n % 2)
        memset((char *)to + 2 * n, 0, 2);
}

TARGET static void NAME(pack_two)(const float *even, const float *odd, int64_t n, int64_t width,
                                  float *to)
{
    /* numbers i and 16 + i for place i */
    const __m512i order = _mm512_add_epi32(
        _mm512_set1_epi32(16 << 16),
        _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                           _mm512_set1_epi32(0x10001)));

    for (int64_t i = 0; i < width; i += LANES) {
        const __mmask16 some =
            (__mmask16)(n - i >= LANES ? 0xffffu : n > i ? (1u << (n - i)) - 1 : 0);
        const __m512 low = _mm512_maskz_loadu_ps(some, even + i);
        const __m512 high = odd ? _mm512_maskz_loadu_ps(some, odd + i) : _mm512_setzero_ps();
        __m512i y;

        __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(y) : "v"(low), "v"(high));
        _mm512_storeu_si512(to + i, _mm512_permutexvar_epi16(order, y));
    }
}

TARGET static void NAME(pack_half)(const float *row, bool is_odd, int64_t n, int64_t width,
                                   float *to)
{
    const __mmask32 own = is_odd ? 0xaaaaaaaau : 0x55555555u;
    const __m128i shift = _mm_cvtsi32_si128(is_odd ? 16 : 0);

    for (int64_t i = 0; i < width; i += LANES) {
        const __mmask16 some =
            (__mmask16)(n - i >= LANES ? 0xffffu : n > i ? (1u << (n - i)) - 1 : 0);
        const __m512 x = _mm512_maskz_loadu_ps(some, row + i);
        const __m512i old = _mm512_loadu_si512(to + i);
        __m256i y;

        __asm__("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(x));
        _mm512_storeu_si512(
            to + i,
            _mm512_mask_mov_epi16(old, own, _mm512_sll_epi32(_mm512_cvtepu16_epi32(y), shift)));
    }
}

static const struct cpu_pairs pairs = { .micro = NAME(micros),
                                        .round = NAME(round),
                                        .round_row = NAME(round_row),
                                        .pack_two = NAME(pack_two),
                                        .pack_half = NAME(pack_half) };

const struct cpu_pairs *const cpu_pairs_bf16 = &pairs;
#else
const struct cpu_pairs *const cpu_pairs_bf16 = NULL;
#endif
