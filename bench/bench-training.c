/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"
#include "nets.h"
#include "peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Training iterations (forward, backward and an update of SGD with momentum) compared with PyTorch:
 * the same net, batch, initial weights and number of threads, in two processes that take turns.
 * BENCH_TORCH names a Python with PyTorch; bench/peers.sh makes one.
 */

#define ROUNDS 9
#define MOST   (ROUNDS + 1)
#define TURN   0.3 /* seconds at least */

enum { FERRY, TORCH, SIDES };

struct side {
    struct bench_peer peer;
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

/* Runs rounds in which both sides take a turn; the side that begins alternates. */
static int take_turns(struct side s[SIDES], int rounds)
{
    int iterations;

    if (turn(&s[FERRY], 2, 0) || turn(&s[TORCH], 2, 0))
        return -1;
    iterations = 1 + (int)(TURN / s[FERRY].seconds[0]);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < SIDES; i++)
            if (turn(&s[(i + round) % SIDES], iterations, round))
                return -1;
    return bench_peer_ask(&s[FERRY].peer, "", s[FERRY].peak, 2) ||
                   bench_peer_ask(&s[TORCH].peer, "", s[TORCH].peak, 2)
               ? -1
               : 0;
}

static void add_rows(struct bench *b, const char name[48], struct side s[SIDES], int rounds)
{
    double mib[SIDES];
    char figure[96];

    for (int i = 0; i < SIDES; i++)
        mib[i] = (s[i].peak[1] - s[i].peak[0]) / 1024;
    snprintf(figure, sizeof figure, "%s, an iteration : PyTorch", name);
    bench_add(b, figure, "ms", 1e3 * bench_median(s[FERRY].seconds, rounds),
              1e3 * bench_median(s[TORCH].seconds, rounds), BENCH_AT_MOST, 0.9);
    snprintf(figure, sizeof figure, "%s, peak memory : PyTorch", name);
    bench_add(b, figure, "MiB", mib[FERRY], mib[TORCH], BENCH_AT_MOST, 1);
    snprintf(figure, sizeof figure, "%s, last loss : PyTorch", name);
    bench_add(b, figure, "", s[FERRY].loss, s[TORCH].loss, BENCH_NO_GOAL, 0);
}

static void bench_one(struct bench *b, const struct net_text *n, const char *net,
                      const char *folder, const char *python)
{
    static struct side s[SIDES];
    int rounds = b->quick ? 1 : ROUNDS;
    char text[256], weights[256], name[48];
    const char *const ours[] = { bench_beside("child-net"), "train", text, weights, NULL };
    const char *const theirs[] = { python, BENCH_SOURCE "/peer-torch.py", text, weights, NULL };
    double ready;

    snprintf(text, sizeof text, "%s/net.prototxt", folder);
    snprintf(weights, sizeof weights, "%s/net.npz", folder);
    snprintf(name, sizeof name, "%s x%d", net, n->batch);
    if (n->failed || write_text(n, text) || bench_peer_start(&s[FERRY].peer, ours, &ready, 1))
        bench_skip(b, name, "ferry does not start");
    else if (bench_peer_start(&s[TORCH].peer, theirs, &ready, 1))
        bench_skip(b, name, "BENCH_TORCH does not start");
    else if (take_turns(s, rounds))
        bench_skip(b, name, "it ended early");
    else
        add_rows(b, name, s, rounds);
    bench_peer_stop(&s[FERRY].peer);
    bench_peer_stop(&s[TORCH].peer);
    remove(text);
    remove(weights);
}

void bench_training(struct bench *b)
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

    if (!python || !mkdtemp(folder)) {
        bench_skip(b, "training", "BENCH_TORCH names no Python with PyTorch");
        return;
    }
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
        struct net_text n = { .batch = nets[i].batch };

        if (only && strcmp(only, nets[i].name) != 0)
            continue;
        nets[i].write(&n);
        bench_one(b, &n, nets[i].name, folder, python);
        free(n.text);
    }
    rmdir(folder);
}
