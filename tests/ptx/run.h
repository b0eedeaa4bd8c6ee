/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One launch while it runs: its blocks, its memory, the first fault; and the check of races
 * (check.c).
 */
#ifndef FERRY_TEST_PTX_RUN_H
#define FERRY_TEST_PTX_RUN_H

#include "tests/ptx/program.h"

#define MOST_RESIDENT 2

struct run {
    struct ptx_launch *launch;
    const struct ptx_kernel *kernel;
    bool has_failed;
    uint32_t threads, blocks, next_block;
    struct block resident[MOST_RESIDENT];
    unsigned resident_count;
    struct ptx_window *latest;            /* the window of the access before */
    struct cell *cells[PTX_MOST_WINDOWS]; /* of global memory; NULL: not accessed yet */
    struct release *releases;
    uint64_t random;
    uint64_t steps;
};

/* A number drawn from the launch's seed, below n. */
uint32_t run_draw(struct run *r, uint32_t n);

/*
 * The first fault of a launch: kernel and line of the instruction, then the text. The launch
 * ends.
 */
void run_fail(const struct block *b, const struct instruction *i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "vector.k:57" or, without -lineinfo, "PTX line 909". Room for 160 bytes. */
void run_place(const struct ptx_kernel *kernel, const struct instruction *i, char *out);

/* Parks the active lanes of a warp, or makes it choose its lanes anew. */
void warp_yield(struct warp *w);

/* ---- memory.c ---- */

/* The kind of an access: values are ORed. */
enum kind { READ = 1, WRITE = 2, ATOMIC = 4 };

/* The bytes at an address for one lane; NULL after a fault. */
unsigned char *memory_at(struct warp *w, const struct instruction *i, unsigned lane,
                         uint64_t address, uint32_t size, enum kind kind);

/* ---- check.c ---- */

/* False without memory. */
bool check_begin(struct block *b);
void check_end(struct block *b);
void check_free(struct run *r);
/*
 * An access by a thread to bytes of shared memory (window NULL) or of a window. False after a
 * fault.
 */
bool check_access(struct warp *w, const struct instruction *i, unsigned lane,
                  struct ptx_window *window, size_t offset, uint32_t size, enum kind kind);
/*
 * bar.sync of the block; membar or fence of a thread; an atomic operation of a thread on an
 * address.
 */
void check_barrier(struct block *b);
void check_fence(struct block *b, uint32_t thread);
void check_atomic(struct block *b, uint32_t thread, uint64_t address);

#endif
