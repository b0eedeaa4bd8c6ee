/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A line of slide_impl.h, which includes this file, for NEON. No include guard.
 *
 * The registers suffice for the taps of two vectors, a and b, for the sums of three pixels, and for
 * little else. The loads are therefore part of the assembly, because the compiler moves separate
 * loads up; and the sums have fixed registers, because it moves them to others. An iteration
 * computes two or three pixels, so that the sums change their roles and are not moved. A sum starts
 * by a load, which unlike a move does not occupy a pipeline of the multiply-adds.
 */

#define TAP_PAIR(j, k)                                          \
    const vec w##j##k = LOAD(w + (3 * (j) + (k)) * SLIDE_WIDE); \
    const vec u##j##k = LOAD(w + (3 * (j) + (k)) * SLIDE_WIDE + LANES);
/* clang-format off */
#define TAPS                                                    \
    TAP_PAIR(0, 0) TAP_PAIR(0, 1) TAP_PAIR(0, 2) TAP_PAIR(1, 0) \
    TAP_PAIR(1, 1) TAP_PAIR(1, 2) TAP_PAIR(2, 0) TAP_PAIR(2, 1) TAP_PAIR(2, 2)

#define ROW_LOADS     "ldr %q[v], %[x]\n\tldr %q[u], %[x_b]\n\t"
#define ROW_STARTS(n) "ldr %q[a" #n "], %[start]\n\tldr %q[b" #n "], %[start_b]\n\t"
#define ROW_ADDS(n, k)                                \
    "fmla %[a" #n "].4s, %[v].4s, %[w" #k "].4s\n\t"  \
    "fmla %[b" #n "].4s, %[u].4s, %[u" #k "].4s\n\t"
#define ROW_PRODUCTS(n, k)                            \
    "fmul %[a" #n "].4s, %[v].4s, %[w" #k "].4s\n\t"  \
    "fmul %[b" #n "].4s, %[u].4s, %[u" #k "].4s\n\t"
#define ROW_SUMS(how, n) [a##n] how(a##n), [b##n] how(b##n)
#define ROW_VALUES       [v] "=&w"(v), [u] "=&w"(u)
#define ROW_X(from)      [x] "m"(*(const vec *)(from)), [x_b] "m"(*(const vec *)((from) + LANES))
#define ROW_START                                                                                  \
    [start] "m"(*(const vec *)start), [start_b] "m"(*(const vec *)(start + LANES))
#define ROW_TAPS(j, k)   [w##k] "w"(w##j##k), [u##k] "w"(u##j##k)

/* Line j of a column, which is the last one of pixel l, the middle one of m, the first one of f. */
#define ROW_ALL(x, j, l, m, f)                                                                     \
    __asm__(ROW_LOADS ROW_ADDS(l, 2) ROW_ADDS(m, 1) ROW_ADDS(f, 0)                                 \
            : ROW_SUMS("+&w", l), ROW_SUMS("+&w", m), ROW_SUMS("+&w", f), ROW_VALUES               \
            : ROW_X(x), ROW_TAPS(j, 0), ROW_TAPS(j, 1), ROW_TAPS(j, 2))
#define ROW_ALL_FIRST(x, j, l, m, f)                                                               \
    __asm__(ROW_LOADS ROW_STARTS(f) ROW_ADDS(l, 2) ROW_ADDS(m, 1) ROW_ADDS(f, 0)                   \
            : ROW_SUMS("+&w", l), ROW_SUMS("+&w", m), ROW_SUMS("=&w", f), ROW_VALUES               \
            : ROW_X(x), ROW_START, ROW_TAPS(j, 0), ROW_TAPS(j, 1), ROW_TAPS(j, 2))
/* With stride 2, even columns are the last ones of pixel l and the first ones of f. */
#define ROW_EVEN(x, j, l, f)                                                                       \
    __asm__(ROW_LOADS ROW_ADDS(l, 2) ROW_ADDS(f, 0)                                                \
            : ROW_SUMS("+&w", l), ROW_SUMS("+&w", f), ROW_VALUES                                   \
            : ROW_X(x), ROW_TAPS(j, 0), ROW_TAPS(j, 2))
#define ROW_EVEN_FIRST(x, j, l, f)                                                                 \
    __asm__(ROW_LOADS ROW_STARTS(f) ROW_ADDS(l, 2) ROW_ADDS(f, 0)                                  \
            : ROW_SUMS("+&w", l), ROW_SUMS("=&w", f), ROW_VALUES                                   \
            : ROW_X(x), ROW_START, ROW_TAPS(j, 0), ROW_TAPS(j, 2))
/*
 * The odd column has a sum of its own. A pixel would else be one chain of nine multiply-adds,
 * longer than what small processors keep in flight.
 */
#define ROW_ODD(x, j, m)                                                                           \
    __asm__(ROW_LOADS ROW_ADDS(m, 1) : ROW_SUMS("+&w", m), ROW_VALUES : ROW_X(x), ROW_TAPS(j, 1))
#define ROW_ODD_FIRST(x, j, m)                                                                     \
    __asm__(ROW_LOADS ROW_PRODUCTS(m, 1)                                                           \
            : ROW_SUMS("=&w", m), ROW_VALUES : ROW_X(x), ROW_TAPS(j, 1))
/* clang-format on */

/* The registers of a line. */
#define SLIDE_REGISTERS                                                                  \
    const float *x0 = t.x[0], *x1 = t.x[1], *x2 = t.x[2];                                \
    const float *start = s.bias ? s.bias + c : NAME(slide_zero);                         \
    const vec least = SPLAT(s.least), most = SPLAT(s.most);                              \
    register vec a0 __asm__("v0") = LOAD(start), b0 __asm__("v1") = LOAD(start + LANES); \
    register vec a1 __asm__("v2") = a0, b1 __asm__("v3") = b0;                           \
    register vec a2 __asm__("v4") = a0, b2 __asm__("v5") = b0;                           \
    register vec v __asm__("v6"), u __asm__("v7");                                       \
    TAPS
/* Processes a column, and moves to the next. */
#define SEE(kind, ...)                      \
    ROW_##kind##_FIRST(x0, 0, __VA_ARGS__); \
    ROW_##kind(x1, 1, __VA_ARGS__);         \
    ROW_##kind(x2, 2, __VA_ARGS__);         \
    x0 += t.step[0];                        \
    x1 += t.step[1];                        \
    x2 += t.step[2];                        \
    OPAQUE(x0);                             \
    OPAQUE(x1);                             \
    OPAQUE(x2)
/* Stores pixel n. */
#define DONE(n)             \
    SLIDE_FINISH(a##n);     \
    SLIDE_FINISH(b##n);     \
    OPAQUE_VECTOR(a##n);    \
    OPAQUE_VECTOR(b##n);    \
    STORE(y, a##n);         \
    STORE(y + LANES, b##n); \
    y += t.y_next;          \
    OPAQUE(y)
#define JOIN(n, m) a##n += a##m, b##n += b##m
#define SHIFT                           \
    a0 = a1, a1 = a2, b0 = b1, b1 = b2; \
    a2 = LOAD(start), b2 = LOAD(start + LANES)

INLINE void NAME(slide_by_1)(const struct cpu_store s, const struct NAME(slide) t, bool is_leaky,
                             const float *w, float *y, int64_t c)
{
    SLIDE_REGISTERS
    int64_t pixel = 0, whole = t.in - 2 + t.pad; /* the number of pixels whose last column exists */

    if (t.pad == 0) {
        SEE(ALL, 0, 1, 2);
    }
    SHIFT;
    if (1 - t.pad < t.in) {
        SEE(ALL, 0, 1, 2);
    }
    SHIFT;
    whole = whole < t.out ? whole : t.out;
    for (; pixel + 3 <= whole; pixel += 3) {
        SEE(ALL, 0, 1, 2);
        DONE(0);
        SEE(ALL, 1, 2, 0);
        DONE(1);
        SEE(ALL, 2, 0, 1);
        DONE(2);
    }
#pragma GCC unroll 2
    for (int left = 0; left < 2; left++) {
        if (pixel < whole) {
            SEE(ALL, 0, 1, 2);
            DONE(0);
            SHIFT;
            pixel++;
        }
    }
    for (; pixel < t.out; pixel++) {
        DONE(0);
        SHIFT;
    }
}

INLINE void NAME(slide_by_2)(const struct cpu_store s, const struct NAME(slide) t, bool is_leaky,
                             const float *w, float *y, int64_t c)
{
    SLIDE_REGISTERS
    int64_t pixel = 0, whole = (t.in - 1 + t.pad) / 2;

    if (t.pad == 0) {
        SEE(EVEN, 1, 0);
    }
    whole = whole < t.out ? whole : t.out;
    for (; pixel + 2 <= whole; pixel += 2) {
        SEE(ODD, 2);
        SEE(EVEN, 0, 1);
        JOIN(0, 2);
        DONE(0);
        SEE(ODD, 2);
        SEE(EVEN, 1, 0);
        JOIN(1, 2);
        DONE(1);
    }
    if (pixel < whole) {
        SEE(ODD, 2);
        SEE(EVEN, 0, 1);
        JOIN(0, 2);
        DONE(0);
        a0 = a1, b0 = b1;
        pixel++;
    }
    if (pixel < t.out && 2 * pixel + 1 - t.pad < t.in) {
        SEE(ODD, 2);
        JOIN(0, 2);
    }
    for (; pixel < t.out; pixel++) {
        DONE(0);
        a0 = LOAD(start), b0 = LOAD(start + LANES);
    }
}

/* As slide_impl.h describes; one line, of two vectors. */
INLINE void NAME(slide)(const struct cpu_store s, const struct NAME(slide) t, int stride, int lines,
                        bool wide, bool is_leaky, const float *w, float *y, int64_t c)
{
    (void)lines;
    (void)wide;
    if (stride == 1)
        NAME(slide_by_1)(s, t, is_leaky, w, y, c);
    else
        NAME(slide_by_2)(s, t, is_leaky, w, y, c);
}
