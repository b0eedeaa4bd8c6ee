/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nets of many small layers open, run and load weights in a time proportional to their number: a
 * small text must not stall a program.
 */
#define _DEFAULT_SOURCE
#include "fixture.h"
#include "long-text.h"

#include <ferry/io.h>
#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Numbers of layers, half as many in the shortest run; the larger net may take MOST times as long.
 * The square would be 64.
 */
#define FEW  (MANY / 8)
#define MANY (ferry_test_is_shortest() ? 4000 : 8000)
#define MOST 24

/* ---- the nets -------------------------------------------------------------------------------- */

static void add_convolution(struct long_text *t, int i, const char *bottom, const char *more)
{
    long_text_add(
        t,
        "layer { name: 'l%d' type: 'Convolution' bottom: '%s' top: 'b%d' %s convolution_param { "
        "num_output: 4 kernel_size: 1 } }\n",
        i, bottom, i + 1, more);
}

/* Convolutions that take in the affine functions behind them. */
static void add_chain(struct long_text *t, int i, int n)
{
    static const char *const types[] = { "BatchNorm", "Scale", "ReLU" };
    char bottom[32];

    (void)n;
    snprintf(bottom, sizeof bottom, "b%d", i);
    if (i % 4 == 0)
        add_convolution(t, i, bottom, "");
    else
        long_text_add(t, "layer { name: 'l%d' type: '%s' bottom: 'b%d' top: 'b%d' }\n", i,
                      types[i % 4 - 1], i, i + 1);
}

/* Half of the layers compute what the other half reads in the reverse order. */
static void add_nested(struct long_text *t, int i, int n)
{
    if (i < n / 2)
        add_convolution(t, i, "b0", "");
    else
        long_text_add(
            t, "layer { name: 'l%d' type: 'Eltwise' bottom: 'b%d' bottom: 'b%d' top: 'b%d' }\n", i,
            n - i, i > n / 2 ? i : 0, i + 1);
}

/* Parts of blobs, which are slices of them. */
static void add_parts(struct long_text *t, int i, int n)
{
    (void)n;
    if (i % 3 == 0)
        long_text_add(t,
                      "layer { name: 'l%d' type: 'Slice' bottom: 'b%d' top: 'x%d' top: 'y%d' }\n",
                      i, i, i, i);
    else if (i % 3 == 1)
        long_text_add(t, "layer { name: 'l%d' type: 'TanH' bottom: 'x%d' top: 'z%d' }\n", i, i - 1,
                      i);
    else
        long_text_add(
            t, "layer { name: 'l%d' type: 'Concat' bottom: 'z%d' bottom: 'y%d' top: 'b%d' }\n", i,
            i - 1, i - 2, i + 1);
}

/* Parameters with names of their own, of which each second shares those of the layer before. */
static void add_named(struct long_text *t, int i, int n)
{
    char bottom[32], params[64];

    (void)n;
    snprintf(bottom, sizeof bottom, "b%d", i);
    snprintf(params, sizeof params, "param { name: 'w%d' } param { name: 'c%d' }", i / 2, i / 2);
    add_convolution(t, i, bottom, params);
}

/* Convolutions with the same name, which a file has once. */
static void add_namesakes(struct long_text *t, int i, int n)
{
    (void)n;
    long_text_add(
        t,
        "layer { name: 'l0' type: 'Convolution' bottom: 'b%d' top: 'b%d' convolution_param { "
        "num_output: 4 kernel_size: 1 } }\n",
        i, i + 1);
}

/* A convolution and depthwise ones, which the cpu plugin refuses in BF16 from the last one on. */
static void add_depthwise(struct long_text *t, int i, int n)
{
    (void)n;
    long_text_add(
        t,
        "layer { name: 'l%d' type: 'Convolution' bottom: 'b%d' top: 'b%d' convolution_param { "
        "num_output: 32 kernel_size: %d pad: %d group: %d } }\n",
        i, i, i + 1, i ? 3 : 1, i ? 1 : 0, i ? 32 : 1);
}

/* Convolutions of a batch, whose images chains share, between layers that cannot be divided. */
static void add_divisions(struct long_text *t, int i, int n)
{
    if (i % 3)
        add_depthwise(t, i, n);
    else
        long_text_add(t, "layer { name: 'l%d' type: 'MVN' bottom: 'b%d' top: 'b%d' }\n", i, i,
                      i + 1);
}

/* Losses, each of which is added to the others. */
static void add_loss(struct long_text *t, int i, int n)
{
    (void)n;
    if (i == 0)
        add_convolution(t, 0, "b0", "");
    else
        long_text_add(
            t, "layer { name: 'l%d' type: 'Reduction' bottom: 'b1' top: 'd%d' loss_weight: 1 }\n",
            i, i);
}

/* Convolutions of one blob, of which each is an output. */
static void add_wide(struct long_text *t, int i, int n)
{
    (void)n;
    add_convolution(t, i, "b0", "");
}

static const struct kind {
    const char *name;
    void (*add_layer)(struct long_text *t, int i, int n);
    bool batch, plan_training;
    ferry_precision precision;
} kinds[] = { { "a chain", add_chain, false, false, FERRY_PRECISION_F32 },
              { "nested lifetimes", add_nested, false, false, FERRY_PRECISION_F32 },
              { "parts", add_parts, false, false, FERRY_PRECISION_F32 },
              { "named parameters", add_named, false, false, FERRY_PRECISION_F32 },
              { "layers of one name", add_namesakes, false, false, FERRY_PRECISION_F32 } };

/* Nets whose planning in TEST has more to do. */
static const struct kind planned[] = { { "BF16", add_depthwise, true, false, FERRY_PRECISION_BF16 },
                                       { "divisions", add_divisions, true, false,
                                         FERRY_PRECISION_F32 } };

/* Nets that train. */
static const struct kind trained[] = { { "a planned chain", add_chain, false, true,
                                         FERRY_PRECISION_F32 },
                                       { "losses", add_loss, false, false, FERRY_PRECISION_F32 },
                                       { "outputs", add_wide, false, true, FERRY_PRECISION_F32 } };

/* ---- times ----------------------------------------------------------------------------------- */

/* Processor time of all threads: other programs on the machine do not add to it. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Opens a net, loads the weights if a path is given, runs the net and reads each layer's state. */
static double run(const struct kind *kind, int n, ferry_phase phase, const char *weights)
{
    struct long_text t = { 0 };
    ferry_net_options o = { .struct_size = sizeof o,
                            .phase = phase,
                            .precision = kind->precision,
                            .plan_training = kind->plan_training };
    ferry_net_layer_info info = { .struct_size = sizeof info };
    ferry_net *net = NULL;
    double begin;

    long_text_add(&t, "layer { name: 'in' type: 'Input' top: 'b0' input_param { shape { %s } } }\n",
                  kind->batch ? "dim: 8 dim: 32 dim: 8 dim: 8" : "dim: 1 dim: 4 dim: 2 dim: 2");
    for (int i = 0; i < n; i++)
        kind->add_layer(&t, i, n);
    o.text = t.at;
    o.text_size = t.used;
    begin = now();
    FX_OK_FATAL(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    if (weights)
        FX_OK(ferry_net_load(net, weights, NULL));
    FX_OK(ferry_net_forward(net, NULL));
    for (int i = 0; i < ferry_net_layer_count(net); i++)
        FX_OK(ferry_net_get_layer_info(net, i, &info));
    ferry_net_close(net);
    begin = now() - begin;
    free(t.at);
    fx_end();
    return begin;
}

static void check_growth(const struct kind *kind, ferry_phase phase, const char *weights)
{
    double few = 1e9, many = 1e9;

    for (int i = 0; i < 3; i++) {
        double seconds = run(kind, FEW, phase, weights);

        few = seconds < few ? seconds : few;
    }
    for (int i = 0; i < 3 && many > MOST * few; i++) {
        double seconds = run(kind, MANY, phase, weights);

        many = seconds < many ? seconds : many;
    }
    printf("     %s%s: %d layers %.3f s, %d layers %.3f s\n", kind->name,
           phase == FERRY_PHASE_TRAIN ? " in TRAIN" : "", FEW, few, MANY, many);
    CU_ASSERT(many <= MOST * few);
}

/* The host's structures take the time, on every device the same. */
static bool is_wanted(void)
{
    if (!strcmp(ferry_test_backend(), "cpu") && !ferry_test_is_slow())
        return true;
    ferry_test_skip("the times are those of the host, which the cpu plugin shows");
    return false;
}

static void the_time_of_opening_grows_with_the_number_of_layers(void)
{
    for (size_t i = 0; is_wanted() && i < sizeof kinds / sizeof *kinds; i++)
        check_growth(&kinds[i], FERRY_PHASE_TEST, NULL);
}

static void the_time_of_planning_grows_with_the_number_of_layers(void)
{
    for (size_t i = 0; is_wanted() && i < sizeof planned / sizeof *planned; i++)
        check_growth(&planned[i], FERRY_PHASE_TEST, NULL);
}

static void the_time_of_opening_for_training_grows_with_the_number_of_layers(void)
{
    for (size_t i = 0; is_wanted() && i < sizeof kinds / sizeof *kinds; i++)
        check_growth(&kinds[i], FERRY_PHASE_TRAIN, NULL);
    for (size_t i = 0; is_wanted() && i < sizeof trained / sizeof *trained; i++)
        check_growth(&trained[i], FERRY_PHASE_TRAIN, NULL);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Writes weights in F16 and biases for MANY layers. */
static void write_halves(const char *path)
{
    const int64_t four[] = { 4, 4, 1, 1 };
    ferry_blob *weights, *bias;
    ferry_io_writer *w;
    char name[32];

    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F16, four, 4, &weights));
    FX_OK_FATAL(ferry_blob_create(fx_device(), FERRY_F16, four, 1, &bias));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_host_data(weights));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_host_data(bias));
    FX_OK_FATAL(ferry_io_writer_create(path, FERRY_IO_SAFETENSORS, &w));
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "l%d/0", i);
        FX_OK(ferry_io_writer_write(w, name, weights, false));
        snprintf(name, sizeof name, "l%d/1", i);
        FX_OK(ferry_io_writer_write(w, name, bias, false));
    }
    FX_OK(ferry_io_writer_commit(w));
    ferry_blob_destroy(weights);
    ferry_blob_destroy(bias);
    fx_end();
}

static void the_time_of_loading_grows_with_the_number_of_layers(void)
{
    char path[] = "/tmp/ferry-large-XXXXXX.safetensors";
    int file;

    if (!is_wanted())
        return;
    file = mkstemps(path, 12);
    CU_ASSERT_FATAL(file >= 0);
    close(file);
    write_halves(path);
    check_growth(&kinds[3], FERRY_PHASE_TEST, path);
    check_growth(&kinds[4], FERRY_PHASE_TEST, path);
    unlink(path);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_time_of_opening_grows_with_the_number_of_layers),
    FERRY_TEST(the_time_of_planning_grows_with_the_number_of_layers),
    FERRY_TEST(the_time_of_opening_for_training_grows_with_the_number_of_layers),
    FERRY_TEST(the_time_of_loading_grows_with_the_number_of_layers),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net large", cases, FERRY_TEST_COUNT(cases));
}
