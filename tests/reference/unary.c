/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/reference/reference.h"

#include <math.h>

/* The reference of the unary functions. */

#define SOME 24 /* permitted roundings of a root or a transcendental function */

/*
 * X(NAME, PARAMETERS(a, b, c), value, magnitude, roundings, slope): the parameters of its trials;
 * the value at x and its sensitivity (struct op_number); the derivative, by r as op_params.h
 * defines it.
 */
/* clang-format off */
#define FUNCTIONS(X)                                                                          \
    X(RELU, PARAMETERS(0.5, 0, 0), x > 0 ? x : a * x, x, 1, r > 0 ? 1 : a)                    \
    X(ELU, PARAMETERS(0.5, 0, 0), x > 0 ? x : a * (expl(x) - 1), 1 + fabsl(x) + fabsl(a),     \
      SOME, r > 0 ? 1 : r + a)                                                                \
    X(SIGMOID, PARAMETERS(0, 0, 0), 1 / (1 + expl(-x)), 1, SOME, r * (1 - r))                 \
    X(TANH, PARAMETERS(0, 0, 0), tanhl(x), 1, SOME, 1 - r * r)                                \
    X(ABS, PARAMETERS(0, 0, 0), fabsl(x), 0, 0, r > 0 ? 1 : r < 0 ? -1 : 0)                   \
    X(POWER, PARAMETERS(1.75, 0.5, 2), powl(b * x + c, a), raised(x, a, b, c),                \
      SOME, power_slope(r, a, b, c))                                                   \
    X(EXP, PARAMETERS(0.5, 0.5, 0), expl(a * x + b),                                          \
      expl(a * x + b) * (1 + fabsl(a * x) + fabsl(b)), SOME, a * r)                           \
    X(LOG, PARAMETERS(0.5, 2, 2), c * logl(a * x + b),                                        \
      c * (1 + (fabsl(a * x) + fabsl(b)) / (a * x + b)), SOME, c * a / (a * r + b))           \
    X(BNLL, PARAMETERS(0, 0, 0), x > 0 ? x + logl(1 + expl(-x)) : logl(1 + expl(x)),          \
      1 + fabsl(x), SOME, expl(r) / (expl(r) + 1))                                            \
    X(THRESHOLD, PARAMETERS(0.5, 0, 0), x > a ? 1 : 0, 0, 0, NAN)                             \
    X(CLIP, PARAMETERS(-0.25, 0.5, 0), fminl(fmaxl(x, a), b), 1, 1, r >= a && r <= b ? 1 : 0) \
    X(SWISH, PARAMETERS(0.5, 0, 0), x / (1 + expl(-a * x)), x, SOME, swish_slope(r, a))       \
    X(MISH, PARAMETERS(0, 0, 0), x * tanhl(log1pl(expl(x))), x, SOME, mish_slope(r))          \
    X(HARD_SWISH, PARAMETERS(0.25, 0.5, 0), x * fminl(fmaxl(a * x + b, 0), 1),                \
      x * (1 + fabsl(a * x) + fabsl(b)), 4, hard_swish_slope(r, a, b))                        \
    X(HARD_SIGMOID, PARAMETERS(0.25, 0.5, 0), fminl(fmaxl(a * x + b, 0), 1),                  \
      1 + fabsl(a * x) + fabsl(b), 4, a * r + b > 0 && a * r + b < 1 ? a : 0)                 \
    X(GELU, PARAMETERS(0, 0, 0), x * erfcl(-x / sqrtl(2)) / 2, x, SOME,                       \
      erfcl(-r / sqrtl(2)) / 2 + r * expl(-r * r / 2) / sqrtl(2 * acosl(-1)))                 \
    X(SOFTSIGN, PARAMETERS(0, 0, 0), x / (1 + fabsl(x)), x, 4, powl(1 + fabsl(r), -2)) \
    X(ROUND, PARAMETERS(4, -3, 5), fminl(fmaxl(rintl(a * x), b), c) / a, x, 1,                \
      rintl(a * r) >= b && rintl(a * r) <= c ? 1 : 0)
/* clang-format on */

#define ONE(name, parameters, value, magnitude, roundings, slope) +1
_Static_assert(0 FUNCTIONS(ONE) == FERRY_UNARY_COUNT, "each function has a reference");

static long double raised(long double x, long double a, long double b, long double c)
{
    long double u = b * x + c, room = fabsl(b * x) + fabsl(c);

    return fabsl(powl(u, a)) * (1 + fabsl(a) * room / fabsl(u));
}

/* NaN or infinite at 0 unless op_params.h defines it otherwise. */
static long double power_slope(long double r, long double a, long double b, long double c)
{
    long double p = b * r + c;

    if (a * b == 0 || a == 1)
        return a * b;
    return a == 2 ? 2 * b * p : a * b * powl(p, a) / p;
}

static long double swish_slope(long double r, long double a)
{
    long double s = 1 / (1 + expl(-a * r));

    return s * (1 + a * r * (1 - s));
}

static long double mish_slope(long double r)
{
    long double t = tanhl(log1pl(expl(r)));

    return t + r * (1 - t * t) / (1 + expl(-r));
}

static long double hard_swish_slope(long double r, long double a, long double b)
{
    if (a * r + b <= 0)
        return 0;
    return a * r + b >= 1 ? 1 : 2 * a * r + b;
}

#define PARAMETERS(a, b, c) { a, b, c }
#define TRIAL(name, parameters, value, magnitude, roundings, slope) \
    [FERRY_UNARY_##name] = parameters,

const double op_unary_trials[FERRY_UNARY_COUNT][3] = { FUNCTIONS(TRIAL) };

const char *op_unary_name(uint32_t function)
{
#define NAME(name, parameters, value, magnitude, roundings, slope) [FERRY_UNARY_##name] = #name,
    static const char *const names[] = { FUNCTIONS(NAME) };

    return function < FERRY_UNARY_COUNT ? names[function] : "unknown";
}

#define VALUE(name, parameters, value, magnitude, roundings, slope) \
    case FERRY_UNARY_##name:                                        \
        op_set(out, value, magnitude, roundings);                   \
        return;

static void set(uint32_t function, long double x, long double a, long double b, long double c,
                struct op_number *out)
{
    switch (function) {
        FUNCTIONS(VALUE)
    default:
        op_set(out, (long double)NAN, 0, 0);
    }
}

void op_unary(uint32_t function, long double x, double a, double b, double c, struct op_number *out)
{
    set(function, x, (long double)a, (long double)b, (long double)c, out);
}

#define SLOPE(name, parameters, value, magnitude, roundings, slope) \
    case FERRY_UNARY_##name:                                        \
        return slope;

static long double slope_at(uint32_t function, long double r, long double a, long double b,
                            long double c)
{
    switch (function) {
        FUNCTIONS(SLOPE)
    default:
        return (long double)NAN;
    }
}

long double op_unary_slope(uint32_t function, long double r, double a, double b, double c)
{
    return slope_at(function, r, (long double)a, (long double)b, (long double)c);
}
