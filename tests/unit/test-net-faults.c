/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "backends/sim/control.h"

#include "net/ir/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A simulated device that fails while it runs a net: the error, and the state of the net
 * afterwards. Also the transfers where the device lacks some or all kinds of operations.
 */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 8 dim: 9 dim: 9 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 4 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { num_output: 6 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'c' convolution_param { num_output: 6 "
    "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'o' type: 'Concat' bottom: 'b' bottom: 'c' top: 'o' }\n"
    "layer { name: 't' type: 'TanH' bottom: 'o' top: 't' }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 't' top: 'p' pooling_param { kernel_size: 3 stride: "
    "2 "
    "} }\n"
    "layer { name: 'd' type: 'Convolution' bottom: 'p' top: 'd' convolution_param { num_output: 5 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'q' type: 'Pooling' bottom: 'd' top: 'y' pooling_param { pool: AVE "
    "global_pooling: true } }\n";

static ferry_net *open_net(int plan, int fuse)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    o.no_plan = plan < 0;
    o.no_fuse = fuse < 0;
    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
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

static int run(ferry_net *net)
{
    int err = ferry_net_forward(net, NULL);

    return err || ferry_blob_host_data(ferry_net_output_at(net, 0)) ? err : ferry_last_error_code();
}

/* ---- failures -------------------------------------------------------------------------------- */

static struct {
    const struct sim_control *control;
    void *sim;
    float wanted[5];
} f;

static void begin(void)
{
    ferry_net *net = open_net(0, 0);

    fx_sim(fx_device(), &f.control, &f.sim);
    feed(net);
    FX_OK(run(net));
    memcpy(f.wanted, ferry_blob_host_data(ferry_net_output_at(net, 0)), sizeof f.wanted);
    ferry_net_close(net);
    fx_end();
}

static bool answers(ferry_net *net)
{
    const float *y = ferry_blob_host_data(ferry_net_output_at(net, 0));

    for (int i = 0; y && i < 5; i++)
        if (fabsf(y[i] - f.wanted[i]) > 1e-6f)
            return false;
    return y != NULL;
}

typedef void (*fail)(void *sim, uint32_t call, uint64_t nth, int code);

/*
 * A batch of two images, then one of one image: the blobs have more capacity than elements in use.
 */
static void run_and_shrink(ferry_net *net)
{
    FX_OK(ferry_blob_reshape4(ferry_net_input_at(net, 0), 2, 8, 9, 9));
    feed(net);
    FX_OK(run(net));
    FX_OK(ferry_blob_reshape4(ferry_net_input_at(net, 0), 1, 8, 9, 9));
    feed(net);
    FX_OK(run(net));
}

/*
 * Lets call number n fail, for n = 0, 1, …, until no call fails. The net runs before each failure
 * and after the last.
 */
static void fail_each(fail fails, uint32_t call, int code)
{
    ferry_net *net = open_net(0, 0);
    uint64_t nth, before = 0;
    int failed = 0;

    run_and_shrink(net);
    for (nth = 1; nth < 200; nth++) {
        int err;

        feed(net);
        before = f.control->calls(f.sim, call);
        fails(f.sim, call, nth, code);
        err = run(net);
        fails(f.sim, call, 0, 0);
        CU_ASSERT(err == 0 || err == code || err == FERRY_ELOST);
        CU_ASSERT(err || answers(net));
        failed += err != 0;
        feed(net);
        FX_OK(run(net));
        CU_ASSERT(answers(net));
        if (!err && f.control->calls(f.sim, call) - before < 2 * nth)
            break;
    }
    CU_ASSERT(failed > 0);
    CU_ASSERT(nth < 200);
    ferry_net_close(net);
    fx_end();
}

static void a_failed_run_fails_the_pass_and_the_next_pass_is_right(void)
{
    begin();
    fail_each(f.control->fail_next, SIM_CALL_RUN, FERRY_EDEVICE);
    fail_each(f.control->fail_later, SIM_CALL_RUN, FERRY_EDEVICE);
}

static void a_failed_copy_fails_the_pass_and_the_next_pass_is_right(void)
{
    begin();
    fail_each(f.control->fail_next, SIM_CALL_MEMCPY, FERRY_EDEVICE);
    fail_each(f.control->fail_later, SIM_CALL_MEMCPY, FERRY_EDEVICE);
}

/*
 * Must be the last case: the device remains lost. The replicas of the net are valid on the host
 * too, so the net can move to another device.
 */
static void a_lost_device_fails_the_pass_and_the_net_moves_to_another(void)
{
    ferry_net *net;
    ferry_device *cpu;
    int err;

    begin();
    net = open_net(0, 0);
    feed(net);
    FX_OK(run(net));
    for (int i = 0; i < ferry_net_layer_count(net); i++) /* because the host has a copy of what was
                                                          * loaded */
        for (int k = 0; k < ferry_net_param_count(net, i); k++)
            CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(ferry_net_param_at(net, i, k)));
    f.control->lose(f.sim);
    feed(net);
    err = run(net);
    CU_ASSERT(err == FERRY_ELOST || err == FERRY_EDEVICE);
    CU_ASSERT(strstr(ferry_last_error(), "sim") != NULL);
    if (ferry_runtime_get_device(fx_runtime(), "cpu", &cpu)) {
        ferry_test_skip("there is no cpu plugin");
    } else {
        FX_OK(ferry_net_move_to(net, cpu));
        feed(net);
        FX_OK(run(net));
        CU_ASSERT(answers(net));
    }
    ferry_net_close(net);
}

/*
 * One event for the transfer of the input and one for all operations, not one event per operation.
 */
static void a_pass_records_one_event_for_its_operations(void)
{
    static const int plain[] = { 0, -1 };
    ferry_net *net;
    uint64_t runs, events;

    begin();
    for (size_t i = 0; i < FERRY_TEST_COUNT(plain); i++) {
        net = open_net(plain[i], plain[i]);
        feed(net);
        FX_OK(run(net));
        feed(net);
        runs = f.control->calls(f.sim, SIM_CALL_RUN);
        events = f.control->calls(f.sim, SIM_CALL_EVENT);
        FX_OK(ferry_net_forward(net, NULL));
        runs = f.control->calls(f.sim, SIM_CALL_RUN) - runs;
        events = f.control->calls(f.sim, SIM_CALL_EVENT) - events;
        printf("     %llu operations, %llu events\n", (unsigned long long)runs,
               (unsigned long long)events);
        CU_ASSERT(runs >= 6);
        CU_ASSERT(events >= 1 && events <= 2);
        ferry_net_close(net);
    }
    fx_end();
}

/* ---- transfers ------------------------------------------------------------------------------- */

static int outermost(const struct ferry__program *p, int value)
{
    while (value >= 0 && p->values[value].within >= 0)
        value = p->values[value].within;
    return value;
}

/*
 * The smallest number of bytes that the placement requires: each value is copied once, completely,
 * to each side that reads it and has no valid copy. Before the pass the input is on the host; after
 * it the output is on the host.
 */
static uint64_t least_of(const struct ferry__program *p)
{
    enum { HOST = 1, DEVICE = 2 };
    unsigned char *valid = calloc((size_t)p->n_values + 1, 1);
    uint64_t bytes = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(valid);
    for (int i = 0; i < p->n_values; i++)
        valid[i] = p->values[i].index == 0 ? HOST : 0;
    for (int i = 0; i < p->n_items; i++) {
        const struct ferry__item *item = &p->items[i];
        unsigned char side = item->tier == FERRY_TIER_HOST ? HOST : DEVICE;

        for (uint32_t k = 0; !item->dropped && k < item->op.n_in; k++) {
            int v = outermost(p, item->in[k].value);

            if (v >= 0 && !(valid[v] & side)) {
                bytes += 4 * (uint64_t)p->values[v].count;
                valid[v] |= side;
            }
        }
        for (uint32_t k = 0; !item->dropped && k < item->op.n_out; k++)
            if (item->out[k].value >= 0)
                valid[outermost(p, item->out[k].value)] = side;
    }
    for (int i = 0; i < p->n_values; i++)
        if (p->values[i].index >= 0 && p->net->blobs[p->values[i].index].output &&
            !(valid[i] & HOST))
            bytes += 4 * (uint64_t)p->values[i].count;
    free(valid);
    return bytes;
}

static uint64_t moved(ferry_net *net)
{
    feed(net);
    FX_OK(run(net)); /* the weights have been copied to their users */
    feed(net);
    fx_mark();
    FX_OK(run(net));
    return fx_bytes();
}

static void a_pass_transfers_only_the_bytes_that_the_placement_requires(void)
{
    ferry_net *net = open_net(0, 0), *plain = open_net(-1, -1);
    uint64_t bytes = moved(net), unplanned = moved(plain), least = least_of(net->stages[0].now);

    printf("     %s: %llu bytes, %llu unfused\n", getenv("FERRY_TEST_BACKENDS"),
           (unsigned long long)bytes, (unsigned long long)unplanned);
    CU_ASSERT_EQUAL(bytes, least);
    CU_ASSERT(bytes <= unplanned);
    if (!strcmp(getenv("FERRY_TEST_BACKENDS"), "sim[ops=minimal]"))
        CU_ASSERT_EQUAL(bytes, 0); /* the host computes all of it */
    CU_ASSERT_DOUBLE_EQUAL(((const float *)ferry_blob_host_data(ferry_net_output_at(net, 0)))[0],
                           ((const float *)ferry_blob_host_data(ferry_net_output_at(plain, 0)))[0],
                           1e-6);
    ferry_net_close(net);
    ferry_net_close(plain);
    fx_end();
}

static void squeezenet_transfers_nothing_with_five_plugin_entries(void)
{
    const char *path = ferry_test_data("nets/squeezenet_dc/SqueezeNet_deploy.prototxt");
    ferry_net *net = NULL;

    if (!path)
        return;
    FX_OK(ferry_net_open(fx_device(), path, NULL, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    FX_OK(ferry_blob_reshape4(ferry_net_input_at(net, 0), 1, 3, 64, 64));
    CU_ASSERT_EQUAL(moved(net), 0);
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        FX_OK(ferry_net_get_layer_info(net, i, &info));
        CU_ASSERT(info.operations == 0 || info.tier == FERRY_TIER_HOST);
    }
    ferry_net_close(net);
    fx_end();
}

static const ferry_test_case failures[] = {
    FERRY_TEST(a_failed_run_fails_the_pass_and_the_next_pass_is_right),
    FERRY_TEST(a_failed_copy_fails_the_pass_and_the_next_pass_is_right),
    FERRY_TEST(a_pass_records_one_event_for_its_operations),
    FERRY_TEST(a_pass_transfers_only_the_bytes_that_the_placement_requires),
    FERRY_TEST(a_lost_device_fails_the_pass_and_the_net_moves_to_another),
};

static const ferry_test_case moves[] = {
    FERRY_TEST(a_pass_transfers_only_the_bytes_that_the_placement_requires),
};

static const ferry_test_case minimal[] = {
    FERRY_TEST(a_pass_transfers_only_the_bytes_that_the_placement_requires),
    FERRY_TEST(squeezenet_transfers_nothing_with_five_plugin_entries),
};

/*
 * A plugin that has one kind of operation: all other kinds that the kernels of sim compute are
 * excluded.
 */
static bool write_conf(int fd)
{
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file)
        return false;
    fputs(
        "[plugin sim]\noption.without = inner product, im2col, col2im, batched gemm, pool, unary, "
        "binary, reduce, moments, softmax, lrn, strided copy, resize, roi pool, gather\n",
        file);
    return fclose(file) == 0;
}

static int convolution_alone(int argc, char **argv)
{
    char path[] = "/tmp/ferry-conf-XXXXXX";
    int result;

    if (!write_conf(mkstemp(path)))
        return 1;
    setenv("FERRY_CONF", path, 1);
    setenv("FERRY_TEST_BACKENDS", "sim", 1);
    result = ferry_test_main_backends(argc, argv, "net faults", moves, FERRY_TEST_COUNT(moves));
    unlink(path);
    return result;
}

int main(int argc, char **argv)
{
    static const ferry_test_set sets[] = {
        { "sim", failures, FERRY_TEST_COUNT(failures) },
        { "sim[ops=minimal]", minimal, FERRY_TEST_COUNT(minimal) },
        { "sim[without=pool]", moves, FERRY_TEST_COUNT(moves) },
        { "sim[without=convolution]", moves, FERRY_TEST_COUNT(moves) },
        { "sim[without=unary]", moves, FERRY_TEST_COUNT(moves) },
    };

    return ferry_test_main_sets(argc, argv, "net faults", sets, FERRY_TEST_COUNT(sets)) |
           convolution_alone(argc, argv);
}
