/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Approximations: the double's result, or with PTX_LOW and PTX_HIGH that result moved by the
 * largest error that the PTX manual (section "Floating Point Instructions") allows, then
 * rounded. Results that the manual's tables of special values give are exact: 2 to the power of 0,
 * sine and cosine of 0.
 */
#include "tests/ptx/real.h"
#include "tests/ptx/run.h"

/*
 * The largest errors: of exponential and others relative, of sine, cosine and the logarithm near
 * 1 absolute.
 */
#define ERROR_EX2   0x1p-22
#define ERROR_LG2   0x1p-22
#define ERROR_RCP   0x1p-23
#define ERROR_SQRT  0x1p-23
#define ERROR_RSQRT 0x1.13p-23 /* 2^-22.9 */
#define ERROR_SIN   0x1.6ap-21 /* 2^-20.5 */
#define ERROR_TANH  0x1p-11
#define ERROR_DIV   0x1p-22 /* two places */
#define ERROR_RCP64 0x1p-20

static double direction(const struct warp *w)
{
    enum ptx_approximation way = w->block->run->launch->options.approximation;

    return way == PTX_LOW ? -1 : way == PTX_HIGH ? 1 : 0;
}

/* An infinite result is a special value, which is exact. */
static double off(double exact, double error, double way)
{
    return isinf(exact) ? exact : exact + fabs(exact) * error * way;
}

static float moved(double exact, double error, double way)
{
    return made((float)off(exact, error, way));
}

static float moved_absolute(double exact, double error, double way)
{
    return made((float)(exact + error * way));
}

/* 1 for zeros and subnormal numbers. */
static float exponential(float v, double way)
{
    return moved(exp2((double)v), fpclassify(v) == FP_NORMAL ? ERROR_EX2 : 0, way);
}

static float periodic(float v, double exact, double way)
{
    return v == 0 ? (float)exact : moved_absolute(exact, ERROR_SIN, way);
}

static float logarithm(float v, double way)
{
    double exact = log2((double)v);

    if (way == 0 || v == 1.0f || isinf(exact))
        return made((float)exact);
    return v > 0.5f && v < 2.0f ? moved_absolute(exact, ERROR_LG2, way)
                                : moved(exact, ERROR_LG2, way);
}

#define APPROXIMATION(name, value)                                \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        float *d = SLOT(w, i, 0, float);                          \
        const float *x = SLOT(w, i, 1, const float);              \
        double way = direction(w);                                \
                                                                  \
        APPLY(w, float, d, value);                                \
    }
#define D(v) ((double)(v))
APPROXIMATION(ex2, exponential(x[l], way))
APPROXIMATION(ex2_ftz, flushed(exponential(flushed(x[l]), way)))
APPROXIMATION(lg2, logarithm(x[l], way))
APPROXIMATION(lg2_ftz, logarithm(flushed(x[l]), way))
APPROXIMATION(rcp, moved(1 / D(x[l]), ERROR_RCP, way))
APPROXIMATION(rcp_ftz, flushed(moved(1 / D(flushed(x[l])), ERROR_RCP, way)))
APPROXIMATION(square_root, moved(sqrt(D(x[l])), ERROR_SQRT, way))
APPROXIMATION(square_root_ftz, moved(sqrt(D(flushed(x[l]))), ERROR_SQRT, way))
APPROXIMATION(rsqrt, moved(1 / sqrt(D(x[l])), ERROR_RSQRT, way))
APPROXIMATION(rsqrt_ftz, moved(1 / sqrt(D(flushed(x[l]))), ERROR_RSQRT, way))
APPROXIMATION(sine, periodic(x[l], sin(D(x[l])), way))
APPROXIMATION(cosine, periodic(x[l], cos(D(x[l])), way))
APPROXIMATION(hyperbolic, moved(tanh(D(x[l])), ERROR_TANH, way))

#define QUOTIENT(name, value)                                     \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        float *d = SLOT(w, i, 0, float);                          \
        const float *x = SLOT(w, i, 1, const float);              \
        const float *y = SLOT(w, i, 2, const float);              \
        double way = direction(w);                                \
                                                                  \
        APPLY(w, float, d, value);                                \
    }
QUOTIENT(quotient, moved(D(x[l]) / D(y[l]), ERROR_DIV, way))
QUOTIENT(quotient_ftz, flushed(moved(D(flushed(x[l])) / D(flushed(y[l])), ERROR_DIV, way)))

/*
 * An operation on the upper 32 bits of doubles: the lower bits of the operand and of the result
 * count as 0.
 */
static uint64_t upper(double v, double way)
{
    return bits_of_double(made64(off(v, ERROR_RCP64, way))) & 0xffffffff00000000u;
}

#define UPPER64(name, value)                                      \
    static void name(struct warp *w, const struct instruction *i) \
    {                                                             \
        uint64_t *d = SLOT(w, i, 0, uint64_t);                    \
        const uint64_t *x = SLOT(w, i, 1, const uint64_t);        \
        double way = direction(w);                                \
                                                                  \
        APPLY(w, uint64_t, d, value);                             \
    }
#define UPPER(v) double_of((v)&0xffffffff00000000u)
UPPER64(rcp64, upper(1 / UPPER(x[l]), way))
UPPER64(rsqrt64, upper(1 / sqrt(UPPER(x[l])), way))

static const struct opcode opcodes[] = {
    { "ex2.approx.f32", "w=w", ex2 },
    { "ex2.approx.ftz.f32", "w=w", ex2_ftz },
    { "lg2.approx.f32", "w=w", lg2 },
    { "lg2.approx.ftz.f32", "w=w", lg2_ftz },
    { "rcp.approx.f32", "w=w", rcp },
    { "rcp.approx.ftz.f32", "w=w", rcp_ftz },
    { "sqrt.approx.f32", "w=w", square_root },
    { "sqrt.approx.ftz.f32", "w=w", square_root_ftz },
    { "rsqrt.approx.f32", "w=w", rsqrt },
    { "rsqrt.approx.ftz.f32", "w=w", rsqrt_ftz },
    { "sin.approx.f32", "w=w", sine },
    { "sin.approx.ftz.f32", "w=w", sine },
    { "cos.approx.f32", "w=w", cosine },
    { "cos.approx.ftz.f32", "w=w", cosine },
    { "tanh.approx.f32", "w=w", hyperbolic },
    { "div.approx.f32", "w=ww", quotient },
    { "div.approx.ftz.f32", "w=ww", quotient_ftz },
    { "div.full.f32", "w=ww", quotient },
    { "div.full.ftz.f32", "w=ww", quotient_ftz },
    { "rcp.approx.ftz.f64", "d=d", rcp64 },
    { "rsqrt.approx.ftz.f64", "d=d", rsqrt64 },
};

const struct opcode_group approximate_opcodes = { opcodes, sizeof(opcodes) / sizeof(opcodes[0]) };
