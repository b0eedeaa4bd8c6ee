/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE 700
/*
 * A solver without memory: each allocation of opening, of two iterations, of a snapshot and of
 * restoring it fails once. Each failure gives one error, keeps the state that the documentation
 * promises, and the next attempt succeeds.
 */
#include "fixture.h"
#include "oom.h"

#include <ferry/solver.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
    "base_lr: 0.1 lr_policy: 'fixed' max_iter: 9 type: 'Adam' snapshot_prefix: 's'\n"
    "snapshot_after_train: false random_seed: 3 net_param { name: 'small'\n"
    "layer { name: 'd' type: 'DummyData' top: 'x' top: 't' dummy_data_param {\n"
    "  shape { dim: 2 dim: 3 } shape { dim: 2 dim: 2 } data_filler { value: 0.5 }\n"
    "  data_filler { value: 1 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
    "  num_output: 2 weight_filler { value: 0.1 } } }\n"
    "layer { name: 'drop' type: 'Dropout' bottom: 'y' top: 'y' }\n"
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 't' top: 'loss' } }\n";

#define WEIGHTS 6

static char folder[64];
static ferry_precision precision; /* of the solver's options */

static void enter(void)
{
    strcpy(folder, "/tmp/ferry-oom-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    fx_device();
}

static void leave(void)
{
    char command[128];

    fx_end();
    CU_ASSERT_EQUAL(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static int try_open(ferry_solver **out)
{
    ferry_solver_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };

    o.precision = precision;
    *out = NULL;
    return ferry_solver_open(fx_device(), "small.prototxt", &o, out);
}

static ferry_solver *open_solver(void)
{
    ferry_solver *s;

    FX_OK_FATAL(try_open(&s));
    return s;
}

static void weights_of(ferry_solver *s, float *out)
{
    const float *w = ferry_blob_host_data(ferry_net_param_at(ferry_solver_net(s), 1, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    memcpy(out, w, WEIGHTS * sizeof *out);
}

static bool has_weights(ferry_solver *s, const float *wanted)
{
    float got[WEIGHTS];

    weights_of(s, got);
    return memcmp(got, wanted, sizeof got) == 0;
}

static void every_allocation_of_opening_may_fail(void)
{
    bool failed = true;
    unsigned n;

    enter();
    for (n = 1; failed; n++) {
        ferry_solver *s;
        int err;

        oom_arm(n);
        err = try_open(&s);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || (err == FERRY_ENOMEM && !s));
        ferry_solver_close(s);
    }
    CU_ASSERT(n > 100);
    leave();
}

static int count(void *arg, ferry_solver *s, const ferry_solver_iteration *event)
{
    (void)s;
    (void)event;
    ++*(int *)arg;
    return 0;
}

/* A failed iteration does not change the iteration number; no successful iteration is repeated. */
static void every_allocation_of_a_step_may_fail(void)
{
    float wanted[WEIGHTS];
    bool failed = true;
    ferry_solver *s;
    unsigned n;

    enter();
    s = open_solver();
    FX_OK(ferry_solver_step(s, 2));
    weights_of(s, wanted);
    ferry_solver_close(s);
    for (n = 1; failed; n++) {
        int err, done = 0;

        s = open_solver();
        FX_OK(ferry_solver_on_iteration(s, count, &done));
        oom_arm(n);
        err = ferry_solver_step(s, 2);
        failed = oom_disarm();
        CU_ASSERT(err == FERRY_ENOMEM || (err == 0 && has_weights(s, wanted)));
        CU_ASSERT_EQUAL(ferry_solver_iter(s), done);
        FX_OK(ferry_solver_step(s, 2 - done));
        CU_ASSERT(ferry_solver_iter(s) == 2 && done == 2);
        CU_ASSERT(isfinite(ferry_solver_loss(s)));
        ferry_solver_close(s);
    }
    CU_ASSERT(n > 5);
    leave();
}

static void every_allocation_may_fail_with_factors_of_bf16(void)
{
    precision = FERRY_PRECISION_BF16;
    every_allocation_of_opening_may_fail();
    every_allocation_of_a_step_may_fail();
    precision = FERRY_PRECISION_DEFAULT;
}

static void every_allocation_of_a_snapshot_may_fail(void)
{
    float wanted[WEIGHTS];
    bool failed = true;
    ferry_solver *s;
    unsigned n;

    enter();
    s = open_solver();
    FX_OK(ferry_solver_step(s, 1));
    weights_of(s, wanted);
    for (n = 1; failed; n++) {
        int err;

        unlink("s_iter_1.solverstate");
        oom_arm(n);
        err = ferry_solver_snapshot(s);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        CU_ASSERT((err == 0) == (access("s_iter_1.solverstate", F_OK) == 0));
        CU_ASSERT(has_weights(s, wanted));
    }
    CU_ASSERT(n > 20);
    FX_OK(ferry_solver_restore_exact(s, "s_iter_1.solverstate"));
    CU_ASSERT(has_weights(s, wanted));
    ferry_solver_close(s);
    leave();
}

typedef int (*restoring)(ferry_solver *s, const char *path);

static void restore_each(restoring restore)
{
    float before[WEIGHTS], after[WEIGHTS];
    bool failed = true;
    ferry_solver *s;
    unsigned n;

    enter();
    s = open_solver();
    FX_OK(ferry_solver_step(s, 1));
    FX_OK(ferry_solver_snapshot(s));
    weights_of(s, after);
    FX_OK(ferry_solver_step(s, 2));
    weights_of(s, before);
    for (n = 1; failed; n++) {
        int err;

        oom_arm(n);
        err = restore(s, "s_iter_1.solverstate");
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        CU_ASSERT(has_weights(s, err ? before : after));
        CU_ASSERT_EQUAL(ferry_solver_iter(s), err ? 3 : 1);
        if (err == 0 && failed) { /* the failure was tolerated: repeated, with other random numbers
                                   */
            FX_OK(ferry_solver_step(s, 2));
            weights_of(s, before);
        }
    }
    CU_ASSERT(n > 20);
    FX_OK(ferry_solver_step(s, 1));
    ferry_solver_close(s);
    leave();
}

static void every_allocation_of_a_restore_may_fail(void)
{
    restore_each(ferry_solver_restore);
}

static void every_allocation_of_an_exact_restore_may_fail(void)
{
    restore_each(ferry_solver_restore_exact);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_allocation_of_opening_may_fail),
    FERRY_TEST(every_allocation_of_a_step_may_fail),
    FERRY_TEST(every_allocation_may_fail_with_factors_of_bf16),
    FERRY_TEST(every_allocation_of_a_snapshot_may_fail),
    FERRY_TEST(every_allocation_of_a_restore_may_fail),
    FERRY_TEST(every_allocation_of_an_exact_restore_may_fail),
};

int main(int argc, char **argv)
{
    setenv("FERRY_TEST_BACKENDS", "cpu", 1);
    return ferry_test_main_backends(argc, argv, "solver oom", cases, FERRY_TEST_COUNT(cases));
}
