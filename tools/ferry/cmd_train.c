/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net.h"
#include "ranks.h"
#include "train.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* `ferry train`: trains with a solver's prototxt to its last iteration. */

struct training {
    const struct tool_command *self;
    const char *solver, *weights, *snapshot, *resume, *log_path, *place, *layers, *level;
    const char *allow_write, *max_bytes, *precision;
    struct net_list stages;
    struct train_log log;
    bool mpi, weights_partial, recompute, fake_quantize;
    struct ranks ranks;
    int status;     /* the status of the log, if a failure to write it ended training */
    int64_t images; /* the number of images per iteration; 0: unknown */
};

/* ---- signals --------------------------------------------------------------------------------- */

static ferry_solver *at_work;

static void on_signal(int number)
{
    ferry_solver_request(at_work, number == SIGHUP ? FERRY_SOLVER_SNAPSHOT
                                                   : FERRY_SOLVER_SNAPSHOT | FERRY_SOLVER_STOP);
}

/*
 * SIGINT and SIGTERM stop training with a snapshot, a second one exits at once; SIGHUP writes a
 * snapshot.
 */
static void catch_signals(ferry_solver *s)
{
    struct sigaction stop = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    struct sigaction snapshot = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    struct sigaction ignore = { .sa_handler = SIG_IGN };

    at_work = s;
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &snapshot, NULL);
    sigaction(SIGXFSZ, &ignore, NULL); /* with this, writes of files that are too large fail with
                                        * EFBIG, which is reported */
}

static void leave_signals(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    at_work = NULL;
}

/* ---- an iteration ---------------------------------------------------------------------------- */

/* Images per iteration on all ranks: axis 0 of the first top of the first layer without bottoms. */
static int64_t images_of(const ferry_solver *s, int ranks)
{
    const ferry_net *net = ferry_solver_net(s);

    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        const ferry_layer *layer = ferry_net_layer_at(net, i);
        const ferry_blob *top = ferry_layer_top_at(layer, 0);

        if (!ferry_layer_bottom_count(layer) && top && ferry_blob_rank(top) > 0)
            return ferry_blob_dim(top, 0) * ferry_solver_iter_size(s) * ranks;
    }
    return 0;
}

static int after_iteration(void *arg, ferry_solver *s, const ferry_solver_iteration *event)
{
    struct training *t = arg;

    if (!t->images)
        t->images = images_of(s, t->ranks.count);
    if (!t->ranks.rank)
        train_progress(s, event, t->images);
    t->status = train_log_write(&t->log, s, event);
    return t->status == TOOL_OK ? 0 : FERRY_EIO;
}

/* ---- training -------------------------------------------------------------------------------- */

static int fail(const struct training *t, const ferry_solver *s)
{
    const char *last = ferry_solver_latest_snapshot(s);

    train_progress_end();
    if (t->status == TOOL_OK)
        tool_ferry_error();
    if (last[0])
        (void)tool_error(TOOL_OK, "the latest snapshot is %s", last);
    return TOOL_FAILURE;
}

static int restore(const struct training *t, ferry_solver *s)
{
    bool exact = t->resume && strcmp(t->resume, "exact") == 0;

    if (!t->snapshot)
        return TOOL_OK;
    ferry_log_write(FERRY_LOG_INFO, "Resuming from %s", t->snapshot);
    return (exact ? ferry_solver_restore_exact(s, t->snapshot)
                  : ferry_solver_restore(s, t->snapshot))
               ? tool_ferry_error()
               : TOOL_OK;
}

/* Reports the batch of all ranks, whose size matters for the learning rate. */
static void report_batch(const struct training *t, const ferry_solver *s)
{
    long long images = (long long)images_of(s, t->ranks.count);

    if (t->ranks.count < 2 || t->ranks.rank)
        return;
    if (images)
        ferry_log_write(FERRY_LOG_INFO,
                        "ferry: %d ranks train one net, with %lld images an iteration in all",
                        t->ranks.count, images);
    else
        ferry_log_write(FERRY_LOG_INFO, "ferry: %d ranks train one net", t->ranks.count);
}

static int train(struct training *t, ferry_solver *s)
{
    int status = restore(t, s);

    if (status == TOOL_OK && t->log_path && !t->ranks.rank)
        status = train_log_open(&t->log, t->log_path, t->snapshot != NULL);
    if (status != TOOL_OK)
        return status;
    ferry_solver_on_iteration(s, after_iteration, t);
    catch_signals(s);
    report_batch(t, s);
    ferry_log_write(FERRY_LOG_INFO, "Starting Optimization");
    if (ferry_solver_solve(s))
        status = fail(t, s);
    else
        ferry_log_write(FERRY_LOG_INFO, "Optimization Done.");
    leave_signals();
    return status;
}

static int open_solver(const struct training *t, ferry_device *dev, ferry_solver **out)
{
    static const char *const none[] = { "" };
    ferry_solver_options o = { .struct_size = sizeof o,
                               .place = t->place,
                               .allow_write = t->allow_write,
                               .plan_training = true,
                               .recompute = t->recompute,
                               .fake_quantize = t->fake_quantize };

    int64_t level = 0;
    int status = net_precision(t->self, t->precision, &o.precision);

    if (status == TOOL_OK)
        status = tool_parse_number(t->self, "--level", t->level, INT_MIN, INT_MAX, &level);

    o.team = t->ranks.mpi ? &t->ranks.team : NULL;
    o.weights = &t->weights;
    o.weight_count = t->weights != NULL;
    o.weights_matched = !t->weights_partial;
    o.stages = t->stages.count ? t->stages.at : none; /* the same defaults as Caffe's command */
    o.stage_count = t->stages.count ? t->stages.count : 1;
    o.level = (int)level;
    if (status != TOOL_OK)
        return status;
    return ferry_solver_open(dev, t->solver, &o, out) ? tool_ferry_error() : TOOL_OK;
}

/* Opens everything and trains. Rank 0 prints Caffe's lines. */
static int run_rank(struct training *t, ferry_runtime **rt, ferry_solver **s)
{
    ferry_device *dev;
    int status;

    if (ferry_runtime_open(NULL, rt) || ferry_layer_library_load(*rt, NULL) ||
        (t->layers && ferry_layer_library_load(*rt, t->layers)) ||
        ranks_device(&t->ranks, *rt, &dev))
        return tool_ferry_error();
    if (!t->ranks.rank)
        train_lines_begin();
    ferry_log_write(FERRY_LOG_INFO, "ferry: training on %s", ferry_device_name(dev));
    status = open_solver(t, dev, s);
    return status == TOOL_OK ? train(t, *s) : status;
}

static int run(struct training *t)
{
    ferry_runtime *rt = NULL;
    ferry_solver *s = NULL;
    int status, closed;

    train_lines_prepare();
    status = ranks_open(t->mpi, &t->ranks);
    if (status == TOOL_OK)
        status = run_rank(t, &rt, &s);
    closed = train_log_close(&t->log);
    if (status == TOOL_OK)
        status = closed;
    if (status != TOOL_OK)
        ranks_fail(&t->ranks, ferry_last_error());
    ferry_solver_close(s);
    train_lines_end();
    ferry_runtime_close(rt);
    ranks_close(&t->ranks, status);
    return status;
}

/* Checks the options that depend on each other. */
static int check_options(const struct training *t)
{
    const char *name = t->self->name;

    if (t->resume && (!t->snapshot || (strcmp(t->resume, "exact") && strcmp(t->resume, "caffe"))))
        return tool_error(TOOL_USAGE,
                          "%s: --resume must be exact or caffe, and requires --snapshot", name);
    if (t->weights && !t->weights[strspn(t->weights, ", ")])
        return tool_error(TOOL_USAGE, "%s: --weights \"%s\" does not name a file", name,
                          t->weights);
    if (t->snapshot && t->weights)
        return tool_error(TOOL_USAGE, "%s: --snapshot and --weights exclude each other", name);
    return net_max_bytes(t->self, t->max_bytes);
}

int cmd_train(const struct tool_command *self, int argc, char **argv)
{
    struct training t = { .self = self };
    const struct tool_option options[] = {
        { "--weights", NULL, NULL, &t.weights },
        { "--weights-partial", NULL, &t.weights_partial, NULL },
        { "--snapshot", NULL, NULL, &t.snapshot },
        { "--resume", NULL, NULL, &t.resume },
        { "--log", NULL, NULL, &t.log_path },
        { "--place", NULL, NULL, &t.place },
        { "--allow-write", NULL, NULL, &t.allow_write },
        { "--max-bytes", NULL, NULL, &t.max_bytes },
        { "--layers", NULL, NULL, &t.layers },
        { "--level", NULL, NULL, &t.level },
        { "--mpi", NULL, &t.mpi, NULL },
        { "--recompute", NULL, &t.recompute, NULL },
        { "--fake-quantize", NULL, &t.fake_quantize, NULL },
        { "--precision", NULL, NULL, &t.precision },
        { NULL, NULL, NULL, NULL },
    };
    int n, status;

    n = net_take_all(self, "--stage", &argc, argv, &t.stages)
            ? -2
            : tool_parse(self, argc, argv, options, 1);
    t.solver = n > 0 ? argv[0] : NULL;
    if (n < 1)
        status = n < 0 ? tool_parse_status(n)
                       : tool_error(TOOL_USAGE, "%s: expected a solver", self->name);
    else
        status = check_options(&t);
    if (t.solver && status == TOOL_OK) /* no solver: --help was given */
        status = run(&t);
    free(t.stages.at);
    return status;
}
