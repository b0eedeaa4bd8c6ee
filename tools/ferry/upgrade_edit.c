/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "upgrade.h"

#include <ferry/proto_edit.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int upgrade_print(const ferry_proto *p, char **out)
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

/* ---- input dims ----------------------------------------------------------------------------- */

/* Parses "N,C,H,W": 1 to 32 numbers from 1; the rank, or 0 if the text is not valid. */
static int parse_dims(const char *text, int64_t *out)
{
    int rank = 0;

    for (;;) {
        char *end;

        errno = 0;
        if (rank == FERRY_MAX_AXES || *text < '0' || *text > '9')
            return 0;
        out[rank] = strtoll(text, &end, 10);
        if (errno || out[rank] < 1 || out[rank] > INT32_MAX)
            return 0;
        rank++;
        if (!*end)
            return rank;
        if (*end != ',')
            return 0;
        text = end + 1;
    }
}

/*
 * Sets the shape of one input. The last '=' separates name and dims, since a blob's name may
 * contain one.
 */
static int set_dims(const struct tool_command *self, ferry_proto *net, const char *text)
{
    const char *equals = strrchr(text, '=');
    int64_t dims[FERRY_MAX_AXES];
    int rank = parse_dims(equals ? equals + 1 : text, dims);
    char *name;
    int err;

    if (rank == 0)
        return tool_error(TOOL_USAGE,
                          "%s: --input-dims %s: expected 1 to %d whole numbers from 1, "
                          "N,C,H,W or NAME=N,C,H,W",
                          self->name, text, FERRY_MAX_AXES);
    name = equals ? strndup(text, (size_t)(equals - text)) : NULL;
    if (equals && !name)
        return tool_error(TOOL_FAILURE, "out of memory");
    err = ferry_proto_set_input_shape(net, name, dims, rank);
    free(name);
    if (!err)
        return TOOL_OK;
    return tool_error(TOOL_FAILURE, "--input-dims %s: %s", text, ferry_last_error());
}

int upgrade_dims(const struct tool_command *self, ferry_proto *net, const struct net_list *dims)
{
    int status = TOOL_OK;

    for (size_t i = 0; i < dims->count && status == TOOL_OK; i++)
        status = set_dims(self, net, dims->at[i]);
    return status;
}

/* ---- split at a layer ----------------------------------------------------------------------- */

static bool has_string(const ferry_proto *layer, const char *field, const char *text)
{
    for (int64_t i = 0; i < ferry_proto_value_count(layer, field); i++)
        if (strcmp(ferry_proto_string(layer, field, i, NULL), text) == 0)
            return true;
    return false;
}

/* Whether the net's last layer that has the blob writes it, so that it is an output of the net. */
static bool is_output(const ferry_proto *net, const char *blob)
{
    for (int64_t i = ferry_proto_value_count(net, "layer"); i-- > 0;) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        if (has_string(layer, "top", blob))
            return strcmp(ferry_proto_string(layer, "type", 0, NULL), "Input") != 0;
        if (has_string(layer, "bottom", blob))
            return false;
    }
    return false;
}

/* Whether an Input layer of the net has the blob as its top: then both parts get it as an input. */
static bool is_input(const ferry_proto *net, const char *blob)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        if (strcmp(ferry_proto_string(layer, "type", 0, NULL), "Input") == 0 &&
            has_string(layer, "top", blob))
            return true;
    }
    return false;
}

static int set_shape(const char *path, ferry_proto *rest, const char *name, ferry_net *net)
{
    ferry_blob *blob = ferry_net_blob_find(net, name);

    if (!blob)
        return tool_error(TOOL_FAILURE,
                          "%s: blob \"%s\" is not in the net of phase TEST, so its "
                          "shape is unknown",
                          path, name);
    if (ferry_proto_set_input_shape(rest, name, ferry_blob_shape(blob), ferry_blob_rank(blob)))
        return tool_ferry_error();
    return TOOL_OK;
}

/*
 * Sets the shapes of the Input layers that ferry_proto_keep_part added: they are the first ones,
 * and have no shape.
 */
static int set_shapes(const char *path, const ferry_proto *first, ferry_proto *rest, ferry_net *net)
{
    int status = TOOL_OK;

    for (int64_t i = 0; i < ferry_proto_value_count(rest, "layer") && status == TOOL_OK; i++) {
        const ferry_proto *layer = ferry_proto_message(rest, "layer", i),
                          *param = ferry_proto_message(layer, "input_param", 0);
        const char *top = ferry_proto_string(layer, "top", 0, NULL);

        if (strcmp(ferry_proto_string(layer, "type", 0, NULL), "Input") != 0 ||
            ferry_proto_value_count(param, "shape") > 0)
            break;
        status = set_shape(path, rest, top, net);
        if (status == TOOL_OK && !is_output(first, top) && !is_input(first, top))
            ferry_log_write(FERRY_LOG_WARN,
                            "%s: the second part reads blob \"%s\", which is not an output of the "
                            "first part, since layers there read it too",
                            path, top);
    }
    return status;
}

int upgrade_split(const struct tool_command *self, const char *path, const char *layer,
                  ferry_proto *first, ferry_proto *rest)
{
    struct net_request request = { .self = self, .prototxt = path, .keep = "all" };
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    char *text = NULL;
    int status = TOOL_OK;

    if (upgrade_print(first, &text) || ferry_proto_keep_part(first, layer, FERRY_PROTO_BEFORE) ||
        ferry_proto_keep_part(rest, layer, FERRY_PROTO_FROM))
        status = tool_ferry_error();
    request.text = text;
    if (status == TOOL_OK)
        status = net_open(&request, &rt, &net);
    if (status == TOOL_OK)
        status = set_shapes(path, first, rest, net);
    ferry_net_close(net);
    ferry_runtime_close(rt);
    free(text);
    return status;
}
