/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "oom.h"

#include "net/model/state.h"

#include <ferry/net_ranges.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ranges that layers state: quantization_param of Intel Caffe. */

static ferry_device *dev; /* of the case that runs */

static char folder[] = "/tmp/ferry-ranges-XXXXXX";
static char path[sizeof folder + 64];

#define NO_PARAM ""

/* %s: the quantization_param of the convolutions c and d, and of the inner product. */
static const char layers[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } "
    "} }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 3\n"
    "  kernel_size: 1 weight_filler { type: 'xavier' } } %s }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }\n"
    "layer { name: 'd' type: 'Convolution' bottom: 'c' top: 'd' convolution_param { num_output: 3\n"
    "  kernel_size: 1 weight_filler { type: 'xavier' } }\n%s }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'd' top: 'p' pooling_param { kernel_size: 3 } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'p' top: 'y' inner_product_param {\n"
    "  num_output: 4 weight_filler { type: 'xavier' } } %s }\n";

/* The parameter with 8 bits for input, output and weights, and further fields. */
#define PARAM(more)                                                                       \
    "quantization_param { bw_layer_in: 8 bw_layer_out: 8 bw_params: 8 scale_params: 100 " \
    "scale_params: 0 " more " }"

static int open_with(const char *c, const char *d, const char *ip, ferry_net **out)
{
    char text[8192];
    ferry_net_options o = { .struct_size = sizeof o, .text = text };

    snprintf(text, sizeof text, layers, c, d, ip);
    o.text_size = strlen(text);
    return ferry_net_open(dev, "net.prototxt", &o, out);
}

static ferry_net *open_net(const char *c, const char *d, const char *ip)
{
    ferry_net *net = NULL;

    FX_OK(open_with(c, d, ip, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static bool has(const ferry_net *net, const char *blob, float least, float most)
{
    float a = NAN, b = NAN;

    FX_OK(ferry_net_get_range(net, blob, &a, &b));
    if (fabsf(a - least) <= 1e-6f * fabsf(least) && fabsf(b - most) <= 1e-6f * fabsf(most))
        return true;
    printf("%s: %g to %g\n", blob, (double)a, (double)b);
    return false;
}

static bool has_none(const ferry_net *net, const char *blob)
{
    float a = NAN, b = NAN;

    FX_OK(ferry_net_get_range(net, blob, &a, &b));
    return isinf(a) && isinf(b);
}

#define C_PARAM  PARAM("scale_in: 63.5 scale_out: 127.5 is_negative_input: true")
#define D_PARAM  PARAM("scale_in: 127.5 scale_out: 12.7")
#define IP_PARAM PARAM("fl_layer_in: 3 fl_layer_out: -1")

static bool has_all(const ferry_net *net)
{
    return has(net, "x", -2, 2) && has(net, "c", 0, 2) && has(net, "d", -10, 10) &&
           has(net, "p", 0, 255.0f / 8) && has(net, "y", -254, 254) &&
           !ferry_net_is_float_only(net, "c") && !ferry_net_is_float_only(net, "ip");
}

static void scales_of_layers_are_ranges_of_blobs(void)
{
    ferry_net *net;

    dev = fx_device();
    net = open_net(C_PARAM, D_PARAM, IP_PARAM);
    CU_ASSERT(has_all(net));
    CU_ASSERT(net->quantize);
    FX_OK(ferry_net_forward(net, NULL));
    ferry_net_close(net);
    fx_end();
}

/* Intel Caffe computes layers without the message in F32. */
static void other_layers_stay_in_f32(void)
{
    ferry_net *net;

    dev = fx_device();
    net = open_net(NO_PARAM, D_PARAM, "quantization_param { bw_layer_in: 32 scale_in: 1 }");
    CU_ASSERT(has_none(net, "x"));
    CU_ASSERT(has(net, "c", 0, 2));
    CU_ASSERT(has(net, "d", -10, 10));
    CU_ASSERT(has_none(net, "p"));
    CU_ASSERT(ferry_net_is_float_only(net, "c"));
    CU_ASSERT(!ferry_net_is_float_only(net, "d"));
    CU_ASSERT(ferry_net_is_float_only(net, "ip"));
    ferry_net_close(net);
    net = open_net(NO_PARAM, NO_PARAM, NO_PARAM);
    CU_ASSERT(!ferry_net_is_float_only(net, "c"));
    ferry_net_close(net);
    fx_end();
}

static void the_reader_of_a_blob_decides_about_its_range(void)
{
    ferry_net *net;

    dev = fx_device();
    net = open_net(PARAM("scale_in: 1 scale_out: 255 force_u8_input: true"), D_PARAM, NO_PARAM);
    CU_ASSERT(has(net, "x", 0, 255));
    CU_ASSERT(has(net, "c", 0, 2));
    ferry_net_close(net);
    net = open_net(PARAM("scale_in: 1 scale_out: 255"),
                   PARAM("scale_in: 12.7 is_negative_input: true scale_out: 1"), NO_PARAM);
    CU_ASSERT(has(net, "c", -10, 10));
    ferry_net_close(net);
    fx_end();
}

/* A layer that also reads x, with a wider range than c states. */
#define WIDER(rule)                                                                       \
    " }\nlayer { name: 'e' type: 'Convolution' bottom: 'x' top: 'e' convolution_param { " \
    "num_output: 1 kernel_size: 1 } " PARAM(                                              \
        "scale_in: 1 scale_out: 1 is_negative_input: true") " " rule

static void layers_of_other_phases_do_not_count(void)
{
    ferry_net *net;

    dev = fx_device();
    net = open_net(C_PARAM, D_PARAM, IP_PARAM WIDER(""));
    CU_ASSERT(has(net, "x", -127, 127));
    ferry_net_close(net);
    net = open_net(C_PARAM, D_PARAM, IP_PARAM WIDER("include { phase: TRAIN }"));
    CU_ASSERT(has_all(net));
    ferry_net_close(net);
    net = open_net(C_PARAM, D_PARAM,
                   IP_PARAM " }\nlayer { name: 'train' type: 'ReLU' bottom: 'd' top: 'd' "
                            "include { phase: TRAIN }");
    CU_ASSERT(has_all(net));
    ferry_net_close(net);
    fx_end();
}

/* `quantization` is ferry's own and may have been measured later. */
static void ranges_of_the_net_precede_those_of_layers(void)
{
    ferry_net *net;

    dev = fx_device();
    net =
        open_net(C_PARAM, D_PARAM, IP_PARAM " } quantization { range { blob: 'x' min: -1 max: 1 }");
    CU_ASSERT(has(net, "x", -1, 1));
    CU_ASSERT(has_none(net, "c"));
    ferry_net_close(net);
    fx_end();
}

static const struct {
    const char *param, *message; /* the message must contain this */
} invalid[] = {
    { PARAM("scale_in: 0 scale_out: 1"),
      "net.prototxt:7:110: quantization_param: layer \"d\": scale_in 0 is not a scale" },
    { PARAM("scale_in: -3 scale_out: 1"), "scale_in -3 is not a scale" },
    { PARAM("scale_in: nan scale_out: 1"), "scale_in nan is not a scale" },
    { PARAM("scale_in: inf scale_out: 1"), "scale_in inf is not a scale" },
    { PARAM("scale_in: 1e-38 scale_out: 1"), "is not a scale" },
    { PARAM("scale_in: 1 scale_out: 1 scale_params: -1"), "scale_params -1 is not a scale" },
    { PARAM("scale_out: 1"), "bw_layer_in is 8, but neither scale_in nor fl_layer_in is given" },
    { PARAM("scale_in: 1"), "bw_layer_out is 8, but neither scale_out nor fl_layer_out is given" },
    { PARAM("fl_layer_in: 65 scale_out: 1"), "fl_layer_in 65 is not from -64 to 64" },
    { PARAM("scale_in: 1 scale_out: 1 precision: MINIFLOAT"), "MINIFLOAT" },
    { PARAM("scale_int: 1"), "did you mean scale_in?" },
};

static void an_invalid_scale_is_an_error_with_its_place(void)
{
    dev = fx_device();
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
        ferry_net *net = NULL;

        CU_ASSERT_EQUAL(open_with(C_PARAM, invalid[i].param, NO_PARAM, &net), FERRY_EFORMAT);
        CU_ASSERT_PTR_NULL(net);
        if (!strstr(ferry_last_error(), invalid[i].message)) {
            printf("%s: %s\n", invalid[i].param, ferry_last_error());
            CU_FAIL();
        }
    }
    fx_end();
}

/* ---- files of weights ------------------------------------------------------------------------ */

/* Saves a net, then removes ferry's own field, which Intel Caffe does not write. */
static void save(const char *c, const char *d, const char *ip)
{
    ferry_net *net = open_net(c, d, ip);
    unsigned char bytes[8192];
    size_t size, at;
    FILE *file;

    snprintf(path, sizeof path, "%s/w.caffemodel", folder);
    FX_OK(ferry_net_save(net, path, FERRY_IO_CAFFEMODEL));
    ferry_net_close(net);
    file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (at = 0; at + 3 < size; at++)
        if (memcmp(bytes + at, "\xc2\xb5\x03", 3) == 0)
            bytes[at] = 0xca; /* 7001, which no schema has */
    file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void a_caffemodel_has_the_ranges_of_its_layers(void)
{
    ferry_net *net = NULL;

    dev = fx_device();
    save(C_PARAM, D_PARAM, IP_PARAM);
    FX_OK(ferry_net_open(dev, path, NULL, &net));
    CU_ASSERT(net && has_all(net));
    ferry_net_close(net);
    net = open_net(NO_PARAM, NO_PARAM, NO_PARAM);
    FX_OK(ferry_net_load(net, path, NULL));
    CU_ASSERT(has_all(net));
    save(NO_PARAM, NO_PARAM, NO_PARAM);
    FX_OK(ferry_net_load(net, path, NULL)); /* other weights, without ranges */
    CU_ASSERT(has_none(net, "x"));
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

static void layers_that_the_net_lacks_do_not_count(void)
{
    ferry_net *net;

    dev = fx_device();
    save(C_PARAM, D_PARAM, IP_PARAM WIDER(""));
    net = open_net(NO_PARAM, NO_PARAM, NO_PARAM);
    FX_OK(ferry_net_load(net, path, NULL));
    CU_ASSERT(has_all(net));
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

/* With a sanitizer fewer, for the memory; the time is that of the run without it. */
#define MANY (ferry_test_is_slow() ? 5000 : 100000)

/* Writes a caffemodel of MANY layers of one name, each with its own bottom and top. */
static void write_many(void)
{
    const int many = MANY;
    size_t room = (size_t)many * sizeof "layer { name: 'c' type: 'Convolution' bottom: 'b999999' "
                                        "top: 't999999' " C_PARAM " }\n",
           used = 0, size = 0;
    char *text = malloc(room), *bytes;
    ferry_proto_options o = { .struct_size = sizeof o, .text = text };
    ferry_proto *made = NULL;
    FILE *file;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < many; i++)
        used += (size_t)snprintf(text + used, room - used,
                                 "layer { name: 'c' type: 'Convolution' bottom: 'b%d' top: 't%d' "
                                 "%s }\n",
                                 i, i, C_PARAM);
    o.text_size = used;
    FX_OK(ferry_proto_open("many", "NetParameter", &o, &made));
    FX_OK(ferry_proto_serialize(made, NULL, 0, &size));
    bytes = malloc(size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    FX_OK(ferry_proto_serialize(made, bytes, size, &size));
    snprintf(path, sizeof path, "%s/many.caffemodel", folder);
    file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    fclose(file);
    ferry_proto_close(made);
    free(bytes);
    free(text);
}

/* Takes a second; with a search through all layers for each of them it takes many minutes. */
static void many_layers_take_time_in_proportion(void)
{
    ferry_net *net;

    if (ferry_test_skip_all_but_cpu())
        return;
    dev = fx_device();
    write_many();
    net = open_net(NO_PARAM, NO_PARAM, NO_PARAM);
    FX_OK(ferry_net_load(net, path, NULL));
    CU_ASSERT(has_none(net, "x"));
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

/* As above: ranges of blobs that only layers of another phase make. */
static void many_ranges_take_time_in_proportion(void)
{
    static const char layer[] = "layer { name: '%d' type: 'ReLU' bottom: 'x' top: 't%d' "
                                "include { phase: TRAIN } }\n",
                      range[] = "range { blob: 't%d' min: 0 max: 1 }\n";
    const int many = MANY;
    size_t room = (size_t)many * (sizeof layer + sizeof range + 24) + sizeof layers, used;
    char *text;
    ferry_net_options o = { .struct_size = sizeof o };
    ferry_net *net = NULL;
    int i;

    if (ferry_test_skip_all_but_cpu())
        return;
    dev = fx_device();
    text = malloc(room);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    o.text = text;
    used = (size_t)snprintf(text, room, layers, NO_PARAM, NO_PARAM, NO_PARAM);
    for (i = 0; i < many; i++)
        used += (size_t)snprintf(text + used, room - used, layer, i, i);
    used += (size_t)snprintf(text + used, room - used, "quantization {\n");
    for (i = 0; i < many; i++)
        used += (size_t)snprintf(text + used, room - used, range, many - 1 - i);
    used += (size_t)snprintf(text + used, room - used, "}\n");
    o.text_size = used;
    FX_OK(ferry_net_open(dev, "many.prototxt", &o, &net));
    ferry_net_close(net);
    free(text);
    fx_end();
}

static void every_allocation_of_a_load_may_fail(void)
{
    bool failed = true;
    unsigned n;

    dev = fx_device();
    save(C_PARAM, D_PARAM, IP_PARAM);
    for (n = 1; failed; n++) {
        ferry_net *net = open_net(NO_PARAM, NO_PARAM, NO_PARAM);
        int err;

        oom_arm(n);
        err = ferry_net_load(net, path, NULL);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        CU_ASSERT(err ? has_none(net, "x") : has_all(net));
        ferry_net_close(net);
    }
    CU_ASSERT(n > 20);
    unlink(path);
    fx_end();
}

/* Opens with the n-th allocation failing, for each n; `holds`: whether a net has its ranges. */
static void open_with_failures(const char *c, const char *d, const char *ip,
                               bool (*holds)(const ferry_net *net))
{
    bool failed = true;
    unsigned n;

    dev = fx_device();
    for (n = 1; failed; n++) {
        ferry_net *net = NULL;
        int err;

        oom_arm(n);
        err = open_with(c, d, ip, &net);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        CU_ASSERT(!net || holds(net));
        ferry_net_close(net);
    }
    fx_end();
}

static void every_allocation_of_opening_may_fail(void)
{
    open_with_failures(C_PARAM, D_PARAM, IP_PARAM, has_all);
}

static bool has_that_of_the_text(const ferry_net *net)
{
    return has(net, "x", -1, 1);
}

static void every_allocation_of_opening_with_ranges_may_fail(void)
{
    open_with_failures(NO_PARAM, NO_PARAM, "} quantization { range { blob: 'x' min: -1 max: 1 }",
                       has_that_of_the_text);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(scales_of_layers_are_ranges_of_blobs),
    FERRY_TEST(other_layers_stay_in_f32),
    FERRY_TEST(the_reader_of_a_blob_decides_about_its_range),
    FERRY_TEST(layers_of_other_phases_do_not_count),
    FERRY_TEST(ranges_of_the_net_precede_those_of_layers),
    FERRY_TEST(an_invalid_scale_is_an_error_with_its_place),
    FERRY_TEST(a_caffemodel_has_the_ranges_of_its_layers),
    FERRY_TEST(layers_that_the_net_lacks_do_not_count),
    FERRY_TEST(many_layers_take_time_in_proportion),
    FERRY_TEST(many_ranges_take_time_in_proportion),
    FERRY_TEST(every_allocation_of_a_load_may_fail),
    FERRY_TEST(every_allocation_of_opening_may_fail),
    FERRY_TEST(every_allocation_of_opening_with_ranges_may_fail),
};

int main(int argc, char **argv)
{
    int result;

    if (!mkdtemp(folder))
        return 1;
    result =
        ferry_test_main_backends(argc, argv, "net ranges layers", cases, FERRY_TEST_COUNT(cases));
    rmdir(folder);
    return result;
}
