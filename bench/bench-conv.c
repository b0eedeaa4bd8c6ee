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
 * Convolutions compared with oneDNN and with im2col and OpenBLAS, in GFLOP/s. Each instruction set
 * is measured in a process of its own: the libraries select it once, when they are loaded.
 */

#define SETS 2
static const struct {
    const char *set, *openblas, *onednn;
} sets[SETS] = { { "avx512", "SkylakeX", "AVX512_CORE" }, { "avx2", "Haswell", "AVX2" } };

static void add_row(struct bench *b, const struct conv_shape *s, const char *set, int threads,
                    const char *beside, const double *seconds, double goal)
{
    char figure[96];

    snprintf(figure, sizeof(figure), "%s, %s, %d : %s", s->name, set, threads, beside);
    if (seconds[1] > 0)
        bench_add(b, figure, "GFLOP/s", conv_gigaflops(s, seconds[0]),
                  conv_gigaflops(s, seconds[1]), BENCH_AT_LEAST, goal);
    else
        bench_skip(b, figure, "oneDNN is not available (Debian: libdnnl-dev)");
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
    conv_measure(b, c, 2 + has_onednn, seconds);
    beside_onednn[0] = seconds[0];
    beside_onednn[1] = seconds[2];
    add_row(b, s, set, threads, "oneDNN", beside_onednn, 0.85);
    add_row(b, s, set, threads, "im2col + OpenBLAS", seconds, s->group > 1 ? 5 : 1);
    for (int i = 0; i < 2 + has_onednn; i++)
        c[i].destroy(c[i].state);
}

/*
 * Runs this program again with its own arguments, and with the environment that makes the libraries
 * select that set.
 */
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
        for (size_t i = 0; i < CONV_SHAPES; i++)
            if (!only || strstr(conv_shapes[i].name, only))
                run_shape(b, &conv_shapes[i], set, threads);
}
