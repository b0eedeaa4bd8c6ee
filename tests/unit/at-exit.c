/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "at-exit.h"

#include "ferry-test.h"
#include <ferry/ferry.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 1000

/* The child has no CUnit: it prints where it failed and ends. */
#define EXPECT(condition)                                                                     \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "in the child: %s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, \
                    ferry_last_error());                                                      \
            _exit(1);                                                                         \
        }                                                                                     \
    } while (0)

/* Leaks of a driver that is no longer called are ignored. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static struct {
    const char *backend;
    bool lives, worked;
    ferry_runtime *rt;
    ferry_device *dev;
    ferry_queue *queue;
    ferry_event *event;
    ferry_blob *blob;
} left;

static int open_device(void)
{
    const ferry_runtime_options options = { .struct_size = sizeof options,
                                            .backend = left.backend };
    int err = ferry_runtime_open(&options, &left.rt);

    return err ? err : ferry_runtime_get_device(left.rt, NULL, &left.dev);
}

/* The blob's newest bytes are on the device, computed there. */
static void work(float value)
{
    ferry_ref y, x;

    y = ferry_blob_overwrite_device_data(left.blob);
    EXPECT(y.handle && !ferry_math_fill(ferry_device_queue(left.dev), FERRY_F32, N, value, y));
    x = ferry_blob_overwrite_device_diff(left.blob);
    EXPECT(x.handle && !ferry_math_fill(ferry_device_queue(left.dev), FERRY_F32, N, value, x));
    EXPECT(!ferry_math_axpy(ferry_device_queue(left.dev), FERRY_F32, N, 2, ferry_ref_const(x), y));
}

static bool reads(float value)
{
    const float *data = ferry_blob_host_data(left.blob);

    for (int i = 0; data && i < N; i++)
        if (data[i] != value)
            return false;
    return data != NULL;
}

static bool says_why(void)
{
    return ferry_last_error_code() == FERRY_ELOST &&
           strstr(ferry_last_error(), "the process is ending");
}

/* A handler registered before ferry was used, and therefore called last. */
static void after_the_driver(void)
{
    ferry_runtime *again = NULL;

    EXPECT(left.worked);
    if (left.lives) {
        EXPECT(reads(12));
    } else {
        EXPECT(!ferry_blob_host_data(left.blob) && says_why());
        EXPECT(ferry_math_fill(left.queue, FERRY_F32, N, 0,
                               ferry_blob_mutable_device_data(left.blob)) == FERRY_ELOST &&
               says_why());
        EXPECT(ferry_queue_synchronize(left.queue) == FERRY_ELOST && says_why());
        EXPECT(ferry_event_synchronize(left.event) < 0);
        EXPECT(ferry_device_trim(left.dev) == FERRY_ELOST);
    }
    ferry_event_destroy(left.event);
    ferry_queue_destroy(left.queue);
    ferry_blob_destroy(left.blob);
    ferry_runtime_close(left.rt);
    left.rt = again;
    if (!left.lives)
        EXPECT(open_device() < 0);
    ferry_runtime_close(left.rt);
}

/* A handler registered while the device was open: everything still works. */
static void before_the_driver(void)
{
    EXPECT(reads(9));
    work(4);
    left.worked = true;
}

static void run(void)
{
    const int64_t shape[] = { N };

    EXPECT(!atexit(after_the_driver));
    EXPECT(!open_device());
    EXPECT(!ferry_blob_create(left.dev, FERRY_F32, shape, 1, &left.blob));
    if (!left.lives) {
        EXPECT(!ferry_queue_create(left.dev, &left.queue));
        EXPECT(!ferry_event_record(left.queue, &left.event));
    }
    EXPECT(!atexit(before_the_driver));
    work(3);
    exit(0);
}

void ax_run(const char *backend, bool lives)
{
    int status = -1;
    pid_t child;

    left.backend = backend;
    left.lives = lives;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(60);
        run();
    }
    CU_ASSERT_FATAL(child > 0);
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    if (WIFSIGNALED(status))
        printf("     the child ended by signal %d\n", WTERMSIG(status));
}
