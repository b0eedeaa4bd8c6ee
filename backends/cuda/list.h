/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records lists of runs that repeat: the entries begin, end and forget of "ferry.op/1". ferry calls
 * them for one list of a queue at a time.
 */
#ifndef FERRY_CUDA_LIST_H
#define FERRY_CUDA_LIST_H

#include "cuda.h"

#include <ferry/op_table.h>

int cuda_list_begin(void *dev, void *queue, const ferry_op_list *list, uint32_t *out_action);
int cuda_list_end(void *dev, void *queue, uint64_t id, uint32_t discard);
void cuda_list_forget(void *dev, uint64_t id);

/*
 * The queue whose stream receives the runs of `queue`: the recorder while the runs are being
 * recorded.
 */
struct cuda_queue *cuda_list_stream(struct cuda_device *dev, struct cuda_queue *queue);
/* Frees all lists before the device closes. Called with the context current. */
void cuda_list_end_all(struct cuda_device *dev);

#endif
