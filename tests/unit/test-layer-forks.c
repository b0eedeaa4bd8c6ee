/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net-data.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Layers of Caffe's forks, and states, for which Caffe has no numbers. The expected values were
 * computed by hand.
 */

#define X(shape) "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { " shape " } } }\n"
#define U(shape) \
    "layer { name: 'in2' type: 'Input' top: 'u' input_param { shape { " shape " } } }\n"
#define V(shape) \
    "layer { name: 'in3' type: 'Input' top: 'v' input_param { shape { " shape " } } }\n"

static ferry_net *open_text(const char *text)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    if (ferry_net_open(fx_device(), "layer.prototxt", &o, &net))
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void set(ferry_blob *b, const float *values)
{
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memcpy(to, values, (size_t)ferry_blob_element_count(b) * sizeof *to);
}

#define FEED(net, name, ...) set(ferry_net_blob_find((net), (name)), (const float[]){ __VA_ARGS__ })
#define PARAM(net, index, ...)                                              \
    set(ferry_net_param_at((net), ferry_net_layer_count(net) - 1, (index)), \
        (const float[]){ __VA_ARGS__ })

static bool holds(ferry_net *net, const char *name, int64_t n, const float *wanted)
{
    ferry_blob *b = ferry_net_blob_find(net, name);
    const float *got = b ? ferry_blob_host_data(b) : NULL;

    if (!got || ferry_blob_element_count(b) != n) {
        printf("     %s: %lld elements\n", name, (long long)ferry_blob_element_count(b));
        return false;
    }
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - wanted[i]) <= 1e-5f * (1 + fabsf(wanted[i])))) {
            printf("     %s[%lld] is %.9g, not %.9g\n", name, (long long)i, (double)got[i],
                   (double)wanted[i]);
            return false;
        }
    return true;
}

#define COUNT(...) ((int64_t)(sizeof((float[]){ __VA_ARGS__ }) / sizeof(float)))
#define HOLDS(net, name, ...) \
    CU_ASSERT(holds((net), (name), COUNT(__VA_ARGS__), (const float[]){ __VA_ARGS__ }))

static void run(ferry_net *net)
{
    int err = ferry_net_forward(net, NULL);

    if (err)
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_EQUAL_FATAL(err, FERRY_OK);
}

/* ---- forks ----------------------------------------------------------------------------------- */

static void bn_scales_and_shifts_and_learning_normalizes_before(void)
{
    ferry_net *net = open_text(X("dim: 1 dim: 2 dim: 1 dim: 2") "layer { name: 'l' type: 'BN' "
                                                                "bottom: 'x' top: 'y' bn_param { "
                                                                "bn_mode: INFERENCE } }");

    FEED(net, "x", 1, 3, 5, 9);
    PARAM(net, 0, 2, 10);
    PARAM(net, 1, 1, -1);
    run(net);
    HOLDS(net, "y", 3, 7, 49, 89);
    ferry_net_close(net);
    net =
        open_text(X("dim: 1 dim: 2 dim: 1 dim: 2") "layer { name: 'l' type: 'BN' bottom: 'x' top: "
                                                   "'x' bn_param { bn_mode: LEARN } }");
    FEED(net, "x", 1, 3, 5, 9);
    PARAM(net, 0, 2, 10);
    PARAM(net, 1, 1, -1);
    run(net);
    HOLDS(net, "x", -1, 3, -11, 9);
    ferry_net_close(net);
}

static void axpy_scales_each_channel_and_adds(void)
{
    ferry_net *net = open_text(X("dim: 1 dim: 2 dim: 1 dim: 1") U("dim: 1 dim: 2 dim: 1 dim: 2") V(
        "dim: 1 dim: 2 dim: 1 dim: 2") "layer { name: 'l' type: 'Axpy' bottom: 'x' bottom: 'u' "
                                       "bottom: 'v' top: 'y' }");

    FEED(net, "x", 2, 10);
    FEED(net, "u", 1, 2, 3, 4);
    FEED(net, "v", 5, 6, 7, 8);
    run(net);
    HOLDS(net, "y", 7, 10, 37, 48);
    ferry_net_close(net);
}

static void upsampling_repeats_and_with_a_mask_puts_back(void)
{
    ferry_net *net =
        open_text(X("dim: 1 dim: 1 dim: 1 dim: 2") "layer { name: 'l' type: 'Upsample' "
                                                   "bottom: 'x' top: 'y' "
                                                   "upsample_param { scale: 3 } }");

    FEED(net, "x", 1, 2);
    run(net);
    HOLDS(net, "y", 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2);
    ferry_net_close(net);
    net =
        open_text(X("dim: 1 dim: 2 dim: 1 dim: 1")
                      U("dim: 1 dim: 2 dim: 1 dim: 1") "layer { name: 'l' type: 'Upsample' bottom: "
                                                       "'x' bottom: 'u' top: 'y' upsample_param { "
                                                       "scale: 2 } }");
    FEED(net, "x", 7, 8);
    FEED(net, "u", 3, 1);
    run(net);
    HOLDS(net, "y", 0, 0, 0, 7, 0, 8, 0, 0);
    FEED(net, "u", 4, 1);
    CU_ASSERT_EQUAL(ferry_net_forward(net, NULL), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "its mask points at 4 in a plane of 4"));
    ferry_net_close(net);
}

static void regions_are_pooled(void)
{
    ferry_net *net = open_text(X("dim: 1 dim: 1 dim: 4 dim: 4")
                                   U("dim: 1 dim: 5") "layer { name: 'l' type: 'ROIPooling' "
                                                      "bottom: 'x' bottom: 'u' top: 'y' "
                                                      "roi_pooling_param { pooled_h: 2 "
                                                      "pooled_w: 2 spatial_scale: 0.5 } }");

    FEED(net, "x", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    FEED(net, "u", 0, 0, 0, 6, 6);
    run(net);
    HOLDS(net, "y", 6, 8, 14, 16);
    ferry_net_close(net);
    net = open_text(X("dim: 1 dim: 4 dim: 4 dim: 4") U(
        "dim: 1 dim: 5") "layer { name: 'l' type: 'PSROIPooling' bottom: 'x' bottom: 'u' top: 'y' "
                         "psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 } }");
    {
        float values[64];

        for (int i = 0; i < 64; i++)
            values[i] = (float)(i / 16 + 1);
        set(ferry_net_blob_find(net, "x"), values);
    }
    FEED(net, "u", 0, 0, 0, 3, 3);
    run(net);
    HOLDS(net, "y", 1, 2, 3, 4);
    ferry_net_close(net);
}

static void interp_lays_corners_on_corners(void)
{
    ferry_net *net = open_text(X("dim: 1 dim: 1 dim: 2 dim: 2") "layer { name: 'l' type: 'Interp' "
                                                                "bottom: 'x' top: 'y' interp_param "
                                                                "{ height: 3 width: 3 } }");

    FEED(net, "x", 0, 2, 4, 6);
    run(net);
    HOLDS(net, "y", 0, 1, 2, 2, 3, 4, 4, 5, 6);
    ferry_net_close(net);
    net = open_text(X("dim: 1 dim: 1 dim: 3 dim: 3") "layer { name: 'l' type: 'Interp' bottom: 'x' "
                                                     "top: 'y' interp_param { pad_beg: -1 "
                                                     "zoom_factor: 2 } }");
    FEED(net, "x", 9, 9, 9, 9, 0, 2, 9, 4, 6);
    run(net);
    HOLDS(net, "y", 0, 1, 2, 2, 3, 4, 4, 5, 6);
    ferry_net_close(net);
}

/* One anchor of 16 × 16 at each of two positions; the better one comes first, the rest is 0. */
static void proposals_are_the_best_regions_that_do_not_overlap(void)
{
    ferry_net *net = open_text(X("dim: 1 dim: 2 dim: 1 dim: 2") U("dim: 1 dim: 4 dim: 1 dim: 2") V(
        "dim: 1 dim: 3") "layer { name: 'l' type: 'Proposal' bottom: 'x' bottom: 'u' bottom: 'v' "
                         "top: 'y' top: 's' "
                         "proposal_param { ratio: 1 scale: 1 post_nms_topn: 3 min_size: 4 } }");

    FEED(net, "x", 0.9f, 0.3f, 0.1f, 0.7f);
    FEED(net, "u", 0, 0, 0, 0, 0, 0, 0, 0);
    FEED(net, "v", 32, 64, 1);
    run(net);
    HOLDS(net, "y", 0, 16, 0, 32, 16, 0, 0, 0, 16, 16, 0, 0, 0, 0, 0);
    HOLDS(net, "s", 0.7f, 0.1f, 0);
    FEED(net, "u", 0, -1, 0, 0, 0, 0, 0, 0); /* the second covers the first */
    run(net);
    HOLDS(net, "s", 0.7f, 0, 0);
    ferry_net_close(net);
}

static void an_average_without_padding_counts_elements_in_the_image(void)
{
    ferry_net *net = open_text(X(
        "dim: 1 dim: 1 dim: 2 dim: 2") "layer { name: 'l' type: 'Pooling' bottom: 'x' top: 'y' "
                                       "pooling_param { pool: AVE_EXC_PAD kernel_size: 3 pad: 1 } "
                                       "}");

    FEED(net, "x", 1, 2, 3, 6);
    run(net);
    HOLDS(net, "y", 3, 3, 3, 3);
    ferry_net_close(net);
}

/*
 * Of a column by itself, in rows and across: the last window begins after the image, as in Caffe.
 */
static void a_last_window_may_begin_behind_the_image(void)
{
    ferry_net *net = open_text(
        X("dim: 1 dim: 1 dim: 2 dim: 4") "layer { name: 'm' type: 'Pooling' bottom: 'x' top: 'y' "
                                         "top: "
                                         "'mask' pooling_param { kernel_size: 1 stride: 2 } }\n"
                                         "layer { name: 'a' type: 'Pooling' bottom: 'x' top: 'z' "
                                         "pooling_param { pool: AVE kernel_size: 1 stride: 2 } }");
    const float *z;

    FEED(net, "x", 1, 2, 3, 4, 5, 6, 7, 8);
    run(net);
    HOLDS(net, "y", 1, 3, -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX);
    HOLDS(net, "mask", 0, 2, -1, -1, -1, -1);
    z = ferry_blob_host_data(ferry_net_blob_find(net, "z"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(z);
    CU_ASSERT(z[0] == 1 && z[1] == 3);
    CU_ASSERT(isnan(z[2]) && isnan(z[3]) && isnan(z[4]) && isnan(z[5])); /* 0 / 0 */
    ferry_net_close(net);
}

/* ---- data of files --------------------------------------------------------------------------- */

/* Rows of digits: 3000 in the first file, 5000 in the second; a batch may have rows of both. */
static void rows_go_on_from_file_to_file_and_begin_again(void)
{
    const char *list = ferry_test_data("nets/train/train.txt");
    char text[1536];
    float first[1500], second[1500];
    ferry_net_options o = { .struct_size = sizeof o, .text = text };
    ferry_net *net = NULL;

    if (!list)
        return;
    snprintf(text, sizeof(text),
             "layer { name: 'd' type: 'HDF5Data' top: 'data' top: 'label' "
             "hdf5_data_param { source: '%s' batch_size: 1500 } }",
             list);
    o.text_size = strlen(text);
    if (ferry_net_open(fx_device(), "data.prototxt", &o, &net) == FERRY_EUNSUPPORTED) {
        ferry_test_skip("built without HDF5: %s", ferry_last_error());
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    CU_ASSERT_EQUAL(ferry_blob_element_count(ferry_net_blob_find(net, "data")), 1500 * 28 * 28);
    for (int i = 0; i < 6; i++) {
        const float *labels;

        run(net);
        labels = ferry_blob_host_data(ferry_net_blob_find(net, "label"));
        if (i < 2)
            memcpy(i ? second : first, labels, sizeof(first));
        if (i == 5) { /* rows 4500 … 4999 of the second file, then 0 … 999 of the first */
            CU_ASSERT_EQUAL(memcmp(&labels[500], first, 1000 * sizeof(*first)), 0);
            CU_ASSERT_NOT_EQUAL(memcmp(labels, first, 500 * sizeof(*first)), 0);
        }
    }
    run(net);
    memmove(first, &first[1000], 500 * sizeof(*first));
    memcpy(&first[500], second, 1000 * sizeof(*first));
    CU_ASSERT(holds(net, "label", 1500, first));
    ferry_net_close(net);
}

/* Caffe's `train` printed these first losses, from the same weights and rows. */
static void a_training_net_begins_with_caffes_loss(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .phase = FERRY_PHASE_TRAIN };
    char proto[1024], weights[1024], numbers[1024];
    const char *names[] = { "lenet_small.prototxt", "init.caffemodel", "sgd/run.npz" };
    char *paths[] = { proto, weights, numbers };
    const ferry_io_entry *entry;
    ferry_net *net = NULL;
    ferry_io *io = NULL;
    float expected = 0;
    double loss = 0;

    for (int i = 0; i < 3; i++) {
        char name[128];
        const char *path;

        snprintf(name, sizeof(name), "nets/train/%s", names[i]);
        path = ferry_test_data(name);
        if (!path)
            return;
        snprintf(paths[i], 1024, "%s", path);
    }
    if (ferry_net_open(fx_device(), proto, &o, &net) == FERRY_EUNSUPPORTED) {
        ferry_test_skip("built without HDF5: %s", ferry_last_error());
        return;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    FX_OK(ferry_net_load(net, weights, NULL));
    FX_OK(ferry_net_forward(net, &loss));
    CU_ASSERT_EQUAL_FATAL(ferry_io_open(numbers, &io), FERRY_OK);
    entry = nd_find(io, "loss");
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    CU_ASSERT_EQUAL(entry->dtype, FERRY_F32);
    CU_ASSERT_EQUAL(ferry_io_read_values(io, entry, 0, 1, &expected), FERRY_OK);
    CU_ASSERT_DOUBLE_EQUAL(loss, expected, 1e-5);
    ferry_io_close(io);
    ferry_net_close(net);
}

/* ---- Caffe's that have no case --------------------------------------------------------------- */

static void data_and_parameters_make_tops(void)
{
    ferry_net *net =
        open_text("layer { name: 'd' type: 'DummyData' top: 'a' top: 'b' "
                  "dummy_data_param { shape { dim: 2 } shape { dim: 3 } data_filler { "
                  "value: 4 } data_filler { type: 'uniform' min: 2 max: 3 } } }\n"
                  "layer { name: 'l' type: 'Parameter' top: 'y' parameter_param { shape "
                  "{ dim: 2 dim: 1 } } }");
    const float *b;

    PARAM(net, 0, 5, 6);
    run(net);
    HOLDS(net, "a", 4, 4);
    HOLDS(net, "y", 5, 6);
    b = ferry_blob_host_data(ferry_net_blob_find(net, "b"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(b[i] >= 2 && b[i] < 3);
    CU_ASSERT(b[0] != b[1] && b[1] != b[2]);
    ferry_net_close(net);
}

/* Neither the next blob nor the next forward repeats an earlier starting point. */
static void random_numbers_go_on(void)
{
    ferry_net *net = open_text("layer { name: 'd' type: 'DummyData' top: 'a' top: 'b' "
                               "dummy_data_param { shape { dim: 4 } data_filler { type: 'gaussian' "
                               "std: 2 } } }\n");
    float first[4];

    run(net);
    memcpy(first, ferry_blob_host_data(ferry_net_blob_find(net, "a")), sizeof(first));
    CU_ASSERT_NOT_EQUAL(
        memcmp(first, ferry_blob_host_data(ferry_net_blob_find(net, "b")), sizeof(first)), 0);
    run(net);
    CU_ASSERT_NOT_EQUAL(
        memcmp(first, ferry_blob_host_data(ferry_net_blob_find(net, "a")), sizeof(first)), 0);
    ferry_net_close(net);
}

/* A net with an HDF5Output of that file, which may write to a folder; or an error. */
static int open_output(const char *file, const char *allowed, ferry_net **out)
{
    char text[2048];
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .allow_write = allowed };

    snprintf(text, sizeof(text),
             "%s%slayer { name: 'l' type: 'HDF5Output' bottom: 'x' bottom: 'u' "
             "hdf5_output_param { file_name: '%s' } }",
             X("dim: 2 dim: 2"), U("dim: 2"), file);
    o.text_size = strlen(text);
    return ferry_net_open(fx_device(), "layer.prototxt", &o, out);
}

static void written_files_can_be_read(void)
{
    char folder[] = "/tmp/ferry-out-XXXXXX", path[64];
    const ferry_io_entry *entry;
    ferry_io *io = NULL;
    float got[4] = { 0 };
    ferry_net *net = NULL;
    int err = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/rows.h5", folder);
    FX_OK_FATAL(open_output(path, folder, &net));
    for (int round = 0; round < 2; round++) {
        FEED(net, "x", 1, 2, 3, 4);
        FEED(net, "u", 7, (float)round);
        err = ferry_net_forward(net, NULL);
    }
    if (err == FERRY_EUNSUPPORTED) {
        ferry_test_skip("built without HDF5: %s", ferry_last_error());
    } else {
        CU_ASSERT_EQUAL(err, FERRY_OK);
        CU_ASSERT_EQUAL_FATAL(ferry_io_open(path, &io), FERRY_OK);
        CU_ASSERT_EQUAL(ferry_io_entry_count(io), 2);
        entry = nd_find(io, "label");
        CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
        CU_ASSERT(entry->rank == 4 && entry->shape[0] == 2 && entry->shape[3] == 1);
        CU_ASSERT_EQUAL(ferry_io_read_values(io, entry, 0, 2, got), FERRY_OK);
        CU_ASSERT(got[0] == 7 && got[1] == 1);
        entry = nd_find(io, "data");
        CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
        CU_ASSERT_EQUAL(ferry_io_read_values(io, entry, 0, 4, got), FERRY_OK);
        CU_ASSERT(got[0] == 1 && got[3] == 4);
        ferry_io_close(io);
    }
    ferry_net_close(net);
    unlink(path);
    rmdir(folder);
}

/* Neither a path, nor one with "..", nor a link leads out of the folder. */
static void no_file_makes_a_layer_write_elsewhere(void)
{
    char folder[] = "/tmp/ferry-out-XXXXXX", path[256], inner[64];
    static const struct {
        const char *file;
        bool allowed; /* a folder is given */
        int code;
        const char *word;
    } paths[] = {
        { "rows.h5", false, FERRY_EPERM, "--allow-write" },
        { "in/rows.h5", true, FERRY_OK, "" },
        { "in/../in/rows.h5", true, FERRY_OK, "" },
        { "rows.h5", true, FERRY_EPERM, "is not under" },
        { "in/../rows.h5", true, FERRY_EPERM, "is not under" },
        { "in/out/rows.h5", true, FERRY_EPERM, "is not under" },
        { "in/victim", true, FERRY_EPERM, "is not under" },
        { "in/nowhere", true, FERRY_EIO, "in/nowhere" },
        { "inside/rows.h5", true, FERRY_EPERM, "is not under" },
        { "in/", true, FERRY_EIO, "directory" },
        { "in/..", true, FERRY_EIO, "directory" },
        { "in/none/rows.h5", true, FERRY_EIO, "No such file" },
    };

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(inner, sizeof(inner), "%s/in", folder);
    snprintf(path, sizeof(path),
             "cd %s && mkdir in inside && ln -s .. in/out && touch victim && ln -s ../victim "
             "in/victim && ln -s ../none in/nowhere",
             folder);
    CU_ASSERT_EQUAL_FATAL(system(path), 0);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        ferry_net *net = NULL;
        int err;

        snprintf(path, sizeof(path), "%s/%s", folder, paths[i].file);
        err = open_output(path, paths[i].allowed ? inner : NULL, &net);
        CU_ASSERT_EQUAL(err, paths[i].code);
        if (err != paths[i].code)
            printf("     %s: %d: %s\n", paths[i].file, err, ferry_last_error());
        if (err) {
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), paths[i].word));
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), paths[i].file));
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "\"l\" (HDF5Output)"));
        }
        ferry_net_close(net);
    }
    FX_FAILS(FERRY_EIO, open_output("rows.h5", "/none/there", &(ferry_net *){ NULL }));
    FX_FAILS(FERRY_EIO, open_output("rows.h5", "/dev/null", &(ferry_net *){ NULL }));
    snprintf(path, sizeof(path), "rm -r %s", folder);
    CU_ASSERT_EQUAL(system(path), 0);
}

/* A folder that is replaced by a link after the net was opened is not followed. */
static void a_path_is_looked_at_before_each_file(void)
{
    char folder[] = "/tmp/ferry-out-XXXXXX", path[128];
    ferry_net *net = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "mkdir %s/in", folder);
    CU_ASSERT_EQUAL_FATAL(system(path), 0);
    snprintf(path, sizeof(path), "%s/in/rows.h5", folder);
    FX_OK_FATAL(open_output(path, folder, &net));
    snprintf(path, sizeof(path), "cd %s && rmdir in && ln -s .. in", folder);
    CU_ASSERT_EQUAL_FATAL(system(path), 0);
    FX_FAILS(FERRY_EPERM, ferry_net_forward(net, NULL));
    CU_ASSERT_NOT_EQUAL(access("/tmp/rows.h5", F_OK), 0);
    ferry_net_close(net);
    snprintf(path, sizeof(path), "rm -r %s", folder);
    CU_ASSERT_EQUAL(system(path), 0);
}

/* Later layers are reshaped within the forward pass, to no elements and back. */
static void mvn_has_a_top_of_four_axes(void)
{
    static const struct {
        const char *shape;
        int64_t rows; /* of one element each, which is its own mean */
    } cases[] = { { "dim: 3", 3 }, { "dim: 3 dim: 2", 6 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        ferry_net *net;
        const ferry_blob *y;

        snprintf(text, sizeof text,
                 X("%s") "layer { name: 'm' type: 'MVN' bottom: 'x' top: 'y' }\n", cases[i].shape);
        net = open_text(text);
        set(ferry_net_blob_find(net, "x"), (const float[]){ 1, 2, 3, 4, 5, 6 });
        run(net);
        y = ferry_net_blob_find(net, "y");
        CU_ASSERT_EQUAL(ferry_blob_rank(y), 4);
        CU_ASSERT_EQUAL(ferry_blob_dim(y, 0), 3);
        CU_ASSERT(holds(net, "y", cases[i].rows, (const float[6]){ 0 }));
        ferry_net_close(net);
    }
}

/* Two images of one box and two classes, of which class 0 is the background. */
static void an_image_without_detections_has_a_row_only_where_no_image_has_any(void)
{
    ferry_net *net =
        open_text(X("dim: 2 dim: 4") U("dim: 2 dim: 2")
                      V("dim: 1 dim: 2 dim: 4") "layer { name: 'd' type: 'DetectionOutput' bottom: "
                                                "'x' bottom: 'u' bottom: 'v' top: 'y' "
                                                "detection_output_param { num_classes: 2 "
                                                "keep_top_k: 5 confidence_threshold: 0.5 "
                                                "nms_param { nms_threshold: 0.4 top_k: 5 } } }\n");

    FEED(net, "x", 0, 0, 0, 0, 0, 0, 0, 0);
    FEED(net, "v", 0.1f, 0.1f, 0.5f, 0.5f, 0.1f, 0.1f, 0.2f, 0.2f);
    FEED(net, "u", 0.9f, 0.1f, 0.25f, 0.75f);
    run(net);
    HOLDS(net, "y", 1, 1, 0.75f, 0.1f, 0.1f, 0.5f, 0.5f);
    FEED(net, "u", 0.9f, 0.1f, 0.8f, 0.2f);
    run(net);
    HOLDS(net, "y", 0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1);
    ferry_net_close(net);
}

static void a_filter_that_chooses_nothing_has_no_entries(void)
{
    ferry_net *net =
        open_text(X("dim: 3 dim: 2")
                      U("dim: 3") "layer { name: 'f' type: 'Filter' bottom: 'x' bottom: 'u' top: "
                                  "'c' } layer { name: 'l' type: 'ReLU' bottom: 'c' top: 'y' }");

    FEED(net, "x", 1, -2, 3, 4, -5, 6);
    FEED(net, "u", 0, 0, 0);
    run(net);
    CU_ASSERT_EQUAL(ferry_blob_dim(ferry_net_blob_find(net, "y"), 0), 0);
    FEED(net, "u", 0, 1, 1);
    run(net);
    HOLDS(net, "y", 3, 4, 0, 6);
    FEED(net, "u", -1, 0, 0);
    run(net);
    HOLDS(net, "y", 1, 0);
    ferry_net_close(net);
}

static void files_that_are_not_there_are_named(void)
{
    static const struct {
        const char *layer, *word;
        int code;
    } broken[] = {
        { "type: 'HDF5Data' top: 'y' hdf5_data_param { source: '/none/list' batch_size: 2 }",
          "/none/list", FERRY_EIO },
        { "type: 'HDF5Data' top: 'y' hdf5_data_param { source: '/dev/null' batch_size: 2 }",
          "it is not a regular file", FERRY_EIO },
        { "type: 'HDF5Data' top: 'y' hdf5_data_param { source: 'EMPTY' batch_size: 2 }",
          "lists no file", FERRY_EFORMAT },
        { "type: 'HDF5Data' top: 'y' hdf5_data_param { source: '/dev/null' }", "batch_size",
          FERRY_EFORMAT },
        { "type: 'InfogainLoss' bottom: 'x' bottom: 'u' top: 'y' infogain_loss_param { source: "
          "'/none/matrix' }",
          "/none/matrix", FERRY_EIO },
        { "type: 'InfogainLoss' bottom: 'x' bottom: 'u' top: 'y'", "third bottom", FERRY_EFORMAT },
    };

    char empty[] = "/tmp/ferry-empty-XXXXXX";
    int fd = mkstemp(empty);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    for (size_t i = 0; i < FERRY_TEST_COUNT(broken); i++) {
        ferry_net_options o = { .struct_size = sizeof o };
        const char *layer = broken[i].layer, *place = strstr(layer, "EMPTY");
        int before = (int)(place ? place - layer : (long)strlen(layer));
        ferry_net *net = NULL;
        char text[1024];

        snprintf(text, sizeof(text), "%s%slayer { name: 'l' %.*s%s%s }", X("dim: 2 dim: 3"),
                 U("dim: 2"), before, layer, place ? empty : "", place ? place + 5 : "");
        o.text = text;
        o.text_size = strlen(text);
        CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "broken.prototxt", &o, &net), broken[i].code);
        CU_ASSERT_PTR_NULL(net);
        if (!strstr(ferry_last_error(), broken[i].word)) {
            printf("     %s\n", ferry_last_error());
            CU_FAIL("the message does not say so");
        }
    }
    unlink(empty);
}

#define LSTM(more)                                                                       \
    "layer { name: 'l' type: 'LSTM' bottom: 'x' bottom: 'u' " more " recurrent_param { " \
    "num_output: 1 weight_filler { type: 'constant' value: 0.5 } "                       \
    "bias_filler { type: 'constant' value: 0.25 }"

/* Two steps in one forward equal one step in each of two, unless cont resets the state. */
static void a_recurrent_state_lives_until_cont_cuts_it(void)
{
    ferry_net *both =
        open_text(X("dim: 2 dim: 1 dim: 1") U("dim: 2 dim: 1") LSTM("top: 'y'") " } }");
    ferry_net *single =
        open_text(X("dim: 1 dim: 1 dim: 1") U("dim: 1 dim: 1") LSTM("top: 'y'") " } }");
    float steps[2];

    FEED(both, "x", 0.5f, -1);
    FEED(both, "u", 0, 1);
    run(both);
    memcpy(steps, ferry_blob_host_data(ferry_net_blob_find(both, "y")), sizeof(steps));
    FEED(single, "x", 0.5f);
    FEED(single, "u", 0);
    run(single);
    HOLDS(single, "y", steps[0]);
    FEED(single, "x", -1);
    FEED(single, "u", 1);
    run(single);
    HOLDS(single, "y", steps[1]);
    FEED(single, "x", 0.5f);
    FEED(single, "u", 0);
    run(single);
    HOLDS(single, "y", steps[0]);
    CU_ASSERT(fabsf(steps[0] - steps[1]) > 1e-3f);
    ferry_net_close(single);
    ferry_net_close(both);
}

static void exposed_states_come_and_go_by_blobs(void)
{
    ferry_net *net = open_text(X("dim: 1 dim: 1 dim: 1") U(
        "dim: 1 dim: 1") "layer { name: 's' type: 'Input' top: 'h' top: 'c' input_param { shape { "
                         "dim: 1 dim: 1 "
                         "dim: 1 } } }\n" LSTM("bottom: 'h' bottom: 'c' top: 'y' top: 'hT' top: "
                                               "'cT'") " expose_hidden: true } }");
    double gate = 0.5 * 1 + 0.25 + 0.5 * 0.3, s = 1 / (1 + exp(-gate));
    double c = s * 0.6 + s * tanh(gate), h = s * tanh(c);

    for (int round = 0; round < 2; round++) {
        FEED(net, "x", 1);
        FEED(net, "u", 1);
        FEED(net, "h", 0.3f);
        FEED(net, "c", 0.6f);
        run(net);
        HOLDS(net, "y", (float)h);
        HOLDS(net, "hT", (float)h);
        HOLDS(net, "cT", (float)c);
    }
    ferry_net_close(net);
}

static void a_unit_is_a_step_of_an_lstm(void)
{
    ferry_net *net = open_text(X("dim: 1 dim: 2 dim: 1") U("dim: 1 dim: 2 dim: 4")
                                   V("dim: 1 dim: 2") "layer { name: 'l' type: 'LSTMUnit' bottom: "
                                                      "'x' bottom: 'u' bottom: 'v' top: 'c' top: "
                                                      "'h' }");
    double s1 = 1 / (1 + exp(-1.0)), c0 = 0.5 * 2 + s1 * tanh(0.5), c1 = s1 * tanh(0.5);

    FEED(net, "x", 2, 2);
    FEED(net, "u", 1, 0, 0, 0.5f, 1, 0, 0, 0.5f);
    FEED(net, "v", 1, 0);
    run(net);
    HOLDS(net, "c", (float)c0, (float)c1);
    HOLDS(net, "h", (float)(0.5 * tanh(c0)), (float)(0.5 * tanh(c1)));
    ferry_net_close(net);
}

static void a_label_that_is_not_a_class_is_an_error_that_names_it(void)
{
    static const char *const types[] = { "SoftmaxWithLoss", "HingeLoss", "MultinomialLogisticLoss",
                                         "Accuracy" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++)
        for (int k = 0; k < 3; k++) {
            char text[512];
            ferry_net *net;

            snprintf(text, sizeof(text),
                     "%s%slayer { name: 'l' type: '%s' bottom: 'x' bottom: 'u' "
                     "top: 'y' }",
                     X("dim: 1 dim: 3"), U("dim: 1"), types[i]);
            net = open_text(text);
            FEED(net, "x", 0.2f, 0.5f, 0.3f);
            FEED(net, "u", k == 0 ? 3 : k == 1 ? -1 : NAN);
            CU_ASSERT_EQUAL(ferry_net_forward(net, NULL), FERRY_EINVAL);
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "there are 3 classes"));
            ferry_net_close(net);
        }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(bn_scales_and_shifts_and_learning_normalizes_before),
    FERRY_TEST(axpy_scales_each_channel_and_adds),
    FERRY_TEST(upsampling_repeats_and_with_a_mask_puts_back),
    FERRY_TEST(regions_are_pooled),
    FERRY_TEST(interp_lays_corners_on_corners),
    FERRY_TEST(proposals_are_the_best_regions_that_do_not_overlap),
    FERRY_TEST(an_average_without_padding_counts_elements_in_the_image),
    FERRY_TEST(a_last_window_may_begin_behind_the_image),
    FERRY_TEST(rows_go_on_from_file_to_file_and_begin_again),
    FERRY_TEST(a_training_net_begins_with_caffes_loss),
    FERRY_TEST(data_and_parameters_make_tops),
    FERRY_TEST(random_numbers_go_on),
    FERRY_TEST(written_files_can_be_read),
    FERRY_TEST(no_file_makes_a_layer_write_elsewhere),
    FERRY_TEST(a_path_is_looked_at_before_each_file),
    FERRY_TEST(mvn_has_a_top_of_four_axes),
    FERRY_TEST(an_image_without_detections_has_a_row_only_where_no_image_has_any),
    FERRY_TEST(a_filter_that_chooses_nothing_has_no_entries),
    FERRY_TEST(files_that_are_not_there_are_named),
    FERRY_TEST(a_recurrent_state_lives_until_cont_cuts_it),
    FERRY_TEST(exposed_states_come_and_go_by_blobs),
    FERRY_TEST(a_unit_is_a_step_of_an_lstm),
    FERRY_TEST(a_label_that_is_not_a_class_is_an_error_that_names_it),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "layer forks", cases, FERRY_TEST_COUNT(cases));
}
