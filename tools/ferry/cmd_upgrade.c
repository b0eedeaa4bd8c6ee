/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "tool.h"
#include "whole.h"

#include <ferry/proto.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* `ferry upgrade`: converts nets and solvers of older Caffe versions to the current form. */

struct upgrade {
    const char *in, *out;
    ferry_proto *root;
    char *before; /* the message as text, before any change */
};

/* ---- reading -------------------------------------------------------------------------------- */

/* Whether the message has a field that every net has and no solver. */
static bool is_net(const ferry_proto *p)
{
    static const char *const fields[] = { "layer", "layers", "input" };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (ferry_proto_value_count(p, fields[i]) > 0)
            return true;
    return false;
}

/*
 * A file without layers is a solver if it can be read as one with fewer unknown fields; otherwise
 * the error is that of a net.
 */
static int open_root(struct upgrade *u)
{
    ferry_proto *solver = NULL;
    int err = ferry_proto_open(u->in, "NetParameter", NULL, &u->root);

    if (!err && is_net(u->root))
        return FERRY_OK;
    if (!ferry_proto_open(u->in, "SolverParameter", NULL, &solver) &&
        (err || ferry_proto_note_count(solver) < ferry_proto_note_count(u->root))) {
        ferry_proto_close(u->root);
        u->root = solver;
        return FERRY_OK;
    }
    ferry_proto_close(solver);
    return err ? ferry_proto_open(u->in, "NetParameter", NULL, &u->root) : FERRY_OK;
}

static int print(const ferry_proto *p, char **out)
{
    size_t size = 0;
    int err = ferry_proto_print(p, NULL, 0, &size);

    if (err)
        return err;
    *out = malloc(size + 1);
    if (!*out)
        return ferry_error_set(FERRY_ENOMEM, "out of memory");
    return ferry_proto_print(p, *out, size + 1, &size);
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

/* A file that needs no change is copied unchanged, with its comments. */
static int write_out(const struct upgrade *u)
{
    struct whole to;
    char *after = NULL;
    int err, status = whole_open(&to, u->out);

    if (status != TOOL_OK)
        return status;
    err = print(u->root, &after);
    if (!err && strcmp(u->before, after) == 0)
        err = copy_file(u, &to);
    else if (!err)
        err = ferry_proto_write(u->root, ferry_proto_get_form(u->root), whole_write, &to);
    if (err)
        status = tool_ferry_error();
    free(after);
    return whole_close(&to, status);
}

/* ---- the command ---------------------------------------------------------------------------- */

static int run(struct upgrade *u)
{
    int err = open_root(u), status, errors;

    if (!err)
        err = print(u->root, &u->before);
    if (!err)
        err = ferry_proto_upgrade(u->root);
    if (err)
        return tool_ferry_error();
    errors = log_notes(u);
    status = write_out(u);
    if (status == TOOL_OK && errors > 0)
        status = tool_error(TOOL_FAILURE, "%s: written without the parameters named above", u->out);
    return status;
}

int cmd_upgrade(const struct tool_command *self, int argc, char **argv)
{
    struct upgrade u = { 0 };
    const struct tool_option options[] = { { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 2), status;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 2)
        return tool_error(TOOL_USAGE, "%s: missing files; usage: ferry %s %s", self->name,
                          self->name, self->arguments);
    u.in = argv[0];
    u.out = argv[1];
    status = run(&u);
    free(u.before);
    ferry_proto_close(u.root);
    return status;
}
