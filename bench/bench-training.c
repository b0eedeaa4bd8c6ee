/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"
#include "nets.h"
#include "peer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Training iterations (forward, backward and an update of SGD with momentum) compared with PyTorch:
 * the same net, batch, initial weights and number of threads, in processes that take turns.
 * BENCH_TORCH names a Python with PyTorch; bench/peers.sh makes one. In BF16 (PyTorch: autocast),
 * ferry's F32 takes turns too; PyTorch is left out without BENCH_TORCH.
 */

#define ROUNDS 9
#define MOST   (ROUNDS + 1)
#define TURN   0.3 /* seconds at least */

enum { FERRY, TORCH, F32, SIDES };

struct side {
    struct bench_peer peer;
    bool is_used;
    double seconds[MOST], loss, peak[2];
};

static int write_text(const struct net_text *n, const char *path)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    fputs(n->text, f);
    return fclose(f);
}

/* A turn of `iterations`, after a pause in which the other side's threads stop spinning. */
static int turn(struct side *s, int iterations, int round)
{
    char line[32];
    double got[2];

    snprintf(line, sizeof line, "%d", iterations);
    usleep(50000);
    if (bench_peer_ask(&s->peer, line, got, 2))
        return -1;
    s->seconds[round] = got[0] / iterations;
    s->loss = got[1];
    return 0;
}

/* Runs rounds in which all sides take a turn; the side that begins alternates. */
static int take_turns(struct side s[SIDES], int rounds)
{
    int iterations;

    for (int i = 0; i < SIDES; i++)
        if (s[i].is_used && turn(&s[i], 2, 0))
            return -1;
    iterations = 1 + (int)(TURN / s[FERRY].seconds[0]);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < SIDES; i++)
            if (s[(i + round) % SIDES].is_used && turn(&s[(i + round) % SIDES], iterations, round))
                return -1;
    for (int i = 0; i < SIDES; i++)
        if (s[i].is_used && bench_peer_ask(&s[i].peer, "", s[i].peak, 2))
            return -1;
    return 0;
}

static void add_rows(struct bench *b, const char name[48], struct side s[SIDES], int other,
                     int rounds)
{
    const char *what = other == TORCH ? "PyTorch" : "F32";
    double mib[SIDES];
    char figure[96];

    for (int i = 0; i < SIDES; i++)
        mib[i] = (s[i].peak[1] - s[i].peak[0]) / 1024;
    snprintf(figure, sizeof figure, "%s, an iteration : %s", name, what);
    bench_add(b, figure, "ms", 1e3 * bench_median(s[FERRY].seconds, rounds),
              1e3 * bench_median(s[other].seconds, rounds), BENCH_AT_MOST,
              other == TORCH ? 0.9 : 1);
    snprintf(figure, sizeof figure, "%s, peak memory : %s", name, what);
    bench_add(b, figure, "MiB", mib[FERRY], mib[other], BENCH_AT_MOST, 1);
    snprintf(figure, sizeof figure, "%s, last loss : %s", name, what);
    bench_add(b, figure, "", s[FERRY].loss, s[other].loss, BENCH_NO_GOAL, 0);
}

static void bench_one(struct bench *b, const struct net_text *n, const char *net,
                      const char *folder, const char *python, const char *precision)
{
    static struct side s[SIDES];
    int rounds = b->quick ? 1 : ROUNDS;
    char text[256], weights[256], name[48];
    const char *const ours[] = { bench_beside("child-net"), "train", text, weights, precision,
                                 NULL };
    const char *const plain[] = { ours[0], "train", text, weights, "f32", NULL };
    const char *const theirs[] = { python,  BENCH_SOURCE "/peer-torch.py", text, weights, precision,
                                   NULL };
    double ready;

    s[FERRY].is_used = true;
    s[TORCH].is_used = python != NULL;
    s[F32].is_used = strcmp(precision, "f32") != 0;

    snprintf(text, sizeof text, "%s/net.prototxt", folder);
    snprintf(weights, sizeof weights, "%s/net.npz", folder);
    snprintf(name, sizeof name, "%s x%d", net, n->batch);
    if (n->failed || write_text(n, text) || bench_peer_start(&s[FERRY].peer, ours, &ready, 1))
        bench_skip(b, name, "ferry does not start");
    else if (s[F32].is_used && bench_peer_start(&s[F32].peer, plain, &ready, 1))
        bench_skip(b, name, "ferry does not start again");
    else if (s[TORCH].is_used && bench_peer_start(&s[TORCH].peer, theirs, &ready, 1))
        bench_skip(b, name, "BENCH_TORCH does not start");
    else if (take_turns(s, rounds))
        bench_skip(b, name, "it ended early");
    else
        for (int i = TORCH; i < SIDES; i++)
            if (s[i].is_used)
                add_rows(b, name, s, i, rounds);
    for (int i = 0; i < SIDES; i++)
        if (s[i].is_used)
            bench_peer_stop(&s[i].peer);
    remove(text);
    remove(weights);
}

static void bench_nets(struct bench *b, const char *precision)
{
    static const struct {
        const char *name;
        void (*write)(struct net_text *);
        int batch;
    } nets[] = { { "LeNet", net_lenet, 64 },
                 { "MobileNet v1", net_mobilenet, 8 },
                 { "GoogLeNet", net_googlenet, 8 },
                 { "ResNet-50", net_resnet50, 8 },
                 { "DenseNet-121", net_densenet121, 4 } };
    const char *python = getenv("BENCH_TORCH"), *only = getenv("BENCH_ONLY");
    char folder[] = "/tmp/ferry-bench-XXXXXX";

    if ((!python && !strcmp(precision, "f32")) || !mkdtemp(folder)) {
        bench_skip(b, "training", "BENCH_TORCH names no Python with PyTorch");
        return;
    }
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
        struct net_text n = { .batch = nets[i].batch };

        if (only && strcmp(only, nets[i].name) != 0)
            continue;
        nets[i].write(&n);
        bench_one(b, &n, nets[i].name, folder, python, precision);
        free(n.text);
    }
    rmdir(folder);
}

void bench_training(struct bench *b)
{
    bench_nets(b, "f32");
}

void bench_training_bf16(struct bench *b)
{
    bench_nets(b, "bf16");
}
