/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/model/arrays.h"

#include "net/model/narrow.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

enum { NO_ARRAYS = -1, OTHER_NUMBER = -2 };

int ferry__load_no_memory(const char *path)
{
    return ferry_error_set(FERRY_ENOMEM, "%s: no memory", path);
}

/*
 * Splits "LAYER/i"; a layer's name may contain slashes. Returns 1, 0 for a name of another form,
 * FERRY_ENOMEM.
 */
static int split_name(const ferry_io_entry *entry, struct ferry__array *out)
{
    const char *slash = strrchr(entry->name, '/');
    char *end;
    long number;

    if (!slash || slash == entry->name)
        return 0;
    number = strtol(slash + 1, &end, 10);
    if (end == slash + 1 || *end || number < 0 || number > 1000000)
        return 0;
    out->layer = strndup(entry->name, (size_t)(slash - entry->name));
    if (!out->layer)
        return FERRY_ENOMEM;
    out->number = (int)number;
    out->entry = entry;
    return 1;
}

/* Adds the array at `count` to its layer's. */
static int add(struct ferry__arrays *a)
{
    struct ferry__array *array = &a->array[a->count];
    int first = ferry__names_get(&a->layers, array->layer);

    array->next = -1;
    array->last = a->count;
    if (first >= 0) {
        a->array[a->array[first].last].next = a->count;
        a->array[first].last = a->count;
    }
    a->count++;
    return first >= 0 ? 0 : ferry__names_set(&a->layers, array->layer, a->count - 1, false);
}

static int list(struct ferry__arrays *a)
{
    int64_t n, i;
    int err = ferry_io_open(a->path, &a->io), is_one;

    if (err)
        return err;
    n = ferry_io_entry_count(a->io);
    a->array = calloc((size_t)n + 1, sizeof *a->array);
    if (!a->array)
        return ferry__load_no_memory(a->path);
    for (i = 0; i < n; i++) {
        const ferry_io_entry *entry;

        err = ferry_io_entry_at(a->io, i, &entry);
        if (err)
            return err;
        is_one = split_name(entry, &a->array[a->count]);
        if (is_one < 0 || (is_one && add(a)))
            return ferry__load_no_memory(a->path);
    }
    return 0;
}

/* ---- layers of one name ---------------------------------------------------------------------- */

/* Whether array i begins another layer of the name of `first`. */
static bool begins(const struct ferry__arrays *a, int first, int i)
{
    return i != first && a->array[i].number == 0 && a->array[first].number == 0;
}

/* The first array of the next layer of the same name, or −1. */
static int next_start(const struct ferry__arrays *a, int start)
{
    int i = a->array[start].next;

    while (i >= 0 && !begins(a, start, i))
        i = a->array[i].next;
    return i;
}

/* Counts the layers of the file that begin with array `first`, and finds the last. */
static void count_sets(struct ferry__arrays *a, int first)
{
    struct ferry__array *f = &a->array[first];
    int i;

    f->begin = f->last_begin = first;
    f->layers = 1;
    for (i = next_start(a, first); i >= 0; i = next_start(a, i)) {
        f->last_begin = i;
        f->layers++;
    }
}

/* The first array for the next layer of the net whose name is that of array `first`. */
static int take(struct ferry__arrays *a, int first)
{
    struct ferry__array *f = &a->array[first];
    int begin = f->begin;

    if (f->layers == 1)
        return first;
    if (f->takers == 1)
        return f->last_begin;
    if (f->layers != f->takers)
        return OTHER_NUMBER;
    f->begin = next_start(a, begin);
    return begin;
}

static int assign(struct ferry__arrays *a, const ferry_net *net)
{
    int i, first;

    a->start = malloc(((size_t)net->n_layers + 1) * sizeof *a->start);
    if (!a->start)
        return ferry__load_no_memory(a->path);
    for (i = 0; i < net->n_layers; i++) {
        first = net->layers[i].n_params ? ferry__names_get(&a->layers, net->layers[i].name) : -1;
        a->start[i] = first;
        if (first >= 0 && a->array[first].takers++ == 0)
            count_sets(a, first);
    }
    for (i = 0; i < net->n_layers; i++)
        a->start[i] = a->start[i] < 0 ? NO_ARRAYS : take(a, a->start[i]);
    return 0;
}

int ferry__arrays_open(struct ferry__arrays *a, const ferry_net *net, const char *path)
{
    int err;

    a->path = path;
    err = list(a);
    return err ? err : assign(a, net);
}

void ferry__arrays_end(struct ferry__arrays *a)
{
    int i;

    for (i = 0; i < a->count; i++) {
        ferry_blob_destroy(a->array[i].blob);
        ferry__narrow_destroy(&a->array[i].narrow);
        free(a->array[i].layer);
    }
    free(a->array);
    free(a->start);
    ferry__names_end(&a->layers);
}

/* ---- arrays of a layer ----------------------------------------------------------------------- */

struct ferry__array *ferry__arrays_find(const struct ferry__arrays *a, const ferry_layer *layer,
                                        int number)
{
    int start = a->start[layer->index], i;

    for (i = start; i >= 0 && !begins(a, start, i); i = a->array[i].next)
        if (a->array[i].number == number)
            return &a->array[i];
    return NULL;
}

int ferry__arrays_of(const struct ferry__arrays *a, const ferry_layer *layer, int *out_count)
{
    int start = a->start[layer->index], i;
    const struct ferry__array *f;

    *out_count = 0;
    for (i = start; i >= 0 && !begins(a, start, i); i = a->array[i].next)
        ++*out_count;
    if (start != OTHER_NUMBER)
        return 0;
    f = &a->array[ferry__names_get(&a->layers, layer->name)];
    return ferry_error_set(FERRY_ESHAPE,
                           "%s: %d layers with the name \"%s\" have blobs, the net has %d of them",
                           a->path, f->layers, layer->name, f->takers);
}

int ferry__arrays_count(const struct ferry__arrays *a, const char *layer)
{
    int i = ferry__names_get(&a->layers, layer), n = 0;

    for (; i >= 0; i = a->array[i].next)
        n++;
    return n;
}
