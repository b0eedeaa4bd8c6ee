/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the text of a solver. */
#include "solver/state.h"

#include <ferry/op_params.h>

#include <math.h>
#include <string.h>

static const char *const types[] = { "SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam" };

static const char *const policies[] = { "fixed",     "step", "exp",    "inv",
                                        "multistep", "poly", "sigmoid" };

static const char *const precisions[] = { "f32", "bf16" };

#define COUNT(names) ((int)(sizeof(names) / sizeof((names)[0])))

static int bad(const ferry_proto *p, const char *field, const char *what)
{
    return ferry_proto_error(p, field, 0, FERRY_EFORMAT, "%s: %s", field, what);
}

/* The index of a string in `names`. */
static int find(const ferry_proto *p, const char *field, const char *what, const char *const *names,
                int count, int *out)
{
    const char *given = ferry_proto_string(p, field, 0, NULL);
    char known[128] = "";
    int i;

    for (i = 0; i < count; i++) {
        size_t used = strlen(known);

        if (!strcmp(given, names[i])) {
            *out = i;
            return 0;
        }
        if (used + strlen(names[i]) + 3 < sizeof known) {
            strcpy(known + used, i ? ", " : "");
            strcat(known, names[i]);
        }
    }
    if (!*given)
        return ferry_proto_error(p, field, 0, FERRY_EFORMAT, "%s is not set (known: %s)", field,
                                 known);
    return ferry_proto_error(p, field, 0, FERRY_EFORMAT, "Unknown %s: %s (known: %s)", what, given,
                             known);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static float real(const ferry_proto *p, const char *field)
{
    return (float)ferry_proto_real(p, field, 0);
}

static int integer(const ferry_proto *p, const char *field)
{
    return (int)ferry_proto_integer(p, field, 0);
}

static void read_numbers(const ferry_proto *p, struct ferry__solver_settings *s)
{
    int64_t seed = ferry_proto_integer(p, "random_seed", 0);

    s->base_lr = real(p, "base_lr");
    s->gamma = real(p, "gamma");
    s->power = real(p, "power");
    s->momentum = real(p, "momentum");
    s->momentum2 = real(p, "momentum2");
    s->rms_decay = real(p, "rms_decay");
    s->delta = real(p, "delta");
    s->weight_decay = real(p, "weight_decay");
    s->clip = real(p, "clip_gradients");
    s->stepsize = integer(p, "stepsize");
    s->n_steps = (int)ferry_proto_value_count(p, "stepvalue");
    s->iter_size = integer(p, "iter_size");
    s->average_loss = integer(p, "average_loss");
    s->display = integer(p, "display");
    s->max_iter = integer(p, "max_iter");
    s->test_interval = integer(p, "test_interval");
    s->snapshot = integer(p, "snapshot");
    s->snapshot_diff = ferry_proto_boolean(p, "snapshot_diff", 0);
    s->snapshot_after_train = ferry_proto_boolean(p, "snapshot_after_train", 0);
    s->test_initialization = ferry_proto_boolean(p, "test_initialization", 0);
    s->test_compute_loss = ferry_proto_boolean(p, "test_compute_loss", 0);
    s->debug = ferry_proto_boolean(p, "debug_info", 0);
    s->hdf5 = !strcmp(ferry_proto_enum(p, "snapshot_format", 0), "HDF5");
    s->seed = seed > 0 ? (uint64_t)seed : seed == 0 ? UINT64_MAX : 0;
}

static const char *const whole_numbers[] = { "display", "max_iter", "test_interval", "snapshot" };

static int check_numbers(const ferry_proto *p, const struct ferry__solver_settings *s)
{
    int i;

    for (i = 0; i < COUNT(whole_numbers); i++)
        if (integer(p, whole_numbers[i]) < 0)
            return bad(p, whole_numbers[i], "it is negative");
    if (s->iter_size < 1)
        return bad(p, "iter_size", "it must be at least 1");
    if (s->average_loss < 1)
        return bad(p, "average_loss", "it must be at least 1");
    for (i = 1; i < s->n_steps; i++)
        if (ferry_proto_integer(p, "stepvalue", i) < ferry_proto_integer(p, "stepvalue", i - 1))
            return ferry_proto_error(p, "stepvalue", i, FERRY_EFORMAT,
                                     "stepvalue: %lld comes after %lld",
                                     (long long)ferry_proto_integer(p, "stepvalue", i),
                                     (long long)ferry_proto_integer(p, "stepvalue", i - 1));
    return 0;
}

/*
 * ---- combinations
 * --------------------------------------------------------------------------------
 */

static int check_policy(const ferry_proto *p, const struct ferry__solver_settings *s)
{
    if (s->policy == FERRY__POLICY_STEP && s->stepsize < 1)
        return bad(p, "stepsize", "lr_policy \"step\" requires at least 1");
    if (s->policy == FERRY__POLICY_POLY && s->max_iter < 1)
        return bad(p, "max_iter", "lr_policy \"poly\" requires at least 1");
    if (s->policy == FERRY__POLICY_SIGMOID && s->gamma < 0)
        return bad(p, "gamma", "lr_policy \"sigmoid\" requires at least 0");
    return 0;
}

/* Refuses momenta with the types for which Caffe's solvers refuse them. */
static int check_momentum(const ferry_proto *p, const struct ferry__solver_settings *s)
{
    bool without = s->type == FERRY_UPDATE_ADAGRAD || s->type == FERRY_UPDATE_RMSPROP;

    if (without && s->momentum != 0)
        return ferry_proto_error(p, "momentum", 0, FERRY_EFORMAT,
                                 "momentum: Momentum cannot be used with %s.", types[s->type]);
    if (s->type == FERRY_UPDATE_RMSPROP && (s->rms_decay < 0 || s->rms_decay >= 1))
        return bad(p, "rms_decay", "rms_decay should be between 0 and 1.");
    if (s->type == FERRY_UPDATE_ADAM && (s->momentum < 0 || s->momentum >= 1))
        return bad(p, "momentum", "momentum of Adam should be between 0 and 1.");
    if (s->type == FERRY_UPDATE_ADAM && (s->momentum2 < 0 || s->momentum2 >= 1))
        return bad(p, "momentum2", "momentum2 of Adam should be between 0 and 1.");
    return 0;
}

static int read_regularization(const ferry_proto *p, struct ferry__solver_settings *s)
{
    static const char *const kinds[] = { "L2", "L1" };
    int kind, err = find(p, "regularization_type", "regularization type", kinds, 2, &kind);

    if (!err)
        s->l1 = kind == 1;
    return err;
}

/* Logs the fields that Caffe uses and ferry ignores. */
static void log_ignored(const ferry_proto *p)
{
    static const char *const idle[] = { "solver_mode", "device_id", "layer_wise_reduce" };
    int i;

    for (i = 0; i < COUNT(idle); i++)
        if (ferry_proto_value_count(p, idle[i]))
            ferry_log_write(FERRY_LOG_INFO,
                            "ferry: %s is ignored: the program that opens the solver chooses the "
                            "device",
                            idle[i]);
}

static void warn(const ferry_proto *p, const char *field, const char *what)
{
    ferry_log_write(FERRY_LOG_WARN, "ferry: %s: %s is not set: %s",
                    ferry_proto_get_location(p, NULL, 0).file, field, what);
}

static bool lacks(const ferry_proto *p, const char *field)
{
    return !ferry_proto_value_count(p, field);
}

/* Warns of missing parameters that lr_policy needs to change the learning rate. */
static void log_missing_of_policy(const ferry_proto *p, enum ferry__policy policy)
{
    static const char constant[] = "lr_policy does not change the learning rate";
    bool from_1 = policy == FERRY__POLICY_INV || policy == FERRY__POLICY_SIGMOID;

    if (policy != FERRY__POLICY_FIXED && policy != FERRY__POLICY_POLY && lacks(p, "gamma"))
        warn(p, "gamma", from_1 ? constant : "it is 0, and lr_policy makes the learning rate 0");
    if ((policy == FERRY__POLICY_INV || policy == FERRY__POLICY_POLY) && lacks(p, "power"))
        warn(p, "power", constant);
    if (policy == FERRY__POLICY_MULTISTEP && lacks(p, "stepvalue"))
        warn(p, "stepvalue", constant);
}

/* Logs missing fields whose default in Caffe silently disables training. */
static void log_missing(const ferry_proto *p, const struct ferry__solver_settings *s)
{
    if (lacks(p, "base_lr"))
        warn(p, "base_lr", "the learning rate is 0 and no parameter changes");
    if (lacks(p, "max_iter"))
        warn(p, "max_iter", "it is 0, and training ends before the first iteration");
    if (s->test_interval && lacks(p, "test_iter"))
        warn(p, "test_iter", "test_interval alone never tests");
    log_missing_of_policy(p, s->policy);
}

int ferry__settings_read(const ferry_proto *p, struct ferry__solver_settings *out)
{
    struct ferry__solver_settings s = { 0 };
    int type, policy, precision = 0, err;

    read_numbers(p, &s);
    err = check_numbers(p, &s);
    if (!err)
        err = find(p, "type", "solver type", types, COUNT(types), &type);
    if (!err)
        err = find(p, "lr_policy", "learning rate policy", policies, COUNT(policies), &policy);
    if (!err)
        err = read_regularization(p, &s);
    if (!err && !lacks(p, "precision"))
        err = find(p, "precision", "precision", precisions, COUNT(precisions), &precision);
    if (err)
        return err;
    s.precision = precision ? FERRY_PRECISION_BF16 : FERRY_PRECISION_F32;
    s.type = (uint32_t)type;
    s.policy = (enum ferry__policy)policy;
    err = check_policy(p, &s);
    if (!err)
        err = check_momentum(p, &s);
    if (err)
        return err;
    log_ignored(p);
    log_missing(p, &s);
    *out = s;
    return 0;
}
