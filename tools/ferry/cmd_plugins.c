/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <stdio.h>

/* `ferry plugins`: the load report. */

static json_t *json_candidate(const ferry_candidate *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "name", tool_json_string(c->name),
                     "path", tool_json_string(c->path), "origin", tool_json_string(c->origin),
                     "stage", tool_json_string(c->stage), "ok", c->ok != 0, "reason",
                     tool_json_string(c->reason), "hint", tool_json_string(c->hint));
}

static int print_json(ferry_runtime *rt)
{
    json_t *candidates = json_array();
    const ferry_candidate *c;

    for (int i = 0; ferry_runtime_candidate(rt, i, &c) == FERRY_OK; i++) {
        if (json_array_append_new(candidates, json_candidate(c)) != 0) {
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
    const ferry_candidate *c;
    int count = 0, status = TOOL_OK;

    for (; ferry_runtime_candidate(rt, count, &c) == FERRY_OK && status == TOOL_OK; count++) {
        /* A folder that could not be searched has no name. */
        const char *cells[] = { c->name[0] ? c->name : c->path, c->ok ? "ok" : "no", c->stage,
                                c->reason };

        if (!t || !tool_table_add(t, cells))
            status = tool_error(TOOL_FAILURE, "out of memory");
    }
    if (status == TOOL_OK && count == 0)
        puts("no plugin was found; FERRY_PLUGIN_PATH adds folders to look in");
    else if (status == TOOL_OK)
        tool_table_print(t, tool_width());
    tool_table_destroy(t);
    return status;
}

static int print_verbose(ferry_runtime *rt)
{
    const ferry_candidate *c;

    for (int i = 0; ferry_runtime_candidate(rt, i, &c) == FERRY_OK; i++) {
        printf("%s%s: %s\n", i ? "\n" : "", c->name[0] ? c->name : "a folder",
               c->ok ? "ok" : "not usable");
        printf("    path    %s\n    origin  %s\n    stage   %s\n", c->path, c->origin, c->stage);
        if (c->reason[0])
            printf("    reason  %s\n", c->reason);
        if (c->hint[0])
            printf("    hint    %s\n", c->hint);
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
    /* Brings each plugin that is allowed as far as it gets; what failed is in the report. */
    if (ferry_runtime_enumerate(rt, &count))
        status = tool_ferry_error();
    else
        status = json ? print_json(rt) : verbose ? print_verbose(rt) : print_table(rt);
    ferry_runtime_close(rt);
    return status;
}
