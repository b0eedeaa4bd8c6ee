/* SPDX-License-Identifier: BSD-2-Clause */
/* The shapes of a net's Input layers. */
#include "net/proto/upgrade.h"

#include <ferry/blob.h>
#include <ferry/proto_edit.h>

#include <stdio.h>
#include <string.h>

/* Top `top` of an Input layer that matches a name; `count` tops match it. */
struct match {
    ferry_proto *layer;
    int64_t top;
    int64_t count;
    char names[160]; /* the names of all inputs, separated by ", ", truncated if too long */
};

int ferry__edit_check(const ferry_proto *net, const char *function)
{
    if (!net || net->type != &ferry__proto_NetParameter)
        return ferry_error_set(FERRY_EINVAL, "%s: %s is not a net", function,
                               net ? ferry_proto_type(net) : "NULL");
    if (ferry__proto_has(net, "layers") || ferry__proto_has(net, "input"))
        return ferry_proto_error(net, ferry__proto_has(net, "layers") ? "layers" : "input", 0,
                                 FERRY_EFORMAT, "%s: the net is not in the current form", function);
    return FERRY_OK;
}

bool ferry__edit_is_input(const ferry_proto *layer)
{
    return strcmp(ferry_proto_string(layer, "type", 0, NULL), "Input") == 0;
}

static void add_name(struct match *m, const char *name)
{
    size_t used = strlen(m->names);

    snprintf(m->names + used, sizeof(m->names) - used, "%s\"%s\"", used ? ", " : "", name);
}

static void find(ferry_proto *net, const char *input, struct match *m)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        ferry_proto *layer = ferry__proto_mutable(net, "layer", i);

        for (int64_t k = 0;
             ferry__edit_is_input(layer) && k < ferry_proto_value_count(layer, "top"); k++) {
            const char *top = ferry_proto_string(layer, "top", k, NULL);

            add_name(m, top);
            if (input && strcmp(input, top) != 0)
                continue;
            m->layer = layer;
            m->top = k;
            m->count++;
        }
    }
}

static int check_match(const char *input, const struct match *m)
{
    if (m->count == 1)
        return FERRY_OK;
    if (!*m->names)
        return ferry_error_set(FERRY_EINVAL, "the net has no Input layer");
    if (!input)
        return ferry_error_set(FERRY_EINVAL, "the net has several inputs: %s", m->names);
    if (m->count == 0)
        return ferry_error_set(FERRY_EINVAL, "no input is named \"%.100s\"; the inputs are %s",
                               input, m->names);
    return ferry_error_set(FERRY_EINVAL, "%lld Input layers make \"%.100s\"", (long long)m->count,
                           input);
}

static int check_shape(const int64_t *shape, int rank)
{
    if (rank > 0 && rank <= FERRY_MAX_AXES && !shape)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_proto_set_input_shape: shape is NULL, rank is "
                               "%d",
                               rank);
    if (rank < 0 || rank > FERRY_MAX_AXES)
        return ferry_error_set(FERRY_EINVAL, "a shape has 0 to %d dims, not %d", FERRY_MAX_AXES,
                               rank);
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || shape[i] > INT32_MAX)
            return ferry_error_set(FERRY_EINVAL, "dim %lld is not in 0 to %d", (long long)shape[i],
                                   (int)INT32_MAX);
    return FERRY_OK;
}

/* Gives each top a shape of its own: a single shape applies to all tops. */
static int spread(const ferry_proto *layer, ferry_proto *input)
{
    int64_t tops = ferry_proto_value_count(layer, "top"),
            shapes = ferry_proto_value_count(input, "shape");
    int err = FERRY_OK;

    if (shapes != tops && shapes != 1 && !(shapes == 0 && tops == 1))
        return ferry_proto_error(
            layer, NULL, 0, FERRY_EFORMAT, "Input layer \"%.100s\" has %lld tops and %lld shapes",
            ferry_proto_string(layer, "name", 0, NULL), (long long)tops, (long long)shapes);
    for (int64_t i = shapes; i < tops && !err; i++) {
        ferry_proto *copy = NULL;

        err = ferry__proto_put_message(input, "shape", &copy);
        if (!err && shapes > 0)
            err = ferry__proto_put_all(copy, "dim", ferry_proto_message(input, "shape", 0), "dim");
    }
    return err;
}

int ferry_proto_set_input_shape(ferry_proto *net, const char *input, const int64_t *shape, int rank)
{
    struct match m = { 0 };
    ferry_proto *param = NULL, *to;
    int err = ferry__edit_check(net, "ferry_proto_set_input_shape");

    if (!err)
        err = check_shape(shape, rank);
    if (err)
        return err;
    find(net, input, &m);
    err = check_match(input, &m);
    if (!err)
        err = ferry__proto_put_message(m.layer, "input_param", &param);
    if (!err)
        err = spread(m.layer, param);
    if (err)
        return err;
    to = ferry__proto_mutable(param, "shape", m.top);
    ferry__proto_clear(to, "dim");
    for (int i = 0; i < rank && !err; i++)
        err = ferry__proto_put_integer(to, "dim", shape[i]);
    return err;
}
