/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Solvers that a program steps by hand or inspects: updates alone, gradients, blobs of test nets.
 */
#include "fixture.h"
#include "tiny-solver.h"

#include <stdio.h>
#include <string.h>

static ferry_device *dev; /* of the case that runs */

static float weight_of(ferry_solver *s)
{
    const float *w = ferry_blob_host_data(ferry_net_param_at(ferry_solver_net(s), 1, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    return w[3];
}

/* A forward pass, a backward pass and the update make a step, including histories and rates. */
static void manual_forward_backward_and_update_equal_a_step(void)
{
    static const char text[] =
        NET "base_lr: 0.1 lr_policy: 'step' stepsize: 2 gamma: 0.5 momentum: 0.9 max_iter: 10";
    ferry_solver *s, *by_hand;

    dev = fx_device();
    s = tiny_open(dev, text);
    by_hand = tiny_open(dev, text);
    FX_OK(ferry_solver_step(s, 3));
    for (int i = 0; i < 3; i++) {
        ferry_net *net = ferry_solver_net(by_hand);

        FX_OK(ferry_net_clear_param_diffs(net));
        FX_OK(ferry_net_forward(net, NULL));
        FX_OK(ferry_net_backward(net));
        FX_OK(ferry_solver_apply_update(by_hand));
    }
    CU_ASSERT_EQUAL(ferry_solver_iter(by_hand), 3);
    CU_ASSERT_EQUAL(weight_of(by_hand), weight_of(s));
    FX_FAILS(FERRY_EINVAL, ferry_solver_apply_update(NULL));
    ferry_solver_close(s);
    ferry_solver_close(by_hand);
    fx_end();
}

/* Counts calls, clears the gradients, and fails at the call when *arg has been counted down. */
static int without_gradients(void *arg, ferry_solver *s, bool ready)
{
    int *left = arg;

    if (ready)
        FX_OK(ferry_net_clear_param_diffs(ferry_solver_net(s)));
    return --*left ? 0 : FERRY_EBUSY;
}

static void gradients_may_be_changed_before_the_update(void)
{
    int left = 100;
    float before;
    ferry_solver *s;

    dev = fx_device();
    s = tiny_open(dev, NET "base_lr: 0.1 lr_policy: 'fixed' max_iter: 10");
    before = weight_of(s);
    FX_OK(ferry_solver_on_gradients(s, without_gradients, &left));
    FX_OK(ferry_solver_step(s, 2));
    CU_ASSERT_EQUAL(left, 96);
    CU_ASSERT_EQUAL(weight_of(s), before);
    for (left = 1; left <= 2; left++) {
        int calls = left;

        FX_OK(ferry_solver_on_gradients(s, without_gradients, &calls));
        FX_FAILS(FERRY_EBUSY, ferry_solver_step(s, 1));
        CU_ASSERT_EQUAL(ferry_solver_iter(s), 2);
    }
    FX_OK(ferry_solver_on_gradients(s, NULL, NULL));
    FX_OK(ferry_solver_step(s, 1));
    CU_ASSERT_NOT_EQUAL(weight_of(s), before);
    ferry_solver_close(s);
    fx_end();
}

/*
 * Counts calls; applies ferry's update if one is due, and fails at the call when *arg has been
 * counted down.
 */
static int own_update(void *arg, ferry_solver *s)
{
    int *left = arg;

    if (*left > 10)
        FX_OK(ferry_solver_apply_update(s));
    return --*left ? 0 : FERRY_EBUSY;
}

static void an_update_by_the_program_replaces_that_of_ferry(void)
{
    static const char text[] =
        NET "base_lr: 0.1 lr_policy: 'step' stepsize: 2 gamma: 0.5 momentum: 0.9 max_iter: 10";
    ferry_solver *s, *own;
    int left = 14;
    float before;

    dev = fx_device();
    s = tiny_open(dev, text);
    own = tiny_open(dev, text);
    FX_OK(ferry_solver_on_update(own, own_update, &left));
    FX_OK(ferry_solver_step(s, 3));
    FX_OK(ferry_solver_step(own, 3)); /* ferry's update, called from there: counted once */
    CU_ASSERT_EQUAL(left, 11);
    CU_ASSERT_EQUAL(ferry_solver_iter(own), 3);
    CU_ASSERT_EQUAL(weight_of(own), weight_of(s));
    left = 2;
    before = weight_of(own);
    FX_OK(ferry_solver_step(own, 1)); /* none */
    CU_ASSERT_EQUAL(weight_of(own), before);
    FX_FAILS(FERRY_EBUSY, ferry_solver_step(own, 1));
    CU_ASSERT_EQUAL(ferry_solver_iter(own), 4);
    FX_OK(ferry_solver_on_update(own, NULL, NULL));
    FX_OK(ferry_solver_step(own, 1));
    CU_ASSERT_NOT_EQUAL(weight_of(own), before);
    FX_FAILS(FERRY_EINVAL, ferry_solver_on_update(NULL, NULL, NULL));
    ferry_solver_close(s);
    ferry_solver_close(own);
    fx_end();
}

/* A blob that the memory plan of a test net would overwrite can be read if `keep` names it. */
static void blobs_of_test_nets_are_kept(void)
{
    static const char text[] =
        "net_param { name: 'two'\n"
        "layer { name: 'data' type: 'DummyData' top: 'x' dummy_data_param {\n"
        "  shape { dim: 4 dim: 5 } data_filler { type: 'gaussian' std: 1 } } }\n"
        "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'h' inner_product_param {\n"
        "  num_output: 3 weight_filler { type: 'xavier' } } }\n"
        "layer { name: 'ip2' type: 'InnerProduct' bottom: 'h' top: 'y' inner_product_param {\n"
        "  num_output: 3 weight_filler { type: 'xavier' } } }\n"
        "layer { name: 'l' type: 'Reduction' bottom: 'y' top: 'l' loss_weight: 1 } }\n"
        "snapshot_prefix: 'two' snapshot_after_train: false base_lr: 0.1 lr_policy: 'fixed'\n"
        "max_iter: 10 test_iter: 1 test_interval: 100";
    static const char *const keep[] = { "*" };
    ferry_solver_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_solver *s = NULL;

    dev = fx_device();
    for (size_t n = 0; n < 2; n++) {
        o.keep = keep;
        o.keep_count = n;
        FX_OK(ferry_solver_open(dev, "solver.prototxt", &o, &s));
        CU_ASSERT_EQUAL(!ferry_net_blob_find(ferry_solver_test_net_at(s, 0), "h"), n == 0);
        ferry_solver_close(s);
    }
    o.keep = NULL;
    FX_FAILS(FERRY_EINVAL, ferry_solver_open(dev, "solver.prototxt", &o, &s));
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(manual_forward_backward_and_update_equal_a_step),
    FERRY_TEST(gradients_may_be_changed_before_the_update),
    FERRY_TEST(an_update_by_the_program_replaces_that_of_ferry),
    FERRY_TEST(blobs_of_test_nets_are_kept),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "solvers by hand", cases, FERRY_TEST_COUNT(cases));
}
