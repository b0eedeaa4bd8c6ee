/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <ferry/net.h>
#include <ferry/op.h>

#include <stdlib.h>
#include <string.h>

/*
 * Repeated passes of a net: the device records the second pass and replays the later ones. Sim
 * counts the lists that it submits in SIM_CALL_LIST. Also `query` answers that the host is faster.
 */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 6 dim: 6 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 4 "
    "kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { pool: AVE "
    "global_pooling: true } }\n"
    "layer { name: 'b' type: 'InnerProduct' bottom: 'p' top: 'b' inner_product_param { num_output: "
    "5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Softmax' bottom: 'b' top: 'y' }\n";

#define VALUES 5

static ferry_net *open_net(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    FX_OK(ferry_net_open(wx_dev(0), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

/* Runs a pass over x, whose elements depend on `seed`; returns its code. */
static int pass(ferry_net *net, int seed)
{
    ferry_blob *input = ferry_net_input_at(net, 0);
    float *x = ferry_blob_overwrite_host_data(input);

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < ferry_blob_element_count(input); i++)
        x[i] = (float)((i + seed) % 11) / 5 - (float)seed / 3;
    return ferry_net_forward(net, NULL);
}

static void result(ferry_net *net, float *out)
{
    const float *y = ferry_blob_host_data(ferry_net_output_at(net, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    memcpy(out, y, VALUES * sizeof *y);
}

/* Whether a pass over `seed` gives the same bits as the first pass of another net. */
static bool is_right(ferry_net *net, int seed)
{
    float got[VALUES], wanted[VALUES];
    ferry_net *fresh = open_net();

    FX_OK(pass(net, seed));
    result(net, got);
    FX_OK(pass(fresh, seed));
    result(fresh, wanted);
    ferry_net_close(fresh);
    return !memcmp(got, wanted, sizeof got) && got[0] > 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void the_second_pass_is_recorded_and_later_passes_replay_it(void)
{
    ferry_net *net;

    wx_begin();
    net = open_net();
    for (int i = 0; i < 5; i++) {
        uint64_t lists = wx_calls(0, SIM_CALL_LIST);

        CU_ASSERT(is_right(net, i));
        CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_LIST) - lists, i > 0);
    }
    ferry_net_close(net);
    wx_end();
}

static void each_shape_has_a_separate_command_list(void)
{
    static const int64_t two[] = { 2, 3, 6, 6 }, one[] = { 1, 3, 6, 6 };
    ferry_net *net;
    uint64_t lists;

    wx_begin();
    net = open_net();
    for (int i = 0; i < 3; i++)
        CU_ASSERT(is_right(net, i));
    lists = wx_calls(0, SIM_CALL_LIST);
    FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), two, 4, NULL));
    FX_OK(pass(net, 1));
    CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_LIST), lists); /* the first pass with the new list */
    FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), one, 4, NULL));
    CU_ASSERT(is_right(net, 7));
    ferry_net_close(net);
    wx_end();
}

static void a_replayed_pass_uses_new_weights(void)
{
    float before[VALUES], after[VALUES];
    ferry_net *net;
    float *w;

    wx_begin();
    net = open_net();
    for (int i = 0; i < 3; i++)
        FX_OK(pass(net, 1));
    result(net, before);
    w = ferry_blob_mutable_host_data(ferry_net_param_at(net, 3, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w[0] += 3;
    FX_OK(pass(net, 1));
    result(net, after);
    CU_ASSERT(memcmp(before, after, sizeof before) != 0);
    w = ferry_blob_mutable_host_data(ferry_net_param_at(net, 3, 0));
    w[0] -= 3;
    FX_OK(pass(net, 1));
    ferry_net_close(net);
    wx_end();
}

static void a_recording_that_fails_is_run_instead(void)
{
    ferry_net *net;

    wx_begin();
    net = open_net();
    CU_ASSERT(is_right(net, 1));
    wx_fail_next(0, SIM_CALL_LIST, 1, FERRY_ENOMEM);
    CU_ASSERT(is_right(net, 2));
    wx_fail_next(0, SIM_CALL_LIST, 0, 0);
    for (int i = 3; i < 6; i++)
        CU_ASSERT(is_right(net, i));
    ferry_net_close(net);
    wx_end();
}

static void the_failure_of_a_replay_is_reported_by_the_pass(void)
{
    ferry_net *net;

    wx_begin();
    net = open_net();
    for (int i = 0; i < 2; i++)
        CU_ASSERT(is_right(net, i));
    wx_fail_next(0, SIM_CALL_LIST, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, pass(net, 3));
    CU_ASSERT(strstr(ferry_last_error(), "list") != NULL);
    CU_ASSERT_PTR_NULL(ferry_blob_host_data(ferry_net_output_at(net, 0)));
    wx_fail_next(0, SIM_CALL_LIST, 0, 0);
    for (int i = 3; i < 6; i++)
        CU_ASSERT(is_right(net, i));
    ferry_net_close(net);
    wx_end();
}

static void without_command_lists_operations_run_one_by_one(void)
{
    ferry_net *net;

    wx_begin();
    net = open_net();
    for (int i = 0; i < 4; i++)
        CU_ASSERT(is_right(net, i));
    CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_LIST), 0);
    ferry_net_close(net);
    wx_end();
}

/* ---- the cost of an operation ---------------------------------------------------------------- */

static ferry_operation_tier tier_of(uint32_t kind)
{
    ferry_operation_plan plan = { .struct_size = sizeof plan };
    ferry_op_desc op;

    ferry_op_desc_init(&op, kind);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_F32, (int64_t[]){ 2, 3 }, 2, NULL);
    op.params.softmax.axis = kind == FERRY_OP_SOFTMAX;
    FX_OK(ferry_operation_query(wx_dev(0), &op, &plan));
    return plan.tier;
}

static void the_host_computes_operations_that_it_is_faster_at(void)
{
    ferry_net *net;

    if (!ferry_test_is_built("cpu")) {
        ferry_test_skip("without the cpu plugin, no operation is computed on the host");
        return;
    }
    wx_begin();
    CU_ASSERT_EQUAL(tier_of(FERRY_OP_SOFTMAX), FERRY_TIER_HOST);
    CU_ASSERT_EQUAL(tier_of(FERRY_OP_UNARY), FERRY_TIER_OWN);
    net = open_net();
    for (int i = 0; i < 3; i++)
        CU_ASSERT(is_right(net, i));
    ferry_net_close(net);
    wx_end();
}

static const ferry_test_case lists[] = {
    FERRY_TEST(the_second_pass_is_recorded_and_later_passes_replay_it),
    FERRY_TEST(each_shape_has_a_separate_command_list),
    FERRY_TEST(a_replayed_pass_uses_new_weights),
    FERRY_TEST(a_recording_that_fails_is_run_instead),
    FERRY_TEST(the_failure_of_a_replay_is_reported_by_the_pass),
};
static const ferry_test_case none[] = {
    FERRY_TEST(without_command_lists_operations_run_one_by_one)
};
static const ferry_test_case slow[] = { FERRY_TEST(
    the_host_computes_operations_that_it_is_faster_at) };

int main(int argc, char **argv)
{
    static const char *const on[] = { "lists", "on", NULL }, *const off[] = { NULL },
                             *const slower[] = { "slow", "softmax", NULL };
    static const struct wx_world worlds[] = {
        { "lists on", on, lists, FERRY_TEST_COUNT(lists) },
        { "lists off", off, none, FERRY_TEST_COUNT(none) },
        { "a slow kind", slower, slow, FERRY_TEST_COUNT(slow) },
    };

    return wx_main(argc, argv, "net lists", worlds, FERRY_TEST_COUNT(worlds));
}
