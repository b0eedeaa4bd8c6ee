/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that operations use while they run: one block a queue, since work on a queue is in order; on
 * queues whose entries run concurrently one a thread that meets another there.
 */
#ifndef FERRY_OP_WORKSPACE_H
#define FERRY_OP_WORKSPACE_H

#include <ferry/memory.h>

struct ferry__workspace;

/*
 * A block of at least `bytes` > 0 bytes for work on `q`, the caller's until it is given back, which may
 * be as soon as the work is enqueued. *out_ref is where it lies. Errors as ferry_memory_access.
 */
int ferry__workspace_take(ferry_queue *q, uint64_t bytes, struct ferry__workspace **out,
                          ferry_ref *out_ref);
/* NULL is accepted. */
void ferry__workspace_give_back(struct ferry__workspace *w);

/* Counts who may take one; when the last user leaves, every block is freed. */
void ferry__workspace_join(void);
void ferry__workspace_leave(void);

#endif
