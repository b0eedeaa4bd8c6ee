/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "lines.h"
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Runs many pictures through a net: a batch at a time, one line of JSON per file. */

struct paths {
    char **at;
    size_t count, room;
};

/* ---- the list of files ----------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bool run_is_of_files(const struct run *run, const struct net_list *inputs, const char **out_spec)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const char *equals = strchr(inputs->at[i], '='), *path = equals ? equals + 1 : NULL;
        const char *suffix = path ? strrchr(path, '.') : NULL;

        if (path && (run->batch || is_folder(path) || (suffix && strcmp(suffix, ".txt") == 0))) {
            *out_spec = inputs->at[i];
            return true;
        }
    }
    return false;
}

static int add(struct paths *paths, char *path)
{
    if (path && paths->count == paths->room) {
        size_t room = paths->room ? 2 * paths->room : 64;
        char **grown = realloc(paths->at, room * sizeof(*grown));

        if (grown) {
            paths->at = grown;
            paths->room = room;
        }
    }
    if (!path || paths->count == paths->room) {
        free(path);
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    paths->at[paths->count++] = path;
    return TOOL_OK;
}

static char *joined(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_picture(const char *name)
{
    static const char *const suffixes[] = { ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG" };
    const char *suffix = strrchr(name, '.');

    for (size_t i = 0; suffix && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (strcmp(suffix, suffixes[i]) == 0)
            return true;
    return false;
}

/* The pictures of a folder, sorted by name. */
static int list_folder(const char *folder, struct paths *out)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int status = TOOL_OK;

    if (!dir)
        return tool_error(TOOL_FAILURE, "%s: %s", folder, strerror(errno));
    while (status == TOOL_OK && (entry = readdir(dir)))
        if (is_picture(entry->d_name))
            status = add(out, joined(folder, entry->d_name));
    closedir(dir);
    if (out->count)
        qsort(out->at, out->count, sizeof(*out->at), compare_paths);
    return status;
}

/* Adds the path of a line; the label after it in an ImageData list is ignored. */
static int add_line(void *paths, char *line)
{
    size_t length = strlen(line);
    char *space;

    while (length && strchr(" \t", line[length - 1]))
        line[--length] = '\0';
    space = strrchr(line, ' ');
    if (space && space[1] && space[1 + strspn(space + 1, "-0123456789.")] == '\0')
        *space = '\0';
    return *line ? add(paths, strdup(line)) : TOOL_OK;
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

/* Reshapes the input to that many items; its other axes are unchanged. */
static int give_items(ferry_blob *input, int64_t items)
{
    int64_t shape[FERRY_MAX_AXES];
    int rank = ferry_blob_rank(input);

    if (rank < 1)
        return ferry_error_set(FERRY_ESHAPE, "\"%s\" lacks an axis of items",
                               ferry_blob_name(input));
    memcpy(shape, ferry_blob_shape(input), (size_t)rank * sizeof(*shape));
    shape[0] = items;
    return ferry_blob_reshape(input, shape, rank, NULL);
}

/*
 * Fills the input from `paths`, as many as fit or remain. A file that is not a picture gets its
 * line of output here and no item; *out_taken counts the others, *out_used all.
 */
static int fill(struct run *run, ferry_blob *input, char **paths, size_t count, size_t *taken,
                size_t *out_used, bool *bad)
{
    size_t n = 0, i;

    if (give_items(input, run->per))
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
    if (n > 0 && n < (size_t)run->per && give_items(input, (int64_t)n))
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
    input = net_input(net, name);
    if (!input)
        return TOOL_FAILURE;
    status = is_folder(equals + 1) ? list_folder(equals + 1, &paths)
                                   : lines_read(equals + 1, add_line, &paths);
    if (status == TOOL_OK && paths.count == 0)
        status = tool_error(TOOL_FAILURE, "%s: lists no pictures", equals + 1);
    if (status == TOOL_OK)
        status = run_paths(run, net, input, &paths);
    for (size_t i = 0; i < paths.count; i++)
        free(paths.at[i]);
    free(paths.at);
    return status;
}
