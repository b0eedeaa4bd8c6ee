/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
/* The state that a net is opened in, and Caffe's log lines about the layers of that state. */
#include "net/model/graph.h"
#include "net/proto/tree.h"
#include "net/model/state.h"
#include "net/model/training.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/*
 * ---- the state ---------------------------------------------------------------------------------
 */

static size_t add_stages(const ferry_proto *state, const char **stages, size_t n)
{
    int64_t i;

    for (i = 0; i < ferry_proto_value_count(state, "stage"); i++)
        stages[n++] = ferry_proto_string(state, "stage", i, NULL);
    return n;
}

int ferry__conditions_make(ferry_net *net, const ferry_net_options *o, const ferry_proto *over,
                           struct ferry__net_conditions *out)
{
    const ferry_proto *own = ferry_proto_message(net->proto, "state", 0);
    size_t most = (size_t)ferry_proto_value_count(own, "stage") + o->stage_count + 1, i;
    const char **stages;

    if (over)
        most += (size_t)ferry_proto_value_count(over, "stage");
    stages = ferry__mem_alloc(&net->arena, most * sizeof(const char *));
    if (!stages)
        return ferry_error_set(FERRY_ENOMEM, "ferry_net_open: no memory");
    *out = (struct ferry__net_conditions){ .phase = net->phase, .stages = stages };
    out->has_level = !over || ferry_proto_value_count(own, "level");
    out->level = ferry_proto_value_count(own, "level") ? (int)ferry_proto_integer(own, "level", 0)
                                                       : o->level;
    if (over && ferry_proto_value_count(over, "level")) {
        out->has_level = true;
        out->level = (int)ferry_proto_integer(over, "level", 0);
    }
    out->stage_count = add_stages(own, stages, 0);
    for (i = 0; i < o->stage_count; i++)
        stages[out->stage_count++] = o->stages[i];
    if (over)
        out->stage_count = add_stages(over, stages, out->stage_count);
    return 0;
}

/*
 * ---- Caffe's first log lines -------------------------------------------------------------------
 */

static int put_state(ferry_proto *text, const struct ferry__net_conditions *c)
{
    ferry_proto *state;
    size_t i;
    int err;

    ferry__proto_clear(text, "state");
    err = ferry__proto_put_message(text, "state", &state);
    if (!err)
        err = ferry__proto_put_integer(state, "phase", c->phase == FERRY_PHASE_TRAIN ? 0 : 1);
    if (!err && c->has_level)
        err = ferry__proto_put_integer(state, "level", c->level);
    for (i = 0; !err && i < c->stage_count; i++)
        err = ferry__proto_put_string(state, "stage", c->stages[i]);
    return err;
}

/*
 * Removes the layers that are not in the graph. The graph has the remaining ones in the text's
 * order, with splits between them.
 */
static void remove_others(const ferry_net *net, const struct ferry__graph *graph, ferry_proto *text)
{
    int64_t i = ferry_proto_value_count(net->proto, "layer");
    const ferry_proto *empty = ferry_proto_message(net->proto, "layer", i);
    int node = graph->count - 1;

    while (i-- > 0) {
        while (node >= 0 && graph->nodes[node].message == empty)
            node--;
        if (node >= 0 && graph->nodes[node].message == ferry_proto_message(net->proto, "layer", i))
            node--;
        else
            ferry__proto_remove(text, "layer", i);
    }
}

void ferry__log_text(const ferry_proto *p)
{
    size_t size;
    char *text;

    if (ferry_proto_print(p, NULL, 0, &size))
        return;
    text = malloc(size + 1);
    if (text && !ferry_proto_print(p, text, size + 1, &size)) {
        char *rest = text, *line;

        while ((line = strtok_r(rest, "\n", &rest)))
            ferry_log_write(FERRY_LOG_INFO, "%s", line);
    }
    free(text);
}

void ferry__conditions_log(const ferry_net *net, const struct ferry__net_conditions *c,
                           const struct ferry__graph *graph)
{
    ferry_proto *text;

    if (ferry__proto_create(&ferry__proto_NetParameter, net->proto->document->file, &text))
        return;
    if (!ferry__proto_put_copy(text, net->proto) && !put_state(text, c)) {
        remove_others(net, graph, text);
        ferry_log_write(FERRY_LOG_INFO, "Initializing net from parameters: ");
        ferry__log_text(text);
    }
    ferry_proto_close(text);
}
