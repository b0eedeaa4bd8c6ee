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

/** A net (net.h). Opaque. */
typedef struct ferry_net ferry_net;

/** A layer's placement and measurements. Set struct_size; strings live as long as the net. */
typedef struct ferry_net_layer_info {
    size_t struct_size;
    const char *name, *type;
    const char *device;        /* the device that it is placed on */
    ferry_operation_tier tier; /* the worst of its operations; HOST if its own function computes */
    int operations;            /* the number of operations of its forward pass */
    double ms;    /* per pass while measuring; 0 before, and if another layer does its work */
    double flops; /* per pass: the multiplications and additions of its convolutions and inner
                   * products */
    uint64_t bytes_moved; /* per pass: bytes copied to, from and on the devices */
    bool needs_backward;  /* ferry_net_backward runs the layer */
    /* The tier of the backward pass: FERRY_TIER_OWN, with 0 operations, for a layer that it does
     * not run. */
    ferry_operation_tier backward_tier;
    int backward_operations;
    double backward_ms, backward_flops;
    uint64_t backward_bytes_moved;
    int segment; /* the number, from 1, of the segment in which the plugin computes it; 0: no
                  * segment */
    double device_ms, backward_device_ms; /* with FERRY_NET_MEASURE_DEVICE: the times on the
                                           * device's clock */
    /**
     * The precision of its convolutions and inner products: "f32", "bf16" or "int8". "" if it has
     * none, or if another layer or a segment computes them.
     */
    const char *precision;
    /**
     * The dtype in which the weights of such a layer are stored; "" for other layers. It is "F32";
     * or "F16", "BF16" or "I8" (ferry_net_save_integers), as in the file of ferry_net_load: for
     * weights of 64 KiB and more in F32, in a TEST net on a device in the program's memory, if its
     * parameters were never filled, read or loaded before. Results are those of F32, and so are
     * ferry_net_param_at and ferry_net_save. Weights that the program writes are F32 from the next
     * pass on, and so are those whose F32 form stays, for ferry_net_param_at or an operation that
     * reads it, if no operation reads F16 or BF16.
     */
    const char *weights;
    const char *backward_precision; /* the same of their gradients: "bf16" if one of them has it */
    /**
     * Per pass while measuring: the bytes of the operands of its operations, each operand of each
     * operation counted once. The layer reads and writes so much if caches keep nothing between
     * operations and every operation reads each operand once. Packed weights may be smaller or
     * larger; a layer's own function and a segment count 0.
     */
    double bytes_accessed, backward_bytes_accessed;
    /**
     * The number of images, at most, that a processor computes by this layer before it goes on to
     * the next one; 0: the layer computes all images of the batch first. A TEST net on the cpu
     * plugin divides a batch where values then stay in a processor's cache. Results are the same.
     */
    int64_t sub_batch;
} ferry_net_layer_info;

/** Values of ferry_net_set_measuring. */
typedef enum ferry_net_measuring {
    FERRY_NET_MEASURE_OFF = 0,   /* nothing is measured: layers run together */
    FERRY_NET_MEASURE_HOST = 1,  /* each layer is run by itself and measured in host time */
    FERRY_NET_MEASURE_DEVICE = 2 /* as FERRY_NET_MEASURE_HOST, and the layer's work is measured on
                                  * the device's clock (profile.h) */
} ferry_net_measuring;

/** The number of layers, including inserted splits. 0 for NULL. */
FERRY_API int ferry_net_layer_count(const ferry_net *net);

/** The number of blobs. 0 for NULL. */
FERRY_API int ferry_net_blob_count(const ferry_net *net);
/** The name that the net's text states, or ""; "" for NULL. Borrowed for the net's life. */
FERRY_API const char *ferry_net_name(const ferry_net *net);
/** The number of parameter blobs of layer `layer`, in the net's order from 0; 0 past the last. */
FERRY_API int ferry_net_param_count(const ferry_net *net, int layer);

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
