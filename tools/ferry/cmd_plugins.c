/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <stdio.h>
#include <string.h>

/* `ferry plugins`: prints the load report, and the options of the plugins that could be opened. */

/*
 * Whether the plugin is open. Only open plugins are asked for their options: a query would open the
 * others, which FERRY_BACKEND may exclude.
 */
static bool is_open(const ferry_runtime_candidate_info *c)
{
    return c->ok && strcmp(c->stage, "devices") == 0;
}

static json_t *json_option(const ferry_runtime_option_info *o)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "name", tool_json_string(o->name),
                     "type", tool_json_string(o->type), "values", tool_json_string(o->values),
                     "default", tool_json_string(o->default_value), "description",
                     tool_json_string(o->description), "value", tool_json_string(o->value),
                     "origin", tool_json_string(o->origin), "core", o->core != 0);
}

/* The number of options of a plugin that is already open; 0 if it is not. */
static int option_count(ferry_runtime *rt, const ferry_runtime_candidate_info *c)
{
    int count = 0;

    return is_open(c) && ferry_runtime_option_count(rt, c->name, &count) == FERRY_OK ? count : 0;
}

/* The options of a plugin; NULL if out of memory. */
static json_t *json_options(ferry_runtime *rt, const ferry_runtime_candidate_info *c)
{
    json_t *options = json_array();
    int count = option_count(rt, c);
    ferry_runtime_option_info o = { .struct_size = sizeof o };

    for (int i = 0; i < count; i++)
        if (ferry_runtime_option_at(rt, c->name, i, &o) != FERRY_OK ||
            json_array_append_new(options, json_option(&o)) != 0) {
            json_decref(options);
            return NULL;
        }
    return options;
}

static json_t *json_candidate(ferry_runtime *rt, const ferry_runtime_candidate_info *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "name", tool_json_string(c->name),
                     "path", tool_json_string(c->path), "origin", tool_json_string(c->origin),
                     "stage", tool_json_string(c->stage), "ok", c->ok != 0, "reason",
                     tool_json_string(c->reason), "hint", tool_json_string(c->hint), "options",
                     json_options(rt, c));
}

static int print_json(ferry_runtime *rt)
{
    json_t *candidates = json_array();
    const ferry_runtime_candidate_info *c;

    for (int i = 0; i < ferry_runtime_candidate_count(rt); i++) {
        if (ferry_runtime_candidate_at(rt, i, &c) != FERRY_OK ||
            json_array_append_new(candidates, json_candidate(rt, c)) != 0) {
            json_decref(candidates);
            return tool_error(TOOL_FAILURE, "out of memory");
        }
    }
    return tool_json_print(json_pack("{s:o}", "candidates", candidates));
}

static int print_table(ferry_runtime *rt)
{
    static const char *const headings[] = { "PLUGIN", "", "STAGE", "REASON" };
    struct tool_table *t = tool_table_create(headings, 4);
    const ferry_runtime_candidate_info *c;
    int count = ferry_runtime_candidate_count(rt), status = t ? TOOL_OK : TOOL_FAILURE;

    for (int i = 0; i < count && status == TOOL_OK; i++) {
        const char *cells[4];

        if (ferry_runtime_candidate_at(rt, i, &c) != FERRY_OK)
            break;
        cells[0] = c->name[0] ? c->name : c->path; /* the line is a folder that could not be
                                                    * searched */
        cells[1] = c->ok ? "ok" : "no";
        cells[2] = c->stage;
        cells[3] = c->reason;
        if (!tool_table_add(t, cells))
            status = TOOL_FAILURE;
    }
    if (status != TOOL_OK)
        tool_error(TOOL_FAILURE, "out of memory");
    if (status == TOOL_OK && count == 0)
        tool_printf("no plugin was found; FERRY_PLUGIN_PATH adds folders to search\n");
    else if (status == TOOL_OK)
        tool_table_print(t, tool_width());
    tool_table_destroy(t);
    return status;
}

/* Prints "pool_limit = 1GiB (size, from plugins.conf:7)" and the option's description. */
static void print_option(const ferry_runtime_option_info *o)
{
    const char *type = o->values[0] ? o->values : o->type;

    tool_printf("    %s  %s = %s  (%s", o->core ? "key   " : "option", o->name,
                o->value[0] ? o->value : "unset", type);
    if (!o->origin[0])
        tool_printf(", default)\n");
    else if (o->default_value[0])
        tool_printf(", from %s; default %s)\n", o->origin, o->default_value);
    else
        tool_printf(", from %s)\n", o->origin);
    if (o->description[0])
        tool_printf("            %s\n", o->description);
}

static int print_verbose(ferry_runtime *rt)
{
    const ferry_runtime_candidate_info *c;
    ferry_runtime_option_info o = { .struct_size = sizeof o };
    int options;

    for (int i = 0; i < ferry_runtime_candidate_count(rt); i++) {
        if (ferry_runtime_candidate_at(rt, i, &c) != FERRY_OK)
            return tool_ferry_error();
        tool_printf("%s%s: %s\n", i ? "\n" : "", c->name[0] ? c->name : "a folder",
                    c->ok ? "ok" : "not usable");
        tool_printf("    path    %s\n    origin  %s\n    stage   %s\n", c->path, c->origin,
                    c->stage);
        if (c->reason[0])
            tool_printf("    reason  %s\n", c->reason);
        if (c->hint[0])
            tool_printf("    hint    %s\n", c->hint);
        options = option_count(rt, c);
        for (int k = 0; k < options; k++)
            if (ferry_runtime_option_at(rt, c->name, k, &o) == FERRY_OK)
                print_option(&o);
    }
    return TOOL_OK;
}

int cmd_plugins(const struct tool_command *self, int argc, char **argv)
{
    bool json = false, verbose = false;
    const struct tool_option options[] = { { "--json", NULL, &json, NULL },
                                           { "--verbose", "-v", &verbose, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 0);
    ferry_runtime *rt = NULL;
    int count, status;

    if (n < 0)
        return tool_parse_status(n);
    if (ferry_runtime_open(NULL, &rt))
        return tool_ferry_error();
    /* opens each allowed plugin as far as possible; failures are in the report */
    if (ferry_runtime_enumerate(rt, &count))
        status = tool_ferry_error();
    else
        status = json ? print_json(rt) : verbose ? print_verbose(rt) : print_table(rt);
    ferry_runtime_close(rt);
    return status;
}
