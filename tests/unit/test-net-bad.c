/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "small-net.h"

#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is no net, or no weights of one: one error with its place, and nothing half built. */

/* ---- texts ----------------------------------------------------------------------------------------- */

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
      FERRY_EFORMAT, "\"a\": its bottom \"z\" is made by layer \"b\", behind it: a circle" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Power' bottom: 'y' top: 'y' }", FERRY_EFORMAT,
      "layer \"a\": its bottom \"y\" is made by itself, \"a\", and by no layer before it" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Zorp' bottom: 'x' top: 'y' }", FERRY_EUNSUPPORTED,
      "no type \"Zorp\"; `ferry layers`" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Region' bottom: 'x' top: 'y' }", FERRY_EUNSUPPORTED,
      "forks of Caffe with YOLO" },
    { INPUT("dim: 2 dim: 3") "layer { name: 'i' type: 'Input' top: 'w' input_param { shape {\n"
                             " dim: 3 dim: 2 } } }\n"
                             "layer { name: 'a' type: 'Eltwise' bottom: 'x' bottom: 'w' top: 'y' }",
      FERRY_ESHAPE, "layer \"a\" (Eltwise): bottom 1 is 3 2 (6), bottom 0 is 2 3 (6)" },
    { INPUT("dim: 1") "layer { name: 'a' type: 'Python' bottom: 'x' top: 'y' }", FERRY_EUNSUPPORTED,
      "pycaffe" },
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
};

static void what_cannot_be_is_one_error_with_its_place(void)
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

static void a_text_cut_anywhere_is_an_error_or_a_net(void)
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

/* ---- shapes ---------------------------------------------------------------------------------------- */

/* Inputs a, b, c of these axes, a layer that does not take them, and the two numbers of its error. */
static const struct {
    const char *type, *a, *b, *c, *parameters;
    const char *says;
} shapes[] = {
    { "Accuracy", "2 3", "4", NULL, "", "4 labels for 2 × 1 predictions of 3 classes" },
    { "Axpy", "1 3 1 1", "1 3 4 4", "1 3 4 5", "", "bottoms 1 and 2 have 48 and 60 elements" },
    { "Bias", "2 3 4", "4", NULL, "", "axis 0 of bottom 1 is 4, axis 1 of bottom 0 is 3" },
    { "Concat", "1 3 5 5", "1 2 5 6", NULL, "", "axis 3 of bottom 1 is 6, that of bottom 0 is 5" },
    { "Concat", "1 3 5 5", "1 2", NULL, "", "bottom 1 has 2 axes, bottom 0 has 4" },
    { "ContrastiveLoss", "2 3", "2 4", "2", "", "its bottoms have 6 and 8 elements" },
    { "Crop", "1 3 5 5", "1 2 6 6", NULL, "", "6 elements from 0 on of axis 2, which has 5" },
    { "Eltwise", "1 3 5", "1 2 5", NULL, "", "bottom 1 is 1 2 5 (10), bottom 0 is 1 3 5 (15)" },
    { "EuclideanLoss", "2 3", "2 4", NULL, "", "its bottoms have 6 and 8 elements" },
    { "Filter", "2 3", "3 1", NULL, "", "bottom 0 has 2 entries, the selector 3" },
    { "HingeLoss", "2 3", "4", NULL, "", "4 labels for 2 entries" },
    { "InfogainLoss", "2 3", "2", "2 2", "", "its matrix has 4 elements, for 3 classes" },
    { "LSTM", "2 3 4", "3 2", NULL, "recurrent_param { num_output: 2 }",
      "bottom 1 is 3 2 (6) for 2 steps of 3 streams" },
    { "RNN", "2 3 4", "6", NULL, "recurrent_param { num_output: 2 }",
      "bottom 1 is 6 (6) for 2 steps of 3 streams" },
    { "LSTMUnit", "1 2 3", "1 2 8", "1 2", "top: 'z'", "its bottoms have 6, 16 and 2 elements" },
    { "Permute", "2 3", NULL, NULL, "permute_param { order: 2 }", "of a bottom with 2 axes" },
    { "Pooling", "1 3 5 5", NULL, NULL, "pooling_param { kernel_size: 9 }",
      "its window of 9 does not fit on 5" },
    { "Reshape", "3 5", NULL, NULL, "reshape_param { shape { dim: 4 dim: -1 } }",
      "15 elements do not go into parts of 4" },
    { "Scale", "2 3 4", "4", NULL, "", "axis 0 of bottom 1 is 4, axis 1 of bottom 0 is 3" },
    { "SigmoidCrossEntropyLoss", "2 3", "2 4", NULL, "", "8 targets for 6 predictions" },
    { "Slice", "1 3", NULL, NULL, "top: 'z'", "an axis of 3 is not 2 equal parts" },
    { "SoftmaxWithLoss", "2 3", "4", NULL, "", "4 labels for 2 × 1 predictions of 3 classes" },
    { "Tile", "1 3", NULL, NULL, "tile_param { axis: 7 tiles: 2 }",
      "axis is 7, its bottom has 2 axes" },
    { "Upsample", "1 3 4 4", "1 3 4 5", NULL, "upsample_param { scale: 2 }",
      "its mask has 60 elements for 48" },
};

static size_t add_input(char *text, size_t size, char name, const char *axes)
{
    size_t used = (size_t)snprintf(text, size,
                                   "layer { name: 'in%c' type: 'Input' top: '%c' input_param { "
                                   "shape { dim: ",
                                   name, name);

    for (; *axes; axes++)
        used += (size_t)snprintf(text + used, size - used, "%.*s", *axes == ' ' ? 6 : 1,
                                 *axes == ' ' ? " dim: " : axes);
    return used + (size_t)snprintf(text + used, size - used, " } } }\n");
}

static void shapes_that_do_not_fit_are_named_with_their_layer(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(shapes); i++) {
        const char *const axes[] = { shapes[i].a, shapes[i].b, shapes[i].c };
        ferry_net_options o = { .struct_size = sizeof o };
        char text[1024], bottoms[64] = "";
        ferry_net *net = NULL;
        size_t used = 0;
        int err;

        for (int k = 0; k < 3 && axes[k]; k++) {
            used += add_input(text + used, sizeof text - used, (char)('a' + k), axes[k]);
            snprintf(bottoms + strlen(bottoms), sizeof bottoms - strlen(bottoms), "bottom: '%c' ",
                     'a' + k);
        }
        snprintf(text + used, sizeof text - used, "layer { name: 'it' type: '%s' %s top: 'y' %s }",
                 shapes[i].type, bottoms, shapes[i].parameters);
        o.text = text;
        o.text_size = strlen(text);
        err = ferry_net_open(fx_device(), "net.prototxt", &o, &net);
        CU_ASSERT(err == FERRY_ESHAPE || err == FERRY_EFORMAT);
        CU_ASSERT_PTR_NULL(net);
        if (!err || !strstr(ferry_last_error(), shapes[i].says) ||
            !strstr(ferry_last_error(), "layer \"it\"")) {
            printf("     %s: %d: %s\n", shapes[i].type, err, ferry_last_error());
            CU_FAIL("the message does not say so");
        }
        ferry_net_close(net);
        fx_end();
    }
}

/* ---- models ---------------------------------------------------------------------------------------- */

static char path[] = "/tmp/ferry-bad-XXXXXX";

static void write_model(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* What a net makes of ones. */
static float answer(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input(net, 0));
    const float *y;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int i = 0; i < 6; i++)
        x[i] = 1;
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_host_data(ferry_net_output(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    return *y;
}

/* Cut anywhere it opens as a net, or is an error; as weights it changes all that it says, or nothing. */
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

static void a_model_cut_anywhere_is_an_error_or_a_net(void)
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
        weight = ferry_blob_mutable_host_data(ferry_net_param(other, 1, 0));
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

/* ---- nothing ---------------------------------------------------------------------------------------- */

/* A blob without elements goes through what would cut, turn and join it. */
static void blobs_without_elements_go_through(void)
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
        CU_ASSERT_EQUAL(ferry_blob_count(ferry_net_blob(net, "y")), 0);
        ferry_net_close(net);
        fx_end();
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(blobs_without_elements_go_through),
    FERRY_TEST(what_cannot_be_is_one_error_with_its_place),
    FERRY_TEST(a_text_cut_anywhere_is_an_error_or_a_net),
    FERRY_TEST(shapes_that_do_not_fit_are_named_with_their_layer),
    FERRY_TEST(a_model_cut_anywhere_is_an_error_or_a_net),
};

int main(int argc, char **argv)
{
    setenv("FERRY_TEST_BACKENDS", "cpu", 1); /* no device has a part in it */
    return ferry_test_main_backends(argc, argv, "net bad", cases, FERRY_TEST_COUNT(cases));
}
