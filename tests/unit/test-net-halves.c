/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "oom.h"
#include "weights-net.h"

#include "net/ir/program.h"

#include <ferry/io.h>
#include <ferry/net.h>
#include <ferry/op_types.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Nets whose file of weights has F16 or BF16: the same results, bit by bit, as with the same
 * numbers in F32, and half of the memory.
 */

/* %d: the side of the image. */
static const char pattern[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 64 dim: %d dim: "
    "%d } } }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 64 "
    "kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'b' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { num_output: "
    "320 kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'sc' type: 'Scale' bottom: 'b' top: 'b' scale_param { bias_term: true "
    "filler { type: 'uniform' min: 0.5 max: 2 } bias_filler { type: 'uniform' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'b' top: 'p' pooling_param { pool: AVE "
    "kernel_size: 5 stride: 4 } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'p' top: 'c' inner_product_param { "
    "num_output: 100 weight_filler { type: 'xavier' } bias_filler { type: 'uniform' } } }\n"
    "layer { name: 'q' type: 'ReLU' bottom: 'c' top: 'c' }\n"
    "layer { name: 'end' type: 'InnerProduct' bottom: 'c' top: 'y' inner_product_param { "
    "num_output: 7 weight_filler { type: 'xavier' } } }\n";

#define OUTPUTS  7
#define LAYER_A  1
#define LAYER_IP 6

/* Whether a load keeps halves on this backend, and whether its products are packed. */
static bool keeps(void)
{
    return ferry_device_get_properties(wn_device())->host_memory;
}

static bool packs(void)
{
    return !strcmp(ferry_test_backend(), "cpu");
}

/* Only the cpu plugin chooses the form of weights by the size of the image. */
static int side(void)
{
    return packs() ? 9 : 5;
}

/* ---- files and nets -------------------------------------------------------------------------- */

static const char *const wide = "test-net-halves-wide.caffemodel";

static const char *text(void)
{
    static char written[sizeof pattern];

    snprintf(written, sizeof written, pattern, side(), side());
    return written;
}

static ferry_net *open_net(ferry_phase phase, bool reread)
{
    return wn_open(text(), phase, reread);
}

static ferry_net *open_with(const char *path, bool reread)
{
    return wn_open_with(text(), path, reread);
}

static bool has_hdf5(void)
{
    ferry_io_writer *w = NULL;

    if (ferry_io_writer_create("test-net-halves.h5", FERRY_IO_HDF5, &w) == FERRY_EUNSUPPORTED)
        return false;
    ferry_io_writer_abort(w);
    return true;
}

/* Whether an earlier entry of a file has the name of that one. */
static bool is_again(const ferry_io *io, int64_t index, const char *name)
{
    const ferry_io_entry *entry = NULL;

    while (index-- > 0)
        if (!ferry_io_entry_at(io, index, &entry) && !strcmp(entry->name, name))
            return true;
    return false;
}

/* Writes the arrays of a file, the first with each name, with that dtype into another. */
static void convert(const char *from, const char *to, ferry_io_format format, ferry_dtype dtype)
{
    ferry_io_writer *w = NULL;
    ferry_io *io = NULL;

    FX_OK_FATAL(ferry_io_open(from, &io));
    FX_OK_FATAL(ferry_io_writer_create(to, format, &w));
    if (format == FERRY_IO_HDF5)
        FX_OK(ferry_io_writer_set_layout(w, FERRY_IO_LAYOUT_WEIGHTS));
    for (int64_t i = 0; i < ferry_io_entry_count(io); i++) {
        const ferry_io_entry *entry = NULL;
        ferry_blob *b = NULL;

        FX_OK_FATAL(ferry_io_entry_at(io, i, &entry));
        if (is_again(io, i, entry->name))
            continue;
        FX_OK_FATAL(ferry_blob_create(wn_device(), dtype, NULL, FERRY_UNSHAPED, &b));
        FX_OK_FATAL(ferry_io_read(io, entry, b));
        FX_OK_FATAL(ferry_io_writer_write(w, entry->name, b, false));
        ferry_blob_destroy(b);
    }
    FX_OK_FATAL(ferry_io_writer_commit(w));
    ferry_io_close(io);
}

/* Writes `path` with that dtype, and `wide` with the same numbers as F32. */
static void make_files(const char *path, ferry_io_format format, ferry_dtype dtype)
{
    ferry_net *net = open_net(FERRY_PHASE_TEST, false);

    FX_OK_FATAL(ferry_net_save(net, wide, FERRY_IO_CAFFEMODEL));
    ferry_net_close(net);
    convert(wide, path, format, dtype);
    convert(path, wide, FERRY_IO_CAFFEMODEL, FERRY_F32);
}

static int forward(ferry_net *net, float *out)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    const float *y;
    int err;

    if (!x)
        return ferry_last_error_code();
    for (int64_t i = 0; i < ferry_blob_element_count(ferry_net_input_at(net, 0)); i++)
        x[i] = (float)(i * 37 % 101) * 0.02f - 1;
    err = ferry_net_forward(net, NULL);
    if (err)
        return err;
    y = ferry_blob_host_data(ferry_net_output_at(net, 0));
    if (!y)
        return ferry_last_error_code();
    memcpy(out, y, OUTPUTS * sizeof *y);
    return 0;
}

/* Checks that two nets have the same outputs, bit by bit. */
static void check_same(ferry_net *a, ferry_net *b)
{
    float got[OUTPUTS] = { 0 }, want[OUTPUTS] = { 1 };

    FX_OK(forward(a, got));
    FX_OK(forward(b, want));
    CU_ASSERT_EQUAL(memcmp(got, want, sizeof got), 0);
}

/* After a pass; where products read F32, the halves end. */
static void check_weights(const ferry_net *net, int layer, const char *want)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };

    FX_OK(ferry_net_get_layer_info(net, layer, &info));
    CU_ASSERT_STRING_EQUAL(info.weights, packs() ? want : *want ? "F32" : "");
}

/* The dtype that the inner product's operation reads. */
static uint32_t dtype_read(const ferry_net *net)
{
    const struct ferry__program *p = net->stages[0].now;

    for (int i = 0; p && i < p->n_items; i++)
        if (p->items[i].layer->index == LAYER_IP && !p->items[i].dropped &&
            p->items[i].op.kind == FERRY_OP_INNER_PRODUCT)
            return p->items[i].op.in[1].dtype;
    return FERRY_F64;
}

/* Whether a parameter's F32 form has no contents at present. */
static bool is_dropped(const ferry_net *net, int layer)
{
    return fx_is_filled(ferry_blob_data_memory(net->layers[layer].params[0].blob), 0);
}

static void remove_files(const char *path)
{
    unlink(path);
    unlink(wide);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static const struct {
    const char *path, *weights;
    ferry_io_format format;
    ferry_dtype dtype;
    bool can_reread;
} files[] = {
    { "test-net-halves.caffemodel", "F16", FERRY_IO_CAFFEMODEL, FERRY_F16, true },
    { "test-net-halves.h5", "F16", FERRY_IO_HDF5, FERRY_F16, true },
    { "test-net-halves.safetensors", "BF16", FERRY_IO_SAFETENSORS, FERRY_BF16, false },
    { "test-net-halves.npz", "F16", FERRY_IO_NPZ, FERRY_F16, false },
};

static void results_are_those_of_f32(void)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        ferry_net *plain;

        if (files[i].format == FERRY_IO_HDF5 && !has_hdf5())
            continue;
        make_files(files[i].path, files[i].format, files[i].dtype);
        plain = open_with(wide, false);
        for (int reread = 0; reread <= files[i].can_reread; reread++) {
            ferry_net *net = open_with(files[i].path, reread);

            for (int pass = 0; pass < 2; pass++)
                check_same(net, plain);
            check_weights(net, LAYER_A, files[i].weights);
            check_weights(net, LAYER_IP, files[i].weights);
            check_weights(net, 2, "");
            check_weights(plain, LAYER_IP, "F32");
            CU_ASSERT_EQUAL(dtype_read(plain), FERRY_F32);
            CU_ASSERT_EQUAL(dtype_read(net), packs() ? files[i].dtype : FERRY_F32);
            if (packs())
                CU_ASSERT(is_dropped(net, LAYER_A) && is_dropped(net, LAYER_IP));
            ferry_net_close(net);
        }
        ferry_net_close(plain);
        remove_files(files[i].path);
    }
    wn_end();
}

/* A program reads and writes F32; a written parameter is used from the next pass on. */
static void parameters_are_f32_for_a_program(void)
{
    const char *path = files[0].path;
    ferry_net *net, *plain;

    make_files(path, files[0].format, files[0].dtype);
    plain = open_with(wide, false);
    net = open_with(path, false);
    check_same(net, plain);
    for (int layer = LAYER_A; layer <= LAYER_IP; layer += LAYER_IP - LAYER_A) {
        ferry_blob *p = ferry_net_param_at(net, layer, 0), *q = ferry_net_param_at(plain, layer, 0);
        size_t bytes = (size_t)ferry_blob_element_count(q) * sizeof(float);

        CU_ASSERT_EQUAL(ferry_blob_dtype(p), FERRY_F32);
        CU_ASSERT_EQUAL(memcmp(ferry_blob_host_data(p), ferry_blob_host_data(q), bytes), 0);
        check_same(net, plain);
        check_weights(net, layer, layer == LAYER_IP ? "F16" : "F32");
        ((float *)ferry_blob_mutable_host_data(p))[3] = 0.1f;
        ((float *)ferry_blob_mutable_host_data(q))[3] = 0.1f;
        check_same(net, plain);
        check_weights(net, layer, "F32");
    }
    CU_ASSERT_EQUAL(dtype_read(net), FERRY_F32);
    FX_OK(ferry_net_load(net, path, NULL));
    FX_OK(ferry_net_load(plain, wide, NULL));
    check_same(net, plain);
    ferry_net_close(net);
    ferry_net_close(plain);
    remove_files(path);
    wn_end();
}

static void nets_share_halves(void)
{
    const char *path = files[0].path;
    ferry_net *first, *second = open_net(FERRY_PHASE_TEST, false), *plain, *copy;
    ferry_net *trained = open_net(FERRY_PHASE_TRAIN, false), *like;

    make_files(path, files[0].format, files[0].dtype);
    first = open_with(path, false);
    plain = open_with(wide, false);
    check_same(first, plain);
    FX_OK(ferry_net_share(second, first));
    check_same(second, plain);
    check_weights(second, LAYER_IP, "F16");
    CU_ASSERT_EQUAL(dtype_read(second), packs() ? FERRY_F16 : FERRY_F32);
    FX_OK(ferry_net_share(trained, first));
    ferry_net_close(first);
    check_same(second, plain);
    like = open_net(FERRY_PHASE_TRAIN, false); /* which does not fold the Scale layer */
    FX_OK(ferry_net_load(like, wide, NULL));
    check_same(trained, like);
    ferry_net_close(like);
    check_weights(trained, LAYER_IP, "F32");
    FX_OK(ferry_net_share(second, plain));
    check_weights(second, LAYER_IP, "F32");
    check_same(second, plain);
    FX_OK_FATAL(ferry_net_save(trained, path, FERRY_IO_CAFFEMODEL));
    copy = open_with(path, false);
    check_same(copy, plain);
    ferry_net_close(copy);
    ferry_net_close(trained);
    ferry_net_close(second);
    ferry_net_close(plain);
    remove_files(path);
    wn_end();
}

static void halves_are_saved_and_moved(void)
{
    const char *path = files[0].path, *saved = "test-net-halves-saved.caffemodel";

    for (int reread = 0; reread < 2; reread++) {
        ferry_net *net, *plain, *copy;

        make_files(path, files[0].format, files[0].dtype);
        net = open_with(path, reread);
        plain = open_with(wide, false);
        FX_OK_FATAL(ferry_net_save(net, saved, FERRY_IO_CAFFEMODEL));
        copy = open_with(saved, false);
        check_same(copy, plain);
        check_same(net, plain);
        FX_OK(ferry_net_move_to(net, ferry_net_device(net)));
        check_same(net, plain);
        check_weights(net, LAYER_IP, "F32");
        ferry_net_close(copy);
        ferry_net_close(net);
        ferry_net_close(plain);
        unlink(saved);
        remove_files(path);
    }
    wn_end();
}

/* A file that is cut off is one error, and the net is as before. */
static void a_bad_file_changes_nothing(void)
{
    const char *path = files[0].path, *cut = "test-net-halves-cut.caffemodel";
    ferry_net *net, *plain;

    make_files(path, files[0].format, files[0].dtype);
    plain = open_with(wide, false);
    net = open_with(path, false);
    convert(path, cut, FERRY_IO_CAFFEMODEL, FERRY_F16);
    CU_ASSERT_EQUAL(truncate(cut, 100000), 0);
    FX_FAILS(FERRY_EFORMAT, ferry_net_load(net, cut, NULL));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), cut));
    check_same(net, plain);
    check_weights(net, LAYER_IP, "F16");
    ferry_net_close(net);
    net = open_net(FERRY_PHASE_TEST, true); /* overwritten before its weights are packed */
    FX_OK(ferry_net_load(net, path, NULL));
    CU_ASSERT_EQUAL(truncate(path, 100000), 0);
    if (keeps()) {
        float got[OUTPUTS];

        FX_FAILS(FERRY_EIO, forward(net, got));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), path));
        FX_FAILED(FERRY_EIO, !ferry_net_param_at(net, LAYER_IP, 0));
    }
    FX_OK(ferry_net_load(net, wide, NULL));
    check_same(net, plain);
    ferry_net_close(net);
    ferry_net_close(plain);
    unlink(cut);
    remove_files(path);
    wn_end();
}

/* Weights that were loaded stay if their file, whose pages they may have been, is overwritten. */
static void an_overwritten_file_changes_nothing(void)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        static const char zeros[4096];
        ferry_net *net, *plain;
        FILE *f;

        if (files[i].format == FERRY_IO_HDF5)
            continue;
        make_files(files[i].path, files[i].format, files[i].dtype);
        plain = open_with(wide, false);
        net = open_with(files[i].path, false);
        f = fopen(files[i].path, "r+b");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        for (int n = 0; n < 60; n++)
            CU_ASSERT_EQUAL(fwrite(zeros, 1, sizeof zeros, f), sizeof zeros);
        CU_ASSERT_EQUAL(fclose(f), 0);
        check_same(net, plain);
        ferry_net_close(net);
        ferry_net_close(plain);
        remove_files(files[i].path);
    }
    wn_end();
}

/* A program may hold a blob of parameters from before the net shares others. */
static void a_held_blob_has_the_shared_values(void)
{
    const char *path = files[0].path;
    ferry_net *first, *second = open_net(FERRY_PHASE_TEST, false), *plain;

    make_files(path, files[0].format, files[0].dtype);
    first = open_with(path, false);
    plain = open_with(wide, false);
    for (int layer = LAYER_A; layer <= LAYER_IP; layer += LAYER_IP - LAYER_A) {
        ferry_blob *held = ferry_net_param_at(second, layer, 0);
        ferry_blob *q = ferry_net_param_at(plain, layer, 0);
        size_t bytes = (size_t)ferry_blob_element_count(q) * sizeof(float);

        FX_OK(ferry_net_share(second, first));
        CU_ASSERT_EQUAL(memcmp(ferry_blob_host_data(held), ferry_blob_host_data(q), bytes), 0);
        check_same(second, plain);
        CU_ASSERT_EQUAL(memcmp(ferry_blob_host_data(held), ferry_blob_host_data(q), bytes), 0);
        ((float *)ferry_blob_mutable_host_data(held))[3] = 0.1f;
        ((float *)ferry_blob_mutable_host_data(q))[3] = 0.1f;
        check_same(second, plain);
        check_same(first, plain);
    }
    ferry_net_close(first);
    ferry_net_close(second);
    ferry_net_close(plain);
    remove_files(path);
    wn_end();
}

/* A net without reread_weights needs no file, whatever it had loaded before it shares. */
static void a_net_without_the_option_needs_no_file(void)
{
    const char *path = files[0].path, *other = "test-net-halves-other.caffemodel";

    for (int loaded = 0; loaded < 2; loaded++) {
        ferry_net *first, *second = open_net(FERRY_PHASE_TEST, false), *plain;

        make_files(path, files[0].format, files[0].dtype);
        convert(path, other, FERRY_IO_CAFFEMODEL, FERRY_F16);
        first = open_with(path, true);
        plain = open_with(wide, false);
        if (loaded)
            FX_OK(ferry_net_load(second, other, NULL));
        FX_OK(ferry_net_share(second, first));
        CU_ASSERT_EQUAL(truncate(path, 100000), 0);
        check_same(second, plain);
        ferry_net_close(first);
        check_same(second, plain);
        ferry_net_close(second);
        ferry_net_close(plain);
        unlink(other);
        remove_files(path);
    }
    wn_end();
}

static const char twice[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 64 dim: 9 dim: 9 "
    "} } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'x' top: 'p' pooling_param { pool: AVE "
    "global_pooling: true } }\n"
    "layer { name: 'd' type: 'InnerProduct' bottom: 'p' top: 'a' %s inner_product_param { "
    "num_output: 300 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'd' type: 'InnerProduct' bottom: 'p' top: 'b' %s inner_product_param { "
    "num_output: 300 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'e' type: 'InnerProduct' bottom: 'p' top: 'c' %s inner_product_param { "
    "num_output: 300 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Eltwise' bottom: 'a' bottom: 'b' bottom: 'c' top: 'z' }\n"
    "layer { name: 'y' type: 'Slice' bottom: 'z' top: 'y' top: 'w' slice_param { "
    "slice_point: 7 } }\n";

#define LAYER_FIRST  3 /* after the Split that the net inserts */
#define LAYER_SECOND 4

/* Layer `shared`, if it is FIRST or SECOND, and the third one share their weights. */
static ferry_net *open_twice(int shared, bool reread)
{
    char written[2000];
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = written,
                            .phase = FERRY_PHASE_TEST,
                            .reread_weights = reread };
    const char *param = "param { name: 'w' }";
    ferry_net *net = NULL;

    snprintf(written, sizeof written, twice, shared == LAYER_FIRST ? param : "",
             shared == LAYER_SECOND ? param : "", shared ? param : "");
    o.text_size = strlen(written);
    FX_OK_FATAL(ferry_net_open(wn_device(), "net.prototxt", &o, &net));
    return net;
}

/*
 * Layers with one name get the same values but share no memory, also if only one of them could keep
 * halves.
 */
static void two_layers_may_have_one_name(void)
{
    const char *path = files[0].path;

    for (int k = 0; k < 6; k++) {
        const int shared = (int[]){ 0, LAYER_FIRST, LAYER_SECOND }[k / 2];
        const bool reread = k % 2;
        ferry_net *net = open_twice(shared, false), *plain;

        FX_OK_FATAL(ferry_net_save(net, wide, FERRY_IO_CAFFEMODEL));
        ferry_net_close(net);
        convert(wide, path, FERRY_IO_CAFFEMODEL, FERRY_F16);
        convert(path, wide, FERRY_IO_CAFFEMODEL, FERRY_F32);
        net = open_twice(shared, reread);
        plain = open_twice(shared, false);
        FX_OK(ferry_net_load(net, path, NULL));
        FX_OK(ferry_net_load(plain, wide, NULL));
        check_same(net, plain);
        check_weights(net, LAYER_FIRST, shared ? "F32" : "F16");
        check_weights(net, LAYER_SECOND, shared ? "F32" : "F16");
        ((float *)ferry_blob_mutable_host_data(ferry_net_param_at(net, LAYER_FIRST, 0)))[3] = 7;
        CU_ASSERT_NOT_EQUAL(
            ((const float *)ferry_blob_host_data(ferry_net_param_at(net, LAYER_SECOND, 0)))[3], 7);
        ((float *)ferry_blob_mutable_host_data(ferry_net_param_at(plain, LAYER_FIRST, 0)))[3] = 7;
        check_same(net, plain);
        ferry_net_close(net);
        ferry_net_close(plain);
        remove_files(path);
    }
    wn_end();
}

static void every_allocation_may_fail(void)
{
    unsigned n = 1, step = packs() ? 1 : ferry_test_is_slow() ? 23 : 7;
    const char *path = files[0].path;
    bool failed = true;
    ferry_net *plain;

    make_files(path, files[0].format, files[0].dtype);
    plain = open_with(wide, false);
    for (; failed; n += step) {
        ferry_net *net = open_net(FERRY_PHASE_TEST, n % 2), *user;
        float got[OUTPUTS];

        user = open_net(FERRY_PHASE_TEST, n % 2);
        oom_arm(n);
        if (!ferry_net_load(net, path, NULL) && !forward(net, got))
            (void)(ferry_net_share(user, net) || forward(user, got));
        failed = oom_disarm();
        FX_OK(ferry_net_load(net, path, NULL));
        check_same(net, plain);
        FX_OK(ferry_net_share(user, net));
        check_same(user, plain);
        ferry_net_close(user);
        ferry_net_close(net);
    }
    ferry_net_close(plain);
    remove_files(path);
    wn_end();
    CU_ASSERT(n > 20);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(results_are_those_of_f32),
    FERRY_TEST(parameters_are_f32_for_a_program),
    FERRY_TEST(nets_share_halves),
    FERRY_TEST(halves_are_saved_and_moved),
    FERRY_TEST(a_bad_file_changes_nothing),
    FERRY_TEST(an_overwritten_file_changes_nothing),
    FERRY_TEST(a_held_blob_has_the_shared_values),
    FERRY_TEST(a_net_without_the_option_needs_no_file),
    FERRY_TEST(two_layers_may_have_one_name),
    FERRY_TEST(every_allocation_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net halves", cases, FERRY_TEST_COUNT(cases));
}
