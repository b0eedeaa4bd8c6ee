/* SPDX-License-Identifier: BSD-2-Clause */
/* The current node: its inputs and its attributes. */
#include "net/import/build.h"

#include <ferry/status.h>

#include <string.h>

/* ---- inputs --------------------------------------------------------------------------------- */

bool ferry__import_has(const struct ferry__import *im, int i)
{
    return i < ferry__import_input_count(im) && *ferry_proto_string(im->node, "input", i, NULL);
}

struct ferry__import_value *ferry__import_input(struct ferry__import *im, int i)
{
    const char *name =
        ferry__import_has(im, i) ? ferry_proto_string(im->node, "input", i, NULL) : "";
    struct ferry__import_value *x = ferry__import_value_named(im, name);

    if (!*name)
        ferry__import_fail(im, FERRY_EFORMAT, "input %d is not given", i);
    else if (!x->constant && !x->blob)
        ferry__import_fail(im, FERRY_EFORMAT, "takes \"%.150s\", which no earlier node makes",
                           name);
    return x;
}

const struct ferry__import_tensor *ferry__import_constant(struct ferry__import *im, int i)
{
    const struct ferry__import_value *x = ferry__import_input(im, i);

    if (!im->err && !x->constant)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "input %d (\"%.150s\") is not a constant", i,
                           x->name);
    return &x->tensor;
}

int ferry__import_constants(struct ferry__import *im, int i, int64_t *out, int room)
{
    const struct ferry__import_tensor *t = ferry__import_constant(im, i);

    if (!im->err && (t->shape.rank > 1 || t->count > room))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "input %d has %d axes and %lld elements", i,
                           t->shape.rank, (long long)t->count);
    if (im->err)
        return -1;
    for (int64_t k = 0; k < t->count; k++)
        out[k] = ferry__import_tensor_integer(t, k);
    return (int)t->count;
}

/* ---- attributes ----------------------------------------------------------------------------- */

const ferry_proto *ferry__import_attribute(const struct ferry__import *im, const char *name)
{
    int64_t n = ferry_proto_value_count(im->node, "attribute");

    for (int64_t i = 0; i < n; i++) {
        const ferry_proto *a = ferry_proto_message(im->node, "attribute", i);

        if (!strcmp(ferry_proto_string(a, "name", 0, NULL), name))
            return a;
    }
    return NULL;
}

int64_t ferry__import_integer(const struct ferry__import *im, const char *name, int64_t none)
{
    const ferry_proto *a = ferry__import_attribute(im, name);

    return a ? ferry_proto_integer(a, "i", 0) : none;
}

double ferry__import_real(const struct ferry__import *im, const char *name, double none)
{
    const ferry_proto *a = ferry__import_attribute(im, name);

    return a ? ferry_proto_real(a, "f", 0) : none;
}

const char *ferry__import_string(const struct ferry__import *im, const char *name, const char *none)
{
    const ferry_proto *a = ferry__import_attribute(im, name);

    return a ? ferry_proto_string(a, "s", 0, NULL) : none;
}

int ferry__import_integers(struct ferry__import *im, const char *name, int64_t *out, int room)
{
    const ferry_proto *a = ferry__import_attribute(im, name);
    int64_t n = a ? ferry_proto_value_count(a, "ints") : 0;

    if (n > room)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "%s has %lld values", name, (long long)n);
    if (im->err)
        return -1;
    for (int64_t i = 0; i < n; i++)
        out[i] = ferry_proto_integer(a, "ints", i);
    return (int)n;
}

int ferry__import_list(struct ferry__import *im, int i, const char *name, int64_t *out, int room)
{
    return ferry__import_has(im, i) ? ferry__import_constants(im, i, out, room)
                                    : ferry__import_integers(im, name, out, room);
}

int ferry__import_axis(struct ferry__import *im, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        ferry__import_fail(im, FERRY_EFORMAT, "axis %lld of %d", (long long)axis, rank);
        return 0;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}
