/* SPDX-License-Identifier: BSD-2-Clause */
/* Extracts the layers of a net before a layer, or from it on. */
#include "net/proto/upgrade.h"

#include <ferry/proto_edit.h>

#include <stdlib.h>
#include <string.h>

static const ferry_proto *layer_at(const ferry_proto *net, int64_t i)
{
    return ferry_proto_message(net, "layer", i);
}

static bool is_named(const ferry_proto *layer, const char *name)
{
    return strcmp(ferry_proto_string(layer, "name", 0, NULL), name) == 0;
}

static int find(const ferry_proto *net, const char *name, int64_t *out)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        if (!is_named(layer_at(net, i), name))
            continue;
        *out = i;
        if (i > 0)
            return FERRY_OK;
        return ferry_proto_error(layer_at(net, i), "name", 0, FERRY_EINVAL,
                                 "\"%.100s\" is the first layer: no layer is before it", name);
    }
    return ferry_error_set(FERRY_EINVAL, "%.400s: no layer is named \"%.100s\"",
                           net->document->file, name);
}

/* ---- inputs --------------------------------------------------------------------------------- */

/* Whether one of the layers first … end − 1 makes the blob. */
static bool is_made(const ferry_proto *net, int64_t first, int64_t end, const char *blob)
{
    for (int64_t i = first; i < end; i++)
        for (int64_t k = 0; k < ferry_proto_value_count(layer_at(net, i), "top"); k++)
            if (strcmp(ferry_proto_string(layer_at(net, i), "top", k, NULL), blob) == 0)
                return true;
    return false;
}

static bool is_name_used(const ferry_proto *net, const char *name)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++)
        if (is_named(layer_at(net, i), name))
            return true;
    return false;
}

/*
 * Makes a name "input_BLOB", with more "input_" in front if a layer has that name; the caller frees
 * it.
 */
static char *name_for(const ferry_proto *net, const char *blob)
{
    static const char prefix[] = "input_";
    size_t step = sizeof(prefix) - 1, size = strlen(blob) + 1, n = 0;
    char *name = NULL;

    do {
        char *longer = realloc(name, ++n * step + size);

        if (!longer) {
            free(name);
            return NULL;
        }
        name = longer;
        memcpy(name + (n - 1) * step, prefix, step);
        memcpy(name + n * step, blob, size);
    } while (is_name_used(net, name));
    return name;
}

static int add_input(ferry_proto *net, const char *blob)
{
    char *name = name_for(net, blob);
    ferry_proto *layer = NULL, *param;
    int err = name ? ferry__proto_put_message(net, "layer", &layer)
                   : ferry_error_set(FERRY_ENOMEM, "out of memory");

    if (!err)
        err = ferry__proto_put_string(layer, "name", name);
    if (!err)
        err = ferry__proto_put_string(layer, "type", "Input");
    if (!err)
        err = ferry__proto_put_string(layer, "top", blob);
    if (!err)
        err = ferry__proto_put_message(layer, "input_param", &param);
    free(name);
    return err;
}

/*
 * Appends an Input layer for each blob that a layer before `first` makes and the part, the layers
 * first … end − 1, reads. A blob that the part makes again needs one if a layer reads it before.
 */
static int add_inputs(ferry_proto *net, int64_t first, int64_t end)
{
    int err = FERRY_OK;

    for (int64_t i = first; i < end && !err; i++)
        for (int64_t k = 0; k < ferry_proto_value_count(layer_at(net, i), "bottom") && !err; k++) {
            const char *blob = ferry_proto_string(layer_at(net, i), "bottom", k, NULL);
            int64_t now = ferry_proto_value_count(net, "layer");

            if (is_made(net, 0, first, blob) && !is_made(net, first, i, blob) &&
                !is_made(net, end, now, blob))
                err = add_input(net, blob);
        }
    return err;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static int append(ferry_proto *net, const struct ferry__proto_slot *from, int64_t first,
                  int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        struct ferry__proto_value *value =
            ferry__proto_append(net, from->field, from->name, FERRY__PROTO_MESSAGE);

        if (!value)
            return ferry__proto_no_memory(net->document);
        *value = from->values[i];
    }
    return FERRY_OK;
}

/* Keeps the added layers, which are those from `end` on, and then the layers first … end − 1. */
static int keep(ferry_proto *net, int64_t first, int64_t end, bool added)
{
    struct ferry__proto_slot old = *ferry__proto_slot_of(net, "layer");
    int err = FERRY_OK;

    ferry__proto_clear(net, "layer");
    if (added)
        err = append(net, &old, end, old.count);
    if (!err)
        err = append(net, &old, first, end);
    return err ? err : ferry__edit_prune(net);
}

int ferry_proto_keep_part(ferry_proto *net, const char *layer, ferry_proto_part part)
{
    int64_t at = 0, count;
    int err = ferry__edit_check(net, "ferry_proto_keep_part");

    if (err)
        return err;
    if (!layer || (part != FERRY_PROTO_BEFORE && part != FERRY_PROTO_FROM))
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_keep_part: %s",
                               layer ? "no such part" : "layer is NULL");
    err = find(net, layer, &at);
    if (err)
        return err;
    if (part == FERRY_PROTO_BEFORE)
        return keep(net, 0, at, false);
    count = ferry_proto_value_count(net, "layer");
    err = add_inputs(net, at, count);
    return err ? err : keep(net, at, count, true);
}
