/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* Opening and closing a solver, and queries on it. */
#include "solver/state.h"

#include "net/model/training.h"
#include "net/open.h"
#include "net/proto/edit.h"

#include <ferry/op_params.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "ferry_solver_open: no memory");
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Applies the options to the text. */
static int add_options(ferry_proto *p, const ferry_solver_options *o)
{
    ferry_proto *state = NULL;
    size_t i;
    int err = 0;

    for (i = 0; !err && i < o->weight_count; i++)
        err = ferry__proto_put_string(p, "weights", o->weights[i]);
    if (err || !o->stage_count)
        return err;
    if (ferry_proto_value_count(p, "train_state"))
        state = ferry__proto_mutable(p, "train_state", 0);
    else
        err = ferry__proto_put_message(p, "train_state", &state);
    if (!err)
        err = ferry__proto_put_integer(state, "level", o->level);
    for (i = 0; !err && i < o->stage_count; i++)
        err = ferry__proto_put_string(state, "stage", o->stages[i]);
    return err;
}

static int read_text(ferry_solver *s, const ferry_solver_options *o)
{
    ferry_proto_options options = { .struct_size = sizeof options };
    const char *line;
    int level, i, err;

    options.text = o->text;
    options.text_size = o->text_size;
    err = ferry_proto_open(s->path, "SolverParameter", &options, &s->proto);
    if (!err)
        err = ferry_proto_upgrade(s->proto);
    for (i = 0; !err && i < ferry_proto_note_count(s->proto); i++)
        if (!ferry_proto_note_at(s->proto, i, &level, &line))
            ferry_log_write(level, "%s", line);
    if (!err)
        err = add_options(s->proto, o);
    if (!err)
        err = ferry__settings_read(s->proto, &s->settings);
    if (!err)
        err = ferry__prefix_make(s->proto, s->path, &s->prefix);
    return err;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Disables what only rank 0 does. */
static void leave_to_root(struct ferry__solver_settings *settings)
{
    settings->snapshot = settings->test_interval = settings->display = 0;
    settings->snapshot_after_train = settings->test_initialization = false;
}

/* The precision of the options replaces that of the text. */
static int find_precision(ferry_solver *s, const ferry_solver_options *o)
{
    if ((unsigned)o->precision > FERRY_PRECISION_BF16)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_open: %d is not a precision",
                               (int)o->precision);
    if (o->precision)
        s->settings.precision = o->precision;
    if (o->fake_quantize && s->settings.precision == FERRY_PRECISION_BF16)
        return ferry_proto_error(s->proto, "precision", 0, FERRY_EINVAL,
                                 "fake_quantize rounds in F32: it excludes the precision bf16");
    return 0;
}

static int open_solver(ferry_solver *s, const ferry_solver_options *o)
{
    int err = ferry__team_take(s, o->team);

    if (!err)
        err = read_text(s, o);
    if (!err)
        err = find_precision(s, o);
    if (s->team.rank)
        leave_to_root(&s->settings);

    if (!err && (s->settings.snapshot || s->settings.snapshot_after_train))
        err = ferry__prefix_check(s->prefix);
    if (!err && o->fake_quantize && s->settings.hdf5)
        err = ferry_proto_error(s->proto, "snapshot_format", 0, FERRY_EINVAL,
                                "fake_quantize: snapshots of HDF5 have no ranges, so that training "
                                "could not be resumed; expected BINARYPROTO");
    if (err)
        return err;
    s->losses = calloc((size_t)s->settings.average_loss, sizeof *s->losses);
    if (!s->losses)
        return no_memory();
    ferry_log_write(FERRY_LOG_INFO, "Initializing solver from parameters: ");
    ferry__log_text(s->proto);
    err = ferry__solver_open_nets(s, o);
    if (!err)
        err = ferry__update_begin(s);
    if (!err)
        ferry_log_write(FERRY_LOG_INFO, "Solver scaffolding done.");
    return err;
}

/* Checks the arguments of ferry_solver_open; `o` is the known part of `options`. */
static int check_arguments(const ferry_device *dev, const char *path,
                           const ferry_solver_options *options, const ferry_solver_options *o,
                           ferry_solver *const *out)
{
    static const char name[] = "ferry_solver_open";
    const char *missing = !dev ? "dev" : !out ? "out" : NULL;
    int err =
        options ? ferry__check_size(name, options->struct_size, sizeof options->struct_size) : 0;

    if (!err && !missing && !path && !o->text)
        missing = "path";
    if (!err && missing)
        err = ferry_error_set(FERRY_EINVAL, "%s: %s is NULL", name, missing);
    if (!err)
        err = ferry__check_strings(name, "weights", o->weights, o->weight_count);
    if (!err)
        err = ferry__check_strings(name, "stages", o->stages, o->stage_count);
    return err ? err : ferry__check_strings(name, "keep", o->keep, o->keep_count);
}

int ferry_solver_open(ferry_device *dev, const char *path, const ferry_solver_options *options,
                      ferry_solver **out)
{
    ferry_solver_options logged_at = { 0 };
    const ferry_solver_options *o = &logged_at;
    ferry_solver *s;
    int err;

    if (options) /* the caller's structure may be from an older or a newer version */
        memcpy(&logged_at, options,
               options->struct_size < sizeof logged_at ? options->struct_size : sizeof logged_at);
    err = check_arguments(dev, path, options, o, out);
    if (err)
        return err;
    s = calloc(1, sizeof *s);
    if (!s)
        return no_memory();
    s->device = dev;
    s->saved = -1;
    s->is_fake = o->fake_quantize;
    s->path = strdup(path ? path : "");
    err = s->path ? open_solver(s, o) : no_memory();
    if (err) {
        ferry_solver_close(s);
        return err;
    }
    *out = s;
    return 0;
}

void ferry_solver_close(ferry_solver *s)
{
    if (!s)
        return;
    ferry__update_end(s);
    ferry__solver_close_nets(s);
    ferry_proto_close(s->proto);
    free(s->path);
    free(s->prefix);
    free(s->latest);
    free(s->losses);
    free(s->scores);
    free(s);
}

/*
 * ---- queries
 * -------------------------------------------------------------------------------------
 */

ferry_net *ferry_solver_net(const ferry_solver *s)
{
    return s ? s->net : NULL;
}

int ferry_solver_test_net_count(const ferry_solver *s)
{
    return s ? s->n_tests : 0;
}

ferry_net *ferry_solver_test_net_at(const ferry_solver *s, int index)
{
    return s && index >= 0 && index < s->n_tests ? s->tests[index].net : NULL;
}

int ferry_solver_iter(const ferry_solver *s)
{
    return s ? s->iter : 0;
}

int ferry_solver_max_iter(const ferry_solver *s)
{
    return s ? s->settings.max_iter : 0;
}

int ferry_solver_iter_size(const ferry_solver *s)
{
    return s ? s->settings.iter_size : 0;
}

const char *ferry_solver_latest_snapshot(const ferry_solver *s)
{
    return s && s->latest ? s->latest : "";
}

double ferry_solver_loss(const ferry_solver *s)
{
    return s ? s->loss : 0;
}

int ferry_solver_history_count(const ferry_solver *s)
{
    return !s ? 0 : s->settings.type >= FERRY_UPDATE_ADADELTA ? 2 * s->n_learned : s->n_learned;
}

ferry_blob *ferry_solver_history_at(const ferry_solver *s, int index)
{
    if (!s || index < 0 || index >= ferry_solver_history_count(s))
        return NULL;
    return s->learned[index % s->n_learned].history[index / s->n_learned];
}
