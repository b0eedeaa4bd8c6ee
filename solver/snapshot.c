/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* Snapshots: the model, then the .ferrystate, and last the solver state. */
#include "solver/state.h"

#include "net/model/training.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>

static int set_number(ferry_io_writer *w, const char *key, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    return ferry_io_writer_set_metadata(w, key, text);
}

static int declare(ferry_io_writer *w, const char *name, const ferry_blob *b)
{
    ferry_io_entry entry = { .struct_size = sizeof entry, .name = name };

    entry.dtype = ferry_blob_dtype(b);
    entry.rank = ferry_blob_rank(b);
    entry.shape = ferry_blob_shape(b);
    return ferry_io_writer_declare(w, &entry);
}

static int write_histories(const ferry_solver *s, ferry_io_writer *w)
{
    char name[32];
    int i, err = 0;

    for (i = 0; !err && i < ferry_solver_history_count(s); i++) {
        snprintf(name, sizeof name, "history/%d", i);
        err = declare(w, name, ferry_solver_history_at(s, i));
    }
    for (i = 0; !err && i < ferry_solver_history_count(s); i++) {
        snprintf(name, sizeof name, "history/%d", i);
        err = ferry_io_writer_write(w, name, ferry_solver_history_at(s, i), false);
    }
    return err;
}

static int write_state(const ferry_solver *s, const char *path, const char *model)
{
    ferry_io_writer *w;
    int err =
        ferry_io_writer_create(path, s->settings.hdf5 ? FERRY_IO_HDF5 : FERRY_IO_SOLVERSTATE, &w);

    if (err)
        return err;
    err = set_number(w, "iter", s->iter);
    if (!err)
        err = ferry_io_writer_set_metadata(w, "learned_net", model);
    if (!err)
        err = set_number(w, "current_step", s->current_step);
    if (!err)
        err = write_histories(s, w);
    if (!err)
        return ferry_io_writer_commit(w);
    ferry_io_writer_abort(w);
    return err;
}

static int write_all(const ferry_solver *s, const char *model, const char *exact, const char *state)
{
    const char *what = s->settings.hdf5 ? "HDF5" : "binary proto";
    int err;

    ferry_log_write(FERRY_LOG_INFO, "Snapshotting to %s file %s", what, model);
    err = ferry__net_save(s->net, model, s->settings.hdf5 ? FERRY_IO_HDF5 : FERRY_IO_CAFFEMODEL,
                          s->settings.snapshot_diff);
    if (!err)
        err = ferry__exact_write(s, exact);
    if (err)
        return err;
    ferry_log_write(FERRY_LOG_INFO, "Snapshotting solver state to %s file %s", what, state);
    return write_state(s, state, model);
}

int ferry_solver_snapshot(ferry_solver *s)
{
    char *model, *exact, *state;
    int err;

    if (!s)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_snapshot: NULL solver");
    model = ferry__snapshot_path(s, s->settings.hdf5 ? ".caffemodel.h5" : ".caffemodel");
    exact = ferry__snapshot_path(s, ".ferrystate");
    state = ferry__snapshot_path(s, s->settings.hdf5 ? ".solverstate.h5" : ".solverstate");
    if (model && exact && state)
        err = write_all(s, model, exact, state);
    else
        err = ferry_error_set(FERRY_ENOMEM, "%s: no memory for a snapshot", s->path);
    if (!err) {
        s->saved = s->iter;
        free(s->latest);
        s->latest = state;
        state = NULL;
    }
    free(model);
    free(exact);
    free(state);
    return err;
}
