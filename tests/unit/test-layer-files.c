/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "layer-fixture.h"
#include "net-data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Layers that read and write files, and the paths that they may use. */

/* Rows of digits: 3000 in the first file, 5000 in the second; a batch may have rows of both. */
static void rows_continue_across_files_and_restart_at_the_end(void)
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

        lx_run(net);
        labels = ferry_blob_host_data(ferry_net_blob_find(net, "label"));
        if (i < 2)
            memcpy(i ? second : first, labels, sizeof(first));
        if (i == 5) { /* rows 4500 … 4999 of the second file, then 0 … 999 of the first */
            CU_ASSERT_EQUAL(memcmp(&labels[500], first, 1000 * sizeof(*first)), 0);
            CU_ASSERT_NOT_EQUAL(memcmp(labels, first, 500 * sizeof(*first)), 0);
        }
    }
    lx_run(net);
    memmove(first, &first[1000], 500 * sizeof(*first));
    memcpy(&first[500], second, 1000 * sizeof(*first));
    CU_ASSERT(lx_holds(net, "label", 1500, first));
    ferry_net_close(net);
}

/* Caffe's `train` printed these first losses, from the same weights and rows. */
static void the_first_loss_of_a_training_net_matches_caffe(void)
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
static void a_layer_writes_only_below_the_allowed_folder(void)
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
static void the_path_is_checked_before_each_write(void)
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

static void missing_files_are_named(void)
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

static const ferry_test_case cases[] = {
    FERRY_TEST(rows_continue_across_files_and_restart_at_the_end),
    FERRY_TEST(the_first_loss_of_a_training_net_matches_caffe),
    FERRY_TEST(written_files_can_be_read),
    FERRY_TEST(a_layer_writes_only_below_the_allowed_folder),
    FERRY_TEST(the_path_is_checked_before_each_write),
    FERRY_TEST(missing_files_are_named),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "layer files", cases, FERRY_TEST_COUNT(cases));
}
