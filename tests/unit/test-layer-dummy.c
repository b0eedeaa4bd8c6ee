/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* DummyData with random fillers. Checks the range and the variance of each filler. */

#define COUNT 640

/*
 * For two draws of each filler: their range, their mean square, and whether each forward pass draws
 * new values.
 */
static const struct {
    const char *filler;
    double least, most, square; /* 0: items of 32 have the sum 2 */
    bool anew;
} fillers[] = {
    { "value: 3", 6, 6, 36, false },
    { "type: 'uniform' min: -1 max: 1", -2, 2, 4.0 / 3, true },
    { "type: 'gaussian' std: 0.5", -6, 6, 1, true },
    { "type: 'gaussian' std: 0.5 sparse: 5", -6, 6, 0.25, true },
    { "type: 'xavier'", -0.61238, 0.61238, 0.125, true },
    { "type: 'msra' variance_norm: FAN_OUT", -1, 1, 4 * 2.0 / 320, true },
    { "type: 'bilinear'", 2.0 / 16, 18.0 / 16, 0.390625, false },
    { "type: 'positive_unitball'", 0, 0.25, 0, true },
};

static void check_filled(const float *y, size_t k)
{
    double square = 0, sum = 0;
    bool inside = true;

    for (int i = 0; i < COUNT; i++) {
        double value = (double)y[i];

        inside = inside && value >= fillers[k].least && value <= fillers[k].most;
        square += value * value / COUNT;
        sum += i < 32 ? value : 0;
    }
    if (fillers[k].square == 0)
        inside = inside && fabs(sum - 2) < 1e-4;
    else
        inside = inside && fabs(square / fillers[k].square - 1) < 0.25;
    if (!inside)
        printf("     %s: mean square %g, sum %g\n", fillers[k].filler, square, sum);
    CU_ASSERT(inside);
}

static ferry_net *open_filled(const char *filler)
{
    ferry_net_options o = { .struct_size = sizeof o };
    ferry_net *net = NULL;
    char text[512];

    snprintf(
        text, sizeof text,
        "layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 20 dim: 2 "
        "dim: 4 dim: 4 } data_filler { %s } } }\n"
        "layer { name: 'p' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 2 } }",
        filler);
    o.text = text;
    o.text_size = strlen(text);
    FX_OK(ferry_net_open(fx_device(), "dummy.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void forward(ferry_net *net, float *y)
{
    const float *values;

    FX_OK(ferry_net_forward(net, NULL));
    values = ferry_blob_host_data(ferry_net_output_at(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    memcpy(y, values, COUNT * sizeof *y);
}

static void every_filler_fills_data(void)
{
    for (size_t k = 0; k < FERRY_TEST_COUNT(fillers); k++) {
        ferry_net *net = open_filled(fillers[k].filler);
        float before[COUNT], y[COUNT];

        forward(net, before);
        forward(net, y);
        CU_ASSERT_EQUAL(memcmp(before, y, sizeof y) != 0, fillers[k].anew);
        check_filled(y, k);
        ferry_net_close(net);
        fx_end();
    }
}

/*
 * Caffe's kernel (October 2017): with f = ceil(k / 2) and the centre c = (k - 1) / (2 f), it is (1
 * - |x/f - c|) (1 - |y/f - c|).
 */
static void a_bilinear_filler_of_any_size_matches_caffe(void)
{
    for (int k = 1; k <= 8; k++) {
        ferry_net_options o = { .struct_size = sizeof o };
        double f = (k + 1) / 2, c = (k - 1) / (2 * f), worst = 0;
        ferry_net *net = NULL;
        const float *values;
        char text[256];

        snprintf(text, sizeof text,
                 "layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 2 "
                 "dim: 1 dim: %d dim: %d } data_filler { type: 'bilinear' } } }",
                 k, k);
        o.text = text;
        o.text_size = strlen(text);
        FX_OK(ferry_net_open(fx_device(), "dummy.prototxt", &o, &net));
        CU_ASSERT_PTR_NOT_NULL_FATAL(net);
        FX_OK(ferry_net_forward(net, NULL));
        values = ferry_blob_host_data(ferry_net_output_at(net, 0));
        CU_ASSERT_PTR_NOT_NULL_FATAL(values);
        for (int i = 0; i < 2 * k * k; i++) {
            double x = i % k, y = i / k % k;

            worst = fmax(worst,
                         fabs((double)values[i] - (1 - fabs(x / f - c)) * (1 - fabs(y / f - c))));
        }
        if (worst > 1e-6)
            printf("     %d × %d: off by %g\n", k, k, worst);
        CU_ASSERT(worst <= 1e-6);
        ferry_net_close(net);
        fx_end();
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_bilinear_filler_of_any_size_matches_caffe),
    FERRY_TEST(every_filler_fills_data),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "layer-dummy", cases, FERRY_TEST_COUNT(cases));
}
