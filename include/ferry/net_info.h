/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file net_info.h
 * The layers of a net: where each is computed, and how long it takes. net.h includes this file and
 * has its rules for errors and threads.
 */
#ifndef FERRY_NET_INFO_H
#define FERRY_NET_INFO_H

#include <ferry/op_tier.h>

#include <stdbool.h>
#include <stddef.h>

FERRY_BEGIN_DECLS

/** A net: see net.h. */
typedef struct ferry_net ferry_net;

/** A layer's placement and measurements. Set struct_size; strings live as long as the net. */
typedef struct ferry_net_layer_info {
    size_t struct_size;
    const char *name, *type;
    const char *device;        /* the device that it is placed on */
    ferry_operation_tier tier; /* the worst of its operations; HOST if its own function computes */
    int operations;            /* of its forward pass */
    double ms;    /* per pass while measuring; 0 before, and if another layer does its work */
    double flops; /* per pass: multiplications and additions of convolutions, inner products */
    uint64_t bytes_moved; /* per pass: to, from and on the devices */
    bool needs_backward;  /* ferry_net_backward runs the layer */
    /* Of the backward pass: 0 and FERRY_TIER_OWN for a layer that it does not run. */
    ferry_operation_tier backward_tier;
    int backward_operations;
    double backward_ms, backward_flops;
    uint64_t backward_bytes_moved;
    int segment; /* the number of the segment that the plugin runs it in, from 1; 0: in none */
    double device_ms, backward_device_ms; /* with FERRY_NET_MEASURE_DEVICE, on its clock */
    /**
     * Of its convolutions and inner products: "f32", "bf16" or "int8"; "" if it has none, or if
     * another layer or a segment computes them.
     */
    const char *precision;
} ferry_net_layer_info;

/** Values of ferry_net_set_measuring. */
typedef enum ferry_net_measuring {
    FERRY_NET_MEASURE_OFF,   /* nothing: layers run together */
    FERRY_NET_MEASURE_HOST,  /* each layer by itself, in host time */
    FERRY_NET_MEASURE_DEVICE /* the same, and its work on the device's clock (profile.h) */
} ferry_net_measuring;

/** The number of layers, with split layers. 0 for NULL. */
FERRY_API int ferry_net_layer_count(const ferry_net *net);

/**
 * Starts or ends measuring, layer by layer; each call resets the sums. A measured pass takes longer
 * than others. FERRY_NET_MEASURE_DEVICE profiles the queues of the layers, until measuring ends or
 * ferry_net_move_to, which leaves FERRY_NET_MEASURE_HOST. FERRY_EINVAL for another value;
 * FERRY_EUNSUPPORTED for a device without a clock. After a failure the net measures as before.
 */
FERRY_API int ferry_net_set_measuring(ferry_net *net, ferry_net_measuring what);

/** Fills in *out, up to its struct_size, for layer `index`. FERRY_EINVAL past the last layer. */
FERRY_API int ferry_net_get_layer_info(const ferry_net *net, int index, ferry_net_layer_info *out);

FERRY_END_DECLS

#endif
