/* SPDX-License-Identifier: BSD-2-Clause */
#include "convert_model.h"
#include "net.h"
#include "whole.h"

#include <ferry/proto.h>

#include <string.h>

/* Whether a layer's message is in no Caffe and no fork of it. */
static bool is_own(const ferry_proto *layer)
{
    const char *name;
    ferry_proto_field field = { .struct_size = sizeof(field) };
    bool own = !strcmp(ferry_proto_string(layer, "type", 0, NULL), "LogSoftmax");

    for (int64_t i = 0; i < ferry_proto_field_count(layer); i++) {
        if (ferry_proto_field_at(layer, i, &name) != FERRY_OK)
            continue;
        for (int64_t k = 0; k < ferry_proto_schema_field_count("LayerParameter"); k++)
            if (ferry_proto_schema_field_at("LayerParameter", k, &field) == FERRY_OK &&
                strcmp(field.name, name) == 0 && strcmp(field.fork, "ferry") == 0)
                own = true;
    }
    return own;
}

/* Whether an earlier layer has the type of layer `index`. */
static bool is_repeated(const ferry_proto *net, int64_t index)
{
    const char *type =
        ferry_proto_string(ferry_proto_message(net, "layer", index), "type", 0, NULL);

    for (int64_t i = 0; i < index; i++)
        if (strcmp(ferry_proto_string(ferry_proto_message(net, "layer", i), "type", 0, NULL),
                   type) == 0)
            return true;
    return false;
}

/* Reports, in one line, the types that Caffe lacks. */
static void report_own(const ferry_proto *net, const char *prototxt)
{
    char types[400] = "";

    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);
        size_t used = strlen(types);

        if (is_own(layer) && !is_repeated(net, i))
            snprintf(types + used, sizeof(types) - used, "%s%s", used ? ", " : "",
                     ferry_proto_string(layer, "type", 0, NULL));
    }
    if (*types)
        fprintf(stderr, "ferry: %s: layers of ferry's own, which Caffe lacks: %s\n", prototxt,
                types);
}

/* Writes the definition as a prototxt, from the caffemodel, which has the whole definition. */
static int write_definition(const char *weights, const char *prototxt)
{
    ferry_proto *net = NULL;
    struct whole to;
    int status;

    if (ferry_proto_open(weights, "NetParameter", NULL, &net))
        return tool_ferry_error();
    status = whole_open(&to, prototxt);
    if (status == TOOL_OK) {
        if (ferry_proto_write(net, FERRY_PROTO_TEXT, whole_write, &to))
            status = tool_ferry_error();
        status = whole_close(&to, status);
    }
    if (status == TOOL_OK)
        report_own(net, prototxt);
    ferry_proto_close(net);
    return status;
}

int convert_model(const struct tool_command *self, const char *model, const char *prototxt,
                  const char *weights)
{
    const struct net_request request = { .self = self, .prototxt = model };
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    int status = net_open(&request, &rt, &net);

    if (status != TOOL_OK)
        return status;
    if (ferry_net_save(net, weights, FERRY_IO_CAFFEMODEL))
        status = tool_ferry_error();
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return status == TOOL_OK ? write_definition(weights, prototxt) : status;
}
