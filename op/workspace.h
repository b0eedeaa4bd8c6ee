/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that operations use while they run: one block for each queue, since work on a queue is in
 * order; on queues whose entries run concurrently, one for each thread that is submitting at the
 * same time.
 */
#ifndef FERRY_OP_WORKSPACE_H
#define FERRY_OP_WORKSPACE_H

#include <ferry/memory.h>

struct ferry__workspace;

/*
 * Takes a block of at least `bytes` > 0 bytes for work on `q`; return it as soon as the work is
 * enqueued. *out_ref is its reference. Errors are those of ferry_memory_access.
 */
int ferry__workspace_take(ferry_queue *q, uint64_t bytes, struct ferry__workspace **out,
                          ferry_ref *out_ref);
/* Returns a block. NULL is accepted. */
void ferry__workspace_give_back(struct ferry__workspace *w);

/* Registers a user of workspaces; when the last user leaves, every block is freed. */
void ferry__workspace_join(void);
void ferry__workspace_leave(void);

#endif
