/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/schema_tables.h"

static const struct ferry__proto_name snapshot_format_names[] = {
    { "HDF5", 0 },
    { "BINARYPROTO", 1 },
};
ENUM(snapshot_format, "SnapshotFormat");

static const struct ferry__proto_name solver_mode_names[] = {
    { "CPU", 0 },
    { "GPU", 1 },
};
ENUM(solver_mode, "SolverMode");

static const struct ferry__proto_name solver_type_names[] = {
    { "SGD", 0 },     { "NESTEROV", 1 }, { "ADAGRAD", 2 },
    { "RMSPROP", 3 }, { "ADADELTA", 4 }, { "ADAM", 5 },
};
ENUM(solver_type, "SolverType");

static const struct ferry__proto_field solver_fields[] = {
    ONE(24, STRING, "net"),
    MESSAGE(25, NetParameter, "net_param"),
    ONE(1, STRING, "train_net"),
    MANY(2, STRING, "test_net"),
    MESSAGE(21, NetParameter, "train_net_param"),
    MESSAGES(22, NetParameter, "test_net_param"),
    MESSAGE(26, NetState, "train_state"),
    MESSAGES(27, NetState, "test_state"),
    MANY(3, INT32, "test_iter"),
    ONE(4, INT32, "test_interval"),
    ONE(19, BOOL, "test_compute_loss"),
    WITH(32, BOOL, "test_initialization", 1),
    ONE(5, FLOAT, "base_lr"),
    ONE(6, INT32, "display"),
    WITH(33, INT32, "average_loss", 1),
    ONE(7, INT32, "max_iter"),
    WITH(36, INT32, "iter_size", 1),
    ONE(8, STRING, "lr_policy"),
    ONE(9, FLOAT, "gamma"),
    ONE(10, FLOAT, "power"),
    ONE(11, FLOAT, "momentum"),
    ONE(12, FLOAT, "weight_decay"),
    TEXT(29, "regularization_type", "L2"),
    ONE(13, INT32, "stepsize"),
    MANY(34, INT32, "stepvalue"),
    WITH(35, FLOAT, "clip_gradients", -1),
    ONE(14, INT32, "snapshot"),
    ONE(15, STRING, "snapshot_prefix"),
    ONE(16, BOOL, "snapshot_diff"),
    CHOICE(37, snapshot_format, "snapshot_format", 1),
    CHOICE(17, solver_mode, "solver_mode", 1),
    ONE(18, INT32, "device_id"),
    WITH(20, INT64, "random_seed", -1),
    TEXT(40, "type", "SGD"),
    WITH(31, FLOAT, "delta", 1e-08f),
    WITH(39, FLOAT, "momentum2", 0.999f),
    WITH(38, FLOAT, "rms_decay", 0.99f),
    ONE(23, BOOL, "debug_info"),
    WITH(28, BOOL, "snapshot_after_train", 1),
    CHOICE(30, solver_type, "solver_type", 0),
    WITH(41, BOOL, "layer_wise_reduce", 1),
    MANY(42, STRING, "weights"),
    FORK(26001, STRING, "precision", 0, "ferry"),
};
DEFINE(SolverParameter, solver_fields);

static const struct ferry__proto_field solver_state_fields[] = {
    ONE(1, INT32, "iter"),
    ONE(2, STRING, "learned_net"),
    MESSAGES(3, BlobProto, "history"),
    ONE(4, INT32, "current_step"),
};
DEFINE(SolverState, solver_state_fields);
