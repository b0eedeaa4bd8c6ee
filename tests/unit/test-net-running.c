/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "oom.h"
#include "backends/sim/control.h"

#include <ferry/net.h>

#include <stdlib.h>
#include <string.h>

/*
 * Running statistics of BatchNorm when a forward pass fails: all of them keep the values from
 * before the pass, and the next pass updates them as if there had been no failure.
 */

static const char text[] =
    "state { phase: TRAIN }\n"
    "layer { name: 'in' type: 'Input' top: 'x' top: 't' input_param { shape { dim: 4 dim: 3 dim: 2 "
    "dim: 2 } shape { dim: 4 } } }\n"
    "layer { name: 'b1' type: 'BatchNorm' bottom: 'x' top: 'a' }\n"
    "layer { name: 'th' type: 'TanH' bottom: 'a' top: 'a' }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'a' top: 'y' inner_product_param { "
    "num_output: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'b2' type: 'BatchNorm' bottom: 'y' top: 'y' }\n"
    "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 't' top: 'l' }\n";

#define NUMBERS 14 /* two layers, each with three means, three variances and a factor */
#define PASSES  5

/* The statistics after that many passes of a net without failures. */
static float states[PASSES + 1][NUMBERS];

static int open_net(ferry_net **out)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };

    return ferry_net_open(fx_device(), "net.prototxt", &o, out);
}

static void feed(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    float *t = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 1));

    CU_ASSERT_FATAL(x && t);
    for (int64_t i = 0; i < ferry_blob_element_count(ferry_net_input_at(net, 0)); i++)
        x[i] = (float)(i * i % 17) / 5 - 1;
    for (int i = 0; i < 4; i++)
        t[i] = (float)(i % 3);
}

static int read_state(ferry_net *net, float *out)
{
    for (int l = 0; l < 2; l++)
        for (int k = 0; k < 3; k++) {
            const ferry_blob *b = ferry_net_param_at(net, l ? 4 : 1, k);
            const float *from = ferry_blob_host_data(b);

            if (!from)
                return ferry_last_error_code();
            memcpy(out, from, (size_t)ferry_blob_element_count(b) * sizeof *out);
            out += ferry_blob_element_count(b);
        }
    return 0;
}

/* The number of passes after which the statistics have these values; −1 if no number fits. */
static int passes_of(ferry_net *net)
{
    float now[NUMBERS];

    if (read_state(net, now))
        return -1;
    for (int i = 0; i <= PASSES; i++)
        if (memcmp(now, states[i], sizeof now) == 0)
            return i;
    return -1;
}

static int pass(ferry_net *net)
{
    double loss;

    feed(net);
    return ferry_net_forward(net, &loss);
}

static void begin(void)
{
    ferry_net *net = NULL;

    FX_OK_FATAL(open_net(&net));
    FX_OK_FATAL(read_state(net, states[0]));
    for (int i = 1; i <= PASSES; i++) {
        FX_OK_FATAL(pass(net));
        FX_OK_FATAL(read_state(net, states[i]));
        CU_ASSERT(memcmp(states[i], states[i - 1], sizeof states[i]) != 0);
    }
    ferry_net_close(net);
    fx_end();
}

/* The second or the third pass fails; the next pass gives the correct statistics. */
static void check_after(ferry_net *net, int err, int code, int before)
{
    CU_ASSERT(err == 0 || err == code);
    CU_ASSERT_EQUAL(passes_of(net), err ? before : before + 1);
    FX_OK(pass(net));
    CU_ASSERT_EQUAL(passes_of(net), err ? before + 1 : before + 2);
}

static void every_allocation_of_a_pass_may_fail(void)
{
    bool failed = true;
    unsigned n;

    begin();
    for (n = 1; failed; n++) {
        ferry_net *net = NULL;
        int err;

        FX_OK_FATAL(open_net(&net));
        feed(net);
        oom_arm(n);
        err = ferry_net_forward(net, NULL);
        failed = oom_disarm();
        check_after(net, err, FERRY_ENOMEM, 0);
        ferry_net_close(net);
    }
    CU_ASSERT(n > 5);
    fx_end();
}

/* ---- a device that fails --------------------------------------------------------------------- */

static const struct sim_control *control;
static void *sim;

#define CALLS 20 /* more than the calls of one kind in a pass */

/*
 * Call number n of the first or the second pass fails, for n = 0, 1, … Returns how many passes
 * failed.
 */
static int fail_each(uint32_t call, int before)
{
    int failed = 0;

    for (uint64_t nth = 1; nth <= CALLS; nth++) {
        ferry_net *net = NULL;
        int err;

        FX_OK_FATAL(open_net(&net));
        for (int i = 0; i < before; i++)
            FX_OK_FATAL(pass(net));
        feed(net);
        control->fail_next(sim, call, nth, FERRY_EDEVICE);
        err = ferry_net_forward(net, NULL);
        control->fail_next(sim, call, 0, 0);
        if (call == SIM_CALL_RUN && nth == 1) /* of a submission whose last operation belongs to
                                               * another layer */
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "layer \"b1\" (BatchNorm)"));
        check_after(net, err, FERRY_EDEVICE, before);
        ferry_net_close(net);
        failed += err != 0;
    }
    return failed;
}

static void a_device_failure_leaves_running_statistics_unchanged(void)
{
    begin();
    fx_sim(fx_device(), &control, &sim);
    for (int before = 0; before < 2; before++) {
        CU_ASSERT(fail_each(SIM_CALL_RUN, before) > 10);
        CU_ASSERT(fail_each(SIM_CALL_MEMCPY, before) > 0);
    }
    fx_end();
}

/*
 * An accepted call fails when it runs. The reader gets the error; after the next successful pass
 * all statistics are those of that many passes.
 */
static void fail_each_late(uint32_t call)
{
    uint64_t done = 1;

    for (uint64_t nth = 1; nth <= done; nth++) {
        ferry_net *net = NULL;
        int err, tries = 0;

        FX_OK_FATAL(open_net(&net));
        FX_OK_FATAL(pass(net));
        feed(net);
        done = control->calls(sim, call);
        control->fail_later(sim, call, nth, FERRY_EDEVICE);
        err = pass(net);
        control->fail_later(sim, call, 0, 0);
        done = control->calls(sim, call) - done;
        CU_ASSERT(err == 0 || err == FERRY_EDEVICE || err == FERRY_ELOST);
        do
            err = pass(net);
        while (err && ++tries < 3);
        FX_OK(err);
        if (passes_of(net) < 0)
            printf("     late failure of call %u: %s\n", (unsigned)nth, ferry_last_error());
        CU_ASSERT(passes_of(net) >= 1);
        ferry_net_close(net);
    }
}

static void an_asynchronous_failure_fails_a_pass_and_keeps_running_statistics(void)
{
    begin();
    fx_sim(fx_device(), &control, &sim);
    fail_each_late(SIM_CALL_RUN);
    fail_each_late(SIM_CALL_MEMCPY);
    fx_end();
}

static const ferry_test_case memory[] = {
    FERRY_TEST(every_allocation_of_a_pass_may_fail),
};

static const ferry_test_case failures[] = {
    FERRY_TEST(a_device_failure_leaves_running_statistics_unchanged),
    FERRY_TEST(an_asynchronous_failure_fails_a_pass_and_keeps_running_statistics),
};

int main(int argc, char **argv)
{
    static const ferry_test_set sets[] = {
        { "cpu", memory, FERRY_TEST_COUNT(memory) },
        { "sim", failures, FERRY_TEST_COUNT(failures) },
    };

    return ferry_test_main_sets(argc, argv, "net running", sets, FERRY_TEST_COUNT(sets));
}
