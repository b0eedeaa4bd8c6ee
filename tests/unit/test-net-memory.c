/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "oom.h"
#include "weights-net.h"

#include "net/ir/program.h"
#include "net/passes/fold.h"
#include "op/origin.h"

#include <ferry/net.h>
#include <ferry/onnx.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * The memory of a net's constants: folded weights that nets share, and weights whose memory a load
 * takes over or that are read again.
 */

#define WEIGHTS (64 * 64 * 9)

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 64 dim: 14 dim: "
    "14 } } }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 64 "
    "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'bn' type: 'BatchNorm' bottom: 'a' top: 'a' }\n"
    "layer { name: 'sc' type: 'Scale' bottom: 'a' top: 'a' scale_param { bias_term: true "
    "filler { type: 'uniform' min: 0.5 max: 2 } bias_filler { type: 'uniform' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { pool: AVE "
    "global_pooling: true } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'p' top: 'y' inner_product_param { "
    "num_output: 7 weight_filler { type: 'xavier' } } }\n";

/* ---- nets ------------------------------------------------------------------------------------ */

static ferry_net *open_net(bool fuse)
{
    ferry_net_options o = {
        .struct_size = sizeof o, .text = text, .text_size = strlen(text), .no_fuse = !fuse
    };
    ferry_net *net = NULL;

    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    return net;
}

/* Gives BatchNorm statistics. */
static void set_statistics(ferry_net *net)
{
    wn_set(ferry_net_param_at(net, 2, 0), 0.25f, 0.125f);
    wn_set(ferry_net_param_at(net, 2, 1), 1, 0.5f);
    wn_set(ferry_net_param_at(net, 2, 2), 1, 0);
}

/* The first fold of a net; NULL: none. */
static const struct ferry__fold *fold_of(const ferry_net *net)
{
    for (int i = 0; i < net->n_layers; i++)
        if (net->layers[i].folds)
            return net->layers[i].folds;
    return NULL;
}

/* Whether the folded weights of the net have no contents at present. */
static bool are_dropped(const ferry_net *net)
{
    const struct ferry__fold *f = fold_of(net);

    return f && f->weights && fx_is_filled(ferry_blob_data_memory(f->made[0]), 0);
}

/*
 * Another side of the image may need another packed form, and new weights need new ones: both are
 * packed from weights that are computed again.
 */
static void folded_weights_are_computed_whenever_they_are_packed(void)
{
    ferry_net *net = open_net(true), *plain = open_net(false);
    float got[7], wanted[7];

    set_statistics(net);
    FX_OK(ferry_net_share(plain, net));
    for (int64_t side = 14; side; side = side == 14 ? 5 : side == 5 ? 30 : 0) {
        CU_ASSERT_EQUAL(wn_run(net, side, got), 7);
        CU_ASSERT_EQUAL(wn_run(plain, side, wanted), 7);
        wn_check_equal(got, wanted, 1e-3f);
        if (!strcmp(ferry_test_backend(), "cpu"))
            CU_ASSERT(are_dropped(net));
    }
    wn_set(ferry_net_param_at(net, 1, 0), -0.5f, 0.0625f);
    CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
    CU_ASSERT_EQUAL(wn_run(plain, 14, wanted), 7);
    wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
    wn_set(ferry_net_param_at(net, 2, 1), 4, 0.5f);
    CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
    CU_ASSERT_EQUAL(wn_run(plain, 14, wanted), 7);
    wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
    ferry_net_close(plain);
    ferry_net_close(net);
    wn_end();
}

static uint64_t live_bytes(const ferry_net *net)
{
    ferry_device_stats stats = { .struct_size = sizeof stats };

    FX_OK(ferry_device_get_stats(ferry_net_device(net), &stats));
    return stats.live_bytes;
}

/*
 * A net that shares weights allocates less than one with weights of its own. The first of the nets
 * that share weights may be closed before the others.
 */
static void nets_that_share_weights_share_packed_forms(void)
{
    ferry_net *nets[3] = { open_net(true), open_net(true), open_net(true) };
    float got[3][7];
    uint64_t at[4];

    set_statistics(nets[0]);
    set_statistics(nets[2]);
    FX_OK(ferry_net_share(nets[1], nets[0]));
    for (int i = 0; i < 3; i++) {
        at[i] = live_bytes(nets[i]);
        CU_ASSERT_EQUAL(wn_run(nets[i], 14, got[i]), 7);
        wn_check_equal(got[0], got[i], 0);
    }
    at[3] = live_bytes(nets[2]);
    if (!strcmp(ferry_test_backend(), "cpu"))
        CU_ASSERT(at[2] - at[1] + WEIGHTS * sizeof(float) <= at[3] - at[2]);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fold_of(nets[0]));
    CU_ASSERT_PTR_NOT_NULL_FATAL(fold_of(nets[1]));
    CU_ASSERT_PTR_EQUAL(fold_of(nets[0])->folded, fold_of(nets[1])->folded);
    ferry_net_close(nets[0]);
    CU_ASSERT_EQUAL(wn_run(nets[1], 30, got[0]), 7);
    CU_ASSERT_EQUAL(wn_run(nets[1], 14, got[0]), 7);
    wn_check_equal(got[0], got[1], 0);
    ferry_net_close(nets[1]);
    ferry_net_close(nets[2]);
    wn_end();
}

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS 6

static atomic_int wrong; /* CUnit's assertions are not thread-safe */
static ferry_net *source;
static pthread_barrier_t barrier;
static float results[THREADS][7];

static void *share_and_run(void *arg)
{
    size_t thread = (size_t)arg;
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;
    const float *y = NULL;
    float *x;
    int err = ferry_net_open(ferry_net_device(source), "net.prototxt", &o, &net);

    pthread_barrier_wait(&barrier);
    err = err ? err : ferry_net_share(net, source);
    x = err ? NULL : ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    for (int i = 0; x && i < 64 * 14 * 14; i++)
        x[i] = (float)(i % 11) - 5;
    for (int pass = 0; x && !err && pass < 3; pass++)
        err = ferry_net_forward(net, NULL);
    y = x && !err ? ferry_blob_host_data(ferry_net_output_at(net, 0)) : NULL;
    if (y)
        memcpy(results[thread], y, sizeof results[thread]);
    else
        atomic_fetch_add(&wrong, 1);
    ferry_net_close(net);
    return NULL;
}

static void threads_pack_the_same_weights_at_once(void)
{
    int rounds = strcmp(ferry_test_backend(), "cpu") ? 1 : 4;
    pthread_t threads[THREADS];

    for (int round = 0; round < rounds; round++) {
        source = open_net(true);
        set_statistics(source);
        CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&barrier, NULL, THREADS), 0);
        for (size_t i = 0; i < THREADS; i++)
            CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, share_and_run, (void *)i), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
        CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
        for (int i = 1; i < THREADS; i++)
            CU_ASSERT_EQUAL(memcmp(results[0], results[i], sizeof results[0]), 0);
        ferry_net_close(source);
        wn_end();
    }
}

/* ---- loading --------------------------------------------------------------------------------- */

static const char *const file = "test-net-memory.caffemodel";

/* Only a parameter without contents takes the memory of the values that were read. */
static void a_load_writes_into_parameters_that_have_contents(void)
{
    ferry_net *saved = open_net(true), *net = open_net(true), *user = open_net(true);
    float got[7], wanted[7];
    const float *w;

    set_statistics(saved);
    FX_OK_FATAL(ferry_net_save(saved, file, FERRY_IO_CAFFEMODEL));
    CU_ASSERT_EQUAL(wn_run(saved, 14, wanted), 7);
    FX_OK(ferry_net_load(net, file, NULL));
    CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
    wn_check_equal(got, wanted, 0);
    FX_OK(ferry_net_share(user, net));
    w = ferry_blob_host_data(ferry_net_param_at(user, 1, 0));
    wn_set(ferry_net_param_at(saved, 1, 0), 0.5f, -0.0625f);
    FX_OK_FATAL(ferry_net_save(saved, file, FERRY_IO_CAFFEMODEL));
    CU_ASSERT_EQUAL(wn_run(saved, 14, wanted), 7);
    FX_OK(ferry_net_load(net, file, NULL));
    CU_ASSERT_PTR_EQUAL(ferry_blob_host_data(ferry_net_param_at(user, 1, 0)), w);
    CU_ASSERT_EQUAL(wn_run(user, 14, got), 7);
    wn_check_equal(got, wanted, 0);
    ferry_net_close(user);
    ferry_net_close(net);
    ferry_net_close(saved);
    unlink(file);
    wn_end();
}

/* ---- weights that are read again ------------------------------------------------------------- */

static const char *const other = "test-net-memory-2.caffemodel";

/* A net that does not store its weights; `fuse` decides whether it folds them. */
static ferry_net *open_rereading(bool fuse)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = text,
                            .text_size = strlen(text),
                            .no_fuse = !fuse,
                            .reread_weights = true };
    ferry_net *net = NULL;

    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    return net;
}

static const ferry_memory *weights_of(const ferry_net *net)
{
    return ferry_blob_data_memory(net->layers[1].params[0].blob);
}

static bool rereads(void)
{
    return ferry_device_get_properties(wn_device())->host_memory;
}

/* Writes a file of weights and returns the net that has them; *wanted is its output. */
static ferry_net *save(const char *path, float first, float *wanted)
{
    ferry_net *net = open_net(true);

    set_statistics(net);
    wn_set(ferry_net_param_at(net, 1, 0), first, 0.0625f);
    FX_OK_FATAL(ferry_net_save(net, path, FERRY_IO_CAFFEMODEL));
    CU_ASSERT_EQUAL(wn_run(net, 14, wanted), 7);
    return net;
}

/* Whether two nets have the same weights, as a program reads them. */
static bool same_weights(ferry_net *a, ferry_net *b)
{
    const float *x = ferry_blob_host_data(ferry_net_param_at(a, 1, 0));
    const float *y = ferry_blob_host_data(ferry_net_param_at(b, 1, 0));

    return x && y && !memcmp(x, y, WEIGHTS * sizeof *x);
}

/* The file may be removed or replaced; its contents are those of the file that was loaded. */
static void weights_are_read_again_whenever_they_are_needed(void)
{
    float got[7], wanted[7], ignored[7];

    for (int fuse = 0; fuse < 2; fuse++) {
        ferry_net *saved = save(file, -0.5f, wanted), *net = open_rereading(fuse), *copy;

        FX_OK(ferry_net_load(net, file, NULL));
        CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
        wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
        if (rereads() && !strcmp(ferry_test_backend(), "cpu"))
            CU_ASSERT(fx_is_filled(weights_of(net), 0));
        unlink(file);
        ferry_net_close(save(file, 2, ignored));
        FX_OK(ferry_net_save(net, other, FERRY_IO_CAFFEMODEL));
        copy = open_net(true);
        FX_OK(ferry_net_load(copy, other, NULL));
        CU_ASSERT(same_weights(copy, saved));
        CU_ASSERT_EQUAL(wn_run(net, 30, got), 7);
        CU_ASSERT(same_weights(net, saved));
        CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
        wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
        wn_set(ferry_net_param_at(net, 1, 0), 0.25f, 0.0625f);
        wn_set(ferry_net_param_at(saved, 1, 0), 0.25f, 0.0625f);
        CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
        CU_ASSERT_EQUAL(wn_run(saved, 14, wanted), 7);
        wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
        ferry_net_close(copy);
        ferry_net_close(net);
        ferry_net_close(saved);
    }
    unlink(file);
    unlink(other);
    wn_end();
}

/* Overwrites a file in place. */
static void overwrite(const char *path)
{
    FILE *f = fopen(path, "r+b");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT(fputs("not the weights that were loaded", f) >= 0);
    CU_ASSERT_EQUAL(ftruncate(fileno(f), 100), 0);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

/* Packed weights stay usable, and a new file can be loaded. */
static void an_overwritten_file_is_an_error_where_weights_are_read(void)
{
    float got[7], wanted[7];
    ferry_net *saved = save(file, -0.5f, wanted), *net = open_rereading(true);
    bool gone = false;

    FX_OK(ferry_net_load(net, file, NULL));
    CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
    gone = fx_is_filled(weights_of(net), 0);
    overwrite(file);
    CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
    wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
    if (gone) {
        FX_FAILED(FERRY_EIO, !ferry_net_param_at(net, 1, 0));
        FX_FAILED(FERRY_EIO, !ferry_layer_param_at(ferry_net_layer_at(net, 1), 0));
        FX_FAILS(FERRY_EIO, ferry_net_save(net, other, FERRY_IO_CAFFEMODEL));
        FX_FAILS(FERRY_EIO, ferry_net_move_to(net, ferry_net_device(net)));
        FX_FAILS(FERRY_EIO, ferry_net_export_onnx(net, other, NULL));
    }
    FX_OK_FATAL(ferry_net_save(saved, other, FERRY_IO_CAFFEMODEL));
    FX_OK(ferry_net_load(net, other, NULL));
    CU_ASSERT(same_weights(net, saved));
    CU_ASSERT_EQUAL(wn_run(net, 30, got), 7);
    CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
    wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
    ferry_net_close(net);
    ferry_net_close(saved);
    unlink(file);
    unlink(other);
    wn_end();
}

/* An overwritten file before the first pass: the pass names the layer, and a load mends the net. */
static void an_overwritten_file_fails_the_pass_that_packs(void)
{
    float got[7], wanted[7];
    ferry_net *saved = save(file, -0.5f, wanted), *net = open_rereading(true);

    FX_OK_FATAL(ferry_net_save(saved, other, FERRY_IO_CAFFEMODEL));
    FX_OK(ferry_net_load(net, file, NULL));
    overwrite(file);
    wn_set(ferry_net_input_at(net, 0), -3, 0.5f);
    if (rereads()) {
        FX_FAILS(FERRY_EIO, ferry_net_forward(net, NULL));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "\"a\""));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), file));
    }
    FX_OK(ferry_net_load(net, other, NULL));
    CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
    wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
    ferry_net_close(net);
    ferry_net_close(saved);
    unlink(file);
    unlink(other);
    wn_end();
}

/* The file stays open as long as a net has weights of it. */
static void a_net_shares_weights_that_are_read_again(void)
{
    float got[7], wanted[7];
    ferry_net *saved = save(file, -0.5f, wanted), *first = open_rereading(true);
    ferry_net *second = open_rereading(true);

    FX_OK(ferry_net_load(first, file, NULL));
    FX_OK(ferry_net_share(second, first));
    CU_ASSERT_EQUAL(wn_run(first, 14, got), 7);
    ferry_net_close(first);
    CU_ASSERT_EQUAL(wn_run(second, 14, got), 7);
    wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
    CU_ASSERT(same_weights(second, saved));
    ferry_net_close(second);
    ferry_net_close(saved);
    unlink(file);
    wn_end();
}

/* ---- the size of packed weights -------------------------------------------------------------- */

/* 64 * 112 and 112 * 128 kernels, which fill blocks of the pool. */
static const char tiles_text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 64 dim: 14 dim: "
    "14 } } }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: "
    "112 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { num_output: "
    "128 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'b' top: 'p' pooling_param { pool: AVE "
    "global_pooling: true } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'p' top: 'y' inner_product_param { "
    "num_output: 7 weight_filler { type: 'xavier' } } }\n";

static ferry_net *open_tiles(bool reread)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = tiles_text,
                            .text_size = strlen(tiles_text),
                            .reread_weights = reread };
    ferry_net *net = NULL;

    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    return net;
}

struct sizes {
    uint64_t weights, packed, values; /* values: of arenas and of the workspace */
};

static struct sizes sizes_of(ferry_net *net)
{
    struct sizes s = { 0 };
    uint64_t workspace = 0;

    for (int i = 0; i < ferry_net_layer_count(net); i++)
        if (net->layers[i].n_params)
            s.weights += ferry_memory_size(ferry_blob_data_memory(net->layers[i].params[0].blob));
    for (int i = 0; i < net->stage_count; i++) {
        const struct ferry__program *p = net->stages[i].now;

        for (int k = 0; p && k < p->n_items; k++) {
            ferry_operation_plan plan = { .struct_size = sizeof plan };

            if (!p->items[k].prepared)
                continue;
            FX_OK(ferry_operation_get_plan(p->items[k].prepared, &plan));
            s.packed += plan.packed_bytes;
            workspace = plan.workspace_bytes > workspace ? plan.workspace_bytes : workspace;
        }
    }
    for (int i = 0; i < net->n_arenas; i++)
        s.values += ferry_memory_size(net->arenas[i].memory);
    s.values += workspace;
    return s;
}

/* The net allocates packed weights, as large as the weights, its values, its input and biases. */
static void packed_weights_take_the_memory_of_weights_that_are_read_again(void)
{
    bool is_cpu = !strcmp(ferry_test_backend(), "cpu");
    ferry_net *stored = open_tiles(false), *net = open_tiles(true);
    struct sizes of_stored, of_net;
    float got[7], wanted[7];
    uint64_t before;

    FX_OK_FATAL(ferry_net_save(stored, file, FERRY_IO_CAFFEMODEL));
    for (int64_t side = 14; side; side = side == 14 ? 28 : side == 28 ? 5 : 0) {
        CU_ASSERT_EQUAL(wn_run(stored, side, wanted), 7);
        of_stored = sizes_of(stored);
        before = live_bytes(stored);
        if (side == 14)
            FX_OK(ferry_net_load(net, file, NULL));
        CU_ASSERT_EQUAL(wn_run(net, side, got), 7);
        wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
        of_net = sizes_of(net);
        if (!is_cpu)
            continue;
        CU_ASSERT(10 * of_net.packed <= 11 * of_net.weights);
        if (side != 5) /* by tiles */
            CU_ASSERT(10 * of_stored.packed >= 15 * of_stored.weights);
        CU_ASSERT(live_bytes(net) - before <= of_net.weights * 11 / 10 + of_net.values +
                                                  (uint64_t)(side * side) * 256 + (16u << 10));
    }
    ferry_net_close(net);
    ferry_net_close(stored);
    unlink(file);
    wn_end();
}

/* ---- without memory -------------------------------------------------------------------------- */

/* A bias of 80,000 bytes, which is folded, and scales of as many. */
static void biases_and_scales_are_stored(void)
{
    static const char wide[] =
        "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 4 } } }\n"
        "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param { "
        "num_output: 20000 weight_filler { type: 'xavier' } bias_filler { type: 'constant' "
        "value: 3 } } }\n"
        "layer { name: 'sc' type: 'Scale' bottom: 'y' top: 'y' scale_param { bias_term: true "
        "filler { type: 'constant' value: 2 } bias_filler { type: 'constant' value: 1 } } }\n";
    ferry_net_options o = { .struct_size = sizeof o, .text = wide, .text_size = strlen(wide) };
    ferry_net *saved = NULL, *net = NULL;

    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &saved));
    FX_OK_FATAL(ferry_net_save(saved, file, FERRY_IO_CAFFEMODEL));
    o.reread_weights = true;
    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    FX_OK(ferry_net_load(net, file, NULL));
    wn_set(ferry_net_input_at(net, 0), 0, 0);
    for (int pass = 0; pass < 2; pass++) {
        const float *y;

        FX_OK_FATAL(ferry_net_forward(net, NULL));
        y = ferry_blob_host_data(ferry_net_output_at(net, 0));
        CU_ASSERT_PTR_NOT_NULL_FATAL(y);
        CU_ASSERT_DOUBLE_EQUAL(y[0], 7, 1e-5);
        CU_ASSERT_DOUBLE_EQUAL(y[19999], 7, 1e-5);
    }
    ferry_net_close(net);
    ferry_net_close(saved);
    unlink(file);
    wn_end();
}

/* A program may read the parameters of such a net, or train it, at any time. */
static void a_net_without_the_option_stores_what_it_shares(void)
{
    float got[7], wanted[7];
    ferry_net *saved = save(file, -0.5f, wanted), *first = open_rereading(true);
    ferry_net *user = open_net(true);
    const ferry_blob *held = ferry_net_param_at(user, 1, 0);

    FX_OK(ferry_net_load(first, file, NULL));
    FX_OK(ferry_net_share(user, first));
    CU_ASSERT_EQUAL(wn_run(user, 14, got), 7);
    wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
    CU_ASSERT_FALSE(fx_is_filled(ferry_blob_data_memory(held), 0));
    CU_ASSERT(same_weights(user, saved));
    ferry_net_close(user);
    ferry_net_close(first);
    ferry_net_close(saved);
    unlink(file);
    wn_end();
}

static void every_allocation_of_load_and_first_pass_may_fail(void)
{
    unsigned n = 1, step = strcmp(ferry_test_backend(), "cpu") ? 7 : 1;
    float got[7], wanted[7];
    bool failed = true;
    ferry_net *net = open_net(true);

    set_statistics(net);
    FX_OK_FATAL(ferry_net_save(net, file, FERRY_IO_CAFFEMODEL));
    CU_ASSERT_EQUAL(wn_run(net, 14, wanted), 7);
    ferry_net_close(net);
    for (; failed; n += step) {
        ferry_blob *x;

        net = open_rereading(true);
        x = ferry_net_input_at(net, 0);
        wn_set(x, -3, 0.5f);
        oom_arm(n);
        if (!ferry_net_load(net, file, NULL) && !ferry_net_forward(net, NULL))
            (void)ferry_blob_host_data(ferry_net_output_at(net, 0));
        failed = oom_disarm();
        FX_OK(ferry_net_load(net, file, NULL));
        CU_ASSERT_EQUAL(wn_run(net, 14, got), 7);
        wn_check_equal(got, wanted, 1e-3f * fabsf(wanted[0]) + 1e-3f);
        ferry_net_close(net);
        wn_end();
    }
    unlink(file);
    CU_ASSERT(n > 20); /* the minimum number of allocations */
}

static const ferry_test_case cases[] = {
    FERRY_TEST(folded_weights_are_computed_whenever_they_are_packed),
    FERRY_TEST(nets_that_share_weights_share_packed_forms),
    FERRY_TEST(threads_pack_the_same_weights_at_once),
    FERRY_TEST(a_load_writes_into_parameters_that_have_contents),
    FERRY_TEST(weights_are_read_again_whenever_they_are_needed),
    FERRY_TEST(an_overwritten_file_is_an_error_where_weights_are_read),
    FERRY_TEST(an_overwritten_file_fails_the_pass_that_packs),
    FERRY_TEST(a_net_shares_weights_that_are_read_again),
    FERRY_TEST(packed_weights_take_the_memory_of_weights_that_are_read_again),
    FERRY_TEST(biases_and_scales_are_stored),
    FERRY_TEST(a_net_without_the_option_stores_what_it_shares),
    FERRY_TEST(every_allocation_of_load_and_first_pass_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net memory", cases, FERRY_TEST_COUNT(cases));
}
