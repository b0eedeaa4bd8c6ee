/* SPDX-License-Identifier: BSD-2-Clause */
/* NetStateRule: which layers are in a net. */
#include "net/graph.h"

#include <ferry/status.h>

#include <string.h>

static bool has_stage(const struct ferry__net_conditions *c, const char *stage)
{
    size_t i;

    for (i = 0; i < c->n_stages; i++)
        if (!strcmp(c->stages[i], stage))
            return true;
    return false;
}

/* A rule holds if everything that it says does. */
static bool holds(const ferry_proto *rule, const struct ferry__net_conditions *c)
{
    int64_t i;

    if (ferry_proto_count(rule, "phase") &&
        strcmp(ferry_proto_enum(rule, "phase", 0),
               c->phase == FERRY_PHASE_TRAIN ? "TRAIN" : "TEST"))
        return false;
    if (ferry_proto_count(rule, "min_level") &&
        c->level < ferry_proto_integer(rule, "min_level", 0))
        return false;
    if (ferry_proto_count(rule, "max_level") &&
        c->level > ferry_proto_integer(rule, "max_level", 0))
        return false;
    for (i = 0; i < ferry_proto_count(rule, "stage"); i++)
        if (!has_stage(c, ferry_proto_string(rule, "stage", i, NULL)))
            return false;
    for (i = 0; i < ferry_proto_count(rule, "not_stage"); i++)
        if (has_stage(c, ferry_proto_string(rule, "not_stage", i, NULL)))
            return false;
    return true;
}

static bool any_holds(const ferry_proto *layer, const char *field,
                      const struct ferry__net_conditions *c)
{
    int64_t i;

    for (i = 0; i < ferry_proto_count(layer, field); i++)
        if (holds(ferry_proto_message(layer, field, i), c))
            return true;
    return false;
}

int ferry__rules_admit(const ferry_proto *layer, const struct ferry__net_conditions *conditions)
{
    bool included = ferry_proto_count(layer, "include") > 0;

    if (included && ferry_proto_count(layer, "exclude"))
        return ferry_proto_error(
            layer, "exclude", 0, FERRY_EFORMAT,
            "layer \"%s\" has rules for include and for exclude; one kind it is",
            ferry_proto_string(layer, "name", 0, NULL));
    return included ? any_holds(layer, "include", conditions)
                    : !any_holds(layer, "exclude", conditions);
}
