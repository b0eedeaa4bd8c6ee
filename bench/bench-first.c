/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"
#include "nets.h"
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The time until a net is open, has its weights from a file, and has run forward once, in a new
 * process, and its memory: ferry, onnxruntime and OpenVINO, with 2 threads, in turn. The others
 * read the ONNX model that `ferry export` makes of the same net. Starting the process and loading
 * the libraries do not count. BENCH_RUNTIMES names a Python with both; bench/peers.sh makes one.
 */

#define ROUNDS 7

enum { FERRY, ONNXRUNTIME, OPENVINO, SIDES };

static const char *const side_names[SIDES] = { "ferry", "onnxruntime", "OpenVINO" };

/* The files of a net, and the time and the memory of each round of each side. */
struct first {
    const char *name, *python;
    char text[256], weights[256], model[256];
    double seconds[SIDES][ROUNDS], mib[SIDES][ROUNDS], peak[SIDES][ROUNDS], size;
};

/* Runs a program that writes a line of numbers. */
static int run(const char *const *argv, double *out, int numbers)
{
    struct bench_peer p;
    int err = bench_peer_start(&p, argv, out, numbers);

    if (!err)
        bench_peer_stop(&p);
    return err;
}

static int run_side(struct first *f, int side, int round)
{
    const char *const ours[] = { bench_beside("child-net"), "first", f->text, f->weights, NULL };
    const char *const theirs[] = { f->python,
                                   BENCH_SOURCE "/peer-runtime.py",
                                   side == OPENVINO ? "openvino" : "onnxruntime",
                                   "f32",
                                   f->model,
                                   "first",
                                   NULL };
    double got[3];

    if (run(side == FERRY ? ours : theirs, got, 3))
        return -1;
    f->seconds[side][round] = got[0];
    f->mib[side][round] = got[1] / 1024;
    f->peak[side][round] = got[2] / 1024;
    return 0;
}

static int write_files(struct first *f, const struct net_text *n)
{
    const char *const save[] = { bench_beside("child-net"), "save", f->text, f->weights, NULL };
    FILE *file = fopen(f->text, "w");
    const char *const export[] = { BENCH_FERRY, "export", f->text, f->weights, f->model, NULL };
    double size;

    if (!file)
        return -1;
    fputs(n->text, file);
    if (fclose(file) || run(save, &size, 1))
        return -1;
    f->size = size / 1024;
    return bench_peer_finish(export);
}

static void add_rows(struct bench *b, struct first *f, int rounds)
{
    double seconds[SIDES], mib[SIDES];
    int best = ONNXRUNTIME;
    char figure[96];

    for (int i = 0; i < SIDES; i++) {
        seconds[i] = bench_median(f->seconds[i], rounds);
        mib[i] = bench_median(f->mib[i], rounds);
    }
    best = seconds[OPENVINO] < seconds[ONNXRUNTIME] ? OPENVINO : ONNXRUNTIME;
    for (int i = ONNXRUNTIME; i < SIDES; i++) {
        snprintf(figure, sizeof figure, "%s, first forward : %s", f->name, side_names[i]);
        bench_add(b, figure, "ms", 1e3 * seconds[FERRY], 1e3 * seconds[i],
                  i == best ? BENCH_AT_MOST : BENCH_NO_GOAL, 1);
        snprintf(figure, sizeof figure, "%s, resident memory : %s", f->name, side_names[i]);
        bench_add(b, figure, "MiB", mib[FERRY], mib[i], BENCH_NO_GOAL, 0);
    }
    snprintf(figure, sizeof figure, "%s, resident memory : its weights", f->name);
    bench_add(b, figure, "MiB", mib[FERRY], f->size, BENCH_NO_GOAL, 0);
}

static void bench_one(struct bench *b, struct first *f, const struct net_text *n,
                      const char *folder)
{
    int rounds = b->quick ? 1 : ROUNDS, err;

    snprintf(f->text, sizeof f->text, "%s/net.prototxt", folder);
    snprintf(f->weights, sizeof f->weights, "%s/net.caffemodel", folder);
    snprintf(f->model, sizeof f->model, "%s/net.onnx", folder);
    err = n->failed || write_files(f, n);
    for (int round = 0; !err && round < rounds; round++)
        for (int i = 0; !err && i < SIDES; i++)
            err = run_side(f, (i + round) % SIDES, round);
    if (err)
        bench_skip(b, f->name, "a program failed");
    else
        add_rows(b, f, rounds);
    remove(f->text);
    remove(f->weights);
    remove(f->model);
}

void bench_first(struct bench *b)
{
    static const struct {
        const char *name;
        void (*write)(struct net_text *);
    } nets[] = { { "LeNet", net_lenet },
                 { "SqueezeNet 1.1", net_squeezenet },
                 { "MobileNet v1", net_mobilenet },
                 { "GoogLeNet", net_googlenet },
                 { "ResNet-50", net_resnet50 },
                 { "DenseNet-121", net_densenet121 },
                 { "VGG-16", net_vgg16 } };
    const char *only = getenv("BENCH_ONLY");
    char folder[] = "/tmp/ferry-bench-XXXXXX";
    static struct first f;

    f.python = getenv("BENCH_RUNTIMES");
    if (!f.python || !mkdtemp(folder)) {
        bench_skip(b, "first pass", "BENCH_RUNTIMES names no Python with onnxruntime, OpenVINO");
        return;
    }
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
        struct net_text n = { .batch = 0 };

        if (only && strcmp(only, nets[i].name) != 0)
            continue;
        f.name = nets[i].name;
        nets[i].write(&n);
        bench_one(b, &f, &n, folder);
        free(n.text);
    }
    rmdir(folder);
}
