/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Integer arithmetic for an instruction set: see vector.h. HAVE_VNNI is 1 for products of four
 * bytes, 0 for products of two numbers of 16 bits, which are exact: two products of bytes, one of
 * them without a sign, can exceed 16 bits. integer_neon_impl.h has the parts for NEON. With
 * HAVE_BF16, which is optional, it has the products of two numbers of BF16 instead, whose sums are
 * floats, and nothing else. No include guard.
 */

#ifndef HAVE_BF16
#define HAVE_BF16 0
#endif

#define COLUMNS (2 * LANES)

#if HAVE_NEON
#include "integer_neon_impl.h"
#elif HAVE_AVX512
#define TO_FLOAT(v) ((vec)_mm512_cvtepi32_ps((__m512i)(v)))
#define OF_U8(p)    _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p)))
#define OF_I8(p)    _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(p)))
#define KNOWN(v)                                                                        \
    ((vec)_mm512_maskz_mov_ps(_mm512_cmp_ps_mask((__m512)(v), (__m512)(v), _CMP_ORD_Q), \
                              (__m512)(v)))
#define PUT_U8(p, v) \
    _mm_storeu_si128((__m128i *)(p), _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32((__m512)(v))))
#define PUT_I8(p, v) \
    _mm_storeu_si128((__m128i *)(p), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32((__m512)(v))))
#define ROUND(v)      _mm512_cvtps_epi32((__m512)(v))
#define PACK_16(a, b) _mm512_packs_epi32(a, b)
#define PACK_U8(a, b) _mm512_packus_epi16(a, b)
#define PACK_I8(a, b) _mm512_packs_epi16(a, b)
/*
 * Restores the order of two rows that were packed within lanes: the columns of one, then those of
 * the other.
 */
#define IN_ORDER(v)           \
    _mm512_permutexvar_epi32( \
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), v)
#define PUT_HALF(p, v, half) _mm256_storeu_si256((__m256i *)(p), _mm512_extracti64x4_epi64(v, half))
typedef __m512i NAME(bytes);
#define BYTES                64
#define LOAD_BYTES(p)        _mm512_loadu_si512(p)
#define PUT_BYTES(p, v)      _mm512_storeu_si512(p, v)
#define MAX_U8(a, b)         _mm512_max_epu8(a, b)
#define FLIP(v)              _mm512_xor_si512(v, _mm512_set1_epi8((char)0x80))
#define WIDEN_U8(p)          _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define WIDEN_I8(p)          _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define SPLAT_GROUP(p)       _mm512_set1_epi32(*(const NAME(word) *)(p))
#if HAVE_BF16
#undef TO_FLOAT
#define TO_FLOAT(v)  ((vec)(v))
#define WEIGHTS(p)   _mm512_loadu_si512(p)
#define DOT(c, a, b) __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))
#elif HAVE_VNNI
#define WEIGHTS(p)         _mm512_loadu_si512(p)
#define DOT(c, a, b)       __asm__("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))
/* The same for two numbers of 16 bits; sums are modulo 2^32. */
#define DOT_WORDS(c, a, b) __asm__("vpdpwssd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))
#else
#define WEIGHTS(p)   WIDEN_I8(p)
#define DOT(c, a, b) ((c) += (ivec)_mm512_madd_epi16(a, b))
#endif
#else
#define TO_FLOAT(v) ((vec)_mm256_cvtepi32_ps((__m256i)(v)))
#define OF_U8(p)    _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p)))
#define OF_I8(p)    _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p)))
#define KNOWN(v) \
    ((vec)_mm256_and_ps((__m256)(v), _mm256_cmp_ps((__m256)(v), (__m256)(v), _CMP_ORD_Q)))
#define PUT(p, v, pack)                                                                         \
    do {                                                                                        \
        __m256i w = _mm256_cvtps_epi32((__m256)(v));                                            \
        __m128i s = _mm_packs_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1)); \
                                                                                                \
        _mm_storel_epi64((__m128i *)(p), pack(s, s));                                           \
    } while (0)
#define PUT_U8(p, v)         PUT(p, v, _mm_packus_epi16)
#define PUT_I8(p, v)         PUT(p, v, _mm_packs_epi16)
#define ROUND(v)             _mm256_cvtps_epi32((__m256)(v))
#define PACK_16(a, b)        _mm256_packs_epi32(a, b)
#define PACK_U8(a, b)        _mm256_packus_epi16(a, b)
#define PACK_I8(a, b)        _mm256_packs_epi16(a, b)
#define ROW_ORDER            _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)
#define IN_ORDER(v)          _mm256_permutevar8x32_epi32(v, ROW_ORDER)
#define PUT_HALF(p, v, half) _mm_storeu_si128((__m128i *)(p), _mm256_extracti128_si256(v, half))
typedef __m256i NAME(bytes);
#define BYTES                32
#define LOAD_BYTES(p)        _mm256_loadu_si256((const __m256i *)(p))
#define PUT_BYTES(p, v)      _mm256_storeu_si256((__m256i *)(p), v)
#define MAX_U8(a, b)         _mm256_max_epu8(a, b)
#define FLIP(v)              _mm256_xor_si256(v, _mm256_set1_epi8((char)0x80))
#define WIDEN_U8(p)          _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define WIDEN_I8(p)          _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define SPLAT_GROUP(p)       _mm256_set1_epi32(*(const NAME(word) *)(p))
#if HAVE_VNNI
#define WEIGHTS(p)         LOAD_BYTES(p)
#define DOT(c, a, b)       __asm__(DOT_ENCODING "vpdpbusd %2, %1, %0" : "+x"(c) : "x"(a), "x"(b))
#define DOT_WORDS(c, a, b) __asm__(DOT_ENCODING "vpdpwssd %2, %1, %0" : "+x"(c) : "x"(a), "x"(b))
#else
#define WEIGHTS(p)   WIDEN_I8(p)
#define DOT(c, a, b) ((c) += (ivec)_mm256_madd_epi16(a, b))
#endif
#endif

#if !HAVE_NEON
#define UNIT          1
#define GROUP         (HAVE_VNNI && !HAVE_BF16 ? 4 : 2)
#define FLIPS(signed) (signed)
#define SHIFT_U8      0
#define SHIFT_I8      128
typedef int32_t __attribute__((aligned(1), may_alias)) NAME(word);

#endif

/* Converts elements. */
TARGET static void NAME(integer_bring)(int64_t n, const void *x, bool is_signed, void *to)
{
    const char *from = x;
    char *y = to;
#if HAVE_NEON || (HAVE_VNNI && !HAVE_AVX512)
    const NAME(bytes) zero = { 0 }, flip = FLIPS(is_signed) ? FLIP(zero) : zero;
    const int64_t rest = n % BYTES;

    for (; n >= BYTES; n -= BYTES, from += BYTES, y += BYTES)
        PUT_BYTES(y, LOAD_BYTES(from) ^ flip);
    for (int64_t i = 0; i < rest; i++)
        y[i] = (char)(from[i] ^ (FLIPS(is_signed) ? 0x80 : 0));
#elif HAVE_BF16
    (void)is_signed;
    for (; n > 0; n -= LANES, from += 4 * LANES, y += 2 * LANES) {
        const __mmask16 some = (__mmask16)(n < LANES ? (1u << n) - 1 : 0xffffu);
        const __m512 v = _mm512_maskz_loadu_ps(some, from);
        __m256i rounded;

        __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
        _mm256_mask_storeu_epi16(y, some, rounded);
    }
#elif HAVE_VNNI
    const __m512i flip = _mm512_set1_epi8(is_signed ? (char)0x80 : 0);

    for (; n > 0; n -= BYTES, from += BYTES, y += BYTES) {
        const __mmask64 some = n < BYTES ? ~0ULL >> (BYTES - n) : ~0ULL;

        _mm512_mask_storeu_epi8(y, some,
                                _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, from), flip));
    }
#else
    char last[BYTES];

    for (int64_t i = 0; i < n; i += BYTES / 2) {
        const bool whole = n - i >= BYTES / 2;
        const char *p = whole ? from + i : memcpy(last, from + i, (size_t)(n - i));
        const NAME(bytes) v = is_signed ? WIDEN_I8(p) : WIDEN_U8(p);

        if (whole) {
            PUT_BYTES(y + i * 2, v);
        } else {
            PUT_BYTES(last, v);
            memcpy(y + i * 2, last, (size_t)((n - i) * 2));
        }
    }
#endif
}

#if HAVE_BF16
/* Rounds up to LANES floats; each has 32 bits, the upper ones 0. */
INLINE __m512i NAME(rounded)(__mmask16 some, const float *x)
{
    const __m512 v = _mm512_maskz_loadu_ps(some, x);
    __m256i y;

    __asm__("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(v));
    return _mm512_cvtepu16_epi32(y);
}

TARGET static void NAME(bring_planes)(int64_t n, const float *x, int64_t plane, void *to)
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    char *y = to;

    for (; n > 0; n -= LANES, x += LANES, y += 8 * LANES) {
        const __mmask16 some = (__mmask16)(n < LANES ? (1u << n) - 1 : 0xffffu);
        const __m512i second = _mm512_slli_epi32(NAME(rounded)(some, x + plane), 16);
        const __m512i pair = _mm512_or_si512(NAME(rounded)(some, x), second);
        const __m512i third = NAME(rounded)(some, x + 2 * plane);
        const uint32_t words = n < LANES ? (uint32_t)((1ull << 2 * n) - 1) : 0xffffffffu;

        _mm512_mask_storeu_epi32(y, (__mmask16)words, _mm512_permutex2var_epi32(pair, low, third));
        _mm512_mask_storeu_epi32(y + 4 * LANES, (__mmask16)(words >> 16),
                                 _mm512_permutex2var_epi32(pair, high, third));
    }
}
#endif

/* ---- stores --------------------------------------------------------------------------------- */

#if HAVE_BF16
/* Loads up to LANES numbers of BF16 as floats. */
INLINE vec NAME(load_bf16)(const void *x, int64_t n)
{
    const __mmask16 some = (__mmask16)(n < LANES ? (1u << n) - 1 : 0xffffu);

    return (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(some, x)), 16);
}

/* Rounds and stores up to LANES floats as BF16. */
INLINE void NAME(put_bf16)(vec v, int64_t n, void *y)
{
    const __mmask16 some = (__mmask16)(n < LANES ? (1u << n) - 1 : 0xffffu);
    __m256i rounded;

    __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
    if (n == LANES)
        _mm256_storeu_si256(y, rounded);
    else
        _mm256_mask_storeu_epi16(y, some, rounded);
}
#endif

/* Loads `n` numbers of a dtype as floats; n is at most LANES. */
INLINE vec NAME(integer_load)(uint32_t dtype, const void *x, int64_t n)
{
    uint8_t last[LANES] = { 0 };
    const void *p = x;

    if (dtype == FERRY_F32)
        return n == LANES ? LOAD((const float *)x) : LOAD_SOME((const float *)x, n);
#if HAVE_BF16
    if (dtype == FERRY_BF16)
        return NAME(load_bf16)(x, n);
#endif
    if (n < LANES)
        p = memcpy(last, x, (size_t)n);
    return dtype == FERRY_U8 ? TO_FLOAT(OF_U8(p)) : TO_FLOAT(OF_I8(p));
}

/* The bounds, factor and term of a store. */
struct NAME(clip) {
    vec least, most, factor, term;
};

INLINE struct NAME(clip) NAME(integer_clip)(const struct cpu_integer_store *s)
{
    return (struct NAME(clip)){ SPLAT(s->least), SPLAT(s->most), SPLAT(s->factor), SPLAT(s->term) };
}

/* Rounds and stores `n` floats as bytes of the dtype, whose range they are in. */
INLINE void NAME(integer_round)(uint32_t dtype, vec v, int64_t n, void *y)
{
    uint8_t last[LANES];
    void *p = n < LANES ? last : y;

    if (dtype == FERRY_U8)
        PUT_U8(p, v);
    else
        PUT_I8(p, v);
    if (n < LANES)
        memcpy(y, last, (size_t)n);
}

/* Clips, scales and stores `n` floats. */
INLINE void NAME(integer_put)(uint32_t dtype, const struct NAME(clip) * c, vec v, int64_t n,
                              void *y)
{
    v = FMA(CLIP(v, c->least, c->most), c->factor, c->term);
    if (dtype == FERRY_F32) {
        if (n == LANES)
            STORE((float *)y, v);
        else
            STORE_SOME((float *)y, n, v);
        return;
    }
#if HAVE_BF16
    if (dtype == FERRY_BF16) {
        NAME(put_bf16)(v, n, y);
        return;
    }
#endif
    v = KNOWN(v);
    v = dtype == FERRY_U8 ? CLIP(v, SPLAT(0.0f), SPLAT(255.0f))
                          : CLIP(v, SPLAT(-128.0f), SPLAT(127.0f));
    NAME(integer_round)(dtype, v, n, y);
}

INLINE int64_t NAME(integer_size)(uint32_t dtype)
{
    return dtype == FERRY_F32 ? 4 : dtype == FERRY_BF16 ? 2 : 1;
}

/* Stores one vector of columns of all rows. */
INLINE void NAME(integer_columns)(const struct cpu_integer_store *s, uint32_t dtype, int64_t at,
                                  int64_t n, int64_t rows, const int32_t *sums,
                                  const struct cpu_integer_place *place)
{
    const struct NAME(clip) clip = NAME(integer_clip)(s);
    const int64_t size = NAME(integer_size)(dtype);
    vec bias = { 0 }, scale = SPLAT(1.0f);

    if (s->bias)
        bias = n == LANES ? LOAD(s->bias + at) : LOAD_SOME(s->bias + at, n);
    if (s->scale)
        scale = n == LANES ? LOAD(s->scale + at) : LOAD_SOME(s->scale + at, n);
    for (int64_t i = 0; i < rows; i++) {
        vec v = (TO_FLOAT(*(const ivec *)(sums + i * INTEGER_MOST_COLUMNS)) + bias) * scale;

        if (s->adds)
            v += NAME(integer_load)(
                s->add_dtype,
                place->add + i * place->add_next + at * NAME(integer_size)(s->add_dtype), n);
        NAME(integer_put)(dtype, &clip, v, n, place->y + i * place->y_next + at * size);
    }
}

TARGET static void NAME(integer_store)(const struct cpu_integer_store *s, int64_t column,
                                       int64_t columns, int64_t rows, const int32_t *sums,
                                       const struct cpu_integer_place *place)
{
    for (int64_t i = 0; i < columns; i += LANES) {
        int64_t n = columns - i < LANES ? columns - i : LANES;

        if (n == LANES && s->dtype == FERRY_U8)
            NAME(integer_columns)(s, FERRY_U8, column + i, LANES, rows, sums + i, place);
        else
            NAME(integer_columns)(s, s->dtype, column + i, n, rows, sums + i, place);
    }
}

/* ---- products ------------------------------------------------------------------------------- */

#if !HAVE_NEON
/* The number of bytes of a vector of weights. */
#define STEP (HAVE_VNNI ? 4 * LANES : 2 * LANES)

/* The vectors of a store for the two vectors of columns of a panel. */
struct NAME(vectors) {
    vec bias[2], scale[2], low, high, factor, term;
};

INLINE struct NAME(vectors) NAME(integer_vectors)(const struct cpu_integer_store *s, int64_t column)
{
    struct NAME(vectors) v = { .low = SPLAT(s->low),
                               .high = SPLAT(s->high),
                               .factor = SPLAT(s->factor),
                               .term = SPLAT(s->term) };

    for (int k = 0; k < 2; k++) {
        v.bias[k] = s->bias ? LOAD(s->bias + column + k * LANES) : SPLAT(0.0f);
        v.scale[k] = s->scale ? LOAD(s->scale + column + k * LANES) : SPLAT(1.0f);
    }
    return v;
}

/* Applies the steps of a store to the sums of a tile, and stores them as F32 or BF16. */
INLINE void NAME(integer_finish_floats)(const struct cpu_integer_tile *t, const uint32_t dtype,
                                        const int rows, ivec (*sum)[2])
{
    const struct cpu_integer_store *s = t->store;
    const struct NAME(vectors) v = NAME(integer_vectors)(s, t->column);
    const struct NAME(clip) clip = NAME(integer_clip)(s);
    const int64_t size = NAME(integer_size)(dtype), add_size = NAME(integer_size)(s->add_dtype);
    const struct cpu_integer_place next = t->place;
    char *y = next.y + t->column * size;
    const char *add = next.add;

#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            vec x = (TO_FLOAT(sum[i][k]) + v.bias[k]) * v.scale[k];

            if (s->adds)
                x += NAME(integer_load)(s->add_dtype, add + (t->column + k * LANES) * add_size,
                                        LANES);
            NAME(integer_put)(dtype, &clip, x, LANES, y + k * LANES * size);
        }
        y += next.y_next;
        add += next.add_next;
    }
}

#if !HAVE_BF16
/*
 * Applies the steps of a store to the sums of a row; the result has 16 bits, in the order of
 * PACK_16. NaN, which becomes the least integer, is 0 as U8.
 */
INLINE NAME(bytes)
    NAME(integer_words)(const struct cpu_integer_tile *t, const struct NAME(vectors) * v,
                        const bool is_u8, const char *add, const ivec *sum)
{
    const struct cpu_integer_store *s = t->store;
    vec x[2];

#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
        x[k] = (TO_FLOAT(sum[k]) + v->bias[k]) * v->scale[k];
        if (s->adds)
            x[k] += NAME(integer_load)(
                s->add_dtype, add + (t->column + k * LANES) * NAME(integer_size)(s->add_dtype),
                LANES);
        x[k] = CLIP(FMA(x[k], v->factor, v->term), v->low, v->high);
        if (!is_u8)
            x[k] = KNOWN(x[k]);
    }
    return PACK_16(ROUND(x[0]), ROUND(x[1]));
}

/* Applies the steps of a store to the sums of a tile, two rows at a time, and stores the bytes. */
INLINE void NAME(integer_finish)(const struct cpu_integer_tile *t, const bool is_u8, const int rows,
                                 ivec (*sum)[2])
{
    const struct NAME(vectors) v = NAME(integer_vectors)(t->store, t->column);
    const struct cpu_integer_place next = t->place;
    char *y = next.y + t->column;
    const char *add = next.add;

#pragma GCC unroll 7
    for (int i = 0; i < rows; i += 2, y += 2 * next.y_next, add += 2 * next.add_next) {
        const bool both = i + 1 < rows;
        const NAME(bytes) a = NAME(integer_words)(t, &v, is_u8, add, sum[i]);
        const NAME(bytes) b =
            both ? NAME(integer_words)(t, &v, is_u8, add + next.add_next, sum[i + both]) : a;
        const NAME(bytes) bytes = IN_ORDER(is_u8 ? PACK_U8(a, b) : PACK_I8(a, b));

        PUT_HALF(y, bytes, 0);
        if (both)
            PUT_HALF(y + next.y_next, bytes, 1);
    }
}
#endif

#ifndef DOT_WORDS
#define DOT_WORDS(c, a, b) (void)0
#endif

/* Adds the products of a tile to its sums; `words`: groups are two numbers of 16 bits. */
INLINE void NAME(integer_sums)(const struct cpu_integer_tile *t, const int rows, const bool words,
                               ivec (*sum)[2])
{
    const char *span = t->a;
    const int8_t *b = t->b;
    const int64_t ahead = words ? t->ahead : INTEGER_AHEAD;

    for (int64_t i = 0; i < t->spans; i++, span += t->a_span)
        for (const char *a = span; a < span + 4 * t->groups; a += 4, b += 2 * STEP) {
            const NAME(bytes) w0 = WEIGHTS(b), w1 = WEIGHTS(b + STEP);
            const char *row = a;

            if (words) { /* to the second-level cache */
                __builtin_prefetch(b + ahead, 0, 2);
                __builtin_prefetch(b + ahead + STEP, 0, 2);
            } else {
                __builtin_prefetch(b + ahead);
                __builtin_prefetch(b + ahead + STEP);
            }
#pragma GCC unroll 14
            for (int r = 0; r < rows; r++, row += t->a_row) {
                const NAME(bytes) x = SPLAT_GROUP(row);

                if (words) {
                    DOT_WORDS(sum[r][0], x, w0);
                    DOT_WORDS(sum[r][1], x, w1);
                } else {
                    DOT(sum[r][0], x, w0);
                    DOT(sum[r][1], x, w1);
                }
            }
        }
}

/* Stores the sums of a tile as they are. */
INLINE void NAME(integer_leave)(const struct cpu_integer_tile *t, const int rows, ivec (*sum)[2])
{
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        *(ivec *)(t->sums + i * INTEGER_MOST_COLUMNS) = sum[i][0];
        *(ivec *)(t->sums + i * INTEGER_MOST_COLUMNS + LANES) = sum[i][1];
    }
}

INLINE void NAME(integer_tile)(const struct cpu_integer_tile *t, const int rows)
{
    ivec sum[INTEGER_MOST_ROWS][2];

#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        sum[i][0] = *(const ivec *)t->first;
        sum[i][1] = *(const ivec *)(t->first + LANES);
    }
    NAME(integer_sums)(t, rows, false, sum);
    if (t->store && t->store->dtype == FERRY_F32) {
        NAME(integer_finish_floats)(t, FERRY_F32, rows, sum);
        return;
    }
#if HAVE_BF16
    if (t->store) {
        NAME(integer_finish_floats)(t, FERRY_BF16, rows, sum);
        return;
    }
#else
    if (t->store) {
        if (t->store->dtype == FERRY_U8)
            NAME(integer_finish)(t, true, rows, sum);
        else
            NAME(integer_finish)(t, false, rows, sum);
        return;
    }
#endif
    NAME(integer_leave)(t, rows, sum);
}
#endif

/* Applies a macro to each number of rows of a tile. */
#if MOST_ROWS > 12
#define EACH_ROWS(one)                                                                             \
    one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) one(12) one(13) \
        one(14)
#elif MOST_ROWS > 6
#define EACH_ROWS(one) \
    one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) one(12)
#else
#define EACH_ROWS(one) one(1) one(2) one(3) one(4) one(5) one(6)
#endif

#define TILE(n)                                                                 \
    TARGET static void NAME(integer_tile_##n)(const struct cpu_integer_tile *t) \
    {                                                                           \
        NAME(integer_tile)(t, n);                                               \
    }
EACH_ROWS(TILE)
#undef TILE

/* ---- conversions ----------------------------------------------------------------------------- */

TARGET static void NAME(integer_convert)(const struct cpu_integer_store *s, int64_t n,
                                         uint32_t dtype, const void *x, void *y)
{
    const int64_t x_size = NAME(integer_size)(dtype), size = NAME(integer_size)(s->dtype);
    const struct NAME(clip) clip = NAME(integer_clip)(s);

    for (int64_t i = 0; i < n; i += LANES) {
        int64_t some = n - i < LANES ? n - i : LANES;
        vec v = NAME(integer_load)(dtype, (const char *)x + i * x_size, some);

        NAME(integer_put)(s->dtype, &clip, v, some, (char *)y + i * size);
    }
}

#if !HAVE_BF16
#include "integer_affine_impl.h"
#include "integer_depthwise_impl.h"
#include "integer_pool_impl.h"
#if HAVE_VNNI && !HAVE_NEON
#include "integer_winograd_impl.h"
#endif
#endif

static const struct cpu_integer_loops NAME(integer_loops) = {
    .columns = COLUMNS,
    .rows = MOST_ROWS,
    .group = GROUP,
    .unit = UNIT,
    .is_wide = !HAVE_VNNI || HAVE_BF16,
    .is_bf16 = HAVE_BF16,
    .stores = !HAVE_NEON,
    .shift = { HAVE_VNNI ? SHIFT_U8 : 0, HAVE_VNNI && !HAVE_BF16 ? SHIFT_I8 : 0 },
    .line_shift = { SHIFT_U8, SHIFT_I8 },
#define TILE(n) [n] = NAME(integer_tile_##n),
    .micro = { EACH_ROWS(TILE) },
#undef TILE
    .bring = NAME(integer_bring),
#if HAVE_BF16
    .bring_planes = NAME(bring_planes),
#endif
#if HAVE_NEON
    .mix = NAME(integer_mix),
#endif
    .store = NAME(integer_store),
    .convert = NAME(integer_convert),
#if !HAVE_BF16
    .affine = NAME(integer_affine),
    .pixels = NAME(integer_pixels),
    .most = NAME(integer_most),
    .total = NAME(integer_total),
    .bytes = BYTES,
    .depthwise = NAME(integer_depthwise),
    .line = NAME(integer_line),
#if HAVE_VNNI && !HAVE_NEON
    .winograd = &NAME(integer_winograd),
#endif
#endif
};
