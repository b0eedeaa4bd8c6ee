/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Depthwise convolutions of bytes for an instruction set: see integer_impl.h, which includes this
 * file. No include guard.
 *
 * The bytes of four taps are interleaved, so that one instruction adds four products to the sum of
 * a channel. Interleaving works within lanes of 16 bytes: vector v of the four results has channels
 * 4v … 4v + 3 of each lane, and packing the sums to bytes restores the order of channels. Bytes of
 * I8 are read plus 128, for NEON those of U8 minus 128; the sums' first values cancel it.
 */

#if HAVE_AVX512
#define MIX(size, half, a, b)   _mm512_unpack##half##_epi##size(a, b)
#define LOAD_BYTES_SOME(p, n)   _mm512_maskz_loadu_epi8(~UINT64_C(0) >> (64 - (n)), p)
#define PUT_BYTES_SOME(p, n, v) _mm512_mask_storeu_epi8(p, ~UINT64_C(0) >> (64 - (n)), v)
#define WORDS(v)                ((NAME(words))(v))
typedef int16_t __attribute__((vector_size(64))) NAME(words);
#define MADD(a, b) ((ivec)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#elif HAVE_NEON
#define MIX(size, half, a, b) MIX_##size##_##half(a, b)
#define MIX_8_lo(a, b)        vzip1q_s8(a, b)
#define MIX_8_hi(a, b)        vzip2q_s8(a, b)
#define MIX_16_lo(a, b)       ((NAME(bytes))vzip1q_s16((int16x8_t)(a), (int16x8_t)(b)))
#define MIX_16_hi(a, b)       ((NAME(bytes))vzip2q_s16((int16x8_t)(a), (int16x8_t)(b)))
#define PACK_16(a, b) \
    ((NAME(bytes))vcombine_s16(vqmovn_s32((int32x4_t)(a)), vqmovn_s32((int32x4_t)(b))))
#define PACK_U8(a, b) \
    ((NAME(bytes))vcombine_u8(vqmovun_s16((int16x8_t)(a)), vqmovun_s16((int16x8_t)(b))))
#define PACK_I8(a, b) vcombine_s8(vqmovn_s16((int16x8_t)(a)), vqmovn_s16((int16x8_t)(b)))
#define ROUND(v)      ((NAME(bytes))vcvtnq_s32_f32((float32x4_t)(v)))
#else
#define MIX(size, half, a, b) _mm256_unpack##half##_epi##size(a, b)
#define WORDS(v)              ((NAME(words))(v))
typedef int16_t __attribute__((vector_size(32))) NAME(words);
#define MADD(a, b)            ((ivec)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#endif
#if !HAVE_AVX512
#define LOAD_BYTES_SOME(p, n)   NAME(load_bytes)(p, n)
#define PUT_BYTES_SOME(p, n, v) NAME(put_bytes)(p, n, v)

INLINE NAME(bytes) NAME(load_bytes)(const uint8_t *p, int64_t n)
{
    uint8_t last[BYTES] = { 0 };

    memcpy(last, p, (size_t)n);
    return LOAD_BYTES(last);
}

INLINE void NAME(put_bytes)(uint8_t *p, int64_t n, NAME(bytes) v)
{
    uint8_t last[BYTES];

    PUT_BYTES(last, v);
    memcpy(p, last, (size_t)n);
}
#endif

/* Adds the products of four bytes: x is unsigned, w signed. */
INLINE ivec NAME(dot)(ivec sum, NAME(bytes) x, NAME(bytes) w)
{
#if HAVE_VNNI
    DOT(sum, x, w);
    return sum;
#else
    const NAME(words) low = WORDS(x) & 255, high = (WORDS(x) >> 8) & 255;

    return sum + MADD(low, WORDS(w) << 8 >> 8) + MADD(high, WORDS(w) >> 8);
#endif
}

/* Adds four taps to the sums. */
INLINE void NAME(depthwise_quad)(const uint8_t *const *tap, int64_t at, int64_t n,
                                 const bool is_signed, const NAME(bytes) w[4], ivec sum[4])
{
    NAME(bytes) x[4], low[2], high[2];

#pragma GCC unroll 4
    for (int t = 0; t < 4; t++) {
        x[t] = n == BYTES ? LOAD_BYTES(tap[t] + at) : LOAD_BYTES_SOME(tap[t] + at, n);
        if (FLIPS(is_signed))
            x[t] = FLIP(x[t]);
    }
#pragma GCC unroll 2
    for (int t = 0; t < 2; t++) {
        low[t] = MIX(8, lo, x[2 * t], x[2 * t + 1]);
        high[t] = MIX(8, hi, x[2 * t], x[2 * t + 1]);
    }
    sum[0] = NAME(dot)(sum[0], MIX(16, lo, low[0], low[1]), w[0]);
    sum[1] = NAME(dot)(sum[1], MIX(16, hi, low[0], low[1]), w[1]);
    sum[2] = NAME(dot)(sum[2], MIX(16, lo, high[0], high[1]), w[2]);
    sum[3] = NAME(dot)(sum[3], MIX(16, hi, high[0], high[1]), w[3]);
}

/* Computes the sums of `n` channels; `at` is the offset of the pixel and channel in x. */
INLINE void NAME(depthwise_sums)(const struct cpu_integer_line *l, const int64_t quads, int64_t at,
                                 int64_t n, const bool is_signed, const char *packed, ivec sum[4])
{
    const char *w = packed + 4 * BYTES;

#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        sum[v] = *(const ivec *)(packed + v * BYTES);
#pragma GCC unroll 3
    for (int64_t q = 0; q < quads; q++, w += 4 * BYTES) {
        const NAME(bytes)
            weights[4] = { LOAD_BYTES((const void *)w), LOAD_BYTES((const void *)(w + BYTES)),
                           LOAD_BYTES((const void *)(w + 2 * BYTES)),
                           LOAD_BYTES((const void *)(w + 3 * BYTES)) };

        NAME(depthwise_quad)(l->tap + 4 * q, at, n, is_signed, weights, sum);
    }
}

/* Computes the sums of one pixel in the order of channels. */
TARGET static void NAME(integer_depthwise)(const struct cpu_integer_line *l, int64_t at, int64_t n,
                                           const char *packed, int32_t *sums)
{
    int32_t mixed[BYTES];
    ivec sum[4];

    NAME(depthwise_sums)(l, l->quads, at, n, l->is_signed, packed, sum);
    for (int v = 0; v < 4; v++)
        *(ivec *)(mixed + v * LANES) = sum[v];
    for (int i = 0; i < BYTES; i++)
        sums[i] = mixed[i % 16 / 4 * LANES + i / 16 * 4 + i % 4];
}

/* The constants of the steps of a group of channels, in the order of the sums. */
struct NAME(line_steps) {
    vec bias[4], scale[4], least, most;
};

/* Applies the steps to the sums, and stores `n` bytes. */
INLINE void NAME(depthwise_put)(const struct NAME(line_steps) * s, const bool is_u8,
                                const ivec sum[4], int64_t n, uint8_t *y)
{
    NAME(bytes) whole[4], bytes;

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        vec v = (TO_FLOAT(sum[i]) + s->bias[i]) * s->scale[i];

        if (!is_u8) /* NaN rounds to a number below all others, which is 0 only for U8 */
            v = KNOWN(v);
        v = CLIP(v, s->least, s->most);
        whole[i] = ROUND(v);
    }
    whole[0] = PACK_16(whole[0], whole[1]);
    whole[2] = PACK_16(whole[2], whole[3]);
    bytes = is_u8 ? PACK_U8(whole[0], whole[2]) : PACK_I8(whole[0], whole[2]);
    if (n == BYTES)
        PUT_BYTES((void *)y, bytes);
    else
        PUT_BYTES_SOME(y, n, bytes);
}

/* Computes all pixels of a line for the `n` channels from `c` on. */
INLINE void NAME(depthwise_group)(const struct cpu_integer_line *l, const int64_t quads, int64_t c,
                                  int64_t n, const bool is_signed, const bool is_u8, int64_t number)
{
    const char *packed = l->packed + number * l->packed_bytes;
    struct NAME(line_steps) s = { .least = SPLAT(l->least), .most = SPLAT(l->most) };

    for (int v = 0; v < 4; v++) {
        s.bias[v] = LOAD(l->bias + number * BYTES + v * LANES);
        s.scale[v] = LOAD(l->scale + number * BYTES + v * LANES);
    }
    for (int64_t i = 0; i < l->pixels; i++) {
        ivec sum[4];

        NAME(depthwise_sums)(l, quads, i * l->x_next + c, n, is_signed, packed, sum);
        NAME(depthwise_put)(&s, is_u8, sum, n, l->y + i * l->y_next + c);
    }
}

/* Computes all pixels of a line for the `n` channels from `c` on; selects the function. */
INLINE void NAME(depthwise_any)(const struct cpu_integer_line *l, int64_t c, int64_t n,
                                int64_t number)
{
    const bool is_plain = l->is_u8 && !l->is_signed;

    if (is_plain && l->quads == 3 && n == BYTES)
        NAME(depthwise_group)(l, 3, c, BYTES, false, true, number);
    else if (is_plain)
        NAME(depthwise_group)(l, l->quads, c, n, false, true, number);
    else if (l->is_u8)
        NAME(depthwise_group)(l, l->quads, c, n, l->is_signed, true, number);
    else
        NAME(depthwise_group)(l, l->quads, c, n, l->is_signed, false, number);
}

/* Computes a line whose steps are bias, scale and bounds, and whose y is U8 or I8. */
TARGET static void NAME(integer_line)(const struct cpu_integer_line *l)
{
    struct cpu_integer_line part = *l;
    int64_t done = 0;

    if (l->together > 1) { /* several pixels as one, then the others */
        part.pixels = l->pixels / l->together;
        part.x_next = part.y_next = BYTES;
        NAME(depthwise_any)(&part, 0, BYTES, 0);
        done = part.pixels * BYTES;
        part.pixels = l->pixels % l->together;
        part.x_next = part.y_next = l->channels;
    }
    for (int64_t c = 0, g = 0; c < l->channels; c += BYTES, g++) {
        int64_t n = l->channels < BYTES ? l->channels : BYTES;

        if (c + n > l->channels)
            c = l->channels - n;
        NAME(depthwise_any)(&part, done + c, n, g);
    }
}
