/* SPDX-License-Identifier: BSD-2-Clause */
/* Properties of the unary functions, by number. */
#ifndef FERRY_OP_UNARY_H
#define FERRY_OP_UNARY_H

#include "op/operand.h"

/* The value from which the backward pass of a function computes the derivative. */
enum ferry__gradient {
    FERRY__GRADIENT_INPUT,  /* x */
    FERRY__GRADIENT_RESULT, /* y */
    FERRY__GRADIENT_EITHER, /* x, or y if y replaces x in memory */
    FERRY__GRADIENT_NONE,   /* the function has no data pass */
};

/* The function's name, "RELU"; "unknown" for an unknown number. A static string. */
const char *ferry__unary_name(uint32_t function);

/* The function's kind of gradient; NONE for an unknown number. */
enum ferry__gradient ferry__unary_gradient(uint32_t function);

#endif
