/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The micro-kernels: up to MOST_ROWS rows of a, times a panel of b of one or two vectors' width, in
 * registers over the whole depth. An instruction set's file includes this once for each form of b,
 * after defining the macros of vector.h; FORM(function), which makes the names of a form; and
 * WIDENS, 1 for a b of BF16 that is widened here, 2 for one of F16, else 0. No include guard.
 *
 * A pointer is used for three rows of a. The compiler is prevented from deriving one pointer from
 * another, which would make it use a register for each row, and from folding the load of an element
 * of a into both of its multiplications.
 */

/* Row i: its pointer, and the number of rows after it. */
#define ROWS_1(X)  X(0, 0, 0)
#define ROWS_2(X)  ROWS_1(X) X(1, 0, 1)
#define ROWS_3(X)  ROWS_2(X) X(2, 0, 2)
#define ROWS_4(X)  ROWS_3(X) X(3, 1, 0)
#define ROWS_5(X)  ROWS_4(X) X(4, 1, 1)
#define ROWS_6(X)  ROWS_5(X) X(5, 1, 2)
#define ROWS_7(X)  ROWS_6(X) X(6, 2, 0)
#define ROWS_8(X)  ROWS_7(X) X(7, 2, 1)
#define ROWS_9(X)  ROWS_8(X) X(8, 2, 2)
#define ROWS_10(X) ROWS_9(X) X(9, 3, 0)
#define ROWS_11(X) ROWS_10(X) X(10, 3, 1)
#define ROWS_12(X) ROWS_11(X) X(11, 3, 2)
#define ROWS_13(X) ROWS_12(X) X(12, 4, 0)
#define ROWS_14(X) ROWS_13(X) X(13, 4, 1)

/*
 * The number of rows of b to prefetch ahead; they may come from the third-level cache, in which
 * case the first tile of a panel waits for them.
 */
#undef AHEAD
#undef AHEAD_2
#define AHEAD (WIDENS ? 48 : 24)
#if LANES == 16 && !WIDENS
#define AHEAD_2(b)                               \
    __builtin_prefetch((b) + AHEAD * B_STEP(2)); \
    __builtin_prefetch((b) + AHEAD * B_STEP(2) + LANES)
#else
#define AHEAD_2(b) __builtin_prefetch((b) + AHEAD * B_STEP(2))
#endif
#define AHEAD_1(b) __builtin_prefetch((b) + AHEAD * B_STEP(1))

/*
 * The stride of a row of b in floats, and the load of a row. With BF16, a word has the numbers of
 * columns j and j + LANES of a panel two vectors wide.
 */
#undef B_STEP
#undef B_1
#undef B_2
#if WIDENS == 2
#define B_STEP(wide) ((wide)*LANES / 2)
#define B_1(p)       vec b0 = WIDEN_F16(p)
#define B_2(p)       vec b0 = WIDEN_F16(p), b1 = WIDEN_F16((p) + LANES / 2)
#elif WIDENS
#define B_STEP(wide) ((wide)*LANES / 2)
#define B_1(p)       vec b0 = WIDEN(p)
#define B_2(p)                            \
    const ivec both = *(const ivec *)(p); \
    vec b0 = (vec)(both << 16), b1 = (vec)(both & (int32_t)0xffff0000)
#else
#define B_STEP(wide) ((wide)*LANES)
#define B_1(p)       WIDE_1(p)
#define B_2(p)       WIDE_2(p)
#endif

/*
 * The last vector of a panel, without the columns that do not exist: they are neither read nor
 * written.
 */
#undef LAST_LANES
#undef LOAD_LAST
#undef STORE_LAST
#if HAVE_AVX512
#define LAST_LANES(missing) const __mmask16 last = (__mmask16)(0xffff >> (missing))
#define LOAD_LAST(p)        ((vec)_mm512_maskz_loadu_ps(last, (p)))
#define STORE_LAST(p, v)    _mm512_mask_storeu_ps((p), last, (__m512)(v))
#else
#define LAST_LANES(missing) const int64_t last = LANES - (missing)
#define LOAD_LAST(p)        (last == LANES ? LOAD(p) : LOAD_SOME(p, last))
#define STORE_LAST(p, v)            \
    do {                            \
        if (last == LANES)          \
            STORE(p, v);            \
        else                        \
            STORE_SOME(p, last, v); \
    } while (0)
#endif

/* ---- a row, two vectors wide ---------------------------------------------------------------- */

#define ZERO_2(i, p, r) vec c##i##_0 = { 0 }, c##i##_1 = { 0 };
#define LOAD_2(i, p, r)                   \
    c##i##_0 = LOAD(sums + i * sums_row); \
    c##i##_1 = LOAD(sums + i * sums_row + LANES);
/* Prefetches the store's destination while the sums are computed. */
#define FETCH_2(i, p, r)                  \
    PREFETCH_TO_WRITE(y[i] + column); \
    if (LANES > 8)                        \
        PREFETCH_TO_WRITE(y[i] + column + LANES);
#define FETCH_ADD_2(i, p, r)                   \
    __builtin_prefetch(t->add[i] + adding); \
    if (LANES > 8)                             \
        __builtin_prefetch(t->add[i] + adding + LANES);
#define MULTIPLY_2(i, p, r)           \
    {                                 \
        vec v = SPLAT(a##p[(r)*row]); \
                                      \
        OPAQUE_VECTOR(v);             \
        FMA_ONTO(v, b0, c##i##_0);    \
        FMA_ONTO(v, b1, c##i##_1);    \
    }
#define SUM_2(i, p, r)                    \
    STORE(sums + i * sums_row, c##i##_0); \
    STORE(sums + i * sums_row + LANES, c##i##_1);
#define BIAS_2(i, p, r) \
    c##i##_0 = b0;      \
    c##i##_1 = b1;
#define ADD_BIAS_2(i, p, r) \
    c##i##_0 += b0;         \
    c##i##_1 += b1;
#define SCALE_2(i, p, r) \
    c##i##_0 *= b0;      \
    c##i##_1 *= b1;
#define ADD_2(i, p, r)                    \
    c##i##_0 += LOAD(t->add[i] + adding); \
    c##i##_1 += LOAD_LAST(t->add[i] + adding + LANES);
#define RELU_2(i, p, r)                                  \
    c##i##_0 = SELECT_POSITIVE(c##i##_0, c##i##_0 * b0); \
    c##i##_1 = SELECT_POSITIVE(c##i##_1, c##i##_1 * b0);
#define PRELU_2(i, p, r)                                 \
    c##i##_0 = SELECT_POSITIVE(c##i##_0, c##i##_0 * b0); \
    c##i##_1 = SELECT_POSITIVE(c##i##_1, c##i##_1 * b1);
#define POSITIVE_2(i, p, r)        \
    c##i##_0 = MOST(c##i##_0, b0); \
    c##i##_1 = MOST(c##i##_1, b0);
#define CLIP_2(i, p, r)                \
    c##i##_0 = CLIP(c##i##_0, b0, b1); \
    c##i##_1 = CLIP(c##i##_1, b0, b1);
#define STORE_2(i, p, r)                  \
    {                                     \
        float *to = y[i] + column;        \
                                          \
        STORE(to, c##i##_0);              \
        STORE_LAST(to + LANES, c##i##_1); \
    }
#define WIDE_2(p)    vec b0 = LOAD(p), b1 = LOAD((p) + LANES)
#define OPERAND_2(p) vec b0 = LOAD(p), b1 = LOAD_LAST((p) + LANES)

/* ---- a row, one vector wide ----------------------------------------------------------------- */

#define ZERO_1(i, p, r)     vec c##i = { 0 };
#define LOAD_1(i, p, r)     c##i = LOAD(sums + i * sums_row);
#define FETCH_1(i, p, r)    PREFETCH_TO_WRITE(y[i] + column);
#define FETCH_ADD_1(i, p, r) __builtin_prefetch(t->add[i] + adding);
#define MULTIPLY_1(i, p, r) c##i = FMA(SPLAT(a##p[(r)*row]), b0, c##i);
#define SUM_1(i, p, r)      STORE(sums + i * sums_row, c##i);
#define BIAS_1(i, p, r)     c##i = b0;
#define ADD_BIAS_1(i, p, r) c##i += b0;
#define SCALE_1(i, p, r)    c##i *= b0;
#define ADD_1(i, p, r)       c##i += LOAD_LAST(t->add[i] + adding);
#define RELU_1(i, p, r)     c##i = SELECT_POSITIVE(c##i, c##i * b0);
#define PRELU_1(i, p, r)    c##i = SELECT_POSITIVE(c##i, c##i * b0);
#define POSITIVE_1(i, p, r) c##i = MOST(c##i, b0);
#define CLIP_1(i, p, r)     c##i = CLIP(c##i, b0, b1);
#define STORE_1(i, p, r)     STORE_LAST(y[i] + column, c##i);
#define WIDE_1(p)           vec b0 = LOAD(p)
#define OPERAND_1(p)         vec b0 = LOAD_LAST(p)

/* ---- NEON ----------------------------------------------------------------------------------- */

/*
 * NEON multiplies by any element of a register: one load of a row serves two rows of b, which
 * leaves the decoder, four instructions wide, room for the multiply-adds. The loads are part of the
 * assembly, because the compiler moves separate loads up until they need more registers than exist.
 */
/* clang-format off */
#if HAVE_NEON
#undef MULTIPLY_2
#define MULTIPLY_2(i, p, r)                                                                      \
    {                                                                                            \
        register float32x4_t v __asm__("v31");                                                   \
                                                                                                 \
        __asm__("ldr %s2, %3\n\t"                                                                \
                "fmla %0.4s, %4.4s, %2.s[0]\n\t"                                                 \
                "fmla %1.4s, %5.4s, %2.s[0]"                                                     \
                : "+w"(c##i##_0), "+w"(c##i##_1), "=&w"(v)                                       \
                : "m"(a##p[(r)*row]), "w"(b0), "w"(b1));                                         \
    }
#undef MULTIPLY_1
#define MULTIPLY_1(i, p, r)                                                                      \
    {                                                                                            \
        register float32x4_t v __asm__("v31");                                                   \
                                                                                                 \
        __asm__("ldr %s1, %2\n\t"                                                                \
                "fmla %0.4s, %3.4s, %1.s[0]"                                                     \
                : "+w"(c##i), "=&w"(v)                                                           \
                : "m"(a##p[(r)*row]), "w"(b0));                                                  \
    }
#define PAIR_2(i, p, r)                                                                          \
    {                                                                                            \
        register float32x4_t v __asm__("v31");                                                   \
                                                                                                 \
        __asm__("ldr %d2, %3\n\t"                                                                \
                "fmla %0.4s, %4.4s, %2.s[0]\n\t"                                                 \
                "fmla %1.4s, %5.4s, %2.s[0]\n\t"                                                 \
                "fmla %0.4s, %6.4s, %2.s[1]\n\t"                                                 \
                "fmla %1.4s, %7.4s, %2.s[1]"                                                     \
                : "+w"(c##i##_0), "+w"(c##i##_1), "=&w"(v)                                       \
                : "m"(*(const vec_2 *)(a##p + (r)*row)), "w"(b0), "w"(b1), "w"(b2), "w"(b3));    \
    }
#define PAIR_1(i, p, r)                                                                          \
    {                                                                                            \
        register float32x4_t v __asm__("v31");                                                   \
                                                                                                 \
        __asm__("ldr %d1, %2\n\t"                                                                \
                "fmla %0.4s, %3.4s, %1.s[0]\n\t"                                                 \
                "fmla %0.4s, %4.4s, %1.s[1]"                                                     \
                : "+w"(c##i), "=&w"(v)                                                           \
                : "m"(*(const vec_2 *)(a##p + (r)*row)), "w"(b0), "w"(b1));                      \
    }
#define DEEP_2(p) const vec b0 = LOAD(p), b1 = LOAD((p) + LANES);                                \
                  const vec b2 = LOAD((p) + 2 * LANES), b3 = LOAD((p) + 3 * LANES)
#define DEEP_1(p) const vec b0 = LOAD(p), b1 = LOAD((p) + LANES)
#define PAIRS(m, wide)                                                                           \
    for (; b + (wide) * LANES < end; b += 2 * (wide) * LANES) {                                  \
        DEEP_##wide(b);                                                                          \
                                                                                                 \
        AHEAD_##wide(b);                                                                         \
        OPAQUE(a0);                                                                              \
        OPAQUE(a1);                                                                              \
        OPAQUE(a2);                                                                              \
        OPAQUE(a3);                                                                              \
        OPAQUE(a4);                                                                              \
        ROWS_##m(PAIR_##wide)                                                                    \
        a0 += 2;                                                                                 \
        a1 += 2;                                                                                 \
        a2 += 2;                                                                                 \
        a3 += 2;                                                                                 \
        a4 += 2;                                                                                 \
    }
#else
#define PAIRS(m, wide)
#endif
/* clang-format on */

/* ---- the kernel ----------------------------------------------------------------------------- */

/* The formatter would treat the rows as expressions. */
/* clang-format off */
#define MICRO(m, wide)                                                                           \
    TARGET static void FORM(micro_##wide##_##m)(const struct cpu_tile *t)                        \
    {                                                                                            \
        const int64_t row = t->a_row, sums_row = t->sums_row;                                    \
        const struct cpu_store *s = t->store;                                                    \
        float *const *y = t->y;                                                                  \
        float *sums = t->sums;                                                                   \
        LAST_LANES(t->missing);                                                                  \
                                                                                                 \
        for (int64_t tile = 0; tile < t->tiles; tile++) {                                        \
            const float *a0 = t->a + tile * (m) * row, *a1 = a0 + 3 * row, *a2 = a0 + 6 * row;   \
            const float *a3 = a0 + 9 * row, *a4 = a0 + 12 * row, *b = t->b;                      \
            const int64_t column = t->column + tile * t->y_step;                                 \
            int64_t spans = t->spans, left = t->line, jump;                                      \
            const int64_t ahead = t->ahead;                                                      \
            const float *next = ahead ? t->next + tile * (m) * row : a0;                         \
            ROWS_##m(ZERO_##wide)                                                                \
                                                                                                 \
            if (!t->first) {                                                                     \
                ROWS_##m(LOAD_##wide)                                                            \
            }                                                                                    \
            if (!t->first && t->bias) {                                                          \
                OPERAND_##wide(t->bias + t->column);                                             \
                                                                                                 \
                ROWS_##m(ADD_BIAS_##wide)                                                        \
            } else if (t->bias) {                                                                \
                OPERAND_##wide(t->bias + t->column);                                             \
                                                                                                 \
                ROWS_##m(BIAS_##wide)                                                            \
            }                                                                                    \
            if (s) {                                                                             \
                ROWS_##m(FETCH_##wide)                                                           \
            }                                                                                    \
            if (s && s->adds) {                                                                  \
                const int64_t adding = t->column + tile * t->add_step;                           \
                                                                                                 \
                ROWS_##m(FETCH_ADD_##wide)                                                       \
            }                                                                                    \
            for (; spans > 0; spans--) {                                                         \
                const float *end = b + t->span * B_STEP(wide);                                   \
                                                                                                 \
                PAIRS(m, wide)                                                                   \
                for (; b < end; b += B_STEP(wide)) {                                             \
                    B_##wide(b);                                                                 \
                                                                                                 \
                    AHEAD_##wide(b);                                                             \
                    __builtin_prefetch(next, 0, 2);                                              \
                    next += ahead;                                                               \
                    OPAQUE(a0);                                                                  \
                    OPAQUE(a1);                                                                  \
                    OPAQUE(a2);                                                                  \
                    OPAQUE(a3);                                                                  \
                    OPAQUE(a4);                                                                  \
                    ROWS_##m(MULTIPLY_##wide)                                                    \
                    a0++;                                                                        \
                    a1++;                                                                        \
                    a2++;                                                                        \
                    a3++;                                                                        \
                    a4++;                                                                        \
                }                                                                                \
                jump = --left ? t->jump : t->jump + t->line_jump;                                \
                left = left ? left : t->line;                                                    \
                a0 += jump;                                                                      \
                a1 += jump;                                                                      \
                a2 += jump;                                                                      \
                a3 += jump;                                                                      \
                a4 += jump;                                                                      \
            }                                                                                    \
            if (!s) {                                                                            \
                ROWS_##m(SUM_##wide)                                                             \
                return;                                                                          \
            }                                                                                    \
            if (s->scales) {                                                                     \
                OPERAND_##wide(s->scales + t->column);                                           \
                                                                                                 \
                ROWS_##m(SCALE_##wide)                                                           \
            }                                                                                    \
            if (s->adds) {                                                                       \
                const int64_t adding = t->column + tile * t->add_step;                           \
                                                                                                 \
                ROWS_##m(ADD_##wide)                                                             \
            }                                                                                    \
            if (s->clamp == CPU_CLAMP_POSITIVE) {                                                \
                vec b0 = { 0 };                                                                  \
                                                                                                 \
                ROWS_##m(POSITIVE_##wide)                                                        \
            } else if (s->clamp == CPU_CLAMP_RELU) {                                             \
                vec b0 = SPLAT(s->slope);                                                        \
                                                                                                 \
                ROWS_##m(RELU_##wide)                                                            \
            } else if (s->clamp == CPU_CLAMP_PRELU) {                                            \
                OPERAND_##wide(s->slopes + t->column);                                           \
                                                                                                 \
                ROWS_##m(PRELU_##wide)                                                           \
            } else if (s->clamp == CPU_CLAMP_CLIP) {                                             \
                vec b0 = SPLAT(s->least), b1 = SPLAT(s->most);                                   \
                                                                                                 \
                ROWS_##m(CLIP_##wide)                                                            \
            }                                                                                    \
            ROWS_##m(STORE_##wide)                                                               \
        }                                                                                        \
    }
/* clang-format on */

#define MICRO_BOTH(m) MICRO(m, 1) MICRO(m, 2)

MICRO_BOTH(1)
MICRO_BOTH(2)
MICRO_BOTH(3)
MICRO_BOTH(4)
MICRO_BOTH(5)
MICRO_BOTH(6)
#if MOST_ROWS > 6
MICRO_BOTH(7)
MICRO_BOTH(8)
MICRO_BOTH(9)
MICRO_BOTH(10)
MICRO_BOTH(11)
MICRO_BOTH(12)
#endif
#if MOST_ROWS > 12
MICRO_BOTH(13)
MICRO_BOTH(14)
#define MICROS_FROM_13(wide) , FORM(micro_##wide##_13), FORM(micro_##wide##_14)
#else
#define MICROS_FROM_13(wide)
#endif
#if MOST_ROWS > 6
#define MICROS_FROM_7(wide)                                                   \
    , FORM(micro_##wide##_7), FORM(micro_##wide##_8), FORM(micro_##wide##_9), \
        FORM(micro_##wide##_10), FORM(micro_##wide##_11),                     \
        FORM(micro_##wide##_12) MICROS_FROM_13(wide)
#else
#define MICROS_FROM_7(wide)
#endif

#define MICROS(wide)                                                                  \
    {                                                                                 \
        NULL, FORM(micro_##wide##_1), FORM(micro_##wide##_2), FORM(micro_##wide##_3), \
            FORM(micro_##wide##_4), FORM(micro_##wide##_5),                           \
            FORM(micro_##wide##_6) MICROS_FROM_7(wide)                                \
    }

/* Indexed by the number of vectors of the panel minus one, and by rows. */
static const cpu_micro FORM(micros)[2][TILE_MOST_ROWS + 1] = { MICROS(1), MICROS(2) };
