/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "oom.h"
#include "weights-net.h"

#include "net/model/state.h"

#include <ferry/io.h>
#include <ferry/net.h>
#include <ferry/net_ranges.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Nets whose file has weights as rows of integers (ferry_net_save_integers): the same results, bit
 * by bit, as with the same numbers in F32, in a quarter of the bytes.
 */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 64 dim: 9 dim: 9\n"
    "  } } }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param {\n"
    "  num_output: 256 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } bias_filler { type: "
    "'uniform' } } }\n"
    "layer { name: 'sc' type: 'Scale' bottom: 'a' top: 'a' scale_param { bias_term: true\n"
    "  filler { type: 'uniform' min: -2 max: 2 } bias_filler { type: 'uniform' } } }\n"
    "layer { name: 'ra' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'g' type: 'Convolution' bottom: 'a' top: 'g' convolution_param {\n"
    "  num_output: 256 kernel_size: 3 group: 2 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'g' top: 'p' pooling_param { pool: AVE\n"
    "  global_pooling: true } }\n"
    "layer { name: 'pre' type: 'Scale' bottom: 'p' top: 'q' scale_param {\n"
    "  filler { type: 'uniform' min: 0.5 max: 2 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'q' top: 'c' inner_product_param {\n"
    "  num_output: 300 weight_filler { type: 'xavier' } bias_filler { type: 'uniform' } } }\n"
    "layer { name: 't' type: 'InnerProduct' bottom: 'c' top: 't' inner_product_param {\n"
    "  num_output: 64 transpose: true weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'f' type: 'InnerProduct' bottom: 't' top: 'f' inner_product_param {\n"
    "  num_output: 64 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'InnerProduct' bottom: 'f' top: 's' param { name: 'w' }\n"
    "  inner_product_param { num_output: 64 weight_filler { type: 'xavier' } bias_term: false } }\n"
    "layer { name: 's2' type: 'InnerProduct' bottom: 's' top: 's2' param { name: 'w' }\n"
    "  inner_product_param { num_output: 64 weight_filler { type: 'xavier' } bias_term: false } }\n"
    "layer { name: 'u' type: 'InnerProduct' bottom: 's2' top: 'u' inner_product_param {\n"
    "  num_output: 64 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'end' type: 'InnerProduct' bottom: 'u' top: 'y' inner_product_param {\n"
    "  num_output: 7 weight_filler { type: 'xavier' } } }\n";

#define LAYER_A  1
#define LAYER_IP 7

/* The blobs with a range; `u` has none, so that layer "end" stays F32. */
static const char *const ranged[] = { "x", "a", "g", "p", "q", "c", "t", "f", "s", "s2" };
/*
 * The layers with integers. "f" is set to F32, "t" is transposed, and "s" and "s2" share weights.
 */
static const char *const rows[] = { "a/0", "g/0", "ip/0", "u/0" };

static const char *const file = "test-net-rows.caffemodel";
static const char *const wide = "test-net-rows-f32.caffemodel";

/* ---- files and nets -------------------------------------------------------------------------- */

static ferry_net *open_net(ferry_phase phase, bool reread)
{
    return wn_open(text, phase, reread);
}

static ferry_net *open_with(const char *path, bool reread)
{
    return wn_open_with(text, path, reread);
}

/* Scales of outputs that are folded into weights: 0, −1.5, and one too small for any weight. */
static void set_odd_scales(ferry_net *net)
{
    float *scale = ferry_blob_mutable_host_data(ferry_net_param_at(net, 2, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(scale);
    scale[3] = 0;
    scale[4] = -1.5f;
    scale[5] = 1e-45f;
}

/* Writes `file`, and `wide` with the same numbers in F32. */
static void make_files(void)
{
    ferry_net *net = open_net(FERRY_PHASE_TEST, false);

    for (size_t i = 0; i < sizeof ranged / sizeof ranged[0]; i++)
        FX_OK(ferry_net_set_range(net, ranged[i], i % 2 ? 0 : -2, 2));
    FX_OK(ferry_net_set_float_only(net, "f", true));
    set_odd_scales(net);
    FX_OK_FATAL(ferry_net_save_integers(net, file));
    ferry_net_close(net);
    net = open_with(file, false);
    FX_OK_FATAL(ferry_net_save(net, wide, FERRY_IO_CAFFEMODEL));
    ferry_net_close(net);
}

static void end(void)
{
    unlink(file);
    unlink(wide);
    wn_end();
}

/* Checks that two nets have the same outputs, bit by bit. */
static void check_same(ferry_net *a, ferry_net *b)
{
    float got[7] = { 0 }, want[7] = { 1 };

    CU_ASSERT_EQUAL(wn_run(a, 9, got), 7);
    CU_ASSERT_EQUAL(wn_run(b, 9, want), 7);
    CU_ASSERT_EQUAL(memcmp(got, want, sizeof got), 0);
}

/* Whether the device computes layers with integers, from packed weights. */
static bool has_integers(ferry_net *net, int layer)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };

    FX_OK(ferry_net_get_layer_info(net, layer, &info));
    return !strcmp(info.precision, "int8");
}

static const char *weights_of(const ferry_net *net, int layer)
{
    static ferry_net_layer_info info;

    info = (ferry_net_layer_info){ .struct_size = sizeof info };
    FX_OK(ferry_net_get_layer_info(net, layer, &info));
    return info.weights;
}

/* Whether a parameter's F32 form has no contents at present. */
static bool is_dropped(const ferry_net *net, int layer)
{
    return fx_is_filled(ferry_blob_data_memory(net->layers[layer].params[0].blob), 0);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static bool is_in_rows(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(name, rows[i]))
            return true;
    return false;
}

static int64_t size_of(const char *path)
{
    struct stat s;

    return stat(path, &s) ? -1 : (int64_t)s.st_size;
}

static void the_file_has_integers_where_products_have(void)
{
    int64_t floats = 0;
    ferry_io *io;

    make_files();
    FX_OK_FATAL(ferry_io_open(file, &io));
    for (int64_t i = 0; i < ferry_io_entry_count(io); i++) {
        const ferry_io_entry *e;

        FX_OK_FATAL(ferry_io_entry_at(io, i, &e));
        CU_ASSERT_STRING_EQUAL(e->storage, is_in_rows(e->name) ? "I8_ROWS" : "F32");
        floats += is_in_rows(e->name) ? 0 : e->count;
    }
    ferry_io_close(io);
    CU_ASSERT(size_of(file) > 0);
    CU_ASSERT(size_of(file) - 4 * floats < (size_of(wide) - 4 * floats) * 26 / 100);
    FX_FAILS(FERRY_EINVAL, ferry_net_save_integers(NULL, file));
    end();
}

/* The original weights are rounded when they are packed, and give the same integers. */
static void results_are_those_of_the_same_numbers_in_f32(void)
{
    make_files();
    for (int reread = 0; reread < 2; reread++) {
        ferry_net *net = open_with(file, reread), *plain = open_with(wide, false);

        for (int pass = 0; pass < 2; pass++)
            check_same(net, plain);
        CU_ASSERT_STRING_EQUAL(weights_of(plain, LAYER_IP), "F32");
        if (has_integers(net, LAYER_A)) {
            CU_ASSERT_STRING_EQUAL(weights_of(net, LAYER_A), "I8");
            CU_ASSERT_STRING_EQUAL(weights_of(net, LAYER_IP), "I8");
            CU_ASSERT(is_dropped(net, LAYER_A) && is_dropped(net, LAYER_IP));
        }
        ferry_net_close(net);
        ferry_net_close(plain);
    }
    end();
}

/* Each value is its integer times its output's scale. */
static void check_values(ferry_net *net, int layer)
{
    ferry_blob *p = ferry_net_param_at(net, layer, 0);
    int64_t outputs = ferry_blob_dim(p, 0), each = ferry_blob_element_count(p) / outputs, wrong = 0;
    const float *w = ferry_blob_host_data(p);

    CU_ASSERT_EQUAL(ferry_blob_dtype(p), FERRY_F32);
    for (int64_t o = 0; o < outputs; o++) {
        float most = 0;

        for (int64_t i = 0; i < each; i++)
            most = fmaxf(most, fabsf(w[o * each + i]));
        for (int64_t i = 0; i < each; i++) {
            double n = w[o * each + i] * 127.0 / most;

            wrong += !(fabs(n - nearbyint(n)) < 1e-4);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void parameters_are_f32_for_a_program(void)
{
    ferry_net *net, *plain;

    make_files();
    net = open_with(file, false);
    plain = open_with(wide, false);
    check_same(net, plain);
    for (int layer = LAYER_A; layer <= LAYER_IP; layer += LAYER_IP - LAYER_A) {
        ferry_blob *p = ferry_net_param_at(net, layer, 0), *q = ferry_net_param_at(plain, layer, 0);
        size_t bytes = (size_t)ferry_blob_element_count(q) * sizeof(float);

        check_values(net, layer);
        CU_ASSERT_EQUAL(memcmp(ferry_blob_host_data(p), ferry_blob_host_data(q), bytes), 0);
        check_same(net, plain);
        ((float *)ferry_blob_mutable_host_data(p))[3] = 0.1f;
        ((float *)ferry_blob_mutable_host_data(q))[3] = 0.1f;
        check_same(net, plain);
        CU_ASSERT_STRING_EQUAL(weights_of(net, layer), "F32");
    }
    FX_OK(ferry_net_load(net, file, NULL));
    FX_OK(ferry_net_load(plain, wide, NULL));
    check_same(net, plain);
    ferry_net_close(net);
    ferry_net_close(plain);
    end();
}

static void nets_share_and_train_them(void)
{
    ferry_net *net, *plain, *user = open_net(FERRY_PHASE_TEST, false);
    ferry_net *trained = open_net(FERRY_PHASE_TRAIN, false), *like;

    make_files();
    net = open_with(file, false);
    plain = open_with(wide, false);
    FX_OK(ferry_net_share(user, net));
    check_same(user, plain);
    ferry_net_close(net);
    check_same(user, plain);
    like = open_net(FERRY_PHASE_TRAIN, false);
    FX_OK(ferry_net_load(trained, file, NULL));
    FX_OK(ferry_net_load(like, wide, NULL));
    check_same(trained, like);
    FX_OK(ferry_net_set_range(user, "x", -1, 1));
    FX_OK(ferry_net_set_range(plain, "x", -1, 1));
    check_same(user, plain);
    ferry_net_close(trained);
    ferry_net_close(like);
    ferry_net_close(user);
    ferry_net_close(plain);
    end();
}

/* Saved again, the integers are the same. */
static void a_file_that_is_saved_again_is_the_same(void)
{
    const char *again = "test-net-rows-again.caffemodel";
    static char one[2 << 20], other[2 << 20];

    make_files();
    for (int reread = 0; reread < 2; reread++) {
        ferry_net *net = open_with(file, reread);
        FILE *f, *g;
        size_t n;

        FX_OK_FATAL(ferry_net_save_integers(net, again));
        ferry_net_close(net);
        f = fopen(file, "rb");
        g = fopen(again, "rb");
        CU_ASSERT_FATAL(f && g);
        n = fread(one, 1, sizeof one, f);
        CU_ASSERT(n > 100000 && n < sizeof one && fread(other, 1, sizeof other, g) == n);
        CU_ASSERT_EQUAL(memcmp(one, other, n), 0);
        fclose(f);
        fclose(g);
        unlink(again);
    }
    end();
}

/* Writes the arrays of `file` into another, those of inner products with four axes. */
static void write_legacy(const char *to)
{
    ferry_io_writer *w = NULL;
    ferry_io *io = NULL;

    FX_OK_FATAL(ferry_io_open(file, &io));
    FX_OK_FATAL(ferry_io_writer_create(to, FERRY_IO_CAFFEMODEL, &w));
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < ferry_io_entry_count(io); i++) {
            int64_t four[] = { 1, 1, 0, 0 };
            const ferry_io_entry *e;
            ferry_io_entry legacy;
            ferry_blob *b = NULL;

            FX_OK_FATAL(ferry_io_entry_at(io, i, &e));
            legacy = *e;
            legacy.rank = 4;
            legacy.shape = four;
            for (int k = 0; k < 2 && e->rank == 2; k++)
                four[2 + k] = e->shape[k];
            if (!pass) {
                FX_OK_FATAL(ferry_io_writer_declare(w, e->rank == 2 ? &legacy : e));
                continue;
            }
            FX_OK_FATAL(ferry_blob_create(wn_device(), FERRY_F32, NULL, FERRY_UNSHAPED, &b));
            FX_OK_FATAL(ferry_io_read(io, e, b));
            if (e->rank == 2)
                FX_OK_FATAL(ferry_blob_reshape4(b, 1, 1, e->shape[0], e->shape[1]));
            FX_OK_FATAL(ferry_io_writer_write(w, e->name, b, false));
            ferry_blob_destroy(b);
        }
    FX_OK_FATAL(ferry_io_writer_commit(w));
    ferry_io_close(io);
}

/* All of its rows are one row in a file with the four axes of early Caffe. */
static void a_legacy_shape_has_other_rows(void)
{
    const char *legacy = "test-net-rows-legacy.caffemodel";

    make_files();
    write_legacy(legacy);
    for (int reread = 0; reread < 2; reread++) {
        ferry_net *net = open_with(legacy, reread), *plain = open_net(FERRY_PHASE_TEST, reread);

        FX_OK_FATAL(ferry_net_save(net, wide, FERRY_IO_CAFFEMODEL));
        FX_OK(ferry_net_load(plain, wide, NULL));
        check_same(net, plain);
        CU_ASSERT_STRING_EQUAL(weights_of(net, LAYER_IP), "F32");
        ferry_net_close(net);
        ferry_net_close(plain);
    }
    unlink(legacy);
    end();
}

static void a_bad_file_changes_nothing(void)
{
    const char *cut = "test-net-rows-cut.caffemodel";
    ferry_net *net, *plain;

    make_files();
    net = open_with(file, false);
    plain = open_with(wide, false);
    FX_OK_FATAL(ferry_net_save_integers(net, cut));
    CU_ASSERT_EQUAL(truncate(cut, 60000), 0);
    FX_FAILS(FERRY_EFORMAT, ferry_net_load(net, cut, NULL));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), cut));
    check_same(net, plain);
    ferry_net_close(net);
    net = open_net(FERRY_PHASE_TEST, true); /* overwritten before its weights are packed */
    FX_OK(ferry_net_load(net, file, NULL));
    CU_ASSERT_EQUAL(truncate(file, 60000), 0);
    if (ferry_device_get_properties(wn_device())->host_memory) {
        FX_FAILS(FERRY_EIO, ferry_net_forward(net, NULL));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), file));
    }
    ferry_net_close(net);
    ferry_net_close(plain);
    unlink(cut);
    end();
}

static void every_allocation_may_fail(void)
{
    unsigned n = 1, step = ferry_test_is_slow() ? 23 : 3;
    bool failed = true;
    ferry_net *plain;

    make_files();
    plain = open_with(wide, false);
    for (; failed; n += step) {
        ferry_net *net = open_net(FERRY_PHASE_TEST, n % 2);

        oom_arm(n);
        if (!ferry_net_load(net, file, NULL) && !ferry_net_forward(net, NULL))
            (void)ferry_blob_host_data(ferry_net_output_at(net, 0));
        failed = oom_disarm();
        FX_OK(ferry_net_load(net, file, NULL));
        check_same(net, plain);
        ferry_net_close(net);
    }
    ferry_net_close(plain);
    end();
    CU_ASSERT(n > 20);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_file_has_integers_where_products_have),
    FERRY_TEST(results_are_those_of_the_same_numbers_in_f32),
    FERRY_TEST(parameters_are_f32_for_a_program),
    FERRY_TEST(nets_share_and_train_them),
    FERRY_TEST(a_file_that_is_saved_again_is_the_same),
    FERRY_TEST(a_legacy_shape_has_other_rows),
    FERRY_TEST(a_bad_file_changes_nothing),
    FERRY_TEST(every_allocation_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net rows", cases, FERRY_TEST_COUNT(cases));
}
