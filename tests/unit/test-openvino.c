/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "ferry-test.h"

#include <ferry/ferry.h>
#include <ferry/net.h>

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Nets of FERRY_TEST_DATA on the openvino plugin, compared with the cpu plugin, with the same
 * seeded weights. Each net must be one segment, with the right results. Skipped without OpenVINO's
 * library or without the folder.
 */

static ferry_runtime *runtimes[2]; /* cpu, openvino */
static const char *saved;          /* the folder of saved segments; NULL: they are not saved */

static ferry_device *device_of(int i)
{
    static const char *const names[2] = { "cpu", "openvino" };
    ferry_runtime_options o = { .struct_size = sizeof o, .backend = names[i] };
    ferry_device *dev = NULL;

    if (!runtimes[i] && ferry_runtime_open(&o, &runtimes[i]))
        return NULL;
    return ferry_runtime_get_device(runtimes[i], names[i], &dev) ? NULL : dev;
}

/* ---- nets ------------------------------------------------------------------------------------ */

/* A random number from 0 to 1. */
static double next_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 40) / (double)(UINT64_C(1) << 24);
}

/*
 * Sets numbers with which values stay moderate, so that no softmax saturates: He's bound for
 * weights, means near 0, variances and factors near a half.
 */
static void fill(ferry_net *net, int layer, int k, uint64_t *state)
{
    const char *type = ferry_layer_get_type(ferry_net_layer_at(net, layer))->name;
    ferry_blob *b = ferry_net_param_at(net, layer, k);
    int64_t count = ferry_blob_element_count(b);
    int64_t fan = ferry_blob_rank(b) > 1 ? count / ferry_blob_dim(b, 0) : 0;
    bool around_one = !strcmp(type, "BatchNorm") ? k == 1 : !strcmp(type, "Scale") && k == 0;
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < count; i++) {
        double u = 2 * next_number(state) - 1;

        if (!strcmp(type, "BatchNorm") && k == 2)
            to[i] = 1;
        else if (around_one)
            to[i] = (float)(0.5 + 0.15 * u);
        else if (!strcmp(type, "InnerProduct"))
            to[i] = (float)(0.03 * u);
        else
            to[i] = (float)(u * (fan ? sqrt(6.0 / (double)fan) : 0.1));
    }
}

/*
 * The net with one picture and seeded weights; NULL, after printing the reason, if it is missing.
 */
static ferry_net *open_net(ferry_device *dev, const char *name)
{
    ferry_net_options o = { .struct_size = sizeof o, .segments = saved };
    const char *folder = getenv("FERRY_TEST_DATA");
    ferry_net *net = NULL;
    uint64_t state = 7;
    char path[512];
    int64_t shape[8];
    ferry_blob *input;

    snprintf(path, sizeof path, "%s/nets/prototxt/%s.prototxt", folder ? folder : "", name);
    if (ferry_net_open(dev, path, &o, &net)) {
        printf("     %s\n", ferry_last_error());
        return NULL;
    }
    input = ferry_net_input_at(net, 0);
    for (int a = 0; a < ferry_blob_rank(input); a++)
        shape[a] = a ? ferry_blob_dim(input, a) : 1;
    CU_ASSERT_EQUAL(ferry_blob_reshape(input, shape, ferry_blob_rank(input), NULL), 0);
    for (int i = 0; i < ferry_net_layer_count(net); i++)
        for (int k = 0; k < ferry_net_param_count(net, i); k++)
            fill(net, i, k, &state);
    return net;
}

static int pass(ferry_net *net, uint64_t seed)
{
    ferry_blob *input = ferry_net_input_at(net, 0);
    float *x = ferry_blob_overwrite_host_data(input);

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < ferry_blob_element_count(input); i++)
        x[i] = (float)(4 * next_number(&seed) - 2);
    return ferry_net_forward(net, NULL);
}

/* Layers with operations that no segment runs. */
static int left_over(const ferry_net *net)
{
    int count = 0;

    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        CU_ASSERT_EQUAL(ferry_net_get_layer_info(net, i, &info), 0);
        count += info.operations > 0 && info.segment != 1;
    }
    return count;
}

/* ---- beside the cpu plugin ------------------------------------------------------------------- */

/* The largest difference, relative to the largest value. */
static double difference(ferry_net *a, ferry_net *b)
{
    const ferry_blob *x = ferry_net_output_at(a, 0), *y = ferry_net_output_at(b, 0);
    const float *got = ferry_blob_host_data(x), *wanted = ferry_blob_host_data(y);
    double most = 0, largest = 0;

    CU_ASSERT_FATAL(got && wanted && ferry_blob_element_count(x) == ferry_blob_element_count(y));
    for (int64_t i = 0; i < ferry_blob_element_count(x); i++) {
        CU_ASSERT_FATAL(isfinite(got[i]) && isfinite(wanted[i]));
        most = fmax(most, fabs((double)got[i] - (double)wanted[i]));
        largest = fmax(largest, fabs((double)wanted[i]));
    }
    CU_ASSERT(largest > 0 && largest < 0.9);
    return most / largest;
}

static void compare(const char *name)
{
    ferry_net *nets[2] = { NULL, NULL };

    for (int i = 0; i < 2; i++)
        nets[i] = open_net(device_of(i), name);
    CU_ASSERT_FATAL(nets[0] && nets[1]);
    for (uint64_t seed = 1; seed < 4; seed++) {
        for (int i = 0; i < 2; i++)
            CU_ASSERT_EQUAL(pass(nets[i], seed), 0);
        CU_ASSERT(difference(nets[1], nets[0]) <= 2e-4);
    }
    CU_ASSERT_EQUAL(left_over(nets[1]), 0);
    printf("     %s: %.1e apart\n", name, difference(nets[1], nets[0]));
    for (int i = 0; i < 2; i++)
        ferry_net_close(nets[i]);
}

static void squeezenet_is_one_segment_with_right_results(void)
{
    compare("squeezenet_v1.1");
}

static void resnet_50_is_one_segment_with_right_results(void)
{
    compare("resnet50");
}

static void mobilenet_is_one_segment_with_right_results(void)
{
    compare("mobilenet_v1");
}

static void googlenet_is_one_segment_with_right_results(void)
{
    compare("bvlc_googlenet");
}

/* The second net is loaded from what the first one saved. */
static void a_saved_segment_runs(void)
{
    char dir[] = "/tmp/openvino-XXXXXX", command[64];

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    saved = dir;
    compare("squeezenet_v1.1");
    compare("squeezenet_v1.1");
    saved = NULL;
    snprintf(command, sizeof command, "rm -r %s", dir);
    CU_ASSERT_EQUAL(system(command), 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_saved_segment_runs),
    FERRY_TEST(squeezenet_is_one_segment_with_right_results),
    FERRY_TEST(resnet_50_is_one_segment_with_right_results),
    FERRY_TEST(mobilenet_is_one_segment_with_right_results),
    FERRY_TEST(googlenet_is_one_segment_with_right_results),
};

int main(int argc, char **argv)
{
    const char *why = !getenv("FERRY_TEST_DATA") ? "FERRY_TEST_DATA is not set"
                      : !device_of(1)            ? ferry_last_error()
                                                 : NULL;
    int result;

    if (why) {
        printf("ferry-test: openvino: 0 passed, 0 failed, %zu skipped: %s\n",
               FERRY_TEST_COUNT(cases), why);
        return 77;
    }
    result = ferry_test_main(argc, argv, "openvino", cases, FERRY_TEST_COUNT(cases));
    for (int i = 0; i < 2; i++)
        ferry_runtime_close(runtimes[i]);
    return result;
}
