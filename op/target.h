/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who computes: a table of prepared operations, and where its operands have to be.
 */
#ifndef FERRY_OP_TARGET_H
#define FERRY_OP_TARGET_H

#include <ferry/memory.h>
#include <ferry/op_plugin.h>
#include <ferry/runtime.h>
#include <stdbool.h>

/* The most temporary memory of a composition, in bytes, where the device has no smaller blocks. */
#define FERRY__TEMPORARY_MAX (UINT64_C(64) << 20)

struct ferry__target {
    const ferry_op_table *table;
    void *ctx;            /* what the table's entries take as their device */
    ferry_device *device; /* whose queue the entries run on; NULL: the kernels, which need none */
    uint64_t alignment;   /* of the offsets that its entries get, in bytes; 0: any */
    uint64_t temporary;   /* the most memory that a composition takes besides, in bytes */
    uint64_t largest;     /* block that its entries reach the end of, in bytes; 0: any */
    bool host;            /* operands are host pointers, accessed as the host's copies */
    bool lists;           /* the table has begin, end and forget */
    ferry_memory
        *keeper; /* of no bytes, on `device`, which it retains: of a host target; else NULL */
};

/* The device's own plugin, open. FERRY_EUNSUPPORTED, quietly, where it has no operations. */
int ferry__target_own(ferry_device *dev, struct ferry__target *out);

/*
 * The cpu plugin's device in dev's runtime; if there is none, or one without operations, the kernels, with a
 * warning. To be released. Any thread. Fails as opening the device does.
 */
int ferry__target_host(ferry_device *dev, struct ferry__target *out);
/* A target that retains nothing is accepted. */
void ferry__target_release_host(struct ferry__target *target);

/* Prepares an operation; what the plugin says is in the error. */
int ferry__target_create(const struct ferry__target *target, const ferry_op_desc *op, void **out);

/* The host target's last resort: the kernels compiled for the host (op/host.h), whatever plugins there are. */
void ferry__target_kernels(struct ferry__target *out);

#endif
