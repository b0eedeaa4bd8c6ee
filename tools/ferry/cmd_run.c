/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* `ferry run`: computes a net's outputs for given inputs. */

/* ---- the command ----------------------------------------------------------------------------- */

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Runs forward, and backward from the given diffs if --backward was given. */
static int pass(const struct run *run, ferry_net *net, double *out_loss)
{
    int status = TOOL_OK;

    if (ferry_net_forward(net, out_loss))
        return tool_ferry_error();
    if (run->backward)
        status = net_feed_diffs(net, &run->diffs);
    if (status == TOOL_OK && run->backward && ferry_net_backward(net))
        status = tool_ferry_error();
    if (status == TOOL_OK && ferry_device_synchronize(ferry_net_device(net)))
        status = tool_ferry_error();
    return status;
}

/* Runs all passes; their outputs are collected if they are to be written. */
static int pass_all(struct run *run, ferry_net *net, double *out_loss)
{
    bool once = run->all || run->backward;
    struct run_series *series = run->output && !once ? run_series_create(run, net) : NULL;
    struct progress progress = { .quiet = false };
    double begin = now_ms();
    int status = run->output && !once && !series ? TOOL_FAILURE : TOOL_OK;

    progress_begin(&progress, "computing", "passes", (uint64_t)run->n);
    for (int64_t i = 0; status == TOOL_OK && i < run->n; i++) {
        status = pass(run, net, out_loss);
        if (status == TOOL_OK && series)
            status = run_series_add(series);
        progress_step(&progress, 1);
    }
    progress_end(&progress);
    run->ms = (now_ms() - begin) / (double)run->n;
    if (status == TOOL_OK && series)
        status = run_series_write(series);
    else if (status == TOOL_OK && run->output)
        status = run_write_once(run, net);
    run_series_destroy(series);
    return status;
}

static int compute(struct run *run, ferry_net *net, const struct net_list *inputs)
{
    const char *spec = NULL;
    double loss = 0;
    int status = pictures_begin(run->self, &run->pictures, ferry_net_device(net));

    if (status == TOOL_OK && run_is_of_files(run, inputs, &spec)) {
        if (inputs->count > 1 || run->output || run->iterations || run->backward)
            return tool_error(TOOL_USAGE,
                              "%s: %s: a folder or list cannot be combined with another input, "
                              "--output, --iterations or --backward",
                              run->self->name, spec);
        return run_files(run, net, spec);
    }
    if (status == TOOL_OK && run->batch)
        status =
            tool_error(TOOL_USAGE, "%s: --batch requires a folder or a list: --input NAME=DIR|LIST",
                       run->self->name);
    if (status == TOOL_OK)
        status = pictures_are_there(run->self, &run->pictures, inputs->at, inputs->count);
    if (status == TOOL_OK)
        status = net_feed(net, inputs, &run->pictures);
    if (status == TOOL_OK)
        status = net_is_fed(net);
    if (status == TOOL_OK)
        status = pass_all(run, net, &loss);
    return status == TOOL_OK ? run_show(run, net, loss) : status;
}

static int open_and_compute(struct run *run, const struct net_request *r,
                            const struct net_list *inputs)
{
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    int status = net_open(r, &rt, &net);

    if (status != TOOL_OK)
        return status;
    status = compute(run, net, inputs);
    pictures_end(&run->pictures);
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return status;
}

static int parse_counts(struct run *run)
{
    int64_t k = 0;
    int status = tool_parse_number(run->self, "--top", run->top, 1, 100, &k);

    run->k = (int)k;
    if (status == TOOL_OK)
        status = tool_parse_number(run->self, "--batch", run->batch, 1, 65536, &run->per);
    if (status == TOOL_OK)
        status =
            tool_parse_number(run->self, "--iterations", run->iterations, 1, 1000000000, &run->n);
    if (status == TOOL_OK && run->all && run->n > 1)
        status = tool_error(TOOL_USAGE, "%s: --blobs all allows one pass only", run->self->name);
    if (status == TOOL_OK && run->backward && run->n > 1)
        status = tool_error(TOOL_USAGE, "%s: --backward allows one pass only", run->self->name);
    if (status == TOOL_OK && run->diffs.count && !run->backward)
        status = tool_error(TOOL_USAGE, "%s: --diff requires --backward", run->self->name);
    return status;
}

static int start(struct run *run, struct net_request *r, const struct net_list *inputs, int n,
                 char **argv)
{
    int status;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 1)
        return tool_error(TOOL_USAGE, "%s: expected a net; see ferry run --help", run->self->name);
    r->prototxt = argv[0];
    r->weights = n > 1 ? argv[1] : NULL;
    r->keep = run->blobs;
    r->inputs = inputs;
    r->backward = run->backward;
    run->all = run->blobs && strcmp(run->blobs, "all") == 0;
    status = parse_counts(run);
    if (status == TOOL_OK && run->labels)
        status = run_read_labels(run);
    return status == TOOL_OK ? open_and_compute(run, r, inputs) : status;
}

static void free_run(struct run *run, struct net_request *r, struct net_list *inputs)
{
    for (size_t i = 0; i < run->n_names; i++)
        free(run->names[i]);
    free(run->names);
    free(inputs->at);
    free(run->diffs.at);
    free(r->stages.at);
}

int cmd_run(const struct tool_command *self, int argc, char **argv)
{
    struct run run = { .self = self, .per = 1, .n = 1 };
    struct net_request r = { .self = self };
    struct net_list inputs = { 0 };
    const struct tool_option options[] = {
        { "--output", "-o", NULL, &run.output },
        { "--blobs", NULL, NULL, &run.blobs },
        { "--backward", NULL, &run.backward, NULL },
        { "--float", NULL, &r.in_float, NULL },
        { "--precision", NULL, NULL, &r.precision },
        { "--reread-weights", NULL, &r.reread, NULL },
        { "--no-fuse", NULL, &r.no_fuse, NULL },
        { "--no-plan", NULL, &r.no_plan, NULL },
        { "--phase", NULL, NULL, &r.phase },
        { "--level", NULL, NULL, &r.level },
        { "--place", NULL, NULL, &r.place },
        { "--allow-write", NULL, NULL, &r.allow_write },
        { "--segments", NULL, NULL, &r.segments },
        { "--max-bytes", NULL, NULL, &r.max_bytes },
        { "--layers", NULL, NULL, &r.layers },
        { "--weights-partial", NULL, &r.weights_partial, NULL },
        { "--report", NULL, &run.report, NULL },
        { "--top", NULL, NULL, &run.top },
        { "--labels", NULL, NULL, &run.labels },
        { "--json", NULL, &run.json, NULL },
        { "--mean", NULL, NULL, &run.pictures.mean },
        { "--scale", NULL, NULL, &run.pictures.scale },
        { "--swap-rb", NULL, &run.pictures.swap_rb, NULL },
        { "--crop", NULL, &run.pictures.crop, NULL },
        { "--batch", NULL, NULL, &run.batch },
        { "--iterations", NULL, NULL, &run.iterations },
        { NULL, NULL, NULL, NULL },
    };
    int status;

    if (net_take_all(self, "--input", &argc, argv, &inputs) ||
        net_take_all(self, "--diff", &argc, argv, &run.diffs) ||
        net_take_all(self, "--stage", &argc, argv, &r.stages))
        status = TOOL_USAGE;
    else
        status = start(&run, &r, &inputs, tool_parse(self, argc, argv, options, 2), argv);
    free_run(&run, &r, &inputs);
    return status;
}
