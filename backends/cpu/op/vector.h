/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Vectors of floats for the sources *_impl.h. The file that includes this has defined:
 * NAME(function), TARGET, LANES (floats of a vector), MOST_ROWS (of a tile), and HAVE_AVX512 or
 * HAVE_AVX2 as 1 or 0.
 */
#ifndef FERRY_CPU_OP_VECTOR_H
#define FERRY_CPU_OP_VECTOR_H

#include <stdint.h>
#include <string.h>

/* In memory a vector is aligned as a float is, and may lie over anything. */
typedef float __attribute__((vector_size(4 * LANES), aligned(4), may_alias)) vec;
typedef int32_t __attribute__((vector_size(4 * LANES), aligned(4), may_alias)) ivec;

#define INLINE TARGET static inline __attribute__((always_inline))

#define LOAD(p)     (*(const vec *)(p))
#define STORE(p, v) (*(vec *)(p) = (v))

#if HAVE_AVX512
#include <immintrin.h>
#define SPLAT(x)     ((vec)_mm512_set1_ps(x))
#define FMA(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
/* a where a > 0, else b. */
#define SELECT_POSITIVE(a, b)                                                                  \
    ((vec)_mm512_mask_mov_ps((__m512)(b),                                                      \
                             _mm512_cmp_ps_mask((__m512)(a), _mm512_setzero_ps(), _CMP_GT_OQ), \
                             (__m512)(a)))
/* a > b ? a : b. */
#define MORE(a, b) ((vec)_mm512_max_ps((__m512)(a), (__m512)(b)))
/* The larger one; a if either is NaN. */
#define MOST(a, b) ((vec)_mm512_max_ps((__m512)(b), (__m512)(a)))
/* Not below `least`, nor above `most`; NaN stays, being the second operand. */
#define CLIP(a, least, most) \
    ((vec)_mm512_min_ps((__m512)(most), _mm512_max_ps((__m512)(least), (__m512)(a))))
#define SQRT(a) ((vec)_mm512_sqrt_ps((__m512)(a)))
#elif HAVE_AVX2
#include <immintrin.h>
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
#endif

/* The compiler forgets what it knows of a pointer, or keeps a vector in a register. */
#define OPAQUE(p) __asm__("" : "+r"(p))
#if HAVE_AVX512
#define OPAQUE_VECTOR(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define OPAQUE_VECTOR(v) __asm__("" : "+x"(v))
#else
#define OPAQUE_VECTOR(v) (void)0
#endif

/* A piece of 8 or 4 floats, for what is shorter than a vector. */
typedef float __attribute__((vector_size(32), aligned(4), may_alias)) vec_8;
typedef float __attribute__((vector_size(16), aligned(4), may_alias)) vec_4;

/* n ≥ 0 floats that do not overlap: the last vector may lie over the one before. */
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
