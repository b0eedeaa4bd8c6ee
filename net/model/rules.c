/* SPDX-License-Identifier: BSD-2-Clause */
/* NetStateRule: decides which layers are in a net. */
#include "net/model/graph.h"

#include <ferry/status.h>

#include <string.h>

static bool has_stage(const struct ferry__net_conditions *c, const char *stage)
{
    size_t i;

    for (i = 0; i < c->stage_count; i++)
        if (!strcmp(c->stages[i], stage))
            return true;
    return false;
}

/* Logs, in Caffe's words, why a rule does not apply. */
static bool log_mismatch(const char *what, long long have, const char *how, long long want,
                         const char *layer)
{
    ferry_log_write(FERRY_LOG_INFO,
                    "The NetState %s (%lld) %s (%lld) specified by a rule in layer %s", what, have,
                    how, want, layer);
    return false;
}

static bool levels_hold(const ferry_proto *rule, const struct ferry__net_conditions *c,
                        const char *layer)
{
    int64_t least = ferry_proto_integer(rule, "min_level", 0);
    int64_t most = ferry_proto_integer(rule, "max_level", 0);

    if (ferry_proto_value_count(rule, "min_level") && c->level < least)
        return log_mismatch("level", c->level, "is above the min_level", least, layer);
    if (ferry_proto_value_count(rule, "max_level") && c->level > most)
        return log_mismatch("level", c->level, "is above the max_level", most, layer);
    return true;
}

static bool stages_hold(const ferry_proto *rule, const struct ferry__net_conditions *c,
                        const char *layer)
{
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(rule, "stage"); i++)
        if (!has_stage(c, ferry_proto_string(rule, "stage", i, NULL))) {
            ferry_log_write(
                FERRY_LOG_INFO,
                "The NetState did not contain stage '%s' specified by a rule in layer %s",
                ferry_proto_string(rule, "stage", i, NULL), layer);
            return false;
        }
    for (i = 0; i < ferry_proto_value_count(rule, "not_stage"); i++)
        if (has_stage(c, ferry_proto_string(rule, "not_stage", i, NULL))) {
            ferry_log_write(
                FERRY_LOG_INFO,
                "The NetState contained a not_stage '%s' specified by a rule in layer %s",
                ferry_proto_string(rule, "not_stage", i, NULL), layer);
            return false;
        }
    return true;
}

/* Whether a rule applies: all of its conditions hold. */
static bool holds(const ferry_proto *rule, const struct ferry__net_conditions *c, const char *layer)
{
    bool is_train = !strcmp(ferry_proto_enum(rule, "phase", 0), "TRAIN");

    if (ferry_proto_value_count(rule, "phase") && is_train != (c->phase == FERRY_PHASE_TRAIN))
        return log_mismatch("phase", is_train, "differed from the phase", !is_train, layer);
    return levels_hold(rule, c, layer) && stages_hold(rule, c, layer);
}

static bool any_holds(const ferry_proto *layer, const char *field,
                      const struct ferry__net_conditions *c)
{
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(layer, field); i++)
        if (holds(ferry_proto_message(layer, field, i), c,
                  ferry_proto_string(layer, "name", 0, NULL)))
            return true;
    return false;
}

int ferry__rules_admit(const ferry_proto *layer, const struct ferry__net_conditions *conditions)
{
    bool included = ferry_proto_value_count(layer, "include") > 0;

    if (included && ferry_proto_value_count(layer, "exclude"))
        return ferry_proto_error(
            layer, "exclude", 0, FERRY_EFORMAT,
            "layer \"%s\" has rules for include and for exclude; only one kind may be set",
            ferry_proto_string(layer, "name", 0, NULL));
    return included ? any_holds(layer, "include", conditions)
                    : !any_holds(layer, "exclude", conditions);
}
