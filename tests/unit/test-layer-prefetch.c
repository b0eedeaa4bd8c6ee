/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "data-files.h"
#include "fixture.h"

#include <ferry/io.h>
#include <ferry/net.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net/data/prefetch.h"
#include "net/model/training.h"

/*
 * Layers that prefetch on a thread: a net sees the same data as without a thread, in order,
 * including failures, and can be restored to any position.
 */
#if defined(FERRY_NET_HAVE_PNG) && defined(FERRY_NET_HAVE_LMDB)

/* ---- nets ------------------------------------------------------------------------------------ */

/* A layer's text, with %d for the depth, and a path in it. */
struct source {
    const char *what, *text, *file;
};

#define CHANCE "transform_param { crop_size: 2 mirror: true }"

static const struct source sources[] = {
    { "Data",
      "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { prefetch: %d source: "
      "'%s' batch_size: 2 rand_skip: 9 } " CHANCE " }",
      "bytes" },
    { "encoded Data",
      "layer { name: 'd' type: 'Data' top: 'data' data_param { prefetch: %d source: '%s' "
      "batch_size: 1 } " CHANCE " }",
      "sizes" },
    { "ImageData",
      "layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' data_param { prefetch: %d } "
      "image_data_param { source: '%s' batch_size: 2 shuffle: true rand_skip: 3 } " CHANCE " }",
      "list" },
    { "HDF5Data",
      "layer { name: 'd' type: 'HDF5Data' top: 'data' data_param { prefetch: %d } hdf5_data_param "
      "{ source: '%s' batch_size: 4 shuffle: true } }",
      "h5list" },
};

static int write_rows(const char *name, int first, int n)
{
    ferry_blob *rows = FX_BLOB(FERRY_F32, n, 2);
    ferry_io_writer *w = NULL;
    int err = ferry_io_writer_create(df_in(name), FERRY_IO_HDF5, &w);

    for (int i = 0; i < 2 * n; i++)
        ((float *)ferry_blob_mutable_host_data(rows))[i] = (float)(first + i / 2);
    if (!err) {
        FX_OK(ferry_io_writer_write(w, "data", rows, false));
        FX_OK(ferry_io_writer_commit(w));
    }
    ferry_blob_destroy(rows);
    return err;
}

static ferry_device *device;
static int rank, ranks; /* of the nets that are opened */

/* Called first in a case. */
static void begin(void)
{
    device = fx_device();
    if (access(df_in("written"), F_OK) == 0)
        return;
    df_write_files();
    (void)write_rows("a.h5", 0, 3);
    (void)write_rows("b.h5", 3, 5);
    (void)write_rows("c.h5", 8, 1);
    df_write_text("h5list", "a.h5\nb.h5\nc.h5\n");
    df_write_text("ends", "0 1\n1 2\nnowhere 3\n2 4\n");
}

/* NULL, after printing the reason, if this build cannot read it. */
__attribute__((format(printf, 1, 2))) static ferry_net *open_net(const char *fmt, ...)
{
    ferry_net_options o = { .struct_size = sizeof o, .phase = FERRY_PHASE_TRAIN, .seed = 7 };
    ferry_net *net = NULL;
    char text[1024];
    va_list args;
    int err;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    o.text = text;
    o.text_size = strlen(text);
    o.rank = rank;
    o.ranks = ranks;
    err = ferry_net_open(device, "prefetch.prototxt", &o, &net);
    if (err && strstr(ferry_last_error(), ".h5"))
        return NULL;
    if (err)
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static ferry_net *open_source(const struct source *s, int depth)
{
    char text[1024];

    snprintf(text, sizeof text, s->text, depth, df_in(s->file));
    return open_net("%s", text);
}
#pragma GCC diagnostic pop

static uint64_t position(ferry_net *net)
{
    uint64_t at = 12345;

    FX_OK(ferry__training_position(net, 0, &at));
    return at;
}

static bool same_blob(ferry_net *a, ferry_net *b, int index)
{
    const ferry_blob *x = ferry_net_blob_at(a, index), *y = ferry_net_blob_at(b, index);
    const void *px = ferry_blob_host_data(x), *py = ferry_blob_host_data(y);

    return px && py && ferry_blob_element_count(x) == ferry_blob_element_count(y) &&
           ferry_blob_rank(x) == ferry_blob_rank(y) &&
           !memcmp(ferry_blob_shape(x), ferry_blob_shape(y),
                   (size_t)ferry_blob_rank(x) * sizeof(int64_t)) &&
           !memcmp(px, py, (size_t)ferry_blob_element_count(x) * sizeof(float));
}

/* Runs both; their blobs have equal shapes and bits. */
static bool run_alike(ferry_net *a, ferry_net *b)
{
    bool same = true;

    FX_OK(ferry_net_forward(a, NULL));
    FX_OK(ferry_net_forward(b, NULL));
    for (int i = 0; i < ferry_net_blob_count(a); i++)
        same = same && same_blob(a, b, i);
    return same && position(a) == position(b);
}

/* ---- records --------------------------------------------------------------------------------- */

static void prefetching_gives_the_same_batches_in_the_same_order(void)
{
    begin();
    for (size_t k = 0; k < FERRY_TEST_COUNT(sources); k++)
        for (int depth = 1; depth < 6; depth += 3) {
            ferry_net *plain = open_source(&sources[k], 0);
            ferry_net *ahead = plain ? open_source(&sources[k], depth) : NULL;
            int differ = 0;

            for (int i = 0; plain && i < 15; i++)
                differ += !run_alike(plain, ahead);
            if (differ)
                printf("     %s, %d ahead: %d of 15 batches differ\n", sources[k].what, depth,
                       differ);
            CU_ASSERT_EQUAL(differ, 0);
            ferry_net_close(plain);
            ferry_net_close(ahead);
        }
    fx_end();
}

/*
 * The position is that of the used records, regardless of how many were prefetched; from there both
 * nets continue identically.
 */
static void a_layer_can_seek_from_any_position_to_any_other(void)
{
    if (ferry_test_skip_all_but_cpu())
        return;
    begin();
    for (size_t k = 0; k < FERRY_TEST_COUNT(sources); k++)
        for (int from = 0; from < 4; from += 3) {
            ferry_net *first = open_source(&sources[k], 3);
            ferry_net *second = first ? open_source(&sources[k], 3) : NULL;
            int64_t batch = first ? ferry_blob_dim(ferry_net_blob_at(first, 0), 0) : 0;
            int differ = 0;

            if (!first)
                continue;
            for (int i = 0; i < 11; i++)
                FX_OK(ferry_net_forward(first, NULL));
            for (int i = 0; i < from; i++)
                FX_OK(ferry_net_forward(second, NULL));
            CU_ASSERT_EQUAL(position(first), 11 * (uint64_t)batch);
            FX_OK(ferry__training_seek(second, 0, position(first)));
            CU_ASSERT_EQUAL(position(second), position(first));
            for (int i = 0; i < 10; i++)
                differ += !run_alike(first, second);
            FX_OK(ferry__training_seek(first, 0, 0));
            FX_OK(ferry__training_seek(second, 0, 0));
            differ += !run_alike(first, second);
            if (differ)
                printf("     %s from %d: %d batches differ\n", sources[k].what, from, differ);
            CU_ASSERT_EQUAL(differ, 0);
            ferry_net_close(first);
            ferry_net_close(second);
        }
    fx_end();
}

/* Item `at` of blob `index` of one net equals item `of` of the other's. */
static bool same_item(ferry_net *a, ferry_net *b, int index, int64_t at, int64_t of)
{
    const ferry_blob *x = ferry_net_blob_at(a, index), *y = ferry_net_blob_at(b, index);
    size_t size = (size_t)ferry_blob_element_count_range(x, 1, ferry_blob_rank(x)) * sizeof(float);
    const char *px = ferry_blob_host_data(x), *py = ferry_blob_host_data(y);

    return px && py && ferry_blob_rank(x) == ferry_blob_rank(y) &&
           !memcmp(ferry_blob_shape(x) + 1, ferry_blob_shape(y) + 1,
                   (size_t)(ferry_blob_rank(x) - 1) * sizeof(int64_t)) &&
           !memcmp(px + (size_t)at * size, py + (size_t)of * size, size);
}

/* A batch of each of three ranks, compared with three batches of a single process. */
static int round_of_ranks(ferry_net **of, ferry_net *alone)
{
    int64_t batch = ferry_blob_dim(ferry_net_blob_at(alone, 0), 0), i;
    int differ = 0, k, blob;

    for (k = 0; k < 3; k++)
        FX_OK(ferry_net_forward(of[k], NULL));
    for (k = 0; k < 3; k++) {
        FX_OK(ferry_net_forward(alone, NULL));
        for (i = 0; i < batch; i++)
            for (blob = 0; blob < ferry_net_blob_count(alone); blob++)
                differ += !same_item(of[(k * batch + i) % 3], alone, blob, (k * batch + i) / 3, i);
    }
    return differ;
}

static void ranks_read_records_in_turn(void)
{
    if (ferry_test_skip_all_but_cpu())
        return;
    begin();
    for (size_t k = 0; k < FERRY_TEST_COUNT(sources); k++) {
        ferry_net *alone = open_source(&sources[k], 0), *of[3] = { NULL };
        int differ = 0, i;

        ranks = 3;
        for (rank = 0; alone && rank < 3; rank++)
            of[rank] = open_source(&sources[k], 2 * rank);
        rank = ranks = 0;
        for (i = 0; alone && i < 7; i++)
            differ += round_of_ranks(of, alone);
        for (i = 0; alone && i < 3; i++) {
            CU_ASSERT_EQUAL(position(of[i]), position(alone));
            FX_OK(ferry__training_seek(of[i], 0, position(alone) / 7 * 2));
        }
        if (alone) {
            FX_OK(ferry__training_seek(alone, 0, position(alone) / 7 * 2));
            differ += round_of_ranks(of, alone);
        }
        if (differ)
            printf("     %s: %d items differ\n", sources[k].what, differ);
        CU_ASSERT_EQUAL(differ, 0);
        for (i = 0; i < 3; i++)
            ferry_net_close(of[i]);
        ferry_net_close(alone);
    }
    fx_end();
}

static void a_layer_without_records_has_no_position(void)
{
    ferry_net *net;
    uint64_t at = 5;

    begin();
    net = open_net("layer { name: 'x' type: 'DummyData' top: 'x' dummy_data_param { "
                   "shape { dim: 1 } } }");

    FX_FAILS(FERRY_EINVAL, ferry__training_position(net, 0, &at));
    FX_FAILS(FERRY_EINVAL, ferry__training_seek(net, 0, 1));
    CU_ASSERT_EQUAL(at, 5);
    ferry_net_close(net);
    fx_end();
}

/* ---- failures -------------------------------------------------------------------------------- */

static void fails_with(ferry_net *net, int code, const char *word)
{
    FX_FAILS(code, ferry_net_forward(net, NULL));
    if (!strstr(ferry_last_error(), word)) {
        printf("     %s\n", ferry_last_error());
        CU_FAIL("the message does not name it");
    }
}

/* The third picture is missing; it exists when the layer retries. */
static void a_failure_is_reported_when_its_batch_is_requested(void)
{
    ferry_net *net;
    char from[160], to[160];

    begin();
    net = open_net("layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' data_param { "
                   "prefetch: 4 } image_data_param { source: '%s' batch_size: 1 } }",
                   df_in("ends"));
    for (int i = 0; i < 2; i++)
        FX_OK(ferry_net_forward(net, NULL));
    fails_with(net, FERRY_EIO, "nowhere");
    CU_ASSERT_EQUAL(position(net), 2);
    fails_with(net, FERRY_EIO, "nowhere");
    snprintf(from, sizeof from, "%s", df_in("1"));
    snprintf(to, sizeof to, "%s", df_in("nowhere"));
    CU_ASSERT_EQUAL(symlink(from, to), 0);
    for (int i = 0, err = -1; err && i < 2; i++) /* it may have been tried before */
        err = ferry_net_forward(net, NULL);
    CU_ASSERT_EQUAL(*(const float *)ferry_blob_host_data(ferry_net_blob_find(net, "label")), 3);
    CU_ASSERT_EQUAL(position(net), 3);
    FX_OK(ferry_net_forward(net, NULL));
    CU_ASSERT_EQUAL(*(const float *)ferry_blob_host_data(ferry_net_blob_find(net, "label")), 4);
    unlink(to);
    ferry_net_close(net);
    fx_end();
}

static void a_record_of_another_shape_is_named_by_its_key(void)
{
    ferry_net *net;

    begin();
    net = open_net("layer { name: 'd' type: 'Data' top: 'data' data_param { source: '%s' "
                   "batch_size: 2 } }",
                   df_in("sizes"));
    fails_with(net, FERRY_ESHAPE, "record 00000001");
    fails_with(net, FERRY_ESHAPE, "record 00000001");
    ferry_net_close(net);
    fx_end();
}

static void a_prefetch_that_is_too_large_is_refused(void)
{
    ferry_net_options o = { .struct_size = sizeof o };
    ferry_net *net = NULL;
    char text[256];

    begin();
    snprintf(text, sizeof text,
             "layer { name: 'd' type: 'Data' top: 'data' data_param { source: '%s' batch_size: 1 "
             "prefetch: 4000000000 } }",
             df_in("bytes"));
    o.text = text;
    o.text_size = strlen(text);
    FX_FAILS(FERRY_EFORMAT, ferry_net_open(device, "slip.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "the limit is 1024"));
    fx_end();
}

/* ---- waits of the threads -------------------------------------------------------------------- */

static _Atomic int n_read;

static int count_batch(void *arg, struct ferry__batch *batch)
{
    (void)arg;
    batch->position = (uint64_t)++n_read;
    return 0;
}

/* Waits until that many were read, and then a little longer, in case one too many is read. */
static int read_up_to(int n)
{
    struct timespec tick = { 0, 1000000 };

    for (int i = 0; n_read < n && i < 20000; i++)
        nanosleep(&tick, NULL);
    for (int i = 0; i < 20; i++)
        nanosleep(&tick, NULL);
    return n_read;
}

/*
 * Four prefetched and the caller's: after the fifth it sleeps until two are left, and then reads
 * three.
 */
static void the_prefetch_thread_is_woken_when_half_is_consumed(void)
{
    static const int read[] = { 5, 5, 5, 8, 8, 8, 11 };
    struct ferry__prefetch *p = NULL;
    const struct ferry__batch *batch;

    n_read = 0;
    FX_OK_FATAL(ferry__prefetch_open(fx_device(), 4, 1, count_batch, NULL, &p));
    for (size_t i = 0; i < FERRY_TEST_COUNT(read); i++) {
        FX_OK(ferry__prefetch_next(p, &batch));
        CU_ASSERT_EQUAL(batch->position, i + 1);
        CU_ASSERT_EQUAL(read_up_to(read[i]), read[i]);
    }
    ferry__prefetch_close(p);
    fx_end();
}

/* ---- the end --------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How long closing takes, in batches, while one is being read. */
static double close_once(void)
{
    struct timespec tick = { 0, 20000000 };
    double start, batch;
    ferry_net *net =
        open_net("layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' image_data_param { "
                 "source: '%s' batch_size: 20 new_height: 400 new_width: 400 } }",
                 df_in("many"));

    start = now();
    FX_OK(ferry_net_forward(net, NULL));
    batch = now() - start;
    nanosleep(&tick, NULL);
    start = now();
    ferry_net_close(net);
    return (now() - start) / batch;
}

/*
 * A batch takes long, here because of four threads; the prefetch thread stops at the end of a
 * record. On a busy machine that may occasionally take long.
 */
static void closing_waits_for_one_record_at_most(void)
{
    char list[4096] = "0 1\n";
    double least = 1;

    begin();
    for (int i = 0; i < 300; i++)
        strcat(list, "odd 2\n");
    df_write_text("many", list);
    for (int i = 0; i < 10 && least >= 0.5; i++)
        least = close_once();
    CU_ASSERT(least < 0.5);
    fx_end();
}

static void fork_and_close(ferry_net *net)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(60);
        if (ferry_net_forward(net, NULL) != FERRY_EFORKED ||
            ferry__training_seek(net, 0, 0) != FERRY_EFORKED)
            _exit(1);
        ferry_net_close(net);
        _exit(0);
    }
    CU_ASSERT_FATAL(child > 0);
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
}

static void a_forked_child_can_close_and_the_parent_continues(void)
{
    ferry_net *net, *other;

    begin();
    net = open_source(&sources[0], 4);
    other = open_source(&sources[0], 0);
    CU_ASSERT(run_alike(net, other));
    for (int i = 0; i < 4; i++) {
        fork_and_close(net);
        CU_ASSERT(run_alike(net, other));
    }
    ferry_net_close(net);
    ferry_net_close(other);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(prefetching_gives_the_same_batches_in_the_same_order),
    FERRY_TEST(a_layer_can_seek_from_any_position_to_any_other),
    FERRY_TEST(ranks_read_records_in_turn),
    FERRY_TEST(a_layer_without_records_has_no_position),
    FERRY_TEST(a_failure_is_reported_when_its_batch_is_requested),
    FERRY_TEST(a_record_of_another_shape_is_named_by_its_key),
    FERRY_TEST(a_prefetch_that_is_too_large_is_refused),
    FERRY_TEST(the_prefetch_thread_is_woken_when_half_is_consumed),
    FERRY_TEST(closing_waits_for_one_record_at_most),
    FERRY_TEST(a_forked_child_can_close_and_the_parent_continues),
};

int main(int argc, char **argv)
{
    return df_main(argc, argv, "layer-prefetch", cases, FERRY_TEST_COUNT(cases));
}

#else

int main(void)
{
    puts("skipped: without libpng and liblmdb there is nothing to write");
    return 77;
}

#endif
