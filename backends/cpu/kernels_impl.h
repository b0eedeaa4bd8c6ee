/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops of kernels.h for one kind of CPU: kernels.c includes this once for each, after defining
 * NAME, TARGET, VECTOR_BYTES, HAVE_AVX2 and HAVE_NEON. Therefore there is no include guard.
 */

/* ---- vectors -------------------------------------------------------------------------------- */

/*
 * A vector type for access to memory: it has the alignment of its elements and may alias anything.
 */
#define VECTOR(type, bytes) \
    type __attribute__((vector_size(bytes), aligned(__alignof__(type)), may_alias))

typedef VECTOR(float, VECTOR_BYTES) NAME(v_float);
typedef VECTOR(uint32_t, VECTOR_BYTES) NAME(v_u32);
typedef VECTOR(uint16_t, VECTOR_BYTES / 2) NAME(v_u16);
typedef VECTOR(double, VECTOR_BYTES) NAME(v_double);
typedef VECTOR(uint64_t, VECTOR_BYTES) NAME(v_u64);
typedef VECTOR(float, VECTOR_BYTES / 2) NAME(v_float_half); /* has as many elements as v_double */
typedef VECTOR(float, 16) NAME(v_float_short);              /* for the remainder of a loop */
typedef VECTOR(double, 16) NAME(v_double_short);

#define FLOATS  (VECTOR_BYTES / 4)
#define DOUBLES (VECTOR_BYTES / 8)

#define INLINE TARGET static inline __attribute__((always_inline))

/* ---- F32 and F64 ---------------------------------------------------------------------------- */

#define AT(vector, p, i) (*(vector *)((p) + (i)))

#define AXPY(function, type, vector, lanes, shorter)                                     \
    TARGET static void NAME(function)(int64_t n, double alpha, const void *xp, void *yp) \
    {                                                                                    \
        const type *x = xp;                                                              \
        type *y = yp;                                                                    \
        const type a = (type)alpha;                                                      \
        const int64_t few = (int64_t)(sizeof(shorter) / sizeof(type));                   \
        int64_t i = 0;                                                                   \
                                                                                         \
        for (; i + 4 * (lanes) <= n; i += 4 * (lanes)) {                                 \
            AT(vector, y, i) += a * AT(const vector, x, i);                              \
            AT(vector, y, i + (lanes)) += a * AT(const vector, x, i + (lanes));          \
            AT(vector, y, i + 2 * (lanes)) += a * AT(const vector, x, i + 2 * (lanes));  \
            AT(vector, y, i + 3 * (lanes)) += a * AT(const vector, x, i + 3 * (lanes));  \
        }                                                                                \
        for (; i + (lanes) <= n; i += (lanes))                                           \
            AT(vector, y, i) += a * AT(const vector, x, i);                              \
        for (; i + few <= n; i += few)                                                   \
            AT(shorter, y, i) += a * AT(const shorter, x, i);                            \
        for (; i < n; i++)                                                               \
            y[i] += a * x[i];                                                            \
    }

AXPY(axpy_f32, float, NAME(v_float), FLOATS, NAME(v_float_short))
AXPY(axpy_f64, double, NAME(v_double), DOUBLES, NAME(v_double_short))

#define SCAL(function, type, vector, lanes, shorter)                     \
    TARGET static void NAME(function)(int64_t n, double alpha, void *xp) \
    {                                                                    \
        type *x = xp;                                                    \
        const type a = (type)alpha;                                      \
        const int64_t few = (int64_t)(sizeof(shorter) / sizeof(type));   \
        int64_t i = 0;                                                   \
                                                                         \
        for (; i + 2 * (lanes) <= n; i += 2 * (lanes)) {                 \
            AT(vector, x, i) *= a;                                       \
            AT(vector, x, i + (lanes)) *= a;                             \
        }                                                                \
        for (; i + (lanes) <= n; i += (lanes))                           \
            AT(vector, x, i) *= a;                                       \
        for (; i + few <= n; i += few)                                   \
            AT(shorter, x, i) *= a;                                      \
        for (; i < n; i++)                                               \
            x[i] *= a;                                                   \
    }

SCAL(scal_f32, float, NAME(v_float), FLOATS, NAME(v_float_short))
SCAL(scal_f64, double, NAME(v_double), DOUBLES, NAME(v_double_short))

INLINE NAME(v_double) NAME(load_f32)(const float *p)
{
#if HAVE_AVX2
    /* gcc compiles the general form below to two conversions and an insertion */
    return (NAME(v_double))_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
    return __builtin_convertvector(AT(const NAME(v_float_half), p, 0), NAME(v_double));
#endif
}

INLINE NAME(v_double) NAME(load_f64)(const double *p)
{
    return AT(const NAME(v_double), p, 0);
}

INLINE NAME(v_double) NAME(magnitude)(NAME(v_double) v)
{
    return (NAME(v_double))((NAME(v_u64))v & UINT64_C(0x7fffffffffffffff));
}

/* Four independent sums of vectors, so that an addition does not wait for the previous one. */
#define REDUCE(function, type, VECTOR_TERM, SCALAR_TERM)                           \
    TARGET static double NAME(function)(int64_t n, const void *xp, const void *yp) \
    {                                                                              \
        const type *x = xp;                                                        \
        const type *y = yp;                                                        \
        NAME(v_double) s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };             \
        double sum = 0;                                                            \
        int64_t i = 0;                                                             \
                                                                                   \
        (void)y;                                                                   \
        for (; i + 4 * DOUBLES <= n; i += 4 * DOUBLES) {                           \
            s0 += VECTOR_TERM(i);                                                  \
            s1 += VECTOR_TERM(i + DOUBLES);                                        \
            s2 += VECTOR_TERM(i + 2 * DOUBLES);                                    \
            s3 += VECTOR_TERM(i + 3 * DOUBLES);                                    \
        }                                                                          \
        s0 = (s0 + s1) + (s2 + s3);                                                \
        for (int k = 0; k < DOUBLES; k++)                                          \
            sum += s0[k];                                                          \
        for (; i < n; i++)                                                         \
            sum += SCALAR_TERM(i);                                                 \
        return sum;                                                                \
    }

#define DOT_V32(i)   (NAME(load_f32)(x + (i)) * NAME(load_f32)(y + (i)))
#define DOT_V64(i)   (NAME(load_f64)(x + (i)) * NAME(load_f64)(y + (i)))
#define DOT_S(i)     ((double)x[i] * (double)y[i])
#define ASUM_V32(i)  NAME(magnitude)(NAME(load_f32)(x + (i)))
#define ASUM_V64(i)  NAME(magnitude)(NAME(load_f64)(x + (i)))
#define ASUM_S(i)    __builtin_fabs((double)x[i])
#define SUMSQ_V32(i) (NAME(load_f32)(x + (i)) * NAME(load_f32)(x + (i)))
#define SUMSQ_V64(i) (NAME(load_f64)(x + (i)) * NAME(load_f64)(x + (i)))
#define SUMSQ_S(i)   ((double)x[i] * (double)x[i])

REDUCE(dot_f32, float, DOT_V32, DOT_S)
REDUCE(dot_f64, double, DOT_V64, DOT_S)
REDUCE(asum_f32, float, ASUM_V32, ASUM_S)
REDUCE(asum_f64, double, ASUM_V64, ASUM_S)
REDUCE(sumsq_f32, float, SUMSQ_V32, SUMSQ_S)
REDUCE(sumsq_f64, double, SUMSQ_V64, SUMSQ_S)

/* ---- F16 and BF16 to F32 and back ----------------------------------------------------------- */

/* `a` where the mask is all ones, `b` where it is 0. */
INLINE NAME(v_u32) NAME(select)(NAME(v_u32) mask, NAME(v_u32) a, NAME(v_u32) b)
{
    return (a & mask) | (b & ~mask);
}

#if HAVE_AVX2
INLINE NAME(v_float) NAME(widen_f16_vector)(NAME(v_u16) h)
{
    return (NAME(v_float))_mm256_cvtph_ps((__m128i)h);
}

INLINE NAME(v_u16) NAME(narrow_f16_vector)(NAME(v_float) v)
{
    return (NAME(v_u16))_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
}
#elif HAVE_NEON
INLINE NAME(v_float) NAME(widen_f16_vector)(NAME(v_u16) h)
{
    return (NAME(v_float))vcvt_f32_f16((float16x4_t)h);
}

INLINE NAME(v_u16) NAME(narrow_f16_vector)(NAME(v_float) v)
{
    return (NAME(v_u16))vcvt_f16_f32((float32x4_t)v);
}
#else
INLINE NAME(v_float) NAME(widen_f16_vector)(NAME(v_u16) h)
{
    NAME(v_u32) wide = __builtin_convertvector(h, NAME(v_u32));
    NAME(v_u32) magnitude = wide & 0x7fffu;
    NAME(v_u32) sign = (wide & 0x8000u) << 16;
    NAME(v_u32) normal = (magnitude << 13) + (112u << 23);
    NAME(v_u32) special = (magnitude << 13) | 0x7f800000u;
    NAME(v_float) whole = __builtin_convertvector(magnitude, NAME(v_float)); /* in units of 2^-24 */
    NAME(v_u32) bits = NAME(select)((NAME(v_u32))(magnitude < 0x7c00u), normal, special);

    bits = NAME(select)((NAME(v_u32))(magnitude < 0x0400u), (NAME(v_u32))(whole * 0x1p-24f), bits);
    bits |= (NAME(v_u32))(magnitude > 0x7c00u) & 0x00400000u; /* a NaN becomes quiet */
    return (NAME(v_float))(bits | sign);
}

INLINE NAME(v_u16) NAME(narrow_f16_vector)(NAME(v_float) v)
{
    NAME(v_u32) magnitude = (NAME(v_u32))v & 0x7fffffffu;
    NAME(v_u32) sign = ((NAME(v_u32))v & 0x80000000u) >> 16;
    NAME(v_u32) normal = (magnitude - (112u << 23) + 0x0fffu + (magnitude >> 13 & 1u)) >> 13;
    /* One unit in the last place of 0.5 is 2^-24, of which the denormals of F16 are multiples. */
    NAME(v_u32) tiny = (NAME(v_u32))((NAME(v_float))magnitude + 0.5f) - 0x3f000000u;
    NAME(v_u32) nan = (magnitude >> 13 & 0x03ffu) | 0x7e00u;
    NAME(v_u32) half = NAME(select)((NAME(v_u32))(magnitude < 0x38800000u), tiny, normal);

    half = NAME(select)((NAME(v_u32))(magnitude < 0x477ff000u), half, half * 0 + 0x7c00u);
    half = NAME(select)((NAME(v_u32))(magnitude > 0x7f800000u), nan, half);
    return __builtin_convertvector(half | sign, NAME(v_u16));
}
#endif

INLINE NAME(v_float) NAME(widen_bf16_vector)(NAME(v_u16) b)
{
    return (NAME(v_float))(__builtin_convertvector(b, NAME(v_u32)) << 16);
}

INLINE NAME(v_u16) NAME(narrow_bf16_vector)(NAME(v_float) v)
{
    NAME(v_u32) bits = (NAME(v_u32))v;
    NAME(v_u32) rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    NAME(v_u32) is_nan = (NAME(v_u32))((bits & 0x7fffffffu) > 0x7f800000u);

    rounded = NAME(select)(is_nan, bits >> 16 | 0x0040u, rounded);
    return __builtin_convertvector(rounded, NAME(v_u16));
}

/* The last elements use a vector of their own. */
#define HALF(format)                                                                               \
    TARGET static void NAME(widen_##format)(int64_t n, const void *xp, float *y)                   \
    {                                                                                              \
        const uint16_t *x = xp;                                                                    \
        NAME(v_u16) rest = { 0 };                                                                  \
        NAME(v_float) wide;                                                                        \
        int64_t i = 0;                                                                             \
                                                                                                   \
        for (; i + FLOATS <= n; i += FLOATS)                                                       \
            AT(NAME(v_float), y, i) = NAME(widen_##format##_vector)(AT(const NAME(v_u16), x, i));  \
        if (i == n)                                                                                \
            return;                                                                                \
        memcpy(&rest, x + i, (size_t)(n - i) * sizeof(*x));                                        \
        wide = NAME(widen_##format##_vector)(rest);                                                \
        memcpy(y + i, &wide, (size_t)(n - i) * sizeof(*y));                                        \
    }                                                                                              \
                                                                                                   \
    TARGET static void NAME(narrow_##format)(int64_t n, const float *x, void *yp)                  \
    {                                                                                              \
        uint16_t *y = yp;                                                                          \
        NAME(v_float) rest = { 0 };                                                                \
        NAME(v_u16) half;                                                                          \
        int64_t i = 0;                                                                             \
                                                                                                   \
        for (; i + FLOATS <= n; i += FLOATS)                                                       \
            AT(NAME(v_u16), y, i) = NAME(narrow_##format##_vector)(AT(const NAME(v_float), x, i)); \
        if (i == n)                                                                                \
            return;                                                                                \
        memcpy(&rest, x + i, (size_t)(n - i) * sizeof(*x));                                        \
        half = NAME(narrow_##format##_vector)(rest);                                               \
        memcpy(y + i, &half, (size_t)(n - i) * sizeof(*y));                                        \
    }

HALF(f16)
HALF(bf16)

/* ---- F32 and F64 into one another ----------------------------------------------------------- */

TARGET static void NAME(to_f64)(int64_t n, const float *x, double *y)
{
    int64_t i = 0;

    for (; i + DOUBLES <= n; i += DOUBLES)
        AT(NAME(v_double), y, i) = NAME(load_f32)(x + i);
    for (; i < n; i++)
        y[i] = (double)x[i];
}

TARGET static void NAME(from_f64)(int64_t n, const double *x, float *y)
{
    int64_t i = 0;

#if HAVE_AVX2
    for (; i + DOUBLES <= n; i += DOUBLES)
        _mm_storeu_ps(y + i, _mm256_cvtpd_ps(_mm256_loadu_pd(x + i)));
#elif HAVE_NEON
    for (; i + FLOATS <= n; i += FLOATS)
        vst1q_f32(y + i, vcvt_high_f32_f64(vcvt_f32_f64(vld1q_f64(x + i)), vld1q_f64(x + i + 2)));
#endif
    for (; i < n; i++)
        y[i] = (float)x[i];
}

/* Rounds to odd without branches, which would be unpredictable. */
INLINE float NAME(odd_float)(double value)
{
    float near = (float)value;
    double wide = (double)near;
    uint32_t away = __builtin_fabs(wide) > __builtin_fabs(value);
    uint32_t inexact = (uint32_t)(wide < value) | (uint32_t)(wide > value);
    uint32_t bits;

    memcpy(&bits, &near, sizeof(bits));
    bits = (bits - away) | inexact;
    memcpy(&near, &bits, sizeof(near));
    return near;
}

#if HAVE_AVX2
/* Truncates to an odd last bit in the double; a normal float represents the rest exactly. */
INLINE __m128i NAME(odd_floats)(const double *x)
{
    const __m256i below = _mm256_set1_epi64x(0x1fffffff);
    __m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)x);
    __m256i carry = _mm256_add_epi64(_mm256_and_si256(bits, below), below); /* the carry, unless all
                                                                             * are 0 */

    bits = _mm256_andnot_si256(below, _mm256_or_si256(bits, carry));
    return _mm_castps_si128(_mm256_cvtpd_ps(_mm256_castsi256_pd(bits)));
}

/*
 * Rounds 8 doubles to odd. Lanes whose float is denormal, and so may be rounded twice, are added to
 * *denormal.
 */
INLINE __m256i NAME(odd_vector)(const double *x, __m256i *denormal)
{
    __m256i near = _mm256_set_m128i(NAME(odd_floats)(x + DOUBLES), NAME(odd_floats)(x));
    __m256i magnitude = _mm256_and_si256(near, _mm256_set1_epi32(0x7fffffff));
    __m256i some = _mm256_cmpgt_epi32(magnitude, _mm256_setzero_si256());
    __m256i many = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x007fffff));

    *denormal = _mm256_or_si256(*denormal, _mm256_andnot_si256(many, some));
    return near;
}
#endif

TARGET static void NAME(odd_f64)(int64_t n, const double *x, float *y)
{
    int64_t i = 0;

#if HAVE_AVX2
    __m256i denormal = _mm256_setzero_si256();

    for (; i + FLOATS <= n; i += FLOATS)
        _mm256_storeu_si256((__m256i *)(void *)(y + i), NAME(odd_vector)(x + i, &denormal));
    if (!_mm256_testz_si256(denormal, denormal))
        i = 0;
#elif HAVE_NEON
    /* an instruction rounds in this way */
    for (; i + FLOATS <= n; i += FLOATS)
        vst1q_f32(y + i, vcvtx_high_f32_f64(vcvtx_f32_f64(vld1q_f64(x + i)), vld1q_f64(x + i + 2)));
#endif
    for (; i < n; i++)
        y[i] = NAME(odd_float)(x[i]);
}

/* ---- the table ------------------------------------------------------------------------------ */

#define TEXT_(a) #a
#define TEXT(a)  TEXT_(a)

static const struct cpu_kernels NAME(kernels) = {
    .name = TEXT(NAME(kernels)),
    .axpy = { NAME(axpy_f32), NAME(axpy_f64) },
    .scal = { NAME(scal_f32), NAME(scal_f64) },
    .dot = { NAME(dot_f32), NAME(dot_f64) },
    .asum = { NAME(asum_f32), NAME(asum_f64) },
    .sumsq = { NAME(sumsq_f32), NAME(sumsq_f64) },
    .widen = { [FERRY_F16] = NAME(widen_f16), [FERRY_BF16] = NAME(widen_bf16) },
    .narrow = { [FERRY_F16] = NAME(narrow_f16), [FERRY_BF16] = NAME(narrow_bf16) },
    .to_f64 = NAME(to_f64),
    .from_f64 = NAME(from_f64),
    .odd_f64 = NAME(odd_f64),
};

#undef VECTOR
#undef FLOATS
#undef DOUBLES
#undef INLINE
#undef AT
#undef AXPY
#undef SCAL
#undef REDUCE
#undef DOT_V32
#undef DOT_V64
#undef DOT_S
#undef ASUM_V32
#undef ASUM_V64
#undef ASUM_S
#undef SUMSQ_V32
#undef SUMSQ_V64
#undef SUMSQ_S
#undef HALF
#undef TEXT_
#undef TEXT
