/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include <ferry/ferry.h>
#include <ferry/net.h>
#include <ferry/net_info.h>
#include <ferry/solver.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * ferry's side of the suites with peers, in a process of its own, whose memory is measured too.
 *
 * train NET WEIGHTS PRECISION: opens a solver (SGD with momentum, with plan_training, and with
 * recompute if BENCH_RECOMPUTE is set), writes the initial weights, and writes a
 * line when it is ready. For each line of its input, a number of iterations, it writes their
 * seconds and the last loss; for an empty line its peak memory at the start and now, in KiB.
 * first NET WEIGHTS: the seconds until the net is open, has its weights, and has run forward once;
 * then its resident memory and its peak, in KiB, and the sum of the outputs.
 * run NET WEIGHTS PRECISION ("f32" or "bf16"): writes a line when it has run once; for each line of
 * its input, a number of passes, their seconds.
 * save NET WEIGHTS: writes random weights into a file, and their size in KiB.
 */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long kib_of(const char *field)
{
    FILE *f = fopen("/proc/self/status", "r");
    size_t length = strlen(field);
    char line[256];
    long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, length) == 0)
            kib = strtol(line + length, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

/* Numbers between 0 and 1 in data, and classes in labels. */
static int fill(ferry_net *net)
{
    for (int i = 0; i < ferry_net_input_count(net); i++) {
        ferry_blob *b = ferry_net_input_at(net, i);
        int64_t count = ferry_blob_element_count(b);
        float *x = ferry_blob_overwrite_host_data(b);

        if (!x)
            return ferry_last_error_code();
        for (int64_t k = 0; k < count; k++)
            x[k] = ferry_blob_rank(b) == 1 ? (float)(k % 10) : (float)(k * 7919 % 255) / 255;
    }
    return 0;
}

static int train(ferry_device *device, const char *path, const char *weights, const char *precision)
{
    ferry_solver_options o = { .struct_size = sizeof o,
                               .plan_training = true,
                               .recompute = getenv("BENCH_RECOMPUTE") != NULL,
                               .precision = precision && !strcmp(precision, "bf16")
                                                ? FERRY_PRECISION_BF16
                                                : FERRY_PRECISION_F32 };
    ferry_solver *solver = NULL;
    char text[4096], line[64];
    long before = kib_of("VmHWM:");
    int err;

    snprintf(text, sizeof text,
             "net: '%s' base_lr: 0.001 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.0001 "
             "max_iter: 1000000 snapshot_prefix: '%s'",
             path, path);
    o.text = text;
    o.text_size = strlen(text);
    err = ferry_solver_open(device, path, &o, &solver);
    if (!err)
        err = fill(ferry_solver_net(solver));
    if (!err)
        err = ferry_net_save(ferry_solver_net(solver), weights, FERRY_IO_NPZ);
    if (!err)
        puts("0");
    while (!err && !fflush(stdout) && fgets(line, sizeof line, stdin)) {
        int iterations = atoi(line);
        double begin = now();

        if (iterations > 0)
            err = ferry_solver_step(solver, iterations);
        if (iterations > 0)
            printf("%.9f %.9g\n", now() - begin, ferry_solver_loss(solver));
        else
            printf("%ld %ld\n", before, kib_of("VmHWM:"));
    }
    ferry_solver_close(solver);
    return err;
}

static double sum_of_outputs(const ferry_net *net)
{
    double sum = 0;

    for (int i = 0; i < ferry_net_output_count(net); i++) {
        const ferry_blob *b = ferry_net_output_at(net, i);
        const float *y = ferry_blob_host_data(b);

        for (int64_t k = 0; y && k < ferry_blob_element_count(b); k++)
            sum += (double)y[k] * (double)(k % 7 + 1);
    }
    return sum;
}

/* Opens a net, loads its weights, and runs it once; *out is to be closed in any case. */
static int open_and_run(ferry_device *device, const char *path, const char *weights,
                        ferry_precision precision, ferry_net **out)
{
    const ferry_net_options o = { .struct_size = sizeof o, .precision = precision };
    int err = ferry_net_open(device, path, &o, out);

    if (!err)
        err = ferry_net_load(*out, weights, NULL);
    if (!err)
        err = fill(*out);
    return err ? err : ferry_net_forward(*out, NULL);
}

static int first(ferry_device *device, const char *path, const char *weights)
{
    double begin = now(), sum = 0;
    ferry_net *net = NULL;
    int err = open_and_run(device, path, weights, FERRY_PRECISION_DEFAULT, &net);

    if (!err)
        sum = sum_of_outputs(net);
    if (!err)
        printf("%.9f %ld %ld %.9g\n", now() - begin, kib_of("VmRSS:"), kib_of("VmHWM:"), sum);
    ferry_net_close(net);
    return err;
}

static int run(ferry_device *device, const char *path, const char *weights, const char *precision)
{
    bool is_bf16 = strcmp(precision, "bf16") == 0;
    ferry_net *net = NULL;
    char line[64];
    int err = open_and_run(device, path, weights,
                           is_bf16 ? FERRY_PRECISION_BF16 : FERRY_PRECISION_F32, &net);

    if (!err)
        puts("0");
    while (!err && !fflush(stdout) && fgets(line, sizeof line, stdin)) {
        double begin = now();

        for (int i = atoi(line); !err && i > 0; i--)
            err = ferry_net_forward(net, NULL);
        printf("%.9f\n", now() - begin);
    }
    ferry_net_close(net);
    return err;
}

/* Gives each BatchNorm a mean of 0, a variance of 1 and a factor of 1. */
static int set_statistics(ferry_net *net)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };

    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        int err = ferry_net_get_layer_info(net, i, &info);

        for (int k = 1; !err && k < 3 && strcmp(info.type, "BatchNorm") == 0; k++) {
            ferry_blob *b = ferry_net_param_at(net, i, k);
            float *x = ferry_blob_overwrite_host_data(b);

            if (!x)
                return ferry_last_error_code();
            for (int64_t at = 0; at < ferry_blob_element_count(b); at++)
                x[at] = 1;
        }
        if (err)
            return err;
    }
    return 0;
}

static long kib_of_weights(const ferry_net *net)
{
    int64_t count = 0;

    for (int layer = 0; layer < ferry_net_layer_count(net); layer++)
        for (int i = 0; i < ferry_net_param_count(net, layer); i++)
            count += ferry_blob_element_count(ferry_net_param_at(net, layer, i));
    return (long)(count / 256);
}

static int save(ferry_device *device, const char *path, const char *weights)
{
    ferry_net *net = NULL;
    int err = ferry_net_open(device, path, NULL, &net);

    if (!err)
        err = set_statistics(net);
    if (!err)
        err = ferry_net_save(net, weights, FERRY_IO_CAFFEMODEL);
    if (!err)
        printf("%ld\n", kib_of_weights(net));
    ferry_net_close(net);
    return err;
}

int main(int argc, char **argv)
{
    const ferry_runtime_options options = { .struct_size = sizeof options, .backend = "cpu" };
    ferry_runtime *rt = NULL;
    ferry_device *device = NULL;
    int err = argc >= 4 ? ferry_runtime_open(&options, &rt) : FERRY_EINVAL;

    if (!err)
        err = ferry_runtime_get_device(rt, NULL, &device);
    if (!err)
        err = strcmp(argv[1], "train") == 0   ? train(device, argv[2], argv[3], argv[4])
              : strcmp(argv[1], "first") == 0 ? first(device, argv[2], argv[3])
              : argc > 4                      ? run(device, argv[2], argv[3], argv[4])
                                              : save(device, argv[2], argv[3]);
    if (err)
        fprintf(stderr, "child-net: %s\n", ferry_last_error());
    ferry_runtime_close(rt);
    return err != 0;
}
