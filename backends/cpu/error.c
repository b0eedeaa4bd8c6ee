/* SPDX-License-Identifier: BSD-2-Clause */
#include "cpu.h"

#include <inttypes.h>

const ferry_host *cpu_host;

int cpu_unsupported(const char *what, uint32_t dtype)
{
    return cpu_host->error(FERRY_EUNSUPPORTED, "%s of dtype %" PRIu32, what, dtype);
}
