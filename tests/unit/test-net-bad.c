/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "small-net.h"

#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Invalid net definitions and weights files: each gives one error that names its position, and
 * leaves no partly constructed object.
 */

/* ---- texts ----------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int code;
    const char *says;
} bad[] = {
    { "", FERRY_EFORMAT, "no layers" },
    { "layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'y' }", FERRY_EFORMAT, "\"x\"" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Power' bottom: 'x' top: 'y' }\n"
                      "layer { name: 'b' type: 'Power' bottom: 'x' top: 'y' }",
      FERRY_EFORMAT, "net.prototxt:3:" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Convolutoin' bottom: 'x' top: 'y' }",
      FERRY_EUNSUPPORTED, "Convolution" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Eltwise' bottom: 'x' bottom: 'z' top: 'y' }\n"
                      "layer { name: 'b' type: 'Power' bottom: 'y' top: 'z' }",
      FERRY_EFORMAT,
      "\"a\": its bottom \"z\" is produced by layer \"b\", which comes later: a cycle" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Power' bottom: 'y' top: 'y' }", FERRY_EFORMAT,
      "layer \"a\": its bottom \"y\" is produced by itself, \"a\", and by no earlier layer" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Zorp' bottom: 'x' top: 'y' }", FERRY_EUNSUPPORTED,
      "no type \"Zorp\"; `ferry layers`" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Region' bottom: 'x' top: 'y' }", FERRY_EUNSUPPORTED,
      "forks of Caffe with YOLO" },
    { INPUT("dim: 2 dim: 3") "layer { name: 'i' type: 'Input' top: 'w' input_param { shape {\n"
                             " dim: 3 dim: 2 } } }\n"
                             "layer { name: 'a' type: 'Eltwise' bottom: 'x' bottom: 'w' top: 'y' }",
      FERRY_ESHAPE, "layer \"a\" (Eltwise): bottom 1 is 3 2 (6), bottom 0 is 2 3 (6)" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Python' bottom: 'x' top: 'y' }", FERRY_EUNSUPPORTED,
      "ferry.caffe" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'ReLU' bottom: 'x' bottom: 'x' top: 'y' }",
      FERRY_EFORMAT, "2 bottoms" },
    { INPUT("dim: 1 dim: 3 dim: 4 dim: 4") "layer { name: 'a' type: 'Convolution' bottom: 'x' top: "
                                           "'y' convolution_param {\n"
                                           " num_output: 2 kernel_size: 9 } }",
      FERRY_ESHAPE, "\"a\"" },
    { INPUT("dim: 1 dim: 3 dim: 4 dim: 4") "layer { name: 'a' type: 'Convolution' bottom: 'x' top: "
                                           "'y' convolution_param {\n"
                                           " num_output: 2 kernel_size: 3 group: 2 } }",
      FERRY_ESHAPE, "group" },
    { INPUT("dim: 2") "layer { name: 'a' type: 'Power' bottom: 'x' top: 'y' }\n"
                      "layer { name: 'c' type: 'Concat' bottom: 'x' bottom: 'y' top: 'z'\n"
                      " concat_param { axis: 3 } }",
      FERRY_ESHAPE, "axis is 3" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Power' bottom: 'x' top: 'y' include { } exclude { "
                      "} }",
      FERRY_EFORMAT, "include" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Power' bottom: 'x' top: 'y' loss_weight: 1 "
                      "loss_weight: 1 }",
      FERRY_EFORMAT, "net.prototxt:2:67: layer \"a\": 2 loss_weights for 1 tops" },
    { INPUT("dim: 1 dim: 2") "layer { name: 'a' type: 'Slice' bottom: 'x' top: 'y' top: 'z' "
                             "loss_weight: 2 }",
      FERRY_EFORMAT, "layer \"a\": 1 loss_weights for 2 tops" },
    { INPUT("dim: 1 dim: 2") "layer { name: 'a' type: 'EuclideanLoss' bottom: 'x' bottom: 'x' "
                             "loss_weight: 2\n"
                             " loss_weight: 1 }",
      FERRY_EFORMAT, "layer \"a\": 2 loss_weights for 1 tops" },
};

static void an_invalid_definition_gives_one_error_with_its_position(void)
{
    size_t i;

    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        ferry_net_options o = { .struct_size = sizeof o, .text = bad[i].text };
        ferry_net *net = NULL;
        int err;

        o.text_size = strlen(bad[i].text);
        err = ferry_net_open(fx_device(), "net.prototxt", &o, &net);
        if (err != bad[i].code || net || !strstr(ferry_last_error(), bad[i].says))
            printf("case %zu: %d: %s\n", i, err, ferry_last_error());
        CU_ASSERT_EQUAL(err, bad[i].code);
        CU_ASSERT_PTR_NULL(net);
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), bad[i].says));
        fx_end();
    }
}

static void a_truncated_text_is_an_error_or_a_net(void)
{
    size_t length = strlen(chain), cut;

    for (cut = 0; cut < length; cut += ferry_test_is_slow() ? 17 : 1) {
        ferry_net_options o = { .struct_size = sizeof o, .text = chain, .text_size = cut };
        ferry_net *net = NULL;

        if (!ferry_net_open(fx_device(), "cut", &o, &net))
            ferry_net_close(net);
        else
            CU_ASSERT_PTR_NULL(net);
        fx_end();
    }
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/*
 * Opens a net with inputs a, b, c of these axes and a layer that rejects them, and checks the error
 * message.
 */
static const struct {
    const char *type, *axes[3], *parameters;
    const char *says;
} shapes[] = {
    { "Accuracy", { "2 3", "4" }, "", "4 labels for 2 × 1 predictions of 3 classes" },
    { "Accuracy",
      { "2 3", "2" },
      "accuracy_param { top_k: 4 }",
      "top_k is 4, there are 3 classes" },
    { "ArgMax", { "2 3" }, "argmax_param { top_k: 4 }", "top_k is 4, there are 3 values" },
    { "Axpy", { "1 3 1 1", "1 3 4 4", "1 3 4 5" }, "", "bottoms 1 and 2 have 48 and 60 elements" },
    { "BatchReindex", { "2 3", "2 1" }, "", "bottom 1 has 2 axes, not 1" },
    { "BatchReindex", { "", "2" }, "", "bottom 0 is a scalar" },
    { "BN", { "3" }, "", "its bottom has 1 axes" },
    { "Bias", { "2 3 4", "4" }, "", "axis 0 of bottom 1 is 4, axis 1 of bottom 0 is 3" },
    { "Concat", { "1 3 5 5", "1 2 5 6" }, "", "they differ in axis 3" },
    { "Concat", { "1 3 5 5", "1 2" }, "", "they differ in the number of axes" },
    { "ContrastiveLoss", { "2 3", "2 4", "2" }, "", "its bottoms have 6 and 8 elements" },
    { "Convolution",
      { "1 3 4 4" },
      "convolution_param { num_output: 4 kernel_size: 3 group: 2 }",
      "3 channels to 4 outputs in 2 groups" },
    { "Convolution",
      { "1 3 4 4" },
      "convolution_param { num_output: 4 kernel_size: 7 }",
      "its kernel of 7 does not fit" },
    { "Convolution",
      { "1 3 4 4", "1 2 4 4" },
      "top: 'z' convolution_param { num_output: 4 "
      "kernel_size: 1 }",
      "3" },
    { "Crop", { "1 3 5 5", "1 2 6 6" }, "", "6 elements from 0 on of axis 2, which has 5" },
    { "Crop", { "1 3 5 5", "1 2 6" }, "", "bottom 0 has 4 axes, bottom 1 only 3" },
    { "Deconvolution",
      { "1 3 4 4" },
      "convolution_param { num_output: 4 kernel_size: 3 group: 2 }",
      "3 channels to 4 outputs in 2 groups" },
    { "DetectionOutput",
      { "1 4", "1 4", "1 2 8" },
      "detection_output_param { num_classes: 3 }",
      "2 priors, 4 locations and 4 confidences for 3 classes" },
    { "Eltwise",
      { "1 3 5", "1 2 5" },
      "",
      "bottom 1 is 1 2 5 (10), bottom 0 is 1 3 5 (15): they differ" },
    { "EuclideanLoss", { "2 3", "2 4" }, "", "its bottoms have 6 and 8 elements" },
    { "Filter",
      { "2 3", "3 1" },
      "",
      "bottom 0 is 2 3 (6), bottom 1 is 3 1 (3): they differ in the number of entries" },
    { "Flatten", { "2 3" }, "flatten_param { axis: 2 }", "axis is 2, its bottom has 2 axes" },
    { "HingeLoss", { "2 3", "4" }, "", "4 labels for 2 entries" },
    { "Im2col", { "2 3" }, "convolution_param { kernel_size: 1 }", "no spatial axes" },
    { "InfogainLoss",
      { "2 3", "2", "2 2" },
      "",
      "its matrix has 4 elements, but there are 3 classes" },
    { "InnerProduct",
      { "2 3" },
      "inner_product_param { num_output: 2 axis: 2 }",
      "axis is 2, its bottom has 2 axes" },
    { "Interp", { "2 3" }, "interp_param { height: 2 width: 2 }", "its bottom has 2 axes" },
    { "LRN", { "2 3" }, "", "its bottom has 2 axes, not 4" },
    { "LSTM",
      { "2 3 4", "3 2" },
      "recurrent_param { num_output: 2 }",
      "bottom 1 is 3 2 (6), there are 2 steps of 3 streams" },
    { "LSTM",
      { "2 3 4", "2 3", "4 2" },
      "recurrent_param { num_output: 2 }",
      "bottom 2 has 4 entries, there are 3 streams" },
    { "RNN",
      { "2 3 4", "6" },
      "recurrent_param { num_output: 2 }",
      "bottom 1 is 6 (6), there are 2 steps of 3 streams" },
    { "LSTMUnit",
      { "1 2 3", "1 2 8", "1 2" },
      "top: 'z'",
      "its bottoms have 6, 16 and 2 elements" },
    { "MultinomialLogisticLoss", { "2 3", "4" }, "", "4 labels for 2 entries" },
    { "Normalize", { "3" }, "", "its bottom has 1 axes" },
    { "Permute",
      { "2 3" },
      "permute_param { order: 2 }",
      "axis 2 occurs twice or is not one of the bottom's 2 axes" },
    { "Pooling",
      { "1 3 5 5" },
      "pooling_param { kernel_size: 9 }",
      "its window of 9 does not fit on 5" },
    { "PReLU", { "3" }, "", "its bottom has 1 axes" },
    { "PriorBox",
      { "1 2 3", "1 2 3 4" },
      "prior_box_param { min_size: 2 }",
      "its bottoms have 3 and 4 axes" },
    { "PSROIPooling",
      { "1 8 3 3", "2 4" },
      "psroi_pooling_param { output_dim: 2 group_size: 2 "
      "spatial_scale: 1 }",
      "its regions have 8 values, not 5 each" },
    { "Reduction", { "2 3" }, "reduction_param { axis: 2 }", "axis is 2, its bottom has 2 axes" },
    { "Reshape",
      { "3 5" },
      "reshape_param { shape { dim: 4 dim: -1 } }",
      "15 elements cannot be divided into parts of 4" },
    { "Reshape",
      { "3 5" },
      "reshape_param { shape { dim: 4 dim: 2 } }",
      "top 0, which shares bottom 0, would be 4 2 (8)" },
    { "ROIPooling",
      { "1 8 3 3", "2 4" },
      "roi_pooling_param { pooled_h: 2 pooled_w: 2 "
      "spatial_scale: 1 }",
      "its regions have 8 values, not 5 each" },
    { "Scale", { "2 3 4", "4" }, "", "axis 0 of bottom 1 is 4, axis 1 of bottom 0 is 3" },
    { "ShuffleChannel",
      { "1 3 2 2" },
      "shuffle_channel_param { group: 2 }",
      "2 groups of 3 channels" },
    { "SigmoidCrossEntropyLoss", { "2 3", "2 4" }, "", "8 targets for 6 predictions" },
    { "Slice", { "1 3" }, "top: 'z'", "an axis of 3 cannot be split into 2 equal parts" },
    { "Slice",
      { "1 3" },
      "top: 'z' slice_param { slice_point: 5 }",
      "slice_point 5 after 0, the axis has 3" },
    { "Softmax", { "2 3" }, "softmax_param { axis: 2 }", "axis is 2, its bottom has 2 axes" },
    { "SoftmaxWithLoss", { "2 3", "4" }, "", "4 labels for 2 × 1 predictions of 3 classes" },
    { "SPP", { "2 3" }, "spp_param { pyramid_height: 2 }", "its bottom has 2 axes" },
    { "Tile", { "1 3" }, "tile_param { axis: 7 tiles: 2 }", "axis is 7, its bottom has 2 axes" },
    { "Upsample",
      { "1 3 4 4", "1 3 4 5" },
      "upsample_param { scale: 2 }",
      "its mask has 60 elements, its bottom 48" },
};

/*
 * A net with an Input layer for each of `n` strings of one-digit axes, and the layer "it" on them.
 */
static const char *net_of(const char *type, int n, const char *const *axes, const char *parameters)
{
    static char text[2048];
    size_t used = 0;

    for (int k = 0; k < n; k++) {
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "layer { name: 'in%d' type: 'Input' top: '%c' input_param { shape {", k, 'a' + k);
        for (const char *axis = axes[k]; *axis; axis++)
            if (*axis != ' ')
                used += (size_t)snprintf(text + used, sizeof text - used, " dim: %c", *axis);
        used += (size_t)snprintf(text + used, sizeof text - used, " } } }\n");
    }
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "layer { name: 'it' type: '%s'", type);
    for (int k = 0; k < n; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, " bottom: '%c'", 'a' + k);
    snprintf(text + used, sizeof text - used, " top: 'y' %s }\n", parameters);
    return text;
}

/*
 * Whether the latest error contains "bottom k is" or "blob k is" followed by these axes and their
 * count.
 */
static bool is_said(const char *what, int k, const char *axes)
{
    char shape[160];
    long count = 1;

    for (const char *axis = axes; *axis; axis++)
        if (*axis != ' ')
            count *= *axis - '0';
    snprintf(shape, sizeof shape, "%s %d is %s%s(%ld)", what, k, axes, *axes ? " " : "", count);
    return strstr(ferry_last_error(), shape) != NULL;
}

static void shapes_that_do_not_fit_are_named_with_their_layer(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(shapes); i++) {
        ferry_net_options o = { .struct_size = sizeof o };
        ferry_net *net = NULL;
        bool said = true;
        int n = 0, err;

        while (n < 3 && shapes[i].axes[n])
            n++;
        o.text = net_of(shapes[i].type, n, shapes[i].axes, shapes[i].parameters);
        o.text_size = strlen(o.text);
        err = ferry_net_open(fx_device(), "net.prototxt", &o, &net);
        CU_ASSERT_EQUAL(err, FERRY_ESHAPE);
        CU_ASSERT_PTR_NULL(net);
        for (int k = 0; k < n; k++)
            said = said && is_said("bottom", k, shapes[i].axes[k]);
        if (!err || !said || !strstr(ferry_last_error(), shapes[i].says) ||
            !strstr(ferry_last_error(), "layer \"it\"")) {
            printf("     %s: %d: %s\n", shapes[i].type, err, ferry_last_error());
            CU_FAIL("the message does not say so");
        }
        ferry_net_close(net);
        fx_end();
    }
}

/* Layers with parameters whose bottom later gets a shape that does not fit the parameters. */
static const struct {
    const char *type, *parameters, *first, *then;
    const char *blob; /* the shape of parameter 0 */
} made_for[] = {
    { "BatchNorm", "", "2 3", "2 4", "3" },
    { "Bias", "", "2 3", "2 4", "3" },
    { "BN", "", "2 3", "2 4", "1 3 1 1" },
    { "Convolution", "convolution_param { num_output: 2 kernel_size: 1 }", "1 3 4 4", "1 5 4 4",
      "2 3 1 1" },
    { "Convolution", "convolution_param { num_output: 2 kernel_size: 1 }", "1 3 4 4", "1 3 4",
      "2 3 1 1" },
    { "Deconvolution", "convolution_param { num_output: 2 kernel_size: 1 }", "1 3 4 4", "1 5 4 4",
      "3 2 1 1" },
    { "DepthwiseConvolution", "convolution_param { num_output: 3 kernel_size: 1 }", "1 3 4 4",
      "1 6 4 4", "3 1 1 1" },
    { "InnerProduct", "inner_product_param { num_output: 2 }", "2 3", "2 4", "2 3" },
    { "Normalize", "norm_param { channel_shared: false }", "1 3 2 2", "1 4 2 2", "3" },
    { "PReLU", "", "2 3", "2 4", "3" },
    { "Scale", "", "2 3", "2 4", "3" },
};

static void reopen(size_t i, ferry_net **out)
{
    ferry_net_options o = { .struct_size = sizeof o };

    o.text = net_of(made_for[i].type, 1, &made_for[i].first, made_for[i].parameters);
    o.text_size = strlen(o.text);
    FX_OK_FATAL(ferry_net_open(fx_device(), "net.prototxt", &o, out));
}

static void a_bottom_and_its_mismatched_parameters_are_named(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(made_for); i++) {
        ferry_net *net = NULL;
        int64_t shape[8];
        int n = 0, err;

        for (const char *axis = made_for[i].then; *axis; axis++)
            if (*axis != ' ')
                shape[n++] = *axis - '0';
        reopen(i, &net);
        FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), shape, n, NULL));
        err = ferry_net_forward(net, NULL);
        CU_ASSERT_EQUAL(err, FERRY_ESHAPE);
        if (!is_said("bottom", 0, made_for[i].then) || !is_said("blob", 0, made_for[i].blob) ||
            !strstr(ferry_last_error(), "layer \"it\"")) {
            printf("     %s: %d: %s\n", made_for[i].type, err, ferry_last_error());
            CU_FAIL("the message does not say so");
        }
        ferry_net_close(net);
        fx_end();
    }
}

/*
 * The error names the bottom, of many, that does not fit, and the shape it conflicts with; the
 * message remains one line.
 */
static void the_two_conflicting_bottoms_are_named(void)
{
    static const char *const types[] = { "Concat", "Eltwise", "Filter" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++) {
        const char *const axes[] = { "2 3 4 5 6", "2 3 4 5 7" };
        ferry_net_options o = { .struct_size = sizeof o };
        char text[4096], *at = text;
        ferry_net *net = NULL;

        at += sprintf(at, "%s", net_of("Silence", 2, axes, ""));
        at = strstr(text, "layer { name: 'it'");
        at += sprintf(at, "layer { name: 'it' type: '%s' top: 'y'", types[i]);
        for (int k = 0; k < 60; k++) {
            at += sprintf(at, " bottom: '%c'", k == 59 ? 'b' : 'a');
            if (i == 2 && k < 58)
                at += sprintf(at, " top: 'y%d'", k);
        }
        sprintf(at, " }\n");
        o.text = text;
        o.text_size = strlen(text);
        CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "net.prototxt", &o, &net), FERRY_ESHAPE);
        CU_ASSERT(is_said("bottom", 0, axes[0]));
        CU_ASSERT(is_said("bottom", 59, axes[1]));
        ferry_net_close(net);
        fx_end();
    }
}

/* The fields that a type requires before it checks a shape. */
static const char *parameters_of(const char *type)
{
    static const char *const wanted[][2] = {
        { "Convolution", "convolution_param { num_output: 4 kernel_size: 2 group: 2 }" },
        { "Deconvolution", "convolution_param { num_output: 4 kernel_size: 2 group: 2 }" },
        { "DepthwiseConvolution", "convolution_param { num_output: 3 kernel_size: 2 }" },
        { "ConvolutionDepthwise", "convolution_param { num_output: 3 kernel_size: 2 }" },
        { "Im2col", "convolution_param { kernel_size: 3 }" },
        { "InnerProduct", "inner_product_param { num_output: 2 axis: 3 }" },
        { "Embed", "embed_param { num_output: 2 input_dim: 3 }" },
        { "LSTM", "recurrent_param { num_output: 2 }" },
        { "RNN", "recurrent_param { num_output: 2 }" },
        { "LSTMUnit", "top: 'z'" },
        { "Slice", "top: 'z'" },
        { "Pooling", "pooling_param { kernel_size: 4 }" },
        { "PriorBox", "prior_box_param { min_size: 2 }" },
        { "DetectionOutput", "detection_output_param { num_classes: 3 }" },
        { "PSROIPooling", "psroi_pooling_param { output_dim: 2 group_size: 2 spatial_scale: 1 }" },
        { "ROIPooling", "roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 1 }" },
        { "Reshape", "reshape_param { shape { dim: 5 dim: -1 } }" },
        { "Interp", "interp_param { height: 2 width: 2 }" },
        { "SPP", "spp_param { pyramid_height: 3 }" },
        { "Permute", "permute_param { order: 3 }" },
        { "Tile", "tile_param { axis: 3 tiles: 2 }" },
        { "Upsample", "upsample_param { scale: 2 }" },
        { "ShuffleChannel", "shuffle_channel_param { group: 2 }" },
        { "Proposal", "proposal_param { feat_stride: 4 base_size: 4 pre_nms_topn: 4 post_nms_topn: "
                      "2 ratio: 1 scale: 1 }" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(wanted); i++)
        if (!strcmp(type, wanted[i][0]))
            return wanted[i][1];
    return "";
}

/* Every type on bottoms of all kinds: the net opens, or the error names the layer and the shape. */
static void check_type(const ferry_layer_type *type, const char *const *axes)
{
    ferry_net_options o = { .struct_size = sizeof o };
    ferry_net *net = NULL;
    bool said = true;
    int err;

    o.text = net_of(type->name, type->min_bottoms, axes, parameters_of(type->name));
    o.text_size = strlen(o.text);
    err = ferry_net_open(fx_device(), "net.prototxt", &o, &net);
    for (int k = 0; k < type->min_bottoms; k++)
        said = said && is_said("bottom", k, axes[k]);
    if (err && err != FERRY_EFORMAT && err != FERRY_EUNSUPPORTED &&
        (!said || !strstr(ferry_last_error(), "layer \"it\""))) {
        printf("     %s on \"%s\", \"%s\": %d: %s\n", type->name, axes[0], axes[1], err,
               ferry_last_error());
        CU_FAIL("the message does not say so");
    }
    ferry_net_close(net);
}

static void every_layer_type_reports_invalid_shapes(void)
{
    static const char *const kinds[] = { "",        "3",         "2 3",     "2 3 0",
                                         "2 3 4 4", "1 2 3 4 5", "2 0 3 4", "1 1 1 1 1 1 1 1 2" };
    const size_t n = FERRY_TEST_COUNT(kinds), step = ferry_test_is_slow() ? 5 : 1;

    fx_device();
    for (int t = 0; t < ferry_layer_type_count(); t++) {
        const ferry_layer_type *type = ferry_layer_type_at(t);

        if (type->min_bottoms < 1 || type->min_bottoms > 4 || !strncmp(type->name, "HDF5", 4))
            continue;
        for (size_t i = 0; i < n * n; i += step) {
            const char *const axes[] = { kinds[i % n], kinds[i / n], kinds[(i + i / n) % n],
                                         kinds[i % n] };

            if (type->min_bottoms > 1 || i < n)
                check_type(type, axes);
        }
    }
    fx_end();
}

/* ---- models ---------------------------------------------------------------------------------- */

static char path[] = "/tmp/ferry-bad-XXXXXX";

static void write_model(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* The output of a net for an input of ones. */
static float answer(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    const float *y;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int i = 0; i < 6; i++)
        x[i] = 1;
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_host_data(ferry_net_output_at(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    return *y;
}

/*
 * Checks that a definition truncated at any byte opens as a net or gives an error, and that
 * truncated weights change either all parameters or none.
 */
static void check_cut(ferry_device *dev, ferry_net *net, float before, float whole)
{
    ferry_net *own = NULL;
    int err = ferry_net_open(dev, path, NULL, &own);

    CU_ASSERT_EQUAL(err != 0, own == NULL);
    CU_ASSERT(!err || *ferry_last_error());
    ferry_net_close(own);
    err = ferry_net_load(net, path, NULL);
    CU_ASSERT(answer(net) == before || (!err && answer(net) == whole));
}

static void a_truncated_model_is_an_error_or_a_net(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = chain, .text_size = strlen(chain) };
    ferry_device *dev = fx_device();
    char bytes[4096];
    ferry_net *net = NULL, *other = NULL;
    float before, whole;
    size_t size, cut;
    FILE *file;

    close(mkstemp(strcpy(path, "/tmp/ferry-bad-XXXXXX")));
    FX_OK_FATAL(ferry_net_open(dev, "net.prototxt", &o, &net));
    whole = answer(net);
    FX_OK_FATAL(ferry_net_save(net, path, FERRY_IO_CAFFEMODEL));
    file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    CU_ASSERT_FATAL(size > 100 && size < sizeof bytes);
    for (cut = 0; cut < size; cut += ferry_test_is_slow() ? 17 : 1) {
        float *weight;

        o.seed = cut + 2;
        FX_OK_FATAL(ferry_net_open(dev, "net.prototxt", &o, &other));
        weight = ferry_blob_mutable_host_data(ferry_net_param_at(other, 1, 0));
        CU_ASSERT_PTR_NOT_NULL_FATAL(weight);
        weight[0] = 3;
        before = answer(other);
        CU_ASSERT(before != whole);
        write_model(bytes, cut);
        check_cut(dev, other, before, whole);
        ferry_net_close(other);
    }
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

/* ---- nothing --------------------------------------------------------------------------------- */

/* A blob without elements passes through the layers that slice, permute and concatenate it. */
static void layers_accept_blobs_without_elements(void)
{
    static const char *const texts[] = {
        "layer { name: 'p' type: 'Permute' bottom: 'x' top: 'y' permute_param { order: 2 order: 0 "
        "order: 1 } }\n",
        "layer { name: 's' type: 'Slice' bottom: 'x' top: 'a' top: 'b' slice_param { axis: 2 "
        "slice_point: 1 } }\n"
        "layer { name: 'c' type: 'Concat' bottom: 'b' bottom: 'a' top: 'c' concat_param { axis: 2 "
        "} }\n"
        "layer { name: 't' type: 'TanH' bottom: 'c' top: 't' }\n"
        "layer { name: 'p' type: 'Permute' bottom: 't' top: 'y' permute_param { order: 1 } }\n",
        "layer { name: 's' type: 'Slice' bottom: 'x' top: 'a' top: 'b' slice_param { axis: 0 } }\n"
        "layer { name: 'c' type: 'Crop' bottom: 'x' bottom: 'a' top: 'c' crop_param { axis: 0 } }\n"
        "layer { name: 'e' type: 'Eltwise' bottom: 'c' bottom: 'b' top: 'y' }\n",
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++) {
        ferry_net_options o = { .struct_size = sizeof o };
        ferry_device *dev = fx_device();
        ferry_net *net = NULL;
        char text[1024];

        snprintf(text, sizeof text, INPUT("dim: 2 dim: 0 dim: 6") "%s", texts[i]);
        o.text = text;
        o.text_size = strlen(text);
        FX_OK_FATAL(ferry_net_open(dev, "net.prototxt", &o, &net));
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT_EQUAL(ferry_blob_element_count(ferry_net_blob_find(net, "y")), 0);
        ferry_net_close(net);
        fx_end();
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(layers_accept_blobs_without_elements),
    FERRY_TEST(an_invalid_definition_gives_one_error_with_its_position),
    FERRY_TEST(a_truncated_text_is_an_error_or_a_net),
    FERRY_TEST(shapes_that_do_not_fit_are_named_with_their_layer),
    FERRY_TEST(a_bottom_and_its_mismatched_parameters_are_named),
    FERRY_TEST(the_two_conflicting_bottoms_are_named),
    FERRY_TEST(every_layer_type_reports_invalid_shapes),
    FERRY_TEST(a_truncated_model_is_an_error_or_a_net),
};

int main(int argc, char **argv)
{
    setenv("FERRY_TEST_BACKENDS", "cpu", 1); /* no device computes any part of it */
    return ferry_test_main_backends(argc, argv, "net bad", cases, FERRY_TEST_COUNT(cases));
}
