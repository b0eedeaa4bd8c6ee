/* SPDX-License-Identifier: BSD-2-Clause */
/* Validation of operations, and the table of kinds. */
#include "op/kind.h"

#include <ferry/status.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct ferry__kind kinds[] = {
#define ROW(kind, pass, id, name, ...) \
    { FERRY_OP_##kind, FERRY_PASS_##pass, name, __VA_ARGS__, ferry__check_##id },
    KIND_LIST(ROW){ FERRY_OP_NAMED, 0, "named operation", 0, FERRY_OP_INPUTS, 1, FERRY_OP_OUTPUTS,
                    0, 0, ferry__check_named },
};

/* The numbers of kinds are consecutive, and FERRY_OP_LAST is the last. */
#define ONE_FORWARD          +1
#define ONE_BACKWARD_DATA    +0
#define ONE_BACKWARD_WEIGHTS +0
#define ONE_BACKWARD_BIAS    +0
#define ONE(kind, pass, ...) ONE_##pass
_Static_assert(FERRY_OP_CONVOLUTION KIND_LIST(ONE) == FERRY_OP_LAST + 1, "a row for each kind");
#define IN_RANGE(kind, ...)                                                                     \
    _Static_assert(FERRY_OP_##kind >= FERRY_OP_CONVOLUTION && FERRY_OP_##kind <= FERRY_OP_LAST, \
                   "FERRY_OP_" #kind " is past FERRY_OP_LAST");
KIND_LIST(IN_RANGE)

/*
 * The kind of an operation; NULL for an invalid one. For a named operation, the plugin defines the
 * kind and its passes.
 */
const struct ferry__kind *ferry__kind_of(uint32_t kind, uint32_t pass)
{
    size_t i;

    for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == kind && (kinds[i].pass == pass || kind == FERRY_OP_NAMED))
            return &kinds[i];
    return NULL;
}

const char *ferry_op_kind_name(uint32_t kind)
{
    const struct ferry__kind *k = ferry__kind_of(kind, FERRY_PASS_FORWARD);

    return k ? k->name : "?";
}

const char *ferry__op_title(const ferry_op_desc *op)
{
    const struct ferry__kind *k = ferry__kind_of(op->kind, op->pass);

    return k ? k->name : ferry_op_kind_name(op->kind);
}

const char *ferry_operation_tier_name(ferry_operation_tier tier)
{
    static const char *const names[] = { "own", "composed", "host" };

    return (unsigned)tier < 3 ? names[tier] : "?";
}

/*
 * The size of the structure's first version, the smallest that callers may pass. Unused epilogue
 * steps may be missing.
 */
#define FIRST_OP (offsetof(ferry_op_desc, epilogue) + FERRY_OP_EPILOGUE * sizeof(ferry_op_step))
#define LEAST_OP offsetof(ferry_op_desc, epilogue)

const ferry_op_desc *ferry__op_whole(const ferry_op_desc *op, ferry_op_desc *room)
{
    size_t size;

    if (!op) {
        ferry_error_set(FERRY_EINVAL, "no operation");
        return NULL;
    }
    if (op->struct_size < LEAST_OP) {
        ferry_error_set(
            FERRY_EINVAL,
            "an operation of %u bytes, at least %zu are required (ferry_op_desc_init sets them)",
            op->struct_size, LEAST_OP);
        return NULL;
    }
    if (op->struct_size == sizeof *op)
        return op;
    size = op->struct_size < sizeof *op ? op->struct_size : sizeof *op;
    memset(room, 0, sizeof *room);
    memcpy(room, op, size);
    room->struct_size = sizeof *room;
    return room;
}

void ferry_op_desc_init(ferry_op_desc *op, uint32_t kind)
{
    ferry_op_window *w;
    int i;

    if (!op)
        return;
    memset(op, 0, FIRST_OP);
    op->struct_size = FIRST_OP;
    op->kind = kind;
    w = &op->params.window;
    switch (kind) {
    case FERRY_OP_CONVOLUTION:
    case FERRY_OP_IM2COL:
    case FERRY_OP_COL2IM:
    case FERRY_OP_POOL:
        w->axes = 2;
        w->group = 1;
        for (i = 0; i < FERRY_OP_SPATIAL; i++)
            w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
        break;
    case FERRY_OP_BATCHED_GEMM:
        op->params.gemm.alpha = 1;
        break;
    case FERRY_OP_BINARY:
        op->params.binary.a = op->params.binary.b = 1;
        break;
    case FERRY_OP_REDUCE:
        op->params.reduce.scale = 1;
        break;
    default:
        break;
    }
}

int ferry__misfit(const ferry_op_desc *op, const char *what, int64_t got, int64_t want)
{
    return ferry_error_set(FERRY_ESHAPE, "%s: %s is %" PRId64 ", must be %" PRId64,
                           ferry__op_title(op), what, got, want);
}

int ferry__bad(const ferry_op_desc *op, const char *what, int64_t got, int64_t least, int64_t most)
{
    if (least == most)
        return ferry_error_set(FERRY_EINVAL, "%s: %s is %" PRId64 ", must be %" PRId64,
                               ferry__op_title(op), what, got, most);
    return ferry_error_set(FERRY_EINVAL, "%s: %s is %" PRId64 ", must be %" PRId64 " to %" PRId64,
                           ferry__op_title(op), what, got, least, most);
}

int ferry__check_work(const ferry_op_desc *op, const ferry_operand *y, double each)
{
    const double most = 0x1p56;
    int64_t count = ferry__operand_count(y);

    if ((double)count * each < most)
        return 0;
    return ferry_error_set(FERRY_EOVERFLOW,
                           "%s: %" PRId64 " elements of %.0f steps each, must be less than %.0f "
                           "steps",
                           ferry__op_title(op), count, each, most);
}

static int numbers_check(const ferry_op_desc *op, const struct ferry__kind *k)
{
    const uint32_t math = FERRY_MATH_TF32 | FERRY_MATH_WINOGRAD | FERRY_MATH_BF16 |
                          FERRY_MATH_WINOGRAD_2 | FERRY_MATH_COMPACT | FERRY_MATH_STRASSEN;
    uint32_t steps = op->pass == FERRY_PASS_FORWARD ? FERRY_OP_EPILOGUE : 0, own;

    if (op->math & ~math)
        return ferry__bad(op, "math", op->math, 0, math);
    if (op->n_in > FERRY_OP_INPUTS)
        return ferry__bad(op, "the number of inputs", op->n_in, 0, FERRY_OP_INPUTS);
    if (op->n_out < k->min_out || op->n_out > k->max_out)
        return ferry__bad(op, "the number of outputs", op->n_out, k->min_out, k->max_out);
    if (op->n_epilogue > steps)
        return ferry__bad(op, "the number of epilogue steps", op->n_epilogue, 0, steps);
    own = ferry_op_own_inputs(op);
    if (own < k->min_in || own > k->max_in)
        return ferry__bad(op, "the number of inputs", own, k->min_in, k->max_in);
    if (op->constants >> op->n_in)
        return ferry__bad(op, "the set of constants", op->constants, 0, (1 << op->n_in) - 1);
    return 0;
}

static int operands_check(const ferry_op_desc *op, const struct ferry__kind *k)
{
    char what[40];
    int64_t room;
    uint32_t i;
    int err, axis;

    for (i = 0; i < op->n_in; i++) {
        snprintf(what, sizeof what, "%s: in[%u]", k->name, i);
        err = ferry__operand_check(&op->in[i], what, k->repeats >> i & 1);
        if (err)
            return err;
    }
    for (i = 0; i < op->n_out; i++) {
        snprintf(what, sizeof what, "%s: out[%u]", k->name, i);
        err = ferry__operand_check(&op->out[i], what, false);
        if (err)
            return err;
        axis = ferry__operand_overlap(&op->out[i], &room);
        if (axis >= 0)
            return ferry_error_set(FERRY_EINVAL,
                                   "%s overlaps itself: axis %d has stride %" PRId64 ", %" PRId64
                                   " elements are within it",
                                   what, axis, op->out[i].stride[axis], room);
    }
    return 0;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

bool ferry__op_is_integer(const ferry_op_desc *op)
{
    if (op->pass != FERRY_PASS_FORWARD)
        return false;
    switch (op->kind) {
    case FERRY_OP_CONVOLUTION:
    case FERRY_OP_INNER_PRODUCT:
    case FERRY_OP_POOL:
        return ferry__is_integer(op->in[0].dtype);
    case FERRY_OP_STRIDED_COPY:
        return op->n_epilogue &&
               (ferry__is_integer(op->in[0].dtype) || ferry__is_integer(op->out[0].dtype));
    default:
        return false;
    }
}

bool ferry__op_has_half_weights(const ferry_op_desc *op)
{
    return op->kind == FERRY_OP_INNER_PRODUCT && op->pass == FERRY_PASS_FORWARD && op->n_in > 1 &&
           op->in[0].dtype == FERRY_F32 &&
           (op->in[1].dtype == FERRY_F16 || op->in[1].dtype == FERRY_BF16);
}

bool ferry__op_has_bf16_values(const ferry_op_desc *op)
{
    uint32_t i;

    if ((op->kind != FERRY_OP_CONVOLUTION && op->kind != FERRY_OP_INNER_PRODUCT &&
         op->kind != FERRY_OP_BINARY) ||
        op->pass != FERRY_PASS_FORWARD || op->n_in < 2 || op->in[1].dtype != FERRY_F32)
        return false;
    for (i = 0; i < op->n_epilogue; i++)
        if (op->epilogue[i].step == FERRY_STEP_ADD && op->epilogue[i].operand < op->n_in &&
            op->in[op->epilogue[i].operand].dtype == FERRY_BF16)
            return true;
    return op->in[0].dtype == FERRY_BF16 || op->out[0].dtype == FERRY_BF16;
}

/* Checks that an operand beside an in[1] of F32 is F32, or BF16 as well if `either`. */
static int value_check(const ferry_op_desc *op, const char *what, uint32_t i, uint32_t dtype,
                       bool either)
{
    if (dtype == FERRY_F32 || (either && dtype == FERRY_BF16))
        return 0;
    return ferry_error_set(
        FERRY_EINVAL, "%s: %s[%u] has dtype %u, must be %d%s beside values of BF16",
        ferry__op_title(op), what, i, dtype, FERRY_F32, either ? " or BF16" : "");
}

/* Checks the dtypes of an operation with values of BF16: see op_params.h. */
static int values_check(const ferry_op_desc *op)
{
    uint32_t own = ferry_op_own_inputs(op), i;
    int err = value_check(op, "in", 0, op->in[0].dtype, true);

    if (!err && own > 2)
        err = value_check(op, "in", 2, op->in[2].dtype, false);
    for (i = 0; !err && i < op->n_epilogue; i++) {
        uint32_t operand = op->epilogue[i].operand;

        if (op->epilogue[i].step != FERRY_STEP_UNARY && operand < op->n_in)
            err = value_check(op, "in", operand, op->in[operand].dtype,
                              op->epilogue[i].step == FERRY_STEP_ADD);
    }
    return err ? err : value_check(op, "out", 0, op->out[0].dtype, true);
}

/* Checks that an operand of integer arithmetic is F32, or I8 or U8 as well if `either`. */
static int integer_operand_check(const ferry_op_desc *op, const char *what, uint32_t i,
                                 uint32_t dtype, bool either)
{
    if (dtype == FERRY_F32 || (either && ferry__is_integer(dtype)))
        return 0;
    return ferry_error_set(FERRY_EINVAL, "%s: %s[%u] has dtype %u, must be %d%s beside integers",
                           ferry__op_title(op), what, i, dtype, FERRY_F32,
                           either ? ", or I8 or U8," : "");
}

/* Checks the dtypes of integer arithmetic: see op_params.h. */
static int integers_check(const ferry_op_desc *op)
{
    bool is_product = op->kind == FERRY_OP_CONVOLUTION || op->kind == FERRY_OP_INNER_PRODUCT;
    uint32_t own = ferry_op_own_inputs(op), i;
    int err = 0;

    if (is_product && op->in[1].dtype != FERRY_I8)
        return ferry_error_set(FERRY_EINVAL, "%s: in[1] has dtype %u, must be %d beside integers",
                               ferry__op_title(op), op->in[1].dtype, FERRY_I8);
    if (op->n_out > 1)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: integers have no mask",
                               ferry__op_title(op));
    if (own > 2)
        err = integer_operand_check(op, "in", 2, op->in[2].dtype, false);
    for (i = 0; !err && i < op->n_epilogue; i++) {
        uint32_t operand = op->epilogue[i].operand;

        if (op->epilogue[i].step != FERRY_STEP_UNARY && operand < op->n_in)
            err = integer_operand_check(op, "in", operand, op->in[operand].dtype,
                                        op->epilogue[i].step == FERRY_STEP_ADD);
    }
    if (!err && op->kind == FERRY_OP_STRIDED_COPY)
        err = integer_operand_check(op, "in", 0, op->in[0].dtype, true);
    return err ? err : integer_operand_check(op, "out", 0, op->out[0].dtype, true);
}

static int floating_check(const ferry_op_desc *op, uint32_t dtype)
{
    return dtype <= FERRY_BF16
               ? 0
               : ferry_error_set(FERRY_EUNSUPPORTED,
                                 "%s: integers (dtype %u) have no arithmetic; dtypes %d to %d do",
                                 ferry__op_title(op), dtype, FERRY_F32, FERRY_BF16);
}

/* Checks the dtypes of the epilogue, whose steps compute on out[0] in its dtype. */
static int step_dtypes_check(const ferry_op_desc *op)
{
    uint32_t i = ferry_op_own_inputs(op);
    int err = op->n_epilogue ? floating_check(op, op->out[0].dtype) : 0;

    for (; !err && i < op->n_in; i++)
        if (op->in[i].dtype != op->out[0].dtype)
            err = ferry_error_set(FERRY_EINVAL,
                                  "%s: in[%u], of an epilogue step, has dtype %u, must be %u",
                                  ferry__op_title(op), i, op->in[i].dtype, op->out[0].dtype);
    return err;
}

/*
 * Checks the dtypes: arithmetic requires one floating-point dtype for all operands; copies accept
 * any, and indices have dtypes of their own.
 */
static int dtypes_check(const ferry_op_desc *op)
{
    uint32_t dtype = op->out[0].dtype, i, last = ferry_op_own_inputs(op);
    int err = step_dtypes_check(op);

    if (err || op->kind == FERRY_OP_STRIDED_COPY || op->kind == FERRY_OP_NAMED)
        return err;
    if (op->kind == FERRY_OP_REDUCE && op->params.reduce.function == FERRY_REDUCE_ARGMAX)
        dtype = op->in[0].dtype;
    err = floating_check(op, dtype);
    if (err)
        return err;
    if (op->kind == FERRY_OP_GATHER || op->kind == FERRY_OP_SCATTER_ADD ||
        op->kind == FERRY_OP_POOL)
        last = 1;
    for (i = 0; i < last; i++)
        if (op->in[i].dtype != dtype && !(i == 1 && ferry__op_has_half_weights(op)))
            return ferry_error_set(FERRY_EINVAL, "%s: in[%u] has dtype %u, must be %u",
                                   ferry__op_title(op), i, op->in[i].dtype, dtype);
    for (i = 1; i < op->n_out && op->kind != FERRY_OP_POOL; i++)
        if (op->out[i].dtype != dtype)
            return ferry_error_set(FERRY_EINVAL, "%s: out[%u] has dtype %u, must be %u",
                                   ferry__op_title(op), i, op->out[i].dtype, dtype);
    return 0;
}

static int step_check(const ferry_op_desc *op, uint32_t i, uint32_t own, uint32_t *next)
{
    const ferry_op_step *step = &op->epilogue[i];
    const ferry_operand *y = &op->out[0], *o;

    if (step->step > FERRY_STEP_PRELU)
        return ferry__bad(op, "an epilogue's step", step->step, 0, FERRY_STEP_PRELU);
    if (step->step == FERRY_STEP_UNARY)
        return ferry__check_function(op, "an epilogue's function", step->function);
    if (step->operand < own || step->operand >= op->n_in || step->operand != *next)
        return ferry__bad(op, "the operand of an epilogue's step", step->operand, *next, *next);
    ++*next;
    o = &op->in[step->operand];
    if (step->step == FERRY_STEP_ADD)
        return ferry__operand_same_shape(o, y)
                   ? 0
                   : ferry__misfit(op, "the count of what an epilogue adds",
                                   ferry__operand_count(o), ferry__operand_count(y));
    if (y->rank < 2)
        return ferry__misfit(op, "the rank of out[0], which has no channel axis,", y->rank, 2);
    if (o->rank != 1 ||
        (o->shape[0] != y->shape[1] && !(step->step == FERRY_STEP_PRELU && o->shape[0] == 1)))
        return ferry__misfit(op, "the length of an epilogue's operand",
                             o->rank == 1 ? o->shape[0] : ferry__operand_count(o), y->shape[1]);
    return 0;
}

static int epilogue_check(const ferry_op_desc *op)
{
    uint32_t own = ferry_op_own_inputs(op), next = own, i;

    for (i = 0; i < op->n_epilogue; i++) {
        int err = step_check(op, i, own, &next);

        if (err)
            return err;
    }
    return 0;
}

int ferry_op_desc_check(const ferry_op_desc *theirs)
{
    ferry_op_desc room;
    const ferry_op_desc *op = ferry__op_whole(theirs, &room);
    const struct ferry__kind *k;
    int err;

    if (!op)
        return ferry_last_error_code();
    k = ferry__kind_of(op->kind, FERRY_PASS_FORWARD);
    if (!k)
        return ferry_error_set(
            FERRY_EINVAL, "ferry_op_desc_check: %u is not a kind of operation; %u to %u and %u are",
            op->kind, FERRY_OP_CONVOLUTION, FERRY_OP_LAST, FERRY_OP_NAMED);
    if (op->pass > FERRY_PASS_BACKWARD_BIAS)
        return ferry__bad(op, "the pass", op->pass, 0, FERRY_PASS_BACKWARD_BIAS);
    k = ferry__kind_of(op->kind, op->pass);
    if (!k)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: it has no backward pass %u",
                               ferry_op_kind_name(op->kind), op->pass);
    err = numbers_check(op, k);
    if (!err)
        err = operands_check(op, k);
    if (!err)
        err = ferry__op_is_integer(op)        ? integers_check(op)
              : ferry__op_has_bf16_values(op) ? values_check(op)
                                              : dtypes_check(op);
    if (!err)
        err = k->check(op);
    return err ? err : epilogue_check(op);
}
