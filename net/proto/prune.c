/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of blobs after an edit of a net's layers. */
#include "net/proto/upgrade.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

bool ferry__edit_has_layer(const ferry_proto *net, const char *field, const char *value)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        for (int64_t k = 0; k < ferry_proto_value_count(layer, field); k++)
            if (strcmp(ferry_proto_string(layer, field, k, NULL), value) == 0)
                return true;
    }
    return false;
}

/* The values of a field of all layers, in alphabetical order. */
struct sorted {
    const char **at;
    size_t count;
};

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int sort(const ferry_proto *net, const char *field, struct sorted *out)
{
    size_t count = 0;

    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++)
        count += (size_t)ferry_proto_value_count(ferry_proto_message(net, "layer", i), field);
    *out = (struct sorted){ .at = malloc((count + 1) * sizeof *out->at) };
    if (!out->at)
        return ferry_error_set(FERRY_ENOMEM, "no memory for the names of a net");
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        for (int64_t k = 0; k < ferry_proto_value_count(layer, field); k++)
            out->at[out->count++] = ferry_proto_string(layer, field, k, NULL);
    }
    qsort(out->at, out->count, sizeof *out->at, compare);
    return FERRY_OK;
}

static bool has(const struct sorted *s, const char *value)
{
    return bsearch(&value, s->at, s->count, sizeof *s->at, compare) != NULL;
}

int ferry__edit_prune(ferry_proto *net)
{
    ferry_proto *q = ferry__proto_mutable(net, "quantization", 0);
    struct sorted tops, names = { NULL, 0 };
    int err = q ? sort(net, "top", &tops) : FERRY_OK;

    if (err || !q)
        return err;
    err = sort(net, "name", &names);
    for (int64_t i = err ? 0 : ferry_proto_value_count(q, "range"); i-- > 0;)
        if (!has(&tops, ferry_proto_string(ferry_proto_message(q, "range", i), "blob", 0, NULL)))
            ferry__proto_remove(q, "range", i);
    for (int64_t i = err ? 0 : ferry_proto_value_count(q, "float_layer"); i-- > 0;)
        if (!has(&names, ferry_proto_string(q, "float_layer", i, NULL)))
            ferry__proto_remove(q, "float_layer", i);
    free(tops.at);
    free(names.at);
    return err;
}
