/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that lives as long as an open file, with a limit: a small file that claims millions of
 * arrays must not cost gigabytes.
 */
#ifndef FERRY_IO_ARENA_H
#define FERRY_IO_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ferry__io_arena {
    struct ferry__io_arena_block *blocks;
    uint64_t taken; /* from the system */
    uint64_t limit;
    bool no_memory; /* the system had none */
};

/* Zeroed, aligned for any type. NULL beyond the limit or without memory. */
void *ferry__io_arena_alloc(struct ferry__io_arena *arena, size_t size);

/* A copy of `size` bytes, with a NUL behind them. */
char *ferry__io_arena_string(struct ferry__io_arena *arena, const void *bytes, size_t size);

void ferry__io_arena_free(struct ferry__io_arena *arena);

#endif
