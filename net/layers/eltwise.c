/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eltwise (eltwise_param): bottoms of one shape, element by element: PROD, SUM (with a coeff for each)
 * or MAX, of which ties take the later bottom. (Caffe: EltwiseLayer.)
 */
#include "net/layers/layers.h"

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
    int64_t coeffs = ferry_proto_count(p, "coeff");

    s->function = !strcmp(operation, "PROD")  ? FERRY_BINARY_PRODUCT
                  : !strcmp(operation, "MAX") ? FERRY_BINARY_MAX
                                              : FERRY_BINARY_SUM;
    if (coeffs && s->function == FERRY_BINARY_PRODUCT)
        return ferry_proto_error(p, "coeff", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a product has no coefficients",
                                 ferry_layer_name(layer));
    if (coeffs && coeffs != ferry_layer_n_bottoms(layer))
        return ferry_proto_error(
            p, "coeff", 0, FERRY_EFORMAT, "layer \"%s\": %lld coefficients for %d bottoms",
            ferry_layer_name(layer), (long long)coeffs, ferry_layer_n_bottoms(layer));
    return 0;
}

static double coefficient(const ferry_layer *layer, int i)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "eltwise_param", 0);

    return ferry_proto_count(p, "coeff") ? ferry_proto_real(p, "coeff", i) : 1;
}

/* The sum or product so far, in the top, and the next bottom. MAX prefers its second operand. */
static int join(ferry_layer *layer, uint32_t function, int k)
{
    ferry_layer_operand first = k == 1 ? ferry__of_bottom(0) : ferry__of_top(0);
    double a = k == 1 ? coefficient(layer, 0) : 1;

    return ferry__emit_binary(layer, function, a, coefficient(layer, k), ferry__whole(layer, first),
                              first, ferry__whole(layer, ferry__of_bottom(k)), ferry__of_bottom(k),
                              ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
}

static int reshape(ferry_layer *layer)
{
    const struct eltwise *s = ferry_layer_state(layer);
    const ferry_blob *first = ferry_layer_bottom(layer, 0);
    int k, err = ferry__top_like(layer, 0, first);

    for (k = 1; !err && k < ferry_layer_n_bottoms(layer); k++) {
        char a[128], b[128];

        if (ferry_blob_shape_equals(ferry_layer_bottom(layer, k), first) != 1) {
            ferry_blob_shape_string(ferry_layer_bottom(layer, k), a, sizeof a);
            ferry_blob_shape_string(first, b, sizeof b);
            return ferry_layer_error(layer, FERRY_ESHAPE, "bottom %d is %s, bottom 0 is %s", k, a,
                                     b);
        }
        err = join(layer, s->function, k);
    }
    return err;
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
    .flags = FERRY_LAYER_IN_PLACE,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
