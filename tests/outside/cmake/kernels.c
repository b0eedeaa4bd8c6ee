/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that libferrykernels and the texts that are installed with it have the same version. */
#include <ferry/kernels.h>

#include "kernels/fingerprint.h"

#include <stdio.h>

int main(void)
{
    if (ferry_kernels_fingerprint() == FERRY_KERNELS_FINGERPRINT && ferry_kernels_count() > 0)
        return 0;
    fprintf(stderr, "the library has other texts than its folder\n");
    return 1;
}
