/* SPDX-License-Identifier: BSD-2-Clause */
/* The target that computes: a table of prepared operations, and the location of its operands. */
#ifndef FERRY_OP_TARGET_H
#define FERRY_OP_TARGET_H

#include <ferry/memory.h>
#include <ferry/op_table.h>
#include <ferry/runtime.h>
#include <stdbool.h>

/*
 * The maximum of temporary memory of a composition, in bytes, unless the device's blocks are
 * smaller.
 */
#define FERRY__TEMPORARY_MAX (UINT64_C(64) << 20)

struct ferry__target {
    const ferry_op_table *table;
    void *ctx;            /* the device argument of the table's entries */
    ferry_device *device; /* the entries run on its queue; NULL for the kernels, which need no
                           * device */
    uint64_t alignment;   /* the alignment of offsets that its entries require, in bytes; 0: any
                           * offset */
    uint64_t temporary;   /* the maximum of temporary memory of a composition, in bytes */
    uint64_t largest;     /* the size, in bytes, of the largest block that its entries can address;
                           * 0: no limit */
    bool host;            /* operands are host pointers, accessed as the host's copies */
    bool lists;           /* the table has begin, end and forget */
    bool chains;          /* the table has chains and run_chains, and no lists */
    ferry_memory
        *keeper; /* a memory of 0 bytes that retains `device`, for a host target; otherwise NULL */
};

/* The device's own plugin. FERRY_EUNSUPPORTED, without a log line, if it has no operations. */
int ferry__target_own(ferry_device *dev, struct ferry__target *out);

/*
 * The cpu plugin's device in dev's runtime; if there is none, or it has no operations, the kernels,
 * with a warning. The caller releases the target. Callable from any thread. Errors are those of
 * opening the device.
 */
int ferry__target_host(ferry_device *dev, struct ferry__target *out);
/* Releases the target; one that retains nothing is accepted. */
void ferry__target_release_host(struct ferry__target *target);

/* Prepares an operation; the error contains the plugin's reason. */
int ferry__target_create(const struct ferry__target *target, const ferry_op_desc *op, void **out);

/*
 * The host target's last resort: the kernels compiled for the host (op/host.h), regardless of
 * plugins.
 */
void ferry__target_kernels(struct ferry__target *out);

#endif
