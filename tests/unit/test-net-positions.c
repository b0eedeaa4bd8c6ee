/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include "net/ir/program.h"

#include <ferry/net.h>
#include <ferry/op_types.h>

#include <math.h>
#include <string.h>

/*
 * Convolutions of which pointwise convolutions with strides read some positions: the program
 * computes only these, with the same results as the net without plan and fusion.
 */

#define LAYER(name, type, bottoms, top, more) \
    "layer { name: '" name "' type: '" type "' " bottoms " top: '" top "' " more " }\n"
#define INPUT \
    LAYER("in", "Input", "", "x", "input_param { shape { dim: 2 dim: 8 dim: 15 dim: 12 } }")
#define CONV(bottom, top, kernel, more)                                                  \
    LAYER(top, "Convolution", "bottom: '" bottom "'", top,                               \
          "convolution_param { num_output: 8 kernel_size: " kernel " " more              \
          " weight_filler { type: 'gaussian' std: 0.2 } bias_filler { type: 'gaussian' " \
          "std: 0.2 } }")
#define RELU(blob)     LAYER("r" blob, "ReLU", "bottom: '" blob "'", blob, "")
#define SUM(a, b, top) LAYER(top, "Eltwise", "bottom: '" a "' bottom: '" b "'", top, "")
#define BLOCK                                                                   \
    INPUT CONV("x", "s", "3", "pad: 1") CONV("s", "a", "3", "pad: 1") RELU("a") \
        CONV("a", "b", "1", "") SUM("s", "b", "t") RELU("t")

struct pattern {
    const char *text;
    int64_t strides[2]; /* of the convolution "a" */
};

static const struct pattern patterns[] = {
    { BLOCK CONV("t", "y", "1", "stride: 2") CONV("t", "z", "1", "stride: 2"), { 2, 2 } },
    { BLOCK CONV("t", "y", "1", "stride_h: 3 stride_w: 2"), { 3, 2 } },
    { BLOCK CONV("t", "y", "1", "stride_h: 1 stride_w: 4 group: 2"), { 1, 4 } },
    { INPUT CONV("x", "a", "4", "stride: 2 pad: 1 dilation: 2 group: 4") RELU("a")
          CONV("a", "y", "1", "stride: 2"),
      { 4, 4 } },
    /* readers of more positions */
    { BLOCK CONV("t", "y", "1", "stride: 2") CONV("t", "z", "1", "stride: 3"), { 1, 1 } },
    { BLOCK CONV("t", "y", "1", "stride: 2") CONV("t", "z", "1", ""), { 1, 1 } },
    { BLOCK CONV("t", "y", "1", "stride: 2")
          LAYER("z", "Pooling", "bottom: 't'", "z", "pooling_param { kernel_size: 2 }"),
      { 1, 1 } },
    { BLOCK CONV("t", "y", "3", "stride: 2"), { 1, 1 } },
    { BLOCK CONV("t", "y", "1", "stride: 2 pad: 1"), { 1, 1 } },
    { BLOCK CONV("t", "y", "1", "stride: 2") SUM("a", "s", "z"), { 1, 1 } },
    /* the product of the strides is too large */
    { INPUT CONV("x", "a", "1", "stride: 65536") CONV("a", "y", "1", "stride: 65536"),
      { 65536, 65536 } },
};

static ferry_net *open_net(ferry_device *dev, const char *text, const char *kept, bool whole)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .phase = FERRY_PHASE_TEST,
                            .text = text,
                            .text_size = strlen(text),
                            .seed = 7,
                            .keep = &kept,
                            .keep_count = kept ? 1 : 0,
                            .no_plan = whole,
                            .no_fuse = whole };
    ferry_net *net = NULL;
    ferry_blob *x;
    float *v;

    CU_ASSERT_EQUAL_FATAL(ferry_net_open(dev, "positions", &o, &net), 0);
    x = ferry_net_blob_find(net, "x");
    v = ferry_blob_overwrite_host_data(x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    for (int64_t i = 0; i < ferry_blob_element_count(x); i++)
        v[i] = (float)(i * 7919 % 255) / 255 - 0.4f;
    CU_ASSERT_EQUAL_FATAL(ferry_net_forward(net, NULL), 0);
    return net;
}

/* The convolution of layer `name` in the program of a pass. */
static const ferry_op_window *window_of(const ferry_net *net, const char *name)
{
    const struct ferry__program *p = net->stages[0].now;

    for (int i = 0; i < p->n_items; i++)
        if (!p->items[i].call && !p->items[i].dropped &&
            p->items[i].op.kind == FERRY_OP_CONVOLUTION &&
            strcmp(ferry_layer_name(p->items[i].layer), name) == 0)
            return &p->items[i].op.params.window;
    return NULL;
}

static void check_outputs(const ferry_net *a, const ferry_net *b)
{
    CU_ASSERT_EQUAL_FATAL(ferry_net_output_count(a), ferry_net_output_count(b));
    for (int i = 0; i < ferry_net_output_count(a); i++) {
        const ferry_blob *u = ferry_net_output_at(a, i), *v = ferry_net_output_at(b, i);
        const float *want = ferry_blob_host_data(u), *got = ferry_blob_host_data(v);

        CU_ASSERT_EQUAL_FATAL(ferry_blob_element_count(u), ferry_blob_element_count(v));
        CU_ASSERT_FATAL(want && got);
        for (int64_t k = 0; k < ferry_blob_element_count(u); k++)
            CU_ASSERT(fabsf(want[k] - got[k]) <= 1e-4f);
    }
}

static void only_the_positions_that_are_read_are_computed(void)
{
    bool is_cpu = strcmp(ferry_test_backend(), "cpu") == 0; /* others may refuse the addition */
    ferry_device *dev = fx_device();

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        ferry_net *plain = open_net(dev, patterns[i].text, NULL, true);
        ferry_net *net = open_net(dev, patterns[i].text, NULL, false);
        const ferry_op_window *w = window_of(net, "a");

        check_outputs(plain, net);
        CU_ASSERT_PTR_NOT_NULL_FATAL(w);
        for (int k = 0; k < 2; k++)
            CU_ASSERT(w->stride[k] == patterns[i].strides[k] ||
                      (!is_cpu && w->stride[k] == (i == 3 ? 2 : 1)));
        ferry_net_close(plain);
        ferry_net_close(net);
    }
    fx_end();
}

/* A blob that can be read after the pass has all of its positions. */
static void kept_blobs_are_complete(void)
{
    ferry_device *dev = fx_device();
    ferry_net *plain = open_net(dev, patterns[0].text, NULL, true);
    ferry_net *net = open_net(dev, patterns[0].text, "t", false);
    const ferry_blob *u = ferry_net_blob_find(plain, "t"), *v = ferry_net_blob_find(net, "t");
    const float *want = ferry_blob_host_data(u), *got = ferry_blob_host_data(v);

    CU_ASSERT_FATAL(want && got);
    for (int64_t k = 0; k < ferry_blob_element_count(u); k++)
        CU_ASSERT(fabsf(want[k] - got[k]) <= 1e-4f);
    ferry_net_close(plain);
    ferry_net_close(net);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(only_the_positions_that_are_read_are_computed),
    FERRY_TEST(kept_blobs_are_complete),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "positions", cases, FERRY_TEST_COUNT(cases));
}
