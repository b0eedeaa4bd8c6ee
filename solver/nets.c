/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* A solver's nets: the training net and the test nets. */
#include "solver/state.h"

#include "net/open.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* The source of a net's text: a file, or a message of the solver's. */
struct source {
    const char *file;
    const ferry_proto *message;
    const char *what; /* its description in Caffe's log lines */
};

static int no_memory(const ferry_solver *s)
{
    return ferry_error_set(FERRY_ENOMEM, "%s: no memory for its nets", s->path);
}

/* ---- one net --------------------------------------------------------------------------------- */

static int print(const ferry_proto *p, char **out_text, size_t *out_size)
{
    int err = ferry_proto_print(p, NULL, 0, out_size);

    *out_text = err ? NULL : malloc(*out_size + 1);
    if (err)
        return err;
    return *out_text ? ferry_proto_print(p, *out_text, *out_size + 1, out_size)
                     : ferry_error_set(FERRY_ENOMEM, "no memory for a net's text");
}

/* Opens a net; `o` has the options in which the nets differ. */
static int open_net(const ferry_solver *s, const struct source *from, const ferry_proto *state,
                    ferry_net_options o, ferry_net **out)
{
    static const char *const all[] = { "*" };
    char *path, *text = NULL;
    int err = 0;

    o.place = s->place;
    o.allow_write = s->allow_write;
    if (ferry_proto_value_count(state, "phase"))
        o.phase = !strcmp(ferry_proto_enum(state, "phase", 0), "TRAIN") ? FERRY_PHASE_TRAIN
                                                                        : FERRY_PHASE_TEST;
    o.seed = s->settings.seed;
    o.rank = s->team.rank;
    o.ranks = s->team.ranks;
    if (s->settings.debug) { /* debug_info logs these blobs, so the net keeps them */
        o.keep = all;
        o.keep_count = 1;
    }
    if (from->file)
        err = ferry__solver_find(from->file, s->path, &path);
    else if (!(path = strdup(s->path)))
        err = no_memory(s);
    if (err)
        return err;
    if (from->message) {
        err = print(from->message, &text, &o.text_size);
        o.text = text;
    }
    if (!err)
        err = ferry__net_open(s->device, path, &o, state, out);
    free(text);
    free(path);
    return err;
}

/* Loads one file of a comma-separated list. */
static int load_one(const ferry_solver *s, ferry_net *net, const char *name, bool matched)
{
    char *path;
    int err;

    ferry_log_write(FERRY_LOG_INFO, "Finetuning from %s", name);
    err = ferry__solver_find(name, s->path, &path);
    if (err)
        return err;
    err = matched ? ferry_net_load_matched(net, path, NULL) : ferry_net_load(net, path, NULL);
    free(path);
    return err;
}

static int load_weights(const ferry_solver *s, ferry_net *net, bool matched)
{
    int64_t i;
    int err = 0;

    for (i = 0; !err && i < ferry_proto_value_count(s->proto, "weights"); i++) {
        char *list = strdup(ferry_proto_string(s->proto, "weights", i, NULL));
        char *rest = list, *name;

        if (!list)
            return no_memory(s);
        while (!err && (name = strtok_r(rest, ", ", &rest)))
            err = load_one(s, net, name, matched);
        free(list);
    }
    return err;
}

/* ---- the training net ------------------------------------------------------------------------ */

static int open_train(ferry_solver *s, const ferry_solver_options *options)
{
    static const char *const fields[] = { "net", "net_param", "train_net", "train_net_param" };
    const ferry_net_options o = { .struct_size = sizeof o,
                                  .phase = FERRY_PHASE_TRAIN,
                                  .plan_training = options->plan_training,
                                  .recompute = options->recompute,
                                  .precision = s->settings.precision,
                                  .fake_quantize = options->fake_quantize };
    const ferry_proto *p = s->proto;
    struct source from = { NULL, NULL, NULL };
    int64_t given = 0;
    int i, err;

    for (i = 0; i < 4; i++)
        given += ferry_proto_value_count(p, fields[i]);
    if (given != 1)
        return ferry_proto_error(p, NULL, 0, FERRY_EFORMAT,
                                 "SolverParameter must specify one train net, using one of these "
                                 "fields: net, net_param, train_net, train_net_param; there are %d",
                                 (int)given);
    if (ferry_proto_value_count(p, "train_net_param") || ferry_proto_value_count(p, "net_param")) {
        const char *field =
            ferry_proto_value_count(p, "net_param") ? "net_param" : "train_net_param";

        from.message = ferry_proto_message(p, field, 0);
        ferry_log_write(FERRY_LOG_INFO, "Creating training net specified in %s.", field);
    } else {
        bool generic = ferry_proto_value_count(p, "net") > 0;

        from.file = ferry_proto_string(p, generic ? "net" : "train_net", 0, NULL);
        ferry_log_write(FERRY_LOG_INFO, "Creating training net from %s file: %s",
                        generic ? "net" : "train_net", from.file);
    }
    err = open_net(s, &from, ferry_proto_message(p, "train_state", 0), o, &s->net);
    return err ? err : load_weights(s, s->net, options->weights_matched);
}

/* ---- test nets ------------------------------------------------------------------------------- */

/*
 * The source of test net `index`: first those of messages, then those of files, then instances of
 * the generic net.
 */
static struct source source_of(const ferry_proto *p, int64_t index)
{
    int64_t messages = ferry_proto_value_count(p, "test_net_param");
    int64_t files = ferry_proto_value_count(p, "test_net");

    if (index < messages)
        return (struct source){ .message = ferry_proto_message(p, "test_net_param", index),
                                .what = "test_net_param" };
    if (index < messages + files)
        return (struct source){ .file = ferry_proto_string(p, "test_net", index - messages, NULL),
                                .what = "test_net file: " };
    if (ferry_proto_value_count(p, "net_param"))
        return (struct source){ .message = ferry_proto_message(p, "net_param", 0),
                                .what = "net_param" };
    return (struct source){ .file = ferry_proto_string(p, "net", 0, NULL), .what = "net file: " };
}

static int check_tests(const ferry_proto *p)
{
    int64_t given =
        ferry_proto_value_count(p, "test_net_param") + ferry_proto_value_count(p, "test_net");
    int64_t iterations = ferry_proto_value_count(p, "test_iter");
    int64_t states = ferry_proto_value_count(p, "test_state"), i;
    bool generic = ferry_proto_value_count(p, "net") || ferry_proto_value_count(p, "net_param");

    if (generic ? iterations < given : iterations != given)
        return ferry_proto_error(p, iterations ? "test_iter" : NULL, 0, FERRY_EFORMAT,
                                 "test_iter must be specified for each test network: there are "
                                 "%lld, and %lld networks",
                                 (long long)iterations, (long long)given);
    if (states && states != iterations)
        return ferry_proto_error(p, "test_state", 0, FERRY_EFORMAT,
                                 "test_state must be unspecified or specified once per test net: "
                                 "there are %lld, and %lld nets",
                                 (long long)states, (long long)iterations);
    for (i = 0; i < iterations; i++)
        if (ferry_proto_integer(p, "test_iter", i) < 1)
            return ferry_proto_error(p, "test_iter", i, FERRY_EFORMAT,
                                     "test_iter must be at least 1");
    if (iterations && ferry_proto_integer(p, "test_interval", 0) < 1)
        return ferry_proto_error(p, "test_iter", 0, FERRY_EFORMAT,
                                 "test_iter requires a test_interval of at least 1");
    return 0;
}

static int count_values(struct ferry__test *t)
{
    int i;

    for (i = 0; i < ferry_net_output_count(t->net); i++)
        t->n_sums += (int)ferry_blob_element_count(ferry_net_output_at(t->net, i));
    t->sums = calloc((size_t)t->n_sums + 1, sizeof *t->sums);
    return t->sums ? 0 : ferry_error_set(FERRY_ENOMEM, "no memory for a test's scores");
}

static int open_tests(ferry_solver *s, const ferry_solver_options *options)
{
    const ferry_net_options o = { .struct_size = sizeof o,
                                  .phase = FERRY_PHASE_TEST,
                                  .ignore_quantization = true, /* the weights change, so that
                                                                * quantized ones would be stale */
                                  .fake_quantize = options->fake_quantize,
                                  .precision = FERRY_PRECISION_F32,
                                  .keep = options->keep,
                                  .keep_count = options->keep_count };
    const ferry_proto *p = s->proto;
    int n = (int)ferry_proto_value_count(p, "test_iter"), err = check_tests(p);

    if (err)
        return err;
    s->tests = calloc((size_t)n + 1, sizeof *s->tests);
    if (!s->tests)
        return no_memory(s);
    for (; !err && s->n_tests < n; s->n_tests += !err) {
        struct ferry__test *t = &s->tests[s->n_tests];
        struct source from = source_of(p, s->n_tests);

        t->iterations = (int)ferry_proto_integer(p, "test_iter", s->n_tests);
        ferry_log_write(FERRY_LOG_INFO, "Creating test net (#%d) specified by %s%s", s->n_tests,
                        from.what, from.file ? from.file : "");
        err = open_net(s, &from, ferry_proto_message(p, "test_state", s->n_tests), o, &t->net);
        if (!err)
            err = ferry_net_set_debug(t->net, s->settings.debug);
        if (!err)
            err = load_weights(s, t->net, false);
        if (!err)
            err = ferry_net_share(t->net, s->net);
        if (!err)
            err = count_values(t);
        if (err)
            ferry_net_close(t->net);
    }
    return err;
}

int ferry__solver_open_nets(ferry_solver *s, const ferry_solver_options *o)
{
    int err;

    if (o->place) {
        s->place = strdup(o->place);
        if (!s->place)
            return no_memory(s);
    }
    s->allow_write = o->allow_write;
    err = open_train(s, o);
    if (!err && !s->team.rank)
        err = open_tests(s, o);
    s->allow_write = NULL;
    return err;
}

void ferry__solver_close_nets(ferry_solver *s)
{
    int i;

    for (i = 0; i < s->n_tests; i++) {
        ferry_net_close(s->tests[i].net);
        free(s->tests[i].sums);
    }
    free(s->tests);
    free(s->place);
    ferry_net_close(s->net);
}
