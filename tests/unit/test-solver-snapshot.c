/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/*
 * Snapshots on each backend: a continued training is equal bit for bit; a full disk; and a process
 * that is killed at any moment (a few times; FERRY_TEST_LONG=1: fifty).
 */
#include "fixture.h"

#include <ferry/solver.h>

#include <ferry/io.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static ferry_device *dev; /* of the case that runs */
static char folder[64];

/* ---- a training with everything that has to be remembered ------------------------------------ */

#define NET NET_WITH("ip2")
#define NET_WITH(last)                                                                           \
    "name: 'kept'\n"                                                                             \
    "layer { name: 'rows' type: 'HDF5Data' top: 'x' top: 't' hdf5_data_param {\n"                \
    "  source: 'rows.txt' batch_size: 8 shuffle: true } }\n"                                     \
    "layer { name: 'ip1' type: 'InnerProduct' bottom: 'x' top: 'h' inner_product_param {\n"      \
    "  num_output: 16 weight_filler { type: 'xavier' } } }\n"                                    \
    "layer { name: 'relu' type: 'ReLU' bottom: 'h' top: 'h' }\n"                                 \
    "layer { name: 'drop' type: 'Dropout' bottom: 'h' top: 'h' dropout_param {\n"                \
    "  dropout_ratio: 0.3 } }\n"                                                                 \
    "layer { name: '" last "' type: 'InnerProduct' bottom: 'h' top: 'y' inner_product_param {\n" \
    "  num_output: 3 weight_filler { type: 'xavier' } } }\n"                                     \
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 't' top: 'loss' }\n"

#define SOLVER  "max_iter: 20 random_seed: 5 " REST
#define OTHER   "max_iter: 20 random_seed: 6 " REST
#define ENDLESS "max_iter: 90000000 random_seed: 5 " REST
#define REST                                                                             \
    "net: 'net.prototxt' base_lr: 0.01 lr_policy: 'multistep' gamma: 0.5 stepvalue: 7\n" \
    "stepvalue: 13 momentum: 0.9 weight_decay: 0.001 snapshot_prefix: 'snap'\n"          \
    "test_iter: 2 test_interval: 4 average_loss: 3 snapshot_after_train: false\n"

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

/* 37 rows: no multiple of the batch. */
static void write_rows(void)
{
    ferry_blob *x = FX_BLOB(FERRY_F32, 37, 5), *t = FX_BLOB(FERRY_F32, 37, 3);
    float *a = ferry_blob_overwrite_host_data(x), *b = ferry_blob_overwrite_host_data(t);
    ferry_io_writer *w = NULL;

    CU_ASSERT_FATAL(a && b);
    for (int i = 0; i < 37 * 5; i++)
        a[i] = (float)((i * 37 + 11) % 101) / 50 - 1;
    for (int i = 0; i < 37 * 3; i++)
        b[i] = (float)((i * 53 + 7) % 97) / 48 - 1;
    FX_OK_FATAL(ferry_io_writer_create("rows.h5", FERRY_IO_HDF5, &w));
    FX_OK(ferry_io_writer_write(w, "x", x, false));
    FX_OK(ferry_io_writer_write(w, "t", t, false));
    FX_OK_FATAL(ferry_io_writer_commit(w));
    ferry_blob_destroy(x);
    ferry_blob_destroy(t);
}

/* Changes into a folder of its own; false, with a skip message, if HDF5 is not available. */
static bool enter(void)
{
    ferry_io_writer *probe = NULL;

    strcpy(folder, "/tmp/ferry-snap-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    dev = fx_device();
    if (ferry_io_writer_create("probe.h5", FERRY_IO_HDF5, &probe)) {
        ferry_test_skip("ferry was built without HDF5");
        return false;
    }
    ferry_io_writer_abort(probe);
    write_rows();
    write_text("rows.txt", "rows.h5\n");
    write_text("net.prototxt", NET);
    write_text("solver.prototxt", SOLVER "type: 'Adam' snapshot: 5");
    return true;
}

static void leave(void)
{
    char command[128];

    fx_end();
    CU_ASSERT_EQUAL(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static ferry_solver *open_solver(const char *path)
{
    ferry_solver *s = NULL;

    if (ferry_solver_open(dev, path, NULL, &s))
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    return s;
}

/* ---- the result of a training ---------------------------------------------------------------- */

struct result {
    float *values;
    size_t count;
    double smoothed;
};

static void add(struct result *r, const ferry_blob *b)
{
    size_t n = (size_t)ferry_blob_element_count(b);
    const float *values = ferry_blob_host_data(b);

    r->values = realloc(r->values, (r->count + n) * sizeof *r->values);
    CU_ASSERT_FATAL(r->values && values);
    memcpy(r->values + r->count, values, n * sizeof *values);
    r->count += n;
}

/* Parameters and histories. */
static struct result result_of(const ferry_solver *s)
{
    const ferry_net *net = ferry_solver_net(s);
    struct result r = { 0 };

    for (int i = 0; i < ferry_net_layer_count(net); i++)
        for (int k = 0; k < ferry_net_param_count(net, i); k++)
            add(&r, ferry_net_param_at(net, i, k));
    for (int i = 0; i < ferry_solver_history_count(s); i++)
        add(&r, ferry_solver_history_at(s, i));
    return r;
}

static bool same(const struct result *a, const struct result *b)
{
    return a->count == b->count && !memcmp(a->values, b->values, a->count * sizeof *a->values);
}

static int keep_smoothed(void *arg, ferry_solver *s, const ferry_solver_iteration *e)
{
    (void)s;
    if (!e->is_last)
        *(double *)arg = e->smoothed_loss;
    return 0;
}

static struct result finish(ferry_solver *s)
{
    double smoothed = 0;
    struct result r;

    FX_OK(ferry_solver_on_iteration(s, keep_smoothed, &smoothed));
    FX_OK(ferry_solver_solve(s));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 20);
    r = result_of(s);
    r.smoothed = smoothed;
    ferry_solver_close(s);
    return r;
}

/* ---- going on -------------------------------------------------------------------------------- */

/* Continues from every snapshot of a training to its end. */
static void go_on_from(const char *solver, const char *suffix)
{
    struct result straight = finish(open_solver(solver));

    for (int iter = 5; iter <= 15; iter += 5) {
        char path[64];
        ferry_solver *s = open_solver(solver);
        struct result r;

        snprintf(path, sizeof path, "snap_iter_%d%s", iter, suffix);
        if (ferry_solver_restore_exact(s, path))
            printf("     %s: %s\n", path, ferry_last_error());
        CU_ASSERT_EQUAL(ferry_solver_iter(s), iter);
        CU_ASSERT_STRING_EQUAL(ferry_solver_latest_snapshot(s), path);
        r = finish(s);
        CU_ASSERT(same(&r, &straight));
        CU_ASSERT_EQUAL(r.smoothed, straight.smoothed);
        free(r.values);
    }
    free(straight.values);
}

static void an_exact_resume_gives_the_same_bits(void)
{
    if (!enter())
        return;
    go_on_from("solver.prototxt", ".solverstate");
    write_text("hdf5.prototxt",
               SOLVER "type: 'SGD' snapshot: 5 snapshot_format: HDF5 iter_size: 2");
    go_on_from("hdf5.prototxt", ".solverstate.h5");
    leave();
}

/* Data and dropout begin again: other random numbers, from the same parameters. */
static void a_resume_like_caffe_restarts_the_data(void)
{
    struct result straight, again;
    ferry_solver *s;

    if (!enter())
        return;
    straight = finish(open_solver("solver.prototxt"));
    s = open_solver("solver.prototxt");
    FX_OK(ferry_solver_restore(s, "snap_iter_10.solverstate"));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 10);
    again = finish(s);
    CU_ASSERT(!same(&again, &straight));
    free(straight.values);
    free(again.values);
    leave();
}

/* Closes a solver that is at that iteration, with these parameters. */
static void end_as(ferry_solver *s, int64_t iteration, struct result *expected)
{
    struct result now = result_of(s);

    CU_ASSERT_EQUAL(ferry_solver_iter(s), iteration);
    CU_ASSERT(same(expected, &now));
    free(expected->values);
    free(now.values);
    ferry_solver_close(s);
    leave();
}

static void a_restored_state_equals_its_snapshot(void)
{
    struct result before;
    ferry_solver *s;

    if (!enter())
        return;
    s = open_solver("solver.prototxt");
    FX_OK(ferry_solver_step(s, 3));
    FX_OK(ferry_solver_snapshot(s));
    before = result_of(s);
    FX_OK(ferry_solver_step(s, 2));
    FX_OK(ferry_solver_restore_exact(s, "snap_iter_3.solverstate"));
    end_as(s, 3, &before);
}

static void a_ferrystate_of_another_snapshot_is_refused(void)
{
    struct result before;
    ferry_solver *s;

    if (!enter())
        return;
    s = open_solver("solver.prototxt");
    FX_OK(ferry_solver_step(s, 10));
    before = result_of(s);
    CU_ASSERT_EQUAL_FATAL(rename("snap_iter_5.ferrystate", "kept"), 0);
    FX_FAILS(FERRY_EIO, ferry_solver_restore_exact(s, "snap_iter_5.solverstate"));
    CU_ASSERT_EQUAL_FATAL(rename("snap_iter_10.ferrystate", "snap_iter_5.ferrystate"), 0);
    FX_FAILS(FERRY_EFORMAT, ferry_solver_restore_exact(s, "snap_iter_5.solverstate"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "iteration 10"));
    write_text("snap_iter_5.ferrystate", "nothing of the kind");
    FX_FAILS(FERRY_EFORMAT, ferry_solver_restore_exact(s, "snap_iter_5.solverstate"));
    end_as(s, 10, &before);
}

static void a_ferrystate_of_another_seed_is_refused(void)
{
    ferry_solver *s;

    if (!enter())
        return;
    s = open_solver("solver.prototxt");
    FX_OK(ferry_solver_step(s, 5));
    ferry_solver_close(s);
    write_text("other.prototxt", OTHER "type: 'Adam'");
    s = open_solver("other.prototxt");
    FX_FAILS(FERRY_ESHAPE, ferry_solver_restore_exact(s, "snap_iter_5.solverstate"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "random_seed"));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 0);
    ferry_solver_close(s);
    leave();
}

/*
 * The number of parameters and their shapes are equal: without the check one would keep an
 * arbitrary value.
 */
static void a_snapshot_without_a_layer_is_refused(void)
{
    struct result before;
    ferry_solver *s;

    if (!enter())
        return;
    s = open_solver("solver.prototxt");
    FX_OK(ferry_solver_step(s, 5));
    ferry_solver_close(s);
    write_text("net.prototxt", NET_WITH("ip9"));
    s = open_solver("solver.prototxt");
    before = result_of(s);
    FX_FAILS(FERRY_ESHAPE, ferry_solver_restore(s, "snap_iter_5.solverstate"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "\"ip9\""));
    FX_FAILS(FERRY_ESHAPE, ferry_solver_restore_exact(s, "snap_iter_5.solverstate"));
    end_as(s, 0, &before);
}

/*
 * An array of a model compared with the parameter that it was written from, data and diff to the
 * bit.
 */
static void same_diff(ferry_io *io, const char *name, const ferry_blob *b)
{
    int64_t n = ferry_blob_element_count(b);
    const float *data = ferry_blob_host_data(b), *diff = ferry_blob_host_diff(b);
    const ferry_io_entry *entry = NULL;
    float read[256], largest = 0;

    FX_OK(ferry_io_entry_find(io, name, &entry));
    CU_ASSERT_FATAL(entry && data && diff && n <= 256 && entry->count == n);
    CU_ASSERT_EQUAL(entry->has_diff, 1);
    FX_OK(ferry_io_read_values(io, entry, 0, n, read));
    CU_ASSERT_EQUAL(memcmp(read, data, (size_t)n * sizeof *read), 0);
    FX_OK(ferry_io_read_diff_values(io, entry, 0, n, read));
    CU_ASSERT_EQUAL(memcmp(read, diff, (size_t)n * sizeof *read), 0);
    for (int64_t i = 0; i < n; i++)
        largest = read[i] > largest ? read[i] : largest;
    CU_ASSERT(largest > 0);
}

static void diffs_are_written_if_the_text_sets_snapshot_diff(void)
{
    static const char *const formats[][2] = {
        { "BINARYPROTO", "snap_iter_2.caffemodel" },
        { "HDF5", "snap_iter_2.caffemodel.h5" },
    };

    if (!enter())
        return;
    for (size_t i = 0; i < FERRY_TEST_COUNT(formats); i++) {
        char text[1024];
        ferry_solver *s;
        ferry_io *io;

        snprintf(text, sizeof text,
                 SOLVER "type: 'SGD' snapshot: 2 snapshot_diff: true snapshot_format: %s",
                 formats[i][0]);
        write_text("diff.prototxt", text);
        s = open_solver("diff.prototxt");
        FX_OK(ferry_solver_step(s, 2));
        FX_OK_FATAL(ferry_io_open(formats[i][1], &io));
        same_diff(io, "ip1/0", ferry_net_param_at(ferry_solver_net(s), 1, 0));
        same_diff(io, "ip2/1", ferry_net_param_at(ferry_solver_net(s), 4, 1));
        ferry_io_close(io);
        FX_OK(ferry_solver_restore(s, ferry_solver_latest_snapshot(s))); /* and it is continued */
        FX_OK(ferry_solver_step(s, 1));
        ferry_solver_close(s);
    }
    leave();
}

/* ---- a disk that is full --------------------------------------------------------------------- */

static void a_full_disk_ends_training_and_keeps_earlier_snapshots(void)
{
    struct rlimit old, small;
    rlim_t bytes;
    ferry_solver *s;
    int err = 1;

    if (!enter())
        return;
    s = open_solver("solver.prototxt");
    FX_OK(ferry_solver_step(s, 5));
    signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (bytes = 0; err; bytes += 100) { /* the size limit is exceeded by each of the files once */
        small = (struct rlimit){ bytes, old.rlim_max };
        CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
        err = ferry_solver_snapshot(s);
        CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &old), 0);
        CU_ASSERT_FATAL(!err || err == FERRY_EIO);
        CU_ASSERT_STRING_EQUAL(ferry_solver_latest_snapshot(s), "snap_iter_5.solverstate");
        FX_OK(ferry_solver_restore_exact(s, "snap_iter_5.solverstate"));
    }
    CU_ASSERT(bytes > 1200);
    small = (struct rlimit){ 400, old.rlim_max };
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    CU_ASSERT_EQUAL(ferry_solver_solve(s), FERRY_EIO);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &old), 0);
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 10);
    CU_ASSERT_NOT_EQUAL(access("snap_iter_10.solverstate", F_OK), 0);
    FX_OK(ferry_solver_restore_exact(s, "snap_iter_5.solverstate"));
    FX_OK(ferry_solver_solve(s));
    CU_ASSERT_EQUAL(ferry_solver_iter(s), 20);
    ferry_solver_close(s);
    leave();
}

/* ---- killed ---------------------------------------------------------------------------------- */

/* The iteration of the newest .solverstate; 0 if there is no such file. */
static int newest(void)
{
    const struct dirent *d;
    DIR *dir = opendir(".");
    int most = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    while ((d = readdir(dir))) {
        int iter, end = 0;

        if (sscanf(d->d_name, "snap_iter_%d.solverstate%n", &iter, &end) == 1 && end &&
            !d->d_name[end] && iter > most)
            most = iter;
    }
    closedir(dir);
    return most;
}

static void pause_for(long microseconds)
{
    struct timespec t = { microseconds / 1000000, microseconds % 1000000 * 1000 };

    nanosleep(&t, NULL);
}

/* The command trains and takes a snapshot after every iteration, until it is killed. */
static pid_t start_training(const char *snapshot)
{
    const char *command = getenv("FERRY_TEST_COMMAND");
    pid_t child = fork();

    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);

        setenv("FERRY_BACKEND", ferry_test_backend(), 1);
        dup2(null, 1);
        dup2(null, 2);
        if (snapshot)
            execl(command, command, "train", "endless.prototxt", "--snapshot", snapshot, "--resume",
                  "exact", (char *)NULL);
        else
            execl(command, command, "train", "endless.prototxt", (char *)NULL);
        _exit(127);
    }
    return child;
}

static bool kill_once(int before, long wait)
{
    char path[64];
    pid_t child;
    int status, tries;
    ferry_solver *s;

    snprintf(path, sizeof path, "snap_iter_%d.solverstate", before);
    child = start_training(before ? path : NULL);
    CU_ASSERT_FATAL(child > 0);
    for (tries = 0; tries < 6000 && newest() <= before; tries++)
        pause_for(10000);
    pause_for(wait);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (newest() <= before) {
        printf("     it made no snapshot\n");
        return false;
    }
    snprintf(path, sizeof path, "snap_iter_%d.solverstate", newest());
    s = open_solver("endless.prototxt");
    if (ferry_solver_restore_exact(s, path) || ferry_solver_step(s, 1)) {
        printf("     %s: %s\n", path, ferry_last_error());
        ferry_solver_close(s);
        return false;
    }
    ferry_solver_close(s);
    return true;
}

static void after_a_kill_at_any_time_a_complete_snapshot_exists(void)
{
    const char *value = getenv("FERRY_TEST_LONG");
    int moments = value && *value && strcmp(value, "0") ? 50 : 3, i;

    if (!getenv("FERRY_TEST_COMMAND") || ferry_test_has_options()) {
        ferry_test_skip("there is no command");
        return;
    }
    if (!enter())
        return;
    write_text("endless.prototxt", ENDLESS "type: 'Adam' snapshot: 1");
    srand(1);
    for (i = 0; i < moments; i++)
        CU_ASSERT(kill_once(newest(), rand() % 20000));
    leave();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_exact_resume_gives_the_same_bits),
    FERRY_TEST(a_resume_like_caffe_restarts_the_data),
    FERRY_TEST(a_restored_state_equals_its_snapshot),
    FERRY_TEST(a_ferrystate_of_another_snapshot_is_refused),
    FERRY_TEST(a_ferrystate_of_another_seed_is_refused),
    FERRY_TEST(a_snapshot_without_a_layer_is_refused),
    FERRY_TEST(diffs_are_written_if_the_text_sets_snapshot_diff),
    FERRY_TEST(a_full_disk_ends_training_and_keeps_earlier_snapshots),
    FERRY_TEST(after_a_kill_at_any_time_a_complete_snapshot_exists),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "solver snapshots", cases, FERRY_TEST_COUNT(cases));
}
