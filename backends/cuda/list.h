/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of runs that repeat: begin, end and forget of "ferry.op/1". ferry calls them for one list
 * of a queue at a time.
 */
#ifndef FERRY_CUDA_LIST_H
#define FERRY_CUDA_LIST_H

#include "cuda.h"

#include <ferry/op_table.h>

int cuda_list_begin(void *dev, void *queue, const ferry_op_list *list, uint32_t *out_action);
int cuda_list_end(void *dev, void *queue, uint64_t id, uint32_t discard);
void cuda_list_forget(void *dev, uint64_t id);

/* The queue whose stream takes the runs of `queue`: the recorder's while it is being recorded. */
struct cuda_queue *cuda_list_stream(struct cuda_device *dev, struct cuda_queue *queue);
/* With the context current, before the device closes. */
void cuda_list_end_all(struct cuda_device *dev);

#endif
