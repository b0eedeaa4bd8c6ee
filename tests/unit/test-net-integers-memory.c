/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "oom.h"
#include "weights-net.h"

#include "net/passes/integers.h"
#include "op/origin.h"

#include <ferry/net.h>
#include <ferry/net_ranges.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The memory of a net's weights as integers, which exist only while they are packed. */

static const char *const file = "test-net-integers-memory.caffemodel";

static const ferry_memory *weights_of(const ferry_net *net)
{
    return ferry_blob_data_memory(net->layers[1].params[0].blob);
}

/* Overwrites a file in place. */
static void overwrite(const char *path)
{
    FILE *f = fopen(path, "r+b");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT(fputs("not the weights that were loaded", f) >= 0);
    CU_ASSERT_EQUAL(ftruncate(fileno(f), 100), 0);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

/* Gives a net ranges, so that devices with integers use them. */
static void set_ranges(ferry_net *net)
{
    FX_OK(ferry_net_set_range(net, "x", -3, 3));
    FX_OK(ferry_net_set_range(net, "a", -20, 20));
}

/* Whether all large weights of the net as integers have no contents at present. */
static bool are_integers_dropped(const ferry_net *net)
{
    const struct ferry__integers *c;
    int n = 0;

    for (int i = 0; i < net->n_layers; i++)
        for (c = net->layers[i].integers; c; c = c->next)
            if (ferry_blob_element_count(c->made[0]) >= FERRY__ORIGIN_BYTES) {
                n++;
                if (!fx_is_filled(ferry_blob_data_memory(c->made[0]), 0))
                    return false;
            }
    return n > 0;
}

static bool has_constants(const ferry_net *net)
{
    bool has = false;

    for (int i = 0; i < net->n_layers; i++)
        has = has || net->layers[i].integers;
    return has;
}

/* A convolution of 147,456 weights, which is folded if `fold`. */
static ferry_net *open_integers(bool fold, bool reread)
{
    static const char head[] = "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { "
                               "dim: 1 dim: 64 dim: 14 dim: 14 } } }\n"
                               "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' "
                               "convolution_param { num_output: 256 kernel_size: 3 pad: 1 "
                               "weight_filler { type: 'xavier' } } }\n";
    static const char scale[] = "layer { name: 'sc' type: 'Scale' bottom: 'a' top: 'a' "
                                "scale_param { filler { type: 'uniform' min: 0.5 max: 2 } } }\n";
    static const char tail[] =
        "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { pool: AVE "
        "global_pooling: true } }\n"
        "layer { name: 'ip' type: 'InnerProduct' bottom: 'p' top: 'y' inner_product_param { "
        "num_output: 7 weight_filler { type: 'xavier' } } }\n";
    char all[2048];
    ferry_net_options o = { .struct_size = sizeof o, .text = all, .reread_weights = reread };
    ferry_net *net = NULL;

    o.text_size = (size_t)snprintf(all, sizeof all, "%s%s%s", head, fold ? scale : "", tail);
    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    set_ranges(net);
    return net;
}

/* Whether the device has integers; reports the test as skipped if not. */
static bool has_integers(void)
{
    ferry_net *net = open_integers(false, false);
    float got[7];
    bool has;

    CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
    has = has_constants(net);
    ferry_net_close(net);
    wn_end();
    if (!has)
        ferry_test_skip("%s", "the device has no products of bytes");
    return has;
}

/* A net with integers computes what a net computes that is opened for this pass alone. */
static void check_fresh(ferry_net *net, bool fold, int64_t side)
{
    ferry_net *fresh = open_integers(fold, false);
    float got[7], wanted[7];

    FX_OK(ferry_net_share(fresh, net));
    set_ranges(fresh);
    CU_ASSERT_EQUAL(wn_run(net, side, got), 7);
    CU_ASSERT_EQUAL(wn_run(fresh, side, wanted), 7);
    wn_check_equal(got, wanted, 0);
    CU_ASSERT(fabsf(wanted[0]) > 1e-4f);
    ferry_net_close(fresh);
}

/* They are packed again from integers that are computed again, and after a change of weights. */
static void integers_are_computed_whenever_they_are_packed(void)
{
    if (!has_integers())
        return;
    for (int fold = 0; fold < 2; fold++) {
        ferry_net *net = open_integers(fold, false);

        for (int64_t side = 14; side; side = side == 14 ? 5 : side == 5 ? 30 : 0) {
            check_fresh(net, fold, side);
            CU_ASSERT(are_integers_dropped(net));
        }
        wn_set(ferry_net_param_at(net, 1, 0), -0.5f, 0.0625f);
        check_fresh(net, fold, 14);
        wn_set(ferry_net_param_at(net, 1, 0), 0.25f, -0.0625f);
        check_fresh(net, fold, 30);
        FX_OK(ferry_net_set_range(net, "x", -2, 2));
        wn_set(ferry_net_input_at(net, 0), -3, 0.5f);
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT(are_integers_dropped(net));
        ferry_net_close(net);
        wn_end();
    }
}

/* Neither the F32 weights of the file nor the integers stay beside the packed form. */
static void integers_of_weights_that_are_read_again_are_not_stored(void)
{
    float got[7], wanted[7];
    ferry_net *saved, *net;

    if (!has_integers())
        return;
    for (int fold = 0; fold < 2; fold++) {
        saved = open_integers(fold, false);
        FX_OK_FATAL(ferry_net_save(saved, file, FERRY_IO_CAFFEMODEL));
        net = open_integers(fold, true);
        FX_OK(ferry_net_load(net, file, NULL));
        set_ranges(net);
        CU_ASSERT_EQUAL(wn_run(saved, 14, wanted), 7);
        CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
        wn_check_equal(got, wanted, 0);
        CU_ASSERT(are_integers_dropped(net));
        CU_ASSERT(fx_is_filled(weights_of(net), 0));
        overwrite(file);
        CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
        wn_check_equal(got, wanted, 0);
        FX_OK(ferry_net_set_range(net, "x", -2, 2));
        wn_set(ferry_net_input_at(net, 0), -3, 0.5f);
        FX_FAILS(FERRY_EIO, ferry_net_forward(net, NULL));
        FX_OK_FATAL(ferry_net_save(saved, file, FERRY_IO_CAFFEMODEL));
        FX_OK(ferry_net_load(net, file, NULL));
        set_ranges(net);
        CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
        wn_check_equal(got, wanted, 0);
        ferry_net_close(net);
        ferry_net_close(saved);
        unlink(file);
        wn_end();
    }
}

static void every_allocation_of_a_first_pass_with_integers_may_fail(void)
{
    float got[7], wanted[7];
    unsigned n = 1;
    bool failed = true;
    ferry_net *net;

    if (!has_integers())
        return;
    net = open_integers(true, false);
    FX_OK_FATAL(ferry_net_save(net, file, FERRY_IO_CAFFEMODEL));
    CU_ASSERT_EQUAL(wn_run(net, 14, wanted), 7);
    ferry_net_close(net);
    for (; failed; n++) {
        net = open_integers(true, true);
        FX_OK(ferry_net_load(net, file, NULL));
        set_ranges(net);
        wn_set(ferry_net_input_at(net, 0), -3, 0.5f);
        oom_arm(n);
        if (!ferry_net_forward(net, NULL))
            (void)ferry_blob_host_data(ferry_net_output_at(net, 0));
        failed = oom_disarm();
        CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
        wn_check_equal(got, wanted, 0);
        ferry_net_close(net);
        wn_end();
    }
    unlink(file);
    CU_ASSERT(n > 20);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(integers_are_computed_whenever_they_are_packed),
    FERRY_TEST(integers_of_weights_that_are_read_again_are_not_stored),
    FERRY_TEST(every_allocation_of_a_first_pass_with_integers_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "memory of integers", cases,
                                    FERRY_TEST_COUNT(cases));
}
