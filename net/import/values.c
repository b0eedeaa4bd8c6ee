/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors about the current node, and the values of the graph. */
#include "net/import/build.h"

#include <ferry/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the node's own words ------------------------------------------------------------------- */

const char *ferry__import_operator(const struct ferry__import *im)
{
    const char *type = ferry_proto_string(im->node, "op_type", 0, NULL);

    return *type ? type : "Input";
}

int ferry__import_input_count(const struct ferry__import *im)
{
    return (int)ferry_proto_value_count(im->node, "input");
}

int ferry__import_output_count(const struct ferry__import *im)
{
    return (int)ferry_proto_value_count(im->node, "output");
}

/* ---- errors --------------------------------------------------------------------------------- */

void ferry__import_fail(struct ferry__import *im, int code, const char *fmt, ...)
{
    const char *name = im->node ? ferry_proto_string(im->node, "name", 0, NULL) : "";
    char words[400];
    va_list args;

    if (im->err)
        return;
    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    if (!*name && ferry__import_output_count(im))
        name = ferry_proto_string(im->node, "output", 0, NULL);
    if (im->node)
        im->err = ferry_error_set(code, "%.300s: node \"%.150s\" (%.60s): %s", im->file->path, name,
                                  ferry__import_operator(im), words);
    else
        im->err = ferry_error_set(code, "%.300s: %s", im->file->path, words);
}

void ferry__import_no_memory(struct ferry__import *im)
{
    ferry__import_fail(im, FERRY_ENOMEM, "no memory, or more than the limit of 1 GiB");
}

struct ferry__import_value ferry__import_no_value;

bool ferry__import_grow(struct ferry__import *im, void *array, int count, int *room, size_t size)
{
    int more = *room ? 2 * *room : 16;
    void *now, *old;

    memcpy(&old, array, sizeof old);
    if (im->err || count < *room)
        return !im->err;
    now = realloc(old, (size_t)more * size);
    if (!now) {
        ferry__import_no_memory(im);
        return false;
    }
    memcpy(array, &now, sizeof now);
    *room = more;
    return true;
}

static char *keep(struct ferry__import *im, const char *text)
{
    char *out = im->err ? NULL : ferry__mem_copy(&im->arena, text, strlen(text));

    if (!out)
        ferry__import_no_memory(im);
    return out;
}

/* ---- values --------------------------------------------------------------------------------- */

struct ferry__import_value *ferry__import_value_create(struct ferry__import *im)
{
    struct ferry__import_value *x = im->err ? NULL : ferry__mem_alloc(&im->arena, sizeof *x);

    if (!x)
        ferry__import_no_memory(im);
    return x ? x : &ferry__import_no_value;
}

struct ferry__import_value *ferry__import_value_named(struct ferry__import *im, const char *name)
{
    int i = im->err ? -1 : ferry__names_get(&im->names, name);
    struct ferry__import_value *x;

    if (i >= 0)
        return im->values[i];
    x = ferry__import_value_create(im);
    if (!im->err)
        x->name = keep(im, name);
    if (!ferry__import_grow(im, &im->values, im->n_values, &im->room_values,
                            sizeof(struct ferry__import_value *)))
        return &ferry__import_no_value;
    if (ferry__names_set(&im->names, x->name, im->n_values, false) ||
        ferry__names_set(&im->blob_names, x->name, 0, false)) {
        ferry__import_no_memory(im);
        return &ferry__import_no_value;
    }
    im->values[im->n_values++] = x;
    return x;
}
