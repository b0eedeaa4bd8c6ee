/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eltwise (eltwise_param): element-wise PROD, SUM (with a coeff for each bottom) or MAX of bottoms
 * of one shape; ties of MAX take the later bottom. (Caffe: EltwiseLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

struct eltwise {
    uint32_t function;
};

static int setup(ferry_layer *layer)
{
    struct eltwise *s = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "eltwise_param", 0);
    const char *operation = ferry_proto_enum(p, "operation", 0);
    int64_t coeffs = ferry_proto_value_count(p, "coeff");

    s->function = !strcmp(operation, "PROD")  ? FERRY_BINARY_PRODUCT
                  : !strcmp(operation, "MAX") ? FERRY_BINARY_MAX
                                              : FERRY_BINARY_SUM;
    if (coeffs && s->function == FERRY_BINARY_PRODUCT)
        return ferry_proto_error(p, "coeff", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a product has no coefficients",
                                 ferry_layer_name(layer));
    if (coeffs && coeffs != ferry_layer_bottom_count(layer))
        return ferry_proto_error(
            p, "coeff", 0, FERRY_EFORMAT, "layer \"%s\": %lld coefficients for %d bottoms",
            ferry_layer_name(layer), (long long)coeffs, ferry_layer_bottom_count(layer));
    return 0;
}

static double coefficient(const ferry_layer *layer, int i)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "eltwise_param", 0);

    return ferry_proto_value_count(p, "coeff") ? ferry_proto_real(p, "coeff", i) : 1;
}

/*
 * Emits the sum or product of the top and the next bottom, or their maximum. MAX prefers its second
 * operand.
 */
static int join(ferry_layer *layer, uint32_t function, int k)
{
    ferry_layer_operand first = k == 1 ? ferry__of_bottom(0) : ferry__of_top(0);
    double a = k == 1 ? coefficient(layer, 0) : 1;

    return ferry__emit_binary(layer, function, a, coefficient(layer, k), ferry__whole(layer, first),
                              first, ferry__whole(layer, ferry__of_bottom(k)), ferry__of_bottom(k),
                              ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Bottom k's values from before forward; `first` is the operand that holds those of bottom 0. */
static struct ferry__term given(const ferry_layer *layer, int k, ferry_layer_operand first)
{
    return ferry__term(layer, k ? ferry__of_bottom(k) : first);
}

static int emit_sum(ferry_layer *layer)
{
    const struct ferry__term dy = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    int k, err = 0;

    for (k = ferry_layer_bottom_count(layer);
         !err && k-- > 0;) /* bottom 0 comes last, since its diff may share memory with dy */
        if (ferry_layer_propagates(layer, k) &&
            (!ferry_layer_is_in_place(layer, 0) || k || coefficient(layer, 0) != 1))
            err = ferry__emit_scaled(layer, coefficient(layer, k), dy,
                                     ferry__term(layer, ferry__diff(ferry__of_bottom(k))));
    return err;
}

/*
 * Emits dy times the product of the other bottoms; or, with a `result`, dy times the result over
 * this bottom.
 */
static int emit_factor(ferry_layer *layer, int k, const ferry_layer_operand *result,
                       ferry_layer_operand first)
{
    const struct ferry__term dx = ferry__term(layer, ferry__diff(ferry__of_bottom(k)));
    struct ferry__term so_far = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    int i, err;

    if (result) {
        struct ferry__term x = given(layer, k, first), ratio = ferry__term(layer, *result);
        struct ferry__term q = { x.o, ferry__diff(ferry__of_scratch(1)) };

        err = ferry__emit_binary(layer, FERRY_BINARY_QUOTIENT, 1, 1, ratio.o, ratio.at, x.o, x.at,
                                 q.o, q.at);
        return err ? err : ferry__emit_product(layer, so_far, q, dx);
    }
    for (i = err = 0; !err && i < ferry_layer_bottom_count(layer); i++) {
        if (i == k)
            continue;
        err = ferry__emit_product(layer, so_far, given(layer, i, first), dx);
        so_far = dx;
    }
    return err;
}

static int emit_product(ferry_layer *layer, ferry_layer_operand first)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "eltwise_param", 0);
    bool stable = ferry_proto_boolean(p, "stable_prod_grad", 0);
    const ferry_blob *like = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand result;
    int k, err = stable ? 0 : ferry__result_kept(layer, 0, 2, &result);

    if (err)
        return err;
    if (!stable && !ferry_layer_scratch(layer, 1, 0, ferry_blob_shape(like), ferry_blob_rank(like)))
        return ferry_last_error_code();
    for (k = ferry_layer_bottom_count(layer); !err && k-- > 0;)
        if (ferry_layer_propagates(layer, k))
            err = emit_factor(layer, k, stable ? NULL : &result, first);
    return err;
}

/*
 * Emits one gradient of MAX(x, u) from the gradient `from`: that of x, or that of u, which includes
 * ties.
 */
static int emit_share(ferry_layer *layer, uint32_t pass, struct ferry__term from,
                      struct ferry__term x, struct ferry__term u, struct ferry__term to)
{
    const struct ferry__term in[3] = { from, x, u };
    ferry_op_desc op;
    int err = 0;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_MAX;
    if (pass == FERRY_PASS_BACKWARD_WEIGHTS) /* this pass adds to its output */
        err = ferry__emit_zeros(layer, to.at, ferry_layer_bottom_count(layer) + 1);
    return err ? err : ferry__emit_pass(layer, &op, pass, 3, in, to);
}

/*
 * Emits the gradient of MAX. Bottom k > 1 gets the remaining gradient where it is larger than all
 * earlier bottoms, whose maximum is in scratch k + 1; *from becomes the rest. The rest is not
 * computed by subtraction, because an infinite gradient minus itself is NaN.
 */
static int emit_largest(ferry_layer *layer, int k, struct ferry__term *from)
{
    const struct ferry__term x = ferry__term(layer, ferry__of_bottom(k));
    const struct ferry__term u = ferry__term(layer, ferry__of_scratch(k + 1));
    const struct ferry__term rest = ferry__term(layer, ferry__diff(ferry__of_scratch(1 + k % 2)));
    int err = 0;

    if (ferry_layer_propagates(layer, k))
        err = emit_share(layer, FERRY_PASS_BACKWARD_DATA, *from, x, u,
                         ferry__term(layer, ferry__diff(ferry__of_bottom(k))));
    if (!err)
        err = emit_share(layer, FERRY_PASS_BACKWARD_WEIGHTS, *from, x, u, rest);
    *from = rest;
    return err;
}

/* Emits a copy of the maximum of the k bottoms before bottom k into scratch k + 1. */
static int keep_maximum(ferry_layer *layer, int k)
{
    struct ferry__term y = ferry__term(layer, ferry__of_top(0));

    if (!ferry_layer_scratch(layer, k + 1, 1, y.o.shape, (int)y.o.rank))
        return ferry_last_error_code();
    return ferry__emit_scaled(layer, 1, y, ferry__term(layer, ferry__of_scratch(k + 1)));
}

/*
 * Emits the gradient of MAX. The first two bottoms share the rest; the first one's diff may be the
 * memory of the top's.
 */
static int emit_maximum(ferry_layer *layer, ferry_layer_operand first)
{
    const ferry_blob *like = ferry_layer_bottom_at(layer, 0);
    struct ferry__term from = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    struct ferry__term x = given(layer, 0, first), u = given(layer, 1, first);
    int i, k, err = 0;

    for (i = 1; i <= 2; i++)
        if (!ferry_layer_scratch(layer, i, 0, ferry_blob_shape(like), ferry_blob_rank(like)))
            return ferry_last_error_code();
    for (k = ferry_layer_bottom_count(layer); !err && --k > 1;)
        err = emit_largest(layer, k, &from);
    if (!err && ferry_layer_propagates(layer, 1))
        err = emit_share(layer, FERRY_PASS_BACKWARD_WEIGHTS, from, x, u,
                         ferry__term(layer, ferry__diff(ferry__of_bottom(1))));
    if (!err && ferry_layer_propagates(layer, 0))
        err = emit_share(layer, FERRY_PASS_BACKWARD_DATA, from, x, u,
                         ferry__term(layer, ferry__diff(ferry__of_bottom(0))));
    return err;
}

static int emit_backward(ferry_layer *layer, ferry_layer_operand first)
{
    const struct eltwise *s = ferry_layer_state(layer);

    if (!ferry_layer_needs_backward(layer))
        return 0;
    return s->function == FERRY_BINARY_PRODUCT ? emit_product(layer, first)
           : s->function == FERRY_BINARY_MAX   ? emit_maximum(layer, first)
                                               : emit_sum(layer);
}

/* ---------------------------------------------------------------------------------------------- */

static int reshape(ferry_layer *layer)
{
    const struct eltwise *s = ferry_layer_state(layer);
    const ferry_blob *first = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand kept;
    int k, err = ferry__top_like(layer, 0, first);

    if (!err)
        err = ferry__input_kept(layer, 0, &kept);
    for (k = 1; !err && k < ferry_layer_bottom_count(layer); k++) {
        if (ferry_blob_shape_equals(ferry_layer_bottom_at(layer, k), first) != 1)
            return ferry__bottoms_differ(layer, k, 0, "differ");
        if (k > 1 && s->function == FERRY_BINARY_MAX && ferry_layer_needs_backward(layer))
            err = keep_maximum(layer, k);
        if (!err)
            err = join(layer, s->function, k);
    }
    return err ? err : emit_backward(layer, kept);
}

static const char *const messages[] = { "eltwise_param", NULL };

const ferry_layer_type ferry__eltwise_layer = {
    .struct_size = sizeof ferry__eltwise_layer,
    .name = "Eltwise",
    .state_size = sizeof(struct eltwise),
    .min_bottoms = 2,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE | FERRY_LAYER_EMPTY_BACKWARD,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
