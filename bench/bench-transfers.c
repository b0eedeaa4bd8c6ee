/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <stdlib.h>

/*
 * Bytes copied between the host and one device while a small net is trained: LeNet with batch size
 * 64. The program writes the images on the host, the net scales them in place and runs on the
 * device, and the loss, for which there is no kernel, runs on the host and in place. Only the
 * accesses are made, in the order of the layers; the copied bytes are counted and compared with
 * those of Caffe's rule for the same accesses.
 *
 * A copy is unavoidable if a blob is read on both sides between two writes. Copies of old bytes
 * into memory that is about to be overwritten can be avoided.
 */

#define ITERATIONS 20

enum { IMAGES, CONV1, POOL1, CONV2, POOL2, IP1, IP2, LOSS, W_CONV1, W_CONV2, W_IP1, W_IP2, BLOBS };

static const int64_t floats[BLOBS] = {
    [IMAGES] = 64 * 28 * 28,
    [CONV1] = 64 * 20 * 24 * 24,
    [POOL1] = 64 * 20 * 12 * 12,
    [CONV2] = 64 * 50 * 8 * 8,
    [POOL2] = 64 * 50 * 4 * 4,
    [IP1] = 64 * 500,
    [IP2] = 64 * 10,
    [LOSS] = 1,
    [W_CONV1] = 20 * 25 + 20,
    [W_CONV2] = 50 * 20 * 25 + 50,
    [W_IP1] = 500 * 800 + 500,
    [W_IP2] = 10 * 500 + 10,
};

enum half { DATA, DIFF };
enum place { HOST, DEVICE };
enum verb { READ, CHANGE, OVERWRITE, UPDATE };

struct step {
    int blob;
    enum half half;
    enum place place;
    enum verb verb;
};

/*
 * Layers on the device: forward reads bottom and weights and overwrites top; backward the reverse.
 */
/* clang-format off */
#define FORWARD(bottom, weights, top)                                          \
    { bottom, DATA, DEVICE, READ }, { weights, DATA, DEVICE, READ },           \
    { top, DATA, DEVICE, OVERWRITE }
#define POOL(bottom, top)                                                      \
    { bottom, DATA, DEVICE, READ }, { top, DATA, DEVICE, OVERWRITE }
#define BACKWARD(bottom, weights, top)                                         \
    { top, DIFF, DEVICE, READ }, { bottom, DATA, DEVICE, READ },               \
    { weights, DIFF, DEVICE, OVERWRITE }, { weights, DATA, DEVICE, READ },     \
    { bottom, DIFF, DEVICE, OVERWRITE }
#define UNPOOL(bottom, top)                                                    \
    { top, DIFF, DEVICE, READ }, { bottom, DIFF, DEVICE, OVERWRITE }
/* clang-format on */

static const struct step steps[] = {
    { IMAGES, DATA, HOST, OVERWRITE }, /* written by the program */
    { IMAGES, DATA, DEVICE, CHANGE },  /* scaled in place */
    FORWARD(IMAGES, W_CONV1, CONV1),
    POOL(CONV1, POOL1),
    FORWARD(POOL1, W_CONV2, CONV2),
    POOL(CONV2, POOL2),
    FORWARD(POOL2, W_IP1, IP1),
    { IP1, DATA, DEVICE, CHANGE }, /* ReLU in place */
    FORWARD(IP1, W_IP2, IP2),
    { IP2, DATA, HOST, CHANGE }, /* softmax in place */
    { LOSS, DATA, HOST, OVERWRITE },
    { IP2, DATA, HOST, READ },
    { IP2, DIFF, HOST, OVERWRITE },
    BACKWARD(IP1, W_IP2, IP2),
    { IP1, DIFF, DEVICE, CHANGE },
    BACKWARD(POOL2, W_IP1, IP1),
    UNPOOL(CONV2, POOL2),
    BACKWARD(POOL1, W_CONV2, CONV2),
    UNPOOL(CONV1, POOL1),
    { CONV1, DIFF, DEVICE, READ }, /* the images need no diff */
    { W_CONV1, DIFF, DEVICE, OVERWRITE },
    { W_CONV1, DATA, DEVICE, UPDATE },
    { W_CONV2, DATA, DEVICE, UPDATE },
    { W_IP1, DATA, DEVICE, UPDATE },
    { W_IP2, DATA, DEVICE, UPDATE },
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* ---- Caffe's rule: four head states, and a mutable access for each write -------------------- */

enum head { UNINITIALIZED, AT_HOST, AT_DEVICE, SYNCED };

/* The bytes that an access copies; updates the head state. */
static int64_t caffe_access(enum head *head, enum place place, bool write, int64_t bytes)
{
    enum head here = place == HOST ? AT_HOST : AT_DEVICE;
    bool copies = *head != UNINITIALIZED && *head != SYNCED && *head != here;

    if (write || *head == UNINITIALIZED)
        *head = here;
    else if (copies)
        *head = SYNCED;
    return copies ? bytes : 0;
}

/* On the host if only the host has the data, otherwise on the device. */
static int64_t caffe_update(enum head heads[2], int64_t bytes)
{
    enum place place = heads[DATA] == AT_HOST ? HOST : DEVICE;

    return caffe_access(&heads[DIFF], place, false, bytes) +
           caffe_access(&heads[DATA], place, true, bytes);
}

static int64_t caffe_bytes(void)
{
    enum head heads[BLOBS][2] = { { UNINITIALIZED } };
    int64_t moved = 0;

    for (int i = 0; i < BLOBS; i++) /* the weights are filled on the host */
        heads[i][DATA] = i >= W_CONV1 ? AT_HOST : UNINITIALIZED;
    for (int k = 0; k < ITERATIONS; k++)
        for (size_t i = 0; i < STEPS; i++) {
            const struct step *s = &steps[i];
            int64_t bytes = floats[s->blob] * (int64_t)sizeof(float);

            moved += s->verb == UPDATE
                         ? caffe_update(heads[s->blob], bytes)
                         : caffe_access(&heads[s->blob][s->half], s->place, s->verb != READ, bytes);
        }
    return moved;
}

/* ---- ferry ----------------------------------------------------------------------------------- */

struct way {
    const char *figure;
    bool overwrite, prefetch;
    double goal;
};

static int do_step(ferry_device *device, ferry_blob *const blobs[], const struct step *s,
                   const struct way *way)
{
    ferry_device *where = s->place == HOST ? NULL : device;
    unsigned access = s->verb == READ ? FERRY_READ : FERRY_READ | FERRY_WRITE;
    ferry_memory *m = s->half == DATA ? ferry_blob_data_memory(blobs[s->blob])
                                      : ferry_blob_diff_memory(blobs[s->blob]);
    ferry_ref ref;
    int err = 0;

    if (s->verb == UPDATE)
        return ferry_blob_update(blobs[s->blob]);
    if (s->verb == OVERWRITE && way->overwrite)
        access = FERRY_WRITE;
    err = ferry_memory_access(m, where, access, NULL, &ref);
    if (!err && way->prefetch && s->blob == IMAGES && s->place == HOST)
        err = ferry_memory_prefetch(m, device, NULL); /* while the host does other work */
    return err;
}

static uint64_t moved(ferry_device *device)
{
    ferry_device_stats s = { .struct_size = sizeof s };

    if (ferry_device_synchronize(device) || ferry_device_get_stats(device, &s))
        return 0;
    return s.bytes_h2d + s.bytes_d2h + s.bytes_d2d;
}

static int learn(ferry_device *device, ferry_blob *const blobs[], const struct way *way)
{
    int err = 0;

    for (int i = W_CONV1; i < BLOBS && !err; i++)
        if (!ferry_blob_overwrite_host_data(blobs[i]))
            err = ferry_last_error_code();
    for (int k = 0; k < ITERATIONS; k++)
        for (size_t i = 0; i < STEPS && !err; i++)
            err = do_step(device, blobs, &steps[i], way);
    return err;
}

static void measure(struct bench *b, ferry_device *device, const struct way *way)
{
    ferry_blob *blobs[BLOBS] = { NULL };
    uint64_t before = moved(device);
    double mega = 1e-6 / ITERATIONS;
    int err = 0;

    for (int i = 0; i < BLOBS && !err; i++)
        err = ferry_blob_create(device, FERRY_F32, &floats[i], 1, &blobs[i]);
    if (!err)
        err = learn(device, blobs, way);
    if (err)
        bench_skip(b, way->figure, "%s", ferry_last_error());
    else
        bench_add(b, way->figure, "MB", (double)(moved(device) - before) * mega,
                  (double)caffe_bytes() * mega, BENCH_AT_MOST, way->goal);
    for (int i = 0; i < BLOBS; i++)
        ferry_blob_destroy(blobs[i]);
}

void bench_transfers(struct bench *b)
{
    static const struct way ways[] = {
        { "a step of LeNet, bytes : by Caffe's rule", true, false, 0.7 },
        { "the same, and images prefetched", true, true, 0.7 },
        { "the same without overwrite", false, false, 1 },
        { "the same, prefetched, without overwrite", false, true, 1 },
    };
    ferry_runtime *rt = NULL;
    ferry_device *device = NULL;

    if (ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, "sim", &device))
        bench_skip(b, ways[0].figure, "%s", ferry_last_error());
    for (size_t i = 0; device && i < sizeof(ways) / sizeof(ways[0]); i++)
        measure(b, device, &ways[i]);
    ferry_runtime_close(rt);
}
