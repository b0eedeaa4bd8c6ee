/* SPDX-License-Identifier: BSD-2-Clause */
/* The structure of a prepared operation. */
#ifndef FERRY_OP_OPERATION_H
#define FERRY_OP_OPERATION_H

#include "op/packed.h"
#include "op/plan.h"

#include <pthread.h>
#include <stdatomic.h>

struct ferry_operation {
    ferry_op_desc op;
    ferry_queue *queue;   /* the default queue of the operation's device */
    ferry_memory *keeper; /* a memory of 0 bytes that retains the device */
    struct ferry__plan plan;
    pthread_mutex_t lock;                            /* protects `packed` */
    struct ferry__packed *packed[FERRY__PACKED_MAX]; /* the packed constants of the latest run */
    bool empty;                                      /* the operation's outputs have no elements */
    _Atomic uint64_t runs, packs, host_bytes;
};

/*
 * As ferry_operation_create, but on the host, whatever the device supports and whatever
 * FERRY_STRICT is: for operations that are not part of a device's work.
 */
int ferry__operation_create_on_host(ferry_device *dev, const ferry_op_desc *op,
                                    ferry_operation **out);

/*
 * Whether the device computes an operation on integers as one entry of its own that it does not
 * report as slower than F32. Errors are those of ferry_operation_query.
 */
int ferry__operation_gains(ferry_device *dev, const ferry_op_desc *op, bool *out);

/*
 * Whether runs read an input only in packed form, on a device that works in the program's memory:
 * the pages of its unpacked bytes may then be given back (origin.h).
 */
bool ferry__operation_packs(const ferry_operation *o, uint32_t input);

#endif
