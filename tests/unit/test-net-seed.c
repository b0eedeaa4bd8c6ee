/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ferry_net_seed: the random state of an open net begins again; and DummyData with constant values.
 */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"

#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT 64

static ferry_net *open_on(ferry_device *dev, const char *text, uint64_t seed)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    o.phase = FERRY_PHASE_TRAIN;
    o.seed = seed;
    FX_OK(ferry_net_open(dev, "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void forward(ferry_net *net, float *y)
{
    const float *values;

    FX_OK(ferry_net_forward(net, NULL));
    values = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    memcpy(y, values, COUNT * sizeof *y);
}

static bool same(const float *a, const float *b)
{
    return !memcmp(a, b, COUNT * sizeof *a);
}

static ferry_net *open_text(const char *text, uint64_t seed)
{
    return open_on(fx_device(), text, seed);
}

/*
 * Two nets opened with different seeds, then given one seed: later random values are the same. This
 * holds after different numbers of passes too, unless the nets read records.
 */
static void check_seeded(const char *text, bool records)
{
    ferry_device *dev = fx_device();
    ferry_net *a = open_on(dev, text, 3), *b = open_on(dev, text, 4);
    float x[COUNT], y[COUNT], second[COUNT];

    forward(a, x);
    forward(b, y);
    CU_ASSERT(!same(x, y));
    if (!records)
        forward(a, x);
    FX_OK(ferry_net_seed(a, 7));
    FX_OK(ferry_net_seed(b, 7));
    forward(a, x);
    forward(b, y);
    CU_ASSERT(same(x, y));
    forward(a, second);
    forward(b, y);
    CU_ASSERT(!same(x, second));
    CU_ASSERT(same(y, second));
    FX_OK(ferry_net_seed(a, 8));
    forward(a, x);
    forward(b, y);
    CU_ASSERT(!same(x, y));
    ferry_net_close(a);
    ferry_net_close(b);
    fx_end();
}

static void dropout_uses_the_latest_seed(void)
{
    check_seeded(
        "layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 64 } "
        "data_filler { value: 1 } } }\n"
        "layer { name: 'l' type: 'Dropout' bottom: 'x' top: 'y' }\n",
        false);
}

static void dummy_data_uses_the_latest_seed(void)
{
    check_seeded(
        "layer { name: 'd' type: 'DummyData' top: 'y' dummy_data_param { shape { dim: 64 } "
        "data_filler { type: 'gaussian' std: 1 } } }\n",
        false);
    check_seeded(
        "layer { name: 'd' type: 'DummyData' top: 'y' dummy_data_param { shape { dim: 64 } "
        "data_filler { type: 'gaussian' std: 1 sparse: 20 } } }\n",
        false);
}

/*
 * The parameters are those of the seed with which the net was opened, whether they are read before
 * or after.
 */
static void a_later_seed_does_not_change_parameters(void)
{
    const char *text =
        "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 8 } } }\n"
        "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' "
        "inner_product_param { axis: 0 num_output: 8 weight_filler { type: 'xavier' } } }\n";
    ferry_net *a = open_text(text, 3), *b = open_text(text, 3);
    const float *x = ferry_blob_host_data(ferry_net_param_at(a, 1, 0)), *y;

    FX_OK(ferry_net_seed(b, 9));
    y = ferry_blob_host_data(ferry_net_param_at(b, 1, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    CU_ASSERT(same(x, y));
    ferry_net_close(a);
    ferry_net_close(b);
    fx_end();
}

/* ---- shuffled records ------------------------------------------------------------------------ */

/* A list of 64 images whose labels are their line numbers. */
static void write_list(const char *path)
{
    FILE *list = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(list);
    for (int i = 0; i < COUNT; i++)
        fprintf(list, "%s %d\n", ferry_test_own_data("images/gray.png"), i);
    fclose(list);
}

static void shuffled_records_follow_the_latest_seed(void)
{
    char path[] = "/tmp/ferry-seed-XXXXXX", text[1024];
    int file = mkstemp(path);

    CU_ASSERT_FATAL(file >= 0);
    close(file);
    write_list(path);
    for (int prefetch = 0; prefetch <= 4; prefetch += 4) {
        snprintf(text, sizeof text,
                 "layer { name: 'd' type: 'ImageData' top: 'x' top: 'y' image_data_param { source: "
                 "'%s' batch_size: %d shuffle: true } data_param { prefetch: %d } }\n",
                 path, COUNT, prefetch);
        check_seeded(text, true);
    }
    unlink(path);
}

/* ---- constants ------------------------------------------------------------------------------- */

static void constant_data_is_filled_before_the_first_forward(void)
{
    ferry_net *net = open_text(
        "layer { name: 'd' type: 'DummyData' top: 'y' top: 'z' dummy_data_param { shape { "
        "dim: 64 } data_filler { value: 3 } data_filler { type: 'uniform' } } }\n",
        1);
    float *y = ferry_blob_mutable_host_data(ferry_net_blob_find(net, "y"));

    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    for (int i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(y[i], 3);
    y[5] = 4; /* as in Caffe a constant is filled once: a program may write other values */
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_mutable_host_data(ferry_net_blob_find(net, "y"));
    CU_ASSERT_EQUAL(y[5], 4);
    CU_ASSERT_EQUAL(y[6], 3);
    ferry_net_close(net);
    fx_end();
}

static void seeding_a_null_net_is_an_error(void)
{
    CU_ASSERT_EQUAL(ferry_net_seed(NULL, 1), FERRY_EINVAL);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(dropout_uses_the_latest_seed),
    FERRY_TEST(dummy_data_uses_the_latest_seed),
    FERRY_TEST(a_later_seed_does_not_change_parameters),
    FERRY_TEST(shuffled_records_follow_the_latest_seed),
    FERRY_TEST(constant_data_is_filled_before_the_first_forward),
    FERRY_TEST(seeding_a_null_net_is_an_error),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net seed", cases, FERRY_TEST_COUNT(cases));
}
