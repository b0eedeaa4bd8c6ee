/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The .ferrystate: the state that Caffe's files do not contain and that an exact resume requires.
 * It is a safetensors file with metadata about each net (how many random numbers were drawn) and
 * about each layer that reads records (how many it has used); the latest losses; and the states of
 * recurrent layers.
 */
#include "solver/state.h"

#include "net/model/training.h"

#include <ferry/status.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE 512

/*
 * ---- contents
 * ------------------------------------------------------------------------------------
 */

/* Net `index`: −1 is the training net, other numbers are test nets. */
static ferry_net *net_at(const ferry_solver *s, int index)
{
    return index < 0 ? s->net : s->tests[index].net;
}

static void key_of_net(char *key, int index, const char *what)
{
    if (index < 0)
        snprintf(key, KEY_SIZE, "train/%s", what);
    else
        snprintf(key, KEY_SIZE, "test%d/%s", index, what);
}

/* The metadata key of layer `layer` of net `index`. */
static void key_of_layer(char *key, const ferry_solver *s, int index, int layer, const char *what)
{
    const char *name = ferry_layer_name(ferry_net_layer_at(net_at(s, index), layer));
    char rest[KEY_SIZE - 16];

    snprintf(rest, sizeof rest, "%d:%.400s/%s", layer, name, what);
    key_of_net(key, index, rest);
}

/*
 * Whether a layer reads data but does not report its position. DummyData is excluded: it draws from
 * the net's random numbers, whose count is saved.
 */
static bool hides_position(const ferry_layer *layer)
{
    const ferry_layer_type *type = ferry_layer_get_type(layer);

    return !ferry_layer_bottom_count(layer) && type->forward && !type->position &&
           !(type->flags & FERRY_LAYER_INPUT) && strcmp(type->name, "DummyData") != 0;
}

static bool has_position(const ferry_net *net, int layer)
{
    return ferry_layer_get_type(ferry_net_layer_at(net, layer))->position != NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int put(ferry_io_writer *w, const char *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, value);
    return ferry_io_writer_set_metadata(w, key, text);
}

static int put_net(const ferry_solver *s, ferry_io_writer *w, int index)
{
    ferry_net *net = net_at(s, index);
    uint64_t seed, drawn, position = 0;
    char key[KEY_SIZE];
    int i, err;

    ferry__training_random(net, &seed, &drawn);
    key_of_net(key, index, "seed");
    err = put(w, key, seed);
    key_of_net(key, index, "drawn");
    if (!err)
        err = put(w, key, drawn);
    for (i = 0; !err && i < ferry_net_layer_count(net); i++) {
        if (!has_position(net, i))
            continue;
        key_of_layer(key, s, index, i, "position");
        err = ferry__training_position(net, i, &position);
        if (!err)
            err = put(w, key, position);
    }
    return err;
}

static int declare(ferry_io_writer *w, const char *name, ferry_dtype dtype, int rank,
                   const int64_t *shape)
{
    ferry_io_entry entry = { .struct_size = sizeof entry, .name = name };

    entry.dtype = dtype;
    entry.rank = rank;
    entry.shape = shape;
    return ferry_io_writer_declare(w, &entry);
}

/* Declares the states of recurrent layers, or writes them. */
static int put_states(const ferry_solver *s, ferry_io_writer *w, bool writes)
{
    int index, i, k, err = 0;

    for (index = -1; !err && index < s->n_tests; index++) {
        const ferry_net *net = net_at(s, index);
        ferry_blob *b;

        for (i = 0; i < ferry_net_layer_count(net); i++)
            for (k = 0; !err && ferry__training_carried_at(net, i, k, &b); k++) {
                char key[KEY_SIZE], what[32];

                if (!b)
                    continue;
                snprintf(what, sizeof what, "scratch/%d", k);
                key_of_layer(key, s, index, i, what);
                err = writes ? ferry_io_writer_write(w, key, b, false)
                             : declare(w, key, FERRY_F32, ferry_blob_rank(b), ferry_blob_shape(b));
            }
    }
    return err;
}

static int put_all(const ferry_solver *s, ferry_io_writer *w)
{
    int64_t n = s->n_losses;
    int index, err = put(w, "iter", (uint64_t)s->iter);

    if (!err)
        err = put(w, "first", (uint64_t)s->first);
    for (index = -1; !err && index < s->n_tests; index++)
        err = put_net(s, w, index);
    if (!err)
        err = declare(w, "losses", FERRY_F64, 1, &n);
    if (!err)
        err = declare(w, "smoothed", FERRY_F64, 0, NULL);
    if (!err)
        err = put_states(s, w, false);
    if (!err && n)
        err = ferry_io_writer_write_values(w, s->losses, (size_t)n * sizeof *s->losses);
    if (!err)
        err = ferry_io_writer_write_values(w, &s->smoothed, sizeof s->smoothed);
    return err ? err : put_states(s, w, true);
}

int ferry__exact_write(const ferry_solver *s, const char *path)
{
    ferry_io_writer *w;
    int err = ferry_io_writer_create(path, FERRY_IO_SAFETENSORS, &w);

    if (err)
        return err;
    err = put_all(s, w);
    if (!err)
        return ferry_io_writer_commit(w);
    ferry_io_writer_abort(w);
    return err;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int other_nets(const char *path, const char *key)
{
    return ferry_error_set(FERRY_ESHAPE, "%s: it has no \"%.200s\": it was written for other nets",
                           path, key);
}

static int get(const ferry_io *io, const char *path, const char *key, uint64_t *out)
{
    const char *found, *value;
    char *end;
    int64_t i;

    for (i = 0; i < ferry_io_metadata_count(io); i++) {
        if (ferry_io_metadata_at(io, i, &found, &value) || strcmp(found, key))
            continue;
        errno = 0;
        *out = strtoull(value, &end, 10);
        if (errno || *end || end == value)
            return ferry_error_set(FERRY_EFORMAT, "%s: \"%.200s\" is not a number", path, key);
        return 0;
    }
    return other_nets(path, key);
}

/* Reads one net's numbers; with `commits` applies them, otherwise only checks them. */
static int get_net(const ferry_solver *s, const ferry_io *io, const char *path, int index,
                   bool commits)
{
    ferry_net *net = net_at(s, index);
    uint64_t seed = 0, drawn = 0, position, own_seed, own_drawn;
    char key[KEY_SIZE];
    int i, err;

    key_of_net(key, index, "drawn");
    err = get(io, path, key, &drawn);
    key_of_net(key, index, "seed");
    if (!err)
        err = get(io, path, key, &seed);
    ferry__training_random(net, &own_seed, &own_drawn);
    if (!err && seed != own_seed)
        err = ferry_error_set(FERRY_ESHAPE, "%s: it was written with another random_seed", path);
    for (i = 0; !err && i < ferry_net_layer_count(net); i++) {
        const ferry_layer *layer = ferry_net_layer_at(net, i);

        if (hides_position(layer))
            err = ferry_layer_error(layer, FERRY_EUNSUPPORTED,
                                    "it does not report its position in the records, so that an "
                                    "exact resume is not possible");
        if (err || !has_position(net, i))
            continue;
        key_of_layer(key, s, index, i, "position");
        err = get(io, path, key, &position);
        if (!err && commits)
            err = ferry__training_seek(net, i, position);
    }
    if (!err && commits)
        ferry__training_set_drawn(net, drawn);
    return err;
}

static int get_states(const ferry_solver *s, ferry_io *io, int index)
{
    const ferry_net *net = net_at(s, index);
    ferry_blob *b;
    int i, k, err = 0;

    for (i = 0; i < ferry_net_layer_count(net); i++)
        for (k = 0; !err && ferry__training_carried_at(net, i, k, &b); k++) {
            const ferry_io_entry *entry = NULL;
            char key[KEY_SIZE], what[32];

            if (!b)
                continue;
            snprintf(what, sizeof what, "scratch/%d", k);
            key_of_layer(key, s, index, i, what);
            err = ferry_io_entry_find(io, key, &entry);
            if (!err && entry && entry->count == ferry_blob_element_count(b))
                err = ferry_io_read(io, entry, b);
        }
    return err;
}

static int get_losses(ferry_solver *s, ferry_io *io, const char *path)
{
    const ferry_io_entry *losses = NULL, *smoothed = NULL;
    uint64_t first = 0;
    int err = get(io, path, "first", &first);

    if (!err)
        err = ferry_io_entry_find(io, "losses", &losses);
    if (!err)
        err = ferry_io_entry_find(io, "smoothed", &smoothed);
    if (err || !losses || !smoothed || losses->dtype != FERRY_F64 || smoothed->dtype != FERRY_F64 ||
        losses->count > s->settings.average_loss)
        return err; /* the loss affects only the log, not the training */
    err = ferry_io_read_values(io, smoothed, 0, 1, &s->smoothed);
    if (!err && losses->count)
        err = ferry_io_read_values(io, losses, 0, losses->count, s->losses);
    if (err)
        return err;
    s->n_losses = (int)losses->count;
    s->first = (int)first;
    s->goes_on = true;
    return 0;
}

/* Reads the numbers of all nets, and applies them with `commits`. */
static int get_all(ferry_solver *s, ferry_io *io, const char *path, bool commits)
{
    int index, err = 0;

    for (index = -1; !err && index < s->n_tests; index++) {
        err = get_net(s, io, path, index, commits);
        if (!err && commits)
            err = get_states(s, io, index);
    }
    return err || !commits ? err : get_losses(s, io, path);
}

/* The path PREFIX_iter_N.ferrystate for a .solverstate or .solverstate.h5. NULL: no memory. */
static char *sidecar_of(const char *path)
{
    const char *at = strstr(path, ".solverstate"), *next;
    size_t stem;
    char *out;

    while (at && (next = strstr(at + 1, ".solverstate")))
        at = next;
    stem = at ? (size_t)(at - path) : strlen(path);
    out = malloc(stem + sizeof ".ferrystate");
    if (out) {
        memcpy(out, path, stem);
        strcpy(out + stem, ".ferrystate");
    }
    return out;
}

/*
 * Opens the .ferrystate and checks it against the solver and the iteration that `path` will
 * restore.
 */
static int open_sidecar(ferry_solver *s, const char *path, ferry_io **out)
{
    int err = ferry_io_open(path, out);

    if (err)
        return err;
    if (ferry_io_get_format(*out) != FERRY_IO_SAFETENSORS)
        err = ferry_error_set(FERRY_EFORMAT, "%s: it is a %s, not a .ferrystate", path,
                              ferry_io_format_name(ferry_io_get_format(*out)));
    if (!err)
        err = get_all(s, *out, path, false);
    return err;
}

static int restore(ferry_solver *s, const char *path, const char *sidecar)
{
    ferry_io *io = NULL;
    uint64_t iter = 0;
    int err = open_sidecar(s, sidecar, &io);

    if (!err)
        err = get(io, sidecar, "iter", &iter);
    if (!err && iter > INT_MAX)
        err = ferry_error_set(FERRY_EFORMAT, "%s: an iteration of %" PRIu64, sidecar, iter);
    if (!err)
        err = ferry__restore(s, path, (int)iter);
    if (!err)
        err = get_all(s, io, sidecar, true);
    ferry_io_close(io);
    return err;
}

int ferry_solver_restore_exact(ferry_solver *s, const char *path)
{
    char *sidecar;
    int err;

    if (!s || !path)
        return ferry_error_set(FERRY_EINVAL, "ferry_solver_restore_exact: NULL argument");
    sidecar = sidecar_of(path);
    if (!sidecar)
        return ferry_error_set(FERRY_ENOMEM, "%s: no memory", path);
    err = restore(s, path, sidecar);
    free(sidecar);
    return err;
}
