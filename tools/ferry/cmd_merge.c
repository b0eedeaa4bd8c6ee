/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "merge.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

/* `ferry merge`: a weighted sum of checkpoints. */

/* ---- arguments ------------------------------------------------------------------------------ */

static int bad_weights(const char *text, int inputs)
{
    return tool_error(TOOL_USAGE,
                      "merge: --weights \"%s\": %d numbers, separated by commas, belong "
                      "here",
                      text, inputs);
}

/* "0.5,0.25,0.25", one for each file but the base. */
static int parse_weights(const char *text, struct merge_input *inputs, int n)
{
    const char *at = text;

    for (int i = 0; i < n; i++) {
        char *end;

        inputs[i].weight = strtod(at, &end);
        if (end != at && !isfinite(inputs[i].weight))
            return tool_error(TOOL_USAGE, "merge: --weights \"%s\": %.*s is not finite", text,
                              (int)(end - at), at);
        if (end == at || *end != (i + 1 < n ? ',' : '\0'))
            return bad_weights(text, n);
        at = end + 1;
    }
    return TOOL_OK;
}

/* Without --weights: the mean; with a base each difference is added whole. */
static int set_weights(struct merge *m, const char *weights, const char *base)
{
    int n = m->count - (base != NULL);
    double rest = 1;
    int status;

    for (int i = 0; i < n; i++)
        m->inputs[i].weight = base ? 1 : 1.0 / n;
    if (weights) {
        status = parse_weights(weights, m->inputs, n);
        if (status != TOOL_OK)
            return status;
    }
    for (int i = 0; i < n; i++)
        rest -= m->inputs[i].weight;
    if (base)
        m->inputs[n].weight = rest;
    return TOOL_OK;
}

/* ---- the merge ------------------------------------------------------------------------------ */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* For the first worker. The others do without where they cannot have the very same file. */
static int open_input(struct merge *m, struct merge_input *input)
{
    struct stat before, after;
    int opened = stat(input->path, &before) == 0 ? 1 : 0;

    if (files_open(input->path, m->trust, &input->io[0]))
        return tool_ferry_error();
    while (opened > 0 && opened < m->workers &&
           files_open(input->path, m->trust, &input->io[opened]) == 0)
        opened++;
    if (stat(input->path, &after) != 0 || opened == 0 || !same_file(&before, &after))
        opened = 1;
    m->workers = opened;
    return TOOL_OK;
}

static int open_inputs(struct merge *m)
{
    int status = TOOL_OK;

    m->workers = MERGE_WORKERS;
    for (int i = 0; i < m->count && status == TOOL_OK; i++)
        status = open_input(m, &m->inputs[i]);
    return status;
}

static int declare_all(struct merge *m, uint64_t *out_total)
{
    uint64_t total = 0;
    int err = FERRY_OK;

    for (int64_t i = 0; i < m->array_count && !err; i++) {
        ferry_io_entry entry = *m->arrays[i].entry;

        entry.struct_size = sizeof(entry);
        entry.has_diff = 0;
        total += (uint64_t)entry.count * ferry_dtype_size(entry.dtype);
        err = ferry_io_declare(m->out, &entry);
    }
    *out_total = total;
    return err;
}

static int write_all(struct merge *m)
{
    uint64_t total = 0;
    int err = files_copy_metadata(m->inputs[0].io[0], m->out);

    if (!err)
        err = declare_all(m, &total);
    if (err)
        return err;
    files_progress_begin(&m->progress, "merging", total);
    for (int64_t i = 0; i < m->array_count && !err; i++) {
        const struct merge_array *array = &m->arrays[i];

        err = array->copied ? files_copy(m->inputs[array->from].io[0], array->entry, false, m->out,
                                         m->tile, &m->progress)
                            : merge_sum(m, array);
    }
    files_progress_end(&m->progress);
    return err;
}

static int write_file(struct merge *m, const char *path, ferry_io_format format)
{
    int err;

    m->tile = malloc(FILES_PIECE);
    if (!m->tile)
        return tool_error(TOOL_FAILURE, "out of memory");
    files_catch_interrupts();
    err = ferry_io_create(path, format, &m->out);
    if (!err) {
        err = write_all(m);
        if (err)
            ferry_io_abort(m->out);
        else
            err = ferry_io_commit(m->out);
    }
    files_die_if_interrupted();
    return err ? tool_ferry_error() : TOOL_OK;
}

static int merge(const struct tool_command *self, struct merge *m, const char *path,
                 const char *format_name)
{
    ferry_io_format format;
    ferry_runtime *rt = NULL;
    int status = open_inputs(m);

    if (status == TOOL_OK)
        status =
            files_format(self, path, format_name, ferry_io_get_format(m->inputs[0].io[0]), &format);
    if (status == TOOL_OK)
        status = merge_plan(m);
    if (status != TOOL_OK)
        return status;
    if (ferry_runtime_open(NULL, &rt) || ferry_runtime_device(rt, NULL, &m->device))
        status = tool_ferry_error();
    else
        status = write_file(m, path, format);
    ferry_runtime_close(rt);
    return status;
}

static void close_all(struct merge *m)
{
    for (int i = 0; i < m->count; i++)
        for (int worker = 0; worker < MERGE_WORKERS; worker++)
            ferry_io_close(m->inputs[i].io[worker]);
    free(m->inputs);
    free(m->arrays);
    free(m->tile);
}

int cmd_merge(const struct tool_command *self, int argc, char **argv)
{
    struct merge m = { .inputs = NULL };
    const char *path = NULL, *weights = NULL, *base = NULL, *format = NULL;
    const struct tool_option options[] = { { "--output", "-o", NULL, &path },
                                           { "--weights", "-w", NULL, &weights },
                                           { "--base", NULL, NULL, &base },
                                           { "--format", "-f", NULL, &format },
                                           { "--allow-missing", NULL, &m.allow_missing, NULL },
                                           { "--no-diff", NULL, &m.without_diff, NULL },
                                           { "--trust", NULL, &m.trust, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 10000);
    int status;

    if (n < 0)
        return tool_parse_status(n);
    if (n == 0 || !path)
        return tool_error(TOOL_USAGE, "merge: %s? usage: ferry %s %s",
                          path ? "which files" : "where to", self->name, self->arguments);
    m.inputs = calloc((size_t)n + 1, sizeof(*m.inputs));
    if (!m.inputs)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; i < n; i++)
        m.inputs[i].path = argv[i];
    m.inputs[n].path = base;
    m.count = n + (base != NULL);
    status = set_weights(&m, weights, base);
    if (status == TOOL_OK)
        status = merge(self, &m, path, format);
    close_all(&m);
    return status;
}
