/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer-fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

ferry_net *lx_open(const char *text)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    if (ferry_net_open(fx_device(), "layer.prototxt", &o, &net))
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

void lx_set(ferry_blob *b, const float *values)
{
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memcpy(to, values, (size_t)ferry_blob_element_count(b) * sizeof *to);
}

bool lx_holds(ferry_net *net, const char *name, int64_t n, const float *wanted)
{
    ferry_blob *b = ferry_net_blob_find(net, name);
    const float *got = b ? ferry_blob_host_data(b) : NULL;

    if (!got || ferry_blob_element_count(b) != n) {
        printf("     %s: %lld elements\n", name, (long long)ferry_blob_element_count(b));
        return false;
    }
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - wanted[i]) <= 1e-5f * (1 + fabsf(wanted[i])))) {
            printf("     %s[%lld] is %.9g, not %.9g\n", name, (long long)i, (double)got[i],
                   (double)wanted[i]);
            return false;
        }
    return true;
}

void lx_run(ferry_net *net)
{
    int err = ferry_net_forward(net, NULL);

    if (err)
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_EQUAL_FATAL(err, FERRY_OK);
}
