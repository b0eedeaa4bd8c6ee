/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "tool.h"
#include "upgrade.h"
#include "whole.h"

#include <ferry/proto.h>
#include <ferry/proto_edit.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* `ferry upgrade`: converts nets and solvers of older Caffe versions to the current form. */

struct upgrade {
    const struct tool_command *self;
    const char *in, *out, *rest; /* rest: the file of the second part, or NULL */
    const char *to, *split_at;   /* values of options, or NULL */
    struct net_list dims;        /* the values of --input-dims */
    bool folds;                  /* --fold was given */
    struct upgrade_fold fold;
    ferry_proto *root;
    char *before;  /* the message as text, before any change */
    bool comments; /* the text is in the current form, so that its comments are kept */
};

/* ---- reading -------------------------------------------------------------------------------- */

/* Whether the message has a field that every net has, and no solver has. */
static bool is_net(const ferry_proto *p)
{
    static const char *const fields[] = { "layer", "layers", "input" };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (ferry_proto_value_count(p, fields[i]) > 0)
            return true;
    return false;
}

/*
 * Opens a file. One without layers is a solver if it can be read as a solver with fewer unknown
 * fields; otherwise the error is that of a net.
 */
static int open_root(const char *path, bool comments, ferry_proto **out)
{
    const ferry_proto_options options = { .struct_size = sizeof(options), .comments = comments };
    ferry_proto *solver = NULL;
    int err = ferry_proto_open(path, "NetParameter", &options, out);

    if (!err && is_net(*out))
        return FERRY_OK;
    if (!ferry_proto_open(path, "SolverParameter", NULL, &solver) &&
        (err || ferry_proto_note_count(solver) < ferry_proto_note_count(*out))) {
        ferry_proto_close(*out);
        *out = solver;
        return FERRY_OK;
    }
    ferry_proto_close(solver);
    return err ? ferry_proto_open(path, "NetParameter", NULL, out) : FERRY_OK;
}

/* Logs the notes; returns the number of errors, which are parameters that cannot be upgraded. */
static int log_notes(const struct upgrade *u)
{
    const char *line = "";
    int errors = 0, level = 0;

    for (int i = 0; i < ferry_proto_note_count(u->root); i++) {
        if (ferry_proto_note_at(u->root, i, &level, &line) != FERRY_OK)
            continue;
        errors += level == FERRY_LOG_ERROR;
        ferry_log_write(level, "%s", line);
    }
    return errors;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int copy_file(const struct upgrade *u, struct whole *to)
{
    FILE *from = fopen(u->in, "rb");
    char piece[1 << 16];
    size_t n;
    int err = FERRY_OK;

    if (!from)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", u->in, strerror(errno));
    while (!err && (n = fread(piece, 1, sizeof(piece), from)) > 0)
        err = whole_write(to, piece, n);
    if (!err && ferror(from))
        err = ferry_error_set(FERRY_EIO, "%.400s: %s", u->in, strerror(errno));
    fclose(from);
    return err;
}

/* Writes the result. A file that needs no change is copied unchanged, with its comments. */
static int write_out(const struct upgrade *u)
{
    struct whole to;
    char *after = NULL;
    int err, status = whole_open(&to, u->out);

    if (status != TOOL_OK)
        return status;
    err = upgrade_print(u->root, &after);
    if (!err && strcmp(u->before, after) == 0)
        err = copy_file(u, &to);
    else if (!err)
        err = ferry_proto_write(u->root, ferry_proto_get_form(u->root), whole_write, &to);
    if (err)
        status = tool_ferry_error();
    free(after);
    return whole_close(&to, status);
}

/*
 * Writes both parts before one replaces a file, because either may be the file that blobs are read
 * from.
 */
static int write_parts(const struct upgrade *u, const ferry_proto *rest)
{
    ferry_proto_form form = ferry_proto_get_form(rest);
    struct whole first, second;
    int status = whole_open(&first, u->out), other;

    if (status != TOOL_OK)
        return status;
    status = whole_open(&second, u->rest);
    if (status != TOOL_OK)
        return whole_close(&first, status);
    if (ferry_proto_write(u->root, form, whole_write, &first) ||
        ferry_proto_write(rest, form, whole_write, &second))
        status = tool_ferry_error();
    other = whole_close(&second, status);
    return whole_close(&first, other);
}

/* ---- the options ---------------------------------------------------------------------------- */

static int downgrade(const struct upgrade *u, ferry_proto *net)
{
    return u->to && strcmp(u->to, "v1") == 0 && ferry_proto_downgrade(net) ? tool_ferry_error()
                                                                           : TOOL_OK;
}

/*
 * Splits the net. The second part is made from the original file, with the same steps; both parts
 * are complete before a file is written.
 */
static int split(struct upgrade *u)
{
    ferry_proto *rest = NULL;
    int status = TOOL_OK;

    if (open_root(u->in, u->comments, &rest) || ferry_proto_upgrade(rest))
        status = tool_ferry_error();
    if (status == TOOL_OK)
        status = upgrade_dims(u->self, rest, &u->dims);
    if (status == TOOL_OK)
        status = upgrade_split(u->self, u->in, u->split_at, u->root, rest);
    if (status == TOOL_OK)
        status = downgrade(u, u->root);
    if (status == TOOL_OK)
        status = downgrade(u, rest);
    if (status == TOOL_OK)
        status = write_parts(u, rest);
    ferry_proto_close(rest);
    return status;
}

/* Folds the net. Both files are complete before one replaces a file. */
static int fold(struct upgrade *u)
{
    bool text = ferry_proto_get_form(u->root) == FERRY_PROTO_TEXT;
    int status = upgrade_fold_net(&u->fold, u->root);

    if (status == TOOL_OK)
        status = downgrade(u, u->root);
    if (status == TOOL_OK)
        status = upgrade_fold_write(u->self, &u->fold, text ? NULL : u->root);
    if (status == TOOL_OK && text)
        status = write_out(u);
    return upgrade_fold_close(&u->fold, status);
}

static int convert(struct upgrade *u)
{
    int status = upgrade_dims(u->self, u->root, &u->dims);

    if (status == TOOL_OK && u->split_at)
        return split(u);
    if (status == TOOL_OK && u->folds)
        return fold(u);
    if (status == TOOL_OK)
        status = downgrade(u, u->root);
    return status == TOOL_OK ? write_out(u) : status;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* Checks the arguments of --fold: a caffemodel has its weights; a text has them in another file. */
static int check_fold(struct upgrade *u)
{
    const char *name = u->self->name;

    if (ferry_proto_get_form(u->root) == FERRY_PROTO_TEXT)
        return u->fold.weights ? TOOL_OK
                               : tool_error(TOOL_USAGE,
                                            "%s: --fold of a text needs --weights and "
                                            "--weights-out",
                                            name);
    if (u->fold.weights)
        return tool_error(TOOL_USAGE, "%s: --weights: %s has its own weights", name, u->in);
    if (u->to && strcmp(u->to, "v1") == 0)
        return tool_error(TOOL_USAGE, "%s: --fold and --to v1 of a caffemodel are two steps", name);
    u->fold.weights = u->in;
    u->fold.out = u->out;
    return TOOL_OK;
}

/* Opens the text again with its comments if the upgrade has not changed it. */
static int keep_comments(struct upgrade *u)
{
    char *after = NULL;
    int err = upgrade_print(u->root, &after);
    bool same = !err && strcmp(u->before, after) == 0;

    free(after);
    if (err || !same || u->to || ferry_proto_get_form(u->root) != FERRY_PROTO_TEXT)
        return err;
    free(u->before);
    u->before = NULL;
    ferry_proto_close(u->root);
    u->root = NULL;
    u->comments = true;
    err = open_root(u->in, true, &u->root);
    return err ? err : upgrade_print(u->root, &u->before);
}

static int run(struct upgrade *u)
{
    int err = open_root(u->in, false, &u->root), status, errors;

    if (!err)
        err = upgrade_print(u->root, &u->before);
    if (!err)
        err = ferry_proto_upgrade(u->root);
    if (!err)
        err = keep_comments(u);
    if (err)
        return tool_ferry_error();
    errors = log_notes(u);
    status = u->folds ? check_fold(u) : TOOL_OK;
    if (status == TOOL_OK)
        status = convert(u);
    if (status == TOOL_OK && errors > 0)
        status = tool_error(TOOL_FAILURE, "%s: written without the parameters named above", u->out);
    return status;
}

/* Takes the arguments IN OUT, or IN FIRST SECOND with --split-at. */
static int take_arguments(struct upgrade *u, int n, char **argv)
{
    const char *name = u->self->name;

    if (n < 2 || (u->split_at && n < 3))
        return tool_error(TOOL_USAGE, "%s: missing files; usage: ferry %s %s", name, name,
                          u->self->arguments);
    if (n > 2 && !u->split_at)
        return tool_error(TOOL_USAGE, "%s: %s: a second output needs --split-at", name, argv[2]);
    if (u->to && strcmp(u->to, "v1") != 0 && strcmp(u->to, "v2") != 0)
        return tool_error(TOOL_USAGE, "%s: --to %s: expected v1 or v2", name, u->to);
    if (!u->fold.weights != !u->fold.out || (u->fold.weights && !u->folds))
        return tool_error(TOOL_USAGE,
                          "%s: --weights and --weights-out are both required, with --fold", name);
    if (u->folds && u->split_at)
        return tool_error(TOOL_USAGE, "%s: --fold and --split-at are two steps", name);
    u->in = argv[0];
    u->out = argv[1];
    u->rest = n > 2 ? argv[2] : NULL;
    if (u->rest && strcmp(u->rest, u->out) == 0)
        return tool_error(TOOL_USAGE, "%s: %s: both parts would be this file", name, u->rest);
    return TOOL_OK;
}

int cmd_upgrade(const struct tool_command *self, int argc, char **argv)
{
    struct upgrade u = { .self = self };
    const struct tool_option options[] = { { "--to", NULL, NULL, &u.to },
                                           { "--split-at", NULL, NULL, &u.split_at },
                                           { "--fold", NULL, &u.folds, NULL },
                                           { "--weights", "-w", NULL, &u.fold.weights },
                                           { "--weights-out", NULL, NULL, &u.fold.out },
                                           { NULL, NULL, NULL, NULL } };
    int status = net_take_all(self, "--input-dims", &argc, argv, &u.dims), n = 0;

    if (status == TOOL_OK) {
        n = tool_parse(self, argc, argv, options, 3);
        status = n < 0 ? tool_parse_status(n) : take_arguments(&u, n, argv);
    } else {
        status = TOOL_USAGE;
    }
    if (status == TOOL_OK && n > 0)
        status = run(&u);
    free(u.dims.at);
    free(u.before);
    ferry_proto_close(u.root);
    return status;
}
