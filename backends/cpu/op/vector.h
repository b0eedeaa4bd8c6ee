/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Vectors of floats for the sources *_impl.h. The including file must define NAME(function),
 * TARGET, LANES (floats of a vector), MOST_ROWS (of a tile), and HAVE_AVX512, HAVE_AVX2 and
 * HAVE_NEON as 1 or 0.
 */
#ifndef FERRY_CPU_OP_VECTOR_H
#define FERRY_CPU_OP_VECTOR_H

#include <stdint.h>
#include <string.h>

/* A vector in memory: it has the alignment of a float and may alias anything. */
typedef float __attribute__((vector_size(4 * LANES), aligned(4), may_alias)) vec;
typedef int32_t __attribute__((vector_size(4 * LANES), aligned(4), may_alias)) ivec;

#define INLINE TARGET static inline __attribute__((always_inline))

#define LOAD(p)     (*(const vec *)(p))
#define STORE(p, v) (*(vec *)(p) = (v))

/*
 * The values that some functions read and write: floats, unless the including file defines VALUE
 * and how it is converted.
 */
#ifndef VALUE
#define VALUE             float
#define LOAD_VALUE(p)     LOAD(p)
#define STORE_VALUE(p, v) STORE(p, v)
#define LOAD_ONE(p)       (*(p))
#define STORE_ONE(p, v)   (*(p) = (v))
#endif

#if HAVE_AVX512
#include <immintrin.h>
#define SPLAT(x)     ((vec)_mm512_set1_ps(x))
#define FMA(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
/* Computes a where a > 0, else b. */
#define SELECT_POSITIVE(a, b)                                                                  \
    ((vec)_mm512_mask_mov_ps((__m512)(b),                                                      \
                             _mm512_cmp_ps_mask((__m512)(a), _mm512_setzero_ps(), _CMP_GT_OQ), \
                             (__m512)(a)))
/* Computes a > b ? a : b. */
#define MORE(a, b) ((vec)_mm512_max_ps((__m512)(a), (__m512)(b)))
/* Computes the larger one; NaN if a is NaN. b is a number. */
#define MOST(a, b) ((vec)_mm512_max_ps((__m512)(b), (__m512)(a)))
/* Clamps to least … most; NaN is kept, because it is the second operand. */
#define CLIP(a, least, most) \
    ((vec)_mm512_min_ps((__m512)(most), _mm512_max_ps((__m512)(least), (__m512)(a))))
#define SQRT(a) ((vec)_mm512_sqrt_ps((__m512)(a)))
/* Loads LANES numbers of BF16 as floats. */
#define WIDEN(p)                                                                                   \
    ((vec)(ivec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), \
                                  16))
/* Loads LANES numbers of F16 as floats. */
#define WIDEN_F16(p) ((vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p))))
/* For integers: c where a > b, else d. */
#define IF_MORE(a, b, c, d)       \
    ((ivec)_mm512_mask_mov_epi32( \
        (__m512i)(d), _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_GT_OQ), (__m512i)(c)))
/* Computes c where a = b, else 0. */
#define IF_SAME(a, b, c)                                                                \
    ((vec)_mm512_maskz_mov_ps(_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_EQ_OQ), \
                              (__m512)(c)))
/*
 * EVENS takes every second element of a and b; the others interleave the first halves, and the
 * second halves, of a and b.
 */
#define EVENS(a, b)                                                                                \
    ((vec)_mm512_permutex2var_ps(                                                                  \
        (__m512)(a), _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), \
        (__m512)(b)))
#define ZIP_LOW(a, b)                                                                           \
    ((vec)_mm512_permutex2var_ps(                                                               \
        (__m512)(a), _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), \
        (__m512)(b)))
#define ZIP_HIGH(a, b)                                                                   \
    ((vec)_mm512_permutex2var_ps(                                                        \
        (__m512)(a),                                                                     \
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), \
        (__m512)(b)))
/* Swaps the elements of each pair. */
#define SWAP_PAIRS(a) ((vec)_mm512_permute_ps((__m512)(a), 0xb1))
/*
 * Load and store the first n elements, 0 ≤ n ≤ LANES; the other elements are 0, and are not
 * written.
 */
#define LOAD_SOME(p, n)     ((vec)_mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), (p)))
#define STORE_SOME(p, n, v) _mm512_mask_storeu_ps((p), (__mmask16)((1u << (n)) - 1), (__m512)(v))
#elif HAVE_AVX2
#include <immintrin.h>
#define WIDEN(p) \
    ((vec)(ivec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))
#define WIDEN_F16(p) ((vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p))))
#define SQRT(a)      ((vec)_mm256_sqrt_ps((__m256)(a)))
#define SPLAT(x)     ((vec)_mm256_set1_ps(x))
#define FMA(a, b, c) ((vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define SELECT_POSITIVE(a, b)                        \
    ((vec)_mm256_blendv_ps((__m256)(b), (__m256)(a), \
                           _mm256_cmp_ps((__m256)(a), _mm256_setzero_ps(), _CMP_GT_OQ)))
#define MORE(a, b) ((vec)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MOST(a, b) ((vec)_mm256_max_ps((__m256)(b), (__m256)(a)))
#define CLIP(a, least, most) \
    ((vec)_mm256_min_ps((__m256)(most), _mm256_max_ps((__m256)(least), (__m256)(a))))
#define EVENS(a, b)              \
    ((vec)_mm256_permute4x64_pd( \
        _mm256_castps_pd(_mm256_shuffle_ps((__m256)(a), (__m256)(b), 0x88)), 0xd8))
#define ZIP(a, b, half)                                                        \
    ((vec)_mm256_permute2f128_ps(_mm256_unpacklo_ps((__m256)(a), (__m256)(b)), \
                                 _mm256_unpackhi_ps((__m256)(a), (__m256)(b)), half))
#define ZIP_LOW(a, b)  ZIP(a, b, 0x20)
#define ZIP_HIGH(a, b) ZIP(a, b, 0x31)
#define SWAP_PAIRS(a)  ((vec)_mm256_permute_ps((__m256)(a), 0xb1))
#define FIRST_LANES(n) \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD_SOME(p, n)     ((vec)_mm256_maskload_ps((p), FIRST_LANES(n)))
#define STORE_SOME(p, n, v) _mm256_maskstore_ps((p), FIRST_LANES(n), (__m256)(v))
#elif HAVE_NEON
#include <arm_neon.h>
#define SQRT(a)      ((vec)vsqrtq_f32((float32x4_t)(a)))
#define SPLAT(x)     ((vec)vdupq_n_f32(x))
#define FMA(a, b, c) ((vec)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define SELECT(mask, a, b) \
    ((vec)vbslq_f32((uint32x4_t)(mask), (float32x4_t)(a), (float32x4_t)(b)))
#define SELECT_POSITIVE(a, b) SELECT((a) > 0, a, b)
#define MORE(a, b)            SELECT((a) > (b), a, b)
#define MOST(a, b)            ((vec)vmaxq_f32((float32x4_t)(a), (float32x4_t)(b)))
/* Unlike the instructions of x86, these give NaN for a NaN in either operand. */
#define CLIP(a, least, most) \
    ((vec)vminq_f32((float32x4_t)(most), vmaxq_f32((float32x4_t)(least), (float32x4_t)(a))))
#define SWAP_PAIRS(a)  ((vec)vrev64q_f32((float32x4_t)(a)))
#define EVENS(a, b)    ((vec)vuzp1q_f32((float32x4_t)(a), (float32x4_t)(b)))
#define ZIP_LOW(a, b)  ((vec)vzip1q_f32((float32x4_t)(a), (float32x4_t)(b)))
#define ZIP_HIGH(a, b) ((vec)vzip2q_f32((float32x4_t)(a), (float32x4_t)(b)))
#else
#define SQRT(a)                                                                        \
    ((vec){ __builtin_sqrtf((a)[0]), __builtin_sqrtf((a)[1]), __builtin_sqrtf((a)[2]), \
            __builtin_sqrtf((a)[3]) })
#define SPLAT(x)              ((vec){ x, x, x, x })
#define FMA(a, b, c)          ((a) * (b) + (c))
#define SELECT(mask, a, b)    ((vec)(((ivec)(a) & (mask)) | ((ivec)(b) & ~(mask))))
#define SELECT_POSITIVE(a, b) SELECT((ivec)((a) > 0), a, b)
#define MORE(a, b)            SELECT((ivec)((a) > (b)), a, b)
#define MOST(a, b)            SELECT((ivec)((a) < (b)), b, a)
#define CLIP(a, least, most) \
    SELECT((ivec)((a) < (least)), least, SELECT((ivec)((a) > (most)), most, a))
#define SWAP_PAIRS(a)  ((vec){ (a)[1], (a)[0], (a)[3], (a)[2] })
#define EVENS(a, b)    ((vec){ (a)[0], (a)[2], (b)[0], (b)[2] })
#define ZIP_LOW(a, b)  ((vec){ (a)[0], (b)[0], (a)[1], (b)[1] })
#define ZIP_HIGH(a, b) ((vec){ (a)[2], (b)[2], (a)[3], (b)[3] })
#endif
#if LANES == 4
#define LOAD_SOME(p, n)     NAME(load_some)(p, n)
#define STORE_SOME(p, n, v) NAME(store_some)(p, n, v)

static inline vec NAME(load_some)(const float *p, int64_t n)
{
    return (vec){ n > 0 ? p[0] : 0, n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0 };
}

static inline void NAME(store_some)(float *p, int64_t n, vec v)
{
    for (int i = 0; i < 4 && i < n; i++)
        p[i] = v[i];
}
#endif
#if !HAVE_AVX512
#define IF_MORE(a, b, c, d) (((c) & (ivec)((a) > (b))) | ((d) & ~(ivec)((a) > (b))))
#define IF_SAME(a, b, c)    ((vec)((ivec)(c) & (ivec)((a) == (b))))
#endif

/* Hides a pointer's value from the compiler, or keeps a vector in a register. */
#define OPAQUE(p) __asm__("" : "+r"(p))
#if HAVE_AVX512
#define OPAQUE_VECTOR(v) __asm__("" : "+v"(v))
#elif HAVE_NEON
#define OPAQUE_VECTOR(v) __asm__("" : "+w"(v))
#elif defined(__x86_64__)
#define OPAQUE_VECTOR(v) __asm__("" : "+x"(v))
#else
#define OPAQUE_VECTOR(v) (void)0
#endif

/*
 * Computes c = FMA(a, b, c) in c's register. By default gcc puts the sum into the register of a
 * factor that is no longer needed, and moves all sums by one in each iteration.
 */
#if HAVE_AVX512
#define FMA_ONTO(a, b, c) __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))
#elif HAVE_AVX2
#define FMA_ONTO(a, b, c) __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b))
#else
#define FMA_ONTO(a, b, c) ((c) = FMA(a, b, c))
#endif

/*
 * Prefetches a cache line that will be written, without a copy in another processor's cache. For
 * x86, gcc makes a prefetch for reading of the builtin function, unless the instruction is enabled
 * for the file; processors without it ignore it.
 */
#if HAVE_AVX512 || HAVE_AVX2
#define PREFETCH_TO_WRITE(p) __asm__ volatile("prefetchw %0" : : "m"(*(p)))
#else
#define PREFETCH_TO_WRITE(p) __builtin_prefetch(p, 1)
#endif

/* A piece of 8, 4 or 2 floats, for lengths shorter than a vector. */
typedef float __attribute__((vector_size(32), aligned(4), may_alias)) vec_8;
typedef float __attribute__((vector_size(16), aligned(4), may_alias)) vec_4;
typedef float __attribute__((vector_size(8), aligned(4), may_alias)) vec_2;

/* Copies n ≥ 0 floats that do not overlap: the last vector may overlap the previous one. */
INLINE void NAME(move)(float *to, const float *from, int64_t n)
{
    int64_t i = 0;

    if (n >= LANES) {
        for (; i + LANES <= n; i += LANES)
            STORE(to + i, LOAD(from + i));
        if (i < n)
            STORE(to + n - LANES, LOAD(from + n - LANES));
    } else if (LANES > 8 && n >= 8) {
        *(vec_8 *)to = *(const vec_8 *)from;
        *(vec_8 *)(to + n - 8) = *(const vec_8 *)(from + n - 8);
    } else if (LANES > 4 && n >= 4) {
        *(vec_4 *)to = *(const vec_4 *)from;
        *(vec_4 *)(to + n - 4) = *(const vec_4 *)(from + n - 4);
    } else {
        for (; i < n; i++)
            to[i] = from[i];
    }
}

INLINE void NAME(clear)(float *to, int64_t n)
{
    const vec zero = { 0 };
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        STORE(to + i, zero);
    for (; i < n; i++)
        to[i] = 0;
}

#endif
