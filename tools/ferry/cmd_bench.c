/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include "bench.h"

/*
 * `ferry bench`: measures the selected device. bench/ has the suites and the functions that
 * measure.
 */

static int measure(struct bench *b, ferry_runtime *rt, bool json)
{
    if (ferry_runtime_get_device(rt, NULL, &b->device))
        return tool_ferry_error();
    bench_blob(b);
    bench_of_device(b);
    tool_output_return();
    bench_print(b, json);
    return TOOL_OK;
}

int cmd_bench(const struct tool_command *self, int argc, char **argv)
{
    static struct bench b;
    bool json = false;
    const struct tool_option options[] = { { "--json", NULL, &json, NULL },
                                           { "--quick", NULL, &b.quick, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 0);
    ferry_runtime *rt = NULL;
    int status;

    if (n < 0)
        return tool_parse_status(n);
    bench_start(&b); /* comes first, because it forks children, which must not inherit an open
                      * runtime */
    if (ferry_runtime_open(NULL, &rt))
        return tool_ferry_error();
    status = measure(&b, rt, json);
    ferry_runtime_close(rt);
    return status;
}
