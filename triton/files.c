/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "triton/backend.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    else
        ferry_error_set(FERRY_ENOMEM, "%.400s/%.100s: out of memory", folder, name);
    return path;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);

    return n > m && strcmp(name + n - m, suffix) == 0;
}

static bool is_definition(const char *name)
{
    return ends_in(name, ".prototxt");
}

static bool is_caffemodel(const char *name)
{
    return ends_in(name, ".caffemodel");
}

static bool is_onnx(const char *name)
{
    return ends_in(name, ".onnx");
}

static bool is_weights(const char *name)
{
    return is_caffemodel(name) || ends_in(name, ".h5") || ends_in(name, ".npz") ||
           ends_in(name, ".safetensors");
}

bool triton_file_has_weights(const char *path)
{
    return is_caffemodel(path) || is_onnx(path);
}

/* The one file of its kind into *out; NULL if there is none, FERRY_EINVAL if there are several. */
static int find_one(const char *folder, bool (*fits)(const char *name), const char *kind,
                    const char *key, char **out)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int err = FERRY_OK;

    *out = NULL;
    if (!d)
        return ferry_error_set(FERRY_EIO, "%.700s: %s", folder, strerror(errno));
    while (!err && (e = readdir(d))) {
        if (e->d_name[0] == '.' || !fits(e->d_name))
            continue;
        if (*out)
            err =
                ferry_error_set(FERRY_EINVAL,
                                "%.600s has several files of %s: the configuration names one with "
                                "%s",
                                folder, kind, key);
        else if (!(*out = join(folder, e->d_name)))
            err = FERRY_ENOMEM;
    }
    closedir(d);
    if (err) {
        free(*out);
        *out = NULL;
    }
    return err;
}

/* A file that the configuration names: in the version's folder, not elsewhere. */
static int take_named(const char *folder, const char *name, const char *key, char **out)
{
    if (!*name || strchr(name, '/') || strcmp(name, "..") == 0)
        return ferry_error_set(FERRY_EINVAL, "%s \"%.200s\": the name of a file in %.400s", key,
                               name, folder);
    *out = join(folder, name);
    if (!*out)
        return FERRY_ENOMEM;
    if (access(*out, R_OK) == 0)
        return FERRY_OK;
    free(*out);
    *out = NULL;
    return ferry_error_set(FERRY_EIO, "%s \"%.200s\": %.400s: %s", key, name, folder,
                           strerror(errno));
}

/* The name net.prototxt is the definition's even where others are beside it. */
static int find_net(const char *folder, const struct triton_config *c, char **out)
{
    int err;

    if (c->net_file)
        return take_named(folder, c->net_file, "default_model_filename", out);
    *out = join(folder, "net.prototxt");
    if (!*out)
        return FERRY_ENOMEM;
    if (access(*out, F_OK) == 0)
        return FERRY_OK;
    free(*out);
    err = find_one(folder, is_definition, "definitions (.prototxt)", "default_model_filename", out);
    if (err || *out)
        return err;
    err = find_one(folder, is_onnx, "models (.onnx)", "default_model_filename", out);
    if (err || *out)
        return err;
    err = find_one(folder, is_caffemodel, "weights (.caffemodel)", "default_model_filename", out);
    if (err || *out)
        return err;
    return ferry_error_set(FERRY_EIO, "%.700s: there is no .prototxt, .onnx or .caffemodel",
                           folder);
}

int triton_files_find(const char *folder, const struct triton_config *c, char **out_net,
                      char **out_weights)
{
    char *net = NULL, *weights = NULL;
    int err = find_net(folder, c, &net);

    if (err)
        return err;
    if (c->weights)
        err = take_named(folder, c->weights, "parameter weights", &weights);
    else if (!triton_file_has_weights(net))
        err = find_one(folder, is_weights, "weights", "parameter weights", &weights);
    if (err) {
        free(net);
        return err;
    }
    *out_net = net;
    *out_weights = weights;
    return FERRY_OK;
}
