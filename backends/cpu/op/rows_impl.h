/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of contiguous elements, for an instruction set: see vector.h. No include guard. */

/* ---- exp ------------------------------------------------------------------------------------ */

/*
 * x = n · ln 2 + r, |r| ≤ ln 2 / 2. Stores n as integers and r; returns the first terms of the
 * series 1/2! + r/3! + r²/4! + …, with which e^r = 1 + r + r² · series.
 */
INLINE vec NAME(exp_series)(vec x, ivec *n, vec *r)
{
    const vec magic = SPLAT(0x1.8p23f); /* adding this number rounds to an integer */
    vec rounded = FMA(x, SPLAT(0x1.715476p0f), magic), y = SPLAT(1.0f / 5040);

    *n = (ivec)rounded - (ivec)magic;
    rounded -= magic;
    *r = FMA(rounded, SPLAT(-0x1.62e4p-1f), x);
    *r = FMA(rounded, SPLAT(-0x1.7f7d1cp-20f), *r);
    y = FMA(y, *r, SPLAT(1.0f / 720));
    y = FMA(y, *r, SPLAT(1.0f / 120));
    y = FMA(y, *r, SPLAT(1.0f / 24));
    y = FMA(y, *r, SPLAT(1.0f / 6));
    return FMA(y, *r, SPLAT(0.5f));
}

/*
 * e^x = 2^n · e^r, accurate to 1 in the last place apart from rounding. 2^n is the product of two
 * halves, so that the limits 0 and infinity are reached correctly.
 */
INLINE vec NAME(exp)(vec x)
{
    ivec n, half;
    vec r, y = NAME(exp_series)(CLIP(x, SPLAT(-104.0f), SPLAT(89.0f)), &n, &r);

    y = FMA(y, r, SPLAT(1.0f));
    y = FMA(y, r, SPLAT(1.0f));
    half = n >> 1;
    y *= (vec)((half + 127) << 23);
    return y * (vec)((n - half + 127) << 23);
}

/* e^x - 1, accurate near 0, for x up to 88: 2^n · (e^r - 1) + (2^n - 1). */
INLINE vec NAME(expm1)(vec x)
{
    ivec n;
    vec r, y = NAME(exp_series)(CLIP(x, SPLAT(-20.0f), SPLAT(88.0f)), &n, &r), power;

    power = (vec)((n + 127) << 23);
    return FMA(power, FMA(y * r, r, r), power - SPLAT(1.0f));
}

INLINE vec NAME(tanh)(vec x)
{
    vec size = (vec)((ivec)x & 0x7fffffff);
    vec e = NAME(expm1)(CLIP(size + size, SPLAT(0.0f), SPLAT(20.0f)));

    return (vec)((ivec)(e / (e + SPLAT(2.0f))) | ((ivec)x & INT32_MIN));
}

/* Computes x · tanh(log(1 + e^x)); beyond the bound the tangent is 1. */
INLINE vec NAME(mish)(vec x)
{
    vec e = NAME(exp)(CLIP(x, SPLAT(-104.0f), SPLAT(40.0f))), n = FMA(e, e, e + e);

    return x * (n / (n + SPLAT(2.0f)));
}

/* Computes x · h; the result is 0 for h <= 0, even if x is infinite. */
INLINE vec NAME(hard_swish)(vec x, vec h)
{
    const vec zero = { 0 };
    vec y = x * CLIP(h, zero, SPLAT(1.0f));

    return (vec)((ivec)y & ~(ivec)(h <= zero));
}

#if HAVE_AVX512 || HAVE_AVX2 || HAVE_NEON
/*
 * (1 + 2·t) · e^(t²) · erfc(t) for t ≥ 0, a polynomial of (t − 3.75) / (t + 3.75): the
 * transformation of M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x)
 * exp(x²) erfc x in 0 ≤ x < ∞", Mathematics of Computation 36, 1981. The coefficients are a fit by
 * least squares at Chebyshev's points of 0 ≤ t ≤ 20, with an error of 3.5e-8.
 */
INLINE vec NAME(scaled_erfc)(vec t)
{
    static const float factors[] = { 0x1.a69378p-11f, 0x1.9ea8bp-10f,  -0x1.527888p-7f,
                                     0x1.d033fp-6f,   -0x1.dec66ap-5f, 0x1.7a38d6p-4f,
                                     -0x1.bdd8cap-4f, 0x1.50fb1cp-4f,  0x1.d657e6p-9f,
                                     -0x1.1f3658p-3f, 0x1.3ccdap+0f };
    const vec u = (t - SPLAT(3.75f)) / (t + SPLAT(3.75f));
    vec sum = SPLAT(factors[0]);

    for (unsigned i = 1; i < sizeof(factors) / sizeof(factors[0]); i++)
        sum = FMA(sum, u, SPLAT(factors[i]));
    return sum;
}

/*
 * Computes x · Φ(x). For x < 0, Φ(x) is e^(−x²/2) times a slowly falling function, so that its
 * relative error stays small; the rounding error of x²/2 is a factor of e^(−x²/2).
 */
INLINE vec NAME(gelu)(vec x)
{
    const vec zero = { 0 }, one = SPLAT(1.0f);
    const vec size = CLIP((vec)((ivec)x & 0x7fffffff), zero, SPLAT(28.0f)); /* Φ(−28) is 0 */
    const vec t = size * SPLAT(0x1.6a09e6p-1f), half = size * SPLAT(0.5f), square = half * size;
    vec tail = NAME(exp)(zero - square);

    tail -= tail * FMA(half, size, zero - square);
    tail = SPLAT(0.5f) * tail * NAME(scaled_erfc)(t) / (one + t + t);
    return SELECT_POSITIVE(x * (one - tail), x * tail);
}
#endif

/* ---- unary ---------------------------------------------------------------------------------- */

/* Computes an expression for each element; the last elements use a vector of their own. */
#define EACH(expression)                                     \
    do {                                                     \
        int64_t i = 0;                                       \
        vec v;                                               \
                                                             \
        for (; i + LANES <= n; i += LANES) {                 \
            v = LOAD(x + i);                                 \
            STORE(y + i, expression);                        \
        }                                                    \
        if (i < n) {                                         \
            v = (vec){ 0 };                                  \
            memcpy(&v, x + i, (size_t)(n - i) * sizeof(*x)); \
            v = expression;                                  \
            memcpy(y + i, &v, (size_t)(n - i) * sizeof(*y)); \
        }                                                    \
    } while (0)

/* The softmax of each pair of elements. */
INLINE vec NAME(softmax_pairs_of)(vec v)
{
    vec raised = NAME(exp)(v - MORE(SWAP_PAIRS(v), v));

    return raised / (raised + SWAP_PAIRS(raised));
}

TARGET static void NAME(softmax_pairs)(int64_t n, const float *x, float *y)
{
    EACH(NAME(softmax_pairs_of)(v));
}

/* Rounds to nearest even: elements of at most 2^22 lose their fraction in a sum with 1.5 * 2^23. */
INLINE vec NAME(even)(vec v)
{
    const vec shift = SPLAT(12582912.0f);

    return v + shift - shift;
}

#define FUNCTION(name, expression) \
    case FERRY_UNARY_##name:       \
        EACH(expression);          \
        return true;

TARGET static bool NAME(unary)(uint32_t function, double da, double db, double dc, int64_t n,
                               const float *x, float *y)
{
    const vec a = SPLAT((float)da), b = SPLAT((float)db), c = SPLAT((float)dc);
    const vec one = SPLAT(1.0f), zero = { 0 };

    switch (function) {
        FUNCTION(RELU, SELECT_POSITIVE(v, a * v))
        FUNCTION(ELU, SELECT_POSITIVE(v, a * NAME(expm1)(v)))
        FUNCTION(SIGMOID, one / (one + NAME(exp)(zero - v)))
        FUNCTION(TANH, NAME(tanh)(v))
        FUNCTION(ABS, (vec)((ivec)v & 0x7fffffff))
        FUNCTION(EXP, NAME(exp)(a * v + b))
        FUNCTION(THRESHOLD, (vec)((ivec)one & (ivec)(v > a)))
        FUNCTION(CLIP, CLIP(v, a, b))
        FUNCTION(SWISH, v / (one + NAME(exp)(zero - a * v)))
        FUNCTION(MISH, NAME(mish)(v))
        FUNCTION(HARD_SWISH, NAME(hard_swish)(v, a * v + b))
        FUNCTION(HARD_SIGMOID, CLIP(a * v + b, zero, one))
        FUNCTION(ROUND, CLIP(NAME(even)(a * v), b, c) / a)
        FUNCTION(SOFTSIGN, v / (one + (vec)((ivec)v & 0x7fffffff)))
#if HAVE_AVX512 || HAVE_AVX2 || HAVE_NEON
        FUNCTION(GELU, NAME(gelu)(v))
#endif
    case FERRY_UNARY_POWER:
        if (da == 1)
            EACH(b * v + c);
        else if (da == 2)
            EACH((b * v + c) * (b * v + c));
        return da == 1 || da == 2;
    default:
        return false;
    }
}

#undef FUNCTION
#undef EACH

/* Computes dy times the slope at r; the last elements use a vector of their own. */
#define EACH(expression)                                       \
    do {                                                       \
        int64_t i = 0;                                         \
        vec v, r;                                              \
                                                               \
        for (; i + LANES <= n; i += LANES) {                   \
            v = LOAD(dy + i);                                  \
            r = LOAD(at + i);                                  \
            STORE(dx + i, expression);                         \
        }                                                      \
        if (i < n) {                                           \
            v = (vec){ 0 };                                    \
            r = v;                                             \
            memcpy(&v, dy + i, (size_t)(n - i) * sizeof(*dy)); \
            memcpy(&r, at + i, (size_t)(n - i) * sizeof(*at)); \
            v = expression;                                    \
            memcpy(dx + i, &v, (size_t)(n - i) * sizeof(*dx)); \
        }                                                      \
    } while (0)
/* Selects lanes by a mask. */
#define EITHER(mask, a, b) ((vec)(((ivec)(a) & (mask)) | ((ivec)(b) & ~(mask))))

TARGET static bool NAME(slope)(uint32_t function, double da, double db, int64_t n, const float *dy,
                               const float *at, float *dx)
{
    const vec a = SPLAT((float)da), b = SPLAT((float)db), one = SPLAT(1.0f), zero = { 0 };

    switch (function) {
    case FERRY_UNARY_RELU:
        EACH(EITHER((ivec)(r > zero), v, v * a));
        return true;
    case FERRY_UNARY_ELU:
        EACH(EITHER((ivec)(r > zero), v, v * (r + a)));
        return true;
    case FERRY_UNARY_SIGMOID:
        EACH(v * (r * (one - r)));
        return true;
    case FERRY_UNARY_TANH:
        EACH(v * (one - r * r));
        return true;
    case FERRY_UNARY_ABS:
        EACH(EITHER((ivec)(r > zero), v, EITHER((ivec)(r < zero), zero - v, zero)));
        return true;
    case FERRY_UNARY_EXP:
        EACH(v * (a * r));
        return true;
    case FERRY_UNARY_CLIP:
        EACH(EITHER((ivec)(r >= a) & (ivec)(r <= b), v, zero));
        return true;
    default:
        return false;
    }
}

#undef EITHER
#undef EACH

/* ---- binary --------------------------------------------------------------------------------- */

/* Loads an operand; one that is constant along the row has a step of 0. */
#define AT(p, step) ((step) ? LOAD((p) + i) : SPLAT(*(p)))

#define EACH(vector, scalar)                                        \
    do {                                                            \
        for (; i + LANES <= n; i += LANES) {                        \
            vec a = AT(r->x, r->x_step), b = AT(r->u, r->u_step);   \
            vec c = r->v ? AT(r->v, r->v_step) : zero;              \
                                                                    \
            (void)c;                                                \
            STORE(r->y + i, vector);                                \
        }                                                           \
        for (; i < n; i++) {                                        \
            float a = r->x[i * r->x_step], b = r->u[i * r->u_step]; \
            float c = r->v ? r->v[i * r->v_step] : 0;               \
                                                                    \
            (void)c;                                                \
            r->y[i] = scalar;                                       \
        }                                                           \
    } while (0)

TARGET static void NAME(binary)(const struct cpu_binary_row *r, int64_t n)
{
    const vec zero = { 0 }, p = SPLAT(r->a), q = SPLAT(r->b);
    int64_t i = 0;

    switch (r->function) {
    case FERRY_BINARY_SUM:
        EACH(p * a + q * b, r->a * a + r->b * b);
        break;
    case FERRY_BINARY_PRODUCT:
        EACH(a * b, a * b);
        break;
    case FERRY_BINARY_MAX:
        EACH(MORE(a, b), a > b ? a : b);
        break;
    case FERRY_BINARY_SCALE:
        EACH(a * b + c, a * b + c);
        break;
    case FERRY_BINARY_PRELU:
        EACH(SELECT_POSITIVE(a, b * a), a > 0 ? a : b * a);
        break;
    case FERRY_BINARY_NORMALISE:
        EACH((a - b) * c, (a - b) * c);
        break;
    default: /* FERRY_BINARY_QUOTIENT */
        EACH(a / b, a / b);
    }
}

#undef EACH
#undef AT

/* ---- sums ----------------------------------------------------------------------------------- */

INLINE double NAME(lanes)(vec a)
{
    double sum = 0;

    for (int i = 0; i < LANES; i++)
        sum += (double)a[i];
    return sum;
}

/* Sums blocks; `term` is a vector of element i and the following ones, `one` a single element. */
#define BLOCKS(term, one)                                       \
    do {                                                        \
        double sum = 0;                                         \
        int64_t i = 0;                                          \
                                                                \
        while (n - i >= LANES) {                                \
            int64_t end = i + 32 * LANES;                       \
            vec a = { 0 }, b = { 0 };                           \
                                                                \
            for (; i + 2 * LANES <= n && i < end; i += LANES) { \
                a += term;                                      \
                i += LANES;                                     \
                b += term;                                      \
            }                                                   \
            if (n - i < 2 * LANES && n - i >= LANES) {          \
                a += term;                                      \
                i += LANES;                                     \
            }                                                   \
            sum += NAME(lanes)(a + b);                          \
        }                                                       \
        for (; i < n; i++)                                      \
            sum += (double)(one);                               \
        return sum;                                             \
    } while (0)

TARGET static double NAME(sum)(const float *x, int64_t n)
{
    BLOCKS(LOAD(x + i), x[i]);
}

TARGET static double NAME(dot)(const float *x, const float *y, int64_t n)
{
    BLOCKS(LOAD(x + i) * LOAD(y + i), x[i] * y[i]);
}

TARGET static double NAME(deviation)(const float *x, float center, int64_t n, double *sum)
{
    double squares = 0;
    int64_t i = 0;

    for (*sum = 0; n - i >= LANES;) {
        int64_t end = n - i < 64 * LANES ? n : i + 64 * LANES;
        vec a = { 0 }, b = { 0 }, square_a = { 0 }, square_b = { 0 };

        for (; i + 2 * LANES <= end; i += 2 * LANES) {
            vec p = LOAD(x + i) - SPLAT(center), q = LOAD(x + i + LANES) - SPLAT(center);

            a += p;
            b += q;
            square_a += p * p;
            square_b += q * q;
        }
        if (i + LANES <= end) {
            vec p = LOAD(x + i) - SPLAT(center);

            a += p;
            square_a += p * p;
            i += LANES;
        }
        *sum += NAME(lanes)(a + b);
        squares += NAME(lanes)(square_a + square_b);
    }
    for (; i < n; i++) {
        double one = (double)x[i] - (double)center;

        *sum += one;
        squares += one * one;
    }
    return squares;
}

TARGET static void NAME(center)(const float *dy, const float *y, float mean, float product,
                                float scale, int64_t n, float *dx)
{
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        STORE(dx + i, SPLAT(scale) * (LOAD(dy + i) - SPLAT(mean) - LOAD(y + i) * SPLAT(product)));
    for (; i < n; i++)
        dx[i] = scale * (dy[i] - mean - y[i] * product);
}

/* Half a vector of floats, and as many doubles, which are one vector. */
#define HALF (LANES / 2)
typedef float NAME(half) __attribute__((vector_size(2 * LANES), aligned(4), may_alias));
typedef double NAME(wide) __attribute__((vector_size(4 * LANES), aligned(8), may_alias));
#define WIDEN_HALF(p) __builtin_convertvector(*(const NAME(half) *)(p), NAME(wide))

/* Four vectors of sums at a time, so that an addition does not wait for the previous one. */
TARGET static void NAME(sum_rows)(const float *x, int64_t rows, int64_t row, int64_t n, double *to)
{
    int64_t i = 0;

    for (; i + 4 * HALF <= n; i += 4 * HALF) {
        NAME(wide) *sums = (NAME(wide) *)(to + i);
        NAME(wide) a = sums[0], b = sums[1], c = sums[2], d = sums[3];

        for (int64_t k = 0; k < rows; k++) {
            const float *from = x + k * row + i;

            a += WIDEN_HALF(from);
            b += WIDEN_HALF(from + HALF);
            c += WIDEN_HALF(from + 2 * HALF);
            d += WIDEN_HALF(from + 3 * HALF);
        }
        sums[0] = a;
        sums[1] = b;
        sums[2] = c;
        sums[3] = d;
    }
    for (; i + HALF <= n; i += HALF) {
        NAME(wide) sum = *(NAME(wide) *)(to + i);

        for (int64_t k = 0; k < rows; k++)
            sum += WIDEN_HALF(x + k * row + i);
        *(NAME(wide) *)(to + i) = sum;
    }
    for (; i < n; i++)
        for (int64_t k = 0; k < rows; k++)
            to[i] += (double)x[k * row + i];
}

#undef WIDEN_HALF
#undef HALF
#undef BLOCKS

/* ---- lrn ------------------------------------------------------------------------------------- */

/* Computes a channel near the first or the last one, which has fewer neighbours. */
INLINE float NAME(lrn_edge)(const struct cpu_lrn_pixel *p, int64_t c)
{
    int64_t end = c + p->half < p->channels ? c + p->half + 1 : p->channels;
    float sum = 0, root;

    for (int64_t i = c > p->half ? c - p->half : 0; i < end; i++)
        sum += p->x[i] * p->x[i];
    root = __builtin_sqrtf(p->k + p->alpha * sum);
    return p->x[c] / (root * __builtin_sqrtf(root));
}

/*
 * LRN of a pixel: scale^−3/4 is 1 / (√scale · √√scale). The last vector may overlap the previous
 * one.
 */
TARGET static void NAME(lrn)(const struct cpu_lrn_pixel *p)
{
    const int64_t half = p->half, inner = p->channels - half;
    const vec k = SPLAT(p->k), alpha = SPLAT(p->alpha);
    int64_t c = 0;

    for (; c < half && c < p->channels; c++)
        p->y[c] = NAME(lrn_edge)(p, c);
    for (; c < inner && inner - half >= LANES; c += LANES) {
        vec sum = { 0 }, root;

        c = c + LANES > inner ? inner - LANES : c;
        for (int64_t i = -half; i <= half; i++) {
            vec v = LOAD(p->x + c + i);

            sum = FMA(v, v, sum);
        }
        root = SQRT(FMA(alpha, sum, k));
        STORE(p->y + c, LOAD(p->x + c) / (root * SQRT(root)));
    }
    for (; c < p->channels; c++)
        p->y[c] = NAME(lrn_edge)(p, c);
}
