/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* Restoring a snapshot of Caffe or of ferry. */
#include "solver/state.h"

#include "net/model/training.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The contents of a solver state, read completely before anything is changed. */
struct state {
    const char *path;
    ferry_io *io;
    int iter, step, count; /* count: the number of histories */
    const char *model;     /* NULL: not named */
    ferry_blob **history;
};

/* ---- the file -------------------------------------------------------------------------------- */

static const char *metadata(const ferry_io *io, const char *key)
{
    const char *found, *value;
    int64_t i;

    for (i = 0; i < ferry_io_metadata_count(io); i++)
        if (!ferry_io_metadata_at(io, i, &found, &value) && !strcmp(found, key))
            return value;
    return NULL;
}

/* Reads a number of the state: a metadata string, or in HDF5 a dataset. */
static int number(const struct state *t, const char *key, int missing, int *out)
{
    const char *text = metadata(t->io, key);
    const ferry_io_entry *entry = NULL;
    int32_t value;
    int err;

    *out = text ? atoi(text) : missing;
    if (text || ferry_io_get_format(t->io) != FERRY_IO_HDF5)
        return 0;
    err = ferry_io_entry_find(t->io, key, &entry);
    if (err || !entry)
        return err;
    if (entry->dtype != FERRY_I32 || entry->count != 1)
        return ferry_error_set(FERRY_EFORMAT, "%s: %s is not a 32-bit number", t->path, key);
    err = ferry_io_read_values(t->io, entry, 0, 1, &value);
    *out = err ? missing : value;
    return err;
}

static int open_state(struct state *t)
{
    const ferry_io_entry *entry;
    char name[32];
    int err = ferry_io_open(t->path, &t->io);

    if (err)
        return err;
    if (ferry_io_get_format(t->io) != FERRY_IO_SOLVERSTATE &&
        ferry_io_get_format(t->io) != FERRY_IO_HDF5)
        return ferry_error_set(FERRY_EFORMAT, "%s: it is a %s, not a solver state", t->path,
                               ferry_io_format_name(ferry_io_get_format(t->io)));
    err = number(t, "iter", -1, &t->iter);
    if (!err)
        err = number(t, "current_step", 0, &t->step);
    if (!err && (t->iter < 0 || t->step < 0))
        err = ferry_error_set(FERRY_EFORMAT, "%s: it has no iteration: it is not a solver state",
                              t->path);
    t->model = metadata(t->io, "learned_net");
    for (;; t->count++) {
        snprintf(name, sizeof name, "history/%d", t->count);
        if (err || (err = ferry_io_entry_find(t->io, name, &entry)) || !entry)
            return err;
    }
}

/* ---- histories ------------------------------------------------------------------------------- */

/*
 * Whether the shapes differ only in leading axes of 1: older versions of Caffe always wrote four
 * axes.
 */
static bool same_shape(const ferry_blob *a, const ferry_blob *b)
{
    int i = ferry_blob_rank(a), k = ferry_blob_rank(b);

    while (i > 0 || k > 0)
        if ((i > 0 ? ferry_blob_dim(a, --i) : 1) != (k > 0 ? ferry_blob_dim(b, --k) : 1))
            return false;
    return true;
}

static int misfit(const ferry_solver *s, const struct state *t, int i)
{
    const struct ferry__learned *l = &s->learned[i % s->n_learned];
    char theirs[128] = "", mine[128] = "";

    ferry_blob_shape_string(t->history[i], theirs, sizeof theirs);
    ferry_blob_shape_string(l->blob, mine, sizeof mine);
    return ferry_error_set(
        FERRY_ESHAPE,
        "%s: history %d is %s, but parameter %d of layer \"%s\" is %s: it is a snapshot of another "
        "net",
        t->path, i, theirs, l->index, l->layer, mine);
}

static int read_history(const ferry_solver *s, struct state *t, int i)
{
    const ferry_blob *like = ferry_solver_history_at(s, i);
    const ferry_io_entry *entry = NULL;
    char name[32];
    int err;

    snprintf(name, sizeof name, "history/%d", i);
    err = ferry_blob_create(ferry_blob_home(like), FERRY_F32, NULL, FERRY_UNSHAPED, &t->history[i]);
    if (!err)
        err = ferry_io_entry_find(t->io, name, &entry);
    if (!err)
        err = ferry_io_read(t->io, entry, t->history[i]);
    if (err)
        return err;
    return same_shape(t->history[i], like) ? ferry_blob_reshape_like(t->history[i], like)
                                           : misfit(s, t, i);
}

static int read_histories(const ferry_solver *s, struct state *t)
{
    int i, err = 0, want = ferry_solver_history_count(s);

    if (t->count != want)
        return ferry_error_set(FERRY_ESHAPE,
                               "%s: Incorrect length of history blobs: %d, but this solver has %d: "
                               "it is a snapshot of another net or solver",
                               t->path, t->count, want);
    t->history = calloc((size_t)want + 1, sizeof(ferry_blob *));
    if (!t->history)
        return ferry_error_set(FERRY_ENOMEM, "%s: no memory for its histories", t->path);
    for (i = 0; !err && i < want; i++)
        err = read_history(s, t, i);
    return err;
}

/* ---- restoring ------------------------------------------------------------------------------- */

static int load_model(ferry_solver *s, const struct state *t)
{
    char *path;
    int err;

    if (!t->model || !t->model[0])
        return 0;
    err = ferry__solver_find(t->model, t->path, &path);
    if (err)
        return err;
    err = ferry__net_load_whole(s->net, path);
    s->has_ranges = false;
    free(path);
    return err;
}

static void commit(ferry_solver *s, struct state *t, char *latest)
{
    int i;

    free(s->latest);
    s->latest = latest;
    ferry_log_write(FERRY_LOG_INFO, "SGDSolver: restoring history");
    for (i = 0; i < t->count; i++) {
        ferry_blob **slot = &s->learned[i % s->n_learned].history[i / s->n_learned];
        ferry_blob *old = *slot;

        *slot = t->history[i];
        t->history[i] = old;
    }
    s->iter = t->iter;
    s->joined = false;
    s->current_step = t->step;
    s->saved = -1;
}

static void end(struct state *t)
{
    int i;

    for (i = 0; t->history && i < t->count; i++)
        ferry_blob_destroy(t->history[i]);
    free(t->history);
    ferry_io_close(t->io);
}

int ferry__restore(ferry_solver *s, const char *path, int want)
{
    struct state t = { .path = path };
    char *latest = strdup(path);
    int err = latest ? open_state(&t) : ferry_error_set(FERRY_ENOMEM, "%s: no memory", path);

    if (!err && want >= 0 && t.iter != want)
        err = ferry_error_set(FERRY_EFORMAT,
                              "%s: it is of iteration %d, but its .ferrystate of iteration %d",
                              path, t.iter, want);
    if (!err)
        err = read_histories(s, &t);
    if (!err)
        err = load_model(s, &t);
    if (!err)
        commit(s, &t, latest);
    else
        free(latest);
    end(&t);
    return err;
}

int ferry_solver_restore(ferry_solver *s, const char *path)
{
    return s && path ? ferry__restore(s, path, -1)
                     : ferry_error_set(FERRY_EINVAL, "ferry_solver_restore: NULL argument");
}
