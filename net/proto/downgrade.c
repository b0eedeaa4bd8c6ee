/* SPDX-License-Identifier: BSD-2-Clause */
/* Rewrites a net in the V1 form: the reverse of upgrade_v1.c and of the input layer's step. */
#include "net/proto/upgrade.h"

#include <ferry/proto_edit.h>

#include <string.h>

static const char *name_of(const ferry_proto *layer)
{
    return ferry_proto_string(layer, "name", 0, NULL);
}

/* ---- inputs --------------------------------------------------------------------------------- */

static int check_input(const ferry_proto *layer)
{
    const ferry_proto *param = ferry_proto_message(layer, "input_param", 0);
    int64_t tops = ferry_proto_value_count(layer, "top"),
            shapes = ferry_proto_value_count(param, "shape");

    if (shapes != 1 && (shapes == 0 || shapes != tops))
        return ferry_proto_error(layer, NULL, 0, FERRY_EFORMAT,
                                 "Input layer \"%.100s\" has %lld tops and %lld shapes",
                                 name_of(layer), (long long)tops, (long long)shapes);
    if (ferry__proto_has(layer, "include") || ferry__proto_has(layer, "exclude"))
        return ferry_proto_error(layer, ferry__proto_has(layer, "include") ? "include" : "exclude",
                                 0, FERRY_EUNSUPPORTED,
                                 "Input layer \"%.100s\": inputs of V1 have no rules",
                                 name_of(layer));
    return FERRY_OK;
}

/* The shape of top k: a single shape is that of all tops. */
static const ferry_proto *shape_of(const ferry_proto *layer, int64_t k)
{
    const ferry_proto *param = ferry_proto_message(layer, "input_param", 0);

    return ferry_proto_message(param, "shape", ferry_proto_value_count(param, "shape") > 1 ? k : 0);
}

/* Whether all shapes have four axes. */
static bool has_four_axes(const ferry_proto *net)
{
    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        for (int64_t k = 0;
             ferry__edit_is_input(layer) && k < ferry_proto_value_count(layer, "top"); k++)
            if (ferry_proto_value_count(shape_of(layer, k), "dim") != 4)
                return false;
    }
    return true;
}

static int move_input(ferry_proto *net, const ferry_proto *layer, bool four)
{
    int err = check_input(layer);

    if (!err)
        err = ferry__proto_put_all(net, "input", layer, "top");
    for (int64_t k = 0; k < ferry_proto_value_count(layer, "top") && !err; k++) {
        const ferry_proto *shape = shape_of(layer, k);
        ferry_proto *to = net;

        if (!four)
            err = ferry__proto_put_message(net, "input_shape", &to);
        for (int64_t a = 0; a < ferry_proto_value_count(shape, "dim") && !err; a++)
            err = ferry__proto_put_integer(to, four ? "input_dim" : "dim",
                                           ferry_proto_integer(shape, "dim", a));
    }
    return err;
}

/* ---- layers --------------------------------------------------------------------------------- */

static int put_type(ferry_proto *v1, const ferry_proto *layer)
{
    const char *type = ferry_proto_string(layer, "type", 0, NULL);
    const struct ferry__proto_field *field = ferry__proto_field_of(v1->type, "type", 4);

    if (!*type)
        return FERRY_OK;
    for (size_t i = 1; i < ferry__upgrade_v1_type_count; i++) {
        const char *name = ferry__upgrade_v1_types[i][0];

        if (strcmp(type, ferry__upgrade_v1_types[i][1]) == 0)
            return ferry__proto_put_integer(
                v1, "type", ferry__proto_enum_named(field->choices, name, strlen(name))->number);
    }
    return ferry_proto_error(layer, "type", 0, FERRY_EUNSUPPORTED,
                             "layer \"%.100s\": V1 has no layers of type %.100s", name_of(layer),
                             type);
}

/* The index after the last param that has the field. */
static int64_t last_with(const ferry_proto *layer, const char *field)
{
    int64_t n = ferry_proto_value_count(layer, "param");

    while (n > 0 && !ferry__proto_has(ferry_proto_message(layer, "param", n - 1), field))
        n--;
    return n;
}

/* Makes one list of a field of the params, with the default for each param that lacks it. */
static int gather(ferry_proto *v1, const ferry_proto *layer, const char *to, const char *from)
{
    int64_t n = last_with(layer, from);
    int err = FERRY_OK;

    for (int64_t i = 0; i < n && !err; i++) {
        const ferry_proto *param = ferry_proto_message(layer, "param", i);

        if (ferry__proto_has(param, from))
            err = ferry__proto_put_all(v1, to, param, from);
        else if (strcmp(from, "name") == 0)
            err = ferry__proto_put_string(v1, to, "");
        else if (strcmp(from, "share_mode") == 0)
            err = ferry__proto_put_integer(v1, to, ferry_proto_integer(param, from, 0));
        else
            err = ferry__proto_put_real(v1, to, ferry_proto_real(param, from, 0));
    }
    return err;
}

/* Whether V1 has the field under the same name, with the same message or kind. */
static bool has_field(const ferry_proto *v1, const struct ferry__proto_slot *slot)
{
    const struct ferry__proto_field *field =
        ferry__proto_field_of(v1->type, slot->name, strlen(slot->name));

    return field && slot->field && field->kind == slot->field->kind &&
           field->message == slot->field->message;
}

static int put_field(ferry_proto *v1, const ferry_proto *layer,
                     const struct ferry__proto_slot *slot)
{
    if (strcmp(slot->name, "type") == 0 || strcmp(slot->name, "param") == 0)
        return FERRY_OK;
    if (strcmp(slot->name, "phase") == 0 && layer->document->form == FERRY_PROTO_BINARY)
        return FERRY_OK;
    if (has_field(v1, slot))
        return ferry__proto_put_all(v1, slot->name, layer, slot->name);
    return ferry_proto_error(layer, slot->name, 0, FERRY_EUNSUPPORTED,
                             "layer \"%.100s\": V1 layers have no field %.100s", name_of(layer),
                             slot->name);
}

/* Refuses params with unknown fields, which would be lost, like a layer with unknown fields. */
static int check_params(const ferry_proto *layer)
{
    for (int64_t i = 0; i < ferry_proto_value_count(layer, "param"); i++) {
        const ferry_proto *param = ferry_proto_message(layer, "param", i);

        for (const struct ferry__proto_slot *slot = param->slots; slot; slot = slot->next)
            if (!slot->field)
                return ferry_proto_error(param, slot->name, 0, FERRY_EUNSUPPORTED,
                                         "layer \"%.100s\": V1 has no field %.100s of params",
                                         name_of(layer), slot->name);
    }
    return FERRY_OK;
}

static int move_layer(ferry_proto *net, const ferry_proto *layer)
{
    ferry_proto *v1 = NULL;
    int err = ferry__proto_put_message(net, "layers", &v1);

    if (!err)
        err = put_type(v1, layer);
    if (!err)
        err = check_params(layer);
    for (size_t i = 0; i < FERRY__UPGRADE_SPREADS && !err; i++)
        err = gather(v1, layer, ferry__upgrade_spreads[i][0], ferry__upgrade_spreads[i][1]);
    for (const struct ferry__proto_slot *slot = layer->slots; slot && !err; slot = slot->next)
        err = put_field(v1, layer, slot);
    return err;
}

int ferry_proto_downgrade(ferry_proto *net)
{
    int err = ferry__edit_check(net, "ferry_proto_downgrade");
    bool four = !err && has_four_axes(net);

    for (int64_t i = 0; !err && i < ferry_proto_value_count(net, "layer"); i++) {
        const ferry_proto *layer = ferry_proto_message(net, "layer", i);

        err = ferry__edit_is_input(layer) ? move_input(net, layer, four) : move_layer(net, layer);
    }
    if (!err)
        ferry__proto_clear(net, "layer");
    return err;
}
