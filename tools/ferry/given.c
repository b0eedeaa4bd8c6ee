/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "given.h"

#include <ferry/io.h>
#include <ferry/proto.h>

#include <stdlib.h>
#include <string.h>

/* An array that --input assigns to a blob. */
struct given {
    char *name;
    int rank;
    int64_t shape[FERRY_MAX_AXES];
};

struct givens {
    struct given *at;
    size_t count, room;
};

/* ---- the arrays ------------------------------------------------------------------------------ */

static int add(struct givens *g, const char *name, size_t length, const ferry_io_entry *entry)
{
    struct given *grown, *one;

    if (g->count == g->room) {
        grown = realloc(g->at, (2 * g->room + 8) * sizeof *grown);
        if (!grown)
            return tool_error(TOOL_FAILURE, "out of memory");
        g->at = grown;
        g->room = 2 * g->room + 8;
    }
    one = &g->at[g->count];
    one->name = strndup(name, length);
    if (!one->name)
        return tool_error(TOOL_FAILURE, "out of memory");
    one->rank = entry->rank;
    if (entry->rank)
        memcpy(one->shape, entry->shape, (size_t)entry->rank * sizeof *one->shape);
    g->count++;
    return TOOL_OK;
}

/*
 * Adds the arrays of a file, which are named "input/NAME" or NAME; or the single array for NAME.
 * Errors in the file are reported when it is read later.
 */
static int add_file(struct givens *g, const char *path, const char *name, size_t length)
{
    const ferry_io_entry *entry = NULL;
    ferry_io *io = NULL;
    int status = TOOL_OK;

    if (ferry_io_open(path, &io))
        return TOOL_OK;
    for (int64_t i = 0; status == TOOL_OK && !ferry_io_entry_at(io, i, &entry); i++) {
        const char *own = strncmp(entry->name, "input/", 6) == 0 ? entry->name + 6 : entry->name;

        if (!name)
            status = add(g, own, strlen(own), entry);
        else if (ferry_io_entry_count(io) == 1 ||
                 (strlen(entry->name) == length && !memcmp(entry->name, name, length)))
            status = add(g, name, length, entry);
    }
    ferry_io_close(io);
    return status;
}

static int find_givens(const char *const *inputs, size_t n, struct givens *out)
{
    int status = TOOL_OK;

    for (size_t i = 0; status == TOOL_OK && i < n; i++) {
        const char *spec = inputs[i], *equals = strchr(spec, '=');

        status = equals ? add_file(out, equals + 1, spec, (size_t)(equals - spec))
                        : add_file(out, spec, NULL, 0);
    }
    return status;
}

static const struct given *find(const struct givens *g, const char *name)
{
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->at[i].name, name) == 0)
            return &g->at[i];
    return NULL;
}

static void forget(struct givens *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->at[i].name);
    free(g->at);
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Writes a string of a prototxt, with all but letters, digits and punctuation as octal escapes. */
static void write_quoted(FILE *to, const char *text)
{
    putc('"', to);
    for (; *text; text++)
        if (*text == '"' || *text == '\\' || *text < ' ' || *text > '~')
            fprintf(to, "\\%03o", (unsigned)(unsigned char)*text);
        else
            putc(*text, to);
    putc('"', to);
}

static int write_message(FILE *to, const char *field, const ferry_proto *p)
{
    size_t size = 0;
    char *text;
    int err = ferry_proto_print(p, NULL, 0, &size);

    text = err ? NULL : malloc(size + 1);
    if (!text)
        return err ? tool_ferry_error() : tool_error(TOOL_FAILURE, "out of memory");
    err = ferry_proto_print(p, text, size + 1, &size);
    if (!err)
        fprintf(to, "%s {\n%s}\n", field, text);
    free(text);
    return err ? tool_ferry_error() : TOOL_OK;
}

static int write_each(FILE *to, const ferry_proto *p, const char *field)
{
    int status = TOOL_OK;

    for (int64_t i = 0; status == TOOL_OK && i < ferry_proto_value_count(p, field); i++)
        status = write_message(to, field, ferry_proto_message(p, field, i));
    return status;
}

/* Writes an Input layer with the tops, shapes and rules of a data layer. */
static int write_input(FILE *to, const ferry_proto *layer, const struct givens *g)
{
    int status;

    fputs("layer {\n  name: ", to);
    write_quoted(to, ferry_proto_string(layer, "name", 0, NULL));
    fputs("\n  type: \"Input\"\n", to);
    for (int64_t i = 0; i < ferry_proto_value_count(layer, "top"); i++) {
        fputs("  top: ", to);
        write_quoted(to, ferry_proto_string(layer, "top", i, NULL));
        putc('\n', to);
    }
    fputs("  input_param {\n", to);
    for (int64_t i = 0; i < ferry_proto_value_count(layer, "top"); i++) {
        const struct given *one = find(g, ferry_proto_string(layer, "top", i, NULL));

        fputs("    shape {", to);
        for (int a = 0; a < one->rank; a++)
            fprintf(to, " dim: %lld", (long long)one->shape[a]);
        fputs(" }\n", to);
    }
    fputs("  }\n", to);
    status = write_each(to, layer, "include");
    if (status == TOOL_OK)
        status = write_each(to, layer, "exclude");
    fputs("}\n", to);
    return status;
}

static int write_net(FILE *to, const ferry_proto *net, const struct givens *g, const bool *replaced)
{
    static const char *const flags[] = { "force_backward", "debug_info" };
    int status = write_each(to, net, "state");

    fputs("name: ", to);
    write_quoted(to, ferry_proto_string(net, "name", 0, NULL));
    putc('\n', to);
    for (int i = 0; i < 2; i++)
        if (ferry_proto_value_count(net, flags[i]))
            fprintf(to, "%s: %s\n", flags[i],
                    ferry_proto_boolean(net, flags[i], 0) ? "true" : "false");
    for (int64_t i = 0; status == TOOL_OK && i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        status = replaced[i] ? write_input(to, layer, g) : write_message(to, "layer", layer);
    }
    return status;
}

/* ---- which layers ---------------------------------------------------------------------------- */

/*
 * Whether a data layer is replaced: all of its tops are given. It is an error if only some of them
 * are.
 */
static int is_replaced(const ferry_proto *layer, const struct givens *g, bool *out)
{
    int64_t tops = ferry_proto_value_count(layer, "top"), given = 0;
    const char *type = ferry_proto_string(layer, "type", 0, NULL), *missing = NULL, *some = NULL;

    *out = false;
    if (ferry_proto_value_count(layer, "bottom") || strcmp(type, "Input") == 0)
        return TOOL_OK;
    for (int64_t i = 0; i < tops; i++) {
        const char *top = ferry_proto_string(layer, "top", i, NULL);

        if (find(g, top)) {
            given++;
            some = top;
        } else {
            missing = top;
        }
    }
    *out = given == tops && tops > 0;
    if (given == 0 || *out)
        return TOOL_OK;
    return tool_error(TOOL_FAILURE,
                      "--input %s: layer \"%s\" (%s) also makes \"%s\", which must be given too",
                      some, ferry_proto_string(layer, "name", 0, NULL), type, missing);
}

static int write_text(const ferry_proto *net, const struct givens *g, char **out_text)
{
    int64_t n = ferry_proto_value_count(net, "layer");
    bool *replaced = calloc((size_t)n + 1, sizeof *replaced), any = false;
    int status = replaced ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
    size_t size = 0;
    FILE *to;

    for (int64_t i = 0; status == TOOL_OK && i < n; i++) {
        status = is_replaced(ferry_proto_message(net, "layer", i), g, &replaced[i]);
        any = any || replaced[i];
    }
    if (status == TOOL_OK && any) {
        to = open_memstream(out_text, &size);
        status = to ? write_net(to, net, g, replaced) : tool_error(TOOL_FAILURE, "out of memory");
        if (to && fclose(to) && status == TOOL_OK)
            status = tool_error(TOOL_FAILURE, "out of memory");
        if (status != TOOL_OK) {
            free(*out_text);
            *out_text = NULL;
        }
    }
    free(replaced);
    return status;
}

int given_text(const char *prototxt, const char *const *inputs, size_t n, char **out_text)
{
    struct givens g = { 0 };
    ferry_proto *net = NULL;
    int status = find_givens(inputs, n, &g);

    *out_text = NULL;
    if (status == TOOL_OK && g.count && !ferry_proto_open(prototxt, "NetParameter", NULL, &net) &&
        !ferry_proto_upgrade(net))
        status = write_text(net, &g, out_text);
    ferry_proto_close(net);
    forget(&g);
    return status;
}
