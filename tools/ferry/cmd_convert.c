/* SPDX-License-Identifier: BSD-2-Clause */
#include "convert_model.h"
#include "transfer.h"

#include <stdlib.h>

/* `ferry convert`: copies the arrays of one file into another, of any format. */

static int convert(struct transfer *t)
{
    ferry_runtime *rt = NULL;
    int status;

    if ((!t->any_dtype &&
         (ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &t->device))) ||
        transfer_take_all(t))
        status = tool_ferry_error();
    else
        status = transfer_run(t);
    free(t->items);
    ferry_runtime_close(rt);
    return status;
}

int cmd_convert(const struct tool_command *self, int argc, char **argv)
{
    struct transfer t = { .whole = true };
    const char *dtype = NULL;
    bool trust = false;
    const struct tool_option options[] = { { "--format", "-f", NULL, &t.target.format_name },
                                           { "--dtype", NULL, NULL, &dtype },
                                           { "--shard", NULL, NULL, &t.target.shard },
                                           { "--layout", NULL, NULL, &t.target.layout_name },
                                           { "--no-diff", NULL, &t.without_diff, NULL },
                                           { "--quiet", "-q", &t.target.quiet, NULL },
                                           { "--trust", NULL, &trust, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 3);
    int status;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 2)
        return tool_error(TOOL_USAGE, "convert: missing files; usage: ferry %s %s", self->name,
                          self->arguments);
    if (n == 3)
        return convert_model(self, argv[0], argv[1], argv[2]);
    t.target.path = argv[1];
    t.any_dtype = dtype == NULL;
    status = target_check(self, &t.target);
    if (status == TOOL_OK)
        status = target_format(self, &t.target, FERRY_IO_UNKNOWN);
    if (status == TOOL_OK)
        status = target_layout(self, &t.target);
    if (status == TOOL_OK && dtype)
        status = files_parse_dtype(self, dtype, &t.dtype);
    if (status != TOOL_OK)
        return status;
    if (files_open(argv[0], trust, &t.in))
        return tool_ferry_error();
    status = convert(&t);
    ferry_io_close(t.in);
    return status;
}
