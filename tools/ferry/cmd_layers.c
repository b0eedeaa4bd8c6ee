/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "layer_samples.h"
#include "tool.h"

#include <ferry/net.h>

#include <stdlib.h>
#include <string.h>

/* `ferry layers`: lists the layer types. */

/* ---- tiers ----------------------------------------------------------------------------------- */

static void drop_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

/* The tier of an example of the type; "-" for a type whose example would need files. */
static const char *tier_of(ferry_device *dev, const ferry_layer_type *type)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };
    ferry_net_options o = { .struct_size = sizeof o };
    const char *tier = "-";
    ferry_net *net = NULL;
    char text[2048];

    o.text_size = layer_sample(type, text, sizeof(text));
    o.text = text;
    ferry_log_set_handler(drop_line, NULL);
    if (o.text_size && ferry_net_open(dev, type->name, &o, &net) == FERRY_OK) {
        int last = ferry_net_layer_count(net) - 1;

        if (ferry_net_reshape(net) == FERRY_OK &&
            ferry_net_get_layer_info(net, last, &info) == FERRY_OK)
            tier = ferry_operation_tier_name(info.tier);
    }
    ferry_net_close(net);
    tool_log();
    return tier;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The message type of a layer's field, "PoolingParameter"; NULL if the schema lacks the field. */
static const char *message_of(const char *name)
{
    for (int64_t i = 0; i < ferry_proto_schema_field_count("LayerParameter"); i++) {
        ferry_proto_field field = { .struct_size = sizeof field };

        if (ferry_proto_schema_field_at("LayerParameter", i, &field) == FERRY_OK &&
            strcmp(field.name, name) == 0)
            return field.kind;
    }
    return NULL;
}

/* A default as it is written in a prototxt; "" for messages and repeated fields. */
static const char *default_of(const ferry_proto_field *field, char *buf, size_t size)
{
    if (field->repeats || ferry_proto_schema_field_count(field->kind) > 0)
        return "";
    if (*field->text_default || strcmp(field->kind, "string") == 0)
        return field->text_default;
    if (strcmp(field->kind, "bool") == 0)
        return field->number_default != 0 ? "true" : "false";
    snprintf(buf, size, "%g", field->number_default);
    return buf;
}

static json_t *json_parameters(const ferry_layer_type *type)
{
    json_t *list = json_array();

    for (const char *const *own = type->messages; own && *own; own++) {
        const char *message = message_of(*own);

        for (int64_t i = 0; message && i < ferry_proto_schema_field_count(message); i++) {
            ferry_proto_field field = { .struct_size = sizeof field };
            char buf[32];

            if (ferry_proto_schema_field_at(message, i, &field) == FERRY_OK)
                json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:s, s:s}", "message",
                                                      *own, "name", field.name, "kind", field.kind,
                                                      "repeats", field.repeats, "default",
                                                      default_of(&field, buf, sizeof(buf)), "fork",
                                                      field.fork));
        }
    }
    return list;
}

static json_t *json_of_type(const ferry_layer_type *type, ferry_device *dev)
{
    return json_pack("{s:s, s:[i, i], s:[i, i], s:b, s:b, s:s, s:o}", "type", type->name, "bottoms",
                     type->min_bottoms, type->max_bottoms, "tops", type->min_tops, type->max_tops,
                     "in_place", (type->flags & FERRY_LAYER_IN_PLACE) != 0, "loss",
                     (type->flags & FERRY_LAYER_LOSS) != 0, "tier", tier_of(dev, type),
                     "parameters", json_parameters(type));
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Formats a range: "1", "2 to 3", "1 or more". */
static const char *range(int least, int most, char *buf, size_t size)
{
    if (least == most)
        snprintf(buf, size, "%d", least);
    else if (most < 0)
        snprintf(buf, size, "%d or more", least > 0 ? least : 0);
    else
        snprintf(buf, size, "%d to %d", least, most);
    return buf;
}

static int show_parameters(const ferry_layer_type *type)
{
    static const char *const headings[] = { "message", "parameter", "kind", "default", "fork" };
    struct tool_table *table = tool_table_create(headings, 5);
    bool good = table != NULL;

    for (const char *const *own = type->messages; good && own && *own; own++) {
        const char *message = message_of(*own);

        for (int64_t i = 0; message && good && i < ferry_proto_schema_field_count(message); i++) {
            ferry_proto_field field = { .struct_size = sizeof field };
            char buf[32], kind[80];

            if (ferry_proto_schema_field_at(message, i, &field))
                continue;
            snprintf(kind, sizeof(kind), "%s%s", field.repeats ? "repeated " : "", field.kind);
            good = tool_table_add(
                table, (const char *const[]){ *own, field.name, kind,
                                              default_of(&field, buf, sizeof(buf)), field.fork });
        }
    }
    if (good)
        tool_table_print(table, tool_width());
    tool_table_destroy(table);
    return good ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

static int show_type(const ferry_layer_type *type, ferry_device *dev)
{
    char bottoms[32], tops[32];

    tool_printf("%s: bottoms: %s, tops: %s%s%s; on %s: %s\n", type->name,
                range(type->min_bottoms, type->max_bottoms, bottoms, sizeof(bottoms)),
                range(type->min_tops, type->max_tops, tops, sizeof(tops)),
                type->flags & FERRY_LAYER_IN_PLACE ? ", in place" : "",
                type->flags & FERRY_LAYER_LOSS ? ", a loss" : "", ferry_device_name(dev),
                tier_of(dev, type));
    return type->messages && *type->messages ? show_parameters(type) : TOOL_OK;
}

static int show_all(ferry_device *dev)
{
    static const char *const headings[] = { "type", "bottoms", "tops", "tier", "parameters" };
    struct tool_table *table = tool_table_create(headings, 5);
    bool good = table != NULL;

    for (int i = 0; good && i < ferry_layer_type_count(); i++) {
        const ferry_layer_type *type = ferry_layer_type_at(i);
        char bottoms[32], tops[32], messages[160] = "";

        for (const char *const *own = type->messages; own && *own; own++) {
            size_t used = strlen(messages);

            snprintf(messages + used, sizeof(messages) - used, "%s%s", used ? ", " : "", *own);
        }
        good = tool_table_add(
            table,
            (const char *const[]){
                type->name, range(type->min_bottoms, type->max_bottoms, bottoms, sizeof(bottoms)),
                range(type->min_tops, type->max_tops, tops, sizeof(tops)), tier_of(dev, type),
                messages });
    }
    if (good)
        tool_table_print(table, tool_width());
    tool_table_destroy(table);
    return good ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

/* ---- the command ----------------------------------------------------------------------------- */

static int unknown_type(const char *name)
{
    int n = ferry_layer_type_count();
    const char **names = calloc((size_t)n + 1, sizeof(*names)), *near = NULL;

    for (int i = 0; names && i < n; i++)
        names[i] = ferry_layer_type_at(i)->name;
    if (names)
        near = tool_nearest(name, names, (size_t)n);
    tool_error(TOOL_FAILURE, "there is no layer type \"%s\"%s%s%s", name,
               near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    free(names);
    return TOOL_FAILURE;
}

static int show(const char *name, ferry_device *dev, bool json)
{
    const ferry_layer_type *type = name ? ferry_layer_type_find(name) : NULL;
    json_t *list;

    if (name && !type)
        return unknown_type(name);
    if (!json)
        return type ? show_type(type, dev) : show_all(dev);
    list = json_array();
    for (int i = 0; i < ferry_layer_type_count(); i++)
        if (!type || ferry_layer_type_at(i) == type)
            json_array_append_new(list, json_of_type(ferry_layer_type_at(i), dev));
    return tool_json_print(
        json_pack("{s:s, s:o}", "device", ferry_device_name(dev), "layers", list));
}

int cmd_layers(const struct tool_command *self, int argc, char **argv)
{
    const char *layers = NULL;
    bool json = false;
    const struct tool_option options[] = {
        { "--json", NULL, &json, NULL },
        { "--layers", NULL, NULL, &layers },
        { NULL, NULL, NULL, NULL },
    };
    int n = tool_parse(self, argc, argv, options, 1), status;
    ferry_runtime *rt;
    ferry_device *dev;

    if (n < 0)
        return tool_parse_status(n);
    if (ferry_runtime_open(NULL, &rt))
        return tool_ferry_error();
    if (ferry_layer_library_load(rt, NULL) || (layers && ferry_layer_library_load(rt, layers)) ||
        ferry_runtime_get_device(rt, NULL, &dev))
        status = tool_ferry_error();
    else
        status = show(n ? argv[0] : NULL, dev, json);
    ferry_runtime_close(rt);
    return status;
}
