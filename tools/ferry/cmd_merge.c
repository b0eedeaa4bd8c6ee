/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* `ferry merge`: computes a weighted sum of checkpoints. */

/* ---- the merge ------------------------------------------------------------------------------ */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Whether an array is long enough for more than one worker. */
static bool is_divided(ferry_io *io)
{
    const ferry_io_entry *entry = NULL;

    for (int64_t i = 0; i < ferry_io_entry_count(io); i++)
        if (ferry_io_entry_at(io, i, &entry) == FERRY_OK && entry->count > MERGE_UNDIVIDED)
            return true;
    return false;
}

/*
 * Opens an input for each worker. Only the first open checks the file. The other workers open the
 * same file, which is trusted because it was checked. A worker has no file of its own if it would
 * have no work, or if the path leads to another file by now.
 */
static int open_input(struct merge *m, struct merge_input *input)
{
    struct stat before, after;
    int opened = stat(input->path, &before) == 0 ? 1 : 0;

    if (files_open(input->path, m->trust, &input->io[0]))
        return tool_ferry_error();
    if (!is_divided(input->io[0]))
        opened = 0;
    while (opened > 0 && opened < m->workers &&
           files_open(input->path, true, &input->io[opened]) == 0)
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

static int declare_all(struct merge *m)
{
    int err = FERRY_OK;

    for (int64_t i = 0; i < m->array_count && !err; i++) {
        ferry_io_entry entry = *m->arrays[i].entry;

        entry.struct_size = sizeof(entry);
        entry.has_diff = 0;
        if (entry.dtype != m->arrays[i].dtype || !m->arrays[i].copied)
            entry.storage = NULL;
        entry.dtype = m->arrays[i].dtype;
        m->bytes += (uint64_t)entry.count * ferry_dtype_size(entry.dtype);
        err = target_declare(&m->target, &entry);
    }
    return err;
}

static int write_array(struct merge *m, const struct merge_array *array)
{
    return array->copied && array->dtype == array->entry->dtype
               ? files_copy(m->inputs[array->from].io[0], array->entry, false, &m->target, m->tile,
                            &m->progress)
               : merge_sum(m, array);
}

static int write_all(struct merge *m)
{
    ferry_io *first = m->inputs[0].io[0];
    bool whole = m->array_count == ferry_io_entry_count(first);
    int err = files_copy_metadata(first, &m->target, whole);

    if (!err)
        err = target_set_layout(&m->target, ferry_io_get_format(first) == FERRY_IO_CAFFEMODEL);
    if (!err)
        err = declare_all(m);
    if (!err)
        err = target_copy_attributes(&m->target, first);
    if (err)
        return err;
    progress_begin(&m->progress, "merging", NULL, m->bytes);
    for (int64_t i = 0; i < m->array_count && !err; i++)
        err = write_array(m, &m->arrays[i]);
    progress_end(&m->progress);
    return err;
}

static int write_file(struct merge *m)
{
    int err;

    m->tile = malloc(FILES_PIECE);
    if (!m->tile)
        return tool_error(TOOL_FAILURE, "out of memory");
    m->progress.quiet = m->target.quiet;
    catch_interrupts();
    err = target_open(&m->target);
    if (!err)
        err = write_all(m);
    err = target_finish(&m->target, err);
    die_if_interrupted();
    return err ? tool_ferry_error() : TOOL_OK;
}

/* ---- output --------------------------------------------------------------------------------- */

static int64_t copied_count(const struct merge *m)
{
    int64_t n = 0;

    for (int64_t i = 0; i < m->array_count; i++)
        n += m->arrays[i].copied;
    return n;
}

static json_t *weights_json(const struct merge *m, const double *of)
{
    json_t *list = json_array();

    for (int i = 0; i < m->count; i++)
        json_array_append_new(list, json_real(of[i]));
    return list;
}

/* Prints the files, then the base, and the weights in the same order. */
static int print_json(const struct merge *m, double seconds)
{
    const struct merge_weights *w = m->weights;
    json_t *files = json_array(), *globs = json_array();

    for (int i = 0; i < m->count; i++)
        json_array_append_new(files, tool_json_string(m->inputs[i].path));
    for (; w->glob; w++)
        json_array_append_new(globs, json_pack("{s:o, s:o}", "glob", tool_json_string(w->glob),
                                               "weights", weights_json(m, w->of)));
    return tool_json_print(json_pack(
        "{s:o, s:s, s:s, s:o, s:b, s:o, s:o, s:I, s:I, s:I, s:f}", "file",
        tool_json_string(m->target.path), "format", ferry_io_format_name(m->target.format),
        "device", ferry_device_name(m->device), "inputs", files, "base", m->has_base, "weights",
        weights_json(m, w->of), "globs", globs, "arrays", (json_int_t)m->array_count, "copied",
        (json_int_t)copied_count(m), "bytes", (json_int_t)m->bytes, "seconds", seconds));
}

static int print_summary(const struct merge *m, double seconds)
{
    char bytes[32];

    tool_print(m->target.path);
    tool_printf(": %" PRId64 " array%s of %d file%s, %" PRId64 " copied, %s in %.1f s\n",
                m->array_count, m->array_count == 1 ? "" : "s", m->count, m->count == 1 ? "" : "s",
                copied_count(m), tool_bytes(m->bytes, bytes, sizeof(bytes)), seconds);
    return TOOL_OK;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int merge(const struct tool_command *self, struct merge *m, bool json)
{
    ferry_runtime *rt = NULL;
    double begin = now();
    int status = open_inputs(m);

    if (status == TOOL_OK)
        status = target_format(self, &m->target, ferry_io_get_format(m->inputs[0].io[0]));
    if (status == TOOL_OK)
        status = merge_plan(m);
    if (status != TOOL_OK)
        return status;
    if (ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &m->device))
        status = tool_ferry_error();
    else
        status = write_file(m);
    if (status == TOOL_OK && json)
        status = print_json(m, now() - begin);
    else if (status == TOOL_OK && !m->target.quiet && strcmp(m->target.path, "-") != 0)
        status = print_summary(m, now() - begin);
    ferry_runtime_close(rt);
    return status;
}

static void close_all(struct merge *m)
{
    for (int i = 0; i < m->count; i++)
        for (int worker = 0; worker < MERGE_WORKERS; worker++)
            ferry_io_close(m->inputs[i].io[worker]);
    merge_free_weights(m);
    free(m->inputs);
    free(m->arrays);
    free(m->tile);
}

static int take_inputs(struct merge *m, int n, char **paths, const char *base)
{
    m->inputs = calloc((size_t)n + 1, sizeof(*m->inputs));
    if (!m->inputs)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int i = 0; i < n; i++)
        m->inputs[i].path = paths[i];
    m->inputs[n].path = base;
    m->has_base = base != NULL;
    m->count = n + m->has_base;
    return TOOL_OK;
}

int cmd_merge(const struct tool_command *self, int argc, char **argv)
{
    struct merge m = { .any_dtype = true };
    const char *weights = NULL, *base = NULL, *dtype = NULL;
    bool json = false;
    const struct tool_option options[] = { { "--output", "-o", NULL, &m.target.path },
                                           { "--weights", "-w", NULL, &weights },
                                           { "--base", NULL, NULL, &base },
                                           { "--format", "-f", NULL, &m.target.format_name },
                                           { "--dtype", NULL, NULL, &dtype },
                                           { "--shard", NULL, NULL, &m.target.shard },
                                           { "--allow-missing", NULL, &m.allow_missing, NULL },
                                           { "--no-diff", NULL, &m.without_diff, NULL },
                                           { "--json", NULL, &json, NULL },
                                           { "--quiet", "-q", &m.target.quiet, NULL },
                                           { "--trust", NULL, &m.trust, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 10000);
    int status;

    if (n < 0)
        return tool_parse_status(n);
    if (n == 0 || !m.target.path)
        return tool_error(TOOL_USAGE, "merge: missing %s; usage: ferry %s %s",
                          m.target.path ? "files" : "-o OUT", self->name, self->arguments);
    if (json && strcmp(m.target.path, "-") == 0)
        return tool_error(TOOL_USAGE, "merge: --json and the result cannot both go to standard "
                                      "output");
    m.any_dtype = dtype == NULL;
    status = dtype ? files_parse_dtype(self, dtype, &m.dtype) : TOOL_OK;
    if (status == TOOL_OK)
        status = target_check(self, &m.target);
    if (status == TOOL_OK)
        status = take_inputs(&m, n, argv, base);
    if (status == TOOL_OK)
        status = merge_parse_weights(&m, weights);
    if (status == TOOL_OK)
        status = merge(self, &m, json);
    close_all(&m);
    return status;
}
