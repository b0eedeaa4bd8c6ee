/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads layer types from shared objects. */
#define _POSIX_C_SOURCE 200809L
#include <ferry/layer.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int load_one(ferry_runtime *rt, const char *path)
{
    const ferry_layer_library *library = NULL;
    const void *table = NULL;
    int i, err = ferry_runtime_load_library(rt, path, "ferry_layers", &table);

    if (err)
        return err;
    library = table;
    if (library->struct_size < sizeof *library || !library->types)
        return ferry_error_set(FERRY_EPLUGIN, "%.400s: its ferry_layers has no size, or no types",
                               path);
    for (i = 0; !err && library->types[i]; i++)
        err = ferry_layer_register(library->types[i]);
    return err;
}

/* Loads a list of files, separated by commas, which may be surrounded by spaces. */
static int load_list(ferry_runtime *rt, const char *list)
{
    char *copy = strdup(list), *rest = copy, *path;
    int err = copy ? 0 : ferry_error_set(FERRY_ENOMEM, "ferry_layer_library_load: no memory");

    while (!err && (path = strtok_r(rest, ",", &rest))) {
        char *end;

        path += strspn(path, " \t");
        for (end = path + strlen(path); end > path && (end[-1] == ' ' || end[-1] == '\t'); end--)
            ;
        *end = 0;
        if (*path)
            err = load_one(rt, path);
    }
    free(copy);
    return err;
}

int ferry_layer_library_load(ferry_runtime *rt, const char *path)
{
    if (!rt)
        return ferry_error_set(FERRY_EINVAL, "ferry_layer_library_load: the runtime is NULL");
    return path ? load_one(rt, path) : load_list(rt, ferry_runtime_layer_libraries(rt));
}
