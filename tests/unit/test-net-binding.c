/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include "net/ir/program.h"

#include <ferry/op.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Nets on a device whose kernels require bindings at multiples of 256 bytes (offset_alignment):
 * operations on parts of a blob at other offsets are computed on the host, all other operations on
 * the device.
 */

#define INPUT(width)                                                                        \
    "force_backward: true layer { name: 'in' type: 'Input' top: 'x' input_param { shape { " \
    "dim: 2 dim: 6 dim: 4 dim: " width " } } }\n"                                           \
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { "       \
    "num_output: 6 kernel_size: 1 weight_filler { type: 'xavier' } } }\n"

#define REST                                                                                  \
    "layer { name: 's' type: 'Slice' bottom: 'a' top: 'b' top: 'c' top: 'd' slice_param { "   \
    "slice_point: 1 slice_point: 4 } }\n"                                                     \
    "layer { name: 't' type: 'TanH' bottom: 'b' top: 'e' }\n"                                 \
    "layer { name: 'v' type: 'Power' bottom: 'd' top: 'd' power_param { scale: 3 } }\n"       \
    "layer { name: 'p' type: 'Convolution' bottom: 'c' top: 'f' convolution_param { "         \
    "num_output: 3 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"              \
    "layer { name: 'q' type: 'Concat' bottom: 'f' bottom: 'e' bottom: 'd' top: 'q' }\n"       \
    "layer { name: 'k' type: 'Crop' bottom: 'q' bottom: 'x' top: 'k' crop_param { axis: 3 } " \
    "}\n"                                                                                     \
    "layer { name: 'z' type: 'Convolution' bottom: 'k' top: 'z' convolution_param { "         \
    "num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }\n"

static const char odd[] = INPUT("5") REST; /* a plane has 80 bytes */
static const char even[] = INPUT("16") REST;

static ferry_net *open_net(ferry_device *dev, const char *text, bool learns)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    o.backward = learns;
    FX_OK(ferry_net_open(dev, "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void pass(ferry_net *net, bool learns)
{
    ferry_blob *in = ferry_net_input_at(net, 0), *out = ferry_net_output_at(net, 0);
    float *x = ferry_blob_overwrite_host_data(in);

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < ferry_blob_element_count(in); i++)
        x[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    FX_OK_FATAL(ferry_net_forward(net, NULL));
    if (!learns)
        return;
    FX_OK(ferry_net_clear_param_diffs(net));
    x = ferry_blob_overwrite_host_diff(out);
    for (int64_t i = 0; i < ferry_blob_element_count(out); i++)
        x[i] = (float)(i * 17 % 61) / 61;
    FX_OK_FATAL(ferry_net_backward(net));
}

static bool alike(const float *x, const float *y, int64_t count)
{
    float most = 0;

    CU_ASSERT_FATAL(x && y);
    for (int64_t i = 0; i < count; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(x[i] - y[i]) <= 1e-5f * most))
            return false;
    return most > 0;
}

/* Whether a net computes the same values as on the CPU. */
static void agrees(ferry_net *net, const char *text, bool learns)
{
    ferry_blob *out = ferry_net_output_at(net, 0), *in = ferry_net_input_at(net, 0);
    ferry_device *cpu;
    ferry_net *other;

    if (ferry_runtime_get_device(wx_runtime(), "cpu", &cpu)) {
        ferry_test_skip("there is no cpu plugin to compare with");
        pass(net, learns); /* the operations are prepared either way */
        return;
    }
    other = open_net(cpu, text, learns);
    for (int i = 0; i < 2; i++) { /* and again, with all replicas where the first pass left them */
        pass(net, learns);
        pass(other, learns);
        CU_ASSERT(alike(ferry_blob_host_data(ferry_net_output_at(other, 0)),
                        ferry_blob_host_data(out), ferry_blob_element_count(out)));
        if (learns)
            CU_ASSERT(alike(ferry_blob_host_diff(ferry_net_input_at(other, 0)),
                            ferry_blob_host_diff(in), ferry_blob_element_count(in)));
    }
    ferry_net_close(other);
}

/* Number of operations that the forward pass computes on the host. */
static int on_host(const ferry_net *net)
{
    const struct ferry__program *p = net->stages[0].now;
    int n = 0;

    for (int i = 0; i < p->n_items; i++)
        n += !p->items[i].dropped && p->items[i].tier == FERRY_TIER_HOST;
    return n;
}

static void misaligned_slices_are_computed_on_the_host(void)
{
    for (int learns = 0; learns < 2; learns++) {
        ferry_net *net;

        wx_begin();
        net = open_net(wx_dev(0), odd, learns);
        CU_ASSERT_EQUAL(on_host(net), 4); /* slices to c and d, concatenations of e and d to q */
        agrees(net, odd, learns);
        ferry_net_close(net);
        wx_end();
    }
}

static void aligned_slices_are_computed_on_the_device(void)
{
    for (int learns = 0; learns < 2; learns++) {
        ferry_net *net;

        wx_begin();
        net = open_net(wx_dev(0), even, learns);
        CU_ASSERT_EQUAL(on_host(net), 0);
        agrees(net, even, learns);
        ferry_net_close(net);
        wx_end();
    }
}

static void strict_names_the_layer_and_the_number(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = odd, .text_size = strlen(odd) };
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_net *net = NULL;

    wx_begin();
    setenv("FERRY_STRICT", "1", 1);
    FX_OK_FATAL(ferry_runtime_open(NULL, &rt));
    unsetenv("FERRY_STRICT");
    FX_OK_FATAL(ferry_runtime_get_device(rt, "sim:0", &dev));
    FX_FAILS(FERRY_EUNSUPPORTED, ferry_net_open(dev, "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NULL(net);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "layer \"s\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "not a multiple of 256 bytes"));
    o.text = even;
    o.text_size = strlen(even);
    FX_OK(ferry_net_open(dev, "net.prototxt", &o, &net));
    ferry_net_close(net);
    ferry_runtime_close(rt);
    wx_end();
}

/* ---- how far blocks reach -------------------------------------------------------------------- */

#define BIG(side)                                                                              \
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: " side \
    " dim: " side " } } }\n"                                                                   \
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { "          \
    "num_output: 12 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"              \
    "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { "          \
    "num_output: 12 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"              \
    "layer { name: 'c' type: 'Convolution' bottom: 'b' top: 'c' convolution_param { "          \
    "num_output: 12 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"              \
    "layer { name: 'd' type: 'Convolution' bottom: 'c' top: 'd' convolution_param { "          \
    "num_output: 12 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"              \
    "layer { name: 's' type: 'Eltwise' bottom: 'a' bottom: 'b' bottom: 'd' top: 's' }\n"       \
    "layer { name: 'p' type: 'Pooling' bottom: 's' top: 'p' pooling_param { kernel_size: 4 "   \
    "stride: 4 } }\n"

/* Blobs of 48 KiB. A block of 64 KiB holds one, so an arena consists of several blocks. */
static void a_plan_continues_in_another_block(void)
{
    static const char text[] = BIG("32");
    ferry_net *net;

    wx_begin();
    net = open_net(wx_dev(0), text, false);
    CU_ASSERT(net->plan && net->n_arenas > 1 && net->n_arenas < 6);
    for (int i = 0; i < net->n_arenas; i++)
        CU_ASSERT(ferry_memory_size(net->arenas[i].memory) <= 65536);
    agrees(net, text, false);
    ferry_net_close(net);
    wx_end();
}

/*
 * Column buffers of 162 KiB, which exceed the block size: they are computed one channel at a time.
 */
static void composed_operations_respect_the_largest_block(void)
{
    static const char text[] =
        "input: 'x' input_shape { dim: 1 dim: 8 dim: 24 dim: 24 }\n"
        "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { "
        "num_output: 2 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n";
    ferry_net *net;

    wx_begin();
    net = open_net(wx_dev(0), text, false);
    agrees(net, text, false);
    CU_ASSERT_EQUAL(net->stages[0].now->items[0].tier, FERRY_TIER_COMPOSED);
    ferry_net_close(net);
    wx_end();
}

static void a_blob_beyond_the_largest_block_is_refused_with_both_numbers(void)
{
    static const char text[] = BIG("64");
    ferry_net *net;

    wx_begin();
    net = open_net(wx_dev(0), text, false);
    memset(ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0)), 0, 4 * 3 * 64 * 64);
    FX_FAILS(FERRY_ENOMEM, ferry_net_forward(net, NULL));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "196608"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "65536"));
    ferry_net_close(net);
    wx_end();
}

/*
 * A kernel that the program adds gets its error at the call to run, and no access is ended that was
 * not begun.
 */
static void a_misaligned_operation_is_refused_with_both_numbers(void)
{
    const int64_t shape[2] = { 2, 2 };
    ferry_memory *m = NULL;
    ferry_operation_location in, out;
    ferry_operation_args args = { .struct_size = sizeof args, .in = &in, .out = &out };
    ferry_operation *o = NULL;
    ferry_op_desc op;

    wx_begin();
    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.n_in = op.n_out = 1;
    op.in[0] = op.out[0] = ferry_operand_make(FERRY_F32, shape, 2, NULL);
    FX_OK_FATAL(ferry_memory_create(wx_dev(0), 1024, &m));
    memset(ferry_memory_overwrite_host_data(m), 0x3f, 1024);
    in = (ferry_operation_location){ m, 0 };
    out = (ferry_operation_location){ m, 264 };
    FX_OK_FATAL(ferry_operation_create(wx_dev(0), &op, &o));
    for (int i = 0; i < 100; i++)
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_operation_run(o, NULL, &args));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "begins at byte 264"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "not a multiple of 256"));
    out.offset = 256;
    FX_OK(ferry_operation_run(o, NULL, &args));
    ferry_operation_destroy(o);
    ferry_memory_release(m);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_misaligned_operation_is_refused_with_both_numbers),
    FERRY_TEST(misaligned_slices_are_computed_on_the_host),
    FERRY_TEST(aligned_slices_are_computed_on_the_device),
    FERRY_TEST(strict_names_the_layer_and_the_number),
};

static const ferry_test_case composed[] = {
    FERRY_TEST(composed_operations_respect_the_largest_block),
};

static const ferry_test_case blocks[] = {
    FERRY_TEST(a_plan_continues_in_another_block),
    FERRY_TEST(a_blob_beyond_the_largest_block_is_refused_with_both_numbers),
};

int main(int argc, char **argv)
{
    static const char *const small[] = { "offset_alignment", "256", "max_binding", "64KiB", NULL };
    static const char *const steps[] = { "max_binding", "64KiB", "without", "convolution", NULL };
    static const char *const discrete[] = { "offset_alignment", "256", NULL };
    static const char *const shared[] = { "offset_alignment", "256", "unified", "on", NULL };
    static const struct wx_world worlds[] = {
        { "discrete", discrete, cases, FERRY_TEST_COUNT(cases) },
        { "unified", shared, cases, FERRY_TEST_COUNT(cases) },
        { "small blocks", small, blocks, FERRY_TEST_COUNT(blocks) },
        { "small blocks, no convolutions", steps, composed, FERRY_TEST_COUNT(composed) },
    };

    return wx_main(argc, argv, "net binding", worlds, FERRY_TEST_COUNT(worlds));
}
