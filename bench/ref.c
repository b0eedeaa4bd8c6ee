/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"

const void *bench_reference_pointer(const void *const *p)
{
    return *p;
}
