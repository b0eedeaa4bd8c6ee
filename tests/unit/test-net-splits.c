/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits that a net inserts: error messages name them, and nets in which one blob has very many
 * users open and run in a time proportional to their size.
 */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "long-text.h"

#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Processor time of all threads: other programs on the machine do not add to it. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static ferry_net *open_text(const struct long_text *t)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = t->at, .text_size = t->used };
    ferry_net *net = NULL;

    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

/* ---- many users ------------------------------------------------------------------------------ */

/* Opens a net, sets x to 1 and −2 and runs it twice; returns the seconds. */
static ferry_net *run(const struct long_text *t, double *out_seconds)
{
    double begin = now();
    ferry_net *net = open_text(t);
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    x[0] = 1;
    x[1] = -2;
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_forward(net, NULL));
    *out_seconds = now() - begin;
    return net;
}

static double bound(double seconds)
{
    return ferry_test_is_slow() ? 20 * seconds : seconds;
}

static void check_output(ferry_net *net, const char *name, float first, float second)
{
    const float *y = ferry_blob_host_data(ferry_net_blob_find(net, name));

    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    CU_ASSERT_EQUAL(y[0], first);
    CU_ASSERT_EQUAL(y[1], second);
}

#define INPUT "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 } } }\n"

/* The host's structures take the time, on every device the same. */
static bool one_device_is_enough(void)
{
    if (!getenv("FERRY_TEST_QUICK") || !strcmp(ferry_test_backend(), "cpu"))
        return false;
    ferry_test_skip("FERRY_TEST_QUICK: make check-long runs it on this device");
    return true;
}

static void a_blob_with_twenty_thousand_consumers_opens_fast(void)
{
    struct long_text t = { 0 };
    double seconds;
    ferry_net *net;

    if (one_device_is_enough())
        return;
    long_text_add(&t, INPUT);
    for (int i = 0; i < 20000; i++)
        long_text_add(
            &t,
            "layer { name: 'l%d' type: 'Power' bottom: 'x' top: 'y%d' power_param { shift: %d } "
            "}\n",
            i, i, i);
    net = run(&t, &seconds);
    check_output(net, "y0", 1, -2);
    check_output(net, "y19999", 20000, 19997);
    printf("     20000 users of one blob: %.2f s\n", seconds);
    CU_ASSERT(seconds < bound(8));
    ferry_net_close(net);
    free(t.at);
    fx_end();
}

static void a_layer_with_thirty_thousand_bottoms_opens_fast(void)
{
    struct long_text t = { 0 };
    double seconds;
    ferry_net *net;

    long_text_add(&t, INPUT "layer { name: 's' type: 'Silence'");
    for (int i = 0; i < 30000; i++)
        long_text_add(&t, " bottom: 'x'");
    long_text_add(
        &t,
        " }\nlayer { name: 'l' type: 'Power' bottom: 'x' top: 'y' power_param { scale: 2 } }\n");
    net = run(&t, &seconds);
    check_output(net, "y", 2, -4);
    printf("     30000 bottoms of one layer: %.2f s\n", seconds);
    CU_ASSERT(seconds < bound(4));
    ferry_net_close(net);
    free(t.at);
    fx_end();
}

static void a_chain_of_twenty_thousand_layers_opens_fast(void)
{
    struct long_text t = { 0 };
    double seconds;
    ferry_net *net;

    if (one_device_is_enough())
        return;
    long_text_add(&t, INPUT);
    for (int i = 0; i < 20000; i++)
        long_text_add(
            &t,
            "layer { name: 'l%d' type: 'Power' bottom: '%s%d' top: 'x%d' power_param { scale: -1 } "
            "}\n",
            i, i ? "x" : "y", i, i + 1);
    /* the first bottom is the input's top */
    memcpy(strstr(t.at, "'y0'"), "'x' ", 4);
    net = run(&t, &seconds);
    check_output(net, "x20000", 1, -2);
    printf("     a chain of 20000 layers: %.2f s\n", seconds);
    CU_ASSERT(seconds < bound(8));
    ferry_net_close(net);
    free(t.at);
    fx_end();
}

/* ---- errors ---------------------------------------------------------------------------------- */

static int refuse(ferry_layer *layer)
{
    (void)layer;
    return ferry_error_set(FERRY_EUNSUPPORTED, "no such split today");
}

static int refuse_itself(ferry_layer *layer)
{
    return ferry_layer_error(layer, FERRY_EUNSUPPORTED, "no such split today");
}

static int count_in(const char *text, const char *what)
{
    int n = 0;

    while ((text = strstr(text, what))) {
        text++;
        n++;
    }
    return n;
}

/* The failure of a split of blob `blob`, in an error message of the type's own or of the net's. */
static void check_named(const char *blob, int (*reshape)(ferry_layer *))
{
    const ferry_layer_type *own = ferry_layer_type_find("Split");
    static ferry_layer_type failing;
    ferry_net_options o = { .struct_size = sizeof o };
    struct long_text t = { 0 };
    ferry_net *net = NULL;
    char name[512];

    failing = *own;
    failing.setup = NULL;
    failing.reshape = reshape;
    FX_OK(ferry_layer_register(&failing));
    long_text_add(&t,
                  "layer { name: 'in' type: 'Input' top: '%s' input_param { shape { dim: 2 } } }\n"
                  "layer { name: 'a' type: 'ReLU' bottom: '%s' top: 'a' }\n"
                  "layer { name: 'b' type: 'ReLU' bottom: '%s' top: 'b' }\n",
                  blob, blob, blob);
    o.text = t.at;
    o.text_size = t.used;
    CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "net.prototxt", &o, &net), FERRY_EUNSUPPORTED);
    FX_OK(ferry_layer_register(own));
    snprintf(name, sizeof name, "layer \"%s_in_0_split\" (Split): ", blob);
    CU_ASSERT_EQUAL(count_in(ferry_last_error(), name), 1);
    CU_ASSERT_EQUAL(count_in(ferry_last_error(), "layer \""), 1);
    CU_ASSERT_EQUAL(count_in(ferry_last_error(), "no such split today"), 1);
    if (net)
        ferry_net_close(net);
    free(t.at);
    fx_end();
}

static void an_error_of_a_split_names_it_once(void)
{
    char blob[201];

    memset(blob, 'b', sizeof blob);
    blob[200] = 0;
    check_named("x", refuse);
    check_named("x", refuse_itself);
    check_named(blob, refuse);
    check_named(blob, refuse_itself);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_blob_with_twenty_thousand_consumers_opens_fast),
    FERRY_TEST(a_layer_with_thirty_thousand_bottoms_opens_fast),
    FERRY_TEST(a_chain_of_twenty_thousand_layers_opens_fast),
    FERRY_TEST(an_error_of_a_split_names_it_once),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net splits", cases, FERRY_TEST_COUNT(cases));
}
