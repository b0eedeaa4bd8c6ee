/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "backends/cpu/isa.h"

#include <stdatomic.h>
#include <stdlib.h>

/*
 * A part of the test plugin amx/ferry_cpu.so (build-isa.sh), in the place of the cpu plugin's
 * features.c: the processor's features, and AMX if it has AVX512_BF16, which every processor with
 * AMX has. The plugin computes AMX's products by amx-model.h.
 */

#define cpu_features_read       real_features
#define cpu_features_permit_amx real_permission
#include "backends/cpu/features.c"
#undef cpu_features_read
#undef cpu_features_permit_amx

/* Of the model; tests find the latter by its name. */
extern _Atomic bool model_is_permitted;
_Atomic bool model_is_permitted;
extern _Atomic uint64_t ferry_amx_model_products;
__attribute__((visibility("default"))) _Atomic uint64_t ferry_amx_model_products;

void cpu_features_read(struct cpu_features *out)
{
    real_features(out);
    if (out->leaf7_1_eax >> 5 & 1) {
        out->leaf7_edx |= UINT32_C(1) << 22 | UINT32_C(1) << 24 | UINT32_C(1) << 25;
        out->xcr0 |= 0x60000;
    }
}

/* Refuses with the errno value in FERRY_TEST_AMX_ERRNO, if the environment has it. */
int cpu_features_permit_amx(void)
{
    const char *text = getenv("FERRY_TEST_AMX_ERRNO");

    if (text)
        return atoi(text);
    model_is_permitted = true;
    return 0;
}
