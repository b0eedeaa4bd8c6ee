/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "oom.h"
#include "backends/sim/control.h"

#include <ferry/net.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Backward when memory is short, or a simulated device fails: the error, and the gradients of the
 * next pass. A settled iteration allocates nothing.
 */

static const char text[] =
    "force_backward: true state { phase: TRAIN }\n"
    "layer { name: 'in' type: 'Input' top: 'x' top: 't' input_param { shape { dim: 2 dim: 3 dim: 6 "
    "dim: 6 } shape { dim: 2 } } }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 4 "
    "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'th' type: 'TanH' bottom: 'a' top: 'a' }\n"
    "layer { name: 'sc' type: 'Scale' bottom: 'a' top: 'a' }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { kernel_size: 3 pad: 1 "
    "} }\n"
    "layer { name: 'c' type: 'Concat' bottom: 'a' bottom: 'p' top: 'c' }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'c' top: 'y' inner_product_param { "
    "num_output: 5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 't' top: 'l' }\n";

#define GRADIENTS 8

/* Gradients of some parameters and of x, from a net without failures. */
static float wanted[GRADIENTS];

static bool plans; /* the nets of the case have plan_training and recompute */

static int open_net(ferry_net **out)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };

    o.plan_training = o.recompute = plans;
    return ferry_net_open(fx_device(), "net.prototxt", &o, out);
}

static void feed(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    float *t = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 1));

    CU_ASSERT_FATAL(x && t);
    for (int64_t i = 0; i < ferry_blob_element_count(ferry_net_input_at(net, 0)); i++)
        x[i] = (float)(i % 11) / 5 - 1;
    t[0] = 1;
    t[1] = 3;
}

/* Three elements of each kind of gradient, and x's. */
static int read_gradients(ferry_net *net, float *out)
{
    ferry_blob *const of[4] = { ferry_net_input_at(net, 0), ferry_net_param_at(net, 1, 0),
                                ferry_net_param_at(net, 3, 0),
                                ferry_net_param_at(net, ferry_net_layer_count(net) - 2, 0) };

    for (int i = 0; i < GRADIENTS; i++) {
        const float *diff = of[i / 2] ? ferry_blob_host_diff(of[i / 2]) : NULL;

        if (!diff)
            return ferry_last_error_code();
        out[i] = diff[i % 2];
    }
    return 0;
}

/* An iteration without its update: clears the results of an earlier failure. */
static int iterate(ferry_net *net, float *out)
{
    double loss;
    int err = ferry_net_clear_param_diffs(net);

    if (!err)
        err = ferry_net_forward(net, &loss);
    if (!err)
        err = ferry_net_backward(net);
    return err ? err : read_gradients(net, out);
}

static bool is_right(const float *got)
{
    float most = 0;

    for (int i = 0; i < GRADIENTS; i++)
        most = fmaxf(most, fabsf(wanted[i]));
    for (int i = 0; i < GRADIENTS; i++)
        if (!(fabsf(got[i] - wanted[i]) <= 1e-5f * most))
            return false;
    return most > 1e-3f;
}

static void begin(void)
{
    ferry_net *net = NULL;

    FX_OK_FATAL(open_net(&net));
    feed(net);
    FX_OK(iterate(net, wanted));
    ferry_net_close(net);
    fx_end();
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void every_allocation_of_opening_may_fail(void)
{
    bool failed = true;
    unsigned n;

    fx_device();
    for (n = 1; failed; n++) {
        ferry_net *net = NULL;
        int err;

        oom_arm(n);
        err = open_net(&net);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || (err == FERRY_ENOMEM && !net));
        ferry_net_close(net);
    }
    CU_ASSERT(n > 100);
    fx_end();
}

static void every_allocation_of_an_iteration_may_fail(void)
{
    float got[GRADIENTS];
    bool failed = true;
    unsigned n;

    begin();
    for (n = 1; failed; n++) {
        ferry_net *net = NULL;
        int err;

        FX_OK_FATAL(open_net(&net));
        feed(net);
        oom_arm(n);
        err = iterate(net, got);
        failed = oom_disarm();
        CU_ASSERT(err == FERRY_ENOMEM || (err == 0 && is_right(got)));
        FX_OK(iterate(net, got));
        CU_ASSERT(is_right(got));
        ferry_net_close(net);
    }
    CU_ASSERT(n > 20);
    fx_end();
}

static void a_settled_iteration_allocates_nothing(void)
{
    ferry_net *net = NULL;
    float got[GRADIENTS];

    FX_OK_FATAL(open_net(&net));
    for (int i = 0; i < 3; i++) {
        feed(net);
        if (i == 2)
            oom_arm(1);
        FX_OK(iterate(net, got));
        CU_ASSERT_FALSE(oom_disarm());
    }
    ferry_net_close(net);
    fx_end();
}

/* ---- a device that fails --------------------------------------------------------------------- */

typedef void (*fail)(void *sim, uint32_t call, uint64_t nth, int code);

/*
 * The nth call fails, from the first on, until no call fails; the next iteration is correct each
 * time.
 */
static void fail_each(const struct sim_control *control, void *sim, fail fails, uint32_t call)
{
    ferry_net *net = NULL;
    float got[GRADIENTS];
    int failed = 0, err = -1;
    uint64_t nth;

    FX_OK_FATAL(open_net(&net));
    for (nth = 1; nth < 300; nth++) {
        uint64_t before;

        feed(net);
        before = control->calls(sim, call);
        fails(sim, call, nth, FERRY_EDEVICE);
        err = iterate(net, got);
        fails(sim, call, 0, 0);
        CU_ASSERT(err == FERRY_EDEVICE || err == FERRY_ELOST || (err == 0 && is_right(got)));
        failed += err != 0;
        if (!err && control->calls(sim, call) - before < nth)
            break;
        feed(net);
        FX_OK(iterate(net, got));
        CU_ASSERT(is_right(got));
    }
    CU_ASSERT(failed > 0);
    CU_ASSERT(nth < 300);
    ferry_net_close(net);
    fx_end();
}

static void a_device_failure_fails_the_iteration_and_the_next_one_is_right(void)
{
    const struct sim_control *control;
    void *sim;

    begin();
    fx_sim(fx_device(), &control, &sim);
    fail_each(control, sim, control->fail_next, SIM_CALL_RUN);
    fail_each(control, sim, control->fail_next, SIM_CALL_MEMCPY);
}

/*
 * A call that was accepted fails when it runs. A read of its result reports the failure, and so
 * does, once, a use of the memory that it was to write: a second iteration may fail with a failure
 * that was not reported before. A gradient is never wrong.
 */
static void fail_each_late(const struct sim_control *control, void *sim, uint32_t call)
{
    ferry_net *net = NULL;
    float got[GRADIENTS];
    int failed = 0;
    uint64_t before;

    for (uint64_t nth = 1;; nth++) {
        int err;

        FX_OK_FATAL(open_net(&net));
        feed(net);
        before = control->calls(sim, call);
        control->fail_later(sim, call, nth, FERRY_EDEVICE);
        err = iterate(net, got);
        control->fail_later(sim, call, 0, 0);
        before = control->calls(sim, call) - before;
        CU_ASSERT(err == FERRY_EDEVICE || err == FERRY_ELOST || (err == 0 && is_right(got)));
        failed += err != 0;
        for (int i = 0; i < 2; i++) {
            feed(net);
            err = iterate(net, got);
            CU_ASSERT((i == 0 && err == FERRY_EDEVICE) || (err == 0 && is_right(got)));
        }
        ferry_net_close(net);
        if (before < nth)
            break;
    }
    CU_ASSERT(failed > 0);
    fx_end();
}

static void an_asynchronous_failure_is_reported_and_no_gradient_is_wrong(void)
{
    const struct sim_control *control;
    void *sim;

    begin();
    fx_sim(fx_device(), &control, &sim);
    fail_each_late(control, sim, SIM_CALL_RUN);
    fail_each_late(control, sim, SIM_CALL_MEMCPY);
}

/* ---- the same with plan_training and recompute ----------------------------------------------- */

static void run_planned(void (*run)(void))
{
    plans = true;
    run();
    plans = false;
}

static void every_allocation_of_a_planned_iteration_may_fail(void)
{
    run_planned(every_allocation_of_an_iteration_may_fail);
}

static void a_settled_planned_iteration_allocates_nothing(void)
{
    run_planned(a_settled_iteration_allocates_nothing);
}

static void a_device_failure_fails_the_planned_iteration_and_the_next_one_is_right(void)
{
    run_planned(a_device_failure_fails_the_iteration_and_the_next_one_is_right);
}

static void an_asynchronous_failure_in_a_planned_iteration_is_reported(void)
{
    run_planned(an_asynchronous_failure_is_reported_and_no_gradient_is_wrong);
}

static const ferry_test_case memory[] = {
    FERRY_TEST(every_allocation_of_opening_may_fail),
    FERRY_TEST(every_allocation_of_an_iteration_may_fail),
    FERRY_TEST(a_settled_iteration_allocates_nothing),
    FERRY_TEST(every_allocation_of_a_planned_iteration_may_fail),
    FERRY_TEST(a_settled_planned_iteration_allocates_nothing),
};

static const ferry_test_case failures[] = {
    FERRY_TEST(a_device_failure_fails_the_iteration_and_the_next_one_is_right),
    FERRY_TEST(an_asynchronous_failure_is_reported_and_no_gradient_is_wrong),
    FERRY_TEST(a_device_failure_fails_the_planned_iteration_and_the_next_one_is_right),
    FERRY_TEST(an_asynchronous_failure_in_a_planned_iteration_is_reported),
};

int main(int argc, char **argv)
{
    static const ferry_test_set sets[] = {
        { "cpu", memory, FERRY_TEST_COUNT(memory) },
        { "sim", failures, FERRY_TEST_COUNT(failures) },
    };

    return ferry_test_main_sets(argc, argv, "backward faults", sets, FERRY_TEST_COUNT(sets));
}
