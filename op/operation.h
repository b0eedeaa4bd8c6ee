/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A prepared operation, as the files of op/ share it.
 */
#ifndef FERRY_OP_OPERATION_H
#define FERRY_OP_OPERATION_H

#include "op/packed.h"
#include "op/plan.h"

#include <pthread.h>
#include <stdatomic.h>

struct ferry_operation {
    ferry_op_desc op;
    ferry_queue *queue;   /* the default one of its device */
    ferry_memory *keeper; /* of no bytes: it retains the device */
    struct ferry__plan plan;
    pthread_mutex_t lock;                            /* of `packed` */
    struct ferry__packed *packed[FERRY__PACKED_MAX]; /* those that the latest run used */
    bool empty;                                      /* its outputs have no elements */
    _Atomic uint64_t runs, packs, host_bytes;
};

/*
 * As ferry_operation_create, but on the host's tier whatever the device can, and whether it is strict or not:
 * for what is not part of a device's work.
 */
int ferry__operation_create_on_host(ferry_device *dev, const ferry_op_desc *op,
                                    ferry_operation **out);

#endif
