/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "oom.h"

#include "net/model/state.h"

#include <ferry/net_ranges.h>
#include <ferry/proto_edit.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The ranges of blobs: in texts, in files of weights, and by functions. */

static const char layers[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } "
    "} }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 3\n"
    "  kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'f' type: 'Flatten' bottom: 'c' top: 'f' }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'f' top: 'y' inner_product_param {\n"
    "  num_output: 4 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 'y' top: 'l'\n"
    "  include { phase: TRAIN } }\n";

static ferry_device *dev; /* of the case that runs */

static char folder[] = "/tmp/ferry-ranges-XXXXXX";
static char path[sizeof folder + 64];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Opens the layers with that `quantization` after them. */
static int open_with(const char *more, ferry_net_options o, ferry_net **out)
{
    char text[4096];

    snprintf(text, sizeof text, "%s%s", layers, more);
    o.struct_size = sizeof o;
    o.text = text;
    o.text_size = strlen(text);
    return ferry_net_open(dev, "net.prototxt", &o, out);
}

static ferry_net *open_net(const char *more)
{
    ferry_net *net = NULL;

    FX_OK(open_with(more, (ferry_net_options){ 0 }, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static bool has(const ferry_net *net, const char *blob, float least, float most)
{
    float a = NAN, b = NAN;

    FX_OK(ferry_net_get_range(net, blob, &a, &b));
    return a == least && b == most;
}

static bool has_none(const ferry_net *net, const char *blob)
{
    return has(net, blob, -INFINITY, INFINITY);
}

#define RANGES                                                                \
    "quantization { range { blob: 'x' min: -1 max: 2.5 }\n"                   \
    "  range { blob: 'l' min: 0 max: 9 } range { blob: 'f' min: 0 max: 0 }\n" \
    "  float_layer: 'ip' float_layer: 'loss' }\n"

static void ranges_are_read_from_the_text(void)
{
    ferry_net *net;

    dev = fx_device();
    net = open_net(RANGES);
    CU_ASSERT(has(net, "x", -1, 2.5f));
    CU_ASSERT(has(net, "f", 0, 0));
    CU_ASSERT(has(net, "c", 0, 0)); /* Flatten shares its bottom's contents */
    CU_ASSERT(has_none(net, "y"));
    CU_ASSERT(ferry_net_is_float_only(net, "ip"));
    CU_ASSERT(!ferry_net_is_float_only(net, "c"));
    CU_ASSERT(net->quantize);
    ferry_net_close(net);
    net = open_net("");
    CU_ASSERT(has_none(net, "x"));
    ferry_net_close(net);
    fx_end();
}

static void ranges_are_used_in_phase_test_unless_disabled_by_options(void)
{
    const ferry_net_options train = { .phase = FERRY_PHASE_TRAIN };
    const ferry_net_options ignore = { .ignore_quantization = true };
    ferry_net *net = NULL;

    dev = fx_device();
    FX_OK(open_with(RANGES, train, &net));
    CU_ASSERT(!net->quantize);
    CU_ASSERT(has(net, "l", 0, 9));
    ferry_net_close(net);
    FX_OK(open_with(RANGES, ignore, &net));
    CU_ASSERT(!net->quantize);
    CU_ASSERT(has(net, "x", -1, 2.5f));
    ferry_net_close(net);
    fx_end();
}

static const struct {
    const char *text, *message; /* the message must contain this */
} invalid[] = {
    { "quantization { range { blob: 'x' min: 2 max: 1 } }",
      "net.prototxt:9:39: quantization: the range of blob \"x\" has min 2 above max 1" },
    { "quantization { range { blob: 'x' min: 0 max: inf } }",
      "net.prototxt:9:46: quantization: the range of blob \"x\", 0 to inf, is not finite" },
    { "quantization { range { blob: 'x' min: nan max: 1 } }", "is not finite" },
    { "quantization { range { blob: 'x' min: 0 max: 1e39 } }", "is not finite" },
    { "quantization { range { blob: 'x' min: 0 } }", "the range of blob \"x\" has no max" },
    { "quantization { range { min: 0 max: 1 } }", "the range of blob \"\" has no blob" },
    { "quantization { range { blob: 'z' min: 0 max: 1 } }",
      "net.prototxt:9:22: quantization: the net has no blob \"z\"" },
    { "quantization { range { blob: 'x' min: 0 max: 1 }\nrange { blob: 'x' min: 0 max: 1 } }",
      "net.prototxt:10:7: quantization: blob \"x\" has two ranges" },
    { "quantization { float_layer: 'c'\nfloat_layer: 'ip2' }",
      "net.prototxt:10:14: quantization: float_layer: the net has no layer \"ip2\"" },
    { "quantization { ranges { } }", "net.prototxt:9:" },
    { "quantization { } quantization { }", "net.prototxt:9:" },
};

static void an_invalid_range_is_an_error_with_its_place(void)
{
    dev = fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(invalid); i++) {
        ferry_net *net = NULL;
        bool told;

        CU_ASSERT_EQUAL(open_with(invalid[i].text, (ferry_net_options){ 0 }, &net), FERRY_EFORMAT);
        told = strstr(ferry_last_error(), invalid[i].message) != NULL;
        if (!told)
            printf("%s: %s\n", invalid[i].text, ferry_last_error());
        CU_ASSERT(told);
        CU_ASSERT_PTR_NULL(net);
    }
    fx_end();
}

/* A caffemodel of the net with these ranges. */
static void save(const char *more, const char *name)
{
    ferry_net *net = open_net(more);

    FX_OK(ferry_net_save(net, in_folder(name), FERRY_IO_CAFFEMODEL));
    ferry_net_close(net);
}

static void loading_weights_loads_their_ranges(void)
{
    ferry_net *net = NULL;
    struct ferry__program *program;

    dev = fx_device();
    save(RANGES, "q.caffemodel");
    net = open_net("quantization { range { blob: 'x' min: -7 max: 7 }\n"
                   "  range { blob: 'y' min: 1 max: 2 } float_layer: 'c' }");
    program = net->stages[0].now;
    FX_OK(ferry_net_load(net, path, NULL));
    CU_ASSERT(has(net, "x", -1, 2.5f));
    CU_ASSERT(has(net, "y", 1, 2));
    CU_ASSERT(ferry_net_is_float_only(net, "ip"));
    CU_ASSERT(ferry_net_is_float_only(net, "c"));
    CU_ASSERT_PTR_EQUAL(net->stages[0].now, program);
    CU_ASSERT(net->outdated);
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(!net->outdated);
    FX_OK(ferry_net_load(net, path, NULL)); /* the same ranges */
    CU_ASSERT(!net->outdated);
    ferry_net_close(net);

    FX_OK(ferry_net_open(dev, path, NULL, &net)); /* the file's own definition */
    CU_ASSERT(has(net, "x", -1, 2.5f));
    CU_ASSERT(ferry_net_is_float_only(net, "ip"));
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

/* Ranges hold for the weights that they were measured with. */
static void other_weights_remove_the_ranges_of_a_file(void)
{
    ferry_net *net = NULL, *other = NULL;
    char plain[sizeof path];

    dev = fx_device();
    save("", "plain.caffemodel");
    memcpy(plain, path, sizeof plain);
    save(RANGES, "q.caffemodel");
    net = open_net("quantization { range { blob: 'y' min: 1 max: 2 } }");
    FX_OK(ferry_net_load(net, path, NULL));
    FX_OK(ferry_net_set_range(net, "c", -4, 4));
    other = open_net("");
    FX_OK(ferry_net_share(other, net));
    for (int k = 0; k < 2; k++) {
        FX_OK(ferry_net_load(k ? other : net, plain, NULL));
        CU_ASSERT(has_none(k ? other : net, "x"));
        CU_ASSERT(has(k ? other : net, "y", 1, 2)); /* the text's */
        CU_ASSERT(has(k ? other : net, "c", -4, 4));
    }
    ferry_net_close(other);
    ferry_net_close(net);
    unlink(plain);
    unlink(path);
    fx_end();
}

static void names_of_weights_that_the_net_lacks_are_ignored(void)
{
    static const char small[] =
        "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 } } }\n"
        "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'r' }\n";
    ferry_net_options o = { .struct_size = sizeof o, .text = small, .text_size = sizeof small - 1 };
    ferry_net *net = NULL;

    dev = fx_device();
    save(RANGES, "q.caffemodel");
    FX_OK(ferry_net_open(dev, "small", &o, &net));
    FX_OK(ferry_net_load(net, path, NULL));
    CU_ASSERT(has(net, "x", -1, 2.5f));
    CU_ASSERT(has_none(net, "r"));
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

static void a_net_in_phase_train_ignores_ranges_of_weights(void)
{
    const ferry_net_options train = { .phase = FERRY_PHASE_TRAIN };
    ferry_net *net = NULL;

    dev = fx_device();
    save(RANGES, "q.caffemodel");
    FX_OK(open_with("", train, &net));
    FX_OK(ferry_net_load(net, path, NULL));
    CU_ASSERT(has_none(net, "x"));
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

/* Appends bytes to a file. */
static void append(const void *bytes, size_t size)
{
    FILE *f = fopen(path, "ab");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

/* Field 7000, of wire type 2. */
#define TAG "\xc2\xb5\x03"

static void weights_with_an_invalid_range_change_nothing(void)
{
    /* range { blob: "y" min: 1 max: 0 } */
    static const char above[] = TAG "\x0f\x0a\x0d\x0a\x01y\x15\0\0\x80\x3f\x1d\0\0\0\0";
    float before, after;
    ferry_net *net;

    dev = fx_device();
    save("quantization { range { blob: 'x' min: -1 max: 2 } }", "q.caffemodel");
    append(above, sizeof above - 1);
    net = open_net("");
    before = *(const float *)ferry_blob_host_data(ferry_net_param_at(net, 1, 0));
    CU_ASSERT_EQUAL(ferry_net_load(net, path, NULL), FERRY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "q.caffemodel: quantization: the range of "
                                                      "blob \"y\" has min 1 above max 0"));
    after = *(const float *)ferry_blob_host_data(ferry_net_param_at(net, 1, 0));
    CU_ASSERT_EQUAL(before, after);
    CU_ASSERT(has_none(net, "x"));
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

static void unknown_blobs_in_ranges_of_a_binary_file_are_ignored(void)
{
    /* range { blob: "z" min: 0 max: 1 } float_layer: "z" */
    static const char other[] = TAG "\x12\x0a\x0d\x0a\x01z\x15\0\0\0\0\x1d\0\0\x80\x3f\x12\x01z";
    ferry_net *net = NULL;

    dev = fx_device();
    save("quantization { range { blob: 'x' min: -1 max: 2 } }", "q.caffemodel");
    append(other, sizeof other - 1);
    FX_OK(ferry_net_open(dev, path, NULL, &net));
    CU_ASSERT(net && has(net, "x", -1, 2));
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

static void ranges_set_by_functions_are_saved(void)
{
    ferry_net *net, *copy = NULL;

    dev = fx_device();
    net = open_net(RANGES);
    FX_OK(ferry_net_set_range(net, "y", -3, 0.1f));
    FX_OK(ferry_net_set_range(net, "x", -INFINITY, INFINITY));
    FX_OK(ferry_net_set_float_only(net, "c", true));
    FX_OK(ferry_net_set_float_only(net, "ip", false));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_save(net, in_folder("q.caffemodel"), FERRY_IO_CAFFEMODEL));
    FX_OK(ferry_net_open(dev, path, NULL, &copy));
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    CU_ASSERT(has_none(copy, "x"));
    CU_ASSERT(has(copy, "c", 0, 0));
    CU_ASSERT(has(copy, "y", -3, 0.1f));
    CU_ASSERT(ferry_net_is_float_only(copy, "c"));
    CU_ASSERT(!ferry_net_is_float_only(copy, "ip"));
    CU_ASSERT_EQUAL(
        ferry_proto_value_count(ferry_proto_message(copy->proto, "quantization", 0), "range"), 3);
    ferry_net_close(copy);
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

static void range_functions_refuse_invalid_arguments(void)
{
    ferry_net *net;
    float x;

    dev = fx_device();
    net = open_net("");
    CU_ASSERT_EQUAL(ferry_net_set_range(net, "z", 0, 1), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_set_range(net, "x", 1, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_set_range(net, "x", NAN, 0), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_set_range(net, "x", 0, INFINITY), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_set_range(NULL, "x", 0, 1), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_get_range(net, "z", &x, &x), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_set_float_only(net, "z", true), FERRY_EINVAL);
    CU_ASSERT(!ferry_net_is_float_only(NULL, "c"));
    CU_ASSERT(has_none(net, "x"));
    ferry_net_close(net);
    fx_end();
}

static void sharing_weights_shares_ranges(void)
{
    ferry_net *source, *net;

    dev = fx_device();
    source = open_net(RANGES);
    net = open_net("");
    FX_OK(ferry_net_share(net, source));
    CU_ASSERT(has(net, "x", -1, 2.5f));
    CU_ASSERT(has(net, "c", 0, 0));
    CU_ASSERT(ferry_net_is_float_only(net, "ip"));
    FX_OK(ferry_net_forward(net, NULL));
    ferry_net_close(net);
    ferry_net_close(source);
    fx_end();
}

/* Changes of ranges between passes change neither results nor the memory that is left. */
static void a_change_of_ranges_drops_the_programs(void)
{
    ferry_net *net;
    uint64_t clock;

    dev = fx_device();
    net = open_net("");
    FX_OK(ferry_net_forward(net, NULL));
    clock = net->clock;
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT_EQUAL(net->clock, clock);
    FX_OK(ferry_net_set_range(net, "y", 0, 1));
    FX_OK(ferry_net_reshape(net));
    CU_ASSERT_EQUAL(net->clock, clock + 1);
    CU_ASSERT_PTR_NULL(net->stages[0].kept[1]);
    ferry_net_close(net);
    fx_end();
}

#define MUTANTS 300

/* Writes the file with one byte of its last 70, the ranges, changed. */
static void mutate(const unsigned char *bytes, size_t size, unsigned seed)
{
    FILE *f = fopen(path, "wb");
    size_t at = size - 1 - seed % 70;

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fwrite(bytes, 1, at, f);
    fputc((int)((bytes[at] ^ (seed * 2654435761u >> 24)) & 0xff), f);
    fwrite(bytes + at + 1, 1, size - at - 1, f);
    fclose(f);
}

/* Mutants of the ranges load or are refused; a range that is taken over is valid. */
static void mutated_files_load_or_are_errors(void)
{
    unsigned char bytes[8192];
    int loaded = 0, refused = 0;
    float least, most;
    size_t size;
    FILE *f;

    if (ferry_test_skip_variant())
        return;
    dev = fx_device();
    save(RANGES, "q.caffemodel");
    f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (unsigned i = 0; i < MUTANTS; i++) {
        ferry_net *net = open_net("");

        mutate(bytes, size, i);
        if (ferry_net_load(net, path, NULL))
            refused++;
        else
            loaded++;
        FX_OK(ferry_net_get_range(net, "x", &least, &most));
        CU_ASSERT(least <= most);
        ferry_net_close(net);
    }
    CU_ASSERT(loaded > MUTANTS / 10);
    CU_ASSERT(refused > MUTANTS / 10);
    unlink(path);
    fx_end();
}

/* Ranges are taken over together with the weights, or not at all. */
static void every_allocation_of_a_load_may_fail(void)
{
    bool failed = true;
    unsigned n;
    ferry_net *net;

    dev = fx_device();
    save(RANGES, "q.caffemodel");
    for (n = 1; failed; n++) {
        int err;

        net = open_net("");
        oom_arm(n);
        err = ferry_net_load(net, path, NULL);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        CU_ASSERT(err ? has_none(net, "x") : has(net, "x", -1, 2.5f));
        CU_ASSERT_EQUAL(ferry_net_is_float_only(net, "ip"), !err);
        ferry_net_close(net);
    }
    CU_ASSERT(n > 20);
    unlink(path);
    fx_end();
}

static void every_allocation_of_saving_may_fail(void)
{
    ferry_net *net, *copy = NULL;
    bool failed = true;
    int err = 0;

    dev = fx_device();
    net = open_net(RANGES);
    FX_OK(ferry_net_set_range(net, "y", 0, 1));
    for (unsigned n = 1; failed; n++) {
        oom_arm(n);
        err = ferry_net_save(net, in_folder("q.caffemodel"), FERRY_IO_CAFFEMODEL);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        CU_ASSERT_EQUAL(access(path, F_OK) == 0, !err);
        if (!err)
            break;
    }
    FX_OK(ferry_net_open(dev, path, NULL, &copy));
    CU_ASSERT(copy && has(copy, "y", 0, 1) && has(copy, "x", -1, 2.5f));
    ferry_net_close(copy);
    ferry_net_close(net);
    unlink(path);
    fx_end();
}

static void a_part_of_a_net_keeps_its_own_ranges(void)
{
    ferry_proto_options o = { .struct_size = sizeof o };
    const ferry_proto *q;
    char text[4096];
    ferry_proto *net = NULL;

    snprintf(text, sizeof text, "%s%s", layers, RANGES);
    o.text = text;
    o.text_size = strlen(text);
    FX_OK(ferry_proto_open("net.prototxt", "NetParameter", &o, &net));
    FX_OK(ferry_proto_keep_part(net, "f", FERRY_PROTO_FROM));
    q = ferry_proto_message(net, "quantization", 0);
    CU_ASSERT_EQUAL(ferry_proto_value_count(q, "range"), 2);
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(ferry_proto_message(q, "range", 0), "blob", 0, NULL),
                           "l");
    CU_ASSERT_EQUAL(ferry_proto_value_count(q, "float_layer"), 2);
    ferry_proto_close(net);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(ranges_are_read_from_the_text),
    FERRY_TEST(ranges_are_used_in_phase_test_unless_disabled_by_options),
    FERRY_TEST(an_invalid_range_is_an_error_with_its_place),
    FERRY_TEST(loading_weights_loads_their_ranges),
    FERRY_TEST(other_weights_remove_the_ranges_of_a_file),
    FERRY_TEST(names_of_weights_that_the_net_lacks_are_ignored),
    FERRY_TEST(a_net_in_phase_train_ignores_ranges_of_weights),
    FERRY_TEST(weights_with_an_invalid_range_change_nothing),
    FERRY_TEST(unknown_blobs_in_ranges_of_a_binary_file_are_ignored),
    FERRY_TEST(ranges_set_by_functions_are_saved),
    FERRY_TEST(range_functions_refuse_invalid_arguments),
    FERRY_TEST(sharing_weights_shares_ranges),
    FERRY_TEST(a_change_of_ranges_drops_the_programs),
    FERRY_TEST(mutated_files_load_or_are_errors),
    FERRY_TEST(every_allocation_of_a_load_may_fail),
    FERRY_TEST(every_allocation_of_saving_may_fail),
    FERRY_TEST(a_part_of_a_net_keeps_its_own_ranges),
};

int main(int argc, char **argv)
{
    int result;

    if (!mkdtemp(folder))
        return 1;
    result = ferry_test_main_backends(argc, argv, "net ranges", cases, FERRY_TEST_COUNT(cases));
    rmdir(folder);
    return result;
}
