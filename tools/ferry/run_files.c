/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "paths.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* Runs many pictures through a net: a batch at a time, one line of JSON per file. */

bool run_is_of_files(const struct run *run, const struct net_list *inputs, const char **out_spec)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const char *equals = strchr(inputs->at[i], '='), *path = equals ? equals + 1 : NULL;
        const char *suffix = path ? strrchr(path, '.') : NULL;

        if (path &&
            (run->batch || paths_is_folder(path) || (suffix && strcmp(suffix, ".txt") == 0))) {
            *out_spec = inputs->at[i];
            return true;
        }
    }
    return false;
}

/* ---- the output of a file -------------------------------------------------------------------- */

static int print_line(json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;

    json_decref(line);
    if (!text)
        return tool_error(TOOL_FAILURE, "out of memory");
    fprintf(tool_output(), "%s\n", text);
    free(text);
    return TOOL_OK;
}

static void tell_error(const char *path)
{
    print_line(json_pack("{s:o, s:o}", "file", tool_json_string(path), "error",
                         tool_json_string(ferry_last_error())));
}

static int tell_outputs(const struct run *run, ferry_net *net, const char *path, int64_t item,
                        int64_t n)
{
    json_t *outputs = json_array();
    struct run_view view;

    for (int i = 0; i < ferry_net_output_count(net); i++) {
        const ferry_blob *b = ferry_net_output_at(net, i);
        int status = b ? run_view_item(b, item, n, &view) : TOOL_OK;

        if (!b)
            continue;
        if (status != TOOL_OK) {
            json_decref(outputs);
            return status;
        }
        json_array_append_new(outputs, run_json_output(run, &view));
    }
    return print_line(json_pack("{s:o, s:o}", "file", tool_json_string(path), "outputs", outputs));
}

/* ---- batches --------------------------------------------------------------------------------- */

/*
 * Fills the input with as many of `paths` as fit. A file that is not a picture gets its line of
 * output here and no item; *out_taken counts the pictures, *out_used all files.
 */
static int fill(struct run *run, ferry_blob *input, char **paths, size_t count, size_t *taken,
                size_t *out_used, bool *bad)
{
    size_t n = 0, i;

    if (net_set_items(input, run->per))
        return tool_ferry_error();
    for (i = 0; i < count && n < (size_t)run->per; i++) {
        if (pictures_read(&run->pictures, paths[i], input, (int64_t)n) == FERRY_OK) {
            taken[n++] = i;
        } else {
            tell_error(paths[i]);
            *bad = true;
        }
    }
    *out_used = i;
    if (n > 0 && n < (size_t)run->per && net_set_items(input, (int64_t)n))
        return tool_ferry_error();
    taken[n] = SIZE_MAX;
    return TOOL_OK;
}

static int run_batch(const struct run *run, ferry_net *net, char **paths, const size_t *taken)
{
    int64_t n = 0;
    int status;

    while (taken[n] != SIZE_MAX)
        n++;
    if (n == 0)
        return TOOL_OK;
    status = net_is_fed(net);
    if (status == TOOL_OK && ferry_net_forward(net, NULL))
        status = tool_ferry_error();
    for (int64_t i = 0; status == TOOL_OK && i < n; i++)
        status = tell_outputs(run, net, paths[taken[i]], i, n);
    return status;
}

static int run_paths(struct run *run, ferry_net *net, ferry_blob *input, const struct paths *paths)
{
    size_t *taken = calloc((size_t)run->per + 1, sizeof(*taken)), done = 0, used = 0;
    struct progress progress = { .quiet = false };
    int status = taken ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
    bool bad = false;

    progress_begin(&progress, "computing", "pictures", paths->count);
    while (status == TOOL_OK && done < paths->count) {
        status = fill(run, input, paths->at + done, paths->count - done, taken, &used, &bad);
        if (status == TOOL_OK)
            status = run_batch(run, net, paths->at + done, taken);
        done += used;
        progress_step(&progress, used);
    }
    progress_end(&progress);
    free(taken);
    return status == TOOL_OK && bad ? TOOL_FAILURE : status;
}

int run_files(struct run *run, ferry_net *net, const char *spec)
{
    const char *equals = strchr(spec, '=');
    struct paths paths = { 0 };
    char name[512];
    ferry_blob *input;
    int status;

    snprintf(name, sizeof(name), "%.*s", (int)(equals - spec), spec);
    input = net_input(net, name, "--input");
    if (!input)
        return TOOL_FAILURE;
    status = paths_read(&paths, equals + 1);
    if (status == TOOL_OK)
        status = run_paths(run, net, input, &paths);
    paths_end(&paths);
    return status;
}
