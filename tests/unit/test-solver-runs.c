/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/*
 * Training compared with Caffe's, iteration by iteration: losses, rates, first gradients, weights,
 * histories, and snapshots read, continued and written. Needs FERRY_TEST_DATA. By default the first
 * iterations of a few runs; FERRY_TEST_LONG=1: every run to its end.
 */
#include "net-data.h"

#include <ferry/solver.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ferry_device *dev; /* of the case that runs */

/* One of Caffe's runs, and the number of iterations compared. */
struct run {
    const char *name;
    bool smooth;
    ferry_io *io;
    float *loss, *lr;
    int64_t count;
    int until; /* iterations with the narrow tolerance */
    int bad;
};

static bool everything(void)
{
    const char *value = getenv("FERRY_TEST_LONG");

    return value && *value && strcmp(value, "0") != 0;
}

/* For variants of a backend and under a sanitizer, only that training succeeds. */
static bool is_short(void)
{
    return ferry_test_is_slow() || ferry_test_has_options();
}

/* Iterations per run when not all are done. */
#define SOME (is_short() ? 1 : strcmp(ferry_test_backend(), "cpu") ? 3 : 10)

/* ---- a copy of the tree ---------------------------------------------------------------------- */

static char folder[64];

/*
 * Changes into a copy of the data folder, because snapshots are written there; returns false, and
 * skips the case, without the folder.
 */
static bool enter(void)
{
    const char *data = ferry_test_data("nets/train/train.txt");
    char command[1024];

    if (!data)
        return false;
    strcpy(folder, "/tmp/ferry-runs-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cp -r --no-preserve=mode \"$(dirname '%s')\" %s/train && chmod -R u+w %s", data,
             folder, folder);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    CU_ASSERT_EQUAL_FATAL(chdir("train"), 0);
    dev = fx_device();
    return true;
}

/*
 * Whether this case, which trains, is skipped: with a sanitizer, a step on sim takes seconds, most
 * of them in kernels that test-kernels runs; the solver's own tests run it there.
 */
static bool skips_training(void)
{
    if (ferry_test_is_slow() && !everything() && ferry_test_skip_all_but_cpu())
        return true;
    return ferry_test_skip_variant() || ferry_test_skip_slow_device();
}

static void leave(void)
{
    char command[128];

    fx_end();
    CU_ASSERT_EQUAL(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* ---- Caffe's numbers ------------------------------------------------------------------------- */

static float *values_of(ferry_io *io, const char *name, int64_t *out_count)
{
    const ferry_io_entry *entry = nd_find(io, name);
    float *values;
    double *wide;

    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    values = malloc((size_t)entry->count * sizeof *values + 1);
    wide = malloc((size_t)entry->count * sizeof *wide + 1);
    CU_ASSERT_FATAL(values && wide);
    CU_ASSERT_EQUAL(ferry_io_read_values(io, entry, 0, entry->count, wide), FERRY_OK);
    for (int64_t i = 0; i < entry->count; i++)
        values[i] = entry->dtype == FERRY_F64 ? (float)wide[i] : ((const float *)(void *)wide)[i];
    *out_count = entry->count;
    free(wide);
    return values;
}

static bool open_run(struct run *r, const char *file)
{
    char path[256];
    int64_t n;

    snprintf(path, sizeof path, "%s/%s", r->name, file);
    if (access(path, F_OK))
        return false;
    FX_OK_FATAL(ferry_io_open(path, &r->io));
    r->loss = values_of(r->io, "loss", &r->count);
    r->lr = values_of(r->io, "lr", &n);
    CU_ASSERT_EQUAL(n, r->count);
    r->smooth = strstr(r->name, "_smooth") != NULL;
    r->until = r->smooth ? (int)r->count : 10;
    return true;
}

static void close_run(struct run *r)
{
    ferry_io_close(r->io);
    free(r->loss);
    free(r->lr);
}

/* Compares the blobs PREFIXi of the file, as far as they exist, with the solver's. */
static void compare(struct run *r, ferry_solver *s, const char *prefix, double tolerance)
{
    int n = ferry_solver_history_count(s), i, layer, k, learned = 0;
    const ferry_net *net = ferry_solver_net(s);
    char name[64], what[128];

    for (i = 0; prefix[0] == 'h' && i < n; i++) {
        const ferry_io_entry *entry;

        snprintf(name, sizeof name, "%s%d", prefix, i);
        snprintf(what, sizeof what, "%s, iteration %d", r->name, ferry_solver_iter(s));
        entry = nd_find(r->io, name);
        r->bad += entry && !nd_same(r->io, entry, ferry_solver_history_at(s, i), tolerance, what);
    }
    for (layer = 0; prefix[0] != 'h' && layer < ferry_net_layer_count(net); layer++)
        for (k = 0; k < ferry_net_param_count(net, layer); k++) {
            ferry_blob *b = ferry_net_param_at(net, layer, k);
            const ferry_io_entry *entry;

            snprintf(name, sizeof name, "%s%d", prefix, learned++);
            snprintf(what, sizeof what, "%s, iteration %d", r->name, ferry_solver_iter(s));
            entry = nd_find(r->io, name);
            if (entry)
                r->bad += prefix[0] == 'g' ? !nd_same_diff(r->io, entry, b, tolerance, what)
                                           : !nd_same(r->io, entry, b, tolerance, what);
        }
}

/* ---- training -------------------------------------------------------------------------------- */

static int base; /* the first iteration of the run that is compared */

static int follow(void *arg, ferry_solver *s, const ferry_solver_iteration *e)
{
    struct run *r = arg;
    int i = e->iter - base;
    double close = r->smooth || i < 10 ? 1e-4 : 5e-2;
    char prefix[16];

    if (e->is_last || i >= r->count)
        return 0;
    if (e->lr != (double)r->lr[i]) {
        printf("     %s, iteration %d: lr %.9g, Caffe's %.9g\n", r->name, e->iter, e->lr,
               (double)r->lr[i]);
        r->bad++;
    }
    if (i < r->until && !(fabs(e->loss - (double)r->loss[i]) <= 1e-5)) {
        printf("     %s, iteration %d: loss %.9g, Caffe's %.9g\n", r->name, e->iter, e->loss,
               (double)r->loss[i]);
        r->bad++;
    }
    if (e->iter == 0)
        compare(r, s, "grad0_", 1e-4);
    snprintf(prefix, sizeof prefix, "w%d_", e->iter + 1);
    compare(r, s, prefix, close);
    snprintf(prefix, sizeof prefix, "h%d_", e->iter + 1);
    compare(r, s, prefix, close);
    return 0;
}

/* The initial weights of a net: those with its name, otherwise the common ones. */
static ferry_solver *open_solver(const struct run *r)
{
    ferry_solver_options o = { .struct_size = sizeof o };
    static const char *const common[] = { "init.caffemodel" };
    static const char *const smooth[] = { "lenet_smooth.caffemodel" };
    char path[256];
    ferry_solver *s = NULL;

    o.weights = r->smooth ? smooth : common;
    o.weight_count = 1;
    snprintf(path, sizeof path, "%s/solver.prototxt", r->name);
    if (ferry_solver_open(dev, path, &o, &s))
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    return s;
}

static void train(struct run *r, int steps)
{
    ferry_solver *s = open_solver(r);

    base = 0;
    FX_OK(ferry_solver_on_iteration(s, follow, r));
    FX_OK(ferry_solver_step(s, steps));
    CU_ASSERT_EQUAL(r->bad, 0);
    ferry_solver_close(s);
}

/* The runs to do when not all are done. */
static bool is_chosen(const char *name)
{
    static const char *const chosen[] = { "sgd", "adam_smooth", "policy_multistep" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(chosen); i++)
        if (!strcmp(name, chosen[i]))
            return true;
    return everything();
}

static void losses_rates_and_weights_match_caffe(void)
{
    const struct dirent *d;
    int runs = 0;
    DIR *dir;

    if (skips_training() || !enter())
        return;
    dir = opendir(".");
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    while ((d = readdir(dir))) {
        struct run r = { .name = d->d_name };

        if (d->d_name[0] == '.' || !is_chosen(d->d_name) || !open_run(&r, "run.npz"))
            continue;
        train(&r, everything() ? (int)r.count : SOME);
        close_run(&r);
        runs++;
    }
    closedir(dir);
    CU_ASSERT(runs >= 3);
    leave();
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void resume(const char *name, const char *snapshot, int steps)
{
    struct run r = { .name = name };
    ferry_solver *s;

    CU_ASSERT_FATAL(open_run(&r, "resumed.npz"));
    s = open_solver(&r);
    if (ferry_solver_restore(s, snapshot)) {
        printf("     %s: %s\n", snapshot, ferry_last_error());
        r.bad++;
    }
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 30);
    base = 30;
    FX_OK(ferry_solver_on_iteration(s, follow, &r));
    FX_OK(ferry_solver_step(s, steps));
    CU_ASSERT_EQUAL(r.bad, 0);
    ferry_solver_close(s);
    close_run(&r);
}

static void snapshots_of_caffe_are_resumed(void)
{
    static const char *const runs[][2] = {
        { "sgd", "sgd/snap_iter_30.solverstate" },
        { "sgd_h5", "sgd_h5/snap_iter_30.solverstate.h5" },
        { "adam", "adam/snap_iter_30.solverstate" },
        { "adam_h5", "adam_h5/snap_iter_30.solverstate.h5" },
    };

    if (skips_training() || !enter())
        return;
    for (size_t i = 0; i < FERRY_TEST_COUNT(runs); i++)
        if (everything() || i >= 2)
            resume(runs[i][0], runs[i][1], everything() ? 30 : SOME);
    leave();
}

/* Compares names, shapes and strings of two files; values within `tolerance`. */
static void same_files(const char *a, const char *b, double tolerance)
{
    ferry_blob *blob = fx_blob(FERRY_F32, FERRY_UNSHAPED, NULL);
    ferry_io *mine, *theirs;

    FX_OK_FATAL(ferry_io_open(a, &mine));
    FX_OK_FATAL(ferry_io_open(b, &theirs));
    CU_ASSERT_EQUAL(ferry_io_get_format(mine), ferry_io_get_format(theirs));
    CU_ASSERT_EQUAL(ferry_io_entry_count(mine), ferry_io_entry_count(theirs));
    for (int64_t i = 0; i < ferry_io_entry_count(theirs); i++) {
        const ferry_io_entry *entry, *own;

        FX_OK_FATAL(ferry_io_entry_at(theirs, i, &entry));
        own = nd_find(mine, entry->name);
        if (!own)
            printf("     %s has no %s\n", a, entry->name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(own);
        CU_ASSERT_EQUAL(own->dtype, entry->dtype);
        if (entry->dtype != FERRY_F32)
            continue;
        FX_OK(ferry_io_read(mine, own, blob));
        CU_ASSERT(nd_same(theirs, entry, blob, tolerance, a));
    }
    ferry_io_close(mine);
    ferry_io_close(theirs);
    ferry_blob_destroy(blob);
}

/* Replaces Caffe's files by ferry's, and keeps Caffe's beside them. */
static void write_own(const char *name, const char *const *suffixes)
{
    struct run r = { .name = name };
    ferry_solver *s;
    char from[256], to[256];

    CU_ASSERT_FATAL(open_run(&r, "run.npz"));
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s/snap_iter_30%s", name, suffixes[i]);
        snprintf(to, sizeof to, "%s/caffe%s", name, suffixes[i]);
        CU_ASSERT_EQUAL_FATAL(rename(from, to), 0);
    }
    s = open_solver(&r);
    FX_OK(ferry_solver_step(s, 30));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_solver_latest_snapshot(s), suffixes[1]));
    ferry_solver_close(s);
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s/snap_iter_30%s", name, suffixes[i]);
        snprintf(to, sizeof to, "%s/caffe%s", name, suffixes[i]);
        same_files(from, to, 5e-3);
    }
    close_run(&r);
}

static off_t size_of(const char *path)
{
    struct stat info;

    return stat(path, &info) ? -1 : info.st_size;
}

static void snapshots_have_the_format_of_caffe(void)
{
    static const char *const proto[] = { ".caffemodel", ".solverstate" };
    static const char *const hdf5[] = { ".caffemodel.h5", ".solverstate.h5" };

    if (!everything()) {
        ferry_test_skip("thirty iterations: FERRY_TEST_LONG=1");
        return;
    }
    if (!enter())
        return;
    write_own("adam", proto);
    CU_ASSERT_EQUAL(size_of("adam/snap_iter_30.solverstate"), size_of("adam/caffe.solverstate"));
    resume("adam", "adam/snap_iter_30.solverstate", 30);
    write_own("sgd_h5", hdf5);
    resume("sgd_h5", "sgd_h5/snap_iter_30.solverstate.h5", 30);
    leave();
}

static void the_snapshot_of_another_net_or_solver_is_refused(void)
{
    struct run r = { .name = "sgd" }, smooth = { .name = "sgd_smooth", .smooth = true };
    ferry_solver *s;

    if (!enter())
        return;
    s = open_solver(&r);
    FX_FAILS(FERRY_ESHAPE, ferry_solver_restore(s, "adam/snap_iter_30.solverstate"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "Incorrect length of history blobs: 16"));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 0);
    FX_FAILS(FERRY_EFORMAT, ferry_solver_restore(s, "sgd/snap_iter_30.caffemodel"));
    FX_FAILS(FERRY_EFORMAT, ferry_solver_restore(s, "sgd_h5/snap_iter_30.caffemodel.h5"));
    FX_FAILS(FERRY_EIO, ferry_solver_restore(s, "sgd/snap_iter_31.solverstate"));
    FX_FAILS(FERRY_EIO, ferry_solver_restore_exact(s, "sgd/snap_iter_30.solverstate"));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 0);
    ferry_solver_close(s);
    s = open_solver(&smooth);
    FX_FAILS(FERRY_ESHAPE, ferry_solver_restore(s, "sgd/snap_iter_30.solverstate"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "another net"));
    ferry_solver_close(s);
    leave();
}

/* ---- a published snapshot -------------------------------------------------------------------- */

/* LeNet with the files of Caffe's example, on the digits in the data folder. */
static const char lenet[] =
    "base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 lr_policy: 'inv' gamma: 0.0001 power: 0.75\n"
    "max_iter: 10000 snapshot_prefix: 'everpeace' test_iter: 5 test_interval: 5000 net_param {\n"
    "layer { name: 'mnist' type: 'HDF5Data' top: 'data' top: 'label' include { phase: TRAIN }\n"
    "  hdf5_data_param { source: 'train.txt' batch_size: 64 } }\n"
    "layer { name: 'mnist' type: 'HDF5Data' top: 'data' top: 'label' include { phase: TEST }\n"
    "  hdf5_data_param { source: 'test.txt' batch_size: 100 } }\n"
    "layer { name: 'conv1' type: 'Convolution' bottom: 'data' top: 'conv1' param { lr_mult: 1 }\n"
    "  param { lr_mult: 2 } convolution_param { num_output: 20 kernel_size: 5 } }\n"
    "layer { name: 'pool1' type: 'Pooling' bottom: 'conv1' top: 'pool1' pooling_param { pool: MAX\n"
    "  kernel_size: 2 stride: 2 } }\n"
    "layer { name: 'conv2' type: 'Convolution' bottom: 'pool1' top: 'conv2' param { lr_mult: 1 }\n"
    "  param { lr_mult: 2 } convolution_param { num_output: 50 kernel_size: 5 } }\n"
    "layer { name: 'pool2' type: 'Pooling' bottom: 'conv2' top: 'pool2' pooling_param { pool: MAX\n"
    "  kernel_size: 2 stride: 2 } }\n"
    "layer { name: 'ip1' type: 'InnerProduct' bottom: 'pool2' top: 'ip1' param { lr_mult: 1 }\n"
    "  param { lr_mult: 2 } inner_product_param { num_output: 500 } }\n"
    "layer { name: 'relu1' type: 'ReLU' bottom: 'ip1' top: 'ip1' }\n"
    "layer { name: 'ip2' type: 'InnerProduct' bottom: 'ip1' top: 'ip2' param { lr_mult: 1 }\n"
    "  param { lr_mult: 2 } inner_product_param { num_output: 10 } }\n"
    "layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip2' bottom: 'label' top: 'accuracy'\n"
    "  include { phase: TEST } }\n"
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip2' bottom: 'label' top: 'loss' } }\n";

/* The test at iteration 5000 comes first; then the training continues with a low loss. */
static int goes_on(void *arg, ferry_solver *s, const ferry_solver_iteration *e)
{
    (void)s;
    if (e->iter == 5000) {
        CU_ASSERT(fabs(e->lr - 0.00737788) < 1e-8);
        CU_ASSERT_EQUAL_FATAL(e->score_count, 2);
        CU_ASSERT_STRING_EQUAL(e->scores[0].name, "accuracy");
        CU_ASSERT(e->scores[0].value >= 0.97);
    }
    CU_ASSERT(e->loss < 0.3);
    ++*(int *)arg;
    return 0;
}

/*
 * The snapshot names its model by a path of the machine where it was written; the model is in the
 * same folder.
 */
static void a_published_snapshot_is_resumed(void)
{
    ferry_solver_options o = { .struct_size = sizeof o, .text = lenet };
    const char *path;
    ferry_solver *s = NULL;
    int iterations = 0;

    if (skips_training() || !enter())
        return;
    path = ferry_test_data("nets/lenet_everpeace/lenet_iter_5000.solverstate");
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    o.text_size = strlen(lenet);
    FX_OK_FATAL(ferry_solver_open(dev, "lenet_solver.prototxt", &o, &s));
    if (ferry_solver_restore(s, path))
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 5000);
    FX_OK(ferry_solver_on_iteration(s, goes_on, &iterations));
    FX_OK(ferry_solver_step(s, SOME));
    CU_ASSERT_EQUAL(iterations, SOME);
    ferry_solver_close(s);
    leave();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(losses_rates_and_weights_match_caffe),
    FERRY_TEST(snapshots_of_caffe_are_resumed),
    FERRY_TEST(snapshots_have_the_format_of_caffe),
    FERRY_TEST(the_snapshot_of_another_net_or_solver_is_refused),
    FERRY_TEST(a_published_snapshot_is_resumed),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "solver runs", cases, FERRY_TEST_COUNT(cases));
}
