/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of integer_impl.h, which includes this file, for NEON: vectors of bytes, and tiles of
 * products. HAVE_I8MM is 1 for products of matrices (SMMLA), 0 for products by element (SDOT). No
 * include guard.
 *
 * Both multiply signed bytes, so U8 is stored minus 128. A vector of a has the bytes of one group
 * of k for each row of a unit: four bytes of four rows, or eight bytes of two.
 */

#define TO_FLOAT(v)  ((vec)vcvtq_f32_s32((int32x4_t)(v)))
#define OF_U8(p)     vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(NAME(four_bytes)(p)))))
#define OF_I8(p)     vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(NAME(four_bytes)(p)))))
#define KNOWN(v)     ((vec)((ivec)(v) & (ivec)((v) == (v))))
#define ROUND_16(v)  vmovn_s32(vcvtnq_s32_f32((float32x4_t)(v)))
#define TWICE(v)     vcombine_s16(v, v)
#define PUT_U8(p, v) NAME(put_four)(p, vqmovun_s16(TWICE(ROUND_16(v))))
#define PUT_I8(p, v) NAME(put_four)(p, vreinterpret_u8_s8(vqmovn_s16(TWICE(ROUND_16(v)))))
typedef int8x16_t NAME(bytes);
#define BYTES           16
#define LOAD_BYTES(p)   vld1q_s8((const int8_t *)(p))
#define PUT_BYTES(p, v) vst1q_s8((int8_t *)(p), v)
#define MAX_U8(a, b)    ((NAME(bytes))vmaxq_u8((uint8x16_t)(a), (uint8x16_t)(b)))
#define FLIP(v)         veorq_s8(v, vdupq_n_s8((int8_t)-128))
#define FLIPS(signed)   (!(signed))
#define SHIFT_U8        -128
#define SHIFT_I8        0
#define GROUP           (HAVE_I8MM ? 8 : 4)
#define DOT(c, a, b)    ((c) = (ivec)vdotq_s32((int32x4_t)(c), a, b))

INLINE uint8x8_t NAME(four_bytes)(const void *p)
{
    uint32_t word;

    memcpy(&word, p, sizeof(word));
    return vreinterpret_u8_u32(vdup_n_u32(word));
}

INLINE void NAME(put_four)(void *p, uint8x8_t v)
{
    uint32_t word = vget_lane_u32(vreinterpret_u32_u8(v), 0);

    memcpy(p, &word, sizeof(word));
}

/* ---- rows ----------------------------------------------------------------------------------- */

#define ZIP_4(half, a, b) ((NAME(bytes))vzip##half##q_s32((int32x4_t)(a), (int32x4_t)(b)))
#define ZIP_8(half, a, b) ((NAME(bytes))vzip##half##q_s64((int64x2_t)(a), (int64x2_t)(b)))

/* Interleaves the rows of a unit, each of `bytes` bytes, whole vectors. */
TARGET static void NAME(integer_mix)(int64_t bytes, const char *from, char *to)
{
    for (int64_t i = 0; i < bytes; i += BYTES, to += UNIT * BYTES) {
        const NAME(bytes) x0 = LOAD_BYTES(from + i), x1 = LOAD_BYTES(from + bytes + i);
#if HAVE_I8MM
        PUT_BYTES(to, ZIP_8(1, x0, x1));
        PUT_BYTES(to + BYTES, ZIP_8(2, x0, x1));
#else
        const NAME(bytes) x2 = LOAD_BYTES(from + 2 * bytes + i);
        const NAME(bytes) x3 = LOAD_BYTES(from + 3 * bytes + i);
        const NAME(bytes) low = ZIP_4(1, x0, x1), high = ZIP_4(2, x0, x1);
        const NAME(bytes) low_2 = ZIP_4(1, x2, x3), high_2 = ZIP_4(2, x2, x3);

        PUT_BYTES(to, ZIP_8(1, low, low_2));
        PUT_BYTES(to + BYTES, ZIP_8(2, low, low_2));
        PUT_BYTES(to + 2 * BYTES, ZIP_8(1, high, high_2));
        PUT_BYTES(to + 3 * BYTES, ZIP_8(2, high, high_2));
#endif
    }
}

/* ---- products ------------------------------------------------------------------------------- */

#if HAVE_I8MM
/* Adds the products of a group of k, whose bytes of the first unit are at x. */
INLINE void NAME(integer_group)(const int8_t *x, int64_t row, const int8_t *b, const int units,
                                int32x4_t (*sum)[4])
{
    const int8x16_t w0 = LOAD_BYTES(b), w1 = LOAD_BYTES(b + BYTES);
    const int8x16_t w2 = LOAD_BYTES(b + 2 * BYTES), w3 = LOAD_BYTES(b + 3 * BYTES);

#pragma GCC unroll 6
    for (int i = 0; i < units; i++) {
        const int8x16_t v = LOAD_BYTES(x + i * 2 * row);

        sum[i][0] = vmmlaq_s32(sum[i][0], v, w0);
        sum[i][1] = vmmlaq_s32(sum[i][1], v, w1);
        sum[i][2] = vmmlaq_s32(sum[i][2], v, w2);
        sum[i][3] = vmmlaq_s32(sum[i][3], v, w3);
    }
}

/*
 * Products of two rows and eight bytes of k; a sum has 2 rows × 2 columns. Few rows have a second
 * set of sums, for every second group of k: else each product would wait for the last one.
 */
INLINE void NAME(integer_tile)(const struct cpu_integer_tile *t, const int rows)
{
    const int units = (rows + 1) / 2;
    const bool is_short = units <= 2;
    int32x4_t sum[MOST_ROWS / 2][4], more[MOST_ROWS / 2][4];
    const int8_t *a = (const int8_t *)t->a, *end = a + t->groups * BYTES, *b = t->b;

#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        const int32x2_t first = vld1_s32(t->first + 2 * j);

#pragma GCC unroll 6
        for (int i = 0; i < units; i++) {
            sum[i][j] = vcombine_s32(first, first);
            more[i][j] = vdupq_n_s32(0);
        }
    }
    for (; is_short && a + BYTES < end; a += 2 * BYTES, b += 8 * BYTES) {
        NAME(integer_group)(a, t->a_row, b, units, sum);
        NAME(integer_group)(a + BYTES, t->a_row, b + 4 * BYTES, units, more);
    }
    if (is_short && a < end)
        NAME(integer_group)(a, t->a_row, b, units, sum);
    for (; !is_short && a < end; a += BYTES, b += 4 * BYTES)
        NAME(integer_group)(a, t->a_row, b, units, sum);
#pragma GCC unroll 6
    for (int i = 0; i < units; i++) {
        int32_t *sums = t->sums + 2 * i * INTEGER_MOST_COLUMNS;

#pragma GCC unroll 4
        for (int j = 0; is_short && j < 4; j++)
            sum[i][j] = vaddq_s32(sum[i][j], more[i][j]);
        *(ivec *)sums = (ivec)ZIP_8(1, sum[i][0], sum[i][1]);
        *(ivec *)(sums + LANES) = (ivec)ZIP_8(1, sum[i][2], sum[i][3]);
        *(ivec *)(sums + INTEGER_MOST_COLUMNS) = (ivec)ZIP_8(2, sum[i][0], sum[i][1]);
        *(ivec *)(sums + INTEGER_MOST_COLUMNS + LANES) = (ivec)ZIP_8(2, sum[i][2], sum[i][3]);
    }
}
#else
/* Adds the products of row `lane` of unit i. */
#define ADD_ROW(lane)                                                                  \
    if (4 * i + (lane) < rows) {                                                       \
        sum[4 * i + (lane)][0] = vdotq_laneq_s32(sum[4 * i + (lane)][0], w0, x, lane); \
        sum[4 * i + (lane)][1] = vdotq_laneq_s32(sum[4 * i + (lane)][1], w1, x, lane); \
    }

/* Products of four bytes of k of one row, which multiply four columns. */
INLINE void NAME(integer_tile)(const struct cpu_integer_tile *t, const int rows)
{
    int32x4_t sum[MOST_ROWS][2];
    const int8_t *b = t->b;

#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        sum[i][0] = vld1q_s32(t->first);
        sum[i][1] = vld1q_s32(t->first + LANES);
    }
    for (int64_t at = 0; at < t->groups * BYTES; at += BYTES, b += 2 * BYTES) {
        const int8x16_t w0 = LOAD_BYTES(b), w1 = LOAD_BYTES(b + BYTES);

#pragma GCC unroll 3
        for (int i = 0; i < (rows + 3) / 4; i++) {
            const int8x16_t x = LOAD_BYTES(t->a + i * 4 * t->a_row + at);

            ADD_ROW(0)
            ADD_ROW(1)
            ADD_ROW(2)
            ADD_ROW(3)
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        vst1q_s32(t->sums + i * INTEGER_MOST_COLUMNS, sum[i][0]);
        vst1q_s32(t->sums + i * INTEGER_MOST_COLUMNS + LANES, sum[i][1]);
    }
}
#undef ADD_ROW
#endif
