/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE 700
#include "bench.h"

#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * How much of the time for reading pictures overlaps with computing, if a device computes half as
 * long again without using the host's processors. A picture is resized to 600 x 600, which takes
 * about as long as decoding a photograph, and cropped to 224 x 224.
 */

#define BATCH  16
#define ROUNDS 20

/* 2 x 2 pixels. */
static const unsigned char picture[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xfd, 0xd4, 0x9a,
    0x73, 0x00, 0x00, 0x00, 0x16, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x60, 0x60, 0xe5, 0xb2,
    0x71, 0x74, 0x63, 0x10, 0x91, 0x94, 0x0b, 0x08, 0x8d, 0x02, 0x00, 0x0a, 0xea, 0x02, 0x1d, 0x73,
    0xdf, 0x53, 0x79, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82
};

static int write_bytes(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[128];
    FILE *f;
    int err = -1;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (f) {
        err = fwrite(bytes, 1, size, f) == size ? 0 : -1;
        err = fclose(f) ? -1 : err;
    }
    return err;
}

static ferry_net *open_net(struct bench *b, const char *folder, int ahead)
{
    ferry_net_options o = { .struct_size = sizeof(o) };
    ferry_net *net = NULL;
    char text[512];

    snprintf(text, sizeof(text),
             "layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' data_param { prefetch: "
             "%d } image_data_param { source: '%s/list' batch_size: %d new_height: 600 new_width: "
             "600 } transform_param { crop_size: 224 } }",
             ahead, folder, BATCH);
    o.text = text;
    o.text_size = strlen(text);
    return ferry_net_open(b->device, "data", &o, &net) ? NULL : net;
}

static void compute(double seconds)
{
    struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

    nanosleep(&t, NULL);
}

/*
 * Seconds per forward pass, with `computing` seconds of computation between two passes; −1: it
 * failed.
 */
static double passes(ferry_net *net, double computing, int rounds)
{
    double seconds = 0;

    for (int i = 0; i < rounds; i++) {
        double begin = bench_now();

        if (ferry_net_forward(net, NULL))
            return -1;
        seconds += bench_now() - begin;
        compute(computing);
    }
    return seconds / rounds;
}

static void measure(struct bench *b, ferry_net *plain, ferry_net *ahead)
{
    int rounds = b->quick ? 3 : ROUNDS;
    double reading = passes(plain, 0, rounds), waiting;

    waiting = passes(ahead, 1.5 * reading, 2); /* the first one waits for its batch */
    if (waiting >= 0)
        waiting = passes(ahead, 1.5 * reading, rounds);
    if (reading < 0 || waiting < 0)
        bench_skip(b, "prefetched pictures", "%s", ferry_last_error());
    else
        bench_add(b, "16 prefetched pictures : overlap with computing", "ms",
                  1e3 * (reading - waiting), 1e3 * reading, BENCH_AT_LEAST, 0.9);
}

/* ---- overlap with computing on the host ------------------------------------------------------ */

/*
 * LeNet is trained on such pictures by one thread, so that the reader has a processor of its own:
 * the time of an iteration compared with those of reading alone and computing alone, medians of a
 * few phases of each in turn. The shorter of the two is the largest possible overlap, if processors
 * are not threads of one core. Also the time of the data layer's forward passes, which wait for
 * batches that are not ready (doc/design/training.md, "Scheduling of the prefetch thread").
 */

#define IMAGES 64
#define WARM   6 /* more than are prefetched */
#define PHASES 5

static const char lenet[] =
    "layer { name: 'c1' type: 'Convolution' bottom: 'data' top: 'c1' convolution_param {"
    " num_output: 20 kernel_size: 5 weight_filler { type: 'xavier' } } } "
    "layer { name: 'p1' type: 'Pooling' bottom: 'c1' top: 'p1' pooling_param { kernel_size: 2"
    " stride: 2 } } "
    "layer { name: 'c2' type: 'Convolution' bottom: 'p1' top: 'c2' convolution_param {"
    " num_output: 50 kernel_size: 5 weight_filler { type: 'xavier' } } } "
    "layer { name: 'p2' type: 'Pooling' bottom: 'c2' top: 'p2' pooling_param { kernel_size: 2"
    " stride: 2 } } "
    "layer { name: 'h' type: 'InnerProduct' bottom: 'p2' top: 'h' inner_product_param {"
    " num_output: 500 weight_filler { type: 'xavier' } } } "
    "layer { name: 'r' type: 'ReLU' bottom: 'h' top: 'h' } "
    "layer { name: 'y' type: 'InnerProduct' bottom: 'h' top: 'y' inner_product_param {"
    " num_output: 10 weight_filler { type: 'xavier' } } } "
    "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: 'l' }";

static ferry_net *open_training(ferry_device *dev, const char *source, const char *layers)
{
    ferry_net_options o = { .struct_size = sizeof(o) };
    ferry_net *net = NULL;
    char text[2560];

    snprintf(text, sizeof(text), "state { phase: TRAIN } %s %s", source, layers);
    o.text = text;
    o.text_size = strlen(text);
    return ferry_net_open(dev, "training", &o, &net) ? NULL : net;
}

/* Seconds per iteration in the steady state; -1: it failed. */
static double iterations(ferry_net *net, bool learns, int rounds)
{
    double begin = 0;

    for (int i = 0; net && i < WARM + rounds; i++) {
        if (i == WARM)
            begin = bench_now();
        if ((learns && ferry_net_clear_param_diffs(net)) || ferry_net_forward(net, NULL) ||
            (learns && ferry_net_backward(net)))
            return -1;
    }
    return net ? (bench_now() - begin) / rounds : -1;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Seconds per iteration of three nets, which read, compute, and do both; false: one failed. */
static bool measure_phases(ferry_net *const nets[3], int rounds, double out[3])
{
    double seconds[3][PHASES];

    for (int phase = 0; phase < PHASES; phase++)
        for (int k = 0; k < 3; k++) {
            seconds[k][phase] = iterations(nets[k], k > 0, rounds);
            if (seconds[k][phase] < 0)
                return false;
        }
    for (int k = 0; k < 3; k++) {
        qsort(seconds[k], PHASES, sizeof(double), by_size);
        out[k] = seconds[k][PHASES / 2];
    }
    return true;
}

/*
 * Seconds per iteration that the data layer takes in the net that reads and computes; -1: it
 * failed.
 */
static double waiting_of(ferry_net *net, int rounds)
{
    ferry_net_layer_info info = { .struct_size = sizeof(info) };
    double seconds[PHASES];

    for (int phase = 0; phase < PHASES; phase++) {
        if (iterations(net, true, 1) < 0 || ferry_net_set_measuring(net, FERRY_NET_MEASURE_HOST) ||
            iterations(net, true, rounds) < 0 || ferry_net_get_layer_info(net, 0, &info) ||
            ferry_net_set_measuring(net, FERRY_NET_MEASURE_OFF))
            return -1;
        seconds[phase] = 1e-3 * info.ms;
    }
    qsort(seconds, PHASES, sizeof(double), by_size);
    return seconds[PHASES / 2];
}

static void measure_training(struct bench *b, ferry_device *dev, const char *folder)
{
    static const char pictures[] =
        "layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' data_param { prefetch: %d } "
        "image_data_param { source: '%s/list' batch_size: %d is_color: false new_height: 200 "
        "new_width: 200 } transform_param { crop_size: 28 scale: 0.004 } }";
    char source[512], none[512], dummy[256];
    ferry_net *nets[3];
    double seconds[3], waiting;

    snprintf(source, sizeof(source), pictures, 4, folder, IMAGES);
    snprintf(none, sizeof(none), pictures, 0, folder, IMAGES);
    snprintf(
        dummy, sizeof(dummy),
        "layer { name: 'd' type: 'DummyData' top: 'data' top: 'label' dummy_data_param { shape "
        "{ dim: %d dim: 1 dim: 28 dim: 28 } shape { dim: %d } data_filler { value: 0.5 } "
        "data_filler { value: 1 } } }",
        IMAGES, IMAGES);
    nets[0] = open_training(dev, none, "");
    nets[1] = open_training(dev, dummy, lenet);
    nets[2] = open_training(dev, source, lenet);
    waiting = measure_phases(nets, b->quick ? 3 : ROUNDS, seconds)
                  ? waiting_of(nets[2], b->quick ? 3 : ROUNDS)
                  : -1;
    if (waiting < 0) {
        bench_skip(b, "pictures prefetched for LeNet", "%s", ferry_last_error());
    } else {
        double shorter = seconds[0] < seconds[1] ? seconds[0] : seconds[1];

        bench_add(b, "64 pictures prefetched for LeNet by a thread : overlap", "ms",
                  1e3 * (seconds[0] + seconds[1] - seconds[2]), 1e3 * shorter, BENCH_AT_LEAST, 0.9);
        bench_add(b, "64 pictures prefetched for LeNet by a thread : not waited for", "ms",
                  1e3 * (seconds[0] - waiting), 1e3 * seconds[0], BENCH_AT_LEAST, 0.9);
    }
    for (int k = 0; k < 3; k++)
        ferry_net_close(nets[k]);
}

/* On a device with one thread, in a runtime of its own. */
static void bench_prefetched(struct bench *b, const char *folder)
{
    static const char text[] = "[plugin cpu]\noption.threads = 1\n";
    char path[128];
    const ferry_runtime_options options = { .struct_size = sizeof(options),
                                            .conf = path,
                                            .backend = "cpu" };
    ferry_runtime *runtime = NULL;
    ferry_device *dev;

    snprintf(path, sizeof(path), "%s/conf", folder);
    if (write_bytes(folder, "conf", text, strlen(text)) || ferry_runtime_open(&options, &runtime) ||
        ferry_runtime_get_device(runtime, NULL, &dev))
        bench_skip(b, "pictures prefetched for LeNet", "%s", ferry_last_error());
    else
        measure_training(b, dev, folder);
    if (runtime)
        ferry_runtime_close(runtime);
    unlink(path);
}

void bench_data(struct bench *b)
{
    char folder[] = "/tmp/ferry-bench-XXXXXX", path[64];
    ferry_net *plain = NULL, *ahead = NULL;

    if (mkdtemp(folder) && !write_bytes(folder, "picture", picture, sizeof(picture)) &&
        !write_bytes(folder, "list", "picture 1\n", 10)) {
        plain = open_net(b, folder, 0);
        ahead = plain ? open_net(b, folder, 4) : NULL;
    }
    if (ahead)
        measure(b, plain, ahead);
    else
        bench_skip(b, "prefetched pictures", "%s", ferry_last_error());
    ferry_net_close(plain);
    ferry_net_close(ahead);
    bench_prefetched(b, folder);
    snprintf(path, sizeof(path), "%s/picture", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/list", folder);
    unlink(path);
    rmdir(folder);
}
