/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "world.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Segments that a plugin claims and compiles: sim's, each world with other claims. Every result is
 * compared with that of the same net without fusion, which offers no segments.
 */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 9 dim: 9 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 6 "
    "kernel_size: 3 weight_filler { type: 'xavier' } bias_filler { type: 'constant' value: 0.1 } } "
    "}\n"
    "layer { name: 'ra' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { num_output: 4 "
    "kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { kernel_size: 3 stride: "
    "1 pad: 1 } }\n"
    "layer { name: 'c' type: 'Concat' bottom: 'b' bottom: 'p' top: 'c' }\n"
    "layer { name: 'n' type: 'LRN' bottom: 'c' top: 'n' lrn_param { local_size: 3 } }\n"
    "layer { name: 'g' type: 'Pooling' bottom: 'n' top: 'g' pooling_param { pool: AVE "
    "global_pooling: true } }\n"
    "layer { name: 'f' type: 'InnerProduct' bottom: 'g' top: 'f' inner_product_param { num_output: "
    "5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Softmax' bottom: 'f' top: 'y' }\n";

#define VALUES 10

/* A row of layers, of which every other one cannot run as a whole. */
static const char row[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 9 dim: 9 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 6 "
    "kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { kernel_size: 2 stride: "
    "2 } }\n"
    "layer { name: 'f' type: 'InnerProduct' bottom: 'p' top: 'f' inner_product_param { num_output: "
    "5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Softmax' bottom: 'f' top: 'y' }\n";

static const char *definition = text;

static char last_warning[512];

static void keep_warning(void *arg, int level, const char *line)
{
    (void)arg;
    if (level == FERRY_LOG_WARN)
        snprintf(last_warning, sizeof last_warning, "%s", line);
}

static const char *folder; /* the folder of saved segments; NULL: they are not saved */

static ferry_net *open_net(bool fused)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = definition };
    ferry_net *net = NULL;

    o.text_size = strlen(definition);
    o.no_fuse = !fused;
    o.segments = folder;
    FX_OK(ferry_net_open(wx_dev(0), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static int pass(ferry_net *net, int seed)
{
    ferry_blob *input = ferry_net_input_at(net, 0);
    float *x = ferry_blob_overwrite_host_data(input);

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < ferry_blob_element_count(input); i++)
        x[i] = (float)((i * 7 + seed) % 23) / 5 - 2;
    return ferry_net_forward(net, NULL);
}

/* Whether a pass gives the results of a net without fusion, and therefore without segments. */
static bool is_right(ferry_net *net, int seed)
{
    ferry_net *plain = open_net(false);
    const float *got, *wanted;
    bool same = true;

    FX_OK(pass(net, seed));
    FX_OK(pass(plain, seed));
    got = ferry_blob_host_data(ferry_net_output_at(net, 0));
    wanted = ferry_blob_host_data(ferry_net_output_at(plain, 0));
    CU_ASSERT_FATAL(got && wanted);
    for (int i = 0; i < VALUES; i++)
        same = same && fabsf(got[i] - wanted[i]) <= 1e-6f && wanted[i] > 0;
    ferry_net_close(plain);
    return same;
}

/* How many layers are in a segment, and the largest number of one. */
static int in_segments(const ferry_net *net, int *out_largest)
{
    int count = 0;

    *out_largest = 0;
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        FX_OK(ferry_net_get_layer_info(net, i, &info));
        count += info.segment > 0;
        *out_largest = info.segment > *out_largest ? info.segment : *out_largest;
    }
    return count;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void a_whole_net_is_one_segment(void)
{
    uint64_t runs, compiled;
    ferry_net *net;
    int largest;

    wx_begin();
    net = open_net(true);
    compiled = wx_calls(0, SIM_CALL_COMPILE);
    for (int i = 0; i < 3; i++) {
        runs = wx_calls(0, SIM_CALL_SEGMENT);
        CU_ASSERT(is_right(net, i));
        CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_SEGMENT) - runs, 1);
    }
    CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_COMPILE) - compiled, 1);
    CU_ASSERT(in_segments(net, &largest) >= 7);
    CU_ASSERT_EQUAL(largest, 1);
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "a")); /* no contents but at the borders */
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "n"));
    ferry_net_close(net);
    wx_end();
}

static void small_segments_pass_values_to_each_other(void)
{
    ferry_net *net;
    int largest;

    wx_begin();
    net = open_net(true);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(is_right(net, i));
    CU_ASSERT(in_segments(net, &largest) >= 4);
    CU_ASSERT(largest >= 2);
    ferry_net_close(net);
    wx_end();
}

static void a_segment_that_is_not_convex_is_refused(void)
{
    ferry_net *net;
    int largest;

    wx_begin();
    ferry_log_set_handler(keep_warning, NULL);
    for (int i = 0; i < 2; i++) {
        definition = i ? row : text; /* in both nets a path leaves the claim and returns to it */
        net = open_net(true);
        CU_ASSERT(is_right(net, i));
        CU_ASSERT_EQUAL(in_segments(net, &largest), 0);
        CU_ASSERT(strstr(last_warning, i ? "convex" : "concatenation") != NULL);
        ferry_net_close(net);
    }
    ferry_log_set_handler(NULL, NULL);
    definition = text;
    CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_SEGMENT), 0);
    wx_end();
}

static void a_segment_that_fails_to_compile_runs_as_operations(void)
{
    ferry_net *net;
    int largest;

    wx_begin();
    net = open_net(true);
    CU_ASSERT(in_segments(net, &largest) > 0);
    for (int i = 0; i < 2; i++)
        CU_ASSERT(is_right(net, i));
    CU_ASSERT_EQUAL(in_segments(net, &largest), 0);
    CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_COMPILE), 1); /* the plugin is not asked again */
    ferry_net_close(net);
    wx_end();
}

static int layer_of(const ferry_net *net, const char *name)
{
    int i = 0;

    while (i < ferry_net_layer_count(net) &&
           strcmp(ferry_layer_name(ferry_net_layer_at(net, i)), name) != 0)
        i++;
    return i;
}

/* ---- compiling again ------------------------------------------------------------------------- */

static void new_shapes_and_weights_compile_the_segment_again(void)
{
    static const int64_t shapes[2][4] = { { 2, 3, 9, 9 }, { 2, 3, 11, 9 } };
    uint64_t compiled;
    ferry_net *net;
    float *w;

    wx_begin();
    net = open_net(true);
    compiled = wx_calls(0, SIM_CALL_COMPILE);
    for (int i = 0; i < 6; i++) {
        FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), shapes[i % 2], 4, NULL));
        FX_OK(pass(net, i));
    }
    CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_COMPILE) - compiled, 2); /* once for each shape */
    FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), shapes[0], 4, NULL));
    w = ferry_blob_mutable_host_data(ferry_net_param_at(net, layer_of(net, "f"), 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w[0] += 0; /* a write, as ferry sees it */
    CU_ASSERT(is_right(net, 3));
    CU_ASSERT_EQUAL(wx_calls(0, SIM_CALL_COMPILE) - compiled, 3);
    ferry_net_close(net);
    wx_end();
}

/* ---- failures -------------------------------------------------------------------------------- */

static void a_failed_run_loses_only_its_outputs(void)
{
    ferry_net *net;

    wx_begin();
    net = open_net(true);
    CU_ASSERT(is_right(net, 1));
    wx_fail_next(0, SIM_CALL_SEGMENT, 1, FERRY_EDEVICE);
    FX_FAILS(FERRY_EDEVICE, pass(net, 2));
    CU_ASSERT_PTR_NULL(ferry_blob_host_data(ferry_net_output_at(net, 0)));
    wx_fail_next(0, SIM_CALL_SEGMENT, 0, 0);
    CU_ASSERT(is_right(net, 2));
    wx_fail_next(0, SIM_CALL_SEGMENT, 1, FERRY_ENOMEM); /* once more, after making room */
    CU_ASSERT(is_right(net, 3));
    wx_fail_next(0, SIM_CALL_COMPILE, 1, FERRY_ENOMEM); /* another shape */
    FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), (int64_t[]){ 2, 3, 13, 9 }, 4, NULL));
    FX_FAILS(FERRY_ENOMEM, pass(net, 2));
    wx_fail_next(0, SIM_CALL_COMPILE, 0, 0);
    FX_OK(pass(net, 2));
    ferry_net_close(net);
    wx_end();
}

/* ---- saving ---------------------------------------------------------------------------------- */

/*
 * Damages the file: replaces the byte at `at`, truncates the file for −1, or changes a bit of the
 * byte `−at` before its end.
 */
static void spoil(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (at == -1) {
        CU_ASSERT_EQUAL(fseek(f, 0, SEEK_END), 0);
        CU_ASSERT_EQUAL(ftruncate(fileno(f), ftell(f) - 100), 0);
    } else if (at < 0) {
        int last;

        CU_ASSERT_EQUAL(fseek(f, at, SEEK_END), 0);
        last = fgetc(f);
        CU_ASSERT_EQUAL(fseek(f, at, SEEK_END), 0);
        fputc(last ^ 1, f);
    } else {
        CU_ASSERT_EQUAL(fseek(f, at, SEEK_SET), 0);
        fputc('?', f);
    }
    fclose(f);
}

static uint64_t compiles_of_a_net(void)
{
    uint64_t compiled = wx_calls(0, SIM_CALL_COMPILE);
    ferry_net *net = open_net(true);

    CU_ASSERT(is_right(net, 4));
    ferry_net_close(net);
    return wx_calls(0, SIM_CALL_COMPILE) - compiled;
}

static void a_saved_segment_is_loaded_only_for_the_same_device(void)
{
    char dir[] = "/tmp/segments-XXXXXX", command[96], path[128] = "";
    FILE *listed;

    wx_begin();
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    folder = dir;
    CU_ASSERT_EQUAL(compiles_of_a_net(), 1);
    CU_ASSERT_EQUAL(compiles_of_a_net(), 0);
    snprintf(command, sizeof command, "ls %s/*.segment", dir);
    listed = popen(command, "r");
    CU_ASSERT_FATAL(listed && fscanf(listed, "%127s", path) == 1);
    pclose(listed);
    spoil(path, 26); /* the compatibility string */
    CU_ASSERT_EQUAL(compiles_of_a_net(), 1);
    CU_ASSERT_EQUAL(compiles_of_a_net(), 0);
    spoil(path, -1); /* the plugin's bytes */
    CU_ASSERT_EQUAL(compiles_of_a_net(), 1);
    CU_ASSERT_EQUAL(compiles_of_a_net(), 0);
    for (long bit = -40; bit >= -100; bit -= 20) { /* a bit of the plugin's bytes, or of a weight */
        spoil(path, bit);
        CU_ASSERT_EQUAL(compiles_of_a_net(), 1);
    }
    spoil(path, 2); /* the version of the file format */
    CU_ASSERT_EQUAL(compiles_of_a_net(), 1);
    unlink(path);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0); /* the file is a pipe, and opening it does not wait */
    CU_ASSERT_EQUAL(compiles_of_a_net(), 1);
    folder = "/nowhere/at/all"; /* logs a warning */
    CU_ASSERT_EQUAL(compiles_of_a_net(), 1);
    folder = NULL;
    unlink(path);
    rmdir(dir);
    wx_end();
}

static const ferry_test_case on[] = {
    FERRY_TEST(a_whole_net_is_one_segment),
    FERRY_TEST(new_shapes_and_weights_compile_the_segment_again),
    FERRY_TEST(a_failed_run_loses_only_its_outputs),
    FERRY_TEST(a_saved_segment_is_loaded_only_for_the_same_device),
};
static const ferry_test_case pieces[] = { FERRY_TEST(small_segments_pass_values_to_each_other) };
static const ferry_test_case holes[] = { FERRY_TEST(a_segment_that_is_not_convex_is_refused) };
static const ferry_test_case fail[] = {
    FERRY_TEST(a_segment_that_fails_to_compile_runs_as_operations)
};

int main(int argc, char **argv)
{
    static const char *const words[][3] = {
        { "graph", "on" },   { "graph", "pieces" }, { "graph", "holes" },
        { "graph", "fail" }, { "graph", "none" },   { "graph", "wide" }
    };
    static const struct wx_world worlds[] = {
        { "graph on", words[0], on, FERRY_TEST_COUNT(on) },
        { "graph pieces", words[1], pieces, FERRY_TEST_COUNT(pieces) },
        { "graph holes", words[2], holes, FERRY_TEST_COUNT(holes) },
        { "graph fail", words[3], fail, FERRY_TEST_COUNT(fail) },
        { "graph none", words[4], fail, FERRY_TEST_COUNT(fail) },
        { "graph wide", words[5], fail, FERRY_TEST_COUNT(fail) },
    };

    return wx_main(argc, argv, "net segments", worlds, FERRY_TEST_COUNT(worlds));
}
