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
 * How much of reading pictures is hidden by reading ahead, while a device that takes no time of the host's
 * computes half as long again. A picture is resized to 600 x 600, which is about the work of decoding a
 * photograph, and cropped to 224 x 224.
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

/* Seconds that a forward pass takes, with so much computing between two of them; −1: it failed. */
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

    waiting = passes(ahead, 1.5 * reading, 2); /* the first is waited for */
    if (waiting >= 0)
        waiting = passes(ahead, 1.5 * reading, rounds);
    if (reading < 0 || waiting < 0)
        bench_skip(b, "pictures read ahead", "%s", ferry_last_error());
    else
        bench_add(b, "16 pictures read ahead : hidden behind computing", "ms",
                  1e3 * (reading - waiting), 1e3 * reading, BENCH_AT_LEAST, 0.9);
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
        bench_skip(b, "pictures read ahead", "%s", ferry_last_error());
    ferry_net_close(plain);
    ferry_net_close(ahead);
    snprintf(path, sizeof(path), "%s/picture", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/list", folder);
    unlink(path);
    rmdir(folder);
}
