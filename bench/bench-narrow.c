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
 * Passes with 8 bits, and with BF16, compared with ferry's own in F32 and with those of onnxruntime
 * and OpenVINO, which read the same net as ferry exports it. Each side is a process, and the
 * processes take turns. BENCH_RUNTIMES names a Python with the peers; bench/peers.sh makes one.
 */

#define ROUNDS 9
#define TURN   0.3 /* seconds at least */

enum { PLAIN, OURS, ONNXRUNTIME, OPENVINO, SIDES };

static const char *const side_names[SIDES] = { "ferry's F32", "", "onnxruntime", "OpenVINO" };

/* The files of a net, in one folder. */
enum file {
    TEXT,
    WEIGHTS,
    RANGES,
    MODEL,
    INPUTS,
    OF_ONNXRUNTIME,
    OF_OPENVINO,
    OF_OPENVINO_2,
    FILES
};

static const char *const file_names[FILES] = { "net.prototxt", "net.caffemodel", "int8.caffemodel",
                                               "net.onnx",     "inputs.npz",     "runtime.onnx",
                                               "openvino.xml", "openvino.bin" };

struct narrow {
    struct bench *b;
    const char *python, *kind; /* kind: "int8" or "bf16" */
    char file[FILES][64];
    struct bench_peer peer[SIDES];
    double seconds[SIDES][ROUNDS];
};

static int write_text(const struct narrow *w, const struct net_text *n)
{
    FILE *f = n->failed ? NULL : fopen(w->file[TEXT], "w");

    if (!f)
        return -1;
    fputs(n->text, f);
    return fclose(f);
}

/* Makes the files of the net that all sides read. */
static int prepare(const struct narrow *w)
{
    const char *const save[] = { bench_beside("child-net"), "save", w->file[TEXT], w->file[WEIGHTS],
                                 NULL };
    const char *const export[] = { BENCH_FERRY,      "export",       w->file[TEXT],
                                   w->file[WEIGHTS], w->file[MODEL], NULL };

    return bench_peer_finish(save) || bench_peer_finish(export) ? -1 : 0;
}

static int quantize(const struct narrow *w)
{
    const char *const theirs[] = { w->python,
                                   BENCH_SOURCE "/peer-quantize.py",
                                   w->file[MODEL],
                                   w->file[INPUTS],
                                   w->file[OF_ONNXRUNTIME],
                                   w->file[OF_OPENVINO],
                                   NULL };
    const char *const ours[] = {
        BENCH_FERRY, "quantize",      w->file[TEXT], w->file[WEIGHTS], "-q",
        "-o",        w->file[RANGES], "--calibrate", w->file[INPUTS],  NULL
    };

    return bench_peer_finish(theirs) || bench_peer_finish(ours) ? -1 : 0;
}

static int start_ferry(struct narrow *w, int side, enum file weights, const char *precision)
{
    const char *const argv[] = { bench_beside("child-net"), "run",     w->file[TEXT],
                                 w->file[weights],          precision, NULL };
    double ready;

    return bench_peer_start(&w->peer[side], argv, &ready, 1);
}

static int start_peer(struct narrow *w, int side, const char *precision, enum file model)
{
    const char *const argv[] = { w->python,
                                 BENCH_SOURCE "/peer-runtime.py",
                                 side == OPENVINO ? "openvino" : "onnxruntime",
                                 precision,
                                 w->file[model],
                                 NULL };
    double ready;

    return bench_peer_start(&w->peer[side], argv, &ready, 1);
}

static int start_all(struct narrow *w, bool is_int8)
{
    if (start_ferry(w, PLAIN, WEIGHTS, "f32"))
        return -1;
    if (is_int8)
        return start_ferry(w, OURS, RANGES, "f32") ||
                       start_peer(w, ONNXRUNTIME, "f32", OF_ONNXRUNTIME) ||
                       start_peer(w, OPENVINO, "f32", OF_OPENVINO)
                   ? -1
                   : 0;
    return start_ferry(w, OURS, WEIGHTS, "bf16") || start_peer(w, OPENVINO, "bf16", MODEL) ? -1 : 0;
}

/* A turn of `passes`, after a pause in which the other side's threads stop spinning. */
static int turn(struct narrow *w, int side, int passes, int round)
{
    char line[32];

    if (!w->peer[side].pid)
        return 0;
    snprintf(line, sizeof line, "%d", passes);
    usleep(50000);
    if (bench_peer_ask(&w->peer[side], line, &w->seconds[side][round], 1))
        return -1;
    w->seconds[side][round] /= passes;
    return 0;
}

/* Runs rounds in which each side takes a turn; the side that begins alternates. */
static int take_turns(struct narrow *w, int rounds)
{
    int passes;

    for (int i = 0; i < SIDES; i++)
        if (turn(w, i, 2, 0))
            return -1;
    passes = 1 + (int)(TURN / w->seconds[PLAIN][0]);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < SIDES; i++)
            if (turn(w, (i + round) % SIDES, passes, round))
                return -1;
    return 0;
}

/* Adds a row for each side but ferry's narrow one, which is compared with it. */
static void add_rows(struct narrow *w, const char *net, double goal, int rounds)
{
    double ours = bench_median(w->seconds[OURS], rounds);
    char figure[96];

    for (int i = 0; i < SIDES; i++) {
        if (i == OURS || !w->peer[i].pid)
            continue;
        snprintf(figure, sizeof figure, "%s, %s : %s", net, w->kind, side_names[i]);
        bench_add(w->b, figure, "ms", 1e3 * ours, 1e3 * bench_median(w->seconds[i], rounds),
                  BENCH_AT_MOST, i == PLAIN ? goal : 1);
    }
}

static void bench_one(struct narrow *w, const struct net_text *n, double goal)
{
    bool is_int8 = strcmp(w->kind, "int8") == 0;
    int rounds = w->b->quick ? 1 : ROUNDS;

    if (write_text(w, n) || prepare(w) || (is_int8 && quantize(w)))
        bench_skip(w->b, n->name, "its files were not made");
    else if (start_all(w, is_int8))
        bench_skip(w->b, n->name, "a side does not start");
    else if (take_turns(w, rounds))
        bench_skip(w->b, n->name, "a side ended early");
    else
        add_rows(w, n->name, goal, rounds);
    for (int i = 0; i < SIDES; i++)
        bench_peer_stop(&w->peer[i]);
    for (int i = 0; i < FILES; i++)
        remove(w->file[i]);
}

struct goal {
    void (*write)(struct net_text *);
    double of_f32; /* the time compared with F32's */
};

static void bench_all(struct bench *b, const char *kind, const struct goal *goals, size_t count)
{
    struct narrow w = { .b = b, .python = getenv("BENCH_RUNTIMES"), .kind = kind };
    const char *only = getenv("BENCH_ONLY");
    char folder[] = "/tmp/ferry-bench-XXXXXX";

    if (!w.python || !mkdtemp(folder)) {
        bench_skip(b, kind, "BENCH_RUNTIMES names no Python with onnxruntime and OpenVINO");
        return;
    }
    for (int i = 0; i < FILES; i++)
        snprintf(w.file[i], sizeof w.file[i], "%s/%s", folder, file_names[i]);
    for (size_t i = 0; i < count; i++) {
        struct net_text n = { .batch = 0 };

        goals[i].write(&n);
        if (!only || strcmp(only, n.name) == 0)
            bench_one(&w, &n, goals[i].of_f32);
        free(n.text);
    }
    rmdir(folder);
}

void bench_quantized(struct bench *b)
{
    static const struct goal goals[] = {
        { net_squeezenet, 1 },  { net_mobilenet, 0.45 }, { net_googlenet, 0.45 },
        { net_resnet50, 0.35 }, { net_densenet121, 1 },  { net_vgg16, 0.35 },
    };

    bench_all(b, "int8", goals, sizeof goals / sizeof goals[0]);
}

void bench_bf16(struct bench *b)
{
    static const struct goal goals[] = {
        { net_squeezenet, 1 }, { net_mobilenet, 1 },   { net_googlenet, 1 },
        { net_resnet50, 0.6 }, { net_densenet121, 1 }, { net_vgg16, 1 },
    };

    bench_all(b, "bf16", goals, sizeof goals / sizeof goals[0]);
}
