/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/unary.h"

#include <math.h>

#define T          double
#define NAME(name) name
#define MATH(name) name
#include "kernels/unary_impl.h"

/*
 * Checks at compile time that the installed numbers are those of the list, and that the list has a
 * row for each.
 */
#define SAME(name, number, gradient, value, slope)                                   \
    _Static_assert(FERRY_UNARY_##name == (number), "FERRY_UNARY_" #name " differs"); \
    _Static_assert(FERRY_UNARY_##name < FERRY_UNARY_COUNT, #name " is past the count");
UNARY_LIST(SAME)
#define ONE(name, number, gradient, value, slope) +1
_Static_assert(0 UNARY_LIST(ONE) == FERRY_UNARY_COUNT, "FERRY_UNARY_COUNT counts the rows");

enum ferry__gradient ferry__unary_gradient(uint32_t function)
{
#define GRADIENT(name, number, gradient, value, slope) [number] = FERRY__GRADIENT_##gradient,
    static const uint8_t of[] = { UNARY_LIST(GRADIENT) };

    return function < FERRY_UNARY_COUNT ? (enum ferry__gradient)of[function] : FERRY__GRADIENT_NONE;
}

const char *ferry__unary_name(uint32_t function)
{
#define NAMED(name, number, gradient, value, slope) [number] = #name,
    static const char *const names[] = { UNARY_LIST(NAMED) };

    return function < FERRY_UNARY_COUNT ? names[function] : "unknown";
}
