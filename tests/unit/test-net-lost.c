/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * A device is lost in the middle of a forward pass, after each of its commands: the error, and the
 * net on another device afterwards. A lost device remains lost, so each command has a world of its
 * own.
 */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 6 dim: 6 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 4 "
    "kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { kernel_size: 2 stride: "
    "2 } }\n"
    "layer { name: 'b' type: 'InnerProduct' bottom: 'p' top: 'b' inner_product_param { num_output: "
    "5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Softmax' bottom: 'b' top: 'y' }\n";

#define VALUES 5
#define MOST   16 /* the maximum number of commands of a pass */

static ferry_net *open_net(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    FX_OK(ferry_net_open(wx_dev(0), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void feed(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < ferry_blob_element_count(ferry_net_input_at(net, 0)); i++)
        x[i] = (float)(i % 11) / 5 - 1;
}

/* Gives the host valid copies of the parameters, as after loading them. */
static void bring_weights(ferry_net *net)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++)
        for (int k = 0; k < ferry_net_param_count(net, i); k++)
            CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(ferry_net_param_at(net, i, k)));
}

/*
 * Runs that many of the pending commands of device 0, then loses the device. Returns how many were
 * pending.
 */
static uint64_t lose_behind(uint64_t n)
{
    const struct sim_control *control = NULL;
    uint64_t waiting = wx_pending(0);
    void *sim = NULL;

    fx_sim(wx_dev(0), &control, &sim);
    CU_ASSERT_EQUAL(control->step(sim, n), n < waiting ? n : waiting);
    control->lose(sim);
    return waiting;
}

static void check_moved(ferry_net *net, const float *wanted)
{
    const float *y;

    FX_OK(ferry_net_move_to(net, wx_dev(1)));
    feed(net);
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_host_data(ferry_net_output_at(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    for (int i = 0; i < VALUES; i++)
        CU_ASSERT(fabsf(y[i] - wanted[i]) <= 1e-6f);
}

static void a_lost_device_fails_the_pass_and_the_net_moves_to_another(void)
{
    unsigned long behind = 0;
    float wanted[VALUES];
    const float *y;
    ferry_net *net;
    uint64_t waiting;

    CU_ASSERT_EQUAL_FATAL(sscanf(wx_running()->name, "lost behind %lu", &behind), 1);
    wx_begin();
    net = open_net();
    feed(net);
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_host_data(ferry_net_output_at(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    memcpy(wanted, y, sizeof wanted);
    bring_weights(net);
    feed(net);
    FX_OK(ferry_net_forward(net, NULL));
    waiting = lose_behind(behind);
    CU_ASSERT(waiting > 2 && waiting <= MOST);
    CU_ASSERT_PTR_NULL(ferry_blob_host_data(ferry_net_output_at(net, 0)));
    CU_ASSERT_EQUAL(ferry_last_error_code(), FERRY_ELOST);
    feed(net);
    CU_ASSERT_EQUAL(ferry_net_forward(net, NULL), FERRY_ELOST);
    CU_ASSERT(strstr(ferry_last_error(), "sim") != NULL);
    check_moved(net, wanted);
    ferry_net_close(net);
    wx_run_all(); /* the lost device never gives its memory back, so there is no wx_end */
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_lost_device_fails_the_pass_and_the_net_moves_to_another),
};

int main(int argc, char **argv)
{
    static const char *const manual[] = { "clock", "manual", NULL };
    static char names[MOST + 1][24];
    struct wx_world worlds[MOST + 1];

    for (int i = 0; i <= MOST; i++) {
        snprintf(names[i], sizeof names[i], "lost behind %d", i);
        worlds[i] = (struct wx_world){ names[i], manual, cases, FERRY_TEST_COUNT(cases) };
    }
    return wx_main(argc, argv, "net lost", worlds, FERRY_TEST_COUNT(worlds));
}
