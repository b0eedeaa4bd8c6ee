/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"
#include "conv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Convolutions beside oneDNN and beside im2col with OpenBLAS, in GFLOP/s. Each instruction set is a
 * process of its own: the libraries choose theirs once, when they are loaded.
 */

static const struct conv_shape shapes[] = {
    { "resnet 7x7/2 3-64 @224", 3, 64, 224, 7, 2, 3, 1 },
    { "resnet 1x1 64-64 @56", 64, 64, 56, 1, 1, 0, 1 },
    { "resnet 3x3 64-64 @56", 64, 64, 56, 3, 1, 1, 1 },
    { "resnet 1x1 64-256 @56", 64, 256, 56, 1, 1, 0, 1 },
    { "resnet 1x1 256-64 @56", 256, 64, 56, 1, 1, 0, 1 },
    { "resnet 3x3/2 128-128 @56", 128, 128, 56, 3, 2, 1, 1 },
    { "resnet 3x3 256-256 @14", 256, 256, 14, 3, 1, 1, 1 },
    { "resnet 1x1 1024-256 @14", 1024, 256, 14, 1, 1, 0, 1 },
    { "resnet 3x3 512-512 @7", 512, 512, 7, 3, 1, 1, 1 },
    { "resnet 1x1 512-2048 @7", 512, 2048, 7, 1, 1, 0, 1 },
    { "vgg 3x3 3-64 @224", 3, 64, 224, 3, 1, 1, 1 },
    { "vgg 3x3 128-128 @112", 128, 128, 112, 3, 1, 1, 1 },
    { "vgg 3x3 512-512 @28", 512, 512, 28, 3, 1, 1, 1 },
    { "squeezenet 1x1 64-16 @55", 64, 16, 55, 1, 1, 0, 1 },
    { "squeezenet 3x3 16-64 @55", 16, 64, 55, 3, 1, 1, 1 },
    { "squeezenet 3x3 64-256 @13", 64, 256, 13, 3, 1, 1, 1 },
    { "mobilenet 3x3/2 3-32 @224", 3, 32, 224, 3, 2, 1, 1 },
    { "mobilenet 1x1 512-512 @14", 512, 512, 14, 1, 1, 0, 1 },
    { "mobilenet depthwise 64 @112", 64, 64, 112, 3, 1, 1, 64 },
    { "mobilenet depthwise/2 128 @56", 128, 128, 56, 3, 2, 1, 128 },
    { "mobilenet depthwise 512 @14", 512, 512, 14, 3, 1, 1, 512 },
};

#define SETS 2
static const struct {
    const char *set, *openblas, *onednn;
} sets[SETS] = { { "avx512", "SkylakeX", "AVX512_CORE" }, { "avx2", "Haswell", "AVX2" } };

#define ROUNDS         9
#define SAMPLE_SECONDS 0.004

static double sample(const struct conv *c, int64_t times)
{
    double begin = bench_now();

    for (int64_t i = 0; i < times; i++)
        c->run(c->state);
    return (bench_now() - begin) / (double)times;
}

/* The least of several samples by turns: what else runs on the machine only ever adds. */
static void measure(const struct bench *b, const struct conv *c, int count, double *out)
{
    double enough = b->quick ? SAMPLE_SECONDS / 8 : SAMPLE_SECONDS;
    int64_t times[3] = { 1, 1, 1 };

    for (int i = 0; i < count; i++) {
        out[i] = sample(&c[i], 1);
        while ((out[i] = sample(&c[i], times[i])) * (double)times[i] < enough)
            times[i] *= 2;
    }
    for (int round = 0; round < (b->quick ? 2 : ROUNDS); round++)
        for (int i = 0; i < count; i++) {
            double one = sample(&c[i], times[i]);

            out[i] = one < out[i] ? one : out[i];
        }
}

static double gigaflops(const struct conv_shape *s, double seconds)
{
    double pixels = (double)(conv_out(s) * conv_out(s) * s->outputs);

    return 2e-9 * pixels * (double)(s->kernel * s->kernel * s->channels / s->group) / seconds;
}

static void add_row(struct bench *b, const struct conv_shape *s, const char *set, int threads,
                    const char *beside, const double *seconds, double goal)
{
    char figure[96];

    snprintf(figure, sizeof(figure), "%s, %s, %d : %s", s->name, set, threads, beside);
    if (seconds[1] > 0)
        bench_add(b, figure, "GFLOP/s", gigaflops(s, seconds[0]), gigaflops(s, seconds[1]),
                  BENCH_AT_LEAST, goal);
    else
        bench_skip(b, figure, "oneDNN is not there (Debian: libdnnl-dev)");
}

static void run_shape(struct bench *b, const struct conv_shape *s, const char *set, int threads)
{
    double seconds[3] = { 0, 0, 0 }, beside_onednn[2];
    const char *why = "";
    struct conv c[3];
    int has_onednn;

    if (conv_ferry(s, set, threads, &c[0], &why) != 0) {
        bench_skip(b, s->name, "%s", why);
        return;
    }
    if (conv_openblas(s, threads, &c[1]) != 0) {
        bench_skip(b, s->name, "out of memory");
        c[0].destroy(c[0].state);
        return;
    }
    has_onednn = conv_onednn(s, threads, &c[2]) == 0;
    measure(b, c, 2 + has_onednn, seconds);
    beside_onednn[0] = seconds[0];
    beside_onednn[1] = seconds[2];
    add_row(b, s, set, threads, "oneDNN", beside_onednn, 0.85);
    add_row(b, s, set, threads, "im2col + OpenBLAS", seconds, s->group > 1 ? 5 : 1);
    for (int i = 0; i < 2 + has_onednn; i++)
        c[i].destroy(c[i].state);
}

/* This program again, with its own arguments and what makes the libraries choose that set. */
static void run_set(int i)
{
    char line[4096], *argv[16];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length = file ? fread(line, 1, sizeof(line) - 1, file) : 0;
    int n = 0;
    pid_t child;

    if (file)
        fclose(file);
    line[length] = '\0';
    for (size_t at = 0; at < length && n < 15; at += strlen(line + at) + 1)
        argv[n++] = line + at;
    argv[n] = NULL;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        setenv("BENCH_SET", sets[i].set, 1);
        setenv("OPENBLAS_CORETYPE", sets[i].openblas, 1);
        setenv("DNNL_MAX_CPU_ISA", sets[i].onednn, 1);
        execv("/proc/self/exe", argv);
        _exit(1);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static int has_set(const char *set)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return strcmp(set, "avx2") == 0 ? __builtin_cpu_supports("avx2")
                                    : __builtin_cpu_supports("avx512bw");
#else
    (void)set;
    return 0;
#endif
}

void bench_conv(struct bench *b)
{
    const char *set = getenv("BENCH_SET"), *only = getenv("BENCH_ONLY");

    for (int i = 0; i < SETS && !set; i++)
        if (has_set(sets[i].set))
            run_set(i);
    for (int threads = 1; threads <= 2 && set; threads++)
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
            if (!only || strstr(shapes[i].name, only))
                run_shape(b, &shapes[i], set, threads);
}
