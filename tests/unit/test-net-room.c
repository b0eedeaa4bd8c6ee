/* SPDX-License-Identifier: BSD-2-Clause */
#include "weights-net.h"

#include <ferry/device.h>
#include <ferry/net.h>

#include <string.h>

/* Nets whose shapes do not fit the memory, and the passes after them. */

/*
 * All that has the length of the batch has at least 8 bytes per image, so that no array of 2⁴⁴
 * images fits an address space of 47 bits. Systems grant what fits, and end the program later.
 */
static const char small_text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 dim: 1 dim: 1 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 3 "
    "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { pool: AVE "
    "global_pooling: true } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'p' top: 'y' inner_product_param { "
    "num_output: 7 weight_filler { type: 'xavier' } } }\n";

static int run_batch(ferry_net *net, int64_t batch)
{
    int err = ferry_blob_reshape4(ferry_net_input_at(net, 0), batch, 2, 1, 1);

    if (!err)
        err = ferry_net_forward(net, NULL);
    return err;
}

static void runs_after_a_batch_that_is_too_large(const ferry_net_options *o)
{
    ferry_net *net = NULL;

    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", o, &net));
    FX_OK(run_batch(net, 2));
    FX_FAILS(FERRY_ENOMEM, run_batch(net, INT64_C(1) << 44));
    FX_OK(run_batch(net, 2));
    FX_FAILS(FERRY_EOVERFLOW, run_batch(net, INT64_C(1) << 52));
    FX_OK(run_batch(net, 2));
    FX_OK(ferry_blob_reshape4(ferry_net_input_at(net, 0), INT64_C(1) << 44, 2, 1, 1));
    FX_OK(ferry_net_reshape(net));
    FX_OK(run_batch(net, 3));
    if (o->phase == FERRY_PHASE_TRAIN)
        FX_OK(ferry_net_backward(net));
    ferry_net_close(net);
}

static void a_net_runs_after_a_batch_that_is_too_large(void)
{
    const ferry_net_options planned = { .struct_size = sizeof planned,
                                        .text = small_text,
                                        .text_size = strlen(small_text) };
    ferry_net_options o = planned;

    runs_after_a_batch_that_is_too_large(&o);
    o.no_plan = true;
    runs_after_a_batch_that_is_too_large(&o);
    o = planned;
    o.phase = FERRY_PHASE_TRAIN;
    runs_after_a_batch_that_is_too_large(&o);
    o.plan_training = true;
    runs_after_a_batch_that_is_too_large(&o);
}

/* Its blobs take more memory than its parameters. */
static const char wide_text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 1 dim: 32 dim: "
    "32 } } }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 8 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 't' type: 'TanH' bottom: 'a' top: 't' }\n"
    "layer { name: 'd' type: 'BatchNorm' bottom: 't' top: 'd' }\n"
    "layer { name: 'f' type: 'Flatten' bottom: 'd' top: 'f' }\n"
    "layer { name: 'sum' type: 'Reduction' bottom: 'f' top: 'y' loss_weight: 1 "
    "reduction_param { axis: 0 operation: ASUM } }\n";

static uint64_t live_bytes(void)
{
    ferry_device_stats stats = { .struct_size = sizeof stats };

    FX_OK(ferry_device_get_stats(wn_device(), &stats));
    return stats.live_bytes;
}

static int train_batch(ferry_net *net, int64_t batch, double *out_loss)
{
    int err = ferry_blob_reshape4(ferry_net_input_at(net, 0), batch, 1, 32, 32);

    if (!err)
        wn_set(ferry_net_input_at(net, 0), 0.25f, 0.125f);
    if (!err)
        err = ferry_net_forward(net, out_loss);
    if (!err)
        err = ferry_net_backward(net);
    return err ? err : ferry_device_synchronize(wn_device());
}

/* Where a batch fits a new net, it fits one that has run out of memory for a larger batch. */
static void a_batch_that_fits_runs_after_one_that_does_not(void)
{
    const ferry_net_options o = { .struct_size = sizeof o,
                                  .text = wide_text,
                                  .text_size = strlen(wide_text),
                                  .phase = FERRY_PHASE_TRAIN };
    ferry_net *net = NULL;
    double wanted = 0, loss = 0;
    uint64_t room;
    int err;

    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    FX_OK(train_batch(net, 8, &wanted));
    room = live_bytes();
    ferry_net_close(net);
    FX_OK_FATAL(ferry_device_set_budget(wn_device(), room + room / 4));
    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    FX_OK(train_batch(net, 8, NULL));
    err = train_batch(net, 32, NULL);
    CU_ASSERT(!err || err == FERRY_ENOMEM); /* memory shared with the host is beyond the budget */
    FX_OK(train_batch(net, 8, &loss));
    CU_ASSERT_DOUBLE_EQUAL(loss, wanted, 1e-4 * wanted);
    FX_OK(train_batch(net, 4, NULL));
    FX_OK(train_batch(net, 8, NULL));
    ferry_net_close(net);
    FX_OK(ferry_device_set_budget(wn_device(), 0));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_net_runs_after_a_batch_that_is_too_large),
    FERRY_TEST(a_batch_that_fits_runs_after_one_that_does_not),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net room", cases, FERRY_TEST_COUNT(cases));
}
