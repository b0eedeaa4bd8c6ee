/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <ferry/net.h>
#include <ferry/net_info.h>
#include <ferry/solver.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/*
 * The contract of plan_training: which blobs remain, which calls are refused, and that a solver
 * computes the same parameters in less memory. tests/random/nets-train.c compares random nets.
 */

#define CONV(name, bottom)                                                          \
    "layer { name: '" name "' type: 'Convolution' bottom: '" bottom "' top: '" name \
    "' convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: 'msra' } } }\n"
#define IN_PLACE(name, type, blob) \
    "layer { name: '" name "' type: '" type "' bottom: '" blob "' top: '" blob "' }\n"

#define LAYERS                                                                                     \
    CONV("a", "x")                                                                                 \
    IN_PLACE("an", "BatchNorm", "a")                                                               \
    IN_PLACE("as", "Scale", "a") IN_PLACE("ar", "ReLU", "a") CONV("b", "a")                        \
        IN_PLACE("bn", "BatchNorm", "b") IN_PLACE("bs", "Scale", "b") CONV("c", "b")               \
            "layer { name: 'e' type: 'Eltwise' bottom: 'c' bottom: 'a' top: 'e' }\n" IN_PLACE(     \
                "er", "ReLU", "e") IN_PLACE("d", "Dropout", "e")                                   \
                "layer { name: 'k' type: 'Concat' bottom: 'e' bottom: 'b' top: 'k' }\n"            \
                "layer { name: 'p' type: 'Pooling' bottom: 'k' top: 'p' pooling_param { "          \
                "kernel_size: 3 stride: 2 } }\n"                                                   \
                "layer { name: 'y' type: 'InnerProduct' bottom: 'p' top: 'y' "                     \
                "inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } }\n"       \
                "layer { name: 'l' type: 'EuclideanLoss' bottom: 'y' bottom: 't' top: 'l' }\n"

static const char with_inputs[] =
    "layer { name: 'x' type: 'Input' top: 'x' top: 't' input_param { shape { dim: 2 dim: 3 dim: 16 "
    "dim: 16 } shape { dim: 2 dim: 4 } } }\n" LAYERS;

static ferry_net *open_net(ferry_device *dev, bool plans, const char *const *keep, size_t kept)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = with_inputs,
                            .text_size = strlen(with_inputs),
                            .phase = FERRY_PHASE_TRAIN,
                            .keep = keep,
                            .keep_count = kept,
                            .plan_training = plans };
    ferry_net *net = NULL;

    FX_OK(ferry_net_open(dev, "net", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    for (int i = 0; i < ferry_net_input_count(net); i++)
        fx_fill(ferry_net_input_at(net, i));
    return net;
}

/* Whether the first n numbers of two arrays are the same bits. */
static bool equal(const float *x, const float *y, int64_t n)
{
    return x && y && !memcmp(x, y, (size_t)n * sizeof *x);
}

static void only_visible_blobs_have_contents(void)
{
    static const char *const keep[] = { "b" };
    ferry_device *dev = fx_device();
    ferry_net *plain = open_net(dev, false, NULL, 0), *net = open_net(dev, true, keep, 1);
    ferry_blob *b, *wanted;

    FX_OK(ferry_net_forward(plain, NULL));
    FX_OK(ferry_net_backward(plain));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "a"));
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "k"));
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(net, "x"));
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(net, "l"));
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(plain, "a"));
    b = ferry_net_blob_find(net, "b");
    wanted = ferry_net_blob_find(plain, "b");
    CU_ASSERT_FATAL(b && wanted);
    CU_ASSERT(equal(ferry_blob_host_data(b), ferry_blob_host_data(wanted),
                    ferry_blob_element_count(b)));
    CU_ASSERT(equal(ferry_blob_host_diff(b), ferry_blob_host_diff(wanted),
                    ferry_blob_element_count(b)));
    ferry_net_close(plain);
    ferry_net_close(net);
    fx_end();
}

static void each_backward_requires_a_forward(void)
{
    ferry_net *net = open_net(fx_device(), true, NULL, 0);

    CU_ASSERT_EQUAL(ferry_net_backward(net), FERRY_EINVAL);
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    CU_ASSERT_EQUAL(ferry_net_backward(net), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "plan_training"));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    ferry_net_close(net);
    fx_end();
}

static void parts_and_debug_are_refused(void)
{
    static const char *const all[] = { "*" };
    ferry_device *dev = fx_device();
    ferry_net *net = open_net(dev, true, NULL, 0), *kept = open_net(dev, true, all, 1);

    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT_EQUAL(ferry_net_forward_range(net, "a", "b", NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_backward_range(net, "l", "b"), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_set_debug(net, true), FERRY_EINVAL);
    FX_OK(ferry_net_set_debug(net, false));
    FX_OK(ferry_net_backward_range(net, NULL, NULL)); /* nothing above ended the pass */
    FX_OK(ferry_net_forward(kept, NULL)); /* "*" in `keep` has priority */
    FX_OK(ferry_net_forward_range(kept, "a", "b", NULL));
    FX_OK(ferry_net_backward(kept));
    FX_OK(ferry_net_backward(kept));
    ferry_net_close(net);
    ferry_net_close(kept);
    fx_end();
}

/* The operations of the backward pass of layer `name`. */
static int backward_operations(const ferry_net *net, const char *name)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };

    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        FX_OK(ferry_net_get_layer_info(net, i, &info));
        if (!strcmp(info.name, name))
            return info.backward_operations;
    }
    return -1;
}

/* The branches of Eltwise read the diff of its top, of which a net without a plan makes copies. */
static void copies_of_diffs_are_removed(void)
{
    ferry_device *dev = fx_device();
    ferry_net *plain = open_net(dev, false, NULL, 0), *net = open_net(dev, true, NULL, 0);

    FX_OK(ferry_net_forward(plain, NULL));
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT_EQUAL(backward_operations(plain, "e"), 2);
    CU_ASSERT_EQUAL(backward_operations(net, "e"), 0);
    ferry_net_close(plain);
    ferry_net_close(net);
    fx_end();
}

/* ---- solvers --------------------------------------------------------------------------------- */

static const char solver[] =
    "net_param { name: 'n'\n"
    "layer { name: 'x' type: 'DummyData' top: 'x' top: 't' dummy_data_param {\n"
    "  shape { dim: 4 dim: 3 dim: 16 dim: 16 } shape { dim: 4 dim: 4 }\n"
    "  data_filler { type: 'gaussian' std: 1 } data_filler { type: 'gaussian' std: 1 } } }\n" LAYERS
    "}\n"
    "type: 'SGD' base_lr: 0.0001 momentum: 0.9 lr_policy: 'fixed' iter_size: 2 max_iter: 4\n"
    "test_iter: 1 test_interval: 2 snapshot_prefix: 'n' snapshot_after_train: false\n"
    "random_seed: 7\n";

static ferry_solver *solve(ferry_device *dev, bool plans, bool again, uint64_t *out_bytes)
{
    ferry_device_stats stats = { .struct_size = sizeof stats };
    ferry_solver_options o = { .struct_size = sizeof o,
                               .text = solver,
                               .text_size = strlen(solver),
                               .plan_training = plans,
                               .recompute = again };
    ferry_solver *s = NULL;
    uint64_t before;

    FX_OK(ferry_device_get_stats(dev, &stats));
    before = stats.live_bytes;
    FX_OK(ferry_solver_open(dev, "solver", &o, &s));
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    FX_OK(ferry_solver_solve(s));
    FX_OK(ferry_device_get_stats(dev, &stats));
    *out_bytes = stats.live_bytes - before;
    return s;
}

static void compare_params(const ferry_net *net, const ferry_net *other)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++)
        for (int k = 0; k < ferry_net_param_count(net, i); k++) {
            const ferry_blob *b = ferry_net_param_at(net, i, k);

            CU_ASSERT(equal(ferry_blob_host_data(b),
                            ferry_blob_host_data(ferry_net_param_at(other, i, k)),
                            ferry_blob_element_count(b)));
        }
}

static void a_solver_computes_the_same_in_less_memory(void)
{
    uint64_t bytes[3];
    ferry_device *dev = fx_device();
    ferry_solver *plain = solve(dev, false, false, &bytes[0]);
    ferry_solver *planned = solve(dev, true, false, &bytes[1]);
    ferry_solver *again = solve(dev, false, true, &bytes[2]);

    compare_params(ferry_solver_net(plain), ferry_solver_net(planned));
    compare_params(ferry_solver_net(plain), ferry_solver_net(again));
    CU_ASSERT(bytes[0] > 0 && bytes[1] < bytes[0] * 3 / 4);
    CU_ASSERT(bytes[2] < bytes[1]);
    ferry_solver_close(plain);
    ferry_solver_close(planned);
    ferry_solver_close(again);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(only_visible_blobs_have_contents),
    FERRY_TEST(each_backward_requires_a_forward),
    FERRY_TEST(parts_and_debug_are_refused),
    FERRY_TEST(copies_of_diffs_are_removed),
    FERRY_TEST(a_solver_computes_the_same_in_less_memory),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net plan training", cases,
                                    FERRY_TEST_COUNT(cases));
}
