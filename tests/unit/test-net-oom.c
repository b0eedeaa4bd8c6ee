/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "oom.h"

#include <ferry/layer.h>
#include <ferry/net.h>
#include <ferry/onnx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Every allocation of a net fails once: when it is opened, loaded, run and reshaped. Also checks
 * that repeated passes allocate nothing.
 */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 6 dim: 6 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 4 "
    "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'bn' type: 'BatchNorm' bottom: 'a' top: 'a' }\n"
    "layer { name: 'sc' type: 'Scale' bottom: 'a' top: 'a' }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { num_output: 4 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { kernel_size: 3 pad: 1 "
    "} }\n"
    "layer { name: 'c' type: 'Concat' bottom: 'b' bottom: 'p' top: 'c' }\n"
    "layer { name: 'e' type: 'Eltwise' bottom: 'c' bottom: 'c' top: 'e' }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'e' top: 'y' inner_product_param { "
    "num_output: 5 "
    "weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Softmax' bottom: 'y' top: 's' }\n"
    "layer { name: 'm' type: 'ArgMax' bottom: 's' top: 'm' }\n";

static int open_net(ferry_device *dev, ferry_net **out)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };

    return ferry_net_open(dev, "net.prototxt", &o, out);
}

static void shape(ferry_net *net, int64_t n, int64_t side)
{
    ferry_blob *x = ferry_net_input_at(net, 0);
    float *to;

    FX_OK(ferry_blob_reshape4(x, n, 3, side, side));
    to = ferry_blob_overwrite_host_data(x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < ferry_blob_element_count(x); i++)
        to[i] = (float)(i % 7) - 3;
}

/* Runs a pass and reads its output. */
static int run(ferry_net *net)
{
    int err = ferry_net_forward(net, NULL);

    return err || ferry_blob_host_data(ferry_net_output_at(net, 0)) ? err : ferry_last_error_code();
}

/*
 * Every allocation on the CPU, and on all backends with FERRY_TEST_LONG; otherwise every seventh,
 * from a different first one in each run, so that several runs cover all. FERRY_TEST_SEED repeats a
 * run.
 */
#define STEP 7u

static unsigned step(void)
{
    return strcmp(ferry_test_backend(), "cpu") && !getenv("FERRY_TEST_LONG") ? STEP : 1;
}

static unsigned first(void)
{
    static unsigned seed, known;
    const char *told = getenv("FERRY_TEST_SEED");

    if (!known) {
        known = 1;
        seed = told ? (unsigned)strtoul(told, NULL, 10) : (unsigned)time(NULL);
        if (step() > 1)
            printf("     FERRY_TEST_SEED=%u\n", seed);
    }
    return 1 + seed % step();
}

static unsigned next(unsigned n)
{
    return n + step();
}

static bool answers(ferry_net *net, const float *wanted, int64_t n)
{
    const float *got = ferry_blob_host_data(ferry_net_output_at(net, 0));

    for (int64_t i = 0; got && i < n; i++)
        if (fabsf(got[i] - wanted[i]) > 1e-6f)
            return false;
    return got != NULL;
}

/*
 * The first lookup of the layer types must not depend on memory, because its failure would prevent
 * every net from opening.
 */
static bool types_were_there;

static void built_in_layer_types_are_found_without_memory(void)
{
    CU_ASSERT(types_were_there);
}

static void every_allocation_of_opening_may_fail(void)
{
    ferry_device *dev = fx_device();
    unsigned n = first();
    bool failed = true;

    for (; failed; n = next(n)) {
        ferry_net *net = NULL;
        int err;

        oom_arm(n);
        err = open_net(dev, &net);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || (err == FERRY_ENOMEM && !net));
        if (err && err != FERRY_ENOMEM)
            printf("     allocation %u: %s\n", n, ferry_last_error());
        ferry_net_close(net);
        fx_end();
    }
    CU_ASSERT(n > 100); /* the minimum number of allocations */
}

/*
 * Failures during the first pass and during one with another shape: the net computes again once
 * memory is available.
 */
static void every_allocation_of_running_may_fail(void)
{
    ferry_device *dev = fx_device();
    ferry_net *net = NULL, *good = NULL;
    float wanted[8];
    unsigned n;
    bool failed = true;

    FX_OK(open_net(dev, &good));
    shape(good, 2, 6);
    FX_OK(run(good));
    memcpy(wanted, ferry_blob_host_data(ferry_net_output_at(good, 0)), 2 * sizeof *wanted);
    for (n = first(); failed; n = next(n)) {
        int err;

        FX_OK(open_net(dev, &net));
        shape(net, 2, 6);
        oom_arm(n);
        err = run(net);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        if (err && err != FERRY_ENOMEM)
            printf("     allocation %u: %d: %s\n", n, err, ferry_last_error());
        FX_OK(run(net));
        CU_ASSERT(answers(net, wanted, 2));
        shape(net, 1, 6);
        oom_arm(n);
        err = run(net);
        failed = oom_disarm() || failed;
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        FX_OK(run(net));
        shape(net, 2, 6);
        FX_OK(run(net));
        CU_ASSERT(answers(net, wanted, 2));
        ferry_net_close(net);
    }
    CU_ASSERT(n > 20);
    ferry_net_close(good);
    fx_end();
}

static void every_allocation_of_loading_may_fail(void)
{
    char path[] = "/tmp/ferry-net-XXXXXX";
    ferry_device *dev = fx_device();
    ferry_net *net = NULL;
    int fd = mkstemp(path);
    bool failed = true;
    float wanted[2];
    unsigned n;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    FX_OK(open_net(dev, &net));
    FX_OK(ferry_net_save(net, path, FERRY_IO_NPZ));
    shape(net, 2, 6);
    FX_OK(run(net));
    memcpy(wanted, ferry_blob_host_data(ferry_net_output_at(net, 0)), sizeof wanted);
    for (n = first(); failed; n = next(n)) {
        int err;

        oom_arm(n);
        err = ferry_net_load(net, path, NULL);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        if (err && err != FERRY_ENOMEM)
            printf("     allocation %u: %d: %s\n", n, err, ferry_last_error());
        FX_OK(run(net));
        CU_ASSERT(answers(net, wanted, 2));
    }
    CU_ASSERT(n > 20);
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

/* A save that fails leaves the existing file unchanged and leaves no other file. */
static void every_allocation_of_saving_may_fail(void)
{
    static const ferry_io_format formats[] = { FERRY_IO_CAFFEMODEL, FERRY_IO_NPZ };
    ferry_device *dev = fx_device();
    ferry_net *net = NULL;
    size_t f;

    FX_OK(open_net(dev, &net));
    shape(net, 2, 6);
    FX_OK(run(net));
    for (f = 0; f < FERRY_TEST_COUNT(formats); f++) {
        char folder[] = "/tmp/ferry-save-XXXXXX", path[64], kept[4];
        bool failed = true;
        unsigned n;

        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/model", folder);
        for (n = first(); failed; n = next(n)) {
            FILE *file = fopen(path, "w");
            int err;

            CU_ASSERT_FATAL(file && fputs("old", file) >= 0 && !fclose(file));
            oom_arm(n);
            err = ferry_net_save(net, path, formats[f]);
            failed = oom_disarm();
            CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
            if (err && err != FERRY_ENOMEM)
                printf("     allocation %u: %d: %s\n", n, err, ferry_last_error());
            file = fopen(path, "r");
            CU_ASSERT_PTR_NOT_NULL_FATAL(file);
            CU_ASSERT_EQUAL(fread(kept, 1, 3, file), 3);
            fclose(file);
            CU_ASSERT_EQUAL(memcmp(kept, "old", 3) != 0, err == 0);
        }
        CU_ASSERT(n > 5);
        FX_OK(run(net));
        unlink(path);
        CU_ASSERT_EQUAL(rmdir(folder), 0); /* the folder contains nothing else */
    }
    ferry_net_close(net);
    fx_end();
}

/* An export that fails leaves the existing file unchanged; the net computes the same afterwards. */
static void every_allocation_of_an_export_may_fail(void)
{
    static const ferry_onnx_options kinds[] = {
        { .struct_size = sizeof kinds[0] },
        { .struct_size = sizeof kinds[0], .no_fold = true, .half = true },
    };
    char folder[] = "/tmp/ferry-export-XXXXXX", path[64];
    ferry_net *net = NULL;
    size_t k;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    FX_OK(open_net(fx_device(), &net));
    shape(net, 2, 6);
    FX_OK(run(net));
    for (k = 0; k < FERRY_TEST_COUNT(kinds); k++) {
        bool failed = true;
        unsigned n;

        for (n = 1; failed; n++) { /* each of them: the first ones create the lists */
            int err;

            oom_arm(n);
            err = ferry_net_export_onnx(net, path, &kinds[k]);
            failed = oom_disarm();
            CU_ASSERT_EQUAL(err, failed ? FERRY_ENOMEM : 0);
            CU_ASSERT_EQUAL(access(path, F_OK) == 0, err == 0);
            if (err && err != FERRY_ENOMEM)
                printf("     allocation %u: %d: %s\n", n, err, ferry_last_error());
        }
        CU_ASSERT(n > 10);
        unlink(path);
    }
    FX_OK(run(net));
    ferry_net_close(net);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
    fx_end();
}

static void a_property_without_a_key_or_a_value_is_refused(void)
{
    static const ferry_onnx_property no_key[] = { { "a", "b" }, { NULL, "b" } },
                                     no_value[] = { { "a", NULL } };
    ferry_onnx_options o = { .struct_size = sizeof o, .properties = no_key, .property_count = 2 };
    ferry_net *net = NULL;

    FX_OK(open_net(fx_device(), &net));
    FX_FAILS(FERRY_EINVAL, ferry_net_export_onnx(net, "/nowhere/m.onnx", &o));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "properties[1] has no key"));
    o.properties = no_value;
    o.property_count = 1;
    FX_FAILS(FERRY_EINVAL, ferry_net_export_onnx(net, "/nowhere/m.onnx", &o));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "properties[0] has no value"));
    o.properties = NULL;
    FX_FAILS(FERRY_EINVAL, ferry_net_export_onnx(net, "/nowhere/m.onnx", &o));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "properties is NULL"));
    ferry_net_close(net);
    fx_end();
}

/* Repeated passes, and shapes used before, allocate nothing: the first allocation would fail. */
static void a_repeated_pass_allocates_nothing(void)
{
    static const int64_t sides[] = { 6, 3, 7, 5, 4, 8, 9, 10 };
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;
    int round;
    size_t i;

    if (strcmp(ferry_test_backend(), "cpu")) {
        ferry_test_skip("an asynchronous queue creates an event for each submission");
        return;
    }
    o.keep = (const char *const[]){ "s" }; /* ArgMax allocates temporary memory */
    o.keep_count = 1;
    o.only = true;
    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    for (round = 0; round < 3; round++)
        for (i = 0; i < 2 * FERRY_TEST_COUNT(sides); i++) {
            /*
             * the inner product determines the elements of an item, so the number of items changes
             */
            shape(net, sides[i / 2], 6);
            if (round)
                oom_arm(1);
            FX_OK(ferry_net_forward(net, NULL));
            CU_ASSERT_FALSE(oom_disarm());
        }
    ferry_net_close(net);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(built_in_layer_types_are_found_without_memory),
    FERRY_TEST(every_allocation_of_opening_may_fail),
    FERRY_TEST(every_allocation_of_running_may_fail),
    FERRY_TEST(every_allocation_of_loading_may_fail),
    FERRY_TEST(every_allocation_of_saving_may_fail),
    FERRY_TEST(every_allocation_of_an_export_may_fail),
    FERRY_TEST(a_property_without_a_key_or_a_value_is_refused),
    FERRY_TEST(a_repeated_pass_allocates_nothing),
};

int main(int argc, char **argv)
{
    oom_arm(1);
    types_were_there = ferry_layer_type_find("Input") != NULL;
    oom_disarm();
    return ferry_test_main_backends(argc, argv, "net oom", cases, FERRY_TEST_COUNT(cases));
}
