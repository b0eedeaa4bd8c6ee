/* SPDX-License-Identifier: BSD-2-Clause */
#include "weights-net.h"

#include <math.h>
#include <string.h>

static ferry_device *current; /* the device of the running case; NULL: not yet opened */

ferry_device *wn_device(void)
{
    if (!current)
        current = fx_device();
    return current;
}

void wn_end(void)
{
    current = NULL;
    fx_end();
}

ferry_net *wn_open(const char *text, ferry_phase phase, bool reread)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = text,
                            .text_size = strlen(text),
                            .phase = phase,
                            .reread_weights = reread };
    ferry_net *net = NULL;

    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    return net;
}

ferry_net *wn_open_with(const char *text, const char *path, bool reread)
{
    ferry_net *net = wn_open(text, FERRY_PHASE_TEST, reread);

    FX_OK_FATAL(ferry_net_load(net, path, NULL));
    return net;
}

void wn_set(ferry_blob *b, float first, float step)
{
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        to[i] = first + step * (float)(i % 13);
}

int64_t wn_run(ferry_net *net, int64_t side, float *out)
{
    ferry_blob *x = ferry_net_input_at(net, 0);
    const float *y;

    if (strcmp(ferry_test_backend(), "cpu") != 0)
        side = side / 3 + 1;
    FX_OK(ferry_blob_reshape4(x, 1, 64, side, side));
    wn_set(x, -3, 0.5f);
    if (ferry_net_forward(net, NULL))
        return 0;
    y = ferry_blob_host_data(ferry_net_output_at(net, 0));
    if (y)
        memcpy(out, y, 7 * sizeof *y);
    return y ? 7 : 0;
}

void wn_check_equal(const float *a, const float *b, float tolerance)
{
    for (int i = 0; i < 7; i++)
        CU_ASSERT(fabsf(a[i] - b[i]) <= tolerance);
}
