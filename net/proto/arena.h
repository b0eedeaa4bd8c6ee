/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that lives as long as a tree of messages.
 */
#ifndef FERRY_NET_PROTO_ARENA_H
#define FERRY_NET_PROTO_ARENA_H

#include <stddef.h>

struct ferry__proto_arena {
    struct ferry__proto_block *blocks;
    size_t taken; /* from the system */
};

/* Zeroed, aligned for any type; NULL without memory, or beyond 1 GiB. */
void *ferry__proto_alloc(struct ferry__proto_arena *arena, size_t size);

/* A copy of `size` bytes, with a NUL behind them. */
char *ferry__proto_copy_bytes(struct ferry__proto_arena *arena, const void *bytes, size_t size);

void ferry__proto_arena_free(struct ferry__proto_arena *arena);

#endif
