/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_manners"
#include "good.h"

#include <locale.h>
#include <stdio.h>

/*
 * Prints to standard output, which belongs to the program, and changes the locale's decimal point.
 */
static int say(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    printf("memset of %llu bytes\n", (unsigned long long)bytes);
    return good_memset(dev, queue, dst, byte, bytes);
}

static int localize(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                    ferry_ref y)
{
    setlocale(LC_TIME, "C.UTF-8");
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memset = say;
    ops->axpy = localize;
}
