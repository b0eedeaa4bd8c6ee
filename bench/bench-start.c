/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS       15
#define QUICK_ROUNDS 2
#define ENOUGH       3.0 /* seconds: creating a GPU's context may take half of one each time */

/* The work of a child before it reports readiness; the text is returned to the parent. */
typedef bool (*child_fn)(char text[4096]);

static char plugin_path[4096];

static void say_nothing(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

/* The file that the device's plugin was loaded from. */
static void find_path(ferry_runtime *rt, const ferry_device *device, char text[4096])
{
    const char *plugin = ferry_device_get_properties(device)->plugin;
    const ferry_runtime_candidate_info *c;

    for (int i = 0; i < ferry_runtime_candidate_count(rt); i++)
        if (ferry_runtime_candidate_at(rt, i, &c) == FERRY_OK && c->ok &&
            strcmp(c->name, plugin) == 0 && strlen(c->path) < 4096)
            memcpy(text, c->path, strlen(c->path) + 1);
}

static bool first_blob(char text[4096])
{
    const int64_t count = 120;
    ferry_runtime *rt = NULL;
    ferry_device *device = NULL;
    ferry_blob *blob = NULL;

    ferry_log_set_handler(say_nothing, NULL); /* the command itself logs it once */
    if (ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &device) ||
        ferry_blob_create(device, FERRY_F32, &count, 1, &blob) ||
        !ferry_blob_mutable_device_data(blob).handle)
        return false;
    find_path(rt, device, text);
    return true;
}

static bool load_alone(char text[4096])
{
    (void)text;
    return dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL) != NULL;
}

/* Ends without releasing anything: the system frees it. */
static _Noreturn void run_child(child_fn work, int fd)
{
    char text[4096] = "";
    bool done = work(text);

    _exit(done && write(fd, text, sizeof(text)) == (ssize_t)sizeof(text) ? 0 : 1);
}

/* Seconds until the child reports readiness; negative if it does not. */
static double time_child(child_fn work, char text[4096])
{
    double begin = bench_now(), end;
    int ends[2], status = 1;
    size_t length = 0;
    ssize_t got = 1;
    pid_t child;

    if (pipe(ends) != 0)
        return -1;
    child = fork();
    if (child == 0)
        run_child(work, ends[1]);
    close(ends[1]);
    while (child > 0 && length < 4096 && got > 0) {
        got = read(ends[0], text + length, 4096 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    end = bench_now();
    close(ends[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    return status == 0 && length == 4096 ? end - begin : -1;
}

void bench_start(struct bench *b)
{
    static const char figure[] = "start to the first blob : loading the plugin alone";
    double begin = bench_now(), value[ROUNDS], reference[ROUNDS];
    int rounds = b->quick ? QUICK_ROUNDS : ROUNDS, done = 0;
    bool failed = time_child(first_blob, plugin_path) < 0; /* warms up, and finds the plugin */

    while (!failed && done < rounds && (done < 1 || bench_now() - begin < ENOUGH)) {
        char text[4096];

        value[done] = time_child(first_blob, text);
        reference[done] = time_child(load_alone, text);
        failed = value[done] < 0 || reference[done] < 0;
        done++;
    }
    if (failed)
        bench_skip(b, figure, "the device does not start in a process of its own");
    else
        bench_add(b, figure, "ms", bench_median(value, done) * 1e3,
                  bench_median(reference, done) * 1e3, BENCH_NO_GOAL, 0);
}
