/* SPDX-License-Identifier: BSD-2-Clause */
#define _DEFAULT_SOURCE
#include "fixture.h"
#include "small-net.h"

#include <ferry/net.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Nets of a few layers, given as texts, on each backend. */

static const char *const everything[] = { "*" };

/* Opens a net with all blobs visible. */
static ferry_net *open_text(const char *text)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = text,
                            .text_size = strlen(text),
                            .keep = everything,
                            .keep_count = 1 };
    ferry_net *net = NULL;

    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void feed(ferry_net *net, const char *name, const float *values)
{
    ferry_blob *b = ferry_net_blob_find(net, name);
    float *to;

    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    to = ferry_blob_overwrite_host_data(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memcpy(to, values, (size_t)ferry_blob_element_count(b) * sizeof *to);
}

/* Compares to within 1e-5; values above 1 are compared relatively. */
static bool holds(ferry_net *net, const char *name, int64_t n, const float *wanted)
{
    ferry_blob *b = ferry_net_blob_find(net, name);
    const float *got = b ? ferry_blob_host_data(b) : NULL;
    int64_t i;

    if (!got || ferry_blob_element_count(b) != n)
        return false;
    for (i = 0; i < n; i++)
        if (fabsf(got[i] - wanted[i]) > 1e-5f * fmaxf(1, fabsf(wanted[i])))
            return false;
    return true;
}

/* ---- computing ------------------------------------------------------------------------------- */

static void a_chain_of_layers_computes_its_output(void)
{
    ferry_net *net = open_text(chain);

    feed(net, "x", (float[]){ 1, 2, 3, 4, 5, 6 });
    FX_OK(ferry_net_forward(net, NULL));
    /* windows: 1+2+4+5 = 12 → −1 → −0.5; 2+3+5+6 = 16 → 3 */
    CU_ASSERT(holds(net, "c", 4, (float[]){ -0.5f, 3, -0.5f, 3 }));
    CU_ASSERT(holds(net, "y", 1, (float[]){ 10 }));
    CU_ASSERT_EQUAL(ferry_net_input_count(net), 1);
    CU_ASSERT_EQUAL(ferry_net_output_count(net), 1);
    CU_ASSERT_STRING_EQUAL(ferry_blob_name(ferry_net_output_at(net, 0)), "y");
    ferry_net_close(net);
}

static void a_new_input_shape_reshapes_the_net_and_the_old_one_works_again(void)
{
    const char *text =
        INPUT("dim: 1 dim: 1 dim: 2 dim: 3") "layer { name: 'p' type: 'Pooling' bottom: 'x' top: "
                                             "'y' pooling_param { kernel_size: 2 } }\n";
    ferry_net *net = open_text(text);
    int i;

    for (i = 0; i < 20; i++) { /* more than the number of prepared shapes that are kept */
        int64_t wide = 3 + i % 11;
        float values[2 * 13];
        ferry_blob *x = ferry_net_input_at(net, 0);
        int64_t k;

        FX_OK(ferry_blob_reshape4(x, 1, 1, 2, wide));
        for (k = 0; k < 2 * wide; k++)
            values[k] = (float)k;
        feed(net, "x", values);
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT_EQUAL(ferry_blob_element_count(ferry_net_output_at(net, 0)), wide - 1);
        CU_ASSERT(holds(net, "y", wide - 1, values + wide + 1));
    }
    ferry_net_close(net);
}

static void a_split_of_a_blob_with_two_consumers_has_the_names_of_caffe(void)
{
    ferry_net *net = open_text(
        INPUT("dim: 2") "layer { name: 'a' type: 'Power' bottom: 'x' top: 'a' power_param { scale: "
                        "2 } }\n"
                        "layer { name: 'b' type: 'Power' bottom: 'x' top: 'b' power_param { shift: "
                        "1 } }\n"
                        "layer { name: 's' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'y' }\n");
    ferry_net_layer_info info = { .struct_size = sizeof info };

    FX_OK(ferry_net_get_layer_info(net, 1, &info));
    CU_ASSERT_STRING_EQUAL(info.name, "x_in_0_split");
    CU_ASSERT_STRING_EQUAL(info.type, "Split");
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(net, "x_in_0_split_1"));
    feed(net, "x", (float[]){ 3, 4 });
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(holds(net, "y", 2, (float[]){ 10, 13 }));
    CU_ASSERT_EQUAL(ferry_net_get_layer_info(net, 99, &info), FERRY_EINVAL);
    info = (ferry_net_layer_info){ .struct_size = offsetof(ferry_net_layer_info, needs_backward),
                                   .needs_backward = true };
    FX_OK(ferry_net_get_layer_info(net, 1, &info)); /* a caller compiled with a shorter structure */
    CU_ASSERT_STRING_EQUAL(info.type, "Split");
    CU_ASSERT(info.needs_backward); /* not written */
    ferry_net_close(net);
}

static void layers_of_another_phase_are_omitted(void)
{
    const char *text = INPUT("dim: 1") "layer { name: 'a' type: 'Power' bottom: 'x' top: 'y' "
                                       "include { phase: TRAIN } }\n"
                                       "layer { name: 'b' type: 'Power' bottom: 'x' top: 'z' "
                                       "exclude { phase: TRAIN } }\n";
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = open_text(text);

    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "y"));
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(net, "z"));
    ferry_net_close(net);
    o.phase = FERRY_PHASE_TRAIN;
    FX_OK(ferry_net_open(fx_device(), NULL, &o, &net));
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(net, "y"));
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "z"));
    ferry_net_close(net);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void parameters_with_the_same_name_are_shared(void)
{
    ferry_net *net = open_text(
        INPUT("dim: 1 dim: 2") "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' param "
                               "{ name: 'w' }\n"
                               "  inner_product_param { num_output: 2 bias_term: false } }\n"
                               "layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' param "
                               "{ name: 'w' }\n"
                               "  inner_product_param { num_output: 2 bias_term: false } }\n");
    float *w = ferry_blob_mutable_host_data(ferry_net_param_at(net, 1, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    memcpy(w, (float[]){ 0, 2, 3, 0 }, 4 * sizeof *w);
    feed(net, "x", (float[]){ 1, 10 });
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(holds(net, "a", 2, (float[]){ 20, 3 }));
    CU_ASSERT(holds(net, "b", 2, (float[]){ 6, 60 }));
    ferry_net_close(net);
}

static void changed_weights_are_packed_again(void)
{
    ferry_net *net = open_text(chain);
    float *bias;

    feed(net, "x", (float[]){ 1, 2, 3, 4, 5, 6 });
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_blob_fill_data(ferry_net_param_at(net, 1, 0), 2));
    bias = ferry_blob_mutable_host_data(ferry_net_param_at(net, 1, 1));
    CU_ASSERT_PTR_NOT_NULL_FATAL(bias);
    bias[0] = bias[1] = 0;
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(holds(net, "c", 4, (float[]){ 24, 32, 24, 32 }));
    ferry_net_close(net);
}

static void a_seed_gives_the_same_parameters_on_every_device(void)
{
    const char *text = INPUT("dim: 1 dim: 50") "layer { name: 'ip' type: 'InnerProduct' bottom: "
                                               "'x' top: 'y' inner_product_param {\n"
                                               "  num_output: 40 weight_filler { type: 'xavier' } "
                                               "bias_filler { type: 'gaussian' } } }\n";
    ferry_net *net = open_text(text);
    const float *w = ferry_blob_host_data(ferry_net_param_at(net, 1, 0));
    double sum = 0, most = 0;
    int i;

    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    for (i = 0; i < 2000; i++) {
        sum += (double)w[i];
        most = fmax(most, fabs((double)w[i]));
    }
    CU_ASSERT(most <= sqrt(3.0 / 50) && most > 0.9 * sqrt(3.0 / 50));
    CU_ASSERT(fabs(sum / 2000) < 0.02);
    CU_ASSERT_DOUBLE_EQUAL(w[0], 0.191187158, 1e-8); /* as on any other device */
    CU_ASSERT_DOUBLE_EQUAL(w[1999], 0.225732788, 1e-8);
    ferry_net_close(net);
}

/* ---- sharing and moving ---------------------------------------------------------------------- */

static void a_net_shares_anothers_parameters(void)
{
    ferry_net *a = open_text(chain), *b = open_text(chain);

    FX_OK(ferry_blob_fill_data(ferry_net_param_at(a, 1, 0), 3));
    FX_OK(ferry_net_share(b, a));
    feed(b, "x", (float[]){ 1, 1, 1, 1, 1, 1 });
    FX_OK(ferry_net_forward(b, NULL));
    CU_ASSERT(holds(b, "c", 4, (float[]){ -0.5f, -0.5f, -0.5f, -0.5f }));
    ferry_net_close(a); /* the shared parameters outlive the net */
    FX_OK(ferry_net_forward(b, NULL));
    CU_ASSERT(holds(b, "c", 4, (float[]){ -0.5f, -0.5f, -0.5f, -0.5f }));
    ferry_net_close(b);
}

static void a_net_moved_to_another_device_computes_the_same(void)
{
    ferry_net *net = open_text(chain);
    ferry_device *dev = fx_device(), *other;

    feed(net, "x", (float[]){ 1, 2, 3, 4, 5, 6 });
    FX_OK(ferry_net_forward(net, NULL));
    if (ferry_runtime_get_device(fx_runtime(), "cpu", &other)) {
        ferry_test_skip("there is no cpu plugin");
    } else {
        FX_OK(ferry_net_move_to(net, other));
        CU_ASSERT_PTR_EQUAL(ferry_net_device(net), other);
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT(holds(net, "y", 1, (float[]){ 10 }));
        FX_OK(ferry_net_move_to(net, dev));
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT(holds(net, "y", 1, (float[]){ 10 }));
    }
    ferry_net_close(net);
}

/* A move profiles no queue of the other device, and no queue of this device stays profiled. */
static void a_moved_net_is_measured_in_host_time(void)
{
    ferry_net *net = open_text(chain);
    ferry_net_layer_info info = { .struct_size = sizeof info };
    ferry_queue *q = ferry_device_queue(fx_device());
    ferry_device *other;
    int err = ferry_net_set_measuring(net, FERRY_NET_MEASURE_DEVICE);

    CU_ASSERT_EQUAL(ferry_net_set_measuring(net, (ferry_net_measuring)3), FERRY_EINVAL);
    if (err == FERRY_EUNSUPPORTED || ferry_runtime_get_device(fx_runtime(), "cpu", &other)) {
        ferry_test_skip("there is no clock, or no cpu plugin");
    } else {
        FX_OK(err);
        feed(net, "x", (float[]){ 1, 2, 3, 4, 5, 6 });
        FX_OK(ferry_net_forward(net, NULL));
        FX_OK(ferry_net_get_layer_info(net, 1, &info));
        CU_ASSERT(info.ms > 0 && (info.device_ms > 0 || !fx_has_operations()));
        FX_OK(ferry_net_move_to(net, other));
        CU_ASSERT_EQUAL(ferry_queue_profile(q, false), FERRY_EINVAL);
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT(holds(net, "y", 1, (float[]){ 10 }));
    }
    ferry_net_close(net);
}

static void a_range_of_layers_can_run_alone(void)
{
    ferry_net *net = open_text(chain);

    feed(net, "x", (float[]){ 1, 2, 3, 4, 5, 6 });
    FX_OK(ferry_net_forward_range(net, NULL, "conv", NULL));
    CU_ASSERT(holds(net, "c", 4, (float[]){ -1, 3, -1, 3 }));
    FX_OK(ferry_net_forward_range(net, "relu", NULL, NULL));
    CU_ASSERT(holds(net, "y", 1, (float[]){ 10 }));
    CU_ASSERT_EQUAL(ferry_net_forward_range(net, "absent", NULL, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_forward_range(net, "ip", "conv", NULL), FERRY_EINVAL);
    ferry_net_close(net);
}

static void shape_x(ferry_net *net, int64_t height, int64_t width)
{
    FX_OK(ferry_blob_reshape(ferry_net_blob_find(net, "x"), (int64_t[]){ 1, 1, height, width }, 4,
                             NULL));
}

/*
 * Caffe's forward from layer to layer, with which deepdream runs a classifier on images of any
 * size.
 */
static void running_a_range_of_layers_reshapes_no_other_layer(void)
{
    ferry_net *net = open_text(chain);

    shape_x(net, 2, 4);
    feed(net, "x", (float[]){ 1, 2, 3, 4, 5, 6, 7, 8 });
    FX_OK(ferry_net_forward_range(net, NULL, "conv", NULL));
    CU_ASSERT(holds(net, "c", 6, (float[]){ 1, 5, 9, 1, 5, 9 }));
    CU_ASSERT_EQUAL(ferry_net_forward_range(net, NULL, "ip", NULL), FERRY_ESHAPE);
    CU_ASSERT_EQUAL(ferry_net_forward(net, NULL), FERRY_ESHAPE);
    FX_OK(ferry_net_forward_range(net, NULL, "relu", NULL));
    CU_ASSERT(holds(net, "c", 6, (float[]){ 1, 5, 9, 1, 5, 9 }));
    shape_x(net, 2, 3);
    feed(net, "x", (float[]){ 1, 2, 3, 4, 5, 6 });
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(holds(net, "y", 1, (float[]){ 10 }));
    shape_x(net, 2, 4); /* layers before the range keep their shapes too */
    FX_OK(ferry_net_forward_range(net, "relu", NULL, NULL));
    CU_ASSERT(holds(net, "c", 4, (float[]){ -0.25f, 3, -0.25f, 3 }));
    CU_ASSERT(holds(net, "y", 1, (float[]){ 11 }));
    ferry_net_close(net);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A weights file for the chain with one layer that the chain lacks; `wide`: with a wrong shape. */
static void write_weights(const char *path, int64_t wide)
{
    ferry_blob *w = FX_BLOB(FERRY_F32, 2, 1, 2, wide), *b = FX_BLOB(FERRY_F32, 2);
    ferry_io_writer *out;

    FX_OK(ferry_blob_fill_data(w, 1));
    FX_OK(ferry_blob_fill_data(b, 5));
    FX_OK(ferry_io_writer_create(path, FERRY_IO_NPZ, &out));
    FX_OK(ferry_io_writer_write(out, "conv/0", w, false));
    FX_OK(ferry_io_writer_write(out, "conv/1", b, false));
    FX_OK(ferry_io_writer_write(out, "stranger/0", b, false));
    FX_OK(ferry_io_writer_commit(out));
    ferry_blob_destroy(w);
    ferry_blob_destroy(b);
}

static void weights_are_loaded_by_layer_and_reported(void)
{
    char path[] = "/tmp/ferry-net-XXXXXX";
    const ferry_net_load_report *report = NULL;
    ferry_net *net = open_text(chain);
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    write_weights(path, 2);
    FX_OK(ferry_net_load(net, path, &report));
    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    CU_ASSERT_EQUAL_FATAL(report->line_count, 3);
    CU_ASSERT_STRING_EQUAL(report->lines[0].layer, "conv");
    CU_ASSERT_EQUAL(report->lines[0].state, FERRY_LOAD_DONE);
    CU_ASSERT_STRING_EQUAL(report->lines[1].layer, "ip");
    CU_ASSERT_EQUAL(report->lines[1].state, FERRY_LOAD_NONE);
    CU_ASSERT_STRING_EQUAL(report->lines[2].layer, "stranger");
    CU_ASSERT_EQUAL(report->lines[2].state, FERRY_LOAD_UNUSED);
    feed(net, "x", (float[]){ 0, 0, 0, 0, 0, 0 });
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(holds(net, "c", 4, (float[]){ 5, 5, 5, 5 }));
    write_weights(path, 3);
    CU_ASSERT_EQUAL(ferry_net_load(net, path, NULL), FERRY_ESHAPE);
    CU_ASSERT(strstr(ferry_last_error(), "conv") != NULL);
    CU_ASSERT(strstr(ferry_last_error(), "2 1 2 3 (12)") != NULL);
    CU_ASSERT(strstr(ferry_last_error(), "rename the layer") != NULL);
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(holds(net, "c", 4, (float[]){ 5, 5, 5, 5 }));
    CU_ASSERT_EQUAL(ferry_net_load(net, "/nowhere.npz", NULL), FERRY_EIO);
    ferry_net_close(net);
    unlink(path);
}

#define STRANGERS 60000

/* A caffemodel of as many layers, with two blobs of one element each, that no net has. */
static void write_strangers(const char *path)
{
    static const unsigned char blob[] = { 0x3a, 11, 0x3a, 3, 0x0a, 1, 1, 0x2a, 4, 0, 0, 0, 0 };
    FILE *out = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    for (int i = 0; i < STRANGERS; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "l%d", i);

        fprintf(out, "\xa2\x06%c\x0a%c%s", length + 2 + 2 * (int)sizeof blob, length, name);
        fwrite(blob, 1, sizeof blob, out);
        fwrite(blob, 1, sizeof blob, out);
    }
    CU_ASSERT_EQUAL(fclose(out), 0);
}

/* A file of many layers is listed in time that grows with their number, not with its square. */
static void many_layers_of_a_file_are_reported_once_each(void)
{
    char path[] = "/tmp/ferry-net-XXXXXX.caffemodel";
    const ferry_net_load_report *report = NULL;
    ferry_net *net = open_text("layer { name: 'x' type: 'Input' top: 'x' "
                               "input_param { shape { dim: 2 } } }");
    int fd = mkstemps(path, 11);
    clock_t begin;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    write_strangers(path);
    begin = clock();
    FX_OK(ferry_net_load(net, path, &report));
    CU_ASSERT((double)(clock() - begin) / CLOCKS_PER_SEC < 5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    CU_ASSERT_EQUAL_FATAL(report->line_count, STRANGERS);
    CU_ASSERT_STRING_EQUAL(report->lines[STRANGERS - 1].layer, "l59999");
    CU_ASSERT_EQUAL(report->lines[STRANGERS - 1].state, FERRY_LOAD_UNUSED);
    CU_ASSERT_EQUAL(report->lines[STRANGERS - 1].blobs, 2);
    ferry_net_close(net);
    unlink(path);
}

/* ---- invalid nets ---------------------------------------------------------------------------- */

/*
 * An input shape that a layer rejects gives that layer's error; the net runs again with a valid
 * shape.
 */
static void an_input_of_another_rank_is_refused_and_the_next_one_runs(void)
{
    static const char text[] =
        INPUT("dim: 1 dim: 1 dim: 3 dim: 3") "layer { name: 'c' type: 'Convolution' bottom: 'x' "
                                             "top: 'c' convolution_param {\n"
                                             " num_output: 1 kernel_size: 3 weight_filler { type: "
                                             "'constant' value: 1 } } }";
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = sizeof text - 1 };
    const int64_t two[2] = { 3, 3 }, wide[4] = { 1, 2, 3, 3 }, good[4] = { 1, 1, 3, 3 };
    ferry_net *net = NULL;
    ferry_blob *x;

    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    x = ferry_net_blob_find(net, "x");
    FX_OK(ferry_blob_reshape(x, two, 2, NULL));
    CU_ASSERT_EQUAL(ferry_net_forward(net, NULL), FERRY_ESHAPE);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(ferry_last_error(), "layer \"c\" (Convolution): its bottom 0 has 2 axes, not 4"));
    FX_OK(ferry_blob_reshape(x, wide, 4, NULL));
    CU_ASSERT_EQUAL(ferry_net_reshape(net), FERRY_ESHAPE);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "axis 1 of its weights is 1, must be 2"));
    FX_OK(ferry_blob_reshape(x, good, 4, NULL));
    feed(net, "x", (float[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9 });
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(holds(net, "c", 1, (float[]){ 45 }));
    ferry_net_close(net);
    fx_end();
}

static void null_and_sizeless_arguments_are_refused(void)
{
    ferry_net_options o = { .struct_size = 4 };
    ferry_net *net = NULL;

    CU_ASSERT_EQUAL(ferry_net_open(NULL, "x", NULL, &net), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "x", &o, &net), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "/nowhere.prototxt", NULL, &net), FERRY_EIO);
    CU_ASSERT_EQUAL(ferry_net_forward(NULL, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_reshape(NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_move_to(NULL, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_net_load(NULL, NULL, NULL), FERRY_EINVAL);
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(NULL, "x"));
    CU_ASSERT_EQUAL(ferry_net_blob_count(NULL), 0);
    ferry_net_close(NULL);
}

/* The message names the argument, the member or the size. */
static void a_refused_argument_is_named(void)
{
    const char *const holes[] = { "x", NULL };
    const char *const one[] = { NULL };
    const struct {
        ferry_net_options o;
        const char *says;
    } bad[] = {
        { { .struct_size = 4 }, "ferry_net_open: the options' struct_size is 4, at least" },
        { { .struct_size = sizeof bad[0].o, .keep = holes, .keep_count = 2 },
          "ferry_net_open: keep[1] is NULL" },
        { { .struct_size = sizeof bad[0].o, .stages = one, .stage_count = 1 },
          "ferry_net_open: stages[0] is NULL" },
        { { .struct_size = sizeof bad[0].o, .keep_count = 2 },
          "ferry_net_open: keep is NULL, its count is 2" },
    };
    ferry_net_layer_info info = { .struct_size = 0 };
    ferry_net *net = NULL;

    for (size_t i = 0; i < FERRY_TEST_COUNT(bad); i++) {
        FX_FAILS(FERRY_EINVAL, ferry_net_open(fx_device(), "x", &bad[i].o, &net));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), bad[i].says));
    }
    FX_FAILS(FERRY_EINVAL, ferry_net_open(fx_device(), NULL, NULL, &net));
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_net_open: prototxt is NULL");
    FX_FAILS(FERRY_EINVAL, ferry_net_open(NULL, "x", NULL, &net));
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_net_open: dev is NULL");
    CU_ASSERT_PTR_NULL(net);
    FX_FAILS(FERRY_EINVAL, ferry_net_get_layer_info(NULL, 0, &info));
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_net_get_layer_info: net is NULL");
    net = open_text(chain);
    FX_FAILS(FERRY_EINVAL, ferry_net_get_layer_info(net, 0, &info));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "struct_size is 0, at least"));
    info.struct_size = sizeof info;
    FX_FAILS(FERRY_EINVAL, ferry_net_get_layer_info(net, -1, &info));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "layer -1 of "));
    ferry_net_close(net);
    fx_end();
}

/* ---- structures of those who were compiled when there was less in them ----------------------- */

static int short_setup(ferry_layer *layer)
{
    const ferry_layer_param param = { .struct_size = offsetof(ferry_layer_param, value),
                                      .rank = 1,
                                      .shape = (const int64_t[]){ 2 },
                                      .value = 77 };

    return ferry_layer_declare_param(layer, &param);
}

static int short_reshape(ferry_layer *layer)
{
    int err =
        ferry_blob_reshape_like(ferry_layer_top_at(layer, 0), ferry_layer_bottom_at(layer, 0));

    return err ? err : ferry_layer_alias(layer, 0, 0);
}

/*
 * A type of exactly that size, so that a sanitizer reports reads past its end. It is never freed,
 * because a type remains registered.
 */
static ferry_layer_type *type_of_size(size_t size)
{
    static ferry_layer_type *types[4]; /* leaks are reported */
    static int made;
    ferry_layer_type whole = { .struct_size = size,
                               .name = "Shorter",
                               .min_bottoms = 1,
                               .max_bottoms = 1,
                               .min_tops = 1,
                               .max_tops = 1,
                               .setup = short_setup,
                               .reshape = short_reshape };

    types[made] = malloc(size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(types[made]);
    memcpy(types[made], &whole, size);
    return types[made++];
}

static void members_beyond_a_shorter_structure_are_zero(void)
{
    static const char text[] = INPUT("dim: 2") "layer { name: 's' type: 'Shorter' bottom: 'x' top: "
                                               "'y' }";
    const size_t least = offsetof(ferry_layer_type, forward);
    ferry_proto_field field = { .struct_size = offsetof(ferry_proto_field, fork),
                                .fork = "as it was" };
    const ferry_layer_type *type = type_of_size(least);
    ferry_net *net;
    float *x;

    CU_ASSERT_EQUAL(ferry_layer_register(type_of_size(offsetof(ferry_layer_type, reshape))),
                    FERRY_EINVAL);
    FX_OK(ferry_layer_register(type));
    FX_OK(ferry_layer_register(type));
    CU_ASSERT_PTR_NULL(ferry_layer_type_find("Shorter")->refuses);
    net = open_text(text);
    x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    x[0] = 3;
    x[1] = 4;
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT(holds(net, "y", 2, (float[]){ 3, 4 }));
    x = ferry_blob_mutable_host_data(ferry_net_param_at(net, 1, 0));
    CU_ASSERT(x && x[0] == 0 && x[1] == 0);
    ferry_net_close(net);
    FX_OK(ferry_proto_schema_field_at("PoolingParameter", 0, &field));
    CU_ASSERT_STRING_EQUAL(field.name, "pool");
    CU_ASSERT_STRING_EQUAL(field.fork, "as it was");
}

static const ferry_test_case cases[] = {
    FERRY_TEST(members_beyond_a_shorter_structure_are_zero),
    FERRY_TEST(a_chain_of_layers_computes_its_output),
    FERRY_TEST(a_new_input_shape_reshapes_the_net_and_the_old_one_works_again),
    FERRY_TEST(a_split_of_a_blob_with_two_consumers_has_the_names_of_caffe),
    FERRY_TEST(layers_of_another_phase_are_omitted),
    FERRY_TEST(parameters_with_the_same_name_are_shared),
    FERRY_TEST(changed_weights_are_packed_again),
    FERRY_TEST(a_seed_gives_the_same_parameters_on_every_device),
    FERRY_TEST(a_net_shares_anothers_parameters),
    FERRY_TEST(a_net_moved_to_another_device_computes_the_same),
    FERRY_TEST(a_moved_net_is_measured_in_host_time),
    FERRY_TEST(a_range_of_layers_can_run_alone),
    FERRY_TEST(running_a_range_of_layers_reshapes_no_other_layer),
    FERRY_TEST(weights_are_loaded_by_layer_and_reported),
    FERRY_TEST(many_layers_of_a_file_are_reported_once_each),
    FERRY_TEST(an_input_of_another_rank_is_refused_and_the_next_one_runs),
    FERRY_TEST(null_and_sizeless_arguments_are_refused),
    FERRY_TEST(a_refused_argument_is_named),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net", cases, FERRY_TEST_COUNT(cases));
}
