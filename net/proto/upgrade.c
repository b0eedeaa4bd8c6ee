/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Upgrades nets and solvers of older versions of Caffe, in Caffe's order. The log lines are
 * Caffe's, since scripts search for them. Caffe's warnings that a later release will drop support
 * are logged at the level info.
 */
#include "net/proto/upgrade.h"

#include <string.h>

static int say_attempt(ferry_proto *p, const char *what)
{
    return ferry__proto_add_note(p->document, FERRY_LOG_INFO, "Attempting to upgrade %s: %s", what,
                                 p->document->file);
}

static int say(ferry_proto *p, int level, const char *line)
{
    return ferry__proto_add_note(p->document, level, "%s", line);
}

/* ---- layers --------------------------------------------------------------------------------- */

static int v0(ferry_proto *net)
{
    bool compatible = true;
    int err;

    if (!ferry__upgrade_needs_v0(net))
        return FERRY_OK;
    err = say_attempt(net, "input file specified using deprecated V0LayerParameter");
    if (!err)
        err = ferry__upgrade_v0(net, &compatible);
    if (!err && compatible)
        err = say(net, FERRY_LOG_INFO,
                  "Successfully upgraded file specified using deprecated V0LayerParameter");
    else if (!err)
        err = say(net, FERRY_LOG_ERROR,
                  "Warning: had one or more problems upgrading V0NetParameter to NetParameter (see "
                  "above); continuing anyway.");
    if (err)
        return err;
    return say(
        net, FERRY_LOG_INFO,
        "Note that future Caffe releases will not support V0NetParameter; use "
        "./build/tools/upgrade_net_proto_text for prototxt and "
        "./build/tools/upgrade_net_proto_binary for model weights upgrade this and any other "
        "net protos to the new format.");
}

static int data(ferry_proto *net)
{
    int err;

    if (!ferry__upgrade_needs_data(net))
        return FERRY_OK;
    err = say_attempt(net, "input file specified using deprecated transformation parameters");
    if (!err)
        err = ferry__upgrade_data(net);
    if (!err)
        err = say(net, FERRY_LOG_INFO,
                  "Successfully upgraded file specified using deprecated data transformation "
                  "parameters.");
    if (err)
        return err;
    return say(net, FERRY_LOG_INFO,
               "Note that future Caffe releases will only support transform_param messages for "
               "transformation fields.");
}

static int v1(ferry_proto *net)
{
    int err;

    if (!ferry__upgrade_needs_v1(net))
        return FERRY_OK;
    err = say_attempt(net, "input file specified using deprecated V1LayerParameter");
    if (!err)
        err = ferry__upgrade_v1(net);
    if (err)
        return err;
    return say(net, FERRY_LOG_INFO,
               "Successfully upgraded file specified using deprecated V1LayerParameter");
}

/* ---- inputs --------------------------------------------------------------------------------- */

/*
 * Adds the shape of input i, which the net has as a message or as four of the numbers of all
 * inputs.
 */
static int add_shape(ferry_proto *net, ferry_proto *input, int64_t i)
{
    bool messages = ferry__proto_has(net, "input_shape");
    ferry_proto *shape;
    int err = ferry__proto_put_message(input, "shape", &shape);

    if (err)
        return err;
    if (messages)
        return ferry__proto_put_all(shape, "dim", ferry_proto_message(net, "input_shape", i),
                                    "dim");
    for (int64_t k = 4 * i; k < 4 * i + 4 && !err; k++)
        err = ferry__proto_put_integer(shape, "dim", ferry_proto_integer(net, "input_dim", k));
    return err;
}

static int check_shapes(const ferry_proto *net)
{
    int64_t inputs = ferry_proto_value_count(net, "input"),
            shapes = ferry_proto_value_count(net, "input_shape"),
            shape = ferry_proto_value_count(net, "input_dim");

    if (shapes > 0 && shapes < inputs)
        return ferry_proto_error(net, "input", shapes, FERRY_EFORMAT,
                                 "%lld inputs, but only %lld times input_shape", (long long)inputs,
                                 (long long)shapes);
    if (shapes == 0 && shape > 0 && shape / 4 < inputs)
        return ferry_proto_error(net, "input", shape / 4, FERRY_EFORMAT,
                                 "%lld inputs, but only %lld times input_dim: each input needs "
                                 "four",
                                 (long long)inputs, (long long)shape);
    return FERRY_OK;
}

static int add_input_layer(ferry_proto *net)
{
    ferry_proto *layer = NULL, *input = NULL;
    int err = check_shapes(net);

    if (!err)
        err = ferry__proto_put_message(net, "layer", &layer);
    if (!err)
        err = ferry__proto_put_string(layer, "name", "input");
    if (!err)
        err = ferry__proto_put_string(layer, "type", "Input");
    if (!err)
        err = ferry__proto_put_all(layer, "top", net, "input");
    if (!err)
        err = ferry__proto_put_message(layer, "input_param", &input);
    for (int64_t i = 0; i < ferry_proto_value_count(net, "input") && !err; i++)
        err = add_shape(net, input, i);
    if (!err)
        ferry__proto_last_to_front(net, "layer");
    return err;
}

/* Upgrades a net's inputs. A net without shapes is an old caffemodel, whose inputs are dropped. */
static int inputs(ferry_proto *net)
{
    int err;

    if (!ferry__proto_has(net, "input"))
        return FERRY_OK;
    err = say_attempt(net, "input file specified using deprecated input fields");
    if (!err && (ferry__proto_has(net, "input_shape") || ferry__proto_has(net, "input_dim")))
        err = add_input_layer(net);
    if (err)
        return err;
    ferry__proto_clear(net, "input");
    ferry__proto_clear(net, "input_shape");
    ferry__proto_clear(net, "input_dim");
    err = say(net, FERRY_LOG_INFO,
              "Successfully upgraded file specified using deprecated input fields.");
    if (err)
        return err;
    return say(net, FERRY_LOG_INFO,
               "Note that future Caffe releases will only support input layers and not input "
               "fields.");
}

/* ---- single layers -------------------------------------------------------------------------- */

static bool is_old_batch_norm(const ferry_proto *layer)
{
    return strcmp(ferry_proto_string(layer, "type", 0, NULL), "BatchNorm") == 0 &&
           ferry_proto_value_count(layer, "param") == 3;
}

static int fix_param(ferry_proto *param)
{
    int err = ferry__proto_put_real(param, "lr_mult", 0);

    return err ? err : ferry__proto_put_real(param, "decay_mult", 0);
}

/* Marks mean, variance and factor of BatchNorm as computed, not learned. */
static int batch_norm(ferry_proto *net)
{
    bool said = false;
    int err = FERRY_OK;

    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer") && !err; i++) {
        ferry_proto *layer = ferry__proto_mutable(net, "layer", i);

        if (!is_old_batch_norm(layer))
            continue;
        if (!said)
            err = say_attempt(net, "batch norm layers using deprecated params");
        said = true;
        for (int64_t k = 0; k < 3 && !err; k++)
            err = fix_param(ferry__proto_mutable(layer, "param", k));
    }
    if (err || !said)
        return err;
    return say(net, FERRY_LOG_INFO,
               "Successfully upgraded batch norm layers using deprecated params.");
}

/* Renames ceil_mode, the forks' name of round_mode, which Caffe has added since. */
static int round_mode(ferry_proto *pooling)
{
    int64_t mode = ferry_proto_boolean(pooling, "ceil_mode", 0) ? 0 : 1;

    if (ferry__proto_has(pooling, "round_mode") &&
        ferry_proto_integer(pooling, "round_mode", 0) != mode)
        return ferry_proto_error(pooling, "ceil_mode", 0, FERRY_EFORMAT,
                                 "ceil_mode and round_mode contradict each other");
    ferry__proto_clear(pooling, "ceil_mode");
    return ferry__proto_put_integer(pooling, "round_mode", mode);
}

static int round_modes(ferry_proto *net)
{
    int err = FERRY_OK;

    for (int64_t i = 0; i < ferry_proto_value_count(net, "layer") && !err; i++) {
        ferry_proto *layer = ferry__proto_mutable(net, "layer", i),
                    *pooling = ferry__proto_mutable(layer, "pooling_param", 0);

        if (pooling && ferry__proto_has(pooling, "ceil_mode"))
            err = round_mode(pooling);
    }
    return err;
}

/* ---- solvers -------------------------------------------------------------------------------- */

static int solver_type(ferry_proto *solver)
{
    static const char *const types[] = {
        "SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam"
    };
    int err;

    if (!ferry__proto_has(solver, "solver_type"))
        return FERRY_OK;
    if (ferry__proto_has(solver, "type"))
        return ferry_proto_error(solver, "solver_type", 0, FERRY_EFORMAT,
                                 "solver_type, the old name, and type are both given");
    err = say_attempt(solver, "input file specified using deprecated 'solver_type' field (enum)'");
    if (!err)
        err = ferry__proto_put_string(solver, "type",
                                      types[ferry_proto_integer(solver, "solver_type", 0)]);
    if (err)
        return err;
    ferry__proto_clear(solver, "solver_type");
    err = say(solver, FERRY_LOG_INFO,
              "Successfully upgraded file specified using deprecated 'solver_type' field (enum) to "
              "'type' field (string).");
    if (err)
        return err;
    return say(solver, FERRY_LOG_INFO,
               "Note that future Caffe releases will only support 'type' field (string) for a "
               "solver's type.");
}

/*
 * The steps in the order of ferry_proto_step; round_modes is the last. FERRY_UPGRADE_V0 includes
 * FERRY_UPGRADE_PADDING.
 */
static int (*const steps[])(ferry_proto *) = {
    ferry__upgrade_padding, v0, data, v1, inputs, batch_norm, round_modes
};

int ferry_proto_upgrade_step(ferry_proto *root, ferry_proto_step step)
{
    if (!root || root->type != &ferry__proto_NetParameter)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_upgrade_step: %s is not a net",
                               root ? ferry_proto_type(root) : "NULL");
    if ((unsigned)step > FERRY_UPGRADE_BATCH_NORM)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_upgrade_step: %d is not a step",
                               (int)step);
    return steps[step](root);
}

int ferry_proto_upgrade(ferry_proto *root)
{
    int err = FERRY_OK;

    if (root && root->type == &ferry__proto_SolverParameter)
        return solver_type(root);
    if (!root || root->type != &ferry__proto_NetParameter)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_proto_upgrade: %s is neither a net nor a solver",
                               root ? ferry_proto_type(root) : "NULL");
    for (size_t i = FERRY_UPGRADE_V0; i < sizeof(steps) / sizeof(steps[0]) && !err; i++)
        err = steps[i](root);
    return err;
}
